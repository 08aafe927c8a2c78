# SPDX-License-Identifier: MIT
"""The speed of offloadfs compared with the plain filesystem and other filesystems over FUSE."""
import argparse
import contextlib
import os
import platform
import shutil
import statistics
import subprocess

import awake
import harness
import peers
from measure import (
    Failure, Place, busy_processors, heading, met, note, ratio_text, size_text, table, time_text,
)  # fmt: skip
from peers import CLASSIC, URING
from speed_workloads import Fixtures, Scale, WORKLOAD, work, workloads

TRANSPORTS = {"io_uring": (URING, "io_uring"), "classic": (CLASSIC, "no_io_uring")}
STORAGE = "storage"
BOTH = (URING, CLASSIC)
# Figure, systems, and the largest multiple of the plain filesystem's time.
AIMS = (
    ("rg, warm", BOTH, 1.15),
    ("grep, warm", BOTH, 1.15),
    ("find, warm", BOTH, 1.15),
    ("cat, warm", BOTH, 1.15),
    ("rg, cold", BOTH, 1.0),
    ("cat, cold", BOTH, 1.0),
    ("create-4k", (URING,), 2.0),
    ("create-4k", (CLASSIC,), 6.0),
    ("fsync-8", BOTH, 0.7),
    ("write", BOTH, 1.5),
    ("read, cold", BOTH, 1.3),
    ("read, warm", BOTH, 1.1),
    ("cp", BOTH, 2.0),
    ("rm", (URING,), 2.0),
)
AIM_SLICE = 0.010  # seconds, wherever the lines are
AIM_SLICE_TIMES = 50  # times as fast as sed
# The slowest position compared with the fastest. At the first, sed reads next to nothing, either.
AIM_SLICE_SPREAD = 2
SLOW_CREATION = 30e-6  # seconds per file
REST = 1.0  # seconds after writing; REST_QUICK with --quick
REST_QUICK = 0.25
QUICK = (harness.SEAL_SOON,)


def add_arguments(parser):
    names = [w.name for w in workloads(Scale(False), None)] + [STORAGE]
    parser.add_argument("--runs", type=_count, metavar="N", help="medians of so many (default 5)")
    parser.add_argument(
        "--only", type=_names(names), metavar="WORKLOAD,...", help=f"of {', '.join(names)}"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--peers",
        type=_names(peers.PEERS),
        default=list(peers.PEERS),
        metavar="NAME,...",
        help=f"beside these (default: what is installed of {', '.join(peers.PEERS)})",
    )
    which.add_argument(
        "--no-peers", dest="peers", action="store_const", const=[], help="beside none of them"
    )
    parser.add_argument(
        "--transports",
        type=_names(TRANSPORTS),
        default=list(TRANSPORTS),
        metavar="NAME,...",
        help=f"of {', '.join(TRANSPORTS)} (default: both)",
    )
    parser.add_argument(
        "--other", metavar="PROGRAM", help="beside this build of offloadfs, too, in turns"
    )
    parser.add_argument(
        "--load", action="store_true", help="with a busy loop on each processor meanwhile"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small numbers and one run, to see that it works"
    )


def _count(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of runs")
    return int(text)


def _names(known):
    def parse(text):
        for name in text.split(","):
            if name not in known:
                raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(known)}")
        return text.split(",")

    return parse


def measure(options):
    if not os.access(WORKLOAD, os.X_OK):
        raise Failure(f"there is no program at '{WORKLOAD}': set OFFLOADFS_WORKLOAD")
    with peers.uring_enabled("io_uring" in options.transports), Place() as place:
        with busy_processors() if options.load else contextlib.nullcontext():
            return Speed(place, options).measure()


