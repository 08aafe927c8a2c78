# SPDX-License-Identifier: MIT
"""Shared by all benchmarks: a place to work, a daemon to watch, and tables to print."""
import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "fs"))

import harness  # noqa: E402

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30
_TICKS = os.sysconf("SC_CLK_TCK")
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)

# Daemons of stores with a million files take longer than those of tests.
harness.SLOW = max(harness.SLOW, 20)


class Failure(Exception):
    """A problem that the user can solve. The text says how."""


# --- Text -----------------------------------------------------------------------------------------


def size_text(n):
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if abs(n) >= unit:
            return f"{n / unit:.1f} {name}"
    return f"{n} B"


def time_text(seconds):
    if seconds < 1:
        return f"{seconds * 1000:.1f} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def ratio_text(ratio):
    if ratio < 0.1:
        return f"{ratio:.3f}"
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def met(condition):
    return "met" if condition else "NOT MET"


def table(heads, rows):
    """Prints rows in columns, the first aligned to the left, the others to the right."""
    rows = [[str(c) for c in row] for row in rows]
    widths = [max(len(r[i]) for r in [heads] + rows) for i in range(len(heads))]
    for row in [heads] + rows:
        cells = [row[0].ljust(widths[0])]
        cells += [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
        print("  " + "  ".join(cells).rstrip())
    sys.stdout.flush()


def heading(text):
    print(f"\n{text}\n", flush=True)


def note(text):
    """Tells a waiting user what is going on. Never part of the result."""
    print(f"... {text}", file=sys.stderr, flush=True)


class Progress:
    """A bar on a terminal, and nothing in a pipe. A context manager."""

    def __init__(self, what, total, unit=""):
        self._what, self._total, self._unit = what, max(total, 1), unit
        self._start = time.monotonic()
        self._shown = 0.0
        self._on = sys.stderr.isatty()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self._on:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        return False

    def show(self, done):
        now = time.monotonic()
        if not self._on or now - self._shown < 0.1:
            return
        self._shown = now
        passed = max(now - self._start, 0.001)
        share = min(done / self._total, 1)
        bar = ("#" * int(share * 30)).ljust(30)
        print(
            f"\r\033[K{self._what} [{bar}] {share:4.0%}  {done / passed:.0f} {self._unit}/s  "
            f"{passed:.0f} s",
            end="",
            file=sys.stderr,
            flush=True,
        )


# --- Disk -----------------------------------------------------------------------------------------


def usage(directory):
    """Returns (bytes on disk, sum of sizes) of a directory and everything in it."""
    disk = size = 0
    for folder, _, names in os.walk(directory):
        for path in [folder] + [os.path.join(folder, name) for name in names]:
            with contextlib.suppress(FileNotFoundError):
                st = os.lstat(path)
                disk += st.st_blocks * 512
                size += st.st_size
    return disk, size


def store_usage(store):
    """Returns the bytes on disk of a store and its parts, and the sum of its sizes as `sizes`."""
    disk, sizes = usage(store)
    parts = {"packs": 0, "index": 0, "journal": 0}
    for name in os.listdir(store):
        path = os.path.join(store, name)
        part = "index" if name.startswith("index") else name
        if part in parts:
            with contextlib.suppress(FileNotFoundError):
                parts[part] += usage(path)[0] if os.path.isdir(path) else _disk(path)
    return {"bytes": disk, **parts, "rest": disk - sum(parts.values()), "sizes": sizes}


def _disk(path):
    return os.lstat(path).st_blocks * 512


def drop_caches(*directories):
    """Makes the next reads of these directories come from the disk. Root drops all caches."""
    os.sync()
    for directory in directories:
        for folder, _, names in os.walk(directory):
            for name in names:
                fd = os.open(os.path.join(folder, name), os.O_RDONLY)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(fd)
    with contextlib.suppress(OSError):
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")


# --- The daemon -----------------------------------------------------------------------------------


def own_group():
    """Only this program gets ^C from the terminal. When it dies, the daemon unmounts."""
    os.setpgrp()
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


@contextlib.contextmanager
def busy_processors():
    """Runs a loop of normal priority on each processor."""
    loops = [
        subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=own_group)
        for _ in os.sched_getaffinity(0)
    ]
    try:
        time.sleep(0.5)
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


