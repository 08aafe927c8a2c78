# SPDX-License-Identifier: MIT
"""Where offloadfs spends its time: messages, processor time, system calls, and stacks.

Each workload runs several times for its duration and the daemon's processor time, and once for each
method that disturbs it: the log of messages, strace, perf.
"""
import argparse
import collections
import os
import pathlib
import statistics

import flame
import peers
from measure import MIB, Failure, Place, heading, note, run, table
from observe import Calls, Stacks, Talkative, Times, Unavailable, add_times, library_of
from speed import QUICK, REST, REST_QUICK, TRANSPORTS, Filesystem
from speed_workloads import WORKLOAD, Fixtures, Scale, load, timed, work, workloads

# What the kernel sends without waiting for an answer.
NOT_WAITED_FOR = {"FORGET", "BATCH_FORGET", "RELEASE", "RELEASEDIR"}
SHOWN = 0.005  # messages and calls per unit below which they are left out
CALLS, SYMBOLS = 8, 12  # how many are shown
LIBRARIES = 0.005  # share of the processor time below which they are left out


# --- Workloads ------------------------------------------------------------------------------------


class Job:
    """A workload of which only `act` is observed. `same` is the name of the workload in `speed`."""

    same = ""
    needs = None
    unit = "file"
    cold = False
    bound = "at least"

    def __init__(self, scale):
        self.scale = scale
        self._workload = next(w for w in workloads(scale, None) if w.name == self.same)

    @property
    def amount(self):
        return self.scale.tree

    @property
    def title(self):
        return next(iter(self._workload.figures.values()))

    def prepare(self, system, number):
        """Runs before it, with the system started. `number` differs each time."""

    def act(self, system, number):
        """Returns the seconds it took."""
        raise NotImplementedError

    def clean(self, system, number):
        """Runs after it."""


class Create(Job):
    same = "create-4k"

    @property
    def amount(self):
        return self.scale.small

    def act(self, system, number):
        return self._workload.measure(system, number, False)[self.same]


class Fsync(Create):
    same = "fsync-8"
    bound = "if they came one after the other"

    @property
    def amount(self):
        return self.scale.by_8


class Copy(Job):
    same, needs = "cp", "tree"

    def prepare(self, system, number):
        run("find", system("tree"), "-type", "f", "-exec", "cat", "{}", "+")
        load("cp")

    def act(self, system, number):
        return timed(["cp", "-r", system("tree"), system(f"copied-{number}")])


class Remove(Job):
    same, needs = "rm", "tree"

    def prepare(self, system, number):
        timed(["cp", "-r", system("tree"), system(f"doomed-{number}")])
        system.settle(REST_QUICK)
        run("find", system(f"doomed-{number}"), "-size", "+1G")
        load("rm")

    def act(self, system, number):
        return timed(["rm", "-rf", system(f"doomed-{number}")])


class Large(Job):
    unit = "MiB"

    @property
    def amount(self):
        return self.scale.big // MIB


class Write(Large):
    same = "write"

    def act(self, system, number):
        seed = 9000 + number
        return float(work("write", system(f"written-{number}"), self.scale.big, seed)[0])

    def clean(self, system, number):
        os.unlink(system(f"written-{number}"))


class ReadCold(Large):
    same, needs, cold = "read", "big", True
    bound = "if they came one after the other"

    def prepare(self, system, number):
        system.cold()

    def act(self, system, number):
        return self._workload.read(system(self.needs))


class CatCold(Job):
    same, needs, cold = "cat", "tree", True

    def prepare(self, system, number):
        system.cold()
        load("cat")

    def act(self, system, number):
        return self._workload.read(system(self.needs))


# Removing makes the plain filesystem slow for minutes (docs/BENCHMARKS.md, speed): it comes last.
JOBS = {
    "create": Create,
    "fsync": Fsync,
    "write": Write,
    "cat-cold": CatCold,
    "read-cold": ReadCold,
    "cp": Copy,
    "rm": Remove,
}


# --- The benchmark --------------------------------------------------------------------------------


def add_arguments(parser):
    parser.add_argument(
        "workloads", type=_job, nargs="*", metavar="WORKLOAD",
        help=f"of {', '.join(JOBS)} (default: all)",
    )  # fmt: skip
    parser.add_argument("--transport", choices=TRANSPORTS, help="this one alone (default: both)")
    parser.add_argument(
        "--flame", metavar="FILE.svg", help="draw a flame graph of the daemon there, with perf"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small numbers and one run, to see that it works"
    )


def _job(name):
    if name not in JOBS:
        raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(JOBS)}")
    return name


def measure(options):
    if not os.access(WORKLOAD, os.X_OK):
        raise Failure(f"there is no program at '{WORKLOAD}': set OFFLOADFS_WORKLOAD")
    with peers.uring_enabled(options.transport != "classic"), Place() as place:
        return Profile(place, options).measure()


