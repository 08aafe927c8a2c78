#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Similar small files are packed together within a short time and cost little, in the archive even
less.
"""
import os
import random
import shutil
import tempfile
import threading

from files import KIB, MIB, disk_usage, noise
from harness import SEAL_SOON, Skip, eventually, main, read, run, same, test, write

FILES = 300
PARTS = ("network", "disk", "view", "storage", "server", "client")
SETTLED = 30  # seconds; the store waits for 10 s of quiet


def result(number, matches=15):
    """
    Returns a tool result of about 2 KiB: words in common with other results, different values.
    """
    rng = random.Random(number)
    head = (
        '{"tool": "search_code", "arguments": {"query": "handle_request", "path": "src", '
        '"case_sensitive": false, "max_results": 50}, "status": "ok", "truncated": false, '
        f'"call": {number}, "elapsed_ms": {rng.randrange(9000)},\n"usage": "each match names the '
        'file, the line and the text around it; narrow the query when there are too many",\n'
        '"matches": [\n'
    )
    found = "".join(
        f'  {{"file": "src/{rng.choice(PARTS)}/module_{rng.randrange(100)}.c", '
        f'"line": {rng.randrange(2000)}, "text": "\treturn handle_request(context, request);"}},\n'
        for _ in range(rng.randrange(matches * 2 // 3, matches * 4 // 3))
    )
    return (head + found + "]}\n").encode()


def packs_usage(case):
    return disk_usage(os.path.join(case.store, "packs"))


def compressed_size(case, pieces, level=6):
    """Returns the total size of the pieces when zstd compresses each alone."""
    if not shutil.which("zstd"):
        raise Skip("the program zstd is not here")
    folder = tempfile.mkdtemp(dir=case.dir)
    for number, content in enumerate(pieces):
        write(os.path.join(folder, str(number)), content)
    run("zstd", "-q", f"-{level}", "-r", folder)
    return sum(e.stat().st_size for e in os.scandir(folder) if e.name.endswith(".zst"))


def joined(data, size):
    """Joins all of `data` and cuts it into pieces of `size` bytes."""
    whole = b"".join(data)
    return [whole[i : i + size] for i in range(0, len(whole), size)]


def settled_usage(case, below):
    """Waits until the packs take less than `below` bytes; returns what they take."""
    eventually(
        lambda: packs_usage(case) < below, f"the packs take less than {below} bytes", SETTLED
    )
    return packs_usage(case)


def expect(m, folder, data):
    for number, content in enumerate(data):
        same(read(m(folder, str(number))), content, f"{folder}/{number}")


def make_all(m, folder, data, singly=False):
    """With `singly`, each file is sealed before the next one is made."""
    paths = []
    for number, content in enumerate(data):
        paths.append(m.make(f"{folder}/{number}", content))
        if singly:
            m.wait_sealed(paths[-1])
    m.wait_sealed(*paths)


class Readers:
    """Reads the files repeatedly during the block, in whichever folder they are."""

    def __init__(self, m, folders, data):
        self.m, self.folders, self.data = m, folders, data
        self.stop, self.rounds, self.wrong = threading.Event(), 0, None

    def _read(self, number):
        for folder in self.folders * 3:
            try:
                fd = os.open(self.m(folder, str(number)), os.O_RDONLY)
            except FileNotFoundError:
                continue
            try:
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                return os.read(fd, MIB)
            finally:
                os.close(fd)
        raise AssertionError(f"{number} is nowhere")

    def _run(self):
        try:
            while not self.stop.is_set():
                for number, content in enumerate(self.data):
                    same(self._read(number), content, f"{number}, meanwhile")
                self.rounds += 1
        except BaseException as e:
            self.wrong = e

    def __enter__(self):
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        if self.wrong:
            raise self.wrong
        assert self.rounds, "nothing was read"


@test
def neighbours_cost_less_than_half_of_what_each_alone_would(case):
    data = [result(i) for i in range(FILES)]
    alone = compressed_size(case, data)
    with case.mount(SEAL_SOON) as m:
        make_all(m, "cache/search", data)
        usage = settled_usage(case, alone / 2)
        print(f"{sum(map(len, data))} bytes, each alone {alone}, together {usage}")
        m.remount()
        expect(m, "cache/search", data)
        assert packs_usage(case) < alone / 2


@test
def what_is_moved_to_the_archive_becomes_denser(case):
    data = [result(i, 60) for i in range(FILES)]
    with case.mount(SEAL_SOON) as m:
        make_all(m, "cache/search", data)
        # The best possible size without dense frames.
        before = compressed_size(case, joined(data, 256 * KIB))
        os.makedirs(m("archive"), exist_ok=True)
        with Readers(m, ["cache/search", "archive/moved"], data):
            os.rename(m("cache/search"), m("archive/moved"))
            after = settled_usage(case, before)
        print(f"{before} bytes at best before, {after} in the archive")
        expect(m, "archive/moved", data)
        m.remount()
        expect(m, "archive/moved", data)
        assert packs_usage(case) < before


@test
def a_trickle_ends_in_few_frames(case):
    data = [result(i) for i in range(40)]
    with case.mount(SEAL_SOON) as m:
        seen = []
        stop = threading.Event()

        def watch():
            while not stop.is_set():
                seen.append(packs_usage(case))
                stop.wait(0.05)

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            make_all(m, "cache/search", data, singly=True)
        finally:
            stop.set()
            watcher.join()
        together = compressed_size(case, joined(data, MIB))
        after = settled_usage(case, together + 12 * KIB)
        print(f"{max(seen)} bytes at most, {after} in the end, {together} at best")
        assert after < max(seen), "nothing was joined"
        expect(m, "cache/search", data)
        m.remount()
        expect(m, "cache/search", data)


@test
def the_journal_stays_near_what_it_may_hold(case):
    limit, size = 8 * MIB, 64 * MIB
    data = noise(size, 1)
    journal = os.path.join(case.store, "journal")
    most = 0
    with case.mount("seal_delay=1000", "journal_max=8") as m:
        path = m("cache/general")
        os.makedirs(path, exist_ok=True)
        path = os.path.join(path, "large")
        writer = threading.Thread(target=write, args=(path, data))
        writer.start()
        while writer.is_alive():
            most = max(most, disk_usage(journal))
            writer.join(0.005)
        print(f"journal: {most} bytes at most")
        m.wait_sealed(path)
        same(read(path), data)
        m.remount()
        same(read(path), data)
    assert limit / 8 < most < 2 * limit, most


if __name__ == "__main__":
    main()
