#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
`offload doctor` reports a healthy tree and every fault, with advice; it changes nothing and never
waits.
"""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import time

from harness import (
    NOBODY,
    OFFLOAD,
    OFFLOADFS,
    SEAL_SOON,
    SLOW,
    Skip,
    detach,
    eventually,
    main,
    mount_points,
    read,
    run,
    same,
    stop,
    stopped,
    test,
    write,
)

STATES = ("ok", "note", "warning", "problem")
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")


def doctor(case, *words, prefix=(), env=None, cwd=None):
    """
    Runs it with and without --json. Both must agree, be well-formed and change nothing. Returns the
    findings by name; of several with one name, the worst.
    """
    home = {"HOME": case.dir, "XDG_DATA_HOME": case.path("data"), "OFFLOADFS": OFFLOADFS}
    options = {
        "env": {**os.environ, **home, **(env or {})},
        "cwd": cwd or case.dir,
        "check": False,
        "timeout": 30 * SLOW,
    }
    before = state_of(case)
    done = run(*prefix, OFFLOAD, "doctor", "--json", *words, **options)
    assert done.stderr == b"", done.stderr
    told = json.loads(done.stdout)
    assert set(told) == {"checks", "problems"}, told
    checks = told["checks"]
    text = run(*prefix, OFFLOAD, "doctor", *words, **options)
    check_text(text.stdout.decode(), checks, case.dir)
    assert state_of(case) == before, "it changed something"
    assert told["problems"] == sum(c["state"] == "problem" for c in checks)
    assert done.returncode == text.returncode == (1 if told["problems"] else 0), done.returncode
    for check in checks:
        assert set(check) == {"name", "state", "found", "advice"}, check
        assert (check["advice"] is None) == (check["state"] == "ok"), check
    return {c["name"]: c for c in sorted(checks, key=lambda c: STATES.index(c["state"]))}


def state_of(case):
    """Describes the case's directory, without mounts or a store that a daemon may be changing."""
    mounts = mount_points(case.dir)
    hidden = set(mounts) | ({case.store, case.path("data")} if mounts else set())
    found = {}
    for folder, folders, names in os.walk(case.dir):
        folders[:] = [n for n in folders if os.path.join(folder, n) not in hidden]
        for path in [folder, *(os.path.join(folder, n) for n in names)]:
            st = os.lstat(path)
            found[path] = (st.st_mode, st.st_uid, st.st_size, st.st_mtime_ns, st.st_ino)
    return found


def check_text(text, checks, ours):
    """
    Checks that the text agrees with the JSON. Three things may differ: mounts outside `ours` and
    what they hold, an index under construction, and measured values.
    """
    *lines, last = text.splitlines()
    told = []
    for line in lines:
        if line.startswith(" "):
            told[-1][3] = line.strip().removeprefix("-> ")
        else:
            told.append([*line.split(maxsplit=2), None])
    expected = [[c["state"], c["name"], c["found"], c["advice"]] for c in checks]
    making = {t[1] for t in told + expected if t[2] == "the index is being made"}
    for each in (told, expected):
        each[:] = [
            t
            for t in each
            if t[1] not in making | {"wake-ups", "sync"} and (t[1] not in ("others", "space") or ours in t[2])
        ]
    assert told == expected, f"{told}\n{expected}"
    assert re.match(r"offload: (no problems|\d+ problems?)", last), last


def expect(found, name, state, *words):
    """Checks the state of a finding, and that its text or advice contains these words."""
    one = found[name]
    said = f"{one['found']} -> {one['advice']}"
    assert one["state"] == state, one
    for word in words:
        assert word in said, f"{said!r} lacks {word!r}"


def problems(found):
    return sorted(name for name, one in found.items() if one["state"] == "problem")


def make_store(case):
    with case.mount(SEAL_SOON) as m:
        m.wait_sealed(m.make("cache/shell/kept", b"kept\n" * 1000))


def check_store(case):
    with case.mount() as m:
        same(read(m("cache/shell/kept")), b"kept\n" * 1000)


# --- Healthy trees --------------------------------------------------------------------------------


