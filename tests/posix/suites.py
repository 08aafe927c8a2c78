# SPDX-License-Identifier: MIT
"""What tools/posix and the tests of this folder run in a mount: other people's suites, and
exercise.c.

Each function takes a Case of tests/fs/harness.py, mounts a fresh store, and raises AssertionError
if the filesystem misbehaves.

Environment: OFFLOADFS_EXERCISE (the program built from exercise.c), and that of the harness.
"""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fs"))

from harness import OFFLOAD, SLOW, SOURCE_ROOT, Skip, run  # noqa: E402

EXERCISE = os.path.abspath(
    os.environ.get("OFFLOADFS_EXERCISE") or SOURCE_ROOT / "build" / "exercise"
)

# Content is sealed, repacked and read back as often as possible.
BUSY = ("seal_delay=0", "journal_max=4", "scrub=1")

# The file stressors of stress-ng, with options that keep them small enough for a test.
STRESSORS = {
    "access": [],
    "aio": [],
    "aiol": [],
    "chattr": [],
    "chdir": [],
    "chmod": [],
    "chown": [],
    "copy-file": ["--copy-file-bytes", "128M"],
    "dentry": [],
    "dir": [],
    "dirdeep": [],
    "dirmany": [],
    "dnotify": [],
    "dup": [],
    "fallocate": ["--fallocate-bytes", "64M"],
    "fanotify": [],
    "fcntl": [],
    "fiemap": ["--fiemap-bytes", "16M"],
    "file-ioctl": [],
    "filename": [],
    "flock": [],
    "fpunch": [],
    "fsize": [],
    "fstat": [],
    "getdent": [],
    "handle": [],
    "hdd": ["--hdd-bytes", "64M"],
    "inode-flags": [],
    "inotify": [],
    "io": [],
    "iomix": ["--iomix-bytes", "64M"],
    "lease": [],
    "link": [],
    "locka": [],
    "lockf": [],
    "lockofd": [],
    "mknod": [],
    "mmap": ["--mmap-file", "--mmap-bytes", "32M"],
    "msync": ["--msync-bytes", "32M"],
    "open": [],
    "readahead": ["--readahead-bytes", "64M"],
    "rename": [],
    "revio": ["--revio-bytes", "64M"],
    "rmap": [],
    "seek": ["--seek-size", "64M"],
    "sendfile": [],
    "splice": [],
    "symlink": [],
    "sync-file": ["--sync-file-bytes", "64M"],
    "touch": [],
    "utime": [],
    "verity": [],
    "xattr": [],
}
# How much memory the daemon may keep after a stressor: free(3) returns only what lies at the end of
# a thread's arena.
MEMORY_MAX = 128 << 20


# --- Exclusions ---------------------------------------------------------------------------------


def exclusions(suite):
    """Returns the file of a suite's excluded tests, with NAME # REASON on each line."""
    return pathlib.Path(__file__).with_name(suite + ".exclude")


def excluded(suite):
    """Returns the excluded tests as {name: reason}."""
    lines = [line.partition("#") for line in exclusions(suite).read_text().splitlines()]
    return {name.strip(): reason.strip() for name, _, reason in lines if name.strip()}


# --- pjdfstest ------------------------------------------------------------------------------------


def read_tap(text):
    """Returns the number of tests that passed, and a line for each one that failed."""
    passed, failed, plan = 0, [], None
    for line in text.splitlines():
        if re.match(r"1\.\.\d+$", line):
            plan = int(line[3:])
        elif line.startswith("ok ") or re.match(r"not ok .*# TODO", line):
            passed += 1
        elif line.startswith("not ok "):
            failed.append(line)
    for _ in range((plan or passed + len(failed) + 1) - passed - len(failed)):
        failed.append("not ok: it ended too early")
    return passed, failed


def pjdfstest_in(directory):
    """Returns the suite in a directory. Raises ValueError unless it has been built."""
    suite = pathlib.Path(directory).resolve()
    if not os.access(suite / "pjdfstest", os.X_OK) or not (suite / "tests").is_dir():
        raise ValueError(f"'{directory}' holds no pjdfstest that is built: run make in its sources")
    return suite


def pjdfstest(case, suite, where, report):
    """
    Runs the suite in a directory of the mount, as root. Calls report(outcome, name, text, count)
    with the number of tests that passed in each file, and for each one that failed.
    """
    case.open_to_others()
    with case.mount("allow_other") as m:
        os.makedirs(m(where), exist_ok=True)

        def one(path):
            name = path.relative_to(suite / "tests").as_posix()
            folder = m(where, name.replace("/", "-"))
            os.mkdir(folder)
            os.chmod(folder, 0o755)
            done = run("sh", path, check=False, cwd=folder)
            return name, *read_tap(done.stdout.decode(errors="replace"))

        # The suite mostly sleeps while it waits for times to change.
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for name, passed, failed in pool.map(one, sorted((suite / "tests").rglob("*.t"))):
                report("passed", name, str(passed), passed)
                for line in failed:
                    report("failed", name, line)


