#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`offload hook`: events of Claude Code and its settings, with a mount and without."""
import contextlib
import hashlib
import json
import os
import pty
import select
import signal
import stat
import subprocess
import time

from claude import MOUNTED, SETTINGS, Chat, chat, make_repository
from files import MIB, log_text, noise, tool_results
from harness import OFFLOAD, SANITIZED, SLOW, eventually, main, parent_of, read, run, same, stopped, test, write

EVENTS = ["PostToolUse", "PostToolUseFailure"]
THRESHOLD_BYTES = 4096

BIG = 100 * 1000 * 1000


@test(variants=MOUNTED)
def a_long_output_becomes_a_pointer(case, mounted):
    with chat(case, mounted) as c:
        text = log_text(50_000, 1).decode()
        pointer = c.output(c.bash("make -j4 test", text))
        assert pointer.startswith("[offloaded] make -j4 test: "), pointer
        assert len(pointer) < 3000
        name, ref, content = c.only(mounted)
        same(content, text.encode())
        assert name.startswith("tasks/0f3c-77/shell/") and f"(ref {ref})" in pointer
        if mounted:
            assert f"cat {c.mnt}/refs/{ref}:1-60 " in pointer
            same(c.sh(f"cat .offload/refs/{ref}"), text.encode())


@test(variants=MOUNTED)
def commands_of_a_pointer_work_and_their_output_stays(case, mounted):
    with chat(case, mounted) as c:
        pointer = c.output(c.bash("make", "".join(f"line {i}\n" for i in range(1, 901))))
        command = pointer.split("Read lines: ")[1].split(" (")[0]
        said = c.sh(command).decode()
        assert said.startswith("line 1\n") and said.endswith("line 60\n"), said
        assert c.output(c.bash(command, said * 40)) is None
        inside = os.path.join(c.mnt, "cache")
        if mounted:
            event = {**c.bash("cat shell/*", "x\n" * 3000), "cwd": inside}
            assert c.output(event) is None, "the tree is where the command ran"
            given = {"file_path": os.path.join(c.mnt, "refs/k3f9x2")}
            event = {**c.event("mcp__fs__read", given, "z\n" * 3000), "cwd": inside}
            assert c.output(event) is None, "a path that is named, too"
            event = {**c.bash("make -C ~/work", "y\n" * 3000), "cwd": inside}
            assert c.output(event), "and reads nothing in it"
        other = "grep -rn TODO . --exclude-dir=.offload"
        assert c.output(c.bash(other, log_text(9000, 3).decode()))
        assert c.output(c.bash(command, log_text(70_000, 4).decode())), "too long to stay"


@test(variants=MOUNTED)
def limits_are_those_of_run(case, mounted):
    with chat(case, mounted) as c:
        words = log_text(2 * THRESHOLD_BYTES, 2).decode()
        for text in (words[:THRESHOLD_BYTES], "abc\n" * 500, "", "\n", "\n" * 9000):
            assert c.output(c.bash("x", text)) is None, text[:20]
        assert c.output(c.bash("x", words)) is not None
        assert c.output(c.bash("x", words), "--max-bytes", "9000") is None
        brief = c.output(c.bash("x", "abc\n" * 220), "--max-bytes", "100")
        assert brief.count("\n") == 1 and "Read it: " in brief, brief


@test
def files_that_are_read_stay_longer(case):
    with chat(case, True) as c:
        for size, stays in ((16_000, True), (17_000, False)):
            text = log_text(size, 3).decode()[:size]
            file = {"filePath": "/w/a.c", "content": text, "numLines": 9, "startLine": 1}
            event = c.event("Read", {"file_path": "/w/a.c"}, {"type": "text", "file": file})
            assert (c.output(event) is None) == stays, size


