# SPDX-License-Identifier: MIT
"""Keeping processors awake while requests keep coming: its benefit and its cost."""
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import threading
import time

import harness
import peers
from measure import Failure, Place, busy_processors, heading, met, note, ratio_text, table
from speed_workloads import work

MODES = ("off", "on")
FILES = 3000
AIM_DAY, AIM_BUILD = 0.01, 1.01
RATE = 2000  # names looked up per second
SOURCE = pathlib.Path(__file__).resolve().parents[2] / "src" / "tree" / "config.c"


def add_arguments(parser):
    parser.add_argument("--runs", type=int, default=5, help="of each kind (default 5)")
    parser.add_argument(
        "--seconds", type=float, default=30, help="of an agent's work and of rest (default 30)"
    )
    parser.add_argument("--builds", type=int, default=100, help="of each kind (default 100)")
    parser.add_argument("--files", type=int, default=FILES, help=f"that are made (default {FILES})")


def wakeup():
    """Returns what doctor says about this machine's processors."""
    done = subprocess.run(
        [harness.OFFLOAD, "doctor", "--json"], stdin=subprocess.DEVNULL, capture_output=True
    )
    found = {c["name"]: c["found"] for c in json.loads(done.stdout)["checks"]}
    return found.get("wake-ups", "not known")


def guards(daemon):
    """Returns the processor time of the threads that keep processors awake, in seconds."""
    total = 0
    for task in pathlib.Path(f"/proc/{daemon.process.pid}/task").iterdir():
        with contextlib.suppress(OSError):
            if (task / "comm").read_text() == "awake\n":
                total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def measure(options):
    heading(f"awake: processors kept awake while requests come; medians of {options.runs} runs")
    found = wakeup()
    print(f"  {found}", flush=True)
    with peers.uring_enabled(True), Place() as place, contextlib.ExitStack() as stack:
        why = peers.why_no_uring()
        if why:
            raise Failure(f"FUSE over io_uring is needed: {why}")
        daemons = {
            mode: stack.enter_context(place.daemon(options=("io_uring", f"awake={mode}")))
            for mode in MODES
        }
        plain = place.path("plain")
        os.mkdir(plain)
        figures = {
            "at rest": _create(daemons, plain, options, "rest"),
            "under load": _loaded(daemons, plain, options),
        }
        costs = {
            "rest": _rest(daemons["on"], options.seconds),
            "agent": _agent(daemons["on"], options.seconds),
            "build": _build(daemons, place, options.builds),
        }
    rows = [
        [title, *(f"{each[name]:.0f} us" for name in each), ratio_text(each["on"] / each["off"])]
        for title, each in figures.items()
    ]
    table(["create 4 KB, a file", "plain", *MODES, "on / off"], rows)
    aims = {
        "rest": costs["rest"] == 0,
        "agent": costs["agent"] <= AIM_DAY,
        "build": costs["build"] <= AIM_BUILD,
    }
    print(
        f"\n  processor time at rest: {costs['rest']:.2%} of one: aim none: {met(aims['rest'])}"
        f"\n  while an agent works, a command each second: {costs['agent']:.3%} of one:"
        f" aim {AIM_DAY:.0%}: {met(aims['agent'])}"
        f"\n  a build on all processors while requests come: {costs['build']:.3f} times:"
        f" aim {AIM_BUILD}: {met(aims['build'])}"
    )
    return {"microseconds": figures, "costs": costs, "aims": aims, "wakeup": found}


def _create(daemons, plain, options, name):
    """Returns the median microseconds per file, by mode."""
    took = {"plain": [], **{mode: [] for mode in daemons}}
    for run in range(options.runs):
        note(f"creating, {name}, run {run + 1} of {options.runs}")
        for mode in sorted(took, reverse=run % 2):
            top = daemons[mode]("cache") if mode in daemons else plain
            os.makedirs(top, exist_ok=True)
            time.sleep(2)  # until the previous run's files are sealed
            seed = 2 * run + (name == "rest")
            made = float(work("create", f"{top}/{name}{run}", options.files, 4096, seed)[0])
            took[mode].append(made / options.files * 1e6)
    return {mode: statistics.median(seconds) for mode, seconds in took.items()}


def _loaded(daemons, plain, options):
    with busy_processors():
        return _create(daemons, plain, options, "load")


def _share(daemon, seconds, do):
    """Returns the guards' share of one processor while do() is called each second."""
    begin, before = time.monotonic(), guards(daemon)
    while time.monotonic() < begin + seconds:
        do()
        time.sleep(1)
    return (guards(daemon) - before) / (time.monotonic() - begin)


def _rest(daemon, seconds):
    daemon.rest(min(seconds, 12), what="sealing")
    return _share(daemon, seconds, lambda: None)


def _agent(daemon, seconds):
    """Stores a result, lists it and reads a part: more than an agent does in a second."""
    text = os.path.join(daemon("cache"), "result")

    def command():
        with open(text, "w") as f:
            f.write(f"{time.monotonic()} is a line of a result\n" * 400)
        os.listdir(daemon("cache"))
        subprocess.run(["tail", "-n", "3", text], stdout=subprocess.DEVNULL, check=True)

    return _share(daemon, seconds, command)


def _build(daemons, place, builds):
    """
    Compiles on each processor while a program keeps asking the daemon. Returns the time with
    processors kept awake, divided by that with processors that may halt.
    """
    compiler = shutil.which("cc")
    if not compiler:
        raise Failure("a compiler, 'cc', is needed")
    include = [f"-I{SOURCE.parents[1]}", f"-I{SOURCE.parents[2] / 'include'}"]
    command = [compiler, "-O1", "-D_GNU_SOURCE", "-DOFS_VERSION=\"\"", *include, "-c", str(SOURCE)]
    took = dict.fromkeys(daemons, 0)
    note(f"building, {builds} times")
    for build in range(builds):
        for mode in sorted(took, reverse=build % 2):
            with _asking(daemons[mode]("cache")):
                begin = time.monotonic()
                jobs = [
                    subprocess.Popen([*command, "-o", place.path(f"{job}.o")])
                    for job in range(2 * len(os.sched_getaffinity(0)))
                ]
                if any(job.wait() for job in jobs):
                    raise Failure(f"'{' '.join(command)}' failed")
                took[mode] += time.monotonic() - begin
    return took["on"] / took["off"]


@contextlib.contextmanager
def _asking(folder):
    """A thread looks up missing names, RATE times a second whatever each lookup takes."""
    end = threading.Event()

    def ask():
        n, due = 0, time.monotonic()
        while not end.wait(max(due - time.monotonic(), 0)):
            n, due = n + 1, max(due + 1 / RATE, time.monotonic() - 0.01)
            os.path.exists(f"{folder}/none-{n}")

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
