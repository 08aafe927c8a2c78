#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`offload reduce` turns tool calls into steps, and stores long results in the tree."""
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess

from clock import DAY, HOUR, Clock
from files import log_text
from harness import (
    OFFLOAD,
    SEAL_SOON,
    SLOW,
    SOURCE_ROOT,
    Mount,
    Skip,
    in_processes,
    main,
    read,
    run,
    same,
    test,
    xattr,
)

MOUNTED = {"mounted": True, "unmounted": False}
DATA = pathlib.Path(os.environ.get("OFFLOADFS_TEST_DATA") or SOURCE_ROOT.parent / "shared" / "data")
MEMBERS = [
    "id",
    "tool_name",
    "minimal_args",
    "observation",
    "outcome_ref",
    "success",
    "error",
    "timestamp_ms",
    "metadata",
]
HUGE = 40 * 10**6


# --- The tool -------------------------------------------------------------------------------------


class Reducer:
    """`offload reduce` on a case's tree, mounted or not."""

    def __init__(self, case, mounted):
        self.case, self.mounted = case, mounted
        self.m = case.mount() if mounted else None
        self.where = ["-d", case.mnt] if mounted else ["--store", case.store]

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        return self.m.__exit__(kind, value, trace) if self.m else False

    def run(self, data, *words, **options):
        if isinstance(data, bytes):
            options["input"] = data
        else:
            options["stdin"] = data
        return run(
            OFFLOAD,
            "reduce",
            *self.where,
            *words,
            check=False,
            cwd="/",
            timeout=50 * SLOW,
            **options,
        )

    def steps(self, calls, *words):
        """Returns the steps of these calls, in order."""
        done = self.run("\n".join(json.dumps(c) for c in calls).encode(), *words)
        assert (done.returncode, done.stderr) == (0, b""), done
        found = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(found) == len(calls)
        for step in found:
            check_step(step)
        return found

    def step(self, tool, args, result, *words):
        return self.steps([{"tool": tool, "args": args, "result": result}], *words)[0]

    def refuses(self, data, saying, *words):
        """Requires exit code 2 and a one-line message containing `saying`, with nothing stored."""
        before = self.names()
        done = self.run(data, *words)
        said = done.stderr.decode()
        assert (done.returncode, done.stdout) == (2, b""), done
        assert said.startswith("offload: reduce: ") and said.count("\n") == 1, said
        assert saying in said, said
        assert self.names() == before

    def slice(self, ref):
        """Returns the whole content of a ref."""
        if self.mounted:
            return read(os.path.join(self.case.mnt, "refs", ref))
        return run(OFFLOAD, "slice", *self.where, ref, "b0-").stdout

    def names(self):
        """Returns the names of all offloaded files, sorted."""
        if not self.mounted:
            if not os.path.exists(self.case.store):
                return []
            with self.case.mount():
                return names_in(self.case.mnt)
        return names_in(self.case.mnt)


def names_in(mnt):
    return sorted(
        os.path.relpath(os.path.join(folder, name), mnt)
        for top in ("cache", "tasks")
        for folder, _, names in os.walk(os.path.join(mnt, top))
        for name in names
    )


def check_step(step):
    """Checks what holds for every step."""
    assert list(step) == MEMBERS, list(step)
    for text in (step["observation"], step["error"] or ""):
        assert len(text) <= 400 and not re.search(r"[\x00-\x1f\x7f\u2028\u2029]", text), text
    assert step["success"] == (step["error"] is None), step
    assert isinstance(step["minimal_args"], dict) and "rule" in step["metadata"]


# --- Real calls -----------------------------------------------------------------------------------


