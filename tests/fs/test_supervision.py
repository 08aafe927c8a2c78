#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A daemon that dies is restarted, and its mount answers again; one that ends in order is not."""
import contextlib
import ctypes
import errno
import os
import re
import shutil
import signal
import socket
import subprocess
import threading

from harness import (
    OFFLOAD,
    OFFLOADFS,
    ROOT,
    SANITIZED,
    SLOW,
    Skip,
    adopt,
    children_of,
    eventually,
    is_alive,
    main,
    mount_points,
    parent_of,
    raises,
    read,
    run,
    same,
    test,
    write,
)

STARTS = 6  # the first one and five restarts


class Kept:
    """A daemon in the background and its parent, the keeper."""

    def __init__(self, case, *options):
        adopt()
        self.store, self.mnt = case.store, case.mnt
        self.start(*options)
        self.keeper = parent_of(self.owner())
        assert parent_of(self.keeper) == os.getpid(), "no process stays between"

    def start(self, *options):
        given = [o for o in os.environ.get("OFFLOADFS_TEST_OPTS", "").split(",") if o]
        run(OFFLOADFS, "-o", ",".join(["supervise", *given, *options]), self.store, self.mnt)

    def __call__(self, *names):
        return os.path.join(self.mnt, *names)

    def owner(self):
        """Returns the process that the store's lock file names."""
        return int((read(os.path.join(self.store, "lock")) or b"0").split()[0])

    def kill9(self):
        """Kills the daemon and waits until it is reaped; returns its process id."""
        pid = self.owner()
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: parent_of(pid) is None, "the daemon is dead, and no zombie")
        return pid

    def serves(self):
        return self.mnt in mount_points() and is_alive(self.mnt)

    def crash(self):
        """Kills the daemon and waits for its replacement."""
        dead = self.kill9()
        eventually(lambda: self.owner() != dead and self.serves(), "the mount answers again")
        assert children_of(self.keeper) == [self.owner()]
        assert mount_points().count(self.mnt) == 1

    def ends(self):
        """Waits for both to end, which must be in order."""
        pid, status = os.waitpid(self.keeper, 0)
        assert pid == self.keeper and status == 0, status
        assert not children_of(os.getpid()), "a process is left"

    def unmount(self):
        run("fusermount3", "-u", self.mnt)
        self.ends()


def append_lines(path, acknowledged, over):
    """Appends numbered lines, opening the file for each, whatever happens to the daemon."""
    number = 0
    while not over.is_set():
        with contextlib.suppress(OSError):
            # Without O_CREAT: nothing may be created below the mountpoint while nothing is mounted.
            fd = os.open(path, os.O_WRONLY | os.O_APPEND)
            try:
                os.write(fd, b"%d\n" % number)
                acknowledged.append(number)
            finally:
                os.close(fd)
        number += 1


@test
def a_killed_daemon_is_replaced(case):
    """Repeatedly, under load; all acknowledged lines survive."""
    k = Kept(case)
    write(k("cache/log"), b"")
    acknowledged, over = [], threading.Event()
    writer = threading.Thread(target=append_lines, args=(k("cache/log"), acknowledged, over))
    writer.start()
    try:
        for _ in range(3):
            before = len(acknowledged)
            eventually(lambda: len(acknowledged) > before + 20, "lines are written")
            k.crash()
        before = len(acknowledged)
        eventually(lambda: len(acknowledged) > before, "and go on to be written")
    finally:
        over.set()
        writer.join()
    lines = [int(line) for line in read(k("cache/log")).splitlines()]
    assert lines == sorted(lines) and set(acknowledged) <= set(lines)
    k.unmount()


@test
def what_was_open_is_gone_and_opens_again(case):
    k = Kept(case)
    write(k("cache/f"), b"content")
    fd = os.open(k("cache/f"), os.O_RDWR)
    os.chdir(k("cache"))
    k.crash()
    with raises(errno.ENOTCONN, errno.ECONNABORTED):
        os.fstatvfs(fd)
    with raises(errno.ENOTCONN, errno.ECONNABORTED):
        os.write(fd, b"lost")
    with raises(errno.ENOTCONN, errno.ECONNABORTED):
        os.listdir(".")
    same(read(k("cache/f")), b"content")
    os.chdir("/")
    os.close(fd)
    k.unmount()


