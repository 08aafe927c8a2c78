# SPDX-License-Identifier: MIT
"""The cost of writing with replication, compared with the same without it, in turns."""
import os
import statistics
import time

from measure import (
    GIB, KIB, MIB, heading, met, note, ratio_text, table, time_text,
)  # fmt: skip
from remote_load import Texts
from remote_service import (
    add_remote, cpu_of, is_complete, is_sealed, push, service, state, wait_until,
)  # fmt: skip

AIM = 1.1
EVERY = 500  # a tenth of the default, so that each workload includes several rounds
ALONE, WITH, SYNC = "alone", "replicated", "replicate_every=fsync"


def add_arguments(parser):
    parser.add_argument("--small", type=int, default=4000, help="cost: files of 4 KB (4000)")
    parser.add_argument("--synced", type=int, default=1000, help="cost: files that are synced (1000)")
    parser.add_argument("--big", type=int, default=256, help="cost: MiB of the big file (256)")


def measure(what, place, kind, options):
    works = {
        f"create {options.small} x 4 KB": (_create, options.small, False),
        f"create + fsync {options.synced} x 4 KB": (_create, options.synced, True),
        f"write {options.big} MiB, fsync": (_write, options.big, True),
    }
    heading(
        f"cost: {options.rounds} rounds in turns, to {kind.name} with the least share of processors"
    )
    texts, taken = Texts(4 * KIB), {}
    with service(place, kind, 4 * GIB) as s:
        mounts = {ALONE: place.daemon(options=_options())}
        mounts[WITH] = _replicated(place, "a", f"replicate_every={EVERY}")
        mounts[SYNC] = _replicated(place, "b", "replicate_every=fsync")
        for n in range(options.rounds):
            for work, (function, count, sync) in works.items():
                names = [ALONE, WITH] + ([SYNC] if sync and function is _create else [])
                for name in names if n % 2 == 0 else reversed(names):
                    each = _take(s, mounts, name, lambda m: function(m, texts, n, count, sync))
                    taken.setdefault(work, {}).setdefault(name, []).append(each)
            note(f"round {n + 1} of {options.rounds} is done")
        for m in mounts.values():
            m.unmount()
    return _report(taken)


def _options(*more):
    return ("gc_interval=86400000", *more)


def _replicated(place, name, option):
    store = place.path(f"store-{name}")
    add_remote(store, name)
    m = place.daemon(store, options=_options(option))
    push(m)
    return m


def _settled(name, m):
    return is_sealed(m) if name == ALONE else is_complete(m)


def _take(s, mounts, name, work):
    """Runs a workload in one mount while the others are at rest. Waits until it is, too."""
    for each, m in mounts.items():
        wait_until(lambda: _settled(each, m), f"the store {each} rests")
    os.sync()
    time.sleep(0.3)
    m = mounts[name]
    cpu, replicator = m.cpu(), cpu_of(m.pid, "replicator")
    gateway = sum(map(cpu_of, s.pids()))
    requests = state(m) if name != ALONE else {"writes": 0}
    begin = time.perf_counter()
    times = work(m)
    seconds = time.perf_counter() - begin
    wait_until(lambda: _settled(name, m), f"the store {name} rests")
    return {
        "seconds": seconds,
        "times": times,
        "cpu": m.cpu() - cpu,
        "cpu_replicator": cpu_of(m.pid, "replicator") - replicator,
        "cpu_gateway": sum(map(cpu_of, s.pids())) - gateway,
        "writes": (state(m) if name != ALONE else requests)["writes"] - requests["writes"],
    }


def _create(m, texts, number, count, sync):
    folder = m(f"cache/{'synced' if sync else 'small'}-{number}")
    os.mkdir(folder)
    contents = [texts.text(number * count + i, 4000) for i in range(count)]
    times = []
    for i in range(count):
        begin = time.perf_counter()
        fd = os.open(f"{folder}/{i:06d}.txt", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(fd, contents[i])
        if sync:
            os.fsync(fd)
        os.close(fd)
        times.append(time.perf_counter() - begin)
    return times


def _write(m, texts, number, mib, _sync):
    fd = os.open(m(f"cache/big-{number}.txt"), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    times = []
    for i in range(mib):
        text = texts.text(number * mib + i, MIB)
        begin = time.perf_counter()
        os.write(fd, text)
        times.append(time.perf_counter() - begin)
    begin = time.perf_counter()
    os.fsync(fd)
    times.append(time.perf_counter() - begin)
    os.close(fd)
    return times


def _percentile(rounds, share):
    times = sorted(t for r in rounds for t in r["times"])
    return times[min(int(len(times) * share), len(times) - 1)]


def _report(taken):
    rows, result = [], {}
    for work, by_name in taken.items():
        base = by_name[ALONE]
        for name, rounds in by_name.items():
            ratios = [sum(r["times"]) / sum(b["times"]) for r, b in zip(rounds, base)]
            p99 = _percentile(rounds, 0.99)
            each = {
                "seconds": statistics.median(sum(r["times"]) for r in rounds),
                "ratio": statistics.median(ratios),
                "ratios": ratios,
                "median": _percentile(rounds, 0.5),
                "p99": p99,
                "p99_ratio": p99 / _percentile(base, 0.99),
                **{
                    key: statistics.median(r[key] for r in rounds)
                    for key in ("cpu", "cpu_replicator", "cpu_gateway", "writes")
                },
            }
            result.setdefault(work, {})[name] = each
            best = min(sum(r["times"]) for r in rounds) / min(sum(r["times"]) for r in base)
            each["best"] = best
            spread = f" ({min(ratios):.2f} to {max(ratios):.2f})" if name != ALONE else ""
            rows.append(
                [f"{work}, {name}", time_text(each["seconds"]), ratio_text(each["ratio"]) + spread]
                + [ratio_text(best)]
                + [time_text(each["median"]), time_text(p99), ratio_text(each["p99_ratio"])]
                + [f"{each[key]:.2f} s" for key in ("cpu", "cpu_replicator", "cpu_gateway")]
                + [f"{each['writes']:.0f}"]
            )
    table(
        ["", "time", "ratio", "of the best", "median", "p99", "ratio", "cpu: daemon", "replicator"]
        + ["service", "writes"],
        rows,
    )
    time_met = all(by[WITH]["ratio"] <= AIM for by in result.values())
    p99_met = all(by[WITH]["p99_ratio"] <= AIM for by in result.values())
    print(
        f"  aim: {WITH} within {AIM} times {ALONE}: {met(time_met)}; 99th percentiles likewise:"
        f" {met(p99_met)}"
    )
    return {"works": result, "aims": {"time": time_met, "p99": p99_met}}
