#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A failed sync is reported, and nothing is promised on top of it."""
import errno
import os
import shutil

from rounds import LIMIT, close, kept, launch, report, seeded, was_reached
from workload import Writer

from files import noise
from harness import SEAL_NEVER, main, raises, read, same, test

EIO = {errno.EIO}


def sync(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def start(case, fault):
    """Starts a daemon with a fault on the store of the case. Returns it and the fault's log."""
    log = case.path("failpoints")
    m = launch(case, SEAL_NEVER, OFS_FAILPOINT=fault, OFS_FAILPOINT_LOG=log)
    assert m.comes_up(), f"the daemon ended with {m.process.returncode}"
    return m, log


def restart(case):
    m = launch(case, SEAL_NEVER)
    assert m.comes_up(), "the store does not open"
    return m


@test(timeout=LIMIT, variants={f"{n}": n for n in (1, 2, 5)})
def the_sync_that_fails_says_so_and_so_do_all_later_ones(case, number):
    case.mount(SEAL_NEVER).unmount()
    fault = f"io.datasync=eio@{number}"
    m, log = start(case, fault)
    files = {}
    with kept(case.store):
        for i in range(1, number + 1):
            path = m.make(f"cache/shell/{i}", noise(5000, i))
            if i < number:
                sync(path)
            else:
                assert not was_reached(log, fault), "reached before its turn"
                with raises(errno.EIO):
                    sync(path)
            files[path] = noise(5000, i)
        assert was_reached(log, fault), f"{fault} was not reached"
        # The kernel has dropped the pages it could not write, so a later success proves nothing.
        for i in range(3):
            with raises(errno.EIO):
                sync(m("cache/shell" if i == 1 else f"cache/shell/{number}"))
        for path, data in files.items():
            same(read(path), data, path)
        m.kill9()
        m = restart(case)
        for path, data in files.items():
            same(read(path), data, path)
        path = m.make("cache/shell/after", b"life goes on")
        sync(path)
        report(rounds=1, files=len(files))
        m.unmount()


def store_with_an_unsynced_directory(case, fault, end):
    """Makes a store with one file, synced if possible. Returns True if the fault was met."""
    log = case.path("failpoints")
    for left in (log, case.store):
        shutil.rmtree(left, ignore_errors=True) if os.path.isdir(left) else unlink(left)
    m = launch(case, SEAL_NEVER, OFS_FAILPOINT=fault, OFS_FAILPOINT_LOG=log)
    files = {}
    if not m.comes_up():
        code = m.wait()
        assert code > 0, f"the daemon ended with {code}"
        assert was_reached(log, fault), "the daemon refused a sound store"
    else:
        path = m.make("cache/shell/a", noise(9000, 1))
        files[path] = noise(9000, 1)
        met = was_reached(log, fault)
        try:
            sync(path)
            assert met or not was_reached(log, fault), "a sync that failed was hidden"
        except OSError as e:
            assert e.errno == errno.EIO and was_reached(log, fault), e
            with raises(errno.EIO):
                sync(path)
        if end == "killed":
            m.kill9()
        else:
            assert close(m) in (0, 1)
    m = restart(case)
    for path, data in files.items():
        same(read(path), data, path)
    sync(m.make("cache/shell/after", b"life goes on"))
    m.unmount()
    report(rounds=1, files=len(files))
    return was_reached(log, fault)


def unlink(path):
    if os.path.exists(path):
        os.unlink(path)


@test(timeout=LIMIT, variants={"unmounted": "unmounted", "killed": "killed"})
def a_directory_that_cannot_be_synced_promises_nothing(case, end):
    """io.sync makes the names of a store's files durable, at its creation and when it grows."""
    met = 0
    with kept(case.store):
        while store_with_an_unsynced_directory(case, f"io.sync=eio@{met + 1}", end):
            met += 1
    print(f"io.sync failed at {met} places", flush=True)
    assert met > 1, "io.sync is hardly reached: this test has to grow"


@test(timeout=LIMIT, variants={f"{n}": n for n in (1, 3, 8, 15)})
def what_was_durable_before_a_failed_sync_stays(case, number):
    rng = seeded("fsync")
    fault = f"io.datasync=eio@{number}"
    writer = Writer(case.mnt, "w", rng.random(), syncs=True, gone=EIO)
    log = case.path("failpoints")
    with kept(case.store):
        m = launch(case, "seal_delay=1", OFS_FAILPOINT=fault, OFS_FAILPOINT_LOG=log)
        assert m.comes_up()
        while not writer.cut and not was_reached(log, fault):
            writer.work(writer.acknowledged + 5)
            assert not writer.failure, writer.failure
        writer.work(writer.acknowledged + 20)  # a store that has given up fails at once
        assert not writer.failure, writer.failure
        m.kill9()
        m = restart(case)
        files = writer.check()
        report(rounds=1, files=files)
        m.unmount()


main()