@test
def an_orderly_end_is_the_end(case):
    """By an unmount, or by a signal to the daemon or to the keeper, which forwards it."""
    for end in (
        lambda k: run("fusermount3", "-u", k.mnt),
        lambda k: os.kill(k.owner(), signal.SIGTERM),
        lambda k: os.kill(k.keeper, signal.SIGTERM),
        lambda k: os.kill(k.keeper, signal.SIGINT),
    ):
        k = Kept(case)
        write(k("cache/f"), b"content")
        end(k)
        k.ends()
        assert case.mnt not in mount_points()


@test
def without_its_keeper_it_serves_on(case):
    k = Kept(case)
    os.kill(k.keeper, signal.SIGKILL)
    os.waitpid(k.keeper, 0)
    write(k("cache/f"), b"content")
    k.keeper = k.owner()
    assert parent_of(k.keeper) == os.getpid()
    k.unmount()


def own_log(case):
    """
    Replaces /dev by one in which this process receives the system log. Returns the list to which a
    thread adds the messages, as senders block while more than a few are unread.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.unshare(0x20000) == 0
    assert libc.mount(b"none", b"/", None, 0x4000 | 0x40000, None) == 0
    devices = {name: os.stat(f"/dev/{name}").st_rdev for name in ("null", "fuse", "urandom")}
    assert libc.mount(b"dev", b"/dev", b"tmpfs", 0, None) == 0
    for name, device in devices.items():
        os.mknod(f"/dev/{name}", 0o20666, device)
    log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    log.bind("/dev/log")
    said = []

    def take():
        while True:
            said.append(log.recv(4096))

    threading.Thread(target=take, daemon=True).start()
    return said


@test(root=True, timeout=120)
def one_that_dies_again_and_again_is_given_up(case):
    said = own_log(case)
    k = Kept(case)
    write(k("cache/f"), b"content")
    for _ in range(STARTS - 1):
        k.crash()
    k.kill9()
    assert os.waitstatus_to_exitcode(os.waitpid(k.keeper, 0)[1]) == 128 + signal.SIGKILL
    eventually(lambda: any(b"giving up" in line for line in said), "the log tells of it")
    died = [line for line in said if b"died" in line and b"unmounting" not in line]
    assert len(died) == STARTS and all(b"signal 9" in line for line in died), said
    assert b"offload up" in died[-1], died
    assert case.mnt in mount_points() and not k.serves(), "its user is to see that it is dead"
    k = Kept(case)
    same(read(k("cache/f")), b"content")
    k.unmount()


@test
def one_that_cannot_start_is_not_tried_again(case):
    adopt()
    os.mkdir(case.store)
    write(os.path.join(case.store, "config.ini"), b"nonsense = 1\n")
    done = run(OFFLOADFS, "-o", "supervise", case.store, case.mnt, check=False)
    assert done.returncode == 1 and b"nonsense" in done.stderr, done
    os.remove(os.path.join(case.store, "config.ini"))
    done = subprocess.run(
        [OFFLOADFS, "-o", "supervise", case.store, case.mnt],
        env={**os.environ, "OFS_FAILPOINT": "index.commit=kill@1"},
        check=False,
    )
    assert done.returncode == 128 + signal.SIGKILL, done
    assert case.mnt not in mount_points()


@test
def the_keeper_is_small_and_holds_nothing(case):
    k = Kept(case)
    write(k("cache/f"), os.urandom(8 << 20))
    k.crash()
    if ROOT:
        fds = os.listdir(f"/proc/{k.keeper}/fd")
        where = [os.readlink(f"/proc/{k.keeper}/fd/{fd}") for fd in fds]
        assert all(w == "/dev/null" or w.startswith(("pipe:", "socket:")) for w in where), where
        assert os.readlink(f"/proc/{k.keeper}/cwd") == "/"
    elif not SANITIZED:
        with raises(errno.EACCES):  # closed to other processes of the same user
            os.listdir(f"/proc/{k.keeper}/fd")
    with open(f"/proc/{k.keeper}/status") as f:
        status = dict(line.split(":", 1) for line in f)
    if not SANITIZED:
        assert int(status["Threads"]) == 1
        assert int(status["RssAnon"].split()[0]) < 2048, status
    k.unmount()


class Workspace:
    def __init__(self, case):
        adopt()
        self.path, self.mnt = case.path("work"), case.path("work", ".offload")
        self.env = {**os.environ, "XDG_DATA_HOME": case.path("data"), "OFFLOADFS": OFFLOADFS}
        os.mkdir(self.path)

    def offload(self, *words, check=True):
        return run(OFFLOAD, *words, cwd=self.path, env=self.env, check=check)

    def up(self):
        """Mounts; returns the process ids of keeper and daemon."""
        self.offload("up")
        data = os.path.join(self.env["XDG_DATA_HOME"], "offloadfs")
        (store,) = os.listdir(data)
        daemon = int(read(os.path.join(data, store, "lock")).split()[0])
        return parent_of(daemon), daemon


@test(timeout=120)
def down_right_after_a_crash_ends_both(case):
    """At whatever point of the restart."""
    ws = Workspace(case)
    pauses = [0, 0.001, 0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.03]
    for pause in pauses:
        keeper, daemon = ws.up()
        write(os.path.join(ws.mnt, "cache/f"), b"content")
        os.kill(daemon, signal.SIGKILL)
        eventually(lambda: parent_of(daemon) is None, "the daemon is dead")
        threading.Event().wait(pause)
        said = ws.offload("down").stdout
        assert said.startswith(b"Unmounted"), (pause, said)
        os.waitpid(keeper, 0)
        assert ws.mnt not in mount_points(), pause
        assert not children_of(os.getpid()), pause


@test
def up_right_after_a_crash_leaves_one_daemon(case):
    ws = Workspace(case)
    _, daemon = ws.up()
    os.kill(daemon, signal.SIGKILL)
    ws.offload("up", check=False)
    eventually(lambda: is_alive(ws.mnt), "it is mounted")
    write(os.path.join(ws.mnt, "cache/f"), b"content")
    assert b"Already mounted" in ws.offload("up").stdout
    assert mount_points().count(ws.mnt) == 1
    ws.offload("down")
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    assert ws.mnt not in mount_points()


@test
def in_the_foreground_a_service_manager_keeps_it(case):
    """
    A service manager learns when the tree is mounted, gets the signals, and restarts the daemon.
    """
    ws = Workspace(case)
    for name in (case.path("notify"), f"\0offloadfs-{os.getpid()}"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(name)
            manager.settimeout(30 * SLOW)
            env = {**ws.env, "NOTIFY_SOCKET": name.replace("\0", "@")}
            for sign in (signal.SIGKILL, signal.SIGTERM):
                service = subprocess.Popen([OFFLOAD, "up", "-f", ws.path], env=env)
                assert manager.recv(100) == b"READY=1"
                assert is_alive(ws.mnt) and not children_of(service.pid)
                again = ws.offload("up", "-f", check=False)
                assert again.returncode == 1 and b"already mounted" in again.stderr, again
                service.send_signal(sign)
                code = service.wait(30 * SLOW)
                assert code == (-sign if sign == signal.SIGKILL else 0), code
                assert (ws.mnt in mount_points()) == (sign == signal.SIGKILL)


@test
def the_unit_is_what_systemd_takes(case):
    if not shutil.which("systemd-analyze"):
        raise Skip("there is no systemd-analyze")
    unit = read(os.path.join(os.path.dirname(OFFLOAD), "offloadfs@.service")).decode()
    (installed,) = re.findall(r"^ExecStart=(\S+) up -f -- %f$", unit, re.M)
    name = case.path("offloadfs@" + case.dir[1:].replace("-", r"\x2d").replace("/", "-") + ".service")
    write(name, unit.replace(installed, OFFLOAD).encode())
    done = run(
        "systemd-analyze", "--user", "--man=no", "verify", name,
        env={**os.environ, "XDG_RUNTIME_DIR": case.dir},
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), done


main()