@test
def nothing_is_there_yet(case):
    found = doctor(case)
    assert problems(found) == [], found
    expect(found, "mount", "note", case.path(".offload"), "offload up")
    expect(found, "store", "note", "does not exist yet")
    expect(found, "daemon", "ok", OFFLOADFS, "libfuse")
    expect(found, "device", "ok", "/dev/fuse")
    assert not os.path.exists(case.path("data"))


@test
def a_tree_in_use(case):
    with case.mount(SEAL_SOON) as m:
        kept = m.make("cache/shell/kept", b"kept")
        for words in ((case.mnt,), ("--store", case.store), ("-d", case.mnt), (case.store,)):
            found = doctor(case, *words)
            assert problems(found) == [], found
            expect(found, "mount", "ok", case.mnt, case.store)
            expect(found, "lock", "ok", f"process {m.process.pid}", case.mnt)
            expect(found, "format", "ok")
            expect(found, "config", "ok")
        same(read(kept), b"kept")
        m.make("cache/shell/more", b"goes on")


@test
def a_store_at_rest(case):
    make_store(case)
    found = doctor(case, case.store)
    assert problems(found) == [], found
    expect(found, "mount", "note", "not mounted")
    expect(found, "lock", "ok", "nobody")
    expect(found, "store", "ok", case.store)
    check_store(case)


@test
def what_would_be_faster_or_safer(case):
    make_store(case)
    found = doctor(case, case.store)
    expect(found, "copies", "note", "only on this disk", "offload remote add")
    expect(found, "scrub", "ok")
    assert re.search(r"\d ms to make 4 KiB durable", found["sync"]["found"]), found
    with open(os.path.join(case.store, "config.ini"), "w") as f:
        f.write("scrub = never\nremote = s3://bucket/prefix\n")
    found = doctor(case, case.store)
    expect(found, "copies", "ok", "s3://bucket/prefix")
    expect(found, "scrub", "note", "remove scrub = never")


@test
def a_workspace_from_up_to_down(case):
    work = case.path("work it")
    os.mkdir(work)
    home = {"HOME": case.dir, "XDG_DATA_HOME": case.path("data"), "OFFLOADFS": OFFLOADFS}
    run("git", "init", "-q", work)
    expect(doctor(case, work), "exclude", "note", "offload up")
    run(OFFLOAD, "up", work, env={**os.environ, **home})
    for words, cwd in (((work,), None), ((), work), ((), os.path.join(work, ".offload/cache"))):
        found = doctor(case, *words, cwd=cwd)
        assert problems(found) == [], found
        expect(found, "mount", "ok", os.path.join(work, ".offload"))
        expect(found, "exclude", "ok")
    exclude = os.path.join(work, ".git/info/exclude")
    said = read(exclude)
    write(exclude, b"")
    found = doctor(case, work)
    expect(found, "exclude", "warning")
    run("sh", "-c", found["exclude"]["advice"], cwd="/")
    expect(doctor(case, work), "exclude", "ok")
    assert read(exclude) == b"/.offload/\n" and b"/.offload/\n" in said
    run(OFFLOAD, "down", work, env={**os.environ, **home})


# --- Mounts ---------------------------------------------------------------------------------------


@test
def a_dead_mount(case):
    make_store(case)
    m = case.mount()
    m.kill9()
    for words in ((case.mnt,), ("--store", case.store)):
        found = doctor(case, *words)
        assert problems(found) == ["mount"], found
        expect(found, "mount", "problem", case.mnt, case.store, "daemon that died")
        expect(found, "lock", "note", "nobody", "was killed", "offload up")
    elsewhere = doctor(case, "--store", case.path("another"))
    expect(elsewhere, "others", "warning", case.mnt)
    assert problems(elsewhere) == [], elsewhere
    run("sh", "-c", found["mount"]["advice"].split(";")[0])
    assert case.mnt not in mount_points()
    expect(doctor(case, case.store), "mount", "note", "not mounted")
    check_store(case)


