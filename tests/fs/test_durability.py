#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whatever returned success survives remounts, and SIGKILL of the daemon at any moment."""
import errno
import os
import random
import resource
import shutil
import sqlite3
import threading
import time

from files import MIB, log_text, noise, same_tree, snapshot, tool_results
from harness import (
    SEAL_NEVER,
    SEAL_SOON,
    Mount,
    eventually,
    main,
    raises,
    read,
    run,
    same,
    test,
    write,
    xattr,
)

# Errors of operations during and after the death of the daemon.
GONE = {errno.ENOTCONN, errno.ECONNABORTED, errno.ECANCELED, errno.EIO, errno.EINTR}

DELAYS = {"drafts": SEAL_NEVER, "sealing": "seal_delay=1", "sealed": SEAL_SOON}


# --- The tool results of real agents --------------------------------------------------------------


class Results:
    """Tool results, in a directory of the test and copied into the mount."""

    def __init__(self, case):
        self.source = case.path("results")
        assert tool_results(self.source) > 1000
        self.content = snapshot(self.source)

    def copy(self, m):
        run("cp", "-r", self.source, m("cache/results"))
        self.whole = snapshot(m("cache"), identity=True)
        self.check(m)

    def check(self, m):
        same_tree(snapshot(m("cache/results")), self.content)
        same_tree(snapshot(m("cache"), identity=True), self.whole)

    def paths(self, m):
        found = [
            os.path.join(folder, name) for folder, _, names in os.walk(m("cache")) for name in names
        ]
        return [p for p in found if os.path.getsize(p)]


@test(timeout=180)
def tool_results_survive_remounts(case):
    results = Results(case)
    with case.mount() as m:
        results.copy(m)
        for _ in range(2):
            m.remount()
            results.check(m)


@test(timeout=180)
def tool_results_survive_a_kill_before_sealing(case):
    results = Results(case)
    with case.mount(SEAL_NEVER) as m:
        results.copy(m)
        m.crash()
        results.check(m)
        m.crash(SEAL_SOON)
        m.wait_sealed(*results.paths(m))
        results.check(m)


@test(timeout=180)
def tool_results_survive_a_kill_at_once(case):
    results = Results(case)
    with case.mount(SEAL_NEVER) as m:
        run("cp", "-r", results.source, m("cache/results"))
        m.crash()
        same_tree(snapshot(m("cache/results")), results.content)


@test(timeout=180)
def tool_results_survive_a_kill_after_sealing(case):
    results = Results(case)
    with case.mount(SEAL_SOON) as m:
        results.copy(m)
        m.wait_sealed(*results.paths(m))
        hashes = {path: xattr(path, "sha256") for path in results.paths(m)}
        m.crash()
        results.check(m)
        m.wait_sealed(*results.paths(m))
        assert {path: xattr(path, "sha256") for path in results.paths(m)} == hashes


@test(timeout=180)
def tool_results_survive_kills_while_sealing(case):
    results = Results(case)
    with case.mount("seal_delay=1") as m:
        results.copy(m)
        for pause in (0, 0.01, 0.03, 0.1, 0.3):
            m.crash()
            time.sleep(pause)
        m.crash()
        results.check(m)


@test(timeout=180)
def sealing_makes_tool_results_smaller(case):
    results = Results(case)
    with case.mount(SEAL_SOON) as m:
        results.copy(m)
        m.wait_sealed(*results.paths(m))
        m.remount()
        apparent = sum(os.path.getsize(p) for p in results.paths(m))
        stored = sum(os.stat(p).st_blocks * 512 for p in results.paths(m))
        packs = sum(e.stat().st_size for e in os.scandir(os.path.join(case.store, "packs")))
        assert packs < apparent / 2, f"{apparent} bytes take {packs} in packs"
        assert stored < apparent, f"{apparent} bytes, du says {stored}"


# --- Kills in the middle of operations ------------------------------------------------------------


