#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kernel drops what it is asked to drop, and the daemon ends in order while it asks."""
import collections
import errno
import json
import mmap
import os
import random
import signal
import threading
import time

from files import MIB, STATES, disk_usage, noise
from harness import (
    OFFLOADFS,
    SEAL_NEVER,
    SEAL_SOON,
    Mount,
    detach,
    eventually,
    main,
    mount_points,
    raises,
    read,
    run,
    same,
    test,
    write,
    xattr,
)

SIZE = MIB // 4


def status(m):
    return json.loads(read(m(".offload/status.json")))


def reports(m, condition, what):
    """Waits until condition(status) is true. A report that is read constantly is not renewed."""

    def looks():
        time.sleep(1.1)
        return condition(status(m))

    eventually(looks, what)


def drafts_take(m, size):
    reports(m, lambda s: s["unsealed"]["bytes"] == size, f"drafts take {size} bytes")


def by_ref(m, path):
    return m("refs", xattr(path, "ref"))


def by_view(m, path):
    return m("views/recent", f"{xattr(path, 'ref')}-{os.path.basename(path)}")


# --- Removal of files read by their refs ----------------------------------------------------------


def remove(m, path):
    os.unlink(path)


def replace(m, path):
    write(m("cache/shell/other"), b"")
    os.rename(m("cache/shell/other"), path)
    os.unlink(path)


TAKEN_AWAY = {
    f"{how}-{state}": (take_away, STATES[state])
    for how, take_away in (("removed", remove), ("replaced", replace))
    for state in ("draft", "stored")
}


@test(variants=TAKEN_AWAY)
def what_was_read_by_its_ref_goes_with_its_last_name(case, variant):
    take_away, state = variant
    with state.mount(case) as m:
        paths = [m.make(f"cache/shell/{i}", noise(SIZE, i)) for i in range(20)]
        state.settle(m, *paths)
        names = [by_ref(m, p) if i % 2 else by_view(m, p) for i, p in enumerate(paths)]
        held = status(m)["memory"]["references"]
        for i, name in enumerate(names):
            same(read(name), noise(SIZE, i), name)
        for path in paths:
            take_away(m, path)
        # Looking the files up by their refs would make the kernel drop them, too.
        held -= len(paths)
        reports(m, lambda s: s["memory"]["references"] <= held, "the kernel lets go of them")
        drafts_take(m, 0)
        packs = os.path.join(case.store, "packs")
        if state is STATES["stored"]:
            m.tidy()
        eventually(lambda: disk_usage(packs) < SIZE, "the packs are empty")
        for name in names:
            with raises(errno.ENOENT):
                os.stat(name)


@test
def while_it_has_another_name_it_stays(case):
    with case.mount(SEAL_NEVER) as m:
        path = m.make("cache/shell/a", b"content")
        os.link(path, m("cache/shell/b"))
        ref = by_ref(m, path)
        same(read(ref), b"content")
        os.unlink(path)
        same(read(ref), b"content")
        os.unlink(m("cache/shell/b"))
        drafts_take(m, 0)
        with raises(errno.ENOENT):
            os.stat(ref)


@test(variants={"open": False, "mapped": True})
def while_it_is_in_use_it_can_be_read(case, mapped):
    data = noise(SIZE, 1)
    with case.mount(SEAL_NEVER) as m:
        path = m.make("cache/shell/f", data)
        fd = os.open(by_ref(m, path), os.O_RDONLY)
        if mapped:
            users = mmap.mmap(fd, SIZE, prot=mmap.PROT_READ)
            os.close(fd)
        else:
            users = open(fd, "rb", buffering=0)
        look = (lambda: users[:]) if mapped else (lambda: os.pread(fd, SIZE, 0))
        same(look(), data)
        other = m.make("cache/shell/other", data)
        read(by_ref(m, other))
        os.unlink(path)
        os.unlink(other)
        # The kernel was asked to drop the other file last.
        drafts_take(m, SIZE)
        same(look(), data)
        users.close()
        drafts_take(m, 0)


# --- The end of the daemon ------------------------------------------------------------------------


