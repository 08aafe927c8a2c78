#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What other suites do not cover, and the departures that docs/POSIX.md lists."""
import ctypes
import errno
import fcntl
import mmap
import os
import signal
import stat
import struct
import subprocess

import suites  # noqa: F401 (finds the harness)

from harness import NOBODY, Skip, as_nobody, main, raises, read, renameat2, same, test, write

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


# For each change: whether one by root clears set-user-ID and set-group-ID. One by others does.
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


_libc = ctypes.CDLL(None, use_errno=True)


def handle_of(path):
    """Returns a struct file_handle, which names a file without its path."""
    handle = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0), 8 + 128)
    if _libc.name_to_handle_at(-100, os.fsencode(path), handle, ctypes.byref(ctypes.c_int()), 0):
        raise OSError(ctypes.get_errno(), "name_to_handle_at", path)
    return handle


def read_by_handle(m, handle):
    root = os.open(m.mnt, os.O_RDONLY)
    try:
        fd = _libc.open_by_handle_at(root, handle, os.O_RDONLY)
        if fd < 0:
            raise OSError(ctypes.get_errno(), "open_by_handle_at")
        with open(fd, "rb") as f:
            return f.read()
    finally:
        os.close(root)


@test(root=True)
def a_handle_names_its_file_for_ever(case):
    with case.mount() as m:
        handles = {n: handle_of(m.make(f"cache/a/b/{n}", n.encode())) for n in ("kept", "gone")}
        os.rename(m("cache/a/b"), m("persistent/b"))
        m.remount()  # empties the kernel's caches
        os.unlink(m("persistent/b/gone"))
        assert read_by_handle(m, handles["kept"]) == b"kept"
        with raises(errno.ESTALE):
            read_by_handle(m, handles["gone"])


class Iocb(ctypes.Structure):
    """struct iocb of <linux/aio_abi.h>."""

    _fields_ = [("data", ctypes.c_uint64), ("key", ctypes.c_uint32), ("rw_flags", ctypes.c_int32)]
    _fields_ += [("opcode", ctypes.c_uint16), ("prio", ctypes.c_int16), ("fd", ctypes.c_uint32)]
    _fields_ += [("buf", ctypes.c_uint64), ("nbytes", ctypes.c_uint64), ("off", ctypes.c_int64)]
    _fields_ += [("reserved", ctypes.c_uint64), ("flags", ctypes.c_uint32), ("res", ctypes.c_uint32)]


IO_SETUP, IO_DESTROY, IO_GETEVENTS, IO_SUBMIT = 206, 207, 208, 209  # on x86-64
IOCB_CMD_PWRITE = 1
WRITE, WRITES = 1 << 14, 32


def write_asynchronously(path, reader):
    """Rewrites a file many times, many parts at once, while another process reads it."""
    content = mmap.mmap(-1, WRITE * WRITES)
    address = ctypes.addressof(ctypes.c_char.from_buffer(content))
    context, events = ctypes.c_uint64(), ctypes.create_string_buffer(32 * WRITES)
    assert _libc.syscall(IO_SETUP, WRITES, ctypes.byref(context)) == 0
    fd = os.open(path, os.O_RDWR | os.O_DIRECT)
    writes = [
        Iocb(opcode=IOCB_CMD_PWRITE, fd=fd, buf=address + at, nbytes=WRITE, off=at)
        for at in range(0, len(content), WRITE)
    ]
    pointers = (ctypes.c_void_p * WRITES)(*map(ctypes.addressof, writes))
    count = ctypes.c_long(WRITES)
    for turn in range(1, 250):
        content[:] = bytes([turn]) * len(content)
        assert _libc.syscall(IO_SUBMIT, context, count, pointers) == WRITES
        assert _libc.syscall(IO_GETEVENTS, context, count, count, events, None) == WRITES
        os.kill(reader, signal.SIGSTOP)
        same(read(path), content[:], f"after write {turn}")
        os.kill(reader, signal.SIGCONT)
    os.close(fd)
    _libc.syscall(IO_DESTROY, context)


@test
def asynchronous_direct_writes_show_in_reads(case):
    """A concurrent reader may get old content, but none of it may stay in the page cache."""
    if os.uname().machine != "x86_64":
        raise Skip("the numbers of the system calls are those of x86-64")
    with case.mount() as m:
        path = m.make("cache/shell/f", b"\0" * WRITE * WRITES)
        loop = 'while :; do cat "$0" >/dev/null; done'
        reader = subprocess.Popen(["sh", "-c", loop, path], start_new_session=True)
        try:
            write_asynchronously(path, reader.pid)
        finally:
            os.killpg(reader.pid, signal.SIGKILL)
            reader.wait()


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
