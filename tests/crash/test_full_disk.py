#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A full disk: the writer gets an error, nothing stored is lost, and deleting works."""
import errno
import os
import shutil

from rounds import (
    LIMIT,
    LONG,
    close,
    count_hits,
    failpoint_names,
    kept,
    launch,
    report,
    seeded,
    share,
    spread,
    was_reached,
)
from workload import Writer

from disk import Disk
from files import KIB, MIB, noise
from harness import SEAL_NEVER, SEAL_SOON, eventually, main, read, same, test, write, xattr

FULL = {errno.ENOSPC}
# Calls that need space on a disk.
TAKING = ("pwrite", "pwritev", "fallocate", "commit")
POINTS = [n for n in failpoint_names() if n.split(".")[1] in TAKING]


SEALED = noise(20 * KIB, 1)


def script(m, writer, patient):
    """
    Writes, seals and writes again. One operation may be refused. A refused sealer pauses before it
    tries again. If `patient` returns true, that is waited for.
    """
    writer.growing = True
    writer.work(30)
    try:
        path = m.make("cache/shell/sealed", SEALED)
    except OSError as e:
        assert e.errno in FULL and not writer.refusals, e
        writer.refusals += 1
        path = m.make("cache/shell/sealed", SEALED)
    eventually(lambda: xattr(path, "sha256") or not patient(), "what follows is sealed", 30)
    writer.growing = True
    writer.work(writer.acknowledged + 15)


def play(case, writer, log, failpoints, patient):
    """Runs the script on a fresh store under a fault. Returns False if the daemon did not start."""
    shutil.rmtree(case.store, ignore_errors=True)
    if os.path.exists(log):
        os.unlink(log)
    m = launch(case, "seal_delay=1", OFS_FAILPOINT=failpoints, OFS_FAILPOINT_LOG=log)
    if not m.comes_up():
        code = m.wait()
        assert code > 0, f"a full disk ended the daemon with {code}"
        return False
    script(m, writer, patient)
    writer.check()
    assert close(m) == 0
    return True


def restart(case, writer, sealed):
    """Opens the store, which must have everything acknowledged, and writes more."""
    m = launch(case, "seal_delay=1")
    assert m.comes_up(), "the store does not open"
    files = writer.check()
    if sealed:
        same(read(m("cache/shell/sealed")), SEALED)
    writer = writer.again()
    writer.refused = set()
    writer.work(10)
    assert not writer.failure and not writer.cut, writer.failure or writer.cut
    m.crash()
    files += writer.check()
    m.unmount()
    return files


def one_round(case, seed, log, name, hit, patient):
    for _ in range(6):
        fault = f"{name}=enospc@{hit}"
        writer = Writer(case.mnt, "w", seed, syncs=True, refused=FULL, most=25)
        with kept(case.store, log):
            started = play(
                case,
                writer,
                log,
                f"{name}=note,{fault}",
                lambda: patient or not was_reached(log, fault),
            )
            if was_reached(log, fault):
                assert writer.refusals <= 1, "told more than once"
                report(rounds=1, files=restart(case, writer, started))
                return
        hit = min(hit, max(count_hits(log)[name], 1))
    raise AssertionError(f"{fault} was not reached in six runs")


@test(timeout=LIMIT, variants={name: name for name in POINTS})
def no_room_at_a_call_costs_one_operation_at_most(case, name):
    rng = seeded(name)
    seed, log = rng.random(), case.path("failpoints")
    writer = Writer(case.mnt, "w", seed, syncs=True, refused=FULL, most=25)
    assert play(case, writer, log, f"{name}=note", lambda: True)
    hits = count_hits(log)[name]
    print(f"{name}: {hits} hits", flush=True)
    assert hits, f"{name} is never reached: the script of this test has to grow"
    for hit in share(spread(rng, hits, 8)):
        print(f"{name}=enospc@{hit}", flush=True)
        one_round(case, seed, log, name, hit, LONG or name == "index.commit" and hit == hits)


def fill(m, folder, seed):
    """Writes files until the disk is full. Returns the acknowledged bytes by path."""
    done = {}
    for number in range(10**6):
        path, data = m(folder, str(number)), noise(200 * KIB, seed + number)
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            done[path] = b""
            try:
                while len(done[path]) < len(data):
                    count = os.write(fd, data[len(done[path]) :])
                    done[path] += data[len(done[path]) : len(done[path]) + count]
            finally:
                os.close(fd)
        except OSError as e:
            assert e.errno == errno.ENOSPC, e
            assert len(done) > 20, "the disk was full from the start"
            return done