class Storm:
    """
    Threads that create files, read them by their refs and remove some until the mount is gone.
    Every acknowledged operation must have taken effect. Some files are kept open long after they
    were removed, so that the kernel is notified in the way that blocks.
    """

    def __init__(self, m, count=4):
        self.m = m
        self.kept, self.removed = {}, set()
        self.steps = [0] * count
        os.makedirs(m("cache/shell"), exist_ok=True)
        self.threads = [threading.Thread(target=self._work, args=(i,)) for i in range(count)]

    def start(self):
        for thread in self.threads:
            thread.start()
        eventually(lambda: min(self.steps) > 20, "all of them are at work", 60)
        path = self.m.make("cache/shell/probe")
        with open(by_ref(self.m, path)) as probe:
            os.unlink(path)
            link = f"/proc/self/fd/{probe.fileno()}"
            eventually(lambda: os.readlink(link).endswith(" (deleted)"), "open files are asked for")

    def join(self):
        for thread in self.threads:
            thread.join()

    def _work(self, worker):
        rng = random.Random(worker)
        mine, opened = [], collections.deque()
        try:
            while True:
                name = f"cache/shell/{worker}-{self.steps[worker]}"
                data = b"%d %d\n" % (worker, self.steps[worker]) * rng.randrange(1, 2000)
                write(self.m(name), data)
                self.kept[name] = data
                ref = by_ref(self.m, self.m(name))
                assert read(ref) == data
                mine.append(name)
                if rng.random() < 0.8:
                    gone = mine.pop(rng.randrange(len(mine)))
                    opened.append(open(by_ref(self.m, self.m(gone)), "rb"))
                    opened[-1].read()
                    if len(opened) > 200:
                        opened.popleft().close()
                    del self.kept[gone]
                    os.unlink(self.m(gone))
                    self.removed.add(gone)
                self.steps[worker] += 1
        except OSError:
            pass
        finally:
            for f in opened:
                f.close()

    def check(self, m):
        for name, data in self.kept.items():
            same(read(m(name)), data, name)
        there = set(os.listdir(m("cache/shell")))
        back = [name for name in self.removed if os.path.basename(name) in there]
        assert not back, f"removed, and there again: {back}"


def end_by(*signals):
    def end(m):
        for number in signals:
            m.process.send_signal(number)
        assert m.wait() == 0

    return end


def end_by_unmounting(m):
    assert detach(m.mnt, lazy=True)[0]
    assert m.wait() == 0


ENDS = {
    "SIGTERM": end_by(signal.SIGTERM),
    "SIGINT": end_by(signal.SIGINT),
    "SIGHUP": end_by(signal.SIGHUP),
    "several": end_by(signal.SIGTERM, signal.SIGINT, signal.SIGTERM, signal.SIGHUP),
    "unmounted": end_by_unmounting,
}


@test(variants=ENDS, timeout=300)
def it_ends_in_the_middle_of_everything(case, end):
    for _ in range(6 if end is ENDS["SIGTERM"] else 3):
        m = case.mount("seal_delay=20")
        storm = Storm(m)
        try:
            storm.start()
            end(m)
        finally:
            storm.join()
        assert m.mnt not in mount_points()
        with m.start():
            storm.check(m)
            for name in os.listdir(m("cache/shell")):
                os.unlink(m("cache/shell", name))


def end_at_work(m, work, progress):
    """Ends the daemon when each thread has done work(NUMBER) more than twice."""

    def work_on(number):
        try:
            while True:
                work(number)
        except OSError:
            pass

    os.makedirs(m("cache/shell"))
    threads = [threading.Thread(target=work_on, args=(i,)) for i in range(len(progress()))]
    for thread in threads:
        thread.start()
    try:
        eventually(lambda: min(progress()) > 2, "all of them are at work")
        m.process.send_signal(signal.SIGTERM)
        assert m.wait() == 0
    finally:
        for thread in threads:
            thread.join()