def swe_agent_calls():
    """Yields the actions of a coding agent; those that are not its own tools are shell commands."""
    own = {"open": "path", "create": "path", "find_file": "file_name", "ls": "path"}
    for path in sorted((DATA / "swe-agent").glob("*.traj")):
        for step in json.loads(path.read_text()).get("trajectory", []):
            action = (step.get("action") or "").strip()
            word, _, rest = action.partition(" ")
            if not action:
                continue
            if word in own:
                words = shlex.split(rest)
                args = {own[word]: words[-1] if word == "ls" else words[0]} if words else {}
                if "file_name" in args and len(words) > 1:
                    args["dir"] = words[1]
                yield {"tool": word, "args": args, "result": step["observation"]}
            elif word in ("edit", "insert", "submit"):
                yield {"tool": word, "args": {"text": rest}, "result": step["observation"]}
            else:
                yield {"tool": "bash", "args": {"command": action}, "result": step["observation"]}


def tau_bench_calls():
    for chat in json.loads((DATA / "tau-bench/gpt-4o-airline.json").read_text()):
        arguments = "{}"
        for message in chat["traj"]:
            for call in message.get("tool_calls") or []:
                arguments = call["function"]["arguments"]
            if message["role"] == "tool":
                yield {"tool": message["name"], "args": arguments, "result": message["content"]}


@test(variants=MOUNTED, timeout=120)
def real_calls_of_a_coding_agent(case, mounted):
    if not DATA.exists():
        raise Skip("no traces here")
    calls = list(swe_agent_calls())
    with Reducer(case, mounted) as offload:
        steps = offload.steps(calls)
        patterns = {
            "fs:read_file": r"Read \S+ \(\d+ bytes?, [\w+ ]+\)$",
            "fs:write_file": r"(Wrote|Edited|Created) .+?( \(.+\))?(: failed: .+)?$",
            "fs:list_dir": r"Listed \S+( in \S+)?: \d+ items?( \(\d+ files?, \d+ dirs?\))?$",
            "system:shell": r".+: (no output|\d+ lines? output)(: .+)?$",
            "other": r".+",
        }
        kinds = set()
        for call, step in zip(calls, steps):
            rule = step["metadata"]["rule"]
            kinds.add(rule)
            assert re.match(patterns[rule], step["observation"]), (rule, step["observation"])
            if step["outcome_ref"]:
                same(offload.slice(step["outcome_ref"]), call["result"].encode())
            elif rule != "fs:write_file" and step["metadata"]["bytes"]:
                kept = step["metadata"].get("output", step["observation"])
                assert kept == call["result"], (call, step)
        assert kinds == set(patterns), kinds
        failed = [s for s in steps if not s["success"]]
        assert any("Error: " in s["error"] for s in failed)
        assert any("syntax error" in s["observation"] for s in failed)
        # An edit's result shows the file, which must not reach the prompt.
        before = sum(len(json.dumps(c)) for c in calls)
        after = sum(len(json.dumps(s)) for s in steps)
        assert after < 0.6 * before, (after, before)


@test(variants=MOUNTED, timeout=120)
def real_calls_of_an_assistant(case, mounted):
    if not DATA.exists():
        raise Skip("no traces here")
    calls = list(tau_bench_calls())
    with Reducer(case, mounted) as offload:
        steps = offload.steps(calls)
        assert {s["metadata"]["rule"] for s in steps} == {"other"}
        for call, step in zip(calls, steps):
            result = call["result"]
            assert step["success"] == (not result.startswith("Error")), (call, step)
            assert bool(step["outcome_ref"]) == (len(result.encode()) > 2048), (call, step)
            assert set(step["minimal_args"]) == set(json.loads(call["args"]))
        some = [(c, s) for c, s in zip(calls, steps) if s["outcome_ref"]]
        assert some
        for call, step in some[:20]:
            same(offload.slice(step["outcome_ref"]), call["result"].encode())


# --- The rules ------------------------------------------------------------------------------------


