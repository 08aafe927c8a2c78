# SPDX-License-Identifier: MIT
"""What the speed benchmark does in each system, and the files it needs.

Removing many files makes the plain filesystem slow for minutes (docs/BENCHMARKS.md, speed). So each
workload creates files in a new directory, nothing is removed except by a workload, and the one that
removes many, `rm`, comes last.
"""
import os
import subprocess
import time

import harness
from measure import GIB, MIB, Failure, note, run

WORKLOAD = os.path.abspath(
    os.environ.get("OFFLOADFS_WORKLOAD") or harness.SOURCE_ROOT / "build" / "workload"
)
NEEDLE = "needle-in-hay"  # in one of each thousand files of workload.c
SLICE = 100
# The C locale, in which these programs are fastest.
_ENVIRONMENT = {**os.environ, "LC_ALL": "C"}


class Scale:
    """The amounts of everything."""

    def __init__(self, quick):
        self.small, self.medium, self.tree, self.many = (
            (500, 50, 1000, 2000) if quick else (10000, 2000, 10000, 100000)
        )
        self.by_1, self.by_8 = (100, 400) if quick else (1000, 4000)
        self.big = 32 * MIB if quick else GIB
        self.room = GIB if quick else 14 * GIB

    @property
    def big_text(self):
        return f"{self.big // GIB} GiB" if self.big >= GIB else f"{self.big // MIB} MiB"


# --- The clock ------------------------------------------------------------------------------------


