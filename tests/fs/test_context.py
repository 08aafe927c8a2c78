#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""offload context: chats in every form are managed and restored, each time by a new process."""
import json
import os
import pathlib
import random
import re
import resource
import signal
import subprocess

from clock import HOUR, Clock
from files import MIB, lines, log_text, noise, same_tree, snapshot
from harness import (
    OFFLOAD,
    SEAL_SOON,
    SANITIZED,
    SLOW,
    SOURCE_ROOT,
    Mount,
    eventually,
    in_processes,
    main,
    read,
    run,
    same,
    test,
    write,
)

MOUNTED = {"mounted": True, "unmounted": False}
POINTER = re.compile(r"\(detailed result is stored in ([^\n]*/refs/([0-9a-z]{6,8}))\)$")


# --- Chats ----------------------------------------------------------------------------------------


def _traces():
    """
    Yields lists of messages in OpenAI's form: recorded agents if traces are available, otherwise
    generated ones.
    """
    data = pathlib.Path(
        os.environ.get("OFFLOADFS_TEST_DATA") or SOURCE_ROOT.parent / "shared" / "data"
    )
    for path in sorted(data.glob("swe-agent/*.traj"))[1:5]:
        chat = [{"role": "system", "content": "You mend programs."}]
        chat.append({"role": "user", "content": "Mend the bug that is told of."})
        for i, step in enumerate(json.loads(path.read_text())["trajectory"]):
            chat += _call(i, "shell", {"command": step["action"]}, step["observation"])
        yield chat
    for path in data.glob("tau-bench/*.json"):
        for chat in json.loads(path.read_text())[:40:10]:
            yield chat["traj"]
    yield generated(12, 6000)


def _call(i, name, arguments, output):
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{i}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": f"Step {i}.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{i}", "name": name, "content": output},
    ]


def generated(calls, size, seed=1):
    chat = [{"role": "system", "content": "Be good."}, {"role": "user", "content": "Find out why."}]
    for i in range(calls):
        output = log_text(size, seed * 1000 + i).decode() + "\u00e4 \U0001f600 \0 \x7f </x>\n"
        chat += _call(i, "shell", {"command": f"make {i}"}, output)
    return chat


def _to_anthropic(chat):
    messages, system = [], None
    for m in chat:
        if m["role"] == "system":
            system = m["content"]
        elif m["role"] == "tool":
            result = {"type": "tool_result", "tool_use_id": m["tool_call_id"]}
            result["content"] = m["content"]
            messages.append({"role": "user", "content": [result]})
        elif m.get("tool_calls"):
            blocks = [
                {
                    "type": "tool_use",
                    "id": c["id"],
                    "name": c["function"]["name"],
                    "input": json.loads(c["function"]["arguments"]),
                }
                for c in m["tool_calls"]
            ]
            messages.append({"role": "assistant", "content": blocks})
        else:
            messages.append({"role": m["role"], "content": m["content"]})
    return messages, system


def _to_responses(chat):
    items = []
    for m in chat:
        if m["role"] == "tool":
            item = {"type": "function_call_output", "call_id": m["tool_call_id"]}
            items.append({**item, "output": m["content"]})
            continue
        for c in m.get("tool_calls") or []:
            items.append({"type": "function_call", "call_id": c["id"], **c["function"]})
        if m.get("content") is not None:
            items.append({"role": m["role"], "content": m["content"]})
    return items


WRITERS = [
    lambda v: json.dumps(v),
    lambda v: json.dumps(v, ensure_ascii=False, indent=1),
    lambda v: json.dumps(v, ensure_ascii=False, separators=(",", ":")).replace("/", "\\/"),
]
FORMS = {
    "openai": lambda chat: (chat, None),
    "anthropic": _to_anthropic,
    "responses": lambda chat: (_to_responses(chat), None),
}


def texts_of(results):
    """Yields the texts of tool results in a list of messages of any form."""
    for m in results:
        if m.get("role") == "tool":
            yield m["content"]
        elif m.get("type") == "function_call_output":
            yield m["output"]
        elif isinstance(m.get("content"), list):
            yield from (b["content"] for b in m["content"] if b.get("type") == "tool_result")