@test
def it_ends_while_writers_wait_for_room(case):
    """Requests in progress when the daemon ends are completed, however long that takes."""
    m = case.mount(SEAL_SOON, "journal_max=1")
    kept = [[] for _ in range(4)]

    def work(worker):
        name = f"cache/shell/{worker}-{len(kept[worker])}"
        data = noise(MIB, worker * 1000 + len(kept[worker]))
        write(m(name), data)
        kept[worker].append((name, data))

    end_at_work(m, work, lambda: [len(files) for files in kept])
    with m.start():
        for name, data in sum(kept, []):
            same(read(m(name)), data, name)


def blocks(pid, number):
    """Tells whether a process already blocks a signal, which means that it waits for it."""
    with open(f"/proc/{pid}/status") as f:
        mask = next(line for line in f if line.startswith("SigBlk:")).split()[1]
    return int(mask, 16) >> (number - 1) & 1


@test
def a_signal_before_the_mount_stands_ends_it_too(case):
    with case.mount(SEAL_NEVER) as m:
        for i in range(300):
            m.make(f"cache/shell/{i}", b"x" * i)
        for _ in range(10):
            m.kill9()
            m.launch()
            eventually(lambda: blocks(m.process.pid, signal.SIGTERM), "it waits for signals")
            m.process.send_signal(signal.SIGTERM)
            assert m.wait() == 0
            assert m.mnt not in mount_points()
            m.start()
        for i in range(300):
            same(read(m(f"cache/shell/{i}")), b"x" * i)


@test
def a_signal_that_was_ignored_stays_ignored(case):
    m = Mount(case, case.store, case.mnt, [])
    m.identity = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)}
    with m.start():
        for number in (signal.SIGHUP, signal.SIGPIPE, signal.SIGUSR1):
            m.process.send_signal(number)
        path = m.make("cache/shell/f", b"x")
        assert xattr(path, "ref")
        m.process.send_signal(signal.SIGTERM)
        assert m.wait() == 0


def owner_of(store):
    """Returns the process that the lock file of a store names."""
    with open(os.path.join(store, "lock")) as f:
        return int(f.read().split()[0])


@test
def in_the_background_it_ends_by_a_signal_too(case):
    run(OFFLOADFS, case.store, case.mnt)
    pid = owner_of(case.store)
    write(os.path.join(case.mnt, "cache/f"), b"x")
    os.kill(pid, signal.SIGTERM)
    eventually(lambda: case.mnt not in mount_points(), "it is unmounted")
    with case.mount() as m:
        same(read(m("cache/f")), b"x")



@test
def it_ends_while_an_fsync_waits(case):
    """An fsync either succeeds, with the data safe, or fails; it never hangs."""
    m = Mount(case, case.store, case.mnt, ["seal_delay=3600000"])
    m.launch(OFS_FAILPOINT="io.datasync=slow")
    assert m.comes_up()
    synced = [0] * 4

    def work(worker):
        fd = os.open(m(f"cache/shell/{worker}"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(fd, b"line\n")
            os.fsync(fd)
            synced[worker] += 1
        finally:
            os.close(fd)

    end_at_work(m, work, lambda: synced)
    with m.start():
        for worker, times in enumerate(synced):
            assert len(read(m(f"cache/shell/{worker}"))) >= times * len("line\n")


# --- Listings -------------------------------------------------------------------------------------


@test
def directories_are_listed_anew_for_whoever_asks_for_attributes(case):
    """Reading makes the kernel's attributes of a file stale; a new listing renews them all."""
    files = {d: [f"cache/{d}/{n}" for n in range(100)] for d in ("shell", "web")}
    with case.mount(SEAL_SOON) as m:
        m.wait_sealed(*[m.make(p, b"content " * 100) for paths in files.values() for p in paths])
        m.remount()

        def calls(name):
            return status(m)["calls"][name]

        def looks_at(directory):
            os.listdir(m("cache", directory))
            for path in files[directory]:
                os.stat(m(path))

        for directory, paths in files.items():
            looks_at(directory)
            for path in paths:
                read(m(path))
        looks_at("shell")
        listed = calls("readdir")

        def is_listed():
            os.listdir(m("cache/web"))
            return calls("readdir") > listed

        eventually(is_listed, "the listing of the other directory is dropped")
        asked = calls("getattr")
        looks_at("web")
        time.sleep(1.2)  # a report may be a second old
        assert calls("getattr") - asked < len(files["web"]) / 4


main()