class Copier(threading.Thread):
    """
    Creates files until the daemon is gone: a temporary file, its content in pieces, attributes,
    then the final name. Records what was acknowledged, and what the failed operation may have left.
    """

    def __init__(self, folder, seed):
        super().__init__()
        self.folder, self.rng = folder, random.Random(seed)
        self.done = {}  # name: (content, mode, mtime)
        self.removed = set()
        self.uncertain = set()
        self.at_work = None
        self.failure = None

    def run(self):
        try:
            for i in range(10**6):
                self.one(f"{i % 5}/file-{i}", i)
        except OSError as e:
            if e.errno not in GONE:
                self.failure = repr(e)
        except BaseException as e:
            self.failure = repr(e)

    def one(self, name, number):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        temporary = os.path.join(os.path.dirname(path), f".tmp-{number}")
        pieces = [
            self.rng.randbytes(self.rng.choice([1, 500, 8192, 100000]))
            for _ in range(self.rng.randrange(0, 4))
        ]
        mode, mtime = self.rng.choice([0o600, 0o644, 0o755]), 10**18 + number
        with open(temporary, "wb", buffering=0) as f:
            written = b""
            self.at_work = (temporary, written)
            for piece in pieces:
                count = f.write(piece)
                written += piece[:count]
                self.at_work = (temporary, written)
                if count < len(piece):
                    raise OSError(errno.ENOTCONN, "cut short")
        os.chmod(temporary, mode)
        os.utime(temporary, ns=(mtime, mtime))
        self.uncertain = {name}
        self.at_work = None
        os.rename(temporary, path)
        self.done[name] = (written, mode, mtime)
        self.uncertain = set()
        if number % 7 == 6:
            victim = self.rng.choice(sorted(self.done))
            self.uncertain = {victim}
            os.unlink(os.path.join(self.folder, victim))
            del self.done[victim]
            self.removed.add(victim)
            self.uncertain = set()

    def check(self):
        assert self.failure is None, self.failure
        for name, (content, mode, mtime) in self.done.items():
            path = os.path.join(self.folder, name)
            if name in self.uncertain and not os.path.exists(path):
                continue
            same(read(path), content, name)
            st = os.stat(path)
            assert (st.st_mode & 0o7777, st.st_mtime_ns) == (mode, mtime), name
        for name in self.removed - self.uncertain:
            assert not os.path.exists(os.path.join(self.folder, name)), f"{name} is back"
        if self.at_work and os.path.exists(self.at_work[0]):
            path, acknowledged = self.at_work
            same(read(path)[: len(acknowledged)], acknowledged, path)
        elif self.at_work and self.at_work[1]:
            raise AssertionError(f"{self.at_work[0]} was written and is gone")


@test(variants={f"{delay}-{i}": (delay, i) for delay in DELAYS for i in range(2)}, timeout=120)
def everything_acknowledged_survives_a_kill_in_the_middle(case, variant):
    delay, round_number = variant
    with case.mount(DELAYS[delay]) as m:
        for turn in range(2):
            copiers = [
                Copier(m(f"cache/turn{turn}-{n}"), f"{delay} {round_number} {turn} {n}")
                for n in range(3)
            ]
            for c in copiers:
                c.start()
            eventually(lambda: len(copiers[0].done) > 3, "some files are written")
            time.sleep(0.05 + 0.13 * ((turn + round_number) % 4))
            m.kill9()
            for c in copiers:
                c.join()
            m.start()
            for c in copiers:
                c.check()
        files = snapshot(m("cache"), identity=True)
        m.remount()
        same_tree(snapshot(m("cache"), identity=True), files)


@test(timeout=120)
def a_kill_in_the_middle_of_cp_leaves_whole_files(case):
    source = case.path("source")
    tool_results(source)
    want = snapshot(source)
    with case.mount("seal_delay=1") as m:
        copying = threading.Thread(
            target=run,
            kwargs={"check": False},
            args=(
                "sh",
                "-c",
                'i=1; while cp -r "$0" "$1$i"; do i=$((i + 1)); done',
                source,
                m("cache/copy"),
            ),
        )
        copying.start()
        eventually(lambda: os.path.exists(m("cache/copy3")), "some copies are made", 40)
        seen = {path: read(path) for path in files_below(m("cache"))}
        m.kill9()
        copying.join()  # the copier continues until a copy fails
        m.start()
        for name in ("copy1", "copy2"):
            same_tree(snapshot(m("cache", name)), want)
        for path, data in seen.items():
            same(read(path)[: len(data)], data, path)
        run("cp", "-r", source + "/.", m("cache/copy3"))
        same_tree(snapshot(m("cache/copy3")), want)