@test
def the_whole_output_of_a_command_that_failed_is_told(case):
    with chat(case, True) as c:
        c.env["CLAUDE_CODE_TMPDIR"] = case.path("tmp")
        folder = os.path.join(case.path("tmp"), f"claude-{os.getuid()}/p/0f3c-77/tasks")
        os.makedirs(folder)
        text = log_text(90_000, 5)
        write(os.path.join(folder, "b1.output"), text)
        seen = text[:30_000].decode()
        error = f"Exit code 2\n{seen[:4988]}\n\n... [20012 characters truncated] ...\n\n{seen[-5000:]}"
        event = {**c.bash("make", ""), "hook_event_name": "PostToolUseFailure", "error": error}
        del event["tool_response"]
        answer, said = c.hook(event)
        assert not said, said
        specific = answer["hookSpecificOutput"]
        assert list(specific) == ["hookEventName", "additionalContext"], specific
        assert "[offloaded] make: exit 2, " in specific["additionalContext"], specific
        name, ref, content = c.only(True)
        same(content, text)
        assert name.startswith("tasks/0f3c-77/shell/") and ref in specific["additionalContext"]
        assert c.hook({**event, "error": "Exit code 2\nshort"}) == (None, "")


@test
def the_same_event_gives_the_same_answer(case):
    with chat(case, False) as c:
        event = c.bash("make", log_text(9000, 2).decode())
        assert c.output(event) == c.output(event)
        assert len(c.look(False)) == 1


@test(variants=MOUNTED)
def a_persisted_output_is_taken_in(case, mounted):
    with chat(case, mounted) as c:
        folder = os.path.join(c.home, ".claude/projects/p/0f3c-77/tool-results")
        os.makedirs(folder)
        path = os.path.join(folder, "toolu_01.txt")
        full = log_text(3 * MIB, 3)
        write(path, full)
        notice = (
            f"<persisted-output>\nOutput too large (3MB). Full output saved to: {path}\n\n"
            f"Preview (first 2KB):\n{full[:2000].decode()}\n...\n</persisted-output>"
        )
        pointer = c.output(c.bash("dump", notice))
        assert pointer.startswith("[offloaded] dump: "), pointer
        name, _, content = c.only(mounted)
        assert name.startswith("tasks/0f3c-77/shell/")
        same(content, full)
        os.unlink(path)
        event = c.bash("dump", "start\n" * 300)
        event["tool_response"]["persistedOutputPath"] = path
        answer, said = c.hook(event)
        assert answer is None and "cannot open" in said, said


@test
def a_tool_is_answered_in_its_own_shape(case):
    with chat(case, False) as c:
        event = c.bash("make", log_text(9000, 4).decode(), "cc: error\n")
        got = c.output(event, "--answer", "tool")
        assert list(got) == list(event["tool_response"])
        assert got["stdout"] == c.output(event) and got["stderr"] == ""
        assert "cc: error\n" in got["stdout"]


@test
def the_session_can_be_the_task(case):
    with chat(case, False) as c:
        none = {"session_id": ""}  # older agents send no session

        def folder(number, options=(), task=None, **more):
            """Returns the folder in which an output is stored."""
            before = c.look(False)
            c.env.pop("OFFLOAD_TASK", None)
            if task is not None:
                c.env["OFFLOAD_TASK"] = task
            c.output({**c.bash("make", log_text(9000, number).decode()), **more}, *options)
            (new,) = set(c.look(False)) - set(before)
            return os.path.dirname(new)

        assert folder(1) == "tasks/0f3c-77/shell"
        assert folder(2, ("--task", "session")) == "tasks/0f3c-77/shell"
        assert folder(3, ("--task", "release")) == "tasks/release/shell"
        assert folder(4, task="mine") == "tasks/0f3c-77/shell"
        assert folder(5, task="mine", **none) == "tasks/mine/shell"
        assert folder(6, ("--task", "release"), "mine", **none) == "tasks/release/shell"
        assert folder(7, **none) == "cache/shell"
        assert folder(8, task="") == "cache/shell", "none is wanted"
        assert folder(9, task="a/b", **none) == "cache/shell", "a bad name costs nobody a result"
        assert folder(10, session_id="..//" * 40) == "tasks/" + ("//.." * 40).replace("/", "-")[:64] + "/shell"


