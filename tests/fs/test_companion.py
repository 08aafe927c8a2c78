#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`offload` in a workspace, mounted and not: up, down, put, run, show and slice."""
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import time

from files import MIB, lines, log_text, noise, split_lines
from harness import (
    NOBODY,
    OFFLOAD,
    OFFLOADFS,
    ROOT,
    SLOW,
    Skip,
    children_of,
    eventually,
    main,
    mount_points,
    parent_of,
    read,
    run,
    same,
    test,
    write,
    xattr,
)

MOUNTED = {"mounted": True, "unmounted": False}
THRESHOLD_BYTES, THRESHOLD_LINES = 2048, 50


class Workspace:
    """A home directory with a workspace (by default a git repository) in which `offload` runs."""

    def __init__(self, case, git=True):
        if not os.access(OFFLOAD, os.X_OK):
            raise AssertionError(f"there is no tool at {OFFLOAD}: set OFFLOAD")
        self.home = case.path("home")
        self.path = os.path.join(self.home, "work")
        self.mnt = os.path.join(self.path, ".offload")
        self.data = os.path.join(self.home, "data")
        os.makedirs(self.path)
        os.mkdir(self.data)
        binaries = os.pathsep.join(
            [os.path.dirname(OFFLOAD), os.path.dirname(OFFLOADFS), os.environ["PATH"]]
        )
        self.env = dict(
            os.environ,
            HOME=self.home,
            XDG_DATA_HOME=self.data,
            PATH=binaries,
            XDG_CONFIG_HOME=os.path.join(self.home, "config"),
            XDG_STATE_HOME=os.path.join(self.home, "state"),
            XDG_CACHE_HOME=os.path.join(self.home, "cache"),
            LC_ALL="C.UTF-8",
        )
        if git:
            self.git("init", "-q")
            write(os.path.join(self.path, "main.c"), b"int main;\n")
            self.git("add", ".")
            self.git("commit", "-q", "-m", "first")

    def git(self, *words):
        return run(
            "git",
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
            *words,
            cwd=self.path,
            env=self.env,
        ).stdout.decode()

    def offload(self, *words, check=True, **options):
        options.setdefault("env", self.env)
        options.setdefault("cwd", self.path)
        return run(OFFLOAD, *words, check=check, timeout=45 * SLOW, **options)

    def sh(self, command):
        """Runs a command line as if a user had pasted it into a shell in the workspace."""
        return run("sh", "-c", command, cwd=self.path, env=self.env, timeout=45 * SLOW).stdout

    def up(self):
        self.offload("up")
        assert self.mnt in mount_points(), "not mounted after `offload up`"

    def down(self):
        self.offload("down")
        assert self.mnt not in mount_points(), "still mounted after `offload down`"

    def finish(self):
        if self.mnt in mount_points():
            self.down()

    def store(self):
        """Returns the directory of the store, which may be anywhere below the home."""
        found = [
            folder
            for folder, _, names in os.walk(self.home, topdown=True)
            if "index.db" in names and not folder.startswith(self.path)
        ]
        assert len(found) == 1, f"stores: {found}"
        return found[0]

    def ready(self, mounted):
        """Creates the store and leaves the workspace mounted or not."""
        self.up()
        if not mounted:
            self.down()

    def look(self, mounted):
        """
        Returns {path in the tree: content} and {path: ref} of all files, read through the mount.
        """
        if not mounted:
            self.up()
        found = {}
        for tier in ("cache", "tasks", "persistent", "archive"):
            for folder, _, names in os.walk(os.path.join(self.mnt, tier)):
                for name in names:
                    path = os.path.join(folder, name)
                    found[os.path.relpath(path, self.mnt)] = read(path)
        refs = {name: xattr(os.path.join(self.mnt, name), "ref") for name in found}
        if not mounted:
            self.down()
        return found, refs

    def only(self, mounted):
        """Returns path in the tree, ref and content of the one file that was offloaded."""
        found, refs = self.look(mounted)
        assert len(found) == 1, f"offloaded: {list(found)}"
        ((name, content),) = found.items()
        return name, refs[name], content


def plain(text):
    """Removes thousands separators."""
    return re.sub(r"(?<=\d),(?=\d{3})", "", text)