def pointers_of(messages):
    """Returns (path, ref) of each pointer that stands for a result."""
    found = [POINTER.search(t) for t in texts_of(messages) if t.startswith("[offloaded] ")]
    assert all(found), messages
    return [(f[1], f[2]) for f in found]


# --- The tool -------------------------------------------------------------------------------------


def _part(text, name):
    """Returns the literal JSON text of a member of an answer, or None if there is none."""
    at = text.find(f'"{name}": ')
    if at < 0:
        return None
    at += len(name) + 4
    return text[at : json.JSONDecoder().raw_decode(text, at)[1]]


class Context:
    """`offload context` on a case's tree, mounted or not; each call is a new process."""

    def __init__(self, case, mounted):
        self.case = case
        self.where = ["-d", case.mnt] if mounted else ["--store", case.store]
        self.list = self.system = None  # literal text from the last answer

    def run(self, data, *words, code=0, **more):
        done = run(
            OFFLOAD,
            "context",
            *self.where,
            *words,
            input=data,
            check=False,
            cwd=more.pop("cwd", "/"),
            timeout=50 * SLOW,
            **more,
        )
        said = done.stderr.decode()
        assert done.returncode == code, f"exit {done.returncode}, expected {code}: {said}"
        for line in said.splitlines():
            assert line.startswith("offload: context: "), f"standard error: {said!r}"
        return done.stdout, said

    def manage(self, list_text, system_text=None, *words, **members):
        """Sends a list of messages and returns the parsed answer."""
        request = f'{{"messages": {list_text}'
        if system_text is not None:
            request += f', "system": {system_text}'
        if "--restore" not in words:
            members.setdefault("max_total_tokens", 3000)  # less than any of the chats has
        for name, value in members.items():
            request += f", {json.dumps(name)}: {json.dumps(value)}"
        out, self.said = self.run((request + "}").encode("utf-8", "surrogatepass"), *words)
        text = out.decode()
        answer = json.loads(text)
        self.list = _part(text, "messages")
        rest = text[text.index(self.list) + len(self.list) :]
        self.system = _part(rest, "system") if rest.startswith(', "system": ') else None
        return answer

    def refuses(self, data, *words, code=2, saying="", **more):
        """Requires a failure with a one-line message containing `saying`, and no output."""
        out, said = self.run(data, *words, code=code, **more)
        assert not out, out[:200]
        assert len(said.splitlines()) == 1 and saying in said, said

    def gives_back(self, list_text, system_text=None):
        """Checks that restoring the last answer yields these texts, byte for byte."""
        self.manage(self.list, self.system, "--restore")
        same(self.list.encode(), list_text.encode(), "the list")
        assert self.system == system_text, (self.system, system_text)


# --- Round trips ----------------------------------------------------------------------------------


def _form_variants():
    return {
        f"{form}-{name}": (form, mounted)
        for form in FORMS
        for name, mounted in MOUNTED.items()
    }


@test(variants=_form_variants())
def real_chats_come_back(case, variant):
    form, mounted = variant
    small = {"max_tool_message_tokens": 150, "max_total_tokens": 3000}
    mount = case.mount(SEAL_SOON) if mounted else None
    context = Context(case, mounted)
    gained = 0
    for i, chat in enumerate(_traces()):
        messages, system = FORMS[form](chat)
        written = WRITERS[i % len(WRITERS)](messages)
        written_system = None if system is None else json.dumps(system)
        mode = ["compact", "compress", "auto"][i % 3]
        answer = context.manage(written, written_system, "--mode", mode, **small)
        told = answer["metadata"]
        assert told["tokens_after"] <= told["tokens_before"], told
        assert told["tokens_saved"] == told["tokens_before"] - told["tokens_after"], told
        gained += told["tokens_saved"]
        context.gives_back(written, written_system)
    assert gained > 0
    if mount:
        mount.unmount()


