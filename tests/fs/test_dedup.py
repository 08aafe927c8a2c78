#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Equal content is stored once, du reports what it costs, and no removal damages other files."""
import os
import threading

from files import KIB, MIB, disk_usage, log_text, noise
from harness import SEAL_SOON, eventually, main, read, run, same, test, write, xattr

SIZE = 2 * MIB


def packs_size(case):
    return sum(e.stat().st_size for e in os.scandir(os.path.join(case.store, "packs")))


def packs_usage(case):
    return disk_usage(os.path.join(case.store, "packs"))


def usage(*paths):
    return sum(os.stat(p).st_blocks * 512 for p in paths)


def nothing(m):
    pass


def remount(m):
    m.remount()


def kill(m):
    m.crash()


BETWEEN = {f.__name__: f for f in (nothing, remount, kill)}


@test
def equal_files_are_stored_once(case):
    data = noise(SIZE, 1)
    with case.mount(SEAL_SOON) as m:
        one = m.make("cache/search/one", data)
        m.wait_sealed(one)
        once = packs_size(case)
        assert SIZE <= once < 1.2 * SIZE
        two = m.make("persistent/notes/two", data)
        m.wait_sealed(two)
        assert packs_size(case) < once + SIZE / 10
        assert xattr(one, "sha256") == xattr(two, "sha256")
        m.remount()
        assert packs_size(case) < once + SIZE / 10
        same(read(one), data)
        same(read(two), data)


@test
def equal_files_sealed_together_are_stored_once(case):
    data = noise(SIZE, 2)
    with case.mount("seal_delay=1000") as m:
        paths = [m.make(f"cache/search/{i}", data) for i in range(4)]
        m.wait_sealed(*paths)
        assert packs_size(case) < 1.3 * SIZE
        m.crash()
        for path in paths:
            same(read(path), data)


@test
def du_tells_both_sizes(case):
    data = noise(SIZE, 3)
    with case.mount(SEAL_SOON) as m:
        paths = [m.make(f"cache/search/{i}", data) for i in range(3)]
        m.wait_sealed(*paths)
        m.remount()
        apparent = int(
            run("du", "-s", "-B1", "--apparent-size", m("cache/search")).stdout.split()[0]
        )
        real = int(run("du", "-s", "-B1", m("cache/search")).stdout.split()[0])
        assert 3 * SIZE <= apparent < 3 * SIZE + 64 * KIB, apparent
        assert SIZE <= real < 1.2 * SIZE, real


@test
def du_tells_what_compression_saves(case):
    data = log_text(SIZE, 4)
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/shell/log", data)
        assert usage(path) >= SIZE / 2, "a draft costs what it is"
        m.wait_sealed(path)
        eventually(lambda: 0 < usage(path) < SIZE / 2, "the new cost is seen without a remount")
        before = usage(path)
        m.remount()
        assert usage(path) == before
        assert os.path.getsize(path) == len(data)


@test(variants={f"{who}-{b}": (who, b) for who in ("first", "second") for b in BETWEEN})
def removing_one_leaves_the_other_whole(case, variant):
    who, between = variant[0], BETWEEN[variant[1]]
    data = noise(SIZE, 5)
    with case.mount(SEAL_SOON) as m:
        first = m.make("cache/search/first", data)
        m.wait_sealed(first)
        second = m.make("cache/search/second", data)
        m.wait_sealed(second)
        between(m)
        gone, left = (first, second) if who == "first" else (second, first)
        os.unlink(gone)
        between(m)
        m.wait_sealed(m.make("cache/search/other", noise(100000, 6)))  # triggers a checkpoint
        same(read(left), data)
        eventually(lambda: SIZE <= usage(left) < 1.2 * SIZE, "the one that is left is charged")
        m.remount()
        same(read(left), data)
        assert SIZE <= usage(left) < 1.2 * SIZE
        os.unlink(left)
        m.tidy()
        eventually(lambda: packs_usage(case) < SIZE / 2, "the space comes back", 40)


@test(variants=BETWEEN)
def removed_content_gives_its_space_back(case, between):
    with case.mount(SEAL_SOON) as m:
        kept = m.make("cache/search/kept", noise(500000, 7))
        m.wait_sealed(kept)
        paths = [m.make(f"cache/search/{i}", noise(MIB, 100 + i)) for i in range(6)]
        m.wait_sealed(*paths)
        assert packs_usage(case) > 6 * MIB
        between(m)
        for path in paths:
            os.unlink(path)
        between(m)
        m.tidy()
        eventually(lambda: packs_usage(case) < 2 * MIB, "the space comes back", 40)
        same(read(kept), noise(500000, 7))
        m.remount()
        same(read(kept), noise(500000, 7))