@test
def a_hook_never_breaks_the_agent(case):
    c = Chat(case)
    bad = [b"", b"\n", b"{", b"[1]", b"\x00\x01\xff" * 100, noise(5000, 7), b"[" * 100_000]
    bad.append(json.dumps(c.bash("x", "y" * 9999)).encode()[:-20])
    for data in bad:
        answer, said = c.hook(data, code=1)
        assert answer is None and said.startswith("offload: hook: "), said
    for options in (("--max-bytes", "many"), ("--nonsense",), ("--task", "a/b"), ("operand",)):
        answer, said = c.hook(c.bash("x", "y" * 9999), *options, code=1)
        assert answer is None and said, options
    assert c.offload("hook", "nonsense", check=False).returncode == 1
    # Without room for a store the output stays as it is; that is not an error.
    c.env["XDG_DATA_HOME"] = os.path.join(c.path, "a file")
    write(c.env["XDG_DATA_HOME"], b"")
    answer, said = c.hook(c.bash("x", "y" * 9999))
    assert answer is None and "left as it is" in said, said


@test(variants=MOUNTED)
def the_store_is_that_of_the_project(case, mounted):
    with chat(case, mounted) as c:
        other = os.path.join(c.home, "other")
        make_repository(other)
        c.env["CLAUDE_PROJECT_DIR"] = c.path
        text = log_text(9000, 6)
        event = {**c.bash("cd ../other && make", text.decode()), "cwd": other}
        pointer = c.output(event)
        name, ref, content = c.only(mounted)
        same(content, text)
        if mounted:
            assert os.path.join(c.mnt, "refs", ref) in pointer, pointer
            assert not os.path.exists(os.path.join(other, ".offload"))
        command = pointer.split("Read lines: ")[1].split(" (")[0]
        said = run("sh", "-c", command, cwd=other, env=c.env).stdout
        same(said, b"\n".join(text.split(b"\n")[:60]) + b"\n")


@test
def a_short_output_is_let_through_before_a_tree_is_looked_for(case):
    c = Chat(case)
    del c.env["HOME"], c.env["XDG_DATA_HOME"]  # the two that determine the store's place
    assert c.hook(c.bash("ls", "x\n" * 300)) == (None, "")
    answer, said = c.hook(c.bash("ls", "x\n" * 3000))
    assert answer is None and "no place for the store" in said, said


@test
def a_folder_that_is_gone_is_no_matter(case):
    with chat(case, False) as c:
        event = {**c.bash("x", "y\n" * 3000), "cwd": os.path.join(c.path, "gone")}
        answer, said = c.hook(event, cwd=c.path)
        assert answer and not said


def daemon_of(c):
    (store,) = os.scandir(os.path.join(c.env["XDG_DATA_HOME"], "offloadfs"))
    return int(read(os.path.join(store, "lock")).split()[0])


@contextlib.contextmanager
def hung(c, patience="2"):
    """Keeps the daemon from answering during the block; yields its process id."""
    daemon = daemon_of(c)
    c.env["OFFLOAD_TIMEOUT"] = patience
    with stopped(daemon):
        time.sleep(1.2)  # the kernel's cached attributes expire
        yield daemon


@test
def a_daemon_that_does_not_answer_holds_up_no_hook(case):
    with chat(case, True) as c:
        event = c.bash("make", "x\n" * 3000)
        with hung(c) as daemon:
            begun = time.monotonic()
            answer, said = c.hook(event)
            assert time.monotonic() - begun < 10 * SLOW
            assert answer is None and said.count("\n") == 1, said
            assert f"'.offload' does not answer (process {daemon})" in said, said
        answer, said = c.hook(event)
        assert answer and not said, said


