#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Requests use the chosen transport, and none are sent where the kernel can answer itself."""
import itertools
import os
import pathlib
import threading
import time

from files import MIB, noise
import harness
from harness import OFFLOADFS, Mount, Skip, eventually, main, run, test


def rings(pid):
    """Returns the number of io_uring instances of the daemon."""
    count = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            count += "io_uring" in os.readlink(f"/proc/{pid}/fd/{fd}")
        except FileNotFoundError:
            pass
    return count


@test
def the_transport_is_the_one_asked_for(case):
    wanted = os.environ.get("OFFLOADFS_TEST_OPTS", "").split(",")
    if b"without io_uring" in run(OFFLOADFS, "--version").stdout and "io_uring" in wanted:
        raise Skip("this libfuse has no io_uring")
    with case.mount() as m:
        m.make("cache/shell/f", b"x")
        if "io_uring" in wanted:
            assert rings(m.process.pid) > 0
        if "no_io_uring" in wanted:
            assert rings(m.process.pid) == 0


def requests(pid):
    """Returns the number of the daemon's read and write system calls, as counted by the kernel."""
    with open(f"/proc/{pid}/io") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith(("syscr", "syscw")))


@test
def warm_reads_ask_the_daemon_nothing(case):
    """open, read, stat and close of known files are answered by the kernel alone."""
    with case.mount("seal_delay=3600000") as m:
        paths = [m.make(f"cache/shell/{i}", b"line\n" * 100) for i in range(50)]

        def visit():
            for path in paths:
                os.stat(path)
                fd = os.open(path, os.O_RDONLY)  # open() would send an ioctl, always a message
                assert len(os.read(fd, 1000)) == 500
                os.close(fd)
            os.listdir(m("cache/shell"))

        visit()
        visit()
        before = requests(m.process.pid)
        for _ in range(20):
            visit()
        assert requests(m.process.pid) - before < 50, "a thousand visits must not cost messages"


def guards(pid):
    """Returns the processor time, in ns, of each thread that keeps a processor awake."""
    taken = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text() == "awake\n":
            taken.append(int((task / "schedstat").read_text().split()[0]))
    return taken


@test
def processors_are_kept_awake_while_requests_come(case):
    if not harness.uring_enabled() or len(os.sched_getaffinity(0)) < 2:
        raise Skip("this needs FUSE over io_uring, and two processors")
    with case.mount("io_uring", "awake=on") as m:
        if rings(m.process.pid) == 0:
            raise Skip("this libfuse has no io_uring")

        def ask():
            for i in range(200):
                os.path.exists(m("refs", f"no-such-ref-{i}"))
            return sum(guards(m.process.pid)) > 0

        eventually(ask, "a guard runs")
        eventually(lambda: rests(m.process.pid), "the guards end")
        eventually(ask, "a guard runs again")


def rests(pid):
    before = guards(pid)
    time.sleep(0.2)
    return guards(pid) == before


@test(variants={"off": ("awake=off",), "classic": ("awake=on", "no_io_uring")})
def processors_may_halt(case, options):
    with case.mount(*options) as m:
        for i in range(500):
            os.path.exists(m("refs", f"no-such-ref-{i}"))
        assert guards(m.process.pid) == []


def others_go_on(m, act, prepare=lambda: None):
    """
    Tells whether other requests are mostly answered while `act` runs, even those from the same
    processor, which one thread serves over io_uring. `prepare` runs before each time.
    """
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        answered = 0
        for attempt in range(1, 101):
            begun, done = threading.Event(), threading.Event()
            prepare()

            def work():
                begun.set()
                act()
                done.set()

            working = threading.Thread(target=work)
            working.start()
            begun.wait()
            asked = 0
            while not done.is_set():
                os.path.exists(m("refs", "no-such-ref"))  # always a message
                asked += 1
            working.join()
            # A few may be answered before `act` sends its request.
            answered += asked > 20
            if attempt >= 10 and answered > attempt / 2:
                return True
        return False
    finally:
        os.sched_setaffinity(0, allowed)


def with_slow_syncs(case, *options):
    m = Mount(case, case.store, case.mnt, options)
    m.launch(OFS_FAILPOINT="io.datasync=slow")
    assert m.comes_up()
    return m


@test
def an_fsync_holds_up_nobody_else(case):
    with with_slow_syncs(case, "seal_delay=3600000") as m:
        fd = os.open(m.make("cache/shell/f", b"x"), os.O_WRONLY)

        def sync():
            os.write(fd, b"y")
            os.fsync(fd)

        try:
            assert others_go_on(m, sync)
        finally:
            os.close(fd)


CHANGES = {
    "mkdir": lambda m, fd, i: os.mkdir(m("cache/shell", f"dir-{i}")),
    "symlink": lambda m, fd, i: os.symlink("f", m("cache/shell", f"symlink-{i}")),
    "link": lambda m, fd, i: os.link(m("cache/shell/f"), m("cache/shell", f"link-{i}")),
    "setxattr": lambda m, fd, i: os.setxattr(fd, "user.a", b"%d" % i),
    "copy": lambda m, fd, i: os.copy_file_range(fd, fd, 1000, 0, (100 + i) * MIB),
}


@test(variants={"write": None, **CHANGES})
def who_waits_for_room_holds_up_nobody_else(case, change):
    with with_slow_syncs(case, "seal_delay=0", "journal_max=1") as m:
        fd = os.open(m.make("cache/shell/f", b"x"), os.O_RDWR)
        data = noise(MIB, 1)
        numbers = itertools.count()

        def fill():
            os.pwrite(fd, data, next(numbers) % 64 * MIB)

        try:
            if change:
                assert others_go_on(m, lambda: change(m, fd, next(numbers)), prepare=fill)
            else:
                assert others_go_on(m, fill)
        finally:
            os.close(fd)


main()
