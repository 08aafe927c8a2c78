#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How requests travel: by the transport that was asked for, and not at all where the kernel can answer."""
import os

from harness import OFFLOADFS, Skip, main, run, test


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


main()