def work(*arguments):
    """Returns what workload.c prints."""
    done = subprocess.run(
        [WORKLOAD, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode != 0:
        raise Failure(done.stderr.decode(errors="replace").strip())
    return done.stdout.split()


def timed(command, lines=None):
    """
    Returns the seconds from the start of a program to its end. Its output goes to a file in memory,
    since grep stops at the first match if it is /dev/null. It must have `lines` lines, if given.
    """
    output = os.memfd_create("output")
    try:
        seconds = run(*command, stdout=output, env=_ENVIRONMENT)
        if lines is not None:
            said = os.pread(output, MIB, 0).count(b"\n")
            if said != lines:
                raise Failure(f"'{command[0]} ... {command[-1]}' gave {said} lines, not {lines}")
        return seconds
    finally:
        os.close(output)


def load(program):
    """Loads a program and the shell into memory, since dropping the caches dropped them as well."""
    run("sh", "-c", 'exec "$1" --version', "sh", program)


# --- Required files -------------------------------------------------------------------------------


class Fixtures:
    """Files that are made once in each system and are at rest when they are read."""

    def __init__(self, scale):
        self._make = {
            "tree": ("create", scale.tree, 8192, 1),
            "many": ("create", scale.many, 1024, 2),
            "big": ("write", scale.big, 3),
        }
        self.lines = 0

    def make(self, name, system, plain):
        note(f"making {name} on {system.name}")
        if system.read_only:
            system.add(plain(name))
            return
        system.start()
        command, *numbers = self._make[name]
        said = work(command, system(name), *numbers)
        if name == "big":
            self.lines = int(said[1])


# --- Workloads ------------------------------------------------------------------------------------


class Workload:
    """
    `figures` maps the names of what it measures to their titles. `measure` finds the system
    started. Work that it leaves in the background is waited for afterwards.
    """

    needs = ()
    writes = False
    cold_only = False
    program = None

    def __init__(self, name, figures):
        self.name, self.figures = name, figures

    def measure(self, system, run_number, cold):
        """Returns the seconds by figure. `cold`: the caches can be dropped."""
        raise NotImplementedError


class Create(Workload):
    writes = True

    def __init__(self, name, title, files, size, seed, *how):
        super().__init__(name, {name: title})
        self._files, self._size, self._seed, self._how = files, size, seed, how

    def measure(self, system, run_number, cold):
        directory = system(f"{self.name}-{run_number}")
        seed = self._seed * 1000 + run_number
        said = work("create", directory, self._files, self._size, seed, *self._how)
        return {self.name: float(said[0])}


class Write(Workload):
    writes = True

    def __init__(self, scale):
        super().__init__("write", {"write": f"write {scale.big_text}, fsync"})
        self._size = scale.big

    def measure(self, system, run_number, cold):
        path = system("written")
        seconds = float(work("write", path, self._size, 9000 + run_number)[0])
        os.unlink(path)
        return {"write": seconds}


class Reading(Workload):
    """
    Reads something cold, again, and warm. The second time is neither cold nor warm: a filesystem
    may only then let the kernel keep what it reads.
    """

    def __init__(self, name, title, needs):
        hows = ("cold", "again", "warm")
        super().__init__(name, {f"{name}, {how}": f"{title}, {how}" for how in hows})
        self.needs = (needs,)

    def read(self, path):
        raise NotImplementedError

    def measure(self, system, run_number, cold):
        path = system(*self.needs)
        figures = {}
        if cold:
            system.cold()
            if self.program:
                load(self.program)
            figures[f"{self.name}, cold"] = self.read(path)
        else:
            self.read(path)
        for how in ("again", "warm"):
            figures[f"{self.name}, {how}"] = self.read(path)
        return figures


class Read(Reading):
    def __init__(self, scale):
        super().__init__("read", f"read {scale.big_text}", "big")

    def read(self, path):
        return float(work("read", path)[0])


class Tool(Reading):
    """A program over a tree. `command` is its command line, to which the tree is added."""

    def __init__(self, name, title, needs, *command):
        super().__init__(name, title, needs)
        self._command = command
        self.program = name

    def read(self, path):
        return timed([*self._command, path])


class Slice(Workload):
    needs = ("big",)
    cold_only = True

    def __init__(self, scale, fixtures):
        self.positions = (1, 50, 99)
        title = f"{SLICE} lines at {{}}% of {scale.big_text}"
        super().__init__("slice", {f"slice, {at}%": title.format(at) for at in self.positions})
        self._fixtures = fixtures

    def measure(self, system, run_number, cold):
        figures = {}
        for at in self.positions:
            first = max(self._fixtures.lines * at // 100 - SLICE, 1)
            last = first + SLICE - 1
            if system.has_slices:
                command = ["cat", system(f"big:{first}-{last}")]
            else:
                command = ["sed", "-n", f"{first},{last}p;{last}q", system("big")]
            system.cold()
            load(command[0])
            figures[f"slice, {at}%"] = timed(command, lines=SLICE)
        return figures


class Copy(Workload):
    needs = ("tree",)
    writes = True

    def __init__(self, title):
        super().__init__("cp", {"cp": title})

    def measure(self, system, run_number, cold):
        _walk(system("tree"), "-type", "f", "-exec", "cat", "{}", "+")
        load("cp")
        return {"cp": timed(["cp", "-r", system("tree"), system(f"copy-{run_number}")])}


class Remove(Workload):
    """Removes the copies that Copy made."""

    writes = True

    def __init__(self, title):
        super().__init__("rm", {"rm": title})

    def measure(self, system, run_number, cold):
        copy = system(f"copy-{run_number}")
        _walk(copy, "-size", "+1G")
        load("rm")
        return {"rm": timed(["rm", "-rf", copy])}


def _walk(*arguments):
    """Walks first, so that finding the files is not part of the measurement of a new daemon."""
    run("find", *arguments)
    time.sleep(0.2)


def workloads(scale, fixtures):
    """Returns all workloads, in the order in which they must run."""
    s, tree = scale, f"{scale.tree:,} files"
    synced = "create + fsync"
    find_all = 'exec find "$1" -size +1G'
    # One process that only reads: its output is not copied.
    cat_all = 'cd "$1" && exec cat */* >/dev/null'
    return [
        Create("create-4k", f"create {s.small:,} x 4 KB", s.small, 4096, 1),
        Create("create-64k", f"create {s.medium:,} x 64 KB", s.medium, 65536, 2),
        Create("fsync-1", f"{synced}, 1 writer, {s.by_1:,}", s.by_1, 4096, 3, 1, "fsync"),
        Create("fsync-8", f"{synced}, 8 writers, {s.by_8:,}", s.by_8, 4096, 4, 8, "fsync"),
        Write(scale),
        Read(scale),
        Tool("rg", f"rg over {tree}", "tree", "rg", "--no-config", "--no-ignore", NEEDLE),
        Tool("grep", f"grep -r over {tree}", "tree", "grep", "-r", NEEDLE),
        Tool("find", f"find -size over {tree}", "tree", "sh", "-c", find_all, "sh"),
        Tool("cat", f"cat of {tree}", "tree", "sh", "-c", cat_all, "sh"),
        Tool("ls", f"ls -lR over {scale.many:,} files", "many", "ls", "-lR"),
        Slice(scale, fixtures),
        Copy(f"cp -r of {tree}"),
        Remove(f"rm -rf of {tree}"),
    ]