class Speed:
    """
    One run of the benchmark. `result` is written as JSON. The systems take turns within each run,
    in reverse order every other time, so that none always follows the same one.
    """

    def __init__(self, place, options):
        self._place = place
        self._rest = min(options.rest, REST_QUICK) if options.quick else options.rest
        self._runs = options.runs or (1 if options.quick else 5)
        self._scale = Scale(options.quick)
        self._fixtures = Fixtures(self._scale)
        self._only = set(options.only or ())
        if "rm" in self._only:
            self._only.add("cp")  # makes the copies that it removes
        self._cold = peers.can_drop_caches()
        self._workloads = list(self._chosen())
        self._filesystem = Filesystem(place.dir)
        self._plain = peers.System(place, self._filesystem.type)
        self._systems = [self._plain, *self._others(options)]
        self.result = {
            "quick": options.quick,
            "runs": self._runs,
            "cold": self._cold,
            "plain": self._plain.name,
            "systems": {s.name: s.version for s in self._systems},
            "machine": _machine(),
            "filesystem": vars(self._filesystem),
            "probe": {},
            "figures": {},
            "memory": {},
            "storage": {},
            "aims": {},
        }

    def measure(self):
        heading(
            f"speed: beside {self._plain.name}, medians of {self._runs} runs"
            + (", small numbers: only to see that it works" if self.result["quick"] else "")
        )
        self._look_around()
        self._make_fixtures()
        for workload in self._workloads:
            self._measure(workload)
        self._print()
        self._clean_up()
        return self.result

    # ---- Participants

    def _chosen(self):
        for workload in workloads(self._scale, self._fixtures):
            if self._only and workload.name not in self._only:
                continue
            if workload.cold_only and not self._cold:
                note(f"left out {workload.name}, which is for cold caches")
                continue
            if workload.program and not shutil.which(workload.program):
                note(f"left out {workload.name}, which is not installed")
                continue
            yield workload

    def _others(self, options):
        for transport in options.transports:
            why = peers.why_no_uring() if transport == "io_uring" else None
            if why:
                print(f"  left out offloadfs over io_uring: {why}", flush=True)
                continue
            name, option = TRANSPORTS[transport]
            chosen = [option, *(QUICK if options.quick else ())]
            yield peers.Offloadfs(self._place, name, *chosen)
            if options.other:
                name = peers.OTHERS[name]
                yield peers.Offloadfs(self._place, name, *chosen, program=options.other)
        for name in peers.installed_peers(options.peers):
            yield peers.PEERS[name](self._place, name)

    def _look_around(self):
        """Reports conditions that make these figures differ from those of a machine at rest."""
        free = shutil.disk_usage(self._place.dir).free
        if free < self._scale.room and not self._only:
            raise Failure(
                f"{size_text(self._scale.room)} are needed below '{self._place.dir}',"
                f" {size_text(free)} are free"
            )
        if not self._cold:
            print("  only root can drop the kernel's caches: nothing is measured cold", flush=True)
        print(f"  {awake.wakeup()}", flush=True)
        for peculiarity in self._filesystem.peculiarities():
            print(f"  this {self._plain.name} {peculiarity}", flush=True)
        self._probe()

    def _probe(self):
        files = 500
        os.sync()
        each = float(work("create", self._place.path("probe"), files, 4096, 4)[0]) / files
        self.result["probe"] = {"seconds_a_file": each, "slow": each > SLOW_CREATION}
        if each > SLOW_CREATION:
            print(
                f"  {self._plain.name} is slow at creating just now, {each * 1e6:.0f} us a file:"
                " ext4 without a journal looks at\n  each inode that was freed in the last five"
                " minutes. Ratios of whatever creates flatter all others.\n  Wait five minutes, or"
                " set TMPDIR to another filesystem.",
                flush=True,
            )

    # ---- Measuring

    def _make_fixtures(self):
        needed = {need for w in self._workloads for need in w.needs}
        stores = not self._only or STORAGE in self._only
        if stores:
            needed.add("tree")
        for name in ("tree", "many", "big"):
            for system in self._systems if name in needed else ():
                self._fixtures.make(name, system, self._plain)
                if not system.read_only:
                    system.settle(self._rest)
                system.stop()
                self._note_memory("making " + name, system)
                if name == "tree" and stores:
                    self.result[STORAGE][system.name] = system.stored()

    def _measure(self, workload):
        systems = [s for s in self._systems if not (workload.writes and s.read_only)]
        for number in range(self._runs):
            note(f"{workload.name}, run {number + 1} of {self._runs}")
            for system in systems[:: -1 if number % 2 else 1]:
                seconds = self._turn(system, workload, number)
                for figure, value in seconds.items():
                    self._figure(workload, figure).setdefault(system.name, []).append(value)

    def _turn(self, system, workload, number):
        system.start()
        os.sync()
        result = workload.measure(system, number, self._cold)
        if workload.writes:
            system.settle(min(self._rest, REST))
        system.stop()
        self._note_memory(workload.name, system)
        return result

    def _clean_up(self):
        """Removes everything in parallel, since the disk may delay each removal."""
        note("removing all that was made")
        paths = [os.path.join(s.disk, name) for s in self._systems for name in os.listdir(s.disk)]
        for removal in [subprocess.Popen(["rm", "-rf", path]) for path in paths]:
            removal.wait()

    def _figure(self, workload, figure):
        """Returns the seconds by system."""
        new = {"title": workload.figures[figure], "seconds": {}}
        return self.result["figures"].setdefault(figure, new)["seconds"]

    def _note_memory(self, name, system):
        taken = system.take_memory()
        most = self.result["memory"].setdefault(name, {}).setdefault(system.name, taken)
        for key, value in taken.items():
            most[key] = max(most.get(key, 0), value)

    # ---- Printing

    def _print(self):
        for figure in self.result["figures"].values():
            medians = {name: statistics.median(s) for name, s in figure["seconds"].items()}
            figure["median"] = medians
            plain = medians[self._plain.name]
            figure["ratio"] = {name: median / plain for name, median in medians.items()}
            figure["spread"] = {name: self._spread(figure, name) for name in medians}
            figure["other"] = dict(self._beside_other(figure))
        self._print_ratios()
        self._print_beside_other()
        self._print_slices()
        self._print_storage()
        self._print_memory()
        self._print_aims()

    def _spread(self, figure, name):
        """Returns the smallest and the largest ratio of a single run."""
        ratios = self._ratios(figure, name, self._plain.name)
        return [min(ratios), max(ratios)]

    def _ratios(self, figure, name, other):
        return [a / b for a, b in zip(figure["seconds"][name], figure["seconds"][other])]

    def _beside_other(self, figure):
        """Yields the sorted ratios to the other build, by transport."""
        for name, other in peers.OTHERS.items():
            if name in figure["median"] and other in figure["median"]:
                yield name, sorted(self._ratios(figure, name, other))

    def _print_ratios(self):
        names = [s.name for s in self._systems]
        rows = []
        for key, figure in self.result["figures"].items():
            if key.startswith("slice"):
                continue
            cells = [self._ratio(figure, name) for name in names[1:]]
            rows.append([figure["title"], time_text(figure["median"][names[0]]), *cells])
        if rows:
            table(["times the plain filesystem", *names], rows)

    def _ratio(self, figure, name):
        if name not in figure["ratio"]:
            return ""
        text = ratio_text(figure["ratio"][name])
        if self._runs > 1:
            text += " ({} to {})".format(*map(ratio_text, figure["spread"][name]))
        return text

    def _print_beside_other(self):
        figures = [f for f in self.result["figures"].values() if f["other"]]
        if not figures:
            return
        names = list(figures[0]["other"])
        rows = []
        for figure in figures:
            ratios = figure["other"].values()
            texts = [map(ratio_text, (statistics.median(r), r[0], r[-1])) for r in ratios]
            rows.append([figure["title"], *("{} ({} to {})".format(*text) for text in texts)])
        print("\n  Times the other build: the median of the runs' ratios")
        table(["", *names], rows)

    def _slices(self):
        return {k: f for k, f in self.result["figures"].items() if k.startswith("slice")}

    def _print_slices(self):
        names = [s.name for s in self._systems]
        rows = []
        for figure in self._slices().values():
            medians, plain = figure["median"], figure["median"][self._plain.name]
            cells = [time_text(plain)]
            for name in names[1:]:
                times = f" ({plain / medians[name]:.0f}x)" if name in BOTH else ""
                cells.append(time_text(medians[name]) + times)
            rows.append([figure["title"], *cells])
        if rows:
            print("\n  Lines of a large file, cold: FILE:FIRST-LAST on offloadfs, else sed")
            table(["(so many times as quick)", *names], rows)

    def _print_storage(self):
        if self.result[STORAGE]:
            plain = self.result[STORAGE][self._plain.name]
            print(f"\n  On disk, {self._scale.tree:,} files of 8 KB")
            table(
                ["", "bytes", "of the plain filesystem"],
                [[name, n, f"{n / plain:.2f}"] for name, n in self.result[STORAGE].items()],
            )

    def _print_memory(self):
        names = [s.name for s in self._systems[1:]]
        rows = []
        for workload, memory in self.result["memory"].items():
            peaks = [memory.get(name, {}).get("peak", 0) for name in names]
            rows.append([workload, *(size_text(p) if p else "" for p in peaks)])
        print("\n  Memory of the daemons, at most")
        table(["", *names], rows)

    def _print_aims(self):
        rows = []
        for title, figure, limit, good in self._judged():
            self.result["aims"][title] = good
            rows.append([title, limit, figure, met(good)])
        if rows:
            print()
            table(["aim", "limit", "figure", ""], rows)

    def _judged(self):
        figures = self.result["figures"]
        for key, names, limit in AIMS:
            for name in names:
                ratio = figures.get(key, {}).get("ratio", {}).get(name)
                if ratio is not None:
                    title = f"{figures[key]['title']}: {name}"
                    yield title, ratio_text(ratio), f"<= {limit}", ratio <= limit
        slices = list(self._slices().values())
        for name in BOTH if slices else ():
            if name not in slices[0]["median"]:
                continue
            own = [f["median"][name] for f in slices]
            slowest, spread = max(own), max(own) / min(own)
            times = min(1 / f["ratio"][name] for f in slices[1:])
            yield (
                f"a slice anywhere: {name}", time_text(slowest), f"< {time_text(AIM_SLICE)}",
                slowest < AIM_SLICE,
            )  # fmt: skip
            yield (
                f"... times as quick as sed, from 50%: {name}", f"{times:.0f}",
                f">= {AIM_SLICE_TIMES}", times >= AIM_SLICE_TIMES,
            )  # fmt: skip
            yield (
                f"... slowest to quickest position: {name}", f"{spread:.2f}",
                f"<= {AIM_SLICE_SPREAD}", spread <= AIM_SLICE_SPREAD,
            )  # fmt: skip


