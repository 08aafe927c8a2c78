# SPDX-License-Identifier: MIT
"""How close the estimate of tokens is to a real tokenizer, and its speed."""
import base64
import hashlib
import json
import os
import pathlib
import shutil
import statistics
import struct
import subprocess

from corpus import real_results
from files import SOURCE_ROOT, data_folder
from measure import MIB, Failure, Place, heading, met, note, table

TOKENS = os.environ.get("OFFLOADFS_TOKENS") or str(SOURCE_ROOT / "build" / "tokens")
ROUNDS = 5
CHARACTERS = 24000  # of a document, at most
LARGE = 200  # tokens; smaller documents are not judged by themselves
AIM_SPEED = 200  # MB/s
AIM_CLASS, AIM_MEDIAN, AIM_P95 = 3, 4, 10  # percent
JUDGED = ("code", "JSON", "prose")  # also judged by document
LANGUAGES = {
    "CJK": ("zh_CN", "zh_TW", "ja", "ko"),
    "other scripts": ("ru", "uk", "el", "ar", "fa", "he", "hi", "bn", "ta", "th", "ka"),
    "other Latin": ("de", "fr", "es", "it", "pl", "cs", "tr", "vi", "pt_BR", "sv", "fi"),
}
COMMANDS = (
    "ls -l /usr/bin",
    "ls -lR /etc",
    "git log -200 --stat",
    "git log -p -20",
    "ps aux",
    "mount",
)
HOW = "npm install --prefix DIR gpt-tokenizer, then tools/bench tokens --tokenizer DIR"
COUNT = """
const { join } = require("path");
const [folder, encoding] = process.argv.slice(1);
const { encode } = require(join(folder, "node_modules/gpt-tokenizer/cjs/encoding", encoding));
const documents = JSON.parse(require("fs").readFileSync(0));
const plain = { allowedSpecial: new Set(), disallowedSpecial: new Set() };
console.log(JSON.stringify(documents.map((d) => encode(d, plain).length)));
"""


def add_arguments(parser):
    parser.add_argument(
        "--tokenizer", metavar="DIR", help="where npm has installed the package gpt-tokenizer"
    )
    parser.add_argument(
        "--encoding", default="o200k_base", help="of that package (default o200k_base)"
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="also the half of the documents that the costs may have been fitted to",
    )


def measure(options):
    if not os.access(TOKENS, os.X_OK):
        raise Failure(f"there is no program at '{TOKENS}': set OFFLOADFS_TOKENS")
    with Place() as place:
        classes = _documents(place.path("results"))
    if not options.all:
        classes = {name: [d for d in some if _held_out(d)] for name, some in classes.items()}
    classes = {name: some for name, some in classes.items() if some}
    figures = {"speed": _speed(classes)}
    if not options.tokenizer:
        print(f"\n  how near it comes needs a real tokenizer: {HOW}")
        return figures
    return {**figures, "encoding": options.encoding, **_errors(classes, options)}


# --- Documents ------------------------------------------------------------------------------------


def _held_out(document):
    """Returns True if a document is in the half that the costs were not fitted to."""
    return int(hashlib.sha256(document.encode(errors="replace")).hexdigest()[1], 16) % 2 == 1


def _documents(folder):
    """Returns distinct texts by class."""
    classes = {
        "code": _sources(".c", ".h", ".py", ".build", ""),
        "prose": _sources(".md", ".1", ".8"),
        "JSON": [],
        "agent": [],
        "logs": [_output(c) for c in COMMANDS],
        "dumps": _dumps(),
    }
    _traces(classes, folder)
    for name, languages in LANGUAGES.items():
        classes[name] = [text for language in languages for text in _translations(language)]
    return {name: _parts(texts, name) for name, texts in classes.items()}


def _parts(texts, name):
    """Returns the start of each text, but up to eight parts of a log or dump, without repeats."""
    whole = name in ("logs", "dumps")
    parts = []
    for text in texts:
        size = CHARACTERS // 3 if whole else CHARACTERS
        ends = range(0, min(len(text), 8 * size) if whole else 1, size)
        parts += [text[at : at + size] for at in ends]
    return list(dict.fromkeys(part for part in parts if part.strip()))


def _sources(*suffixes):
    """Returns texts of this repository."""
    listed = _output("git ls-files").split("\n")
    return [
        (SOURCE_ROOT / name).read_text(errors="replace")
        for name in listed
        if name.startswith(("src/", "include/", "tests/", "tools/", "docs/", "README", "meson"))
        and pathlib.PurePath(name).suffix in suffixes
        and "corpus/" not in name
        and (SOURCE_ROOT / name).is_file()
    ]


def _traces(classes, folder):
    """Adds tool results and messages of agents if there are traces. Generated ones mean nothing."""
    traces = data_folder()
    if not (traces / "tool-results").exists():
        return
    real_results(folder)
    for path in sorted(pathlib.Path(folder).rglob("*.txt")):
        text = path.read_text(errors="replace")
        classes["JSON" if text[:1] in "{[" else "agent"].append(text)
    for path in sorted(traces.glob("swe-agent/*.traj")):
        for message in json.loads(path.read_text()).get("history", []):
            classes["agent"].append(str(message.get("content") or ""))
    for path in sorted(traces.glob("tau-bench/*.json")):
        for chat in json.loads(path.read_text()):
            for message in chat["traj"]:
                if message.get("role") != "tool":
                    classes["prose"].append(message.get("content") or "")
                calls = message.get("tool_calls") or []
                classes["JSON"] += [json.dumps(call) for call in calls]