@test(variants=MOUNTED)
def a_chat_that_goes_on(case, mounted):
    """The harness sends the last answer back, followed by new messages."""
    mount = case.mount(SEAL_SOON) if mounted else None
    context = Context(case, mounted)
    chat = generated(12, 5000)
    for form in FORMS:
        messages, system = FORMS[form](chat)
        kept = None if system is None else json.dumps(system)
        parts = [json.dumps(m) for m in messages]
        sent, done = [], 0
        for turn in range(4):
            upto = len(parts) * (turn + 1) // 4
            sent += parts[done:upto]
            done = upto
            mode = ["compact", "auto", "compress", "compress"][turn]
            context.manage(
                "[" + ", ".join(sent) + "]",
                kept if turn == 0 else context.system,
                "--mode",
                mode,
                max_tool_message_tokens=300,
            )
            managed, beside = context.list, context.system
            context.gives_back("[" + ", ".join(parts[:upto]) + "]", kept)
            context.list, context.system = managed, beside
            sent = [managed[1:-1]]
    if mount:
        mount.unmount()


@test(variants={form: form for form in FORMS})
def a_harness_that_writes_it_anew(case, form):
    """
    The harness parses each answer and serializes it differently; the restored chat is equivalent.
    """
    messages, system = FORMS[form](generated(8, 6000))
    context = Context(case, False)
    sent, beside = messages, system
    for i, mode in enumerate(["compact", "compress", "auto", "compress"]):
        write_anew = WRITERS[i % len(WRITERS)]
        context.manage(
            write_anew(sent),
            None if beside is None else write_anew(beside),
            "--mode",
            mode,
            "--prefetch",
            max_tool_message_tokens=300,
        )
        sent = json.loads(context.list)
        beside = context.system and json.loads(context.system)
        context.list = write_anew(sent)
        context.manage(context.list, context.system, "--restore")
        assert json.loads(context.list) == messages, mode
        assert (context.system and json.loads(context.system)) == system, mode
        more = {"role": "user", "content": f"Go on {i}: what of line 3?"}
        sent, messages = sent + [more], messages + [more]


@test
def slices_are_fetched_for_a_request_alone(case):
    """Slices inserted in the middle of an exchange would invalidate the provider's cache."""
    context = Context(case, False)
    answer = context.manage("[]", None, "--mode", "compact", "--prefetch")
    assert answer["messages"] == [], "of no chat, neither"
    chat = generated(8, 6000)
    word = "zanzibar"
    # Remove the NUL, which makes the result binary.
    chat[3]["content"] = f"the {word} is here\n" + chat[3]["content"].replace("\0", "")
    request = {"role": "user", "content": f"Where is the {word}?"}
    for more, there in (
        ([request], True),
        ([request, {"role": "assistant", "content": "I look."}], False),
        ([{"role": "user", "content": f"<system-reminder>{word}</system-reminder>"}], False),
    ):
        sent = json.dumps(chat + more)
        answer = context.manage(sent, None, "--mode", "compact", "--prefetch")
        assert (answer["metadata"]["prefetched"] > 0) == there, (more, answer["metadata"])
        managed = json.loads(context.list)
        assert len(managed) == len(chat + more) + there
        if there:
            assert word in managed[-2]["content"] and managed[-1] == request, managed[-2:]
        context.manage(context.list, None, "--restore")
        assert json.loads(context.list) == chat + more


@test
def the_answer_is_a_sentence(case):
    """The summary line states what was done and nothing else."""
    context = Context(case, False)
    limit = 8000
    for calls, keep, said in (
        (1, 1, r"nothing to do: \d+ tokens"),
        (2, 1, r"1 result offloaded: \d+ -> \d+ tokens"),
        (3, 0, r"3 results offloaded: \d+ -> \d+ tokens"),
    ):
        chat = json.dumps(generated(calls, 20000))
        answer = context.manage(
            chat, None, "--mode", "compact", "--keep", str(keep), max_total_tokens=limit
        )["answer"]
        assert re.fullmatch(said, answer), answer
    answer = context.manage(chat, None, "--mode", "compress", "--keep", "0")["answer"]
    assert re.fullmatch(r"\d messages summarized: \d+ -> \d+ tokens", answer), answer