@test(variants=MOUNTED)
def every_rule(case, mounted):
    python = "import os\n" * 200
    with Reducer(case, mounted) as offload:
        for tool, args, result, observation, where in (
            ("Read", {"file_path": "a.py"}, python, "Read a.py (2000 bytes, Python)", "file_read"),
            ("fs:write_file", {"path": "r.md", "content": "x" * 5234}, "ok",
             "Wrote r.md (5234 bytes)", None),
            ("list_dir", {"path": "src/"}, "".join(f"f{i}\n" for i in range(15))
             + "".join(f"d{i}/\n" for i in range(5)),
             "Listed src/: 20 items (15 files, 5 dirs)", "file_read"),
            ("web_search", {"query": "Bitcoin price"}, {"results": [{"url": "u"}] * 10},
             "Found 10 results for 'Bitcoin price'", "search"),
            ("browser:navigate", {"url": "https://example.com/article"},
             {"status": 200, "content": "words " * 8333},
             "Visited example.com/article (status=200, 50KB text)", "web"),
            ("Bash", {"command": "git log"},
             {"stdout": "one line of the log, and more\n" * 20, "stderr": "", "exit_code": 0},
             "git log: exit 0, 20 lines output", "shell"),
            ("Grep", {"pattern": "x"}, "src/a.c:1:x" + "y" * 3000, "Found 1 match for 'x' in 1 file",
             "search"),
            ("any", {}, "word " * 1000, "word " * 39 + "wo...", "general"),
        ):
            step = offload.step(tool, args, result)
            assert step["observation"] == observation, step
            assert step["success"]
            if where is None:
                assert step["outcome_ref"] is None
                continue
            path = step["metadata"]["path"]
            assert path.startswith(f"cache/{where}/{where}_"), path
            content = offload.slice(step["outcome_ref"])
            assert hashlib.sha256(content).hexdigest() == step["metadata"]["sha256"]
            assert len(content) == step["metadata"]["bytes"]
        step = offload.step("Bash", {"command": "make"},
                            {"stdout": "x\n" * 500, "stderr": "the reason", "exit_code": 2})
        assert step["observation"] == "make: exit 2, 501 lines output: the reason"
        assert (step["success"], step["error"]) == (False, "the reason")


@test
def the_category_can_be_given(case):
    with Reducer(case, True) as offload:
        step = offload.step("Bash", {}, "x\n" * 500, "-c", "mine")
        assert step["metadata"]["path"].startswith("cache/mine/mine_")


@test(variants=MOUNTED)
def the_same_gives_the_same(case, mounted):
    calls = [
        {"tool": "Bash", "args": {"command": f"run {i}"}, "result": log_text(3000, i).decode()}
        for i in range(10)
    ]
    data = "\n".join(json.dumps(c) for c in calls).encode()
    with Reducer(case, mounted) as offload:
        first = offload.run(data)
        same(offload.run(data).stdout, first.stdout)
        assert len({json.loads(line)["id"] for line in first.stdout.splitlines()}) == 10
        # Also concatenated without newlines, or spread over several lines each.
        dense = b"".join(json.dumps(c).encode() for c in calls)
        same(offload.run(dense).stdout, first.stdout)
        wide = "\n\n".join(json.dumps(c, indent=2) for c in calls).encode()
        refs = [json.loads(line)["outcome_ref"] for line in offload.run(wide).stdout.splitlines()]
        assert refs == [json.loads(line)["outcome_ref"] for line in first.stdout.splitlines()]


# --- Invalid input --------------------------------------------------------------------------------

GOOD = json.dumps({"tool": "Bash", "args": {}, "result": "x\n" * 1000}).encode()