def check_pointer(ws, pointer, ref, content, code=None):
    """
    Checks that a pointer states the size of its content and how to read it, and that the commands
    it shows work.
    """
    text = plain(pointer.decode())
    assert len(text) < 6000, f"a pointer of {len(text)} characters"
    numbers = [len(content), len(split_lines(content))] + ([] if code is None else [code])
    for each in [rf"\b{n}\b" for n in numbers] + [rf"\b{ref}\b"]:
        assert re.search(each, text), f"{each!r} is not in the pointer:\n{text}"
    rows = split_lines(content)
    for row in (rows[-2], rows[-1]):
        assert plain(row.decode().rstrip("\n")) in text, f"{row!r} is not in the pointer:\n{text}"
    commands = slice_commands(ws, pointer.decode())
    assert commands, f"no slice command in the pointer:\n{text}"
    for command, first, last in commands:
        same(ws.sh(command), lines(content, first, last), command)


def slice_commands(ws, text):
    """
    Returns the commands in `text` that show lines, as (command, first, last). Those with `cat` are
    returned only if the tree is mounted.
    """
    patterns = [r"\boffload slice [^\s`]+ (\d+)-(\d*)"]
    if ws.mnt in mount_points():
        patterns.append(r"\bcat [^\s`]+:(\d+)-(\d*)'?")
    return [
        (match[0], int(match[1]), int(match[2]) if match[2] else None)
        for pattern in patterns
        for match in re.finditer(pattern, text)
    ]


def values(record):
    """Returns every scalar in a JSON value."""
    if isinstance(record, dict):
        record = list(record.values())
    return [v for each in record for v in values(each)] if isinstance(record, list) else [record]


def numbered(count):
    return b"".join(b"output line %d of the command\n" % i for i in range(1, count + 1))


# --- up and down ----------------------------------------------------------------------------------


@test
def what_is_stored_belongs_to_the_session_or_the_default_task(case):
    ws = Workspace(case)
    names = ("OFFLOAD_TASK", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "GEMINI_SESSION_ID")
    number = 0

    def task(*words, **variables):
        nonlocal number
        number += 1
        env = {**{k: v for k, v in ws.env.items() if k not in names}, **variables}
        options = {"env": env, "input": log_text(9000, number)}
        put = json.loads(ws.offload("put", "--json", *words, **options).stdout)
        command = ["sh", "-c", f"seq {number}000 {number}999"]
        ran = ws.offload("run", *words, "--max-bytes", "1000", "--", *command, env=env).stdout
        ref = re.search(rb"\(ref (\w+)\)", ran)[1].decode()
        shown = json.loads(ws.offload("show", "--json", ref).stdout)
        assert shown["task"] == put["task"], (words, variables)
        return put["task"]

    assert task() is None
    assert task(OFFLOAD_TASK="mine") == "mine"
    assert task("-t", "T", OFFLOAD_TASK="mine", CODEX_THREAD_ID="x") == "T"
    assert task(OFFLOAD_TASK="mine", CLAUDE_CODE_SESSION_ID="0f3c-77") == "0f3c-77"
    assert task(CODEX_THREAD_ID="a/b c") == "a-b-c"
    assert task(GEMINI_SESSION_ID="g", CODEX_THREAD_ID="") == "g"
    assert task(OFFLOAD_TASK="", CLAUDE_CODE_SESSION_ID="0f3c-77") is None
    for command in (["put"], ["run", "--", "touch", "made"], ["reduce"], ["context"]):
        env = {**ws.env, "OFFLOAD_TASK": "a/b"}
        done = ws.offload(*command, env=env, input=b"{}", check=False)
        assert done.returncode == 2 and not done.stdout, done
        assert b"OFFLOAD_TASK names no task: task 'a/b': use letters" in done.stderr, done
    assert not os.path.exists(os.path.join(ws.path, "made"))
    ws.offload("list", env={**ws.env, "OFFLOAD_TASK": "a/b"})  # reading commands ignore it


@test
def up_and_down_leave_git_alone(case):
    ws = Workspace(case)
    exclude = os.path.join(ws.path, ".git/info/exclude")
    write(exclude, b"*.mine\n# no final newline")
    for _ in range(2):
        ws.up()
        ws.offload("up")  # again: no effect
        assert mount_points().count(ws.mnt) == 1
        assert ws.git("status", "--porcelain") == ""
        rows = read(exclude).decode().splitlines()
        assert (
            rows[:2] == ["*.mine", "# no final newline"]
            and len(rows) == 3
            and ".offload" in rows[2]
        ), rows
        write(os.path.join(ws.mnt, "note"), b"kept")
        ws.git("add", "-A")
        assert ws.git("status", "--porcelain") == ""
        ws.git("clean", "-fdq")
        same(read(os.path.join(ws.mnt, "note")), b"kept")
        ws.down()
        assert ws.git("status", "--porcelain") == ""
    assert not os.path.exists(os.path.join(ws.path, ".gitignore"))


