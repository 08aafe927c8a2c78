#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The transcripts in docs/INTEGRATION.md and AGENTS.md are true, and the agents in examples/ work with
services that play a model.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import threading

from harness import (
    OFFLOAD,
    OFFLOADFS,
    SEAL_SOON,
    SLOW,
    SOURCE_ROOT,
    eventually,
    main,
    mount_points,
    parent_of,
    read,
    run,
    test,
    write,
)
from services import Anthropic, OpenAI, result_of, serving

EXAMPLES = SOURCE_ROOT / "examples"
# These variables choose the tree and the way to reach it.
OFFLOAD_VARIABLES = [f"OFFLOAD_{v}" for v in ("DIR", "STORE", "AGENT", "SERVER", "TOKEN")]
AGENTS = {"openai": OpenAI, "anthropic": Anthropic}
# Upper bound of requests in a short chat, which has six results of 40 KB.
SMALL = 16_000


class Workspace:
    """A mounted workspace in a private home directory, with the examples in it."""

    def __init__(self, case):
        self.home = case.path("home")
        self.path = os.path.join(self.home, "demo")
        self.mnt = os.path.join(self.path, ".offload")
        os.makedirs(self.path)
        shutil.copytree(EXAMPLES, os.path.join(self.path, "examples"))
        shutil.copy(EXAMPLES / "long_tests.sh", self.path)
        programs = [os.path.dirname(OFFLOAD), os.path.dirname(OFFLOADFS), os.environ["PATH"]]
        self.env = dict(
            os.environ,
            HOME=self.home,
            XDG_DATA_HOME=os.path.join(self.home, ".local/share"),
            PATH=os.pathsep.join(programs),
            PYTHONPATH=str(SOURCE_ROOT / "python"),
            LC_ALL="C.UTF-8",
            TZ="UTC",
        )
        for name in ("CLAUDE_CONFIG_DIR", "OFFLOAD", *OFFLOAD_VARIABLES):
            self.env.pop(name, None)
        # Seals quickly, so that searches do not have to wait.
        self.env["OFFLOADFS"] = case.path("daemon")
        write(self.env["OFFLOADFS"], f'#!/bin/sh\nexec {OFFLOADFS} -o {SEAL_SOON} "$@"\n'.encode())
        os.chmod(self.env["OFFLOADFS"], 0o755)

    def offload(self, *words, **options):
        return run(OFFLOAD, *words, cwd=self.path, env=self.env, timeout=45 * SLOW, **options)

    def sh(self, command):
        """Returns what a terminal would show of a command."""
        return run(
            "bash",
            "-c",
            command,
            cwd=self.path,
            env=self.env,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=100 * SLOW,
        ).stdout.decode()

    def result(self, command):
        return result_of(command, self.path, self.env)

    def agent(self, service, task, env=None, check=True):
        """Runs the example agent for the service; returns its final words and progress output."""
        name = type(service).__name__.lower()
        with serving(service) as variables:
            done = run(
                os.path.join(self.path, "examples", f"{name}_agent.py"),
                task,
                cwd=self.path,
                env={**(env or self.env), **variables},
                timeout=100 * SLOW,
                check=False,
            )
        assert not service.problems, service.problems[0]
        assert not check or done.returncode == 0, done.stderr.decode()
        return done.stdout.decode(), done.stderr.decode()

    def saved(self):
        """Returns the one saved chat."""
        (name,) = [n for n in os.listdir(self.path) if n.startswith("chat-")]
        return json.loads(read(os.path.join(self.path, name)))

    def kill_daemon(self):
        with open("/proc/self/mountinfo", encoding="utf-8") as f:
            assert any(self.mnt in line for line in f)
        pids = [int(p) for p in os.listdir("/proc") if p.isdigit() and self._is_daemon(p)]
        (keeper,) = [p for p in pids if parent_of(p) not in pids]
        (daemon,) = [p for p in pids if p != keeper]
        os.kill(keeper, signal.SIGKILL)  # would start a new daemon
        os.kill(daemon, signal.SIGKILL)
        eventually(lambda: not self._is_daemon(daemon), "the daemon is dead")

    def _is_daemon(self, pid):
        with contextlib.suppress(OSError):
            words = read(f"/proc/{pid}/cmdline").split(b"\0")
            return os.path.basename(words[0]) == b"offloadfs" and os.fsencode(self.mnt) in words
        return False