@test(variants=MOUNTED)
def bad_input_stores_nothing(case, mounted):
    with Reducer(case, mounted) as offload:
        for data, saying in (
            (b"", "empty"),
            (b" \n\t\r\n", "empty"),
            (b"hello", "not valid JSON"),
            (b'{"tool": "x"', "after a member"),
            (b"\x00\x01\x02\xff" * 100, "not valid JSON"),
            (b'{"tool": "x", "result": "\xff"}', "UTF-8"),
            (b'{"tool": "x", "result": "a\nb"}', "control character"),
            (b"[]", "an array"),
            (b"7", "a number"),
            (b"{}", 'without "tool"'),
            (b'{"tool": ""}', "empty"),
            (b'{"tool": "x", "args": [1]}', "an array"),
            (b'{"tool": "x", "args": "no"}', "holds no object"),
            (b'{"tool": "x", "result": ' + b"[" * 600 + b"]" * 600 + b"}", "512"),
            (b'{"tool": "x", "args": ' + b'{"a":' * 600 + b"1" + b"}" * 600 + b"}", "512"),
            (b"[" * 10**6, "512"),
            (GOOD + b"\n" + GOOD + b"\n\n{}", "in object 3, which starts at line 4"),
            (GOOD + b"\n{", "in object 2, which starts at line 2: not valid JSON"),
            (GOOD + b"]", "not valid JSON"),
        ):
            offload.refuses(data, saying)
        offload.refuses(GOOD, "unexpected argument 'x'", "x")
        offload.refuses(GOOD, "category 'a/b'", "-c", "a/b")
        offload.refuses(GOOD, "task '../x'", "-t", "../x")
        offload.refuses(GOOD, "unknown option '--nope'", "--nope")
        assert offload.names() == []


@test
def results_that_are_only_strange(case):
    with Reducer(case, True) as offload:
        deep = "[" * 100000 + "]" * 100000
        step = offload.step("x", {}, deep)
        same(offload.slice(step["outcome_ref"]), deep.encode())
        nested = "x"
        for _ in range(12):
            nested = json.dumps({"content": nested})
        assert offload.step("x", {}, nested)["success"]
        everything = "".join(map(chr, range(0x20, 0x3000))) + "\0\x1b[31m"
        step = offload.step("Read", {"path": "x"}, everything)
        same(offload.slice(step["outcome_ref"]), everything.encode())
        data = b'{"tool": "x", "result": "' + rb"\ud800\u0000" * 1000 + b'"}'
        done = offload.run(data)
        assert done.returncode == 0, done
        ref = json.loads(done.stdout)["outcome_ref"]
        same(offload.slice(ref), b"\xed\xa0\x80\0" * 1000)
        for result in (None, True, 0, 1.5, "", [], {}, [[]], {"content": []}, {"content": None}):
            for tool in ("Read", "Write", "LS", "Grep", "WebSearch", "WebFetch", "Bash", "other"):
                offload.step(tool, {}, result)


# --- A huge result --------------------------------------------------------------------------------


@test(variants=MOUNTED, timeout=180)
def a_huge_result(case, mounted):
    line = 'src/main.c:120: "quoted" error: something \\path happened\tvalue %07d\n'
    rows = HUGE // len(line % 0)
    text = "".join(line % i for i in range(rows))
    path = case.path("input")
    with open(path, "w") as f:
        json.dump({"tool": "Bash", "args": {"command": "make"}, "result": text}, f)
    want = hashlib.sha256(text.encode()).hexdigest()
    with Reducer(case, mounted) as offload:
        with open(path, "rb") as f:
            done = offload.run(f)
        assert (done.returncode, done.stderr) == (0, b""), done
        step = json.loads(done.stdout)
        check_step(step)
        assert len(done.stdout) < 1500
        assert step["metadata"]["sha256"] == want
        assert (step["metadata"]["bytes"], step["metadata"]["lines"]) == (len(text), rows)
        assert step["observation"] == f"make: {rows} lines output"
        part = [step["outcome_ref"], f"{rows}-"]
        got = run(OFFLOAD, "slice", *offload.where, *part).stdout
        same(got, (line % (rows - 1)).encode())
        # Also through a pipe.
        with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat:
            same(offload.run(cat.stdout).stdout, done.stdout)


# --- Tasks ----------------------------------------------------------------------------------------


