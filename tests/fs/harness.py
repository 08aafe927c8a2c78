# SPDX-License-Identifier: MIT
"""Runs end-to-end tests on a mounted offloadfs and reports them in TAP version 13.

A test is a function decorated with @test that takes a Case. Each test runs in its own process
group, with its own directory, store and mountpoint, all of which are cleaned up however it ends.
See docs/TESTING.md.

Environment: OFFLOADFS, OFFLOAD (the binaries), OFFLOADFS_TEST_OPTS (-o options for every mount),
OFFLOADFS_TEST_SLOW (a factor for every time limit), OFFLOADFS_TEST_SANITIZED (the binaries are
built with a sanitizer), OFFLOADFS_TEST_JOBS (how many tests run at once), TMPDIR.
"""
import argparse
import contextlib
import ctypes
import errno
import faulthandler
import hashlib
import json
import multiprocessing.connection
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import traceback

SOURCE_ROOT = pathlib.Path(__file__).resolve().parents[2]
OFFLOADFS = os.path.abspath(os.environ.get("OFFLOADFS") or SOURCE_ROOT / "build" / "offloadfs")
OFFLOAD = os.path.abspath(os.environ.get("OFFLOAD") or SOURCE_ROOT / "build" / "offload")
# The developer's own settings must not affect tests.
os.environ["XDG_CONFIG_HOME"] = "/nonexistent"
for name in ("OFFLOAD_TASK", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "GEMINI_SESSION_ID"):
    os.environ.pop(name, None)
# On a busy machine the daemon may take longer to answer than the tools wait by default.
os.environ["OFFLOAD_TIMEOUT"] = "60"
SLOW = float(os.environ.get("OFFLOADFS_TEST_SLOW") or 1)
SANITIZED = bool(os.environ.get("OFFLOADFS_TEST_SANITIZED"))
JOBS = int(os.environ.get("OFFLOADFS_TEST_JOBS") or 2)
ROOT = os.geteuid() == 0
NOBODY = 65534

SEAL_SOON = "seal_delay=50"
SEAL_NEVER = "seal_delay=3600000"
SCAN_ALL = "search_time=60000"  # for every mount: a search says the same on any machine

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_AT_FDCWD = -100
_CLONE_NEWNS = 0x20000
_MS_REC, _MS_SLAVE = 0x4000, 0x80000
RENAME_NOREPLACE = 1
RENAME_EXCHANGE = 2
KEEP_SIZE = 1
PUNCH_HOLE = 2
ZERO_RANGE = 16


# --- Writing tests --------------------------------------------------------------------------------


class Skip(Exception):
    """Raised by a test that cannot run here. The message says why."""


class Interrupted(BaseException):
    """Raised on SIGTERM, SIGINT or SIGHUP."""


class Test:
    def __init__(self, name, function, arguments, timeout, root):
        self.name, self.function, self.arguments = name, function, arguments
        self.timeout, self.root = timeout, root


_tests = []


def test(function=None, *, variants=None, timeout=60, root=False):
    """
    Registers a test. With `variants` ({name: value}), registers one test per variant, which gets
    the value after the Case.
    """

    def register(f):
        for name, value in (variants or {None: None}).items():
            title = f.__name__ if name is None else f"{f.__name__}[{name}]"
            _tests.append(Test(title, f, () if name is None else (value,), timeout, root))
        return f

    return register(function) if function else register


@contextlib.contextmanager
def raises(*codes):
    """Fails unless the block raises OSError with one of these errno values."""
    names = " or ".join(errno.errorcode[c] for c in codes)
    try:
        yield
    except OSError as e:
        if e.errno not in codes:
            raise AssertionError(f"expected {names}, got {e}") from e
    else:
        raise AssertionError(f"expected {names}, got success")


def eventually(condition, what, seconds=20):
    """
    Polls until `condition()` is true and returns its value; fails after `seconds` (x SLOW) with
    `what`, or what that returns then.
    """
    deadline = time.monotonic() + seconds * SLOW
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            text = what() if callable(what) else what
            raise AssertionError(f"not within {seconds * SLOW:g} s: {text}")
        time.sleep(0.02)