# --- exercise.c -----------------------------------------------------------------------------------


# How many operations are done between two restarts of the daemon.
ROUND = 50000


def _exercise_round(m, case, ops, seed, files, arguments):
    """Each file has a process and an image of its own. Both go on in the next round."""
    running = [
        subprocess.Popen(
            [EXERCISE, "--ops", str(ops), "--seed", str(seed * files + number)]
            + ["--image", case.path(f"image{number}"), *arguments]
            + [m(f"cache/exercise/file{number}")],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        for number in range(files)
    ]
    codes = [each.wait() for each in running]
    assert not any(codes), f"exercise ended with {codes}, seeds from {seed * files}"


def exercise(
    case, ops, seed, options=BUSY, rounds=2, arguments=(), files=1, progress=lambda done: True
):
    """
    Exercises files with `ops` operations in total, a process for each, in `rounds` rounds. After
    each round the daemon is unmounted or killed, in turn, and progress(done) decides whether to go
    on. `arguments` are passed to the program. Returns the number of operations. The store must
    verify afterwards.
    """
    each = max(ops // rounds // files, 1)
    with case.mount(*options) as m:
        os.makedirs(m("cache/exercise"))
        for number in range(rounds):
            _exercise_round(m, case, each, seed * 1000000 + number, files, arguments)
            m.crash() if number % 2 else m.remount()
            done = each * files * (number + 1)
            if not progress(done):
                break
        # The daemon has been restarted: each file must still equal its image.
        _exercise_round(m, case, 1, seed, files, arguments)
        found = run(OFFLOAD, "verify", m.mnt, check=False)
        assert found.returncode == 0, (found.stdout + found.stderr).decode(errors="replace")
    return done


# --- stress-ng ------------------------------------------------------------------------------------


def _resident(pid):
    status = pathlib.Path("/proc", str(pid), "status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) << 10


def _forget_caches():
    """Makes the kernel drop its cached inodes and dentries, if root."""
    with contextlib.suppress(OSError):
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("2")


def _references(m):
    """Returns the number of inode references that the kernel holds, as counted by the daemon."""
    with open(m(".offload/status.json")) as f:
        return json.load(f)["memory"]["references"]


def _check_store(m, held):
    """Nothing of the stressor is left, and the store verifies."""
    left = [os.path.join(f, n) for f, d, names in os.walk(m("cache")) for n in d + names]
    assert left == [m("cache/stress")], f"left behind: {left[:10]}"
    deadline = time.monotonic() + 20 * SLOW
    _forget_caches()
    while (now := _references(m)) > held and time.monotonic() < deadline:
        time.sleep(0.3)
        _forget_caches()
    assert now <= held or not os.access("/proc/sys/vm/drop_caches", os.W_OK), (
        f"{now} references are held, {held} were before"
    )
    # Some references were to directories, which the kernel may have dropped before their last file.
    while (found := json.loads(run(OFFLOAD, "verify", "--json", m.mnt).stdout))["files"]:
        assert time.monotonic() < deadline, f"{found['files']} files are kept that have no name"
        time.sleep(0.3)
        _forget_caches()
    assert found["problems"] == 0, f"the store is damaged: {found}"


def _settled(pid, most):
    """Returns the daemon's memory when it is down to `most`, or a minute later."""
    deadline = time.monotonic() + 60 * SLOW
    while _resident(pid) > most and time.monotonic() < deadline:
        time.sleep(1)
    return _resident(pid)


def stress(case, name, seconds, memory=True):
    """
    Runs a stressor with two workers that check their own work. With `memory`, the daemon must then
    release the memory that it took.
    """
    if not shutil.which("stress-ng"):
        raise Skip("there is no stress-ng: tools/bootstrap --test installs it")
    with case.mount() as m:
        os.mkdir(m("cache/stress"))
        before, held = _resident(m.process.pid), _references(m)
        done = run(
            "stress-ng",
            *("--temp-path", m("cache/stress"), "--verify", "--timeout", f"{seconds:g}"),
            *("--" + name, "2", *STRESSORS[name]),
            check=False,
        )
        said = (done.stdout + done.stderr).decode(errors="replace")
        lines = [line for line in said.splitlines() if re.search(r"fail|error|skip", line)]
        if done.returncode == 0 and not any("skip" in line for line in lines):
            most = _resident(m.process.pid)
            _check_store(m, held)
            kept = _settled(m.process.pid, before + MEMORY_MAX) if memory else 0
            print(f"memory {before >> 10} kB, then {most >> 10} kB, at rest {kept >> 10} kB")
            assert kept <= before + MEMORY_MAX, "the daemon keeps too much memory"
            return
        reason = re.sub(r"^.*\] ", "", lines[0]) if lines else f"exit status {done.returncode}"
        # The exit status for what this machine or filesystem does not offer.
        if done.returncode in (0, 3, 4):
            raise Skip(reason)
        raise AssertionError(said)
