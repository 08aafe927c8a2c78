#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holes and copies: fallocate, SEEK_HOLE and copy_file_range, as used by cp and other programs."""
import errno
import os

from files import KIB, MIB, disk_usage, noise
from harness import (
    KEEP_SIZE,
    PUNCH_HOLE,
    SEAL_NEVER,
    SEAL_SOON,
    ZERO_RANGE,
    eventually,
    fallocate,
    main,
    raises,
    read,
    run,
    same,
    test,
)

BLOCK = 256 * KIB
TIB = 1 << 40


def holes(path):
    """Returns the (start, end) of each data extent of a file."""
    found, at = [], 0
    with open(path, "rb") as f:
        while True:
            try:
                start = os.lseek(f.fileno(), at, os.SEEK_DATA)
            except OSError as e:
                assert e.errno == errno.ENXIO, e
                return found
            at = os.lseek(f.fileno(), start, os.SEEK_HOLE)
            found.append((start, at))


def opened(path, flags=os.O_RDWR):
    return os.fdopen(os.open(path, flags), "rb" if flags == os.O_RDONLY else "r+b")


def sealed(m, path, seal):
    if seal:
        m.wait_sealed(path)


def stored(m):
    """Returns the bytes on disk of all content, sealed or not."""
    return disk_usage(f"{m.store}/journal") + disk_usage(f"{m.store}/packs")


def usage(m):
    """Returns the bytes that du counts below the mount."""
    return int(run("du", "-s", "-B1", m.mnt).stdout.split()[0])


@test(variants={"draft": False, "sealed": True})
def what_fallocate_punches_is_a_hole_and_reads_as_zeros(case, seal):
    data = noise(4 * BLOCK + 1000, 1)
    with case.mount(SEAL_SOON if seal else SEAL_NEVER) as m:
        path = m.make("cache/shell/f", data)
        sealed(m, path, seal)
        run("fallocate", "-p", "-o", str(BLOCK - 10), "-l", str(2 * BLOCK), path)
        want = data[: BLOCK - 10] + bytes(2 * BLOCK) + data[3 * BLOCK - 10 :]
        same(read(path), want)
        if not seal:
            same(holes(path), [(0, BLOCK - 10), (3 * BLOCK - 10, len(data))])
        run("fallocate", "-z", "-o", str(4 * BLOCK), "-l", str(BLOCK), path)
        want = want[: 4 * BLOCK] + bytes(BLOCK)
        same(read(path), want)
        m.crash()
        same(read(path), want)
        with opened(path) as f:
            fallocate(f.fileno(), ZERO_RANGE | KEEP_SIZE, 0, 10 * MIB)
        same(os.stat(path).st_size, 5 * BLOCK)
        m.remount()
        same(read(path), bytes(5 * BLOCK))
        same(holes(path), [])


@test
def allocation_makes_room_and_other_modes_are_refused(case):
    with case.mount() as m:
        path = m.make("cache/shell/f", b"content")
        run("fallocate", "-l", "100000", path)
        same(read(path), b"content".ljust(100000, b"\0"))
        with opened(path) as f:
            fallocate(f.fileno(), KEEP_SIZE, 0, MIB)
            os.posix_fallocate(f.fileno(), 100000, 10)
            same(os.fstat(f.fileno()).st_size, 100010)
            with raises(errno.EOPNOTSUPP):
                fallocate(f.fileno(), 8, 0, 4096)  # FALLOC_FL_COLLAPSE_RANGE
            with raises(errno.ENOSPC):
                fallocate(f.fileno(), 0, 0, 16 * TIB)
            with raises(errno.EFBIG):
                fallocate(f.fileno(), 0, 1, 16 * TIB)


@test(timeout=30)
def a_terabyte_of_nothing_is_made_and_punched_at_once(case):
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/shell/f", b"first")
        with opened(path) as f:
            f.truncate(4 * TIB)
            os.pwrite(f.fileno(), b"last", 3 * TIB)
            fallocate(f.fileno(), ZERO_RANGE, TIB, TIB)
            fallocate(f.fileno(), PUNCH_HOLE | KEEP_SIZE, 5, 3 * TIB - 5)
            same(os.pread(f.fileno(), 10, 0), b"first\0\0\0\0\0")
            same(os.pread(f.fileno(), 10, 3 * TIB), b"last\0\0\0\0\0\0")
            fallocate(f.fileno(), PUNCH_HOLE | KEEP_SIZE, 0, 4 * TIB)
        same(holes(path), [])
        m.crash()
        same(os.stat(path).st_size, 4 * TIB)
        same(holes(path), [])


@test
def cp_makes_sparse_copies_of_sparse_files(case):
    with case.mount() as m:
        path = m.make("cache/shell/f", b"")
        with opened(path) as f:
            f.truncate(40 * MIB)
            os.pwrite(f.fileno(), noise(BLOCK, 1), 8 * MIB)
        for how in ("--sparse=auto", "--sparse=always", "--sparse=never"):
            copy = m("cache/shell/" + how)
            run("cp", how, path, copy)
            same(os.stat(copy).st_size, 40 * MIB)
            with open(copy, "rb") as f:
                same(os.pread(f.fileno(), BLOCK + 2, 8 * MIB - 1), b"\0" + noise(BLOCK, 1) + b"\0")
        same(holes(m("cache/shell/--sparse=always")), [(8 * MIB, 8 * MIB + BLOCK)])