def _output(command):
    done = subprocess.run(
        ["sh", "-c", command], cwd=SOURCE_ROOT, capture_output=True, check=False, timeout=60
    )
    return done.stdout.decode(errors="replace")


def _dumps():
    data = pathlib.Path(TOKENS).read_bytes()[: 32 << 10]
    lines = [data[i : i + 16].hex(" ", 2) for i in range(0, len(data), 16)]
    return [
        base64.encodebytes(data).decode(),
        base64.b64encode(hashlib.shake_256(data).digest(len(data))).decode(),
        data.hex(),
        "\n".join(f"{i * 16:08x}: {line}" for i, line in enumerate(lines)),
        "\n".join(f"{hashlib.sha256(line.encode()).hexdigest()}  {line[:4]}" for line in lines),
    ]


def _translations(language):
    """Yields what programs of this machine say in a language, if they are translated."""
    folder = pathlib.Path("/usr/share/locale", language, "LC_MESSAGES")
    for path in sorted(folder.glob("*.mo")):
        if path.name.startswith("iso_"):  # names of places without sentences
            continue
        text = "\n".join(_messages(path.read_bytes()))
        yield text[: CHARACTERS // 3]


def _messages(data):
    """Yields the translations in a compiled catalog (`man msgfmt`), without its header."""
    order = "<" if data[:4] == b"\xde\x12\x04\x95" else ">"
    count, _, table_at = struct.unpack_from(f"{order}3I", data, 8)
    for i in range(1, count):
        length, at = struct.unpack_from(f"{order}2I", data, table_at + 8 * i)
        yield data[at : at + length].decode(errors="replace").replace("\0", "\n")


# --- Figures --------------------------------------------------------------------------------------


def _framed(documents):
    encoded = [d.encode(errors="replace") for d in documents]
    return b"".join(b"%d\n%s" % (len(d), d) for d in encoded)


def _run(arguments, documents):
    done = subprocess.run(
        [TOKENS, *arguments], input=_framed(documents), capture_output=True, check=True
    )
    return done.stdout.split()


def estimate(documents):
    """Returns the estimated tokens of each document."""
    return [int(n) for n in _run(["count"], documents)]


def _speed(classes):
    heading(f"tokens: how quick, one core, the best of {ROUNDS} rounds")
    rows, figures = [], {}
    for name, documents in [*classes.items(), ("all", sum(classes.values(), []))]:
        # More than fits into a processor's caches, as in a large file.
        size = max(sum(len(d.encode(errors="replace")) for d in documents), 1)
        again = max(1, 16 * MIB // size)
        count, seconds = _run(["time", str(ROUNDS)], documents * again)
        figures[name] = int(count) / float(seconds) / 1e6
        rows.append([name, len(documents), f"{size / 1e6:.2f}", f"{figures[name]:.0f}"])
    table(["", "documents", "MB", "MB/s"], rows)
    good = figures["all"] >= AIM_SPEED
    print(f"\n  aim: at least {AIM_SPEED} MB/s for all: {met(good)}")
    return {"mb_per_second": figures, "met": good}


def _errors(classes, options):
    heading(f"tokens: errors beside {options.encoding}; by document from {LARGE} tokens on")
    rows, figures = [], {}
    for name, documents in classes.items():
        note(f"counting {name}")
        real = _real(documents, options)
        estimated = estimate(documents)
        f = figures[name] = _class(real, estimated)
        row = [name, f["documents"], f["real"], f["estimated"], f"{f['error']:+.1f}", f["large"]]
        row += ["-" if f[k] is None else f"{f[k]:.1f}" for k in ("median", "p95")]
        rows.append(row)
    table(["", "documents", "real", "estimated", "error %", "large", "median %", "p95 %"], rows)
    whole = all(abs(f["error"]) <= AIM_CLASS for f in figures.values())
    large = [f for n, f in figures.items() if n in JUDGED and f["large"]]
    each = all(f["median"] <= AIM_MEDIAN and f["p95"] <= AIM_P95 for f in large)
    print(
        f"\n  aim: every class within {AIM_CLASS}%: {met(whole)}"
        f"\n  aim: of {', '.join(JUDGED)}, by document, a median within {AIM_MEDIAN}% and"
        f" a 95th percentile within {AIM_P95}%: {met(each)}"
    )
    return {"classes": figures, "aims": {"classes": whole, "documents": each}}


def _class(real, estimated):
    off = sorted(100 * abs(e / r - 1) for r, e in zip(real, estimated) if r >= LARGE)
    return {
        "documents": len(real),
        "real": sum(real),
        "estimated": sum(estimated),
        "error": 100 * (sum(estimated) / max(sum(real), 1) - 1),
        "large": len(off),
        "median": statistics.median(off) if off else None,
        "p95": off[min(len(off) * 95 // 100, len(off) - 1)] if off else None,
    }


def _real(documents, options):
    if not shutil.which("node"):
        raise Failure("the real tokenizer needs the program 'node'")
    folder = os.path.abspath(options.tokenizer)
    texts = json.dumps([d.encode(errors="replace").decode() for d in documents])
    done = subprocess.run(
        ["node", "-e", COUNT, folder, options.encoding],
        input=texts.encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().split("\n")
        why = next((line for line in said if "Error" in line), said[-1])
        raise Failure(f"cannot count with '{options.encoding}' in '{folder}': {why}; {HOW}")
    return json.loads(done.stdout)