@test(variants=MOUNTED)
def a_task_has_a_history(case, mounted):
    with Reducer(case, mounted) as offload:
        calls = [
            {"tool": "Read", "args": {"path": "a.c"}, "result": "int x;\n" * 200},
            {"tool": "think", "args": {"thought": "so"}, "result": ""},
            {"tool": "Bash", "args": {"command": "make"}, "result": {"stderr": "no", "exit_code": 2}},
        ]
        steps = offload.steps(calls, "-t", "t1")
        assert [s["id"] for s in steps] == ["step_001", "step_002", "step_003"]
        assert steps[0]["metadata"]["path"].startswith("tasks/t1/outputs/file_read_")
        assert offload.step("think", {}, "", "-t", "t1")["id"] == "step_004"
        want = sorted(f"tasks/t1/history/step_{i:03}{end}"
                      for i in range(1, 5) for end in (".json", ".compact"))
        assert [n for n in offload.names() if "/history/" in n] == want
    with case.mount() as m:
        for step in steps:
            assert json.loads(read(m("tasks/t1/history", step["id"] + ".json"))) == step
        assert [read(m("tasks/t1/history", s["id"] + ".compact")).decode() for s in steps] == [
            f"Read a.c (1.4 KB) [ref {steps[0]['outcome_ref']}]\n",
            "think(thought=so) -> no output\n",
            "Ran `make` (exit 2): failed: no\n",
        ]


@test(timeout=120)
def several_at_once(case):
    workers, each = 6, 20
    with Reducer(case, True) as offload:

        def work(number):
            for i in range(each):
                result = f"result {number % 3} {i}\n" * 200
                step = offload.step("Bash", {"command": f"{number} {i}"}, result, "-t", "t1")
                same(offload.slice(step["outcome_ref"]), result.encode())

        in_processes(workers, work)
        found = offload.names()
        history = [n for n in found if "/history/" in n]
        want = sorted(f"tasks/t1/history/step_{i:03}{end}"
                      for i in range(1, workers * each + 1) for end in (".json", ".compact"))
        assert history == want, set(history) ^ set(want)
        commands = set()
        for name in history:
            if not name.endswith(".json"):
                continue
            step = json.loads(read(os.path.join(case.mnt, name)))
            assert f"/{step['id']}.json" in name
            commands.add(step["minimal_args"]["command"])
        assert len(commands) == workers * each
        # Equal content was stored once.
        assert len([n for n in found if "/outputs/" in n]) == 3 * each


@test
def a_full_history_leaves_nothing_half_written(case):
    with Reducer(case, True) as offload:
        offload.step("think", {}, "", "-t", "t1")
        os.rename(offload.m("tasks/t1/history"), offload.m("tasks/t1/old"))
        offload.m.make("tasks/t1/history", b"a file where the folder should be")
        done = offload.run(GOOD, "-t", "t1")
        assert done.returncode == 1 and done.stdout == b"", done
        assert b"tasks/t1/history" in done.stderr
        assert not [n for n in offload.names() if n.endswith(".tmp")]


@test(timeout=120)
def a_live_task_keeps_what_its_steps_refer_to(case):
    clock = Clock(case)
    with Mount(case, case.store, case.mnt, (f"gc_interval={DAY * 1000}", "grace=0", SEAL_SOON)) as m:
        clock.start(m)
        offload = Reducer.__new__(Reducer)
        offload.case, offload.mounted, offload.where = case, True, ["-d", case.mnt]
        text = log_text(5000, 1).decode()
        kept = offload.step("Bash", {"command": "a"}, text, "-t", "t1")
        loose = offload.step("Bash", {"command": "b"}, log_text(5000, 2).decode())
        gone = os.path.join(case.mnt, loose["metadata"]["path"])

        def collect():
            clock.pass_time(HOUR)
            run(OFFLOAD, "gc", "-d", case.mnt, "--json")
            return not os.path.exists(gone)

        for _ in range(40):
            if collect():
                break
        assert not os.path.exists(gone)
        path = os.path.join(case.mnt, kept["metadata"]["path"])
        same(read(path), text.encode())
        assert xattr(path, "ref") == kept["outcome_ref"]
        assert os.path.exists(m("tasks/t1/history", kept["id"] + ".json"))
        run(OFFLOAD, "task", "-d", case.mnt, "done", "t1")
        for _ in range(10):
            collect()
        assert not os.path.exists(path)


main()