@test(variants={"draft": False, "sealed": True})
def cp_within_the_mount_takes_no_space(case, seal):
    data = noise(8 * MIB + 777, 1)
    with case.mount(SEAL_SOON if seal else SEAL_NEVER) as m:
        path = m.make("cache/shell/f", data)
        sealed(m, path, seal)
        # Seal nothing: sealed copies share blocks with the source, so cp would take it for sparse.
        m.remount(SEAL_NEVER)
        before = stored(m)
        for i in range(8):
            run("cp", "--reflink=auto", path, m(f"persistent/{i}"))
        assert stored(m) < before + MIB, (before, stored(m))
        os.unlink(path)
        m.crash()
        for i in range(8):
            same(read(m(f"persistent/{i}")), data)
        m.remount(SEAL_SOON)
        for i in range(8):
            m.wait_sealed(m(f"persistent/{i}"))
            same(read(m(f"persistent/{i}")), data)
        eventually(lambda: usage(m) < 1.2 * len(data), "du counts it once")


@test(variants={"draft": False, "sealed": True})
def ranges_are_copied_whatever_their_alignment(case, seal):
    data = noise(3 * BLOCK + 100, 1)
    with case.mount(SEAL_SOON if seal else SEAL_NEVER) as m:
        path = m.make("cache/shell/f", data)
        sealed(m, path, seal)
        other = m.make("cache/shell/g", b"x" * 10)
        want = bytearray(b"x" * 10)
        with opened(path, os.O_RDONLY) as f, opened(other) as g:
            for start, at, size in (
                (0, 3, 100),
                (BLOCK, BLOCK, BLOCK),
                (1, BLOCK + 1, BLOCK - 1),
                (BLOCK, 0, 2 * BLOCK + 50),
                (7, 5 * BLOCK + 3, 2 * BLOCK),
                (2 * BLOCK, 4 * BLOCK, 10 * MIB),
            ):
                part, done = data[start : start + size], 0
                while n := os.copy_file_range(
                    f.fileno(), g.fileno(), size - done, start + done, at + done
                ):
                    done += n
                same(done, len(part))
                want.extend(bytes(max(0, at + done - len(want))))
                want[at : at + done] = part
            with raises(errno.EINVAL):
                os.copy_file_range(g.fileno(), g.fileno(), 100, 0, 50)
        same(read(other), bytes(want))
        m.crash()
        same(read(other), bytes(want))
        same(read(path), data)


@test
def slices_and_the_readme_can_be_copied_from_but_not_to(case):
    with case.mount() as m:
        path = m.make("cache/shell/f", b"one\ntwo\nthree\n")
        other = m.make("cache/shell/g", b"")
        with opened(m("cache/shell/f:2"), os.O_RDONLY) as f, opened(other) as g:
            same(os.copy_file_range(f.fileno(), g.fileno(), 100), 4)
            same(os.lseek(f.fileno(), 1, os.SEEK_HOLE), 4)
            same(os.lseek(f.fileno(), 1, os.SEEK_DATA), 1)
        same(read(other), b"two\n")
        run("cp", m("README.md"), other)
        same(read(other), read(m("README.md")))


@test
def the_archive_is_not_changed_by_other_means_either(case):
    with case.mount(SEAL_SOON) as m:
        path = m.make("persistent/reports/f", noise(5000, 1))
        m.wait_sealed(path)
        os.makedirs(m("archive/reports"), exist_ok=True)
        kept = m("archive/reports/f")
        os.rename(path, kept)
        other = m.make("cache/shell/g", b"other")
        with opened(other) as g, opened(kept) as f:
            with raises(errno.EROFS):
                fallocate(f.fileno(), PUNCH_HOLE | KEEP_SIZE, 0, 100)
            with raises(errno.EROFS):
                fallocate(f.fileno(), 0, 0, 10000)
            with raises(errno.EROFS):
                os.copy_file_range(g.fileno(), f.fileno(), 5, 0, 0)
            same(os.copy_file_range(f.fileno(), g.fileno(), 5000, 0, 0), 5000)
        same(read(kept), noise(5000, 1))
        same(read(other), noise(5000, 1))


@test
def df_and_stat_agree_with_the_disk_below(case):
    with case.mount() as m:
        m.make("cache/shell/f", b"content")
        fs, disk = os.statvfs(m.mnt), os.statvfs(m.store)
        same((fs.f_bsize, fs.f_frsize), (4096, 4096))
        same(fs.f_blocks * 4096, disk.f_blocks * disk.f_frsize)
        assert fs.f_bavail * 4096 <= disk.f_bavail * disk.f_frsize + 64 * MIB
        assert fs.f_files - fs.f_ffree >= 7 and fs.f_ffree > 1000
        size = int(run("df", "--output=size", "-B1", m.mnt).stdout.split()[-1])
        same(size, disk.f_blocks * disk.f_frsize)


if __name__ == "__main__":
    main()