def files_below(folder):
    return [os.path.join(f, n) for f, _, names in os.walk(folder) for n in names]


@test
def every_kind_of_change_survives_a_kill(case):
    with case.mount(SEAL_NEVER) as m:
        data = log_text(40000, 1)
        kept = m.make("cache/shell/kept", data)
        os.link(kept, m("cache/shell/linked"))
        os.symlink("kept", m("cache/shell/symlink"))
        os.chmod(kept, 0o640)
        os.makedirs(m("tasks/t1/web"))
        m.make("cache/shell/gone", b"x")
        os.unlink(m("cache/shell/gone"))
        os.makedirs(m("cache/gone-too"))
        os.rmdir(m("cache/gone-too"))
        os.rename(m("cache/shell/linked"), m("persistent/linked"))
        os.truncate(kept, 30000)
        os.truncate(kept, 35000)
        with open(kept, "r+b") as f:
            f.seek(100)
            f.write(b"patched")
        os.utime(kept, ns=(5, 6))
        before = [snapshot(m(tier), identity=True) for tier in ("cache", "tasks", "persistent")]
        m.crash()
        for tier, want in zip(("cache", "tasks", "persistent"), before):
            same_tree(snapshot(m(tier), identity=True), want)
        want = bytearray(data[:30000].ljust(35000, b"\0"))
        want[100:107] = b"patched"
        same(read(m("persistent/linked")), bytes(want))


@test
def kills_in_a_row_lose_nothing(case):
    with case.mount(SEAL_NEVER) as m:
        want = {}
        for turn in range(8):
            for i in range(5):
                want[m.make(f"cache/shell/{turn}-{i}", noise(3000, turn * 10 + i))] = noise(
                    3000, turn * 10 + i
                )
            m.crash(SEAL_SOON if turn % 3 == 2 else SEAL_NEVER)
            for path, data in want.items():
                same(read(path), data, path)


@test
def a_large_file_survives_a_kill_in_the_middle_of_writing(case):
    data = noise(24 * MIB, 3)
    acknowledged = 0
    with case.mount("seal_delay=1") as m:
        path = m.make("cache/shell/large", b"")

        def work():
            nonlocal acknowledged
            with open(path, "r+b", buffering=0) as f:
                while acknowledged < len(data):
                    try:
                        acknowledged += f.write(data[acknowledged : acknowledged + 2 * MIB])
                    except OSError:
                        return

        writer = threading.Thread(target=work)
        writer.start()
        eventually(lambda: acknowledged >= 4 * MIB, "some of it is written")
        m.kill9()
        writer.join()
        m.start()
        got = read(path)
        assert len(got) >= acknowledged
        same(got, data[: len(got)])


# --- Torn and damaged tails of the journal --------------------------------------------------------


def newest_segment(case):
    folder = os.path.join(case.store, "journal")
    return os.path.join(folder, max(n for n in os.listdir(folder) if n.endswith(".wal")))


def cut(path, data):
    os.truncate(path, len(data.rstrip(b"\0")) - 1000)


def garbage_after_zeros(path, data):
    with open(path, "r+b") as f:
        f.seek(len(data.rstrip(b"\0")) + 64)
        f.write(noise(3000, 4))


def garbage_at_the_end_of_the_file(path, data):
    with open(path, "ab") as f:
        f.write(noise(3000, 5))


def garbage_inside(path, data):
    with open(path, "r+b") as f:
        f.seek(len(data.rstrip(b"\0")) - 1500)
        f.write(noise(500, 6))


