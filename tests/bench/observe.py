# SPDX-License-Identifier: MIT
"""Observing a working daemon: its messages, threads, system calls and stacks."""
import collections
import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

from measure import own_group
from peers import Offloadfs

TICKS = os.sysconf("SC_CLK_TCK")
UNKNOWN = "?"
ENDED = "threads that ended"
OTHERS = "background, others"
FREQUENCY = 997  # samples per second of processor time
# The daemon and its libraries have no frame pointers, so this much of each stack is unwound.
CALL_GRAPH = "dwarf,4096"
_MESSAGE = re.compile(rb"unique: \d+, opcode: (\w+) \(")


class Unavailable(Exception):
    """A program is missing or may not observe. The text says why."""


# --- Messages -------------------------------------------------------------------------------------


class Talkative(Offloadfs):
    """A daemon that logs each message of the kernel."""

    def __init__(self, place, name, *options):
        super().__init__(place, name, "no_io_uring", "debug", *options)
        self._said = None

    def start(self):
        if not self._daemon:
            super().start()
            # The daemon's log is shown when it ends, and this one is long.
            self._said, self._daemon.log = self._daemon.log, tempfile.TemporaryFile()

    def stop(self):
        super().stop()
        if self._said:
            self._said.close()
            self._said = None

    @contextlib.contextmanager
    def messages(self):
        """Counts messages by opcode during the block."""
        counts = collections.Counter()
        log = self._said.fileno()
        begin = os.fstat(log).st_size
        yield counts
        # FORGET and RELEASE arrive a little later.
        time.sleep(0.3)
        # The daemon writes at this file's offset, which must not be moved.
        text = os.pread(log, os.fstat(log).st_size - begin, begin)
        counts.update(opcode.decode() for opcode in _MESSAGE.findall(text))


# --- Threads --------------------------------------------------------------------------------------


class Times(dict):
    """Processor time by thread: id to (group, exact seconds or None, user, system)."""

    def __init__(self, pid):
        tasks = f"/proc/{pid}/task"
        self.ended = sum(_ticks(f"/proc/{pid}"))
        for task in os.listdir(tasks):
            with contextlib.suppress(OSError):
                user, system = _ticks(f"{tasks}/{task}")
                self.ended -= user + system
                self[task] = _group(f"{tasks}/{task}"), _exact(f"{tasks}/{task}"), user, system

    def since(self, before):
        """Returns (user, system) by group since `before`."""
        groups = {}
        for task, (group, seconds, user, system) in self.items():
            _, seconds_before, user_before, system_before = before.get(task, ("", 0, 0, 0))
            used = user - user_before, system - system_before
            exact = sum(used) if seconds is None else seconds - seconds_before
            share = used[0] / sum(used) if sum(used) else 0
            _add(groups, group, exact * share, exact * (1 - share))
        ended = self.ended - before.ended
        if ended > len(self) / TICKS:  # otherwise no more than rounding errors
            _add(groups, ENDED, 0, ended)
        return groups


def _add(groups, name, user, system):
    before = groups.get(name, (0, 0))
    groups[name] = before[0] + user, before[1] + system


def add_times(one, other):
    groups = dict(one)
    for name, times in other.items():
        _add(groups, name, *times)
    return groups