def same(got, want, what="content"):
    """Fails unless the bytes are equal, and shows the first difference."""
    if got == want:
        return
    at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
    raise AssertionError(
        f"{what}: {len(got)} bytes, expected {len(want)}; first difference at {at}: "
        f"{got[at:at + 40]!r}, expected {want[at:at + 40]!r}"
    )


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def xattr(path, name):
    """Returns the value of user.offload.<name>, or None if it is not set."""
    try:
        return os.getxattr(path, "user.offload." + name).decode()
    except OSError as e:
        if e.errno != errno.ENODATA:
            raise
        return None


def renameat2(old, new, flags):
    result = _libc.renameat2(_AT_FDCWD, os.fsencode(old), _AT_FDCWD, os.fsencode(new), flags)
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), old, None, new)


def fallocate(fd, mode, at, size):
    if _libc.fallocate(fd, mode, ctypes.c_long(at), ctypes.c_long(size)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def run(*command, check=True, **options):
    """
    Runs a program and returns the CompletedProcess, with both outputs captured as bytes unless
    `options` say otherwise. With `check`, fails if the exit code is not 0.
    """
    options.setdefault("stdin", subprocess.DEVNULL if "input" not in options else None)
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    if options["stdin"] is None:
        del options["stdin"]
    done = subprocess.run([os.fspath(c) for c in command], **options)
    if check and done.returncode != 0:
        raise AssertionError(f"{command} exited with {done.returncode}: {done.stderr!r}")
    return done


def in_processes(count, work):
    """Runs work(0) to work(count - 1), each in a process of its own; fails if any raises."""
    children = [_fork(lambda i=i: work(i)) for i in range(count)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    assert not any(codes), f"processes ended with {codes}"


def as_nobody(work):
    """Runs work() unprivileged: in a child that drops root, or directly if the user is not root."""
    if not ROOT:
        return work()

    def demoted():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        work()

    code = os.waitstatus_to_exitcode(os.waitpid(_fork(demoted), 0)[1])
    assert code == 0, f"the unprivileged process ended with {code}"


def _fork(work):
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


# --- Mounts ---------------------------------------------------------------------------------------


def mount_points(below="/", kind=b""):
    """
    Returns the mountpoints below a directory in this process's namespace, in mount order; `kind`
    restricts them to one filesystem type.
    """
    with open("/proc/self/mountinfo", "rb") as f:
        fields = [line.split()[4] for line in f if b" - " + kind in line]
    points = [os.fsdecode(p.decode("unicode_escape").encode("latin-1")) for p in fields]
    return [p for p in points if p.startswith(below.rstrip("/") + "/")]


def _mount_id(fd):
    with open(f"/proc/self/fdinfo/{fd}") as f:
        return next(line for line in f if line.startswith("mnt_id:"))


def stop(pid):
    """Stops a process and waits until all its threads have stopped, which is not immediate."""
    threads = pathlib.Path(f"/proc/{pid}/task")

    def has_stopped():
        try:
            return all(b") T " in read(path) for path in threads.glob("*/stat"))
        except FileNotFoundError:  # a thread ended meanwhile
            return False

    os.kill(pid, signal.SIGSTOP)
    eventually(has_stopped, f"process {pid} has stopped")


@contextlib.contextmanager
def stopped(pid):
    """Stops a process for the duration of the block."""
    try:
        stop(pid)
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def is_alive(mnt):
    """Tells whether `mnt` is the root of a mount whose server answers."""
    try:
        fd = os.open(mnt, os.O_PATH | os.O_DIRECTORY)
    except OSError:
        return False
    above = os.open(os.path.dirname(mnt), os.O_PATH | os.O_DIRECTORY)
    try:
        # statfs on a root is the one query that the kernel never answers from a cache.
        os.fstatvfs(fd)
        return _mount_id(fd) != _mount_id(above)
    except OSError:
        return False
    finally:
        os.close(fd)
        os.close(above)


def detach(mnt, lazy=False):
    """Unmounts; returns whether that worked, and the error output otherwise."""
    said = ""
    commands = [["fusermount3", "-uz" if lazy else "-u", mnt]]
    if ROOT:
        commands.append(["umount", "-l", mnt] if lazy else ["umount", mnt])
    for command in commands:
        if not shutil.which(command[0]):
            continue
        done = run(*command, check=False)
        if done.returncode == 0:
            return True, ""
        said += done.stderr.decode(errors="replace")
    return False, said


def release(directory):
    """Unmounts everything in `directory`, lazily if necessary; returns an error text, or None."""
    deadline = time.monotonic() + 10
    while True:
        left = mount_points(directory)
        if not left:
            return None
        if time.monotonic() > deadline:
            return f"cannot unmount {left}"
        for point in reversed(left):
            detach(point)[0] or detach(point, lazy=True)


def uring_enabled():
    try:
        return pathlib.Path("/sys/module/fuse/parameters/enable_uring").read_text().strip() == "Y"
    except OSError:
        return False


class Mount:
    """One daemon and its mount. As a context manager, unmounts on exit and requires exit code 0."""

    def __init__(self, case, store, mnt, options):
        self.case, self.store, self.mnt = case, store, mnt
        given = [o for o in os.environ.get("OFFLOADFS_TEST_OPTS", "").split(",") if o]
        self.options = [SCAN_ALL, *given, *options]
        self.program = OFFLOADFS
        self.identity = {}  # user, group and extra_groups of the daemon, passed to Popen
        self.process = None
        self.log = None

    def __call__(self, *names):
        """Returns the path of a name in the mount."""
        return os.path.join(self.mnt, *names)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.process and kind is None:
            self.unmount()
        elif self.process:
            self.abandon()
        return False

    def launch(self, **environment):
        """Starts the daemon, with additions to its environment, and does not wait for the mount."""
        assert self.process is None
        command = [self.program, "-f"]
        if self.options:
            command += ["-o", ",".join(self.options)]
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command + [self.store, self.mnt],
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            env={**os.environ, **environment},
            **self.identity,
        )
        self.case.mounts.append(self)
        return self

    def serves(self):
        """Tells whether the daemon serves the mount."""
        return self.mnt in mount_points() and is_alive(self.mnt)

    def comes_up(self):
        """Waits until a launched daemon serves or has exited; returns whether it serves."""
        return eventually(
            lambda: (self.process.poll() is not None and "ended")
            or (self.serves() and "serves"),
            f"{self.mnt} is mounted",
        ) == "serves"

    def start(self):
        """Starts the daemon and waits until it serves. No dead mount may be left below."""
        self.launch()
        if not self.comes_up():
            raise AssertionError(
                f"the daemon ended with {self.process.returncode} before it served"
            )
        assert mount_points().count(self.mnt) == 1, "mounted over a mount that was left there"
        return self

    def wait(self):
        """Waits until the daemon exits by itself; returns its exit code."""
        code = self.process.wait(30 * SLOW)
        self._ended()
        return code

    def unmount(self):
        """Unmounts. The daemon must exit with 0."""
        said = ""

        def detached():
            nonlocal said
            done, said = detach(self.mnt)
            return done

        try:
            eventually(detached, "unmounted", 5)
        except AssertionError:
            raise AssertionError(f"cannot unmount: {said}") from None
        try:
            code = self.process.wait(30 * SLOW)
        except subprocess.TimeoutExpired:
            raise AssertionError("the daemon goes on after it was unmounted") from None
        self._ended()
        if code != 0:
            raise AssertionError(f"the daemon ended with {code} after it was unmounted")

    def kill9(self):
        """Kills the daemon. The dead mount stays, for the next start to clean up."""
        self.process.kill()
        code = self.process.wait()
        self._ended()
        assert code == -signal.SIGKILL, f"the daemon had ended with {code} before it was killed"
        eventually(lambda: not is_alive(self.mnt), "the mount of a dead daemon is dead", 5)
        assert self.mnt in mount_points(), "a killed daemon cannot have unmounted"

    def remount(self, *options):
        """Unmounts and mounts again; `options`, if any, replace the former ones."""
        self.unmount()
        self._set_options(options)
        return self.start()

    def crash(self, *options):
        """Kills the daemon and starts it again; `options`, if any, replace the former ones."""
        self.kill9()
        self._set_options(options)
        return self.start()

    def make(self, name, data=b""):
        """Writes a file, creating its directories, and returns its path."""
        path = self(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write(path, data)
        return path

    def wait_sealed(self, *paths):
        """Waits until the current content of each file is sealed."""
        for path in paths:
            sha = _sha256(path)
            eventually(lambda: xattr(path, "sha256") == sha, f"{path} is sealed", 30)

    def tidy(self):
        """Forces a checkpoint, which gives back space, by having something new sealed."""
        self.wait_sealed(self.make("cache/tidy", os.urandom(100)))

    def abandon(self):
        """Ends the mount and the daemon after a failure, and prints the daemon's output."""
        os.chdir("/")
        clean = detach(self.mnt)[0]
        clean or detach(self.mnt, lazy=True)
        try:
            self.process.wait(10 * SLOW if clean else 1)
        except subprocess.TimeoutExpired:
            print("the daemon did not end and was killed")
            self.process.kill()
            self.process.wait()
        self._ended()

    def _set_options(self, options):
        if options:
            self.options = Mount(self.case, None, None, options).options

    def _ended(self):
        self.case.mounts.remove(self)
        self.log.seek(0)
        said = self.log.read().decode(errors="replace")
        if said:
            print(
                f"--- the daemon on {self.mnt} (exit {self.process.returncode}) said:\n{said}---",
                flush=True,
            )
        self.log.close()
        self.process = self.log = None
        if "Sanitizer" in said or "runtime error:" in said:
            raise AssertionError("the daemon's sanitizer has something to say")


def _sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while block := f.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


class Case:
    """
    A test's working directory, with the paths of a store (not yet created) and a mountpoint in it.
    """

    def __init__(self, directory):
        self.dir = directory
        self.store = os.path.join(directory, "store")
        self.mnt = os.path.join(directory, "mnt")
        os.mkdir(self.mnt)
        self.mounts = []

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def mount(self, *options, store=None, mnt=None):
        return Mount(self, store or self.store, mnt or self.mnt, options).start()

    def open_to_others(self):
        """Gives other users access to the mountpoint."""
        os.chmod(self.dir, 0o711)
        for above in pathlib.Path(self.dir).parents:
            if not above.stat().st_mode & stat.S_IXOTH:
                raise Skip(f"{above} is closed to other users")


# --- Running tests --------------------------------------------------------------------------------


def _raise_interrupted(signum, _frame):
    raise Interrupted(signal.Signals(signum).name)


def _test_process(chosen, directory, result_fd, log_fd):
    """Runs one test in the child; writes (status, reason) to `result_fd`; nothing there: failed."""
    try:
        os.setsid()
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        os.dup2(log_fd, 1)
        os.dup2(log_fd, 2)
        faulthandler.register(signal.SIGUSR1, file=2, all_threads=True)
        for variable in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            given = os.environ.get(variable)
            os.environ[variable] = (
                given + ":" if given else ""
            ) + f"log_path={directory}/sanitizer"
        os.write(result_fd, json.dumps(_outcome(chosen, Case(directory))).encode())
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _outcome(chosen, case):
    """Runs the test and ends any mounts it left; returns (status, reason)."""
    status, reason = "fail", ""
    try:
        chosen.function(case, *chosen.arguments)
        status = "pass"
    except Skip as skip:
        status, reason = "skip", str(skip)
    except BaseException:
        traceback.print_exc()
    for mount in list(case.mounts):
        mount.abandon()
    return status, reason


def parent_of(pid):
    """Returns the parent of a process, or None if there is no such process."""
    with contextlib.suppress(OSError):
        return int(pathlib.Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])


def children_of(pid):
    return [int(p) for p in os.listdir("/proc") if p.isdigit() and parent_of(p) == pid]


def _collect_orphans():
    """Waits for background processes that the test left running; returns complaints."""
    complaints = []
    deadline = time.monotonic() + 10 * SLOW
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return complaints
        if pid and os.WIFEXITED(status) and os.WEXITSTATUS(status):
            complaints.append(
                f"process {pid}, left in the background, ended with {os.WEXITSTATUS(status)}"
            )
        elif not pid and time.monotonic() > deadline:
            for left in children_of(os.getpid()):
                complaints.append(f"process {left} was still running and was killed")
                with contextlib.suppress(ProcessLookupError):
                    os.kill(left, signal.SIGKILL)
            deadline += 5
        elif not pid:
            time.sleep(0.01)


def _wait(pid, seconds):
    """Waits for the test; returns a complaint if it had to be killed, or None."""
    deadline = time.monotonic() + seconds
    pause = 0.001
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGUSR1)  # dumps the stacks of its threads
            time.sleep(0.5)
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return f"killed after {seconds:g} s"
        time.sleep(pause)
        pause = min(pause * 2, 0.02)
    return None