@test
def it_comes_back_after_moves_remounts_and_kills(case):
    written = json.dumps(generated(6, 8000))
    with case.mount(SEAL_SOON) as m:
        context = Context(case, True)
        context.manage(written, None, "--mode", "compact", max_tool_message_tokens=300)
        compacted = context.list
        context.manage(written, None, "--mode", "compress", "--chat", "t1")
        compressed = context.list
        m.crash()
        for managed in (compacted, compressed):
            context.list = managed
            context.gives_back(written)
        for name in os.listdir(m("cache/context")):
            os.rename(m("cache/context", name), m("persistent", name))
        os.makedirs(m("archive/chats"))
        for name in os.listdir(m("tasks/t1/context")):
            os.rename(m("tasks/t1/context", name), m("archive/chats", name))
        m.remount()
        for managed in (compacted, compressed):
            context.list = managed
            context.gives_back(written)
    # And without a mount.
    context = Context(case, False)
    context.list = compacted
    context.gives_back(written)


@test
def pointers_lead_to_what_was_there(case):
    chat = generated(5, 9000)
    with case.mount(SEAL_SOON) as m:
        context = Context(case, True)
        answer = context.manage(
            json.dumps(chat), None, "--mode", "compact", "--keep", "0", max_tool_message_tokens=300
        )
        found = pointers_of(answer["messages"])
        originals = [t.encode() for t in texts_of(chat)]
        assert len(found) == len(originals)
        assert [p for p, _ in found] == list(answer["metadata"]["write_file_dict"])
        for (path, ref), original in zip(found, originals):
            # The path may be relative to the directory where it was made.
            path = os.path.join("/", path)
            assert path == m("refs", ref), path
            same(read(path), original)
            same(read(path + ":3-7"), lines(original, 3, 7))
            same(run("tail", "-n", "5", path).stdout, lines(original, -4 + original.count(b"\n")))
        told = answer["metadata"]["write_file_dict"].values()
        assert [f["bytes"] for f in told] == [len(t) for t in originals]


@test
def what_was_read_back_stays(case):
    """Output in which a model reads an offloaded result back, by its pointer, is not offloaded."""
    with case.mount(SEAL_SOON) as m:
        context = Context(case, True)
        chat = generated(2, 9000)
        words = ["--list", "--keep", "0", "--max-tool-tokens", "300"]
        for cwd in ("/", case.dir, m("cache")):
            out, _ = context.run(json.dumps(chat).encode(), *words, cwd=cwd)
            managed = json.loads(out)
            path = pointers_of(managed)[0][0]
            more = _call(77, "shell", {"command": f"cat {path}:1-60"}, log_text(8000, 3).decode())
            out, _ = context.run(json.dumps(managed + more).encode(), *words, cwd=cwd)
            assert json.loads(out) == managed + more, (cwd, path)


@test
def several_at_once(case):
    """Concurrent runs refer to the same files, whichever created them."""
    data = json.dumps(generated(10, 5000)).encode()

    def work(i):
        with open(case.path(str(i)), "wb") as out:
            for mode in ("compact", "compress"):
                words = ["--mode", mode, "--list", "--max-total-tokens", "3000", "--max-tool-tokens", "300"]
                out.write(Context(case, True).run(data, *words)[0])

    with case.mount(SEAL_SOON) as m:
        in_processes(4, work)
        outputs = {read(case.path(str(i))) for i in range(4)}
        assert len(outputs) == 1, outputs
        for line in outputs.pop().splitlines():
            same(Context(case, True).run(line, "--restore", "--list")[0], data + b"\n")
        assert len(os.listdir(m("cache/context"))) == 10, os.listdir(m("cache/context"))


@test
def a_mountpoint_with_a_strange_name(case):
    """The messages must be valid JSON even so."""
    case.mnt = os.fsdecode(os.fsencode(case.mnt) + b" '\xff\xc3\xa4")
    os.mkdir(case.mnt)
    written = json.dumps(generated(3, 8000))
    with case.mount(SEAL_SOON):
        context = Context(case, True)
        for mode in ("compact", "compress"):
            context.manage(written, None, "--mode", mode, max_tool_message_tokens=300)
            context.gives_back(written)


# --- Lost results ---------------------------------------------------------------------------------


