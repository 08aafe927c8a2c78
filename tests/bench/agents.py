# SPDX-License-Identifier: MIT
"""The cost of an agent's tree among many, compared with a store that has nothing else."""
import contextlib
import os
import pathlib
import statistics
import time

from corpus import SmallFiles, soup
from measure import KIB, MIB, Place, heading, met, note, ratio_text, run, size_text, table, time_text

RUNS = 25
REPORTS = 7  # runs for reports, each of which must be waited for
MEMORY_RUNS = 5
WALKS = 4  # how many of WAYS, from the start, are walks
AIM = 1.2
MEMORY_AIM = 1.1
FOLDERS = ["cache/web", "cache/shell", "tasks/fix/shell", "tasks/read/web", "persistent/notes"]
TAGGED = 5  # one in this many files is tagged
FRESH = 1.1  # seconds for which a report is kept


def add_arguments(parser):
    parser.add_argument(
        "agents", nargs="?", type=int, default=200, metavar="N", help="how many (default 200)"
    )
    parser.add_argument("--files", type=int, default=500, help="of each (default 500)")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"of each kind (default {RUNS})")


def measure(options):
    heading(
        f"agents: {options.agents} with {options.files} files each, in one store; the medians of"
        f" {options.runs} runs, in turn"
    )
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(Place())
        small, many, one = (stack.enter_context(place.daemon()) for _ in range(3))
        note(f"writing {(2 * options.agents + 1) * options.files} files")
        _fill(small, "", options.files)
        for n in range(options.agents):
            _fill(many, f"agents/a{n}", options.files)
            _fill(one, "", options.files, f"-{n}")
        for m in (small, many, one):
            m.rest(options.rest, what="sealing")
        trees = {
            "alone": small.mnt,
            "an agent": many(f"agents/a{options.agents // 2}"),
            "all in one": one.mnt,
        }
        times = _times(trees, options.runs)
        memory = _memory((many, one))
    medians = {
        what: {name: statistics.median(all_times) for name, all_times in by_tree.items()}
        for what, by_tree in times.items()
    }
    ratios = {what: m["an agent"] / m["alone"] for what, m in medians.items()}
    walks = max(list(ratios.values())[:WALKS])
    rows = [
        [what, *(time_text(m[name]) for name in trees), ratio_text(ratios[what])]
        for what, m in medians.items()
    ]
    table(["", "alone", "one of the agents", "all in one tree", "agent / alone"], rows)
    share = memory[many] / memory[one]
    print(
        f"\n  memory after a walk over all: {size_text(memory[many])}, in one tree"
        f" {size_text(memory[one])}: {share:.2f}"
        f"\n  aim: a walk of an agent's tree within {AIM} times the store alone: {met(walks <= AIM)}"
        f"\n  aim: memory within {MEMORY_AIM} times that of one tree: {met(share <= MEMORY_AIM)}"
    )
    return {
        "agents": options.agents,
        "files": options.files,
        "seconds": medians,
        "ratios": ratios,
        "memory": {"agents": memory[many], "one tree": memory[one]},
        "aims": {"time": walks <= AIM, "memory": share <= MEMORY_AIM},
    }


def _fill(m, tree, count, suffix=""):
    small = SmallFiles(soup(1 * MIB, 8))
    if tree:
        os.mkdir(m(tree))
    folders = [m(tree, folder + suffix) for folder in FOLDERS]
    for folder in folders:
        os.makedirs(folder)
    for i in range(count):
        path = os.path.join(folders[i % len(folders)], f"{i:06d}.txt")
        with open(path, "wb") as f:
            f.write(small.content(i)[: 2 * KIB])
        if i // len(folders) % TAGGED == 0:
            os.setxattr(path, "user.offload.tags", b"good")


def _forget_names():
    """Drops the kernel's names and attributes, so that it has to ask for all of them."""
    with contextlib.suppress(OSError):
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("2")


# From inside, as an agent does it: the kernel takes longer for a longer path to the tree.


def _find(root, n):
    return run("find", ".", "-printf", "%s %T@\n", cwd=root)


def _find_cold(root, n):
    _forget_names()
    return _find(root, n)


def _list(root, n):
    return run("ls", "-lR", cwd=root)


def _list_cold(root, n):
    _forget_names()
    return _list(root, n)


def _search(root, n):
    return _read(os.path.join(root, "search", "a word in these texts" + " " * n))


def _search_tag(root, n):
    return _read(os.path.join(root, "search", "tag:good" + " " * n))


def _view(root, n):
    """Changes something first, so that the list of the view is made again."""
    with open(os.path.join(root, "cache/changed"), "w") as f:
        f.write(str(n))
    begin = time.perf_counter()
    os.listdir(os.path.join(root, "views/by-tag/good"))
    return time.perf_counter() - begin


def _status(root, n):
    time.sleep(FRESH)
    return _read(os.path.join(root, ".offload/status.json"))


def _read(path):
    begin = time.perf_counter()
    with open(path, "rb") as f:
        f.read()
    return time.perf_counter() - begin


# The walks come first.
WAYS = {
    "find, with stat": _find,
    "find, with stat, cold": _find_cold,
    "ls -lR": _list,
    "ls -lR, cold": _list_cold,
    "search, words": _search,
    "search, tag:": _search_tag,
    "ls views/by-tag/good": _view,
    "status.json": _status,
}


def _times(trees, runs):
    times = {}
    for what, way in WAYS.items():
        note(what)
        times[what] = {name: [] for name in trees}
        for n in range(1 + (min(runs, REPORTS) if way is _status else runs)):
            for name, root in trees.items():
                if name == "all in one" and n != 1:
                    continue  # it takes long, and serves only for comparison
                seconds = way(root, n)
                if n:  # the first run is a warm-up
                    times[what][name].append(seconds)
    return times


def _memory(mounts):
    """Returns the medians of new daemons' peak memory during a walk. It may be freed later."""
    found = {m: [] for m in mounts}
    note("memory")
    for _ in range(MEMORY_RUNS):
        for m in mounts:
            m.unmount()
            m.start()
            run("find", m.mnt, "-printf", "%s %T@\n")
            found[m].append(m.memory("VmHWM"))
    return {m: statistics.median(all_sizes) for m, all_sizes in found.items()}