@test
def a_daemon_that_does_not_answer(case):
    with case.mount() as m:
        m.make("cache/shell/kept", b"kept")
        with stopped(m.process.pid):
            for words in ((case.mnt,), ("--store", case.store)):
                found = doctor(case, *words)
                assert problems(found) == ["lock", "mount"], found
                expect(found, "mount", "problem", case.mnt, "does not answer", case.store)
                expect(found, "lock", "problem", "stopped", f"kill -CONT {m.process.pid}")
            run("sh", "-c", found["lock"]["advice"])
        same(read(m("cache/shell/kept")), b"kept")


@test
def the_mount_of_a_daemon_that_does_not_answer_is_refused(case):
    with case.mount() as m:
        with stopped(m.process.pid):
            for store, mnt, told in (
                (case.store, case.mnt, "whose daemon does not answer"),
                (case.path("other"), case.mnt, "whose daemon does not answer"),
                (case.store, case.path("elsewhere"), f"in use by process {m.process.pid}"),
            ):
                if mnt != case.mnt:
                    os.makedirs(mnt)
                done = run(OFFLOADFS, store, mnt, check=False, timeout=40 * SLOW)
                said = done.stderr.decode()
                assert done.returncode == 1 and told in said and said.count("\n") == 1, said


def child_of(pid):
    """Returns the /proc stat path of a child of a process, or None if it has none."""
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[1]) == pid:
                return path
    return None


def is_held_up(pid):
    """Tells whether a process has had the same child for a while."""
    child = child_of(pid)
    time.sleep(0.3)
    return child and child_of(pid) == child


@test
def a_daemon_that_stops_after_it_has_answered(case):
    """The daemon answers first, and stops while another one delays the command."""
    work = case.path("work")
    mnt = os.path.join(work, ".offload")
    os.makedirs(mnt)
    with case.mount(mnt=mnt) as m, case.mount(store=case.path("other")) as other:
        stop(other.process.pid)
        with subprocess.Popen(
            [OFFLOAD, "doctor", "--json", work], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as asking:
            try:
                eventually(lambda: is_held_up(asking.pid), "it waits for the slow one")
                stop(m.process.pid)
                other.process.send_signal(signal.SIGCONT)
                told, said = asking.communicate(timeout=40 * SLOW)
            finally:
                asking.kill()
                for each in (m, other):
                    each.process.send_signal(signal.SIGCONT)
        assert said == b"", said
        checks = {c["name"]: c for c in json.loads(told)["checks"] if c["state"] != "ok"}
        expect(checks, "mount", "problem", mnt, "does not answer")
        expect(checks, "lock", "problem", f"kill -CONT {m.process.pid}")


@test
def a_state_that_is_not_ok(case):
    with case.mount() as m:
        expect(doctor(case, case.mnt), "state", "ok", "ok")
        os.rename(case.store, case.path("elsewhere"))
        with contextlib.suppress(OSError):
            m.make("cache/shell/x", b"x")
        time.sleep(1.2)  # status.json may be a second old
        found = doctor(case, case.mnt)
        expect(found, "state", "problem", "read-only", "was moved", "offload up")
        expect(found, "store", "problem", case.store, "gone")
        os.rename(case.path("elsewhere"), case.store)
        detach(case.mnt)
        assert m.wait() == 1
    expect(doctor(case, case.store), "lock", "note", "could not write everything")
    case.mount().unmount()
    expect(doctor(case, case.store), "lock", "ok", "nobody")


# --- The store ------------------------------------------------------------------------------------


@test
def a_store_that_others_can_read(case):
    make_store(case)
    os.chmod(case.store, 0o755)
    found = doctor(case, case.store)
    assert problems(found) == ["store"], found
    expect(found, "store", "problem", "0755", f"chmod 700 {case.store}")
    run("sh", "-c", found["store"]["advice"])
    assert problems(doctor(case, case.store)) == []


@test
def a_store_that_an_acl_opens(case):
    make_store(case)
    entries = [(1, 7, -1), (2, 5, NOBODY), (4, 0, -1), (0x10, 5, -1), (0x20, 0, -1)]
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *e) for e in entries)
    try:
        os.setxattr(case.store, "system.posix_acl_access", acl)
    except OSError as e:
        raise Skip(f"no ACLs here: {e}") from e
    found = doctor(case, case.store)
    assert problems(found) == ["store"], found
    run("sh", "-c", found["store"]["advice"])
    assert problems(doctor(case, case.store)) == []


