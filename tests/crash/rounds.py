# SPDX-License-Identifier: MIT
"""Shared by the crash tests: the amount of work, the tally for tools/crash, failpoints, rounds.

tools/crash sets these variables: OFFLOADFS_CRASH_ROUNDS (the number of rounds; default: the few of
an ordinary test run), OFFLOADFS_CRASH_LONG (everything instead of a sample), OFFLOADFS_CRASH_PART
(I/N: the Ith of N programs that share the work), OFFLOADFS_CRASH_SEED, OFFLOADFS_CRASH_REPORT (a
file that gets a line of JSON for each round), OFFLOADFS_CRASH_KEEP (a directory for the store of a
failed round).
"""
import collections
import contextlib
import json
import os
import pathlib
import random
import re
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fs"))

from harness import SOURCE_ROOT, Mount, detach, eventually, run  # noqa: E402

from workload import Difference  # noqa: E402

LONG = bool(os.environ.get("OFFLOADFS_CRASH_LONG"))
PART, PARTS = map(int, (os.environ.get("OFFLOADFS_CRASH_PART") or "0/1").split("/"))
SEED = os.environ.get("OFFLOADFS_CRASH_SEED") or str(random.SystemRandom().randrange(10**9))
LIMIT = 6 * 3600 if LONG or os.environ.get("OFFLOADFS_CRASH_ROUNDS") else 120


def rounds(few):
    """Returns the number of rounds to run, which is `few` in an ordinary test run."""
    return int(os.environ.get("OFFLOADFS_CRASH_ROUNDS") or few)


def seeded(name, each_part=False):
    """
    Returns the source of randomness for a test, the same in all parts unless `each_part`. Prints
    the settings that reproduce it.
    """
    print(f"OFFLOADFS_CRASH_SEED={SEED} OFFLOADFS_CRASH_PART={PART}/{PARTS}", flush=True)
    return random.Random(f"{SEED} {PART if each_part else ''} {name}")


def share(work):
    """Returns this program's share of a list."""
    return work[PART::PARTS]


def report(**numbers):
    """Adds to the tally. Keys: rounds, files, lost, corrupt, failed."""
    path = os.environ.get("OFFLOADFS_CRASH_REPORT")
    if path:
        with open(path, "a") as f:
            f.write(json.dumps(numbers) + "\n")


@contextlib.contextmanager
def kept(*paths):
    """If the block fails, counts the failure and keeps these files or directories."""
    try:
        yield
    except BaseException as e:
        kind = e.kind if isinstance(e, Difference) else "failed"
        report(**{kind: 1})
        folder = os.environ.get("OFFLOADFS_CRASH_KEEP")
        if folder:
            os.makedirs(folder, exist_ok=True)
            folder = tempfile.mkdtemp(prefix="failed-", dir=folder)
            run("cp", "-a", "--sparse=always", *filter(os.path.exists, paths), folder)
            print(f"kept in {folder}: {' '.join(os.listdir(folder))}")
        raise


# --- Daemons that die -----------------------------------------------------------------------------


def launch(case, *options, store=None, **environment):
    """Starts a daemon that may die at any moment."""
    return Mount(case, store or case.store, case.mnt, options).launch(**environment)


def kill(m, pause=0):
    """Kills the daemon after `pause` seconds. Returns True unless it had ended by itself."""
    time.sleep(pause)
    m.process.kill()
    return m.wait() == -signal.SIGKILL


def close(m):
    """Unmounts. The daemon may be dead, or die of it. Returns its exit code."""
    try:
        eventually(lambda: detach(m.mnt)[0], "unmounted", 5)
    except AssertionError:
        if m.process.poll() is None:
            raise
    return m.wait()


# --- Failpoints -----------------------------------------------------------------------------------

# Offered by the engine, but not used by any operation on a store.
UNUSED = {"io.rename"}


def failpoint_names():
    """Returns all failpoints that the sources name or the header lists."""
    header = (SOURCE_ROOT / "src/io/failpoint.h").read_text()
    promised = re.search(r"name +where: (.*?) remote\.", header, re.S)
    assert promised, "src/io/failpoint.h does not list the failpoints"
    names = set(re.findall(r"[a-z]+\.[a-z]+", promised.group(1)))
    for source in (SOURCE_ROOT / "src").rglob("*.c"):
        text = source.read_text()
        if "ofs_failpoint(" in text:
            names |= set(re.findall(r'ofs_failpoint\("([a-z.]+)"\)', text))
            names |= set(re.findall(r'"(io\.[a-z]+)"', text))
    return sorted(names)


def count_hits(log):
    """Counts how often each failpoint was met, from a log of notes."""
    hits = collections.Counter()
    with contextlib.suppress(FileNotFoundError):
        for line in pathlib.Path(log).read_text().splitlines():
            name, action = line.split("=")
            hits[name] += action.startswith("note@")
    return hits


def was_reached(log, fault):
    try:
        return fault in pathlib.Path(log).read_text().splitlines()
    except FileNotFoundError:
        return False


def spread(rng, hits, few):
    """Returns the hits to try: the first, the last and some between, or all in a long run."""
    if LONG or hits <= few:
        return list(range(1, hits + 1))
    return sorted([1, hits] + rng.sample(range(2, hits), few - 2))