@test
def the_store_is_below_the_data_directory(case):
    ws = Workspace(case)
    ws.up()
    store = ws.store()
    assert store.startswith(ws.data + "/"), store
    assert stat.S_IMODE(os.stat(store).st_mode) == 0o700
    ws.down()


@test
def without_xdg_data_home_it_is_below_the_home(case):
    ws = Workspace(case)
    del ws.env["XDG_DATA_HOME"]
    ws.up()
    assert ws.store().startswith(os.path.join(ws.home, ".local/share") + "/")
    ws.down()


@test
def what_was_offloaded_is_there_after_down_and_up(case):
    ws = Workspace(case)
    ws.up()
    os.makedirs(os.path.join(ws.mnt, "cache/web"))
    write(os.path.join(ws.mnt, "cache/web/page"), log_text(50000, 1))
    ws.down()
    assert not os.path.exists(os.path.join(ws.mnt, "cache"))
    ws.up()
    same(read(os.path.join(ws.mnt, "cache/web/page")), log_text(50000, 1))
    ws.down()


@test
def a_workspace_can_be_named_and_need_not_be_a_repository(case):
    ws = Workspace(case, git=False)
    run(OFFLOAD, "up", ws.path, cwd="/", env=ws.env)
    assert ws.mnt in mount_points()
    assert not os.path.exists(os.path.join(ws.path, ".git"))
    ws.down()


@test
def two_workspaces_have_two_stores(case):
    one = Workspace(case)
    other = os.path.join(one.home, "other")
    os.mkdir(other)
    one.up()
    run(OFFLOAD, "up", other, cwd=other, env=one.env)
    write(os.path.join(one.mnt, "note"), b"of one")
    assert "note" not in os.listdir(os.path.join(other, ".offload"))
    run(OFFLOAD, "down", cwd=other, env=one.env)
    same(read(os.path.join(one.mnt, "note")), b"of one")
    one.down()


@test
def up_cleans_up_after_a_killed_daemon(case):
    ws = Workspace(case)
    ws.up()
    write(os.path.join(ws.mnt, "note"), b"survives")
    kill_daemon(os.path.join(ws.store(), "lock"))
    ws.up()
    same(read(os.path.join(ws.mnt, "note")), b"survives")
    ws.down()


