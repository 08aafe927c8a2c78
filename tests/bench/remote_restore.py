# SPDX-License-Identifier: MIT
"""A host is lost under load: how soon its store answers elsewhere, and what is missing."""
import datetime
import functools
import os
import shutil
import statistics
import time

import harness
from measure import (
    GIB, KIB, MIB, Failure, drop_caches, heading, met, note, run, size_text, store_usage, table,
    time_text,
)  # fmt: skip
from remote_load import Agent, Texts, fill, path_of, removed
from remote_service import (
    URL, add_remote, is_complete, is_sealed, kinds, kinds_text, push, service, state,
)  # fmt: skip

AIM = 5.0
QUIET = ("gc_interval=86400000", "scrub=never")  # nothing expires, and nothing runs at rest
LOAD_SECONDS = 12


def add_arguments(parser):
    parser.add_argument("--files", type=int, default=100_000, help="restore: how many (100000)")
    parser.add_argument(
        "--mib", type=int, default=5 * 1024, help="restore: MiB that they have together (5120)"
    )
    parser.add_argument("--store", metavar="DIR", help="restore: keep its store there for next time")
    parser.add_argument("--rounds", type=int, default=3, help="restore, cost: how many (3)")
    parser.add_argument("--every", type=int, default=5000, help="replicate_every, in ms (5000)")


def measure(what, place, kind, options):
    heading(
        f"restore: {options.files} files of {size_text(options.mib * MIB)}, host lost under load,"
        f" from {kind.name}"
    )
    made = _make(place, options)
    with service(place, kind, 4 * GIB) as s:
        store = place.path("host-0")
        shutil.copytree(made, store)
        add_remote(store, "restore")
        rounds = [_round(place, s, store, options)]
        for n in range(1, options.rounds):
            rounds.append(_round(place, s, place.path(f"host-{n}"), options))
    return _report(rounds, options)


def _make(place, options):
    base = os.path.abspath(options.store) if options.store else place.dir
    store = os.path.join(base, f"{options.files}-files-{options.mib}-mib")
    if os.path.exists(store + ".done"):
        note(f"using {store} again")
        return store
    os.makedirs(base, exist_ok=True)
    shutil.rmtree(store, ignore_errors=True)
    with place.daemon(store, options=QUIET) as m:
        fill(m, options.files, options.mib * MIB)
        m.rest(options.rest, what="sealing", until=lambda: is_sealed(m))
    with open(store + ".done", "w"):
        return store


def _round(place, s, store, options):
    """Uses a host for a while, loses it, and restores its store as the next one."""
    number = int(store.rpartition("-")[2])
    s.requests()
    m = place.daemon(store, options=(*QUIET, f"replicate_every={options.every}"))
    begin = time.perf_counter()
    push(m)
    sending = {"seconds": time.perf_counter() - begin, "requests": kinds(s.requests() or [])}
    note(f"sent in {time_text(sending['seconds'])}; the host is used")
    agent = Agent(m, place.path("agent.log"), f"host-{number}", 0.1)
    # Each time at another moment between two objects of the log.
    time.sleep(LOAD_SECONDS + number * options.every / 3000)
    said = state(m)
    m.process.kill()
    killed = time.time()
    m.process.wait()
    m._ended()
    harness.detach(m.mnt, lazy=True)
    written = [each for each in agent.stop() if each[3] != "read"]
    result = _restore(place, s, number, written, killed, said, options)
    result["sending"] = sending
    shutil.rmtree(store)
    return result