@test
def files_of_a_store_that_are_open_to_others(case):
    make_store(case)
    write(os.path.join(case.store, "config.ini"), b"")
    os.chmod(os.path.join(case.store, "config.ini"), 0o644)
    assert "modes" not in doctor(case, case.store)
    index = os.path.join(case.store, "index.db")
    os.chmod(index, 0o644)
    found = doctor(case, case.store)
    assert problems(found) == [], found
    expect(found, "modes", "warning", "index.db (mode 0644)", f"chmod -R go= {case.store}")
    run("sh", "-c", found["modes"]["advice"])
    assert "modes" not in doctor(case, case.store)
    segment = os.listdir(os.path.join(case.store, "journal"))[0]
    os.chmod(os.path.join(case.store, "journal", segment), 0o640)
    os.chmod(index, 0o604)
    expect(doctor(case, case.store), "modes", "warning", "more files")


@test
def a_wrong_configuration(case):
    make_store(case)
    write(os.path.join(case.store, "config.ini"), b"\nseal_delay = soon\n")
    found = doctor(case, case.store)
    assert problems(found) == ["config"], found
    expect(found, "config", "problem", f"{case.store}/config.ini:2: seal_delay = 'soon': must be")
    write(os.path.join(case.store, "config.ini"), b"\nseal_delay = 2s\n")
    expect(doctor(case, case.store), "config", "ok", "valid")


@test
def an_unknown_format(case):
    make_store(case)
    index = os.path.join(case.store, "index.db")
    with open(index, "r+b") as f:
        f.seek(60)
        known = f.read(4)
        f.seek(60)
        f.write(struct.pack(">I", 77))
    found = doctor(case, case.store)
    assert problems(found) == ["format"], found
    expect(found, "format", "problem", "77", "version")
    with open(index, "r+b") as f:
        f.seek(60)
        f.write(known)
    check_store(case)


@test
def a_store_that_was_killed_at_its_start(case):
    """Before the first checkpoint nothing is wrong."""
    m = case.mount()
    m.make("cache/shell/kept", b"kept\n" * 1000)
    m.kill9()
    expect(doctor(case, case.mnt), "format", "ok")
    check_store(case)


@test
def a_lost_index(case):
    make_store(case)
    index = os.path.join(case.store, "index.db")
    os.rename(index, case.path("index.db"))
    found = doctor(case, "--store", case.store)
    assert problems(found) == ["format"], found
    expect(found, "format", "problem", "missing", "backup")
    os.rename(case.path("index.db"), index)
    check_store(case)


@test(root=True)
def a_store_in_memory(case):
    os.mkdir(case.store)
    run("mount", "-t", "tmpfs", "-o", "size=16m,mode=700", "none", case.store)
    try:
        found = doctor(case, "--store", case.store)
        expect(found, "filesystem", "warning", "tmpfs", "in memory")
        expect(found, "space", "problem", "free")
    finally:
        run("umount", case.store)


# --- The user -------------------------------------------------------------------------------------


def need_others_to_run(case):
    case.open_to_others()
    for program in (OFFLOAD, OFFLOADFS):
        if run(*AS_NOBODY, "test", "-x", program, check=False).returncode != 0:
            raise Skip(f"other users cannot run {program}")


def closed_device():
    """Returns the finding that ordinary users get on a machine that denies them /dev/fuse."""
    return [] if os.stat("/dev/fuse").st_mode & 0o006 == 0o006 else ["device"]


@test(root=True)
def an_ordinary_user(case):
    need_others_to_run(case)
    found = doctor(case, prefix=AS_NOBODY)
    assert problems(found) == closed_device(), found
    expect(found, "fusermount3", "ok", "fusermount3")
    expect(found, "rights", "ok", "through fusermount3")
    make_store(case)
    found = doctor(case, "--store", case.store, prefix=AS_NOBODY)
    assert problems(found) == [*closed_device(), "store"], found
    expect(found, "store", "problem", "Permission denied")
    os.chown(case.store, NOBODY, NOBODY)
    expect(doctor(case, case.store), "owner", "warning")
    os.chown(case.store, 0, 0)