def fill_to_the_brim(m, folder):
    """Fills the gaps that large files left with small ones."""
    done = {}
    for number in range(10**6):
        path, data = m(folder, str(number)), noise(600, number)
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            done[path] = b""
            try:
                done[path] = data[: os.write(fd, data)]
            finally:
                os.close(fd)
        except OSError as e:
            assert e.errno == errno.ENOSPC, e
            return done


def compare(files):
    for path, data in files.items():
        same(read(path), data, path)
    return len(files)


DELAYS = {"drafts": SEAL_NEVER, "sealing": SEAL_SOON}


def full_disk(case, delay):
    """
    Starts a daemon and fills its disk, which also holds another file. Returns the disk, the daemon
    and the acknowledged files.
    """
    disk = Disk(case, 48)
    write(os.path.join(disk.path, "ballast"), bytes(MIB))
    m = launch(case, delay, store=os.path.join(disk.path, "store"))
    assert m.comes_up()
    # There may be no room for a directory after the large files.
    os.mkdir(m("cache/large"))
    os.mkdir(m("cache/small"))
    # The sealer may still make room for a while.
    files = fill(m, "cache/large", 100)
    files.update(fill_to_the_brim(m, "cache/small"))
    return disk, m, files


@test(timeout=LIMIT, root=True, variants=DELAYS)
def a_full_disk_loses_nothing(case, delay):
    disk, m, files = full_disk(case, delay)
    with kept(disk.image, m.store):
        compare(files)
        m.crash()
        compare(files)
        m.remount()
        report(rounds=1, files=compare(files))
        m.unmount()


def takes_writes(m):
    try:
        m.make("persistent/after", noise(MIB, 7))
    except OSError as e:
        assert e.errno in FULL, e
        return False
    return True


@test(
    timeout=LIMIT,
    root=True,
    variants={f"{d}-{r}": (DELAYS[d], r) for d in DELAYS for r in ("alone", "with-help")},
)
def deleting_works_on_a_full_disk_and_makes_room(case, variant):
    delay, room = variant
    disk, m, files = full_disk(case, delay)
    with kept(disk.image, m.store):
        if room == "with-help":
            os.unlink(os.path.join(disk.path, "ballast"))
        victims = [p for p in files if "/large/" in p][::2]
        for path in victims:
            os.unlink(path)
            del files[path]
        compare(files)
        if delay == SEAL_NEVER:
            m.remount(SEAL_SOON)
        eventually(lambda: takes_writes(m), "there is room after deleting", 30)
        m.crash()
        same(read(m("persistent/after")), noise(MIB, 7))
        report(rounds=1, files=compare(files))
        for path in victims:
            assert not os.path.exists(path), f"{path} is back"
        m.unmount()


@test(timeout=LIMIT, root=True)
def removing_very_many_files_works_on_a_full_disk(case):
    """The index is larger than the reserve, and every removal touches other pages of it."""
    disk = Disk(case, 96)
    m = launch(case, SEAL_SOON, store=os.path.join(disk.path, "store"))
    assert m.comes_up()
    folder = m("persistent/many")
    os.makedirs(folder)
    names = [f"{i:05}-" + "x" * 240 for i in range(20000)]
    for name in names:
        os.close(os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT))
    eventually(lambda: os.stat(os.path.join(disk.path, "store/index.db")).st_size > 10 * MIB,
               "the index has them", 60)  # fmt: skip
    os.mkdir(m("cache/large"))
    os.mkdir(m("cache/small"))
    files = fill(m, "cache/large", 100)
    files.update(fill_to_the_brim(m, "cache/small"))
    with kept(disk.image, m.store):
        victims = seeded("many").sample(names, 15000)
        for name in victims:
            os.unlink(os.path.join(folder, name))
        report(rounds=1, files=compare(files))
        m.unmount()
    m = launch(case, SEAL_SOON, store=m.store)
    assert m.comes_up()
    assert set(os.listdir(m("persistent/many"))) == set(names) - set(victims)
    m.unmount()


main()