@contextlib.contextmanager
def workspace(case):
    w = Workspace(case)
    w.offload("up")
    try:
        yield w
    finally:
        if w.mnt in mount_points():
            w.offload("down")


# --- The documents --------------------------------------------------------------------------------

DOCS = [SOURCE_ROOT / "docs" / name for name in ("INTEGRATION.md", "AGENTS.md")]
DOC_HOME = "/home/ann"
# Values that differ in each run, as (prefix, pattern): refs, times in names, times, chats, stores.
KINDS = (
    (r"\(ref |\[ref |refs/|\bja?-[0-9a-f]{8}-", r"[0-9a-z]{6,8}\b"),
    (r"_", r"\d{10}(?=_)"),
    (r"", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"),
    (r"chat-", r"\d{19}-\d+"),
    (r"demo-", r"[0-9a-f]{12}"),
)


class Block:
    """A fenced block of a document that belongs to a session."""

    def __init__(self, doc, line, session, request, text):
        self.doc, self.line, self.session = doc, line, session
        self.request, self.text = request, text

    def steps(self):
        """Returns [command, expected output] pairs. Lines with `> ` in front continue a command."""
        out = []
        for line in self.text.splitlines(True):
            if line.startswith("$ "):
                out.append([line[2:], ""])
            elif line.startswith("> ") and not out[-1][1]:
                out[-1][0] += line[2:]
            else:
                out[-1][1] += line
        return out


def blocks():
    """Returns the marked blocks of the documents. A console block without a session is an error."""
    mark = r"(?:<!-- session: (\w+)(?:, request (\d+))? -->\n)?"
    found = []
    for doc in DOCS:
        text = doc.read_text(encoding="utf-8")
        for m in re.finditer(rf"{mark}```(\w+)\n(.*?)^```$", text, re.S | re.M):
            line = text[: m.start()].count("\n") + 1
            assert m[1] or m[3] != "console", f"{doc}:{line}: a console block without a session"
            if m[1]:
                found.append(Block(doc, line, m[1], int(m[2] or 0), m[4]))
    return found


class Names:
    """Maps values in the document that differ in each run to those of this run."""

    def __init__(self, home, text):
        self.home = home
        self.kinds = {
            m[1]: what for before, what in KINDS for m in re.finditer(f"(?:{before})({what})", text)
        }
        self.any = re.compile(
            "(?<![0-9a-z])(?:" + "|".join(map(re.escape, self.kinds)) + ")(?![0-9a-z])"
        )
        self.here = {}

    def command(self, text):
        """Returns a command of the document with this run's values."""
        return self.any.sub(lambda m: self.here.get(m[0], m[0]), text).replace(DOC_HOME, self.home)

    def match(self, shown, got):
        """
        Tells whether an output matches the document, in which `...` stands for any lines. Learns
        this run's values from a match.
        """
        learned = {}
        parts = [
            "(?:.*\n)*?" if line == "...\n" else self._pattern(line, learned)
            for line in shown.splitlines(True)
        ]
        m = re.fullmatch("".join(parts), got.replace(self.home, DOC_HOME))
        if m:
            self.here.update({name: m[group] for name, group in learned.items()})
        return bool(m)

    def _pattern(self, line, learned):
        if COUNTS.fullmatch(line):  # its tag differs in each store and may have more tokens
            return COUNTS.pattern
        out, at = "", 0
        for m in self.any.finditer(line):
            name = m[0]
            out += re.escape(line[at : m.start()])
            at = m.end()
            if name in self.here:
                out += re.escape(self.here[name])
            elif name in learned:
                out += f"(?P={learned[name]})"
            else:
                learned[name] = f"name{len(learned)}"
                out += f"(?P<{learned[name]}>{self.kinds[name]})"
        return out + re.escape(line[at:])


COUNTS = re.compile(r"\[\d+ -> \d+ tokens\]\n")


def in_the_document():
    """A model that does what the document shows."""
    (pointer,) = yield ["./long_tests.sh"]
    ref = ref_in(pointer)
    (hits,) = yield [f"grep -n '^not ok' .offload/refs/{ref}"]
    line = int(hits.split(":")[0])
    yield [f"cat .offload/refs/{ref}:{line - 1}-{line + 3}"]
    return "Case 731: src/pack/reader.c:212 takes a frame whose length is wrong."


def check(block, names, w, service):
    """Runs a block and compares the output."""
    if block.request:
        got = service.results_of(service.requests[block.request - 1])[-1] + "\n"
        assert names.match(block.text, got), f"{block.doc}:{block.line}: the model got:\n{got}"
        return
    for command, shown in block.steps():
        got = w.sh(names.command(command))
        right = names.match(shown, got)
        if not right and command.startswith("offload search"):  # new files may not be indexed yet
            got = eventually(lambda c=command: w.sh(names.command(c)), f"{command}finds something")
            right = names.match(shown, got)
        assert right, (
            f"{block.doc}:{block.line}: {command}printed:\n{got}--- instead of:\n{shown}---"
        )


@test(variants={b.session: b.session for b in blocks()}, timeout=120)
def the_document_tells_what_happens(case, session):
    w = Workspace(case)
    (doc,) = {b.doc for b in blocks() if b.session == session}
    names = Names(w.home, doc.read_text(encoding="utf-8"))
    form = AGENTS.get(session)
    service = form(in_the_document(), w.result) if form else None
    try:
        with serving(service) if service else contextlib.nullcontext({}) as variables:
            w.env.update(variables)
            if service:
                w.offload("up")
            for block in blocks():
                if block.session == session:
                    check(block, names, w, service)
        assert not service or not service.problems, service.problems[0]
    finally:
        if w.mnt in mount_points():
            w.offload("down")


# --- Agents ---------------------------------------------------------------------------------------


def ref_in(text):
    """Returns the ref of a pointer."""
    assert "(detailed result is stored in " in text, text[:300]
    assert len(text) < 4000, "a pointer is short"
    return re.search(r"\(ref ([0-9a-z]+)", text)[1]


def looks_for_a_failure():
    """A model that was told about pointers; asserts what it sees."""
    (pointer,) = yield ["./long_tests.sh"]
    path = f".offload/refs/{ref_in(pointer)}"
    (hits,) = yield [f"grep -n '^not ok' {path}"]
    line = int(hits.split(":")[0])
    (lines,) = yield [f"cat {path}:{line - 1}-{line + 3}"]
    assert "#   src/pack/reader.c:212: expected -EBADMSG, got 0\n" in lines, lines
    long, short, last = yield ["seq 20000", "wc -l long_tests.sh", f"cat {path}:-1"]
    assert short == "17 long_tests.sh\n[exit 0]\n" and last == "[exit 1]\n[exit 0]\n", (short, last)
    # Longer than results may be, but read back through a pointer, so it must not be offloaded.
    (back,) = yield [f"cat .offload/refs/{ref_in(long)}:1001-4000"]
    assert back.startswith("1001\n1002\n") and "(detailed result" not in back, back[:300]
    return "src/pack/reader.c:212 does not compare the length of the frame with the rest."


def plain_work():
    """The same work where nothing is offloaded."""
    (all_of_it,) = yield ["./long_tests.sh"]
    assert "\nnot ok 731 " in all_of_it
    yield ["seq 20000", "false"]
    return "Done."


def restores(w):
    """Returns a check for on_request: everything taken out of a request can be restored."""

    def check(service, request):
        given = json.dumps(request).encode()
        whole = json.loads(w.offload("context", "--restore", input=given).stdout)
        assert whole["messages"] == service.original, "the original messages"

    return check


@test(variants=AGENTS, timeout=120)
def an_agent_works_with_pointers(case, form):
    with workspace(case) as w:
        service = form(looks_for_a_failure(), w.result, restores(w))
        said, told = w.agent(service, "Why does ./long_tests.sh fail?")
        assert said.startswith("src/pack/reader.c:212 "), said
        assert len(service.requests) == 6
        sizes = [service.size(r) for r in service.requests]
        assert max(sizes[:-1]) < SMALL, sizes
        assert len(json.dumps(service.original)) > 150_000
        # Each request begins with the previous one, so the provider's cache covers all but the end.
        for before, after in zip(service.requests, service.requests[1:]):
            assert after["messages"][: len(before["messages"])] == before["messages"]
            assert after.get("system") == before.get("system")
        # The chat is saved in full, and its task is done.
        assert w.saved() == service.original
        tasks = json.loads(w.offload("task", "--json").stdout)["tasks"]
        assert tasks == [], tasks
        assert told.count("+ ") == 7, told


@test(timeout=120)
def agents_in_one_workspace_do_not_meet(case):
    with workspace(case) as w:
        failures = []

        def work(form):
            try:
                w.agent(form(looks_for_a_failure(), w.result, restores(w)), "Why?")
            except AssertionError as e:
                failures.append(e)

        threads = [threading.Thread(target=work, args=(f,)) for f in 2 * list(AGENTS.values())]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures[0]
        chats = [n for n in os.listdir(w.path) if n.startswith("chat-")]
        assert len(chats) == len(threads), chats
        assert json.loads(w.offload("task", "--json").stdout)["tasks"] == []


def talks_long(turns):
    """A model that talks so much that its chat has to be summarized."""
    for i in range(turns):
        words = " ".join(f"In step {i} I read part {n} of src/file_{i}.c." for n in range(80))
        (result,) = yield words, [f"seq {i} {i + 40}"]
        assert result.startswith(f"{i}\n")
    return "Done."


@test(variants=AGENTS, timeout=180)
def a_long_chat_is_summed_up_and_stays_valid(case, form):
    with workspace(case) as w:
        service = form(talks_long(45), w.result, restores(w))
        w.agent(service, "Read it all.")
        sizes = [service.size(r) for r in service.requests]
        assert len(sizes) == 46 and max(sizes) < 100_000, sizes
        summed_up = [i for i in range(1, len(sizes)) if sizes[i] < sizes[i - 1]]
        assert summed_up, sizes
        assert "<state_snapshot" in json.dumps(service.requests[-1])
        for request in service.requests:
            assert "Read it all." in json.dumps(request), "what the user asked for"
        # The beginning is unchanged between two summaries.
        changes = 0
        for before, after in zip(service.requests, service.requests[1:]):
            changes += after["messages"][: len(before["messages"])] != before["messages"]
        assert changes == len(summed_up), (changes, summed_up)
        assert w.saved() == service.original


BREAKS = {
    "missing": None,
    "failing": "#!/bin/sh\necho 'offload: context: broken' >&2\nexit 1\n",
    "no JSON": "#!/bin/sh\necho 'Segmentation fault'\n",
    "crashing": "#!/bin/sh\nkill -SEGV $$\n",
}


@test(variants={f"{a}, {b}": (f, t) for a, f in AGENTS.items() for b, t in BREAKS.items()})
def an_agent_goes_on_without_offload(case, variant):
    form, program = variant
    w = Workspace(case)
    folder = case.path("bin")
    os.mkdir(folder)
    for name in ("bash", "sh", "python3", "env", "awk", "seq", "false", "wc"):
        os.symlink(shutil.which(name), os.path.join(folder, name))
    if program:
        write(os.path.join(folder, "offload"), program.encode())
        os.chmod(os.path.join(folder, "offload"), 0o755)
    env = {**w.env, "PATH": folder}

    def as_it_is(service, request):
        assert request["messages"] == service.original

    service = form(plain_work(), w.result, as_it_is)
    said, told = w.agent(service, "Work.", env)
    assert said == "Done.\n" and "offload" in told, told
    assert w.saved() == service.original


@test(variants=AGENTS, timeout=120)
def an_agent_goes_on_when_the_daemon_is_killed(case, form):
    with workspace(case) as w:

        def script():
            (pointer,) = yield ["./long_tests.sh"]
            ref = ref_in(pointer)
            w.kill_daemon()
            (slice_of_it,) = yield [f"offload slice {ref} 731-731"]
            assert slice_of_it.startswith("not ok 731 "), slice_of_it
            (failed,) = yield [f"cat .offload/refs/{ref}:731"]
            assert failed.endswith("[exit 1]\n"), failed
            (pointer,) = yield ["seq 20000"]
            ref_in(pointer)
            (again,) = yield ["offload up > /dev/null 2>&1; " f"cat .offload/refs/{ref}:731"]
            assert again.startswith("not ok 731 "), again
            return "Done."

        def result(command):
            # The error that the agent saw when it ran this.
            if command.startswith("cat"):
                where = re.search(r"\S*/refs/\S*", command)[0]
                return f"cat: '{where}': Transport endpoint is not connected\n[exit 1]\n"
            return w.result(command)

        service = form(script(), result)
        said, _ = w.agent(service, "Work.")
        assert said == "Done.\n"
        saved = w.saved()
        assert "\\nnot ok 731 " in json.dumps(saved) and "(detailed result" not in json.dumps(saved)


if __name__ == "__main__":
    main()
