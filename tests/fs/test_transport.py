#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How requests travel: by the transport that was asked for, and not at all where the kernel can answer."""
import os
import threading

from harness import OFFLOADFS, Mount, Skip, main, run, test


def rings(pid):
    """How many io_uring instances the daemon has."""
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
    """System calls that the daemon has made, as the kernel accounts them."""
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
                fd = os.open(path, os.O_RDONLY)  # open() would add an ioctl, which is always a message
                assert len(os.read(fd, 1000)) == 500
                os.close(fd)
            os.listdir(m("cache/shell"))

        visit()
        visit()
        before = requests(m.process.pid)
        for _ in range(20):
            visit()
        assert requests(m.process.pid) - before < 50, "a thousand visits must not cost messages"


@test
def an_fsync_holds_up_nobody_else(case):
    """Also not who runs on the same processor, whose requests one thread serves over io_uring."""
    with Mount(case, case.store, case.mnt, ["seal_delay=3600000"]) as m:
        m.launch(OFS_FAILPOINT="io.datasync=slow")
        assert m.comes_up()
        path = m.make("cache/shell/f", b"x")
        allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(allowed)})
        try:
            for attempt in range(100):
                synced = threading.Event()

                def sync():
                    fd = os.open(path, os.O_WRONLY)
                    os.write(fd, b"y")
                    os.fsync(fd)
                    synced.set()
                    os.close(fd)

                syncing = threading.Thread(target=sync)
                syncing.start()
                asked = 0
                while not synced.is_set():
                    os.path.exists(m("refs", "no-such-ref"))  # always a message
                    asked += 1
                syncing.join()
                if asked > 10:
                    return
            raise AssertionError(f"{asked} requests were answered while one fsync was under way")
        finally:
            os.sched_setaffinity(0, allowed)


main()
