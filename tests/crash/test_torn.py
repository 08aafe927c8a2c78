#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A write during which the daemon dies is there as a whole or not at all, as in DURABILITY.md."""
import contextlib
import mmap
import os
import signal

from rounds import LIMIT, close, launch, report, was_reached

from files import noise
from harness import SEAL_NEVER, main, read, same, test, write

PAGE = 4096
MIB = 1 << 20  # maximum size of a request
WHOLE = ()

# Offset and length; O_APPEND or another flag; whether the first page is in the kernel's cache;
# lengths at which the write may be cut.
WRITES = {
    "within a page": (100, 100, os.O_APPEND, False, WHOLE),
    "within a page, not at the end": (100, 100, 0, False, WHOLE),
    "from a page on": (PAGE, MIB, os.O_APPEND, False, WHOLE),
    "over the end of a page": (PAGE - 50, 100, os.O_APPEND, False, (50,)),
    "of more than a page": (100, 64 << 10, os.O_APPEND, False, (PAGE - 100,)),
    "of more than a page that was read": (100, 64 << 10, os.O_APPEND, True, WHOLE),
    "of more than a request": (0, MIB + 1, os.O_APPEND, False, (MIB,)),
    "of several requests": (100, 2 * MIB, 0, False, (PAGE - 100, PAGE - 100 + MIB)),
    "past the cache": (100, 64 << 10, os.O_DIRECT, False, WHOLE),
}
ACTIONS = ("short", "kill-after")  # half a record, and a whole record that is not answered


def write_once(path, data, at, flags, cached):
    """Writes once. Returns the number of bytes that write(2) reported."""
    if cached:
        read(path)
    buffer = mmap.mmap(-1, len(data))  # page-aligned: otherwise O_DIRECT would need more requests
    buffer.write(data)
    written = 0
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_WRONLY | flags)
        try:
            os.lseek(fd, at, os.SEEK_SET)
            written = os.write(fd, memoryview(buffer))
        finally:
            os.close(fd)
    return written


@test(variants=WRITES, timeout=LIMIT)
def what_is_there_of_a_write(case, kind):
    at, length, flags, cached, early = kind
    head, data = noise(at, 1), noise(length, 2)
    log = case.path("log")
    seen, number, written = set(), 0, 0
    while written < length:
        number += 1
        for action in ACTIONS:
            with case.mount(SEAL_NEVER) as m:
                path = m("cache/f")
                write(path, head)
            if os.path.exists(log):
                os.unlink(log)
            fault = f"io.pwritev={action}@{number}"
            m = launch(case, SEAL_NEVER, OFS_FAILPOINT=fault, OFS_FAILPOINT_LOG=log)
            assert m.comes_up()
            written = write_once(path, data, at, flags, cached)
            died = close(m) == -signal.SIGKILL
            assert died == was_reached(log, fault) == (written < length), (fault, written)
            with case.mount(SEAL_NEVER) as m:
                got = read(path)
            same(got, (head + data)[: len(got)])
            assert len(got) - at >= written, "what was acknowledged is missing"
            seen.add(len(got) - at)
            report(rounds=1, files=1)
    assert {0, length} <= seen, "no write was cut, or none was whole"
    assert seen <= {0, length, *early}, f"{sorted(seen)} bytes of {length} were there"


main()