@test
def a_daemon_that_is_being_killed_is_waited_for(case):
    """The mount is dead before the kernel has released the daemon's lock."""
    ws = Workspace(case)
    ws.up()
    write(os.path.join(ws.mnt, "note"), b"survives\n")
    lock = os.path.join(ws.store(), "lock")
    kill_daemon(lock)
    with open(lock, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        tool = subprocess.Popen(
            [OFFLOAD, "slice", "note", "1"],
            cwd=ws.path,
            env=ws.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        eventually(lambda: any(has_open(p, lock) for p in children_of(tool.pid)), "the tool waits")
        time.sleep(0.2)
        assert tool.poll() is None, tool.communicate()
    out, err = tool.communicate(timeout=45 * SLOW)
    same(out, b"survives\n")
    assert not err, err
    ws.up()
    ws.down()


def kill_daemon(lock):
    """Kills the daemon that holds the lock of a store, after the keeper that would replace it."""
    daemons = [int(p) for p in os.listdir("/proc") if p.isdigit() and has_open(p, lock)]
    assert len(daemons) == 1, daemons
    os.kill(parent_of(daemons[0]), signal.SIGKILL)
    os.kill(daemons[0], signal.SIGKILL)
    eventually(lambda: not has_open(daemons[0], lock), "the daemon is dead")


def has_open(pid, path):
    try:
        return any(os.path.realpath(entry) == path for entry in os.scandir(f"/proc/{pid}/fd"))
    except OSError:
        return False


# --- run ------------------------------------------------------------------------------------------


@test(variants=MOUNTED)
def short_output_passes_through(case, mounted):
    ws = Workspace(case)
    ws.ready(mounted)
    for output, code in (
        (b"", 0),
        (b"short\n", 0),
        (b"no newline", 3),
        (b"\0\xff binary\r\n\0", 7),
        (b"\n" * 50, 255),
        (b"x" * 2048, 1),
        (numbered(50), 0),
    ):
        write(os.path.join(ws.home, "output"), output)
        done = ws.offload("run", "--", "sh", "-c", f'cat "$HOME/output"; exit {code}', check=False)
        same(done.stdout, output)
        assert done.returncode == code
        assert done.stderr == b""
    assert ws.look(mounted)[0] == {}
    ws.finish()


@test(variants=MOUNTED)
def short_output_of_both_kinds_keeps_its_order(case, mounted):
    ws = Workspace(case)
    ws.ready(mounted)
    done = ws.offload(
        "run",
        "--",
        "sh",
        "-c",
        "for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done",
        stderr=subprocess.STDOUT,
    )
    same(done.stdout, b"".join(b"out %d\nerr %d\n" % (i, i) for i in range(1, 6)))
    ws.finish()


@test(variants=MOUNTED)
def long_output_becomes_a_pointer(case, mounted):
    ws = Workspace(case)
    ws.ready(mounted)
    output = numbered(4321)
    write(os.path.join(ws.home, "output"), output)
    done = ws.offload(
        "run", "-c", "search", "--", "sh", "-c", 'cat "$HOME/output"; exit 42', check=False
    )
    assert done.returncode == 42
    name, ref, content = ws.only(mounted)
    same(content, output)
    assert name.startswith("cache/search/"), name
    check_pointer(ws, done.stdout, ref, content, code=42)
    ws.finish()


@test
def a_pointer_stays_good_after_down_and_up(case):
    ws = Workspace(case)
    ws.up()
    pointer = ws.offload("run", "--", "seq", "-f", "output line %g", "1", "900").stdout
    name, ref, content = ws.only(True)
    ws.down()
    same(ws.sh(f"offload slice {ref} 1-60"), lines(content, 1, 60))
    ws.up()
    check_pointer(ws, pointer, ref, content)
    os.makedirs(os.path.join(ws.mnt, "persistent/notes"))
    os.rename(os.path.join(ws.mnt, name), os.path.join(ws.mnt, "persistent/notes/kept"))
    check_pointer(ws, pointer, ref, content)
    ws.down()


@test
def searches_of_a_workspace_find_the_same_each_time(case):
    ws = Workspace(case)
    ws.up()
    write(os.path.join(ws.path, "notes.txt"), b"the needle is here\n")
    for command in ("grep -rn needle .", "rg -uu needle .", "find . -type f -not -path './.git*'"):
        if not shutil.which(command.split()[0]):
            continue
        outputs = set()
        for _ in range(4):
            outputs.add(ws.sh(command))
            ws.sh(f"offload run --max-bytes 0 -t t1 -- {command}")
            ws.sh(f"offload run --max-bytes 0 -- {command}")
        assert len(outputs) == 1, outputs
    names = sorted(os.listdir(ws.mnt))
    assert names == ["README.md", "archive", "persistent", "refs", "search", "views"], names
    assert ws.sh("ls .offload/cache") == b"shell\n"
    assert b"needle" in ws.sh("grep -rn needle .offload/tasks/t1")
    assert b"state" in ws.sh("cat .offload/.offload/status.json")
    same(ws.sh("ls -a .offload/.offload"), b".\n..\nconfig.ini\nledger\nlog\nmetrics\nstatus.json\n")
    ws.down()


@test(variants=MOUNTED)
def a_ref_of_another_workspace_names_nothing(case, mounted):
    ws = Workspace(case)
    ws.ready(mounted)
    for i in range(20):
        ws.offload("put", "-c", "notes", input=f"note {i}\n".encode())
    refs = set(ws.look(mounted)[1].values())
    assert all(len(ref) == 8 for ref in refs), refs
    other = os.path.join(ws.home, "other-store")
    for i in range(20):
        ws.offload("put", "--store", other, "-c", "notes", input=f"else {i}\n".encode())
    for ref in refs:
        done = ws.offload("slice", "--store", other, ref, "1-", check=False)
        assert done.returncode == 1 and not done.stdout and b"no " in done.stderr, done
    ws.finish()


@test(variants=MOUNTED)
def the_commands_of_a_pointer_work_anywhere(case, mounted):
    ws = Workspace(case)
    ws.ready(mounted)
    below = os.path.join(ws.path, "deep/er")
    os.makedirs(below)
    pointer = ws.offload("run", "--", "seq", "-f", "output line %g", "1", "900", cwd=below).stdout
    name, ref, content = ws.only(mounted)
    ((command, first, last),) = slice_commands(ws, pointer.decode())
    for folder in (below, ws.path, *(["/"] if mounted else [])):
        same(ws.sh(f"cd '{folder}' && {command}"), lines(content, first, last), folder)
    keep = re.search(r"offload promote \S+", pointer.decode())[0]
    ws.sh(keep)
    assert list(ws.look(mounted)[0]) != [name], "it was not kept"
    ws.finish()


@test
def output_is_offloaded_where_that_pays(case):
    ws = Workspace(case)
    ws.up()
    words = b"".join(b"word%d " % i for i in range(1000))
    for output, offloaded in (
        (b"1\n" * 51, False),
        (words[:4096], False),
        (words[:4097], True),
        (b"\n" * 5000, False),  # few tokens
        (b"the same line again\n" * 400, True),
    ):
        write(os.path.join(ws.home, "output"), output)
        before = len(ws.look(True)[0])
        shown = ws.offload("run", "--", "cat", os.path.join(ws.home, "output")).stdout
        assert (
            len(ws.look(True)[0]) - before == offloaded
        ), f"{len(output)} bytes, {output.count(10)} line feeds"
        assert (shown == output) != offloaded
    ws.down()


@test
def a_limit_that_is_given_is_kept(case):
    ws = Workspace(case)
    ws.up()
    shown = ws.offload("run", "--max-bytes", "100", "--", "seq", "51").stdout.decode()
    name, ref, content = ws.only(True)
    same(content, b"".join(b"%d\n" % i for i in range(1, 52)))
    assert re.fullmatch(
        rf"\[offloaded\] seq 51: exit 0, 144 bytes, 51 lines \(ref {ref}\) Read it: cat \S+\n", shown
    ), shown
    same(ws.sh(shown[shown.index("cat ") :]), content)
    ws.down()


@test(variants=MOUNTED)
def the_order_of_both_outputs_is_kept(case, mounted):
    ws = Workspace(case)
    ws.ready(mounted)
    ws.offload(
        "run", "--", "sh", "-c", "for i in $(seq 1 300); do echo out $i; echo err $i >&2; done"
    )
    same(ws.only(mounted)[2], b"".join(b"out %d\nerr %d\n" % (i, i) for i in range(1, 301)))
    ws.finish()


@test(variants=MOUNTED)
def the_same_output_gives_the_same_pointer(case, mounted):
    ws = Workspace(case)
    ws.ready(mounted)
    first = ws.offload("run", "-c", "shell", "--", "seq", "3000").stdout
    time.sleep(1.1)  # names that contain the time would differ
    same(ws.offload("run", "-c", "shell", "--", "seq", "3000").stdout, first)
    ws.offload("up" if not mounted else "down")
    # The instructions for reading differ, but not the target.
    other = ws.offload("run", "-c", "shell", "--", "seq", "3000").stdout
    assert (
        re.search(rb"ref [0-9a-z]+", other).group() == re.search(rb"ref [0-9a-z]+", first).group()
    ), other
    ws.finish()
    assert ws.only(False)[2] == b"".join(b"%d\n" % i for i in range(1, 3001))


@test
def exit_codes_are_those_of_a_shell(case):
    ws = Workspace(case)
    ws.up()
    write(os.path.join(ws.path, "not-a-program"), b"x")
    for command, code in (
        (["true"], 0),
        (["false"], 1),
        (["sh", "-c", "exit 200"], 200),
        (["sh", "-c", "kill -TERM $$"], 128 + 15),
        (["sh", "-c", "kill -KILL $$"], 128 + 9),
        (["sh", "-c", "seq 1000; kill -INT $$"], 128 + 2),
        (["no-such-program-here"], 127),
        (["./not-a-program"], 126),
    ):
        done = ws.offload("run", "--", *command, check=False)
        assert done.returncode == code, f"{command}: {done.returncode}, expected {code}"
    ws.down()


@test
def a_command_gets_its_words_and_input_as_they_are(case):
    ws = Workspace(case)
    ws.up()
    done = ws.offload("run", "--", "printf", "%s|", "a b", "", "--json", "-c", "$HOME")
    same(done.stdout, b"a b||--json|-c|$HOME|")
    same(ws.offload("run", "--", "cat", input=b"from the caller").stdout, b"from the caller")
    same(ws.offload("run", "--", "pwd").stdout, os.fsencode(ws.path) + b"\n")
    ws.down()


@test(timeout=120)
def megabytes_of_output_are_stored_whole(case):
    ws = Workspace(case)
    ws.up()
    output = log_text(8 * MIB, 3) + noise(2 * MIB, 4)
    write(os.path.join(ws.home, "output"), output)
    done = ws.offload("run", "--", "cat", os.path.join(ws.home, "output"))
    assert str(len(output)) in plain(done.stdout.decode(errors="replace"))
    assert len(done.stdout) < 8000
    same(ws.only(True)[2], output)
    ws.down()


@test
def output_is_printed_whole_where_it_cannot_be_stored(case):
    ws = Workspace(case)
    write(os.path.join(ws.home, "a-file"), b"")
    ws.env["XDG_DATA_HOME"] = os.path.join(ws.home, "a-file/below")
    ws.env["HOME"] = os.path.join(ws.home, "a-file/below")
    done = ws.offload("run", "--", "sh", "-c", "seq 5000; exit 9", check=False)
    same(done.stdout, b"".join(b"%d\n" % i for i in range(1, 5001)))
    assert done.returncode == 9
    assert re.match(rb"offload: ", done.stderr), done.stderr


@test
def output_is_printed_whole_where_the_store_is_damaged(case):
    ws = Workspace(case)
    ws.up()
    ws.down()
    write(os.path.join(ws.store(), "index.db"), b"no database" * 1000)
    done = ws.offload("run", "--", "sh", "-c", "seq 5000; exit 9", check=False)
    same(done.stdout, b"".join(b"%d\n" % i for i in range(1, 5001)))
    assert done.returncode == 9
    assert re.match(rb"offload: ", done.stderr), done.stderr


@test
def output_is_printed_whole_where_the_store_is_unwritable(case):
    """Runs as an ordinary user, to whom file modes apply."""
    ws = Workspace(case)
    ws.up()
    ws.down()
    prefix = []
    if ROOT:
        case.open_to_others()
        prefix = ["setpriv", f"--reuid={NOBODY}", "--clear-groups"]
        if run(*prefix, "test", "-x", OFFLOAD, check=False).returncode != 0:
            raise Skip(f"other users cannot run {OFFLOAD}")
    else:
        os.chmod(ws.store(), 0)
    done = run(
        *prefix,
        OFFLOAD,
        "run",
        "--",
        "sh",
        "-c",
        "seq 5000; exit 9",
        check=False,
        cwd=ws.path,
        env=ws.env,
    )
    same(done.stdout, b"".join(b"%d\n" % i for i in range(1, 5001)))
    assert done.returncode == 9


# --- put, show and slice --------------------------------------------------------------------------


@test(variants=MOUNTED)
def put_stores_its_input_and_prints_a_pointer(case, mounted):
    ws = Workspace(case)
    ws.ready(mounted)
    data = numbered(700)
    done = ws.offload("put", "-c", "web", input=data)
    name, ref, content = ws.only(mounted)
    same(content, data)
    assert re.fullmatch(
        r"cache/web/web_\d+_" + hashlib.sha256(data).hexdigest()[:16] + r"\.\w+", name
    ), name
    assert abs(int(name.split("_")[1]) - time.time()) < 3600
    check_pointer(ws, done.stdout, ref, content)
    time.sleep(1.1)
    same(ws.offload("put", "-c", "web", input=data).stdout, done.stdout)
    assert ws.only(mounted)[0] == name
    ws.finish()


@test(variants=MOUNTED)
def put_with_a_name_and_a_task(case, mounted):
    ws = Workspace(case)
    ws.ready(mounted)
    ws.offload("put", "-c", "notes", "-n", "plan.md", input=b"the plan\n")
    ws.offload("put", "-c", "web", "-t", "t-7", "-n", "page", input=numbered(99))
    ws.offload("run", "-c", "shell", "-t", "t-7", "--", "seq", "2000")
    found, _ = ws.look(mounted)
    same(found.pop("cache/notes/plan.md"), b"the plan\n")
    same(found.pop("tasks/t-7/web/page"), numbered(99))
    ((name, content),) = found.items()
    assert name.startswith("tasks/t-7/shell/shell_"), name
    same(content, b"".join(b"%d\n" % i for i in range(1, 2001)))
    ws.finish()


@test(variants=MOUNTED)
def show_tells_what_a_file_is(case, mounted):
    ws = Workspace(case)
    ws.ready(mounted)
    ws.offload("put", "-c", "web", "-n", "page", input=numbered(777))
    _, ref, content = ws.only(mounted)
    for named in (ref, ".offload/cache/web/page", os.path.join(ws.mnt, "cache/web/page")):
        shown = plain(ws.offload("show", named).stdout.decode())
        for each in (ref, str(len(content)), "777", "working", "web"):
            assert each in shown, f"{each!r} is not in what `show {named}` says:\n{shown}"
        record = json.loads(ws.offload("show", "--json", named).stdout)
        assert {ref, len(content), "working", "web"} <= set(values(record)), record
    ws.finish()


@test(variants=MOUNTED)
def slice_prints_lines_exactly(case, mounted):
    ws = Workspace(case)
    ws.ready(mounted)
    data = log_text(60000, 5) + b"\0 no newline at the end"
    ws.offload("put", "-c", "web", "-n", "page", input=data)
    _, ref, _ = ws.only(mounted)
    total = len(split_lines(data))
    for named in (ref, ".offload/cache/web/page"):
        for text, first, last in (
            ("10-20", 10, 20),
            ("7", 7, 7),
            (f"{total - 3}-", total - 3, None),
            ("-5", total - 4, None),
            (f"{total}-{total + 9}", total, None),
        ):
            same(
                ws.offload("slice", named, text).stdout, lines(data, first, last), f"{named} {text}"
            )
        same(ws.offload("slice", named, "b5-14").stdout, data[5:15])
        for wrong in (f"{total + 1}", "20-10", "0", "x"):
            done = ws.offload("slice", named, wrong, check=False)
            assert done.returncode != 0 and done.stdout == b"", f"{wrong}: {done}"
            assert re.fullmatch(rb"offload: [^\n]+\n", done.stderr), done.stderr
    ws.finish()


@test(variants=MOUNTED)
def every_answer_can_be_json(case, mounted):
    ws = Workspace(case)
    ws.ready(mounted)
    put = json.loads(ws.offload("put", "--json", "-c", "web", input=numbered(300)).stdout)
    name, ref, content = ws.only(mounted)
    assert {ref, len(content), 300} <= set(values(put)), put
    assert any(str(v).endswith(os.path.basename(name)) for v in values(put)), put
    sliced = json.dumps(json.loads(ws.offload("slice", "--json", ref, "2-3").stdout))
    assert "output line 2 of the command" in sliced and "output line 4" not in sliced, sliced
    ws.finish()


@test
def what_is_put_unmounted_is_seen_mounted_and_the_other_way_round(case):
    ws = Workspace(case)
    ws.up()
    ws.offload("put", "-c", "web", "-n", "mounted", input=b"1\n" * 100)
    ws.down()
    ws.offload("put", "-c", "web", "-n", "unmounted", input=b"2\n" * 100)
    same(ws.offload("slice", ".offload/cache/web/mounted", "1-2").stdout, b"1\n1\n")
    with case.mount(store=ws.store()) as m:
        same(read(m("cache/web/unmounted")), b"2\n" * 100)
        same(read(m("cache/web/mounted")), b"1\n" * 100)


# --- Refusals -------------------------------------------------------------------------------------


@test(variants=MOUNTED)
def bad_names_are_refused(case, mounted):
    ws = Workspace(case)
    ws.ready(mounted)
    for option in ("-c", "-t", "-n"):
        for name in ("..", ".", "", "../up", "a/b", "/abs", "n" * 256):
            done = ws.offload("put", option, name, input=b"content", check=False)
            assert (
                done.returncode not in (0, 127) and done.returncode < 128
            ), f"put {option} {name!r}: {done}"
            assert re.fullmatch(rb"offload: [^\n]+\n", done.stderr), done.stderr
            assert done.stdout == b""
    marker = os.path.join(ws.home, "it-ran")
    for option in ("-c", "-t"):
        done = ws.offload("run", option, "../up", "--", "touch", marker, check=False)
        assert done.returncode != 0 and done.stderr.startswith(b"offload: "), done
        assert not os.path.exists(marker), "the command was run"
    assert ws.look(mounted)[0] == {}
    ws.finish()


@test(variants=MOUNTED)
def what_is_not_there_is_an_error(case, mounted):
    ws = Workspace(case)
    ws.ready(mounted)
    for words in (
        ("show", "zzzzzz"),
        ("slice", "zzzzzz", "1-2"),
        ("show", ".offload/cache/missing"),
        ("show",),
        ("slice", "zzzzzz"),
        ("frobnicate",),
        ("put", "--frobnicate"),
        ("run",),
        ("run", "--"),
        (),
    ):
        done = ws.offload(*words, check=False)
        assert done.returncode != 0 and done.stdout == b"", f"{words}: {done}"
        assert done.stderr.startswith(b"offload: "), f"{words}: {done.stderr}"
    ws.finish()


@test
def options_stand_in_any_place(case):
    ws = Workspace(case)
    text = numbered(100)
    ref = ws.offload("put", "--json", "-c", "web", input=text).stdout
    ref = json.loads(ref)["ref"]
    for words in (
        ("slice", "--json", ref, "-3"),
        ("slice", ref, "-3", "--json"),
        ("slice", ref, "--json", "--", "-3"),
    ):
        same(json.loads(ws.offload(*words).stdout)["text"].encode(), b"".join(text.splitlines(True)[-3:]))
    same(json.loads(ws.offload("show", ref, "--json").stdout)["ref"], ref)
    ws.offload("promote", ref)
    hits = ws.offload("search", "line", "-n", "1").stdout
    assert hits and hits.count(b"\n") == 1, hits
    # Options end where a command begins.
    same(ws.offload("run", "echo", "--json").stdout, b"--json\n")
    for words, said in (
        (("search", "zebra", "-x"), b"unknown option '-x'; to leave a word out, quote the query"),
        (("put", "--categry", "web"), b"unknown option '--categry': did you mean '--category'?"),
        (("stats", "--json=yes"), b"option '--json=yes' takes no value"),
        (("list", "--json", "-xn"), b"unknown option '-x'"),
        (("list", "-n"), b"option '-n' needs a value"),
        (("list", "-é"), "unknown option '-é'".encode()),
        (("run", "--max-bytes", "many", "true"), b"'many' is not a count of bytes"),
    ):
        done = ws.offload(*words, check=False)
        assert done.returncode == 2 and said in done.stderr, done
    assert ws.offload("search", "--", "-line", check=False).returncode != 0


@test
def up_says_what_is_wrong_with_the_settings(case):
    ws = Workspace(case)
    ws.up()
    settings = os.path.join(ws.store(), "config.ini")
    write(settings, b"nonsense\n")
    done = ws.offload("up", check=False)
    assert done.returncode == 1 and b"config.ini" in done.stderr, done
    os.unlink(settings)
    ws.finish()


@test
def a_plain_folder_in_the_place_of_the_mount_stays_empty(case):
    ws = Workspace(case)
    os.mkdir(ws.mnt)
    pointer = ws.offload("put", "-c", "web", input=numbered(3000)).stdout
    ref = re.search(rb"ref ([0-9a-z]+)", pointer).group(1).decode()
    ws.offload("run", "seq", "3000")
    ws.offload("promote", ref)
    ws.offload("put", "--dir", ".offload", "--name", "x", input=b"x")
    assert ws.offload("promote", ".offload/y", check=False).returncode == 1
    same(os.listdir(ws.mnt), [])
    same(ws.offload("slice", ref, "1").stdout, numbered(1))


@test
def help_has_every_option(case):
    ws = Workspace(case)
    overview = ws.offload("help").stdout.decode()
    commands = re.findall(r"^  (\w+) +\w", overview, re.M)
    assert len(commands) > 15, overview
    for command in commands:
        if command == "help":
            continue
        text = ws.offload(command, "--help").stdout.decode()
        same(text, ws.offload("help", command).stdout.decode())
        assert text.startswith(f"usage: offload {command} "), text
        for option in re.findall(r"--[a-z][a-z-]+", text.split("\n\n")[0]):
            assert re.search(rf"^ .*{option}\b", text, re.M), f"{command}: {option}"
        assert "--no-redact" in text and max(map(len, text.splitlines())) < 105, text


@test
def down_without_up_leaves_everything_alone(case):
    ws = Workspace(case)
    ws.offload("down", check=False)
    assert mount_points(case.dir) == []
    assert ws.git("status", "--porcelain") == ""


main()
