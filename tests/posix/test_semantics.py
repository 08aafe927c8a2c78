#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the suites of others do not look at, and where docs/POSIX.md tells of a departure."""
import errno
import fcntl
import mmap
import os
import stat
import struct

import suites  # noqa: F401 (finds the harness)

from harness import NOBODY, as_nobody, main, raises, read, renameat2, test, write

SIZE_MAX = 1 << 44
RENAME_WHITEOUT = 4
FS_IOC_GETFLAGS = 0x80086601


def overwrite(path):
    with open(path, "r+b") as f:
        f.write(b"x")


def overwrite_directly(path):
    fd = os.open(path, os.O_WRONLY | os.O_DIRECT)
    try:
        page = mmap.mmap(-1, 4096)
        os.write(fd, page)
    finally:
        os.close(fd)


def shorten(path):
    os.truncate(path, 1)


def empty(path):
    os.close(os.open(path, os.O_WRONLY | os.O_TRUNC))


def change_no_owner(path):
    os.chown(path, -1, -1)


def change_group(path):
    os.chown(path, -1, NOBODY)


# For each change, whether root's takes set-user-ID and set-group-ID away. Anybody else's does.
CHANGES = {
    overwrite: False,
    overwrite_directly: False,
    shorten: False,
    empty: False,
    change_no_owner: True,
    change_group: True,
}


@test(variants={change.__name__: change for change in CHANGES}, root=True)
def set_ids_are_taken_away(case, change):
    case.open_to_others()
    with case.mount("allow_other") as m:
        path = m.make("cache/shell/program", b"#!/bin/sh\n" * 1000)
        os.chown(path, NOBODY, NOBODY)

        def mode_after(work):
            os.chmod(path, 0o6755)
            work()
            return oct(stat.S_IMODE(os.stat(path).st_mode))

        assert mode_after(lambda: change(path)) == oct(0o755 if CHANGES[change] else 0o6755)
        assert mode_after(lambda: as_nobody(lambda: change(path))) == oct(0o755)
        m.remount()
        assert oct(stat.S_IMODE(os.stat(path).st_mode)) == oct(0o755)


@test(root=True)
def a_directory_keeps_its_set_group_id(case):
    with case.mount() as m:
        folder = m("cache/shared")
        os.mkdir(folder)
        os.chmod(folder, 0o2775)
        change_no_owner(folder)
        change_group(folder)
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o2775


@test
def every_change_of_content_shows_in_the_times(case):
    def write_a_mapping(path):
        with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as content:
            content[0] = 66
            content.flush()

    def copy_within(path):
        with open(path, "r+b") as f:
            os.copy_file_range(f.fileno(), f.fileno(), 1, 0, 50)

    with case.mount() as m:
        path = m.make("cache/shell/f", b"A" * 100)
        for change in (overwrite, write_a_mapping, copy_within, shorten, empty, empty):
            os.utime(path, ns=(10**18, 10**18))
            before = os.stat(path)
            change(path)
            after = os.stat(path)
            assert after.st_mtime_ns > before.st_mtime_ns, change
            assert after.st_ctime_ns > before.st_ctime_ns, change


# --- Departures -----------------------------------------------------------------------------------


@test
def a_file_ends_before_16_tib(case):
    with case.mount() as m:
        path = m.make("cache/shell/large", b"")
        os.truncate(path, SIZE_MAX)
        with raises(errno.EFBIG):
            os.truncate(path, SIZE_MAX + 1)
        with open(path, "r+b", buffering=0) as f:
            with raises(errno.EFBIG):
                os.pwrite(f.fileno(), b"x", SIZE_MAX)
            assert os.pwrite(f.fileno(), b"x", SIZE_MAX - 1) == 1
        assert os.stat(path).st_size == SIZE_MAX
        assert os.stat(path).st_blocks < 100


@test
def reading_does_not_move_atime(case):
    with case.mount() as m:
        path = m.make("cache/shell/f", b"content")
        os.utime(path, ns=(10**18, 2 * 10**18))
        assert read(path) == b"content"
        m.remount()
        assert read(path) == b"content"
        assert os.stat(path).st_atime_ns == 10**18


@test
def what_is_not_offered_is_refused(case):
    with case.mount() as m:
        path = m.make("cache/shell/f", b"1\n2\n3\n")
        fd = os.open(path, os.O_RDWR)
        entries = ((1, 6, 0xFFFFFFFF), (2, 4, NOBODY), (4, 4, 0xFFFFFFFF))
        entries += ((0x10, 4, 0xFFFFFFFF), (0x20, 4, 0xFFFFFFFF))
        acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries)
        with raises(errno.EOPNOTSUPP):
            os.setxattr(path, "system.posix_acl_access", acl)
        with raises(errno.EOPNOTSUPP):
            os.open(m("cache/shell"), os.O_TMPFILE | os.O_RDWR)
        with raises(errno.ENOTTY):
            fcntl.ioctl(fd, FS_IOC_GETFLAGS, bytearray(8))
        with raises(errno.EINVAL, errno.EPERM):
            renameat2(path, m("cache/shell/g"), RENAME_WHITEOUT)
        with raises(errno.EROFS):
            write(path + ":2", b"x")
        os.close(fd)
        assert sorted(os.listdir(m("cache/shell"))) == ["f"]


main()
