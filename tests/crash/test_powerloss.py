#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Synced changes survive a loss of power, and only the newest changes are lost."""
import errno
import os
import time

from rounds import LIMIT, kept, kill, launch, report, rounds, seeded
from workload import GONE, Writer

from disk import Disk
from harness import eventually, main, test

WRITERS = 3
FRESH = 25  # rounds per disk
DISK = 1024  # MiB; sparse, and may become full
DEAD = {errno.EIO, errno.EROFS, errno.EUCLEAN}  # errors of ext4 after its shutdown


def options(rng):
    return f"seal_delay={rng.choice([0, 1, 1, 5, 20, 100, 3600000])}"


def lose_power(disk, m, writers, rng):
    """Cuts the disk off under load."""
    for w in writers:
        w.start()
    eventually(lambda: all(w.acknowledged for w in writers), "every writer has written")
    time.sleep(rng.choice([0.01, 0.1, 0.4, 0.8]) * rng.random())
    # A sync during the shutdown of ext4 may succeed all the same.
    for w in writers:
        w.trusting = False
    disk.shut_down()
    assert disk.is_dead(), "the disk takes writes after it was shut down"
    eventually(lambda: any(w.cut or w.failure for w in writers), "a writer met it", 10)
    assert kill(m), "the daemon ended by itself"
    for w in writers:
        w.join()
        assert w.failure is None, f"{w.name}: {w.failure}"
        assert w.cut, f"{w.name} had ended before the power went"
    assert any(w.cut not in GONE for w in writers), "no writer was told of the dead disk"


@test(timeout=LIMIT, root=True)
def what_was_synced_survives_power_loss(case):
    rng = seeded("powerloss", each_part=True)
    disk = Disk(case, DISK)
    store = os.path.join(disk.path, "store")
    writers = None
    synced = 0
    with kept(disk.image, store):
        for number in range(rounds(8)):
            print(f"round {number}", flush=True)
            if number % FRESH == 0:
                if number:
                    disk.unmount()
                    disk.make(DISK)
                writers = [
                    Writer(
                        case.mnt,
                        f"w{i}",
                        rng.random(),
                        syncs=True,
                        gone=GONE | DEAD,
                        refused={errno.ENOSPC},
                        most=rng.choice([15, 40]),
                    )
                    for i in range(WRITERS)
                ]
            m = launch(case, options(rng), store=store)
            assert m.comes_up(), "the store does not open"
            lose_power(disk, m, writers, rng)
            synced += sum(bool(w.base.names) for w in writers)
            disk.power_cycle()
            m = launch(case, options(rng), store=store)
            assert m.comes_up(), "the store does not open"
            files = sum(w.check(power_loss=True) for w in writers)
            m.unmount()
            report(rounds=1, files=files)
            writers = [w.again() for w in writers]
        disk.unmount()
    assert synced, "nothing was ever synced"


main()