def _run(chosen, keep):
    """Runs one test; returns (status, reason, output)."""
    if chosen.root and not ROOT:
        return "skip", "needs root", ""
    directory = os.path.realpath(tempfile.mkdtemp(prefix="offloadfs-test-"))
    sys.stdout.flush()
    complaints = []
    with tempfile.TemporaryFile() as result, tempfile.TemporaryFile() as log:
        pid = os.fork()
        if pid == 0:
            _test_process(chosen, directory, result.fileno(), log.fileno())
        try:
            complaints.append(_wait(pid, chosen.timeout * SLOW))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            complaints.append(release(directory))
            complaints += _collect_orphans()
            for report in sorted(pathlib.Path(directory).glob("sanitizer.*")):
                complaints.append(report.read_text(errors="replace"))
            if keep or mount_points(directory):
                print(f"# kept {directory}")
            else:
                complaints.append(_remove(directory))
        result.seek(0)
        log.seek(0)
        status, reason = json.loads(result.read() or b'["fail", ""]')
        text = log.read().decode(errors="replace")
    complaints = [c for c in complaints if c]
    return ("fail" if complaints else status), reason, "\n".join([text] + complaints)


def _remove(directory):
    """Removes a test's directory, whatever its modes; returns an error text, or None."""
    for folder, names, _ in os.walk(directory):
        for path in (os.path.join(folder, name) for name in names):
            with contextlib.suppress(OSError):
                if not os.path.islink(path):
                    os.chmod(path, 0o700)
    shutil.rmtree(directory, ignore_errors=True)
    return f"cannot remove {directory}" if os.path.exists(directory) else None