# --- The machine ----------------------------------------------------------------------------------


class Filesystem:
    """The filesystem of a directory: type, mount options, and whether ext4 has a journal."""

    def __init__(self, directory):
        command = ["findmnt", "-n", "-o", "FSTYPE,OPTIONS,SOURCE", "-T", directory]
        said = subprocess.run(command, capture_output=True, check=False).stdout.decode().split()
        self.type, self.options, source = said[:3] if len(said) >= 3 else ("plain", "", "")
        self.journal = None
        if self.type == "ext4" and os.path.isdir("/proc/fs/ext4"):
            device = os.path.basename(os.path.realpath(source)) + "-"
            journals = os.listdir("/proc/fs/jbd2") if os.path.isdir("/proc/fs/jbd2") else []
            self.journal = any(name.startswith(device) for name in journals)

    def peculiarities(self):
        """Yields what makes it faster or slower than usual."""
        if self.journal is False:
            yield "has no journal: it creates and syncs more quickly than it would with one"
            if "discard" in self.options.split(","):
                yield "discards at once what is freed: removing waits for the disk each time"


def _machine():
    processor = ""
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                processor = line.partition(":")[2].strip()
                break
    versions = {
        program: peers.first_line(program, "--version")
        for program in ("rg", "grep", "find", "cat", "sed")
        if shutil.which(program)
    }
    return {
        "processor": processor or platform.machine(),
        "processors": os.cpu_count(),
        "memory": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "programs": versions,
    }