class Variant:
    """A scale with the offloadfs systems used at it, by transport. Each gets its files once."""

    def __init__(self, scale, offloadfs):
        self.scale, self.offloadfs = scale, offloadfs
        self._fixtures, self._made = Fixtures(scale), set()

    def have(self, name, system):
        if name and (name, system.name) not in self._made:
            self._fixtures.make(name, system, None)
            system.settle(REST_QUICK)
            self._made.add((name, system.name))


class Profile:
    """One run of the benchmark. `result` is written as JSON."""

    def __init__(self, place, options):
        self._place, self._flame = place, options.flame
        self._rest = min(options.rest, REST_QUICK if options.quick else REST)
        self._runs = 1 if options.quick else 3
        self._number = 0
        self._stacks = collections.Counter()
        transports = list(self._transports(options.transport))
        more = QUICK if options.quick else ()
        self._plain = peers.System(place, Filesystem(place.dir).type)

        def systems(prefix):
            return {
                t: peers.Offloadfs(place, prefix + t, TRANSPORTS[t][1], *more) for t in transports
            }

        self._full = Variant(Scale(options.quick), systems("timed, "))
        self._small = Variant(Scale(True), systems("traced, "))
        self._talkative = Talkative(place, "talkative", *more)
        self._jobs = list(self._chosen(options.workloads))
        self.result = {
            "quick": options.quick,
            "runs": self._runs,
            "plain": self._plain.name,
            "round_trip": {},
            "workloads": {},
        }

    def measure(self):
        heading(
            f"profile: beside {self._plain.name}, medians of {self._runs} runs"
            + (", small numbers: only to see that it works" if self.result["quick"] else "")
        )
        for transport, system in self._full.offloadfs.items():
            self.result["round_trip"][transport] = self._round_trip(system)
        table(
            ["a message answered from memory", *self.result["round_trip"]],
            [["round trip, us", *map(_us, self.result["round_trip"].values())]],
        )
        for name in self._jobs:
            heading(f"{name}: {JOBS[name](self._full.scale).title}")
            self.result["workloads"][name] = self._profile(name)
        self._draw()
        return self.result

    def _transports(self, only):
        for transport in [only] if only else TRANSPORTS:
            why = peers.why_no_uring() if transport == "io_uring" else None
            if why:
                print(f"  left out offloadfs over io_uring: {why}", flush=True)
            else:
                yield transport

    def _chosen(self, wanted):
        for name, job in JOBS.items():
            if wanted and name not in wanted:
                continue
            if job.cold and not peers.can_drop_caches():
                print(f"  left out {name}: only root can drop the kernel's caches", flush=True)
                continue
            yield name

    def _round_trip(self, system):
        """Returns the seconds that a message takes, by looking up a name that is not cached."""
        note(f"round trip, {system.name}")
        system.start()
        absent = pathlib.Path(system.root).parents[1] / "refs" / "no-such-ref"
        times = 1000 if self.result["quick"] else 10000
        seconds = min(float(work("ask", absent, times)[0]) for _ in range(5))
        system.stop()
        return seconds

    def _profile(self, name):
        result = {}
        self._count(name, result)
        self._time(name, result)
        self._trace(name, result)
        self._sample(name, result)
        return result

    def _turn(self, variant, system, job, observe):
        """
        One run. `observe(act, settle)` may call both: act() returns the seconds, and settle()
        returns when the background work is done.
        """
        self._number += 1
        number = self._number
        variant.have(job.needs, system)
        system.start()
        os.sync()
        job.prepare(system, number)
        observe(lambda: job.act(system, number), lambda: system.settle(self._rest))
        job.clean(system, number)
        system.settle(self._rest)
        system.stop()

    # ---- Messages

    def _count(self, name, result):
        job, counts = JOBS[name](self._small.scale), {}

        def observe(act, _settle):
            with self._talkative.messages() as counted:
                act()
            counts.update(counted)

        note(f"{name}: messages")
        self._turn(self._small, self._talkative, job, observe)
        each = {o: n / job.amount for o, n in sorted(counts.items(), key=lambda c: -c[1])}
        result.update(title=job.title, unit=job.unit, messages=each)
        waited = {o: n for o, n in each.items() if o not in NOT_WAITED_FOR}
        result["waited_for"] = sum(waited.values())
        print(f"  messages a {job.unit}, counted in '{job.title}': {_listed(waited)}")
        others = {o: n for o, n in each.items() if o in NOT_WAITED_FOR}
        if _listed(others):
            print(f"  and not waited for: {_listed(others)}")
        print(flush=True)

    # ---- Time

    def _time(self, name, result):
        job = JOBS[name](self._full.scale)
        systems = {self._plain.name: self._plain, **self._full.offloadfs}
        seconds, times = collections.defaultdict(list), collections.defaultdict(dict)
        for i in range(self._runs):
            note(f"{name}: run {i + 1} of {self._runs}")
            for key, system in systems.items():
                clock = self._clock(system, seconds[key], times[key])
                self._turn(self._full, system, job, clock)
        each = {key: statistics.median(s) / job.amount for key, s in seconds.items()}
        result.update(title=job.title, amount=job.amount, seconds=each)
        for transport in self._full.offloadfs:
            trip = self.result["round_trip"][transport]
            print(
                f"  {transport}: {result['waited_for']:.1f} messages x {_us(trip)} us ="
                f" {_us(result['waited_for'] * trip)} us a {job.unit} {job.bound};"
                f" measured {_us(each[transport])}; {self._plain.name}"
                f" {_us(each[self._plain.name])}"
            )
        amount = job.amount * self._runs
        result["cpu"] = {
            transport: {
                kind: {group: [t / amount for t in pair] for group, pair in groups.items()}
                for kind, groups in times[transport].items()
            }
            for transport in self._full.offloadfs
        }
        self._print_cpu(job, result["cpu"])

    def _clock(self, system, seconds, times):
        def observe(act, settle):
            pid = system.pid()
            begin = Times(pid) if pid else None
            seconds.append(act())
            middle = Times(pid) if pid else None
            settle()
            if pid:
                during, later = middle.since(begin), Times(pid).since(middle)
                times["during"] = add_times(times.get("during", {}), during)
                times["afterwards"] = add_times(times.get("afterwards", {}), later)

        return observe

    def _print_cpu(self, job, cpu):
        rows = []
        for transport, kinds in cpu.items():
            for group in sorted({g for groups in kinds.values() for g in groups}, reverse=True):
                during, later = (kinds[k].get(group, (0, 0)) for k in ("during", "afterwards"))
                cells = [*during, sum(during), *later, sum(during) + sum(later)]
                if cells[-1] >= 5e-8:
                    rows.append([f"{transport}: {group}", *map(_us, cells)])
        print(f"\n  Processor time of the daemon, us a {job.unit}")
        table(["", "user", "system", "sum", "later: user", "system", "in all"], rows)

    # ---- System calls

    def _trace(self, name, result):
        job, calls = JOBS[name](self._small.scale), {}
        note(f"{name}: system calls")

        def observe(transport, system):
            def watch(act, settle):
                with Calls(system.pid(), self._place.path("calls")) as seen:
                    act()
                    settle()
                calls[transport] = {c: n / job.amount for c, n in seen.result.items()}

            return watch

        if not self._watched(self._small, job, observe):
            return
        result["calls"] = calls
        print(f"\n  System calls a {job.unit}, in '{job.title}', sealing included (under strace,")
        print("  which makes times unreal)")
        _table_of_shares("call", calls, CALLS, SHOWN, "{:.2f}")

    # ---- Stacks

    def _sample(self, name, result):
        job, libraries, symbols = JOBS[name](self._full.scale), {}, {}
        note(f"{name}: stacks")

        def observe(transport, system):
            def watch(act, settle):
                with Stacks(system.pid(), self._place.path("perf.data")) as seen:
                    act()
                    settle()
                stacks = seen.result
                for stack, weight in stacks.items():
                    self._stacks[f"{name}, {transport};{stack}"] += weight
                libraries[transport] = _shares(stacks, library_of)
                symbols[transport] = _shares(stacks, lambda s: s.rpartition(";")[2])

            return watch

        if not self._watched(self._full, job, observe):
            return
        result.update(libraries=libraries, symbols=symbols)
        print("\n  Share of the daemon's processor time, sealing included (perf)")
        _table_of_shares("library", libraries, None, LIBRARIES, "{:.1%}")
        print()
        _table_of_shares("function", symbols, SYMBOLS, 0, "{:.1%}")

    def _watched(self, variant, job, observe):
        """Runs the job over each transport. Returns whether it could be observed."""
        for transport, system in variant.offloadfs.items():
            try:
                self._turn(variant, system, job, observe(transport, system))
            except Unavailable as e:
                system.stop()
                print(f"\n  left out: {e}", flush=True)
                return False
        return True

    def _draw(self):
        if not self._flame:
            return
        if not self._stacks:
            print("\n  no flame graph: there are no stacks", flush=True)
            return
        svg = flame.picture(
            self._stacks,
            f"offloadfs: {', '.join(self._jobs)}",
            "Width: processor time of the daemon, sealing included; callers are below.",
        )
        try:
            with open(self._flame, "w") as f:
                f.write(svg)
        except OSError as e:
            raise Failure(f"cannot draw '{self._flame}': {e}") from e
        print(f"\n  flame graph: {self._flame}", flush=True)


# --- Text -----------------------------------------------------------------------------------------


def _us(seconds):
    return f"{seconds * 1e6:.1f}"


def _listed(counts):
    return ", ".join(f"{name} {n:.2f}" for name, n in counts.items() if n >= SHOWN)


def _shares(stacks, key):
    total, shares = max(sum(stacks.values()), 1), collections.Counter()
    for stack, weight in stacks.items():
        shares[key(stack)] += weight / total
    return dict(shares)


def _table_of_shares(head, columns, count, least, form):
    """Makes a row for each of the names with the largest shares in any column."""
    most = collections.Counter()
    for shares in columns.values():
        for name, share in shares.items():
            most[name] = max(most[name], share)
    rows = [
        [name, *(form.format(shares.get(name, 0)) for shares in columns.values())]
        for name, share in most.most_common(count)
        if share >= least
    ]
    table([head, *columns], rows)