@test
def overwritten_and_truncated_content_gives_its_space_back(case):
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/search/f", noise(6 * MIB, 8))
        m.wait_sealed(path)
        write(path, noise(100000, 9))
        m.wait_sealed(path)
        m.tidy()
        eventually(lambda: packs_usage(case) < 2 * MIB, "the space comes back", 40)
        m.crash()
        same(read(path), noise(100000, 9))


@test
def a_rename_over_a_file_removes_its_content(case):
    with case.mount(SEAL_SOON) as m:
        target = m.make("cache/search/target", noise(4 * MIB, 10))
        m.wait_sealed(target)
        os.rename(m.make("cache/search/new", b"small"), target)
        eventually(lambda: packs_usage(case) < MIB, "the space comes back", 40)
        same(read(target), b"small")


@test
def space_of_an_open_file_comes_back_when_it_is_closed(case):
    with case.mount(SEAL_SOON) as m:
        data = noise(4 * MIB, 11)
        path = m.make("cache/search/f", data)
        m.wait_sealed(path)
        m.remount()
        with open(path, "rb") as f:
            os.unlink(path)
            m.wait_sealed(m.make("cache/search/other", noise(100000, 12)))
            same(f.read(), data)
        m.tidy()
        eventually(lambda: packs_usage(case) < MIB, "the space comes back", 40)


@test
def slices_do_not_keep_removed_content(case):
    """The kernel may remember a slice that was read indefinitely."""
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/search/f", noise(4 * MIB, 14))
        m.wait_sealed(path)
        assert len(read(path + ":b0-99")) == 100 and read(path + ":1")
        os.unlink(path)
        m.tidy()
        eventually(lambda: packs_usage(case) < MIB, "the space comes back", 40)


@test
def changing_a_copy_leaves_the_original(case):
    data = noise(SIZE, 13)
    with case.mount(SEAL_SOON) as m:
        one, two = m.make("cache/search/one", data), m.make("cache/search/two", data)
        m.wait_sealed(one, two)
        with open(two, "r+b") as f:
            f.seek(SIZE // 2)
            f.write(b"mine")
        changed = data[: SIZE // 2] + b"mine" + data[SIZE // 2 + 4 :]
        m.wait_sealed(two)
        m.crash()
        same(read(one), data)
        same(read(two), changed)
        os.unlink(one)
        m.remount()
        same(read(two), changed)


@test
def a_small_change_to_a_large_file_stores_little(case):
    with case.mount(SEAL_SOON) as m:
        data = noise(16 * MIB, 14)
        path = m.make("cache/search/large", data)
        m.wait_sealed(path)
        before = packs_size(case)
        with open(path, "r+b") as f:
            f.seek(9 * MIB)
            f.write(b"changed")
        m.wait_sealed(path)
        assert packs_size(case) - before < 8 * MIB
        m.remount()
        same(read(path), data[: 9 * MIB] + b"changed" + data[9 * MIB + 7 :])


@test
def content_that_comes_back_is_stored_again(case):
    data = noise(SIZE, 15)
    with case.mount(SEAL_SOON) as m:
        for turn in range(3):
            path = m.make("cache/search/f", data)
            m.wait_sealed(path)
            m.remount()
            same(read(path), data)
            os.unlink(path)
            if turn:
                m.tidy()
                eventually(lambda: packs_usage(case) < SIZE / 2, "the space comes back", 40)


@test(timeout=120)
def copies_made_and_removed_at_once_stay_whole(case):
    data = [noise(200000, 20 + i) for i in range(3)]
    failures = []
    with case.mount("seal_delay=1") as m:
        os.makedirs(m("cache/search"))

        def work(number):
            try:
                for i in range(20):
                    path = m(f"cache/search/{number}-{i}")
                    write(path, data[i % 3])
                    if i >= 4:
                        old = m(f"cache/search/{number}-{i - 4}")
                        same(read(old), data[(i - 4) % 3])
                        os.unlink(old)
            except BaseException as e:
                failures.append(repr(e))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not failures, failures
        for step in (nothing, remount, kill):
            step(m)
            for number in range(6):
                for i in range(16, 20):
                    same(read(m(f"cache/search/{number}-{i}")), data[i % 3])
        m.tidy()
        eventually(lambda: packs_usage(case) < 2 * MIB, "the space comes back", 40)


main()