class Daemon(harness.Mount):
    """A mount whose daemon is watched. `opened` is the time from its start to a first stat."""

    program = harness.OFFLOADFS

    def start(self, known=""):
        assert self.process is None
        os.makedirs(self.mnt, exist_ok=True)
        command = [self.program, "-f"]
        if self.options:
            command += ["-o", ",".join(self.options)]
        self.log = tempfile.TemporaryFile()
        before = os.stat(self.mnt)
        begin = time.perf_counter()
        self.process = subprocess.Popen(
            command + [self.store, self.mnt],
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            preexec_fn=own_group,
        )
        self.case.mounts.append(self)
        path = self(known) if known else self.mnt
        while True:
            with contextlib.suppress(OSError):
                st = os.stat(path)
                if known or st.st_dev != before.st_dev:
                    break
            if self.process.poll() is not None:
                self.log.seek(0)
                said = self.log.read().decode(errors="replace").strip()
                raise Failure(f"the daemon ended with {self.process.returncode}: {said}")
            time.sleep(0.0005)
        self.opened = time.perf_counter() - begin
        return self

    @property
    def pid(self):
        return self.process.pid

    def memory(self, key="VmRSS"):
        return memory(self.pid, key)

    def cpu(self):
        """Returns the seconds of processor time that the daemon has used."""
        with open(f"/proc/{self.pid}/stat") as f:
            fields = f.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def rest(self, seconds, bound=3600, what="the store to rest", until=None):
        """
        Waits until the size of the store and the daemon's processor time have not changed for
        `seconds`, and `until` holds, if given. Returns the seconds before this quiet time.
        """
        begin = since = time.monotonic()
        state, used = usage(self.store), self.cpu()
        note(f"waiting for {what}")
        while True:
            time.sleep(min(0.25, seconds / 4))
            now = time.monotonic()
            new, cpu = usage(self.store), self.cpu()
            # A thread that only checks for work may use a tick now and then.
            if new != state or cpu - used > 0.05:
                state, used, since = new, cpu, now
            elif now - since >= seconds and (not until or until()):
                return since - begin
            if now - begin > bound:
                print(f"  {what}: not within {bound:g} s")
                return now - begin

    def wait_indexed(self, files, bound=600):
        """Waits until `files` files can be found by their content."""
        note("waiting for the index")
        deadline = time.monotonic() + bound
        while time.monotonic() < deadline:
            # A report does not change while it is looked up all the time.
            time.sleep(0.3)
            with open(self(".offload/status.json"), encoding="utf-8") as f:
                state = json.load(f)["search"]
            meaning = state.get("meaning", {"caught_up": True, "trouble": ""})
            if meaning["trouble"]:
                raise Failure(meaning["trouble"])
            if state["caught_up"] and state["files"] >= files and meaning["caught_up"]:
                return
        raise Failure(f"{files} files are not indexed after {bound} seconds")


def memory(pid, key="VmRSS"):
    """Returns bytes, or 0 once the process is gone."""
    try:
        with open(f"/proc/{pid}/status") as f:
            for line in f:
                if line.startswith(key + ":"):
                    return int(line.split()[1]) * KIB
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


class Watch:
    """Samples functions while a block runs. `max` has their largest values, by name."""

    def __init__(self, interval=0.02, **functions):
        self._interval, self._functions = interval, functions
        self.max = dict.fromkeys(functions, 0)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def _sample(self):
        while True:
            for name, function in self._functions.items():
                with contextlib.suppress(OSError):
                    self.max[name] = max(self.max[name], function())
            if self._stop.wait(self._interval):
                return

    def __enter__(self):
        self._begin = time.perf_counter()
        self._thread.start()
        return self

    def __exit__(self, kind, value, trace):
        self.seconds = time.perf_counter() - self._begin
        self._stop.set()
        self._thread.join()
        return False


# --- The place ------------------------------------------------------------------------------------


class Place:
    """A directory for one run, which ends with it, like everything mounted in it."""

    def __init__(self):
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="offloadfs-bench-"))
        self.mounts = []
        self._count = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        for mount in list(self.mounts):
            with contextlib.suppress(AssertionError, OSError):
                mount.abandon()
        complaint = harness.release(self.dir)
        if complaint:
            print(f"{complaint}: kept {self.dir}", file=sys.stderr)
        else:
            shutil.rmtree(self.dir, ignore_errors=True)
        return False

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def daemon(self, store=None, known="", options=()):
        """Starts a daemon on a store, by default a new one."""
        self._count += 1
        store = store or self.path(f"store-{self._count}")
        return Daemon(self, store, self.path(f"mnt-{self._count}"), options).start(known)

    def empty_store(self, mounted=True):
        """Returns the usage of a store that never held a file, with or without its daemon."""
        with self.daemon() as m:
            time.sleep(0.2)
            if not mounted:
                m.unmount()
            result = store_usage(m.store)
        shutil.rmtree(m.store)
        return result


def run(*command, **options):
    """Runs a program to its end. Returns the seconds it took."""
    begin = time.perf_counter()
    done = subprocess.run(
        [os.fspath(c) for c in command],
        stdin=subprocess.DEVNULL,
        stdout=options.pop("stdout", subprocess.DEVNULL),
        stderr=subprocess.PIPE,
        **options,
    )
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise Failure(f"'{command[0]}' exited with {done.returncode}: {said}")
    return time.perf_counter() - begin