def isolate():
    """
    Moves to a private mount namespace, if allowed. Otherwise a namespace created elsewhere
    meanwhile would copy the mounts of a test, and a copy keeps the daemon running after the test
    has unmounted.
    """
    if not ROOT or _libc.unshare(_CLONE_NEWNS) != 0:
        return
    _libc.mount(b"none", b"/", None, _MS_REC | _MS_SLAVE, None)
    for copy in mount_points(kind=b"fuse.offloadfs"):
        detach(copy, lazy=True)


def adopt():
    """Makes this process adopt the orphans of its children, so that it can wait for them."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)


def prepare():
    """Prepares this process for running tests. Call once."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _raise_interrupted)
    adopt()
    isolate()


def end_with_parent():
    """Has this process receive SIGTERM when its parent ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def run_case(function, *arguments, timeout):
    """
    Runs function(case, *arguments) as a test; returns "pass", "fail" or "skip", and its output or
    the reason why it was skipped.
    """
    status, reason, text = _run(
        Test(function.__name__, function, arguments, timeout, False), False
    )
    return status, reason if status == "skip" else text


def run_once(function, *arguments, timeout):
    """Like run_case(), but returns whether the test passed, and its output."""
    status, text = run_case(function, *arguments, timeout=timeout)
    return status == "pass", text


def unable():
    """Returns why this user cannot run any test, or None."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK) or not shutil.which("fusermount3"):
        return "this user has no /dev/fuse or no fusermount3"
    return None


