# SPDX-License-Identifier: MIT
"""Runs xfstests in mounts of its own. docs/POSIX.md explains how to build it.

The suite needs two filesystems that mount(8) can mount, files at their roots, and special users. It
gets these in a mount namespace: a helper for mount(8) that shows cache/files of a store, and an
/etc/passwd and /etc/group with the users.
"""
import contextlib
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

import suites

import harness
from harness import OFFLOAD, OFFLOADFS, Skip, run

USERS = ("fsgqa", "123456-fsgqa", "fsgqa2")

# Run by mount(8) as STORE MOUNTPOINT -o OPTIONS -t TYPE. Like mount.fuse3, adds root's options.
MOUNT = """#!/bin/sh -e
case ",$4," in *,remount,*) exec mount -i -o "$4" "$2" ;; esac
mnt=$(mktemp -d {work}/mnt.XXXXXX)
{daemon} "$1" "$mnt" -o "dev,suid,$4"
mkdir -p "$mnt/cache/files"
mount --bind "$mnt/cache/files" "$2"
umount "$mnt"
rmdir "$mnt"
"""
# The suite names a filesystem by its source, which umount(8) would take for a mountpoint.
UMOUNT = """#!/bin/sh
for arg; do
    shift
    case $arg in {work}/test | {work}/scratch) arg={work}/mnt-${{arg##*/}} ;; esac
    set -- "$@" "$arg"
done
exec umount "$@"
"""
DF = """#!/bin/sh
df -T -P "$@" | sed 's/ fuse\\.offloadfs / fuse /'
"""
# Runs in a PID namespace, since tests kill processes by name. Waits for the last daemon to end.
CHECK = """
./check "$@" || status=$?
timeout 60 sh -c 'while pgrep -x offloadfs; do sleep 0.1; done' >/dev/null
exit ${status:-0}
"""
CONFIG = """
export FSTYP=fuse FUSE_SUBTYP=.offloadfs
export TEST_DEV={work}/test TEST_DIR={work}/mnt-test
export SCRATCH_DEV={work}/scratch SCRATCH_MNT={work}/mnt-scratch
export MOUNT_OPTIONS="-o {options}" TEST_FS_MOUNT_OPTS="-o {options}"
export DF_PROG={work}/df UMOUNT_PROG={work}/umount LOGGER_PROG=true
"""


def suite_in(directory):
    """Returns the suite in a directory. Raises ValueError unless it has been built."""
    suite = pathlib.Path(directory).resolve()
    if not (suite / "check").is_file() or not os.access(suite / "ltp" / "fsstress", os.X_OK):
        raise ValueError(f"'{directory}' holds no xfstests that is built: run make in its sources")
    return suite


def _script(path, text):
    path.write_text(text)
    path.chmod(0o755)


def _cover(path, text, work):
    """Replaces the content of a system file, in this mount namespace only."""
    other = work / path.name
    _script(other, text)
    run("mount", "--bind", other, path)


def _with_users(path, line):
    """Returns the lines of /etc/passwd or /etc/group, with one added for each user of the suite."""
    text = path.read_text()
    for number, name in enumerate(USERS, 61234):
        if not re.search(f"^{name}:", text, re.M):
            text += line.format(name=name, number=number)
    return text


def _prepare(work):
    """Sets up what the suite needs. Returns the environment for it."""
    before = os.readlink("/proc/self/ns/mnt")
    harness.isolate()
    if os.readlink("/proc/self/ns/mnt") == before:
        raise Skip("this user may not make a mount namespace")
    helper = shutil.which("mount.fuse")
    if not helper:
        raise Skip("there is no mount.fuse: install fuse3")
    for name in ("test", "scratch", "mnt-test", "mnt-scratch", "tmp"):
        (work / name).mkdir()
    (work / "tmp").chmod(0o1777)
    options = ["allow_other"]
    options += [o for o in os.environ.get("OFFLOADFS_TEST_OPTS", "").split(",") if o]
    daemon = shlex.quote(OFFLOADFS)
    _cover(pathlib.Path(helper).resolve(), MOUNT.format(work=work, daemon=daemon), work)
    passwd, group = pathlib.Path("/etc/passwd"), pathlib.Path("/etc/group")
    _cover(passwd, _with_users(passwd, "{name}:*:{number}:{number}::/tmp:/bin/bash\n"), work)
    _cover(group, _with_users(group, "{name}:*:{number}:\n"), work)
    _script(work / "umount", UMOUNT.format(work=work))
    _script(work / "df", DF)
    (work / "config").write_text(CONFIG.format(work=work, options=",".join(options)))
    return {
        **os.environ,
        "HOST_OPTIONS": str(work / "config"),
        "TMPDIR": str(work / "tmp"),
    }


def _kill_below(pid, kept=0):
    """Kills the descendants of a process, except for the first `kept` generations."""
    for child in harness.children_of(pid):
        _kill_below(child, max(kept - 1, 0))
        if not kept:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)


def _blocks(check, limit):
    """
    Yields the output of check for each test once it is complete, and finally the rest. A test that
    takes longer than `limit` seconds is killed.
    """
    started, block = [time.monotonic()], []
    ended = threading.Event()

    def watch():
        while not ended.wait(1):
            if time.monotonic() - started[0] > limit:
                started[0] = time.monotonic()
                _kill_below(check.pid, kept=2)  # keeps the shell and check itself

    threading.Thread(target=watch, daemon=True).start()
    for line in check.stdout:
        # check prints the name before it runs the test, so everything before this line is complete.
        if re.match(r"\w+/\d+\s|Ran: |Not run: ", line) and block:
            yield "".join(block)
            block = []
        block.append(line)
        # The next output is the name of the next test.
        started[0] = time.monotonic()
    ended.set()
    yield "".join(block)


def _outcome(text):
    """Returns the name of a test, its outcome and a text, from a block of output of check."""
    found = re.match(r"(\w+/\d+)\s+(.*)", text, re.S)
    if not found:
        return None
    name, said = found[1], found[2].strip()
    if said.startswith("[not run]"):
        return name, "skipped", said.removeprefix("[not run]").strip()
    if said.startswith("[expunged]"):
        return name, "excluded", suites.excluded("xfstests").get(name, "")
    if re.fullmatch(r"\d+s", said):
        return name, "passed", said
    return name, "failed", said


def xfstests(case, suite, tests, limit, results, report):
    """
    Runs tests of the suite, as root. Calls report(outcome, name, text) for each, and keeps what the
    suite writes in the directory `results`, if given. Both stores must verify afterwards.
    """
    case.open_to_others()
    work = pathlib.Path(case.dir)
    results = pathlib.Path(results or work / "results").resolve()
    check = subprocess.Popen(
        ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        + ["sh", "-c", CHECK, "check", "-E", suites.exclusions("xfstests"), *tests],
        cwd=suite,
        env={**_prepare(work), "RESULT_BASE": str(results)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    said = ""
    for said in _blocks(check, limit):
        outcome = _outcome(said)
        if outcome:
            report(outcome[1], outcome[0], outcome[2])
    check.wait()
    ran = (results / "generic").is_dir()
    for name in ("test", "scratch") if ran else ():
        found = run(OFFLOAD, "verify", work / name, check=False)
        if found.returncode:
            report("failed", f"verify {name}", (found.stdout + found.stderr).decode().strip())
    if not ran:
        sys.exit(f"check ended with {check.returncode}:\n{said}")