@test(variants=MOUNTED)
def what_was_changed_or_removed_is_told(case, mounted):
    written = json.dumps(generated(2, 8000))
    with case.mount(SEAL_SOON) as m:
        context = Context(case, True)
        context.manage(written, None, "--mode", "compact", max_tool_message_tokens=300)
        managed = context.list
        ref = pointers_of(json.loads(managed))[0][1]
        (name,) = os.listdir(m("cache/context"))
        data = read(m("cache/context", name))
        write(m("cache/context", name), data[:-2] + b"#\n")
        restore = ["--restore"]
        if not mounted:
            m.unmount()
            context = Context(case, False)
        context.refuses(
            managed.encode(),
            *restore,
            code=1,
            saying=f"the content of ref {ref} has changed since it was offloaded",
        )
        if not mounted:
            m.start()
        write(m("cache/context", name), data)
        context.list = managed
        if mounted:
            context.gives_back(written)
        os.unlink(m("cache/context", name))
        context = Context(case, True)
        context.refuses(managed.encode(), *restore, code=1, saying=f"cannot read ref {ref}")


@test
def what_has_expired_is_told(case):
    clock = Clock(case)
    with clock.start(Mount(case, case.store, case.mnt, ["gc_interval=1", "grace=0", SEAL_SOON])) as m:
        written = json.dumps(generated(2, 8000))
        context = Context(case, True)
        context.manage(written, None, "--mode", "compact", max_tool_message_tokens=300)
        (name,) = os.listdir(m("cache/context"))
        os.setxattr(m("cache/context", name), "user.offload.ttl", b"1h")
        path = m("cache/context", name)
        m.wait_sealed(path)

        def is_gone():
            clock.pass_time(HOUR)
            run(OFFLOAD, "gc", "-d", case.mnt)
            return not os.path.exists(path)

        eventually(is_gone, "expired")
        context.refuses(context.list.encode(), "--restore", code=1, saying="it has expired")


# --- Invalid input --------------------------------------------------------------------------------

WRONG = {
    "nothing": b"",
    "blanks": b" \n\t\n",
    "binary": noise(100000, 1),
    "nul": b"\0" * 1000,
    "not UTF-8": b'[{"role": "user", "content": "\xff\xfe"}]',
    "UTF-16": '[{"role": "user"}]'.encode("utf-16"),
    "cut off": json.dumps(generated(2, 5000)).encode()[:-40],
    "two": b"[] []",
    "a text": b'"hello"',
    "a number": b"12",
    "no messages": b'{"chat": []}',
    "messages of another kind": b'{"messages": {"role": "user"}}',
    "a message of another kind": b'[{"role": "user", "content": "x"}, "y"]',
    "deep": b"[" * 1000 + b"]" * 1000,
    "deep in a message": b'[{"a": ' + b'{"a": ' * 600 + b"1" + b"}" * 601 + b"]",
    "a mode that is none": b'{"messages": [], "context_manage_mode": "shrink"}',
    "a negative limit": b'{"messages": [], "max_total_tokens": -5}',
    "a chat that is no name": b'{"messages": [], "chat_id": "../x"}',
    "a folder outside": b'{"messages": [], "store_dir": "/etc"}',
    "a folder above": b'{"messages": [], "store_dir": "cache/../../x"}',
}


@test(variants=MOUNTED)
def wrong_input(case, mounted):
    mount = case.mount(SEAL_SOON) if mounted else None
    context = Context(case, mounted)
    before = snapshot(case.mnt)
    for what, data in WRONG.items():
        for words in ([], ["--mode", "compress"], ["--restore"]):
            context.refuses(data, *words)
    same_tree(snapshot(case.mnt), before)
    if mount:
        mount.unmount()
    else:
        assert not os.path.exists(case.store), "a store was made for nothing"


HUGE = {
    "brackets": lambda: b"[" * (100 * MIB),
    "an open text": lambda: b'[{"role": "user", "content": "' + b"x" * (100 * MIB),
    "a control character at the end": lambda: b'["' + b"x" * (100 * MIB) + b'\x01"]',
    "binary": lambda: noise(10 * MIB, 1) * 10,
    "backslashes": lambda: b'["' + b"\\" * (100 * MIB + 1) + b'"]',
    "lines": lambda: b"\n" * (100 * MIB) + b"x",
}


@test(variants=HUGE)
def wrong_input_of_100_mb(case, make):
    Context(case, False).refuses(make())
    assert not os.path.exists(case.store)