class Worker:
    """
    A process that runs one test after another. It has a private mount namespace, if allowed, and
    adopts the processes that its tests leave running, so that workers do not disturb each other.
    """

    def __init__(self, tests, keep):
        self.running = None
        self.connection, theirs = multiprocessing.Pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self._work(tests, keep, theirs)
            finally:  # also if a signal interrupts the cleanup
                os._exit(0)
        theirs.close()
        # Wait until the worker has its namespace. Namespaces copy the existing mounts, so none may
        # be created once a test runs.
        self.connection.recv()

    def _work(self, tests, keep, connection):
        """Runs, in the child, the tests whose numbers it receives."""
        try:
            prepare()
            signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is handled by the parent
            end_with_parent()
            self.connection.close()
            connection.send("ready")
            while True:
                started = time.monotonic()
                result = _run(tests[connection.recv()], keep)
                connection.send((*result, time.monotonic() - started))
        except (EOFError, Interrupted):
            pass
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()

    def give(self, number):
        self.running = number
        self.connection.send(number)

    def end(self):
        self.connection.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)


def _results(tests, keep, jobs):
    """Runs the tests, `jobs` at a time; yields (test, status, reason, text, seconds) for each."""
    workers = []
    try:
        for _ in range(min(jobs, len(tests))):
            workers.append(Worker(tests, keep))
        waiting = iter(range(len(tests)))
        busy = {}
        for worker in workers:
            worker.give(next(waiting))
            busy[worker.connection] = worker
        while busy:
            for connection in multiprocessing.connection.wait(list(busy)):
                worker = busy.pop(connection)
                yield (tests[worker.running], *connection.recv())
                number = next(waiting, None)
                if number is not None:
                    worker.give(number)
                    busy[connection] = worker
    finally:
        for worker in workers:
            worker.end()