@test
def how_long_is_waited_can_be_said(case):
    with chat(case, True) as c:
        c.env["OFFLOAD_TIMEOUT"] = "soon"
        done = run(OFFLOAD, "slice", "x", "1", env=c.env, check=False)
        assert done.returncode == 2, done
        assert b"OFFLOAD_TIMEOUT is 'soon': it must be a number of seconds from 1" in done.stderr
        with hung(c, "1m") as daemon:
            event = json.dumps(c.bash("make", "x\n" * 3000)).encode()
            hook = subprocess.Popen(
                [OFFLOAD, "hook", "claude-code"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=c.path,
                env=c.env,
            )
            hook.stdin.write(event)
            hook.stdin.close()
            time.sleep(4)  # twice the default
            os.kill(daemon, signal.SIGCONT)
            assert b"[offloaded] make" in hook.stdout.read()
            assert hook.wait() == 0


@test(timeout=120)
def a_hook_in_a_tree_that_does_not_answer_ends(case):
    with chat(case, True) as c:
        event = {**c.bash("make", "x\n" * 3000), "cwd": os.path.join(c.mnt, "cache")}
        with hung(c):
            answer, said = c.hook(event, cwd=c.path)
            assert answer is None and "left as it is" in said, said


@test
def a_daemon_that_does_not_answer_is_told(case):
    with chat(case, True) as c:
        text = log_text(50_000, 1)
        write(os.path.join(c.path, "log"), text)
        with hung(c) as daemon:
            done = c.offload("run", "--", "sh", "-c", "cat log; exit 3", check=False)
            same(done.stdout, text)
            assert done.returncode == 3
            told = [done.stderr.decode()]
            done = c.offload("put", "-c", "web", input=text, check=False)
            same(done.stdout, text)
            assert done.returncode == 1 and b"nothing was stored" in done.stderr, done
            told.append(done.stderr.decode())
            for words in (("show", "cache"), ("stats",), ("down",), ("up",)):
                done = c.offload(*words, input=text, check=False)
                assert done.returncode == 1 and done.stdout == b"", done
                told.append(done.stderr.decode())
            for said in told:
                assert f"'.offload' does not answer (process {daemon})" in said, said


@test
def nobody_waits_in_a_tree_that_does_not_answer(case):
    with chat(case, True) as c:
        text = log_text(50_000, 1)
        ref = c.offload("put", "--json", input=text).stdout
        ref = json.loads(ref)["ref"]
        with hung(c):
            for words in (("slice", ref, "1"), ("show", ref), ("search", "x")):
                done = c.offload(*words, check=False)
                assert done.returncode in (1, 2) and not done.stdout, (words, done)
                assert b"not answer" in done.stderr and done.stderr.count(b"\n") == 1, done
            done = c.offload("show", os.path.join(c.mnt, "cache/x"), check=False)
            assert done.returncode == 1 and b"not answer" in done.stderr, done
        assert c.offload("slice", ref, "1").stdout == text.split(b"\n")[0] + b"\n"


@test
def a_daemon_that_died_is_told(case):
    with chat(case, True) as c:
        text = log_text(50_000, 1).decode()
        daemon = daemon_of(c)
        os.kill(parent_of(daemon), signal.SIGKILL)  # would start a new daemon
        os.kill(daemon, signal.SIGKILL)
        eventually(lambda: not os.path.exists(f"/proc/{daemon}/fd/0"), "gone")
        answer, said = c.hook(c.bash("make", text))
        assert answer and "'offload up' starts it again" in said, said
        done = c.offload("run", "--", "sh", "-c", f"echo {text!r}; exit 3", check=False)
        assert done.returncode == 3 and b"'offload up' starts it again" in done.stderr, done
        c.offload("up")


@test(timeout=180)
def a_hundred_megabytes(case):
    with chat(case, False) as c:
        # Write it in pieces: a child's peak memory starts at what this process uses.
        part = log_text(MIB, 8).decode()
        head, tail = json.dumps(c.bash("make", "@")).split("@")
        path = case.path("event.json")
        digest = hashlib.sha256()
        with open(path, "w") as f:
            f.write(head)
            for _ in range(BIG // MIB):
                f.write(json.dumps(part)[1:-1])
                digest.update(part.encode())
            f.write(tail)
        with open(path, "rb") as f:
            process = subprocess.Popen(
                [OFFLOAD, "hook", "claude-code"],
                stdin=f,
                stdout=subprocess.PIPE,
                env=c.env,
            )
            said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        pointer = json.loads(said)["hookSpecificOutput"]["updatedToolOutput"]
        ref = pointer.split("(ref ")[1].split(")")[0]
        shown = json.loads(c.offload("show", "--json", ref).stdout)
        assert shown["size"] == len(part) * (BIG // MIB), shown
        assert shown["sha256"] == digest.hexdigest(), shown
        if not SANITIZED:  # sanitizers need memory of their own
            assert usage.ru_maxrss * 1024 < 3 * os.path.getsize(path), usage.ru_maxrss


@test
def outputs_of_real_agents(case):
    with chat(case, False) as c:
        folder = case.path("results")
        tool_results(folder)
        kept = {}
        paths = sorted(os.path.join(f, n) for f, _, names in os.walk(folder) for n in names)
        paths = [path for path in paths if os.path.getsize(path) > THRESHOLD_BYTES]
        for path in paths[:: max(1, len(paths) // 60)]:
            data = read(path)
            try:
                text = data.decode()
            except UnicodeDecodeError:
                continue
            pointer = c.output(c.bash("tool", text))
            if pointer is None:
                continue
            assert len(pointer.encode()) < len(data)
            kept[data] = pointer
        stored = {content for _, content in c.look(False).values()}
        assert kept and set(kept) <= stored


# --- Settings -------------------------------------------------------------------------------------

OTHERS = (
    b'{\n    "model": "opus",\n    "hooks": {\n        "PostToolUse": [\n            {\n'
    b'                "matcher": "Write",\n                "hooks": [\n                    {\n'
    b'                        "type": "command",\n                        "command": "fmt"\n'
    b'                    }\n                ]\n            }\n        ],\n        "Stop": []\n'
    b'    },\n    "ratio": 1.5\n}\n'
)


@test
def the_hook_is_installed_and_taken_out_again(case):
    c = Chat(case)
    c.offload("hook", "install", "--yes")
    first = read(c.settings())
    hooks = json.loads(first)["hooks"]
    command = hooks["PostToolUse"][0]["hooks"][0]["command"]
    assert command == "offload hook claude-code --answer tool", command
    assert list(hooks) == EVENTS
    c.offload("hook", "install", "--yes")
    same(read(c.settings()), first)
    c.offload("hook", "install", "--yes", "--task", "session")
    hooks = json.loads(read(c.settings()))["hooks"]
    for entries in hooks.values():
        assert len(entries) == 1
        assert entries[0]["hooks"][0]["command"].endswith(" --task session")
    c.offload("hook", "uninstall", "--yes")
    assert not os.path.exists(c.settings()) and not os.path.exists(os.path.join(c.path, ".claude"))
    # The installed command works as Claude Code runs it.
    event = json.dumps(c.bash("make", log_text(9000, 9).decode())).encode()
    said = run("sh", "-c", command, cwd=c.path, env=c.env, input=event).stdout
    assert json.loads(said)["hookSpecificOutput"]["updatedToolOutput"]["stdout"]


OF_OTHERS = {
    "codex": (".codex/hooks.json", {"hook_event_name": "PostToolUse", "tool_name": "Bash"}),
    "gemini": (".gemini/settings.json", {"hook_event_name": "AfterTool", "tool_name": "run_shell_command"}),
    "opencode": (".opencode/plugin/offload.js", {"hook_event_name": "PostToolUse", "tool_name": "bash"}),
}


@test(variants={name: name for name in OF_OTHERS})
def other_agents_get_pointers_in_their_own_way(case, name):
    path, event = OF_OTHERS[name]
    with chat(case, True) as c:
        text = log_text(9000, 9).decode()
        marked = f"<untrusted_context>\n{text}\n</untrusted_context>"
        event = {**event, "session_id": "s", "cwd": c.path, "tool_input": {"command": "make"}}
        event["tool_response"] = {"llmContent": marked} if name == "gemini" else text
        command = [OFFLOAD, "hook", name]
        ask = lambda e: run(*command, cwd="/", env=c.env, input=json.dumps(e).encode()).stdout
        answer = json.loads(ask(event))
        if name == "opencode":
            pointer = answer["output"]
        else:
            assert answer["decision"] == {"codex": "block", "gemini": "deny"}[name]
            pointer = answer["reason"]
        if name == "gemini":
            assert pointer.startswith("<untrusted_context>\n[") and pointer.endswith("context>")
        assert "[offloaded] make: " in pointer and len(pointer) < 3000, pointer
        _, ref, content = c.only(True)
        assert f"(ref {ref})" in pointer
        same(content, text.encode())
        for other in ({**event, "hook_event_name": "SessionStart"}, {**event, "tool_response": 7}):
            assert not ask(other)
        if name == "opencode":
            told = json.loads(ask({**event, "exit_code": 3}))["output"]
            assert ": exit 3, " in told, told


@test(variants={name: name for name in OF_OTHERS})
def hooks_of_other_agents_come_and_go(case, name):
    path = OF_OTHERS[name][0]
    c = Chat(case)
    full = os.path.join(c.path, path)
    said = c.offload("hook", "install", name, "--yes").stderr
    assert b"^J" not in said and said.count(b"\n") >= 2, said
    first = read(full)
    assert f"offload hook {name}".encode() in first, first
    c.offload("hook", "install", name, "--yes")
    same(read(full), first)
    c.offload("hook", "uninstall", name, "--yes")
    assert not os.path.exists(full)
    theirs = b"export const Theirs = 1\n" if name == "opencode" else b'{\n    "theme": "dark"\n}\n'
    os.makedirs(os.path.dirname(full), exist_ok=True)
    write(full, theirs)
    c.offload("hook", "install", name, "--yes", check=False)
    if name == "opencode":
        same(read(full), theirs, "another's file is left alone")
    else:
        assert b"theme" in read(full) and b"offload hook" in read(full)
    c.offload("hook", "uninstall", name, "--yes")
    same(read(full), theirs)


@test
def install_without_a_name_is_for_those_that_are_there(case):
    c = Chat(case)
    programs = case.path("programs")
    os.makedirs(programs)
    for name in ("codex", "opencode"):
        write(os.path.join(programs, name), b"#!/bin/sh\necho 9.9.9\n")
        os.chmod(os.path.join(programs, name), 0o755)
    c.env["PATH"] = os.pathsep.join([programs, os.path.dirname(OFFLOAD), "/usr/bin", "/bin"])
    c.offload("hook", "install", "--yes")
    there = [n for n, (path, _) in OF_OTHERS.items() if os.path.exists(os.path.join(c.path, path))]
    assert there == ["codex", "opencode"] and not os.path.exists(c.settings()), there
    c.offload("hook", "uninstall", "--yes")
    assert not any(os.path.exists(os.path.join(c.path, path)) for path, _ in OF_OTHERS.values())


@test(
    variants={
        "old": ("claude-code", "claude", "2.1.120 (Claude Code)", "2.1.120"),
        "new": ("claude-code", "claude", "2.1.121 (Claude Code)", None),
        "newer": ("claude-code", "claude", "3.0.0 (Claude Code)", None),
        "odd": ("claude-code", "claude", "dev", None),
        "old codex": ("codex", "codex", "codex-cli 0.168.9", "0.168.9"),
        "new codex": ("codex", "codex", "codex-cli 0.169.0", None),
        "old gemini": ("gemini", "gemini", "0.60.2", "0.60.2"),
        "old opencode": ("opencode", "opencode", "1.17.30", "1.17.30"),
        "new opencode": ("opencode", "opencode", "1.18", None),
    }
)
def an_agent_that_is_too_old_is_told(case, agent):
    name, program, says, old = agent
    c = Chat(case)
    path = case.path(program)
    write(path, f"#!/bin/sh\necho '{says}'\n".encode())
    os.chmod(path, 0o755)
    c.env["PATH"] = os.path.dirname(path) + os.pathsep + c.env["PATH"]
    done = c.offload("hook", "install", name, "--yes")
    assert (b" here, which drops" in done.stderr) == bool(old), done.stderr
    assert not old or f" is version {old} here".encode() in done.stderr, done.stderr


@test
def what_others_wrote_stays(case):
    c = Chat(case)
    os.mkdir(os.path.dirname(c.settings()))
    write(c.settings(), OTHERS)
    os.chmod(c.settings(), 0o640)
    c.offload("hook", "install", "--yes")
    hooks = json.loads(read(c.settings()))["hooks"]
    assert [e["matcher"] for e in hooks["PostToolUse"]][0] == "Write"
    assert len(hooks["PostToolUse"]) == 2
    assert b'"ratio": 1.5' in read(c.settings())
    assert stat.S_IMODE(os.stat(c.settings()).st_mode) == 0o640
    c.offload("hook", "uninstall", "--yes")
    same(read(c.settings()), OTHERS)
    assert os.listdir(os.path.dirname(c.settings())) == ["settings.json"]


@test
def no_command_is_rewritten_before_it_runs(case):
    c = Chat(case)
    event = c.event("Bash", {"command": "touch x"}, None)
    event["hook_event_name"] = "PreToolUse"
    assert c.hook(event) == (None, ""), "the user's rules for commands must see what runs"
    old = {"matcher": "Bash", "hooks": [{"command": "offload hook claude-code --answer tool"}]}
    os.mkdir(os.path.dirname(c.settings()))
    write(c.settings(), json.dumps({"hooks": {"PreToolUse": [old]}}).encode())
    c.offload("hook", "install", "--yes")
    assert list(json.loads(read(c.settings()))["hooks"]) == EVENTS


@test
def settings_may_be_a_link(case):
    c = Chat(case)
    kept = case.path("dotfiles.json")
    write(kept, OTHERS)
    os.mkdir(os.path.join(c.home, ".claude"))
    link = os.path.join(c.home, SETTINGS)
    os.symlink(kept, link)
    c.offload("hook", "install", "--user", "--yes")
    assert os.path.islink(link) and b"claude-code" in read(kept)
    c.offload("hook", "uninstall", "--user", "--yes")
    same(read(kept), OTHERS)
    assert not os.path.exists(c.settings())


@test
def settings_that_cannot_be_read_are_left_alone(case):
    c = Chat(case)
    os.mkdir(os.path.dirname(c.settings()))
    for text in (b"{", b"// mine\n{}\n", b"[]", b'{"hooks": 5}', b'{"hooks": {"PostToolUse": 1}}'):
        write(c.settings(), text)
        done = c.offload("hook", "install", "--yes", check=False)
        assert done.returncode == 2, done
        assert done.stderr.count(b"\n") == 1 and b"left as it is" in done.stderr, done.stderr
        same(read(c.settings()), text)
    os.unlink(c.settings())
    os.mkdir(c.settings())
    done = c.offload("hook", "install", "--yes", check=False)
    assert done.returncode == 1 and b"not a regular file" in done.stderr, done


@test
def without_a_terminal_nothing_is_written(case):
    c = Chat(case)
    done = c.offload("hook", "install", check=False)
    assert done.returncode == 2 and b"--yes" in done.stderr, done
    assert not os.path.exists(c.settings())
    printed = c.offload("hook", "install", "--print").stdout
    assert list(json.loads(printed)["hooks"]) == EVENTS
    assert not os.path.exists(c.settings())


@test
def on_a_terminal_it_asks(case):
    c = Chat(case)

    def answer(line):
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [OFFLOAD, "hook", "install"],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=c.path,
            env=c.env,
        )
        os.close(slave)
        said = b""
        deadline = time.monotonic() + 20 * SLOW
        while b"[y/N]" not in said and time.monotonic() < deadline:
            if select.select([master], [], [], 0.1)[0]:
                said += os.read(master, 4096)
        os.write(master, line)
        code = process.wait(20 * SLOW)
        os.close(master)
        assert b"PostToolUse" in said and b"claude-code" in said, said
        return code

    assert answer(b"n\n") == 1 and not os.path.exists(c.settings())
    assert answer(b"\n") == 1 and not os.path.exists(c.settings())
    assert answer(b"y\n") == 0 and os.path.exists(c.settings())


@test
def a_tool_that_is_not_in_path_is_named_by_its_place(case):
    c = Chat(case)
    folder = case.path("a b")
    os.mkdir(folder)
    os.symlink(OFFLOAD, os.path.join(folder, "offload"))
    places = os.environ["PATH"].split(os.pathsep)
    places = [p for p in places if not os.path.exists(os.path.join(p, "offload"))]
    c.env["PATH"] = os.pathsep.join(places)
    printed = json.loads(c.offload("hook", "install", "--print").stdout)
    command = printed["hooks"]["PostToolUse"][0]["hooks"][0]["command"]
    assert command.startswith(os.path.realpath(OFFLOAD) + " hook claude-code"), command


if __name__ == "__main__":
    main()