@test
def wrong_options(case):
    context = Context(case, False)
    for words, saying in (
        (["--mode", "shrink"], "'shrink' is not a mode"),
        (["--mode", ""], "'' is not a mode"),
        (["--mode"], "needs a value"),
        (["--keep", "-1"], "'-1' is not a count of messages"),
        (["--keep", "x"], "'x' is not a count of messages"),
        (["--keep", ""], "'' is not a count"),
        (["--keep", "1 "], "'1 ' is not a count"),
        (["--keep", "99999999999999999999"], "is not a count"),
        (["--max-tool-tokens", "2k"], "'2k' is not a count of tokens"),
        (["--max-total-tokens", "1e3"], "'1e3' is not a count of tokens"),
        (["--max-total-tokens", "0x10"], "is not a count of tokens"),
        (["--chat", "a/b"], "a/b"),
        (["--chat", ".hidden"], ".hidden"),
        (["--chat", ""], "chat"),
        (["--chat", "x" * 65], "chat"),
        (["--store-dir", "/etc"], "'/etc' is not in the tree"),
        (["--store-dir", "../x"], "leads out of the tree"),
        (["--shrink"], "unknown option '--shrink'"),
        (["--restore=yes"], "takes no value"),
        (["request.json"], "unexpected argument 'request.json'"),
    ):
        context.refuses(json.dumps(generated(2, 9000)).encode(), *words, saying=saying)
    assert not os.path.exists(case.store)


@test
def places(case):
    data = json.dumps(generated(2, 9000)).encode()
    with case.mount(SEAL_SOON) as m:
        context = Context(case, True)
        small = ["--mode", "compact", "--max-total-tokens", "3000", "--max-tool-tokens", "300", "--list"]
        for words, folder in (
            ([], "cache/context"),
            (["--chat", "run-7"], "tasks/run-7/context"),
            (["--store-dir", "persistent/chats"], "persistent/chats"),
            (["--store-dir", m("persistent/a/b")], "persistent/a/b"),
            (["--store-dir", "notes", "--chat", "x"], "notes"),
        ):
            out, _ = context.run(data, *words, *small)
            assert out.startswith(b"[") and out.endswith(b"]\n") and out.count(b"\n") == 1
            assert len(os.listdir(m(folder))) == 1, folder
            restored, _ = context.run(out, "--restore", "--list")
            same(restored, data + b"\n")
        context.refuses(data, "--store-dir", case.dir, saying="is not in the tree")
        context.refuses(data, "--store-dir", m("refs"), *small, code=1)


# --- Failing stores and output --------------------------------------------------------------------


@test(root=True)
def a_full_disk(case):
    disk = case.path("small")
    os.mkdir(disk)
    run("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk)
    case.store = os.path.join(disk, "store")
    context = Context(case, False)
    small = json.dumps(generated(2, 9000))
    context.manage(small, None, "--mode", "compact", max_tool_message_tokens=300)
    managed = context.list
    output = random.Random(1).randbytes(12 * MIB).hex()
    more = _call(7, "shell", {}, output) + _call(8, "shell", {}, "x")
    large = json.dumps(generated(1, 100) + more)
    for mode in ("compact", "compress", "auto"):
        context.refuses(large.encode(), "--mode", mode, code=1)
    context.list = managed
    context.gives_back(small)
    eventually(lambda: run("umount", disk, check=False).returncode == 0, "unmounted")


@test
def a_store_that_cannot_be_made(case):
    write(case.path("file"), b"")
    case.store = case.path("file", "store")
    Context(case, False).refuses(
        json.dumps(generated(2, 9000)).encode(), "--max-tool-tokens", "300", code=1
    )
    # Input that needs no store works without one.
    context = Context(case, False)
    context.manage(json.dumps(generated(2, 10)), None)


@test
def a_mount_without_its_daemon(case):
    data = json.dumps(generated(2, 9000)).encode()
    m = case.mount(SEAL_SOON)
    context = Context(case, True)
    context.run(data, "--max-tool-tokens", "300")
    m.kill9()
    # The dead mount no longer uses the store, so the tool opens it directly.
    out, _ = context.run(data, "--max-tool-tokens", "300", "--list")
    same(context.run(out, "--restore", "--list")[0], data + b"\n")
    m.start()
    m.unmount()


@test
def nobody_listens(case):
    data = json.dumps(generated(40, 50000)).encode()
    with case.mount(SEAL_SOON):
        context = Context(case, True)
        command = [OFFLOAD, "context", *context.where, "--keep", "40", "--list"]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/"
        ) as p:
            p.stdout.close()
            p.stdin.write(data)
            p.stdin.close()
            said = p.stderr.read().decode()
        assert p.returncode in (0, 1, -signal.SIGPIPE), p.returncode
        assert len(said.splitlines()) <= 1, said
        with open("/dev/full", "wb") as full:
            done = run(*command, input=data, stdout=full, check=False, cwd="/")
        assert done.returncode == 1, done
        assert re.fullmatch(rb"offload: context: cannot write [^\n]*\n", done.stderr), done.stderr
        with open("/dev/null", "rb") as nothing:
            done = run(*command, stdin=nothing, check=False, cwd="/")
        assert done.returncode == 2, done
        # A directory is not readable input.
        folder = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
        done = run(*command, stdin=folder, check=False, cwd="/")
        os.close(folder)
        assert done.returncode == 1 and b"cannot read standard input" in done.stderr, done