def _restore(place, s, number, written, killed, said, options):
    """Measures each step from an empty host to answers, and what is missing."""
    store, times = place.path(f"host-{number + 1}"), {}
    texts = _texts(options)
    drop_caches()
    s.requests()
    times["offload restore"] = run(harness.OFFLOAD, "restore", URL + "restore", store)
    fetched = {"restore": s.requests()}
    size = store_usage(store)["bytes"]
    with place.daemon(store, known="persistent", options=QUIET) as m:
        folder = m(f"cache/shell/host-{number}")
        times["mount, to a first stat"] = m.opened
        times["ls -l of two folders"] = run("ls", "-l", folder, os.path.dirname(m(path_of(7))))
        recent = max(os.listdir(folder))
        times["cat of a file just written"] = run("cat", os.path.join(folder, recent))
        times["offload list -n 20"] = run(harness.OFFLOAD, "list", "--dir", m.mnt, "-n", "20")
        fetched["first answers"] = s.requests()
        query = f"result {int(recent[:7])}"
        times["offload search"] = run(harness.OFFLOAD, "search", "--dir", m.mnt, query)
        fetched["search"] = s.requests()
        times["cat of an old file"] = _check(m, texts, 7)
        fetched["old file"] = s.requests()
        old = [_check(m, texts, i) for i in range(11, options.files, options.files // 50)]
        fetched["50 old files"] = s.requests()
        lost = _lost(m, folder, number, written, killed, said)
        m.rest(options.rest, what="the daemon to rest", until=lambda: is_complete(m), bound=300)
        fetched["afterwards"] = s.requests()
        brought = state(m)["brought_bytes"]
    return {
        "seconds": {**times, "all": sum(times.values())},
        "old": old,
        "bytes": size,
        "requests": {name: kinds(each or []) for name, each in fetched.items()},
        "brought": brought,
        "lost": lost,
    }


def _check(m, texts, number):
    """Reads one of the first files. Returns the time it took."""
    begin = time.perf_counter()
    with open(m(path_of(number)), "rb") as f:
        found = f.read()
    took = time.perf_counter() - begin
    if found != texts.text(number):
        raise Failure(f"{path_of(number)} is not what was written")
    return took


@functools.lru_cache
def _texts_of(mean):
    return Texts(mean)


def _texts(options):
    return _texts_of(options.mib * MIB // options.files)


def _lost(m, folder, number, written, killed, said):
    """Returns what was acknowledged but is missing, which must be everything after some moment."""
    texts, made = Texts(4 * KIB, 4 * MIB), len(written)
    complete = datetime.datetime.fromisoformat(said["complete_until"]).timestamp()
    missing = []
    for at, _, n, _ in written:
        path = os.path.join(folder, f"{n:07d}.txt")
        if removed(n, made):
            continue
        found = open(path, "rb").read() if os.path.exists(path) else b""
        # That moment may lie within a file.
        if not texts.text(n).startswith(found):
            raise Failure(f"{path} is not what was written")
        if found and missing:
            raise Failure(f"{path} is there, but not what was written before")
        if found != texts.text(n):
            missing.append(at)
    if missing and missing[0] < complete:
        raise Failure("something is lost that was said to be complete")
    return {
        "acknowledged": made,
        "files": len(missing),
        "seconds": killed - missing[0] if missing else 0,
        "seconds_said": killed - complete,
    }


def _report(rounds, options):
    names = list(rounds[0]["seconds"])
    rows = [[n, *(time_text(r["seconds"][n]) for r in rounds)] for n in names]
    table(["", *(f"host {n + 1}" for n in range(len(rounds)))], rows)
    totals = [r["seconds"]["all"] for r in rounds]
    last = rounds[-1]
    print(f"\n  after the restore {size_text(last['bytes'])} on disk; requests of the last host:")
    for name, counts in last["requests"].items():
        print(f"    {name}: {kinds_text(counts)}")
    old = sorted(t for r in rounds for t in r["old"])
    print(
        f"  an old file: median {time_text(statistics.median(old))}, longest {time_text(old[-1])};"
        f" content brought in all {size_text(last['brought'])}"
    )
    for r in rounds:
        lost = r["lost"]
        print(
            f"  lost: {lost['files']} of {lost['acknowledged']} files, the last"
            f" {lost['seconds']:.1f} s; 'complete' was {lost['seconds_said']:.1f} s ago"
        )
    bound = options.every / 1000 + 1
    worst = max(r["lost"]["seconds"] for r in rounds)
    print(
        f"  aim: answers within {AIM:g} s: {met(max(totals) < AIM)}"
        f"\n  aim: nothing is lost but of the last {bound:g} s: {met(worst <= bound)}"
    )
    return {"rounds": rounds, "aims": {"time": max(totals) < AIM, "lost": worst <= bound}}