@test(root=True)
def an_ordinary_user_in_a_sandbox(case):
    need_others_to_run(case)
    found = doctor(case, prefix=(*AS_NOBODY, "--no-new-privs"))
    assert problems(found) == [*closed_device(), "rights"], found
    expect(found, "rights", "problem", "no_new_privs")
    found = doctor(case, prefix=("setpriv", "--bounding-set=-sys_admin", *AS_NOBODY))
    assert problems(found) == [*closed_device(), "rights"], found
    expect(found, "rights", "problem", "CAP_SYS_ADMIN")


@test(root=True)
def no_fusermount3(case):
    """Only root can mount without it."""
    need_others_to_run(case)
    os.mkdir(case.path("bin"))
    for program in ("setpriv", "env"):
        os.symlink(run("which", program).stdout.decode().strip(), case.path("bin", program))
    nothing = {"PATH": case.path("bin")}
    found = doctor(case, prefix=AS_NOBODY, env=nothing)
    assert problems(found) == [*closed_device(), "fusermount3"], found
    expect(found, "fusermount3", "problem", "not in PATH", "fuse3")
    expect(found, "ripgrep", "note")
    found = doctor(case, env=nothing)
    assert problems(found) == [], found
    expect(found, "fusermount3", "note", "not in PATH")


DEVICES = {
    "closed": "mount --bind /dev/fuse /dev/fuse && mount -o remount,bind,nodev /dev/fuse",
    "gone": 'mount --bind "$SOCKET" /dev/fuse',
}


@test(variants=DEVICES, root=True)
def no_device(case, hide):
    with socket.socket(socket.AF_UNIX) as nothing:
        nothing.bind(case.path("socket"))
    prefix = ("unshare", "-m", "sh", "-c", hide + ' && exec "$@"', "sh")
    env = {"SOCKET": case.path("socket")}
    if run(*prefix, "true", check=False, env={**os.environ, **env}).returncode != 0:
        raise Skip("cannot hide /dev/fuse here")
    found = doctor(case, prefix=prefix, env=env)
    assert problems(found) == ["device"], found
    expect(found, "device", "problem", "/dev/fuse", "--cap-add SYS_ADMIN")
    with case.mount() as m:
        found = doctor(case, case.mnt, prefix=prefix, env=env)
        assert problems(found) == [], found
        expect(found, "device", "warning")


# --- The daemon -----------------------------------------------------------------------------------

DAEMONS = {
    "missing": (None, "problem", "is not found"),
    "another": ("#!/bin/sh\necho some other program 1.0\n", "problem", "is some other program"),
    "silent": ("#!/bin/sh\nsleep 3600\n", "problem", "does not answer"),
    "older": ("#!/bin/sh\necho 'offloadfs 0.0.1 (libfuse 3.10.0)'\n", "warning", "0.0.1"),
    "without": (
        f"#!/bin/sh\n'{OFFLOADFS}' --version | sed 's/)/, without io_uring)/'\n",
        "ok",
        "without io_uring",
    ),
}


@test(variants=DAEMONS)
def the_daemon(case, kind):
    program, state, words = kind
    if program:
        write(case.path("daemon"), program.encode())
        os.chmod(case.path("daemon"), 0o755)
    found = doctor(case, env={"OFFLOADFS": case.path("daemon")})
    expect(found, "daemon", state, case.path("daemon"), words)
    if "without" in words:
        assert found["io_uring"]["state"] == "note", found["io_uring"]


# --- Usage ----------------------------------------------------------------------------------------


@test
def what_it_cannot_look_at(case):
    write(case.path("file"), b"")
    for words in (
        [case.path("missing")],
        [case.path("file")],
        ["-d", case.path("mnt")],
        ["--frobnicate"],
        ["a", "b"],
        ["--store", "x", "y"],
    ):
        done = run(OFFLOAD, "doctor", *words, cwd=case.dir, check=False)
        assert done.returncode == 2 and done.stdout == b"", (words, done)
        assert re.fullmatch(rb"offload: doctor: [^\n]+\n", done.stderr), (words, done.stderr)


main()