# --- Large chats ----------------------------------------------------------------------------------


def _write_huge(path, kind):
    """
    Writes a chat of slightly more than 40 MB in pieces: a child's peak memory starts at what the
    test itself holds.
    """
    blocks = 420
    block = json.dumps(log_text(100000, 9).decode())[1:-1]
    with open(path, "w") as f:
        f.write('[{"role": "user", "content": "go"}')
        if kind == "one result":
            call, result = (json.dumps(m) for m in _call(1, "shell", {}, "@"))
            before, after = result.split('"@"')
            f.write(f', {call}, {before}"')
            for i in range(blocks):
                f.write(f"{i} {block}")
            f.write(f'"{after}')
        elif kind == "small messages":
            for i in range(blocks * 210):
                one, two = (json.dumps(m) for m in _call(i, "get", {"number": i}, f'{{"ok": {i}}}'))
                f.write(f", {one}, {two}")
        else:
            for i in range(blocks // 2 if kind == "many messages" else blocks):
                one, two = (json.dumps(m) for m in _call(i, "shell", {}, f"{i} @"))
                if kind == "many messages":
                    one = json.dumps({"role": "assistant", "content": f"{i} @"})
                    two = json.dumps({"role": "user", "content": f"{i} @"})
                f.write(f", {one}, {two}".replace("@", block))
        f.write("]\n")
    return os.path.getsize(path)


def _peak(case, source, target, *words):
    """Runs the command from file to file; returns its peak memory in bytes."""
    with open(source, "rb") as stdin, open(target, "wb") as stdout:
        command = [OFFLOAD, "context", "-d", case.mnt, "--list", *words]
        p = subprocess.Popen(command, stdin=stdin, stdout=stdout, cwd="/")
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    assert p.returncode == 0, p.returncode
    return usage.ru_maxrss << 10


@test(
    variants={
        f"{kind}-{mode}": (kind, mode)
        for kind, mode in (
            ("one result", "compact"),
            ("many results", "compact"),
            ("many results", "compress"),
            ("many messages", "compress"),
            ("small messages", "auto"),
        )
    },
    timeout=120,
)
def a_chat_of_40_mb(case, variant):
    kind, mode = variant
    chat, managed, back = case.path("chat"), case.path("managed"), case.path("back")
    size = _write_huge(chat, kind)
    with case.mount():
        there = _peak(case, chat, managed, "--mode", mode, "--keep", "0") / size
        and_back = _peak(case, managed, back, "--restore") / size
    assert os.path.getsize(managed) < size / 50
    run("cmp", chat, back)
    if not SANITIZED:  # sanitizers need memory of their own
        assert there <= 3 and and_back <= 3, f"{there:.2f} and {and_back:.2f} times its size"


@test
def a_machine_without_memory(case):
    """Running out of memory is reported, and leaves no partial output."""
    data = json.dumps(generated(40, 1 * MIB)).encode()
    limit = 3 * len(data) // 4
    if SANITIZED:
        return
    Context(case, False).refuses(
        data,
        code=1,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )


if __name__ == "__main__":
    main()
