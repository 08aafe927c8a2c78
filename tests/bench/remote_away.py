# SPDX-License-Identifier: MIT
"""The remote is unreachable under load: the effect on the host, and how the remote catches up."""
import os
import shutil
import time

import harness
from measure import (
    KIB, MIB, Failure, Watch, heading, met, note, ratio_text, run, size_text, table, time_text,
)  # fmt: skip
from remote_load import Agent, Texts, in_small_folders, removed
from remote_service import (
    URL, S3, add_remote, is_complete, kinds, kinds_text, push, service, state, wait_until,
)  # fmt: skip

HELD = 256 * MIB  # of log, for a remote that is away
AIM = 1.1
KEEP = ("gc_interval=86400000", "ttl_shell=never")
SIZE, PAUSE = 64 * KIB, 0.008  # an hour of an agent in a minute, and more than is held
THERE = 300  # the most seconds between two outages
LONG = 600  # a longer outage happens only once, and writes as much as one of this length


def add_arguments(parser):
    parser.add_argument("--away", type=float, default=60, help="away: for so many seconds (60)")


def measure(what, place, kind, options):
    if kind is not S3:
        raise Failure("'away' ends and starts the service, and needs --s3")
    turns, there_for = 1 if options.away > LONG else 2, min(options.away, THERE)
    pause = PAUSE * max(1, options.away / LONG)
    heading(
        f"away: {turns} times {options.away:g} s, {there_for:g} s there before and after, under load"
    )
    store = place.path("store")
    with service(place, kind) as s:
        add_remote(store, "away")
        m = place.daemon(store, options=("replicate_every=1000", *KEEP))
        push(m)
        phases, catching_up, sent, journal, agents = [], [], [], {True: 0, False: 0}, []
        for n in range(2 * turns + 1):
            there = n % 2 == 0
            if there:
                wait_until(lambda: is_complete(m), "the store rests")
            else:
                s.down()
            note(f"the remote is {'there' if there else 'away'}")
            agent = Agent(m, place.path("agent.log"), f"phase-{n}", pause, SIZE, in_small_folders)
            with Watch(0.1, journal=lambda: _usage(store, "journal")) as watch:
                time.sleep(there_for if there else options.away)
            noted = agent.stop()
            agents.append((f"phase-{n}", noted))
            phases.append((there, noted))
            journal[there] = max(journal[there], watch.max["journal"])
            if not there:
                pending = state(m)["pending_bytes"]
                s.up()
                s.requests()
                begin = time.perf_counter()
                wait_until(lambda: is_complete(m), "the remote has everything")
                catching_up.append((pending, time.perf_counter() - begin))
                sent.append(kinds(s.requests()))
        push(m)
        m.unmount()
        shutil.rmtree(store)
        run(harness.OFFLOAD, "restore", URL + "away", store)
        result = _report(phases, catching_up, sent, journal)
        with place.daemon(store, options=KEEP) as m:
            result["files"] = sum(_compare(m, name, noted) for name, noted in agents)
    print(
        f"  all {result['files']} files are there, as written, in a store that was restored afterwards"
    )
    return result


def _usage(store, part):
    return sum(e.stat().st_blocks * 512 for e in os.scandir(os.path.join(store, part)))


def _compare(m, name, noted):
    texts = Texts(SIZE, 4 * MIB)
    numbers = [each[2] for each in noted if each[3] != "read"]
    for n in numbers:
        if removed(n, len(numbers)):
            continue
        with open(m(in_small_folders(name, n)), "rb") as f:
            if f.read() != texts.text(n):
                raise Failure(f"{name}/{n:07d}.txt is not what was written")
    return len(numbers)


def _report(phases, catching_up, sent, journal):
    rows, result = [], {"journal": list(journal.values()), "seconds": {}}
    worst = 0
    for what in ("store", "store, fsync", "read"):
        times = {
            there: sorted(e[1] for at, noted in phases if at == there for e in noted if e[3] == what)
            for there in (True, False)
        }
        row = [what]
        for share in (0.5, 0.99):
            here, away = (times[there][int(len(times[there]) * share)] for there in (True, False))
            row += [time_text(here), time_text(away), ratio_text(away / here)]
            worst = max(worst, away / here)
            result["seconds"][f"{what}, {share:.0%}"] = [here, away]
        rows.append(row)
    table(["", "median: there", "away", "ratio", "p99: there", "away", "ratio"], rows)
    for (pending, seconds), each in zip(catching_up, sent):
        print(
            f"  {size_text(pending)} of the log were missing; caught up in {time_text(seconds)}:"
            f" {kinds_text(each)}"
        )
    result["catching_up"] = [
        {"pending": p, "seconds": s, "requests": r} for (p, s), r in zip(catching_up, sent)
    ]
    bounded = journal[False] <= journal[True] + HELD + 64 * MIB
    print(
        f"  journal at most: {size_text(journal[True])} there, {size_text(journal[False])} away"
        f"\n  aim: it grows by at most {size_text(HELD)} and a segment: {met(bounded)}"
        f"\n  aim: latencies within {AIM} times those with the remote: {met(worst <= AIM)}"
    )
    return {**result, "aims": {"journal": bounded, "time": worst <= AIM}}