def _ticks(directory):
    """Returns (user, system) seconds of a process or thread, in hundredths."""
    with open(f"{directory}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    return int(fields[11]) / TICKS, int(fields[12]) / TICKS


def _exact(directory):
    """Returns the seconds that a thread has used, to the nanosecond, or None if unknown."""
    try:
        with open(f"{directory}/schedstat") as f:
            return int(f.read().split()[0]) / 1e9
    except (OSError, IndexError):
        return None


def _group(directory):
    with open(f"{directory}/comm") as f:
        return group(f.read().strip())


def group(thread):
    """Returns the purpose of a thread, by its name."""
    for name in ("fuse-ring", "fuse_worker"):
        if thread.startswith(name):
            return f"requests, {name}"
    return OTHERS


# --- Watching programs ----------------------------------------------------------------------------


class _Watcher:
    """Runs a program that watches a process. Afterwards `result` has what it saw."""

    program = ""

    def __init__(self, pid, path):
        self.pid, self.path, self.result = pid, path, None
        self._process = None
        if not shutil.which(self.program):
            raise Unavailable(f"{self.program} is not installed (tools/bootstrap --bench)")

    def command(self):
        raise NotImplementedError

    def is_ready(self):
        """Returns True once it is watching."""
        raise NotImplementedError

    def read(self):
        """Returns what it saw, after it has ended."""
        raise NotImplementedError

    def __enter__(self):
        self._log = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            self.command(), stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            preexec_fn=own_group, **self.options(),
        )  # fmt: skip
        try:
            deadline = time.monotonic() + 20
            while not self.is_ready():
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise Unavailable(f"{self.program} cannot watch: {self._complaint()}")
                time.sleep(0.01)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind, value, trace):
        self._end()
        if kind is None:
            self.result = self.read()
        return False

    def options(self):
        return {}

    def _end(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _complaint(self):
        self._log.seek(0)
        lines = [s.strip() for s in self._log.read().decode(errors="replace").splitlines()]
        return next((s for s in lines if s and not s.startswith("Error:")), "it does not begin")


class Calls(_Watcher):
    """The system calls of all threads. The result is a Counter."""

    program = "strace"

    def command(self):
        return ["strace", "-f", "-c", "-S", "calls", "-o", self.path, "-p", str(self.pid)]

    def is_ready(self):
        tasks = f"/proc/{self.pid}/task"
        return all(_is_traced(f"{tasks}/{task}/status") for task in os.listdir(tasks))

    def read(self):
        counts = collections.Counter()
        with open(self.path) as f:
            for line in f:
                # % time, seconds, usecs/call, calls, perhaps errors, and the name
                fields = line.split()
                if len(fields) >= 5 and fields[3].isdigit() and fields[-1] != "total":
                    counts[fields[-1]] += int(fields[3])
        return counts


def _is_traced(path):
    with contextlib.suppress(OSError), open(path) as f:
        return any(s.startswith("TracerPid:") and s.split()[1] != "0" for s in f)
    return True  # it has ended


class Stacks(_Watcher):
    """
    Samples of what the processors execute. The result is a Counter of folded stacks (flame.py) in
    processor cycles, each below the group of its thread.
    """

    program = "perf"

    def __init__(self, pid, path):
        super().__init__(pid, path)
        self._control, self._ack = os.pipe(), os.pipe()
        self._enabled = False

    def command(self):
        # perf starts on a command, and confirms it.
        return [
            "perf", "record", "-q", "-F", str(FREQUENCY), "--call-graph", CALL_GRAPH, "-D", "-1",
            "--control", f"fd:{self._control[0]},{self._ack[1]}", "-o", self.path,
            "-p", str(self.pid),
        ]  # fmt: skip

    def options(self):
        return {"pass_fds": (self._control[0], self._ack[1])}

    def is_ready(self):
        if not self._enabled:
            os.write(self._control[1], b"enable\n")
            self._enabled = True
        return bool(select.select([self._ack[0]], [], [], 0)[0])

    def _end(self):
        super()._end()
        for fd in (*self._control, *self._ack):
            os.close(fd)

    def read(self):
        done = subprocess.run(
            ["perf", "script", "-i", self.path, "--no-inline", "-F", "comm,period,ip,sym,dso"],
            stdin=subprocess.DEVNULL, capture_output=True, check=False,
        )  # fmt: skip
        os.unlink(self.path)
        return fold(done.stdout.decode(errors="replace"))


def fold(script):
    """Returns the stacks in the output of `perf script`, whose frames are innermost first."""
    stacks = collections.Counter()
    for sample in script.split("\n\n"):
        head, *frames = sample.strip("\n").split("\n")
        thread, _, weight = head.strip().rpartition(" ")
        if weight.isdigit():
            names = [group(thread.strip())]
            for frame in map(_frame, reversed(frames)):
                # Functions of a stripped library have no names, so their number says nothing.
                if frame != names[-1] or not frame.startswith(UNKNOWN):
                    names.append(frame)
            stacks[";".join(names)] += int(weight)
    return stacks


def _frame(line):
    _, _, rest = line.strip().partition(" ")
    symbol, _, path = rest.rpartition(" (")
    name = symbol.replace(";", ",") if symbol != "[unknown]" else UNKNOWN
    return f"{name} ({library(path.removesuffix(')'))})"


def library_of(stack):
    """Returns the library of the innermost frame."""
    return stack.rpartition(" (")[2].removesuffix(")")


def library(path):
    if path.startswith("[") and path not in ("[unknown]", "[vdso]"):
        return "kernel"  # the kernel itself, or a module
    name = os.path.basename(path).strip("[]").partition(".so")[0]
    return UNKNOWN if name == "unknown" else name