def zeros_inside(path, data):
    with open(path, "r+b") as f:
        f.seek(len(data.rstrip(b"\0")) - 2000)
        f.write(bytes(2000))


TAILS = {
    f.__name__: f
    for f in (
        cut,
        garbage_after_zeros,
        garbage_at_the_end_of_the_file,
        garbage_inside,
        zeros_inside,
    )
}


@test(
    variants={
        f"{name}-{delay}": (f, DELAYS[delay])
        for name, f in TAILS.items()
        for delay in ("drafts", "sealed")
    }
)
def a_bad_tail_of_the_journal_costs_only_the_newest(case, variant):
    damage, delay = variant
    data = noise(5000, 7).replace(b"\0", b"\1")
    with case.mount(delay) as m:
        older = [m.make(f"cache/shell/{i}", log_text(4000, i)) for i in range(30)]
        if delay == SEAL_SOON:
            m.wait_sealed(*older)
            m.remount(SEAL_NEVER)
        before = snapshot(m("cache"), identity=True)
        newest = m.make("persistent/newest", b"")
        with open(newest, "r+b", buffering=0) as f:
            f.write(data)
        m.kill9()
        segment = newest_segment(case)
        damage(segment, read(segment))
        m.start()
        same_tree(snapshot(m("cache"), identity=True), before)
        try:
            got = read(newest)
        except OSError as e:
            assert e.errno in (errno.ENOENT, errno.EIO), e
            got = b""
        if damage in (garbage_after_zeros, garbage_at_the_end_of_the_file):
            same(got, data, "newest")
        else:
            assert got in (b"", data[: len(got)]) and got != data, "newest"
        write(m("cache/after"), b"life goes on")
        m.crash()
        same(read(m("cache/after")), b"life goes on")
        os.unlink(m("cache/after"))
        same_tree(snapshot(m("cache"), identity=True), before)


@test
def damaged_content_is_an_error_and_never_wrong_bytes(case):
    with case.mount(SEAL_SOON) as m:
        # Sealed one at a time, so that each file has a frame of its own.
        paths = []
        for i in range(3):
            paths.append(m.make(f"cache/shell/{i}", noise(200000, i)))
            m.wait_sealed(paths[-1])
        m.unmount()
        piece = noise(200000, 1)[1000:1064]  # incompressible content is stored verbatim
        pack = next(p for p in files_below(os.path.join(case.store, "packs")) if piece in read(p))
        with open(pack, "r+b") as f:
            f.seek(read(pack).find(piece))
            f.write(b"damage")
        m.start()
        with raises(errno.EIO):
            read(paths[1])
        same(read(paths[0]), noise(200000, 0))
        same(read(paths[2]), noise(200000, 2))


@test
def the_index_is_a_sound_database_after_a_kill(case):
    with case.mount(SEAL_SOON) as m:
        sealed = m.make("cache/shell/sealed", noise(20000, 8))
        m.wait_sealed(sealed)
        draft = m.make("cache/shell/draft", noise(20000, 9))
        m.kill9()
        # Use a copy: sqlite3 itself writes pages without our checksums.
        copy = shutil.copytree(case.store, case.path("copy"))
        db = sqlite3.connect(os.path.join(copy, "index.db"))
        assert db.execute("pragma integrity_check").fetchone() == ("ok",)
        db.close()
        m.start()
        same(read(sealed), noise(20000, 8))
        same(read(draft), noise(20000, 9))


@test
def a_limit_on_the_size_of_files_fails_writes_and_does_not_kill(case):
    m = Mount(case, case.store, case.mnt, [SEAL_NEVER])
    limit = (6 * MIB, 6 * MIB)
    m.identity = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit)}
    with m.start():
        paths = [m.make(f"cache/shell/{i}", noise(MIB, i)) for i in range(4)]
        with raises(errno.EFBIG):
            for i in range(4, 8):
                write(m(f"cache/shell/{i}"), noise(MIB, i))
        m.kill9()
        m.identity = {}
        m.start()
        for i, path in enumerate(paths):
            same(read(path), noise(MIB, i))


main()