def main():
    parser = argparse.ArgumentParser(description="TAP tests of a mounted offloadfs.")
    parser.add_argument("name", nargs="*", help="run only tests with one of these in their names")
    parser.add_argument("-l", "--list", action="store_true", help="list the tests")
    parser.add_argument(
        "-k", "--keep", action="store_true", help="keep the directories of the tests"
    )
    parser.add_argument("-j", "--jobs", type=int, default=JOBS, help="run so many at once")
    parser.add_argument("-t", "--times", action="store_true", help="show how long each test took")
    options = parser.parse_args()
    chosen = [t for t in _tests if not options.name or any(n in t.name for n in options.name)]
    if options.list:
        print("\n".join(t.name for t in chosen))
        return
    print("TAP version 13")
    if unable():
        print(f"1..0 # SKIP {unable()}")
        return
    if not os.access(OFFLOADFS, os.X_OK):
        print(f"Bail out! there is no daemon at {OFFLOADFS}: set OFFLOADFS")
        sys.exit(1)
    print(f"1..{len(chosen)}", flush=True)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _raise_interrupted)
    failed = 0
    try:
        with contextlib.closing(_results(chosen, options.keep, options.jobs)) as results:
            for number, (each, status, reason, text, seconds) in enumerate(results, 1):
                note = f" # SKIP {reason}" if status == "skip" else ""
                print(f"{'not ok' if status == 'fail' else 'ok'} {number} - {each.name}{note}")
                if options.times:
                    print(f"# {seconds:.1f} s")
                if status == "fail":
                    failed += 1
                    for line in text.strip().splitlines()[-200:]:
                        print(f"# {line}")
                sys.stdout.flush()
    except EOFError:
        print("Bail out! a worker of the tests ended early")
        sys.exit(1)
    except Interrupted as why:
        print(f"Bail out! {why}")
        sys.exit(1)
    sys.exit(1 if failed else 0)
