#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Everything acknowledged survives SIGKILL at any moment."""
import shutil
import time

from rounds import LIMIT, kept, kill, launch, report, rounds, seeded
from workload import DYING, Writer

from harness import eventually, main, test

WRITERS = 3
FRESH = 40  # rounds per store


def options(rng):
    """Seals all the time, now and then, or never."""
    return f"seal_delay={rng.choice([0, 1, 1, 5, 20, 100, 3600000])}"


def kill_at_work(m, writers, rng):
    """Kills the daemon under load. Returns writers that know what was promised."""
    for w in writers:
        w.start()
    eventually(lambda: all(w.acknowledged for w in writers), "every writer has written")
    time.sleep(rng.choice([0.005, 0.05, 0.3, 0.6]) * rng.random())
    for w in writers:
        w.gone |= DYING
    assert kill(m), "it had ended before"
    for w in writers:
        w.join()
        w.gone -= DYING
        assert w.failure is None, f"{w.name}: {w.failure}"
        assert w.cut and w.acknowledged, f"{w.name} had ended before the daemon was killed"


def kill_while_starting(case, rng, *opts):
    """Kills daemons that replay the journal or have just begun to seal. Returns their number."""
    killed = 0
    for _ in range(rng.choice([1, 1, 3])):
        m = launch(case, *opts)
        assert kill(m, 0.03 * rng.random()), "the daemon ended by itself"
        killed += 1
    return killed


def kill_while_closing(m, rng):
    """Kills a daemon in its last sealing or checkpoint. Returns True if it was in time."""
    m.process.terminate()
    return kill(m, 0.03 * rng.random() ** 2)


def check(writers, kills):
    files = sum(w.check() for w in writers)
    report(rounds=kills, files=files)
    return [w.again() for w in writers]


@test(timeout=LIMIT)
def everything_acknowledged_survives_sigkill(case):
    rng = seeded("sigkill", each_part=True)
    at_work = starting = closing = 0
    m = writers = None
    with kept(case.store):
        for number in range(rounds(14)):
            print(f"round {number}", flush=True)
            if number % FRESH == 0:
                if m:
                    m.unmount()
                shutil.rmtree(case.store, ignore_errors=True)
                m = case.mount(options(rng))
                writers = [
                    Writer(m.mnt, f"w{i}", rng.random(), most=rng.choice([15, 40, 80]))
                    for i in range(WRITERS)
                ]
            kill_at_work(m, writers, rng)
            at_work += 1
            if rng.random() < 0.3:
                starting += kill_while_starting(case, rng, options(rng))
            m = launch(case, options(rng))
            assert m.comes_up(), "the store does not open"
            writers = check(writers, 1)
            if rng.random() < 0.2:
                closing += kill_while_closing(m, rng)
                m = case.mount(options(rng))
                writers = check(writers, 0)
        m.unmount()
    print(f"killed {at_work} at work, {starting} starting, {closing} closing")


main()
