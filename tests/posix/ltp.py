# SPDX-License-Identifier: MIT
"""Runs the file tests of the Linux Test Project in a mount. docs/POSIX.md explains how to build it.

LTP's own runner is a separate program. The lists that it reads (runtest/) have a name and a command
on each line, and all that counts is the exit status of the command.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import suites
from harness import OFFLOAD, run

LISTS = ("fs", "fs_bind", "fs_perms_simple", "syscalls")
# The calls in the list `syscalls` that work on files. A test's name is a call and a number.
CALLS = """
access chdir chmod chown chroot close_range copy_file_range creat dup execl execle execlp
execv execve execveat execvp faccessat fallocate fanotify fchdir fchmod fchmodat fchown fchownat
fcntl fdatasync fgetxattr file_attr flistxattr flock fpathconf fremovexattr fsetxattr fstat
fstatat fstatfs fsync ftruncate futimesat getcwd getdents getxattr inotify io_cancel io_destroy
io_getevents io_pgetevents io_setup io_submit io_uring ioctl_ficlone ioctl_ficlonerange
ioctl_fiemap lchown lgetxattr link linkat listxattr llistxattr llseek lremovexattr lseek lstat
mincore mkdir mkdirat mknod mknodat mmap mremap msync munmap name_to_handle_at nftw open
open_by_handle_at openat pathconf posix_fadvise pread preadv pwrite pwritev read
readahead readdir readlink readlinkat readv realpath remap_file_pages removexattr rename renameat
rmdir sendfile setxattr splice stat statfs statvfs statx symlink symlinkat sync sync_file_range
syncfs tee truncate umask unlink unlinkat ustat utime utimensat utimes vmsplice write writev
""".split()
# Marks tests whose metadata says that they make a filesystem of their own.
OTHER_FILESYSTEM = ("needs_device", "needs_rofs", "needs_overlay", "needs_devfs", "needs_hugetlbfs")
NOT_APPLICABLE = 32  # TCONF


def suite_in(directory):
    """Returns the directory in which LTP is installed. Raises ValueError if it is not there."""
    suite = pathlib.Path(directory).resolve()
    needed = [suite / "testcases" / "bin", suite / "metadata" / "ltp.json"]
    if not all(path.exists() for path in needed + [suite / "runtest" / n for n in LISTS]):
        raise ValueError(f"'{directory}' holds no LTP that was installed: see docs/POSIX.md")
    return suite


def _tests(suite, chosen):
    """Yields (name, command) of the tests that work on files, or those chosen by name or list."""
    for list_name in LISTS:
        for line in (suite / "runtest" / list_name).read_text().splitlines():
            name, command = (re.split(r"\s+", line.strip(), maxsplit=1) + [""])[:2]
            if not command or name.startswith("#"):
                continue
            call = re.match(r"[a-z_]*[a-z]", name)[0]
            on_files = list_name != "syscalls" or call in CALLS
            if name in chosen or (on_files and (not chosen or list_name in chosen)):
                yield name, command


def _other_filesystem(known, command):
    """Returns True if the program of a test makes its own filesystem."""
    program = re.sub(r"_(16|64)$", "", os.path.basename(command.split()[0]).removesuffix(".sh"))
    return any(known.get(program, {}).get(key) for key in OTHER_FILESYSTEM)


def _run(command, suite, folder, limit):
    """Runs one command and ends everything it has started. Returns its exit status and output."""
    binaries = suite / "testcases" / "bin"
    test = subprocess.Popen(
        ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", command],
        cwd=binaries,
        env={
            **os.environ,
            "LTPROOT": str(suite),
            "TMPDIR": folder,
            "PATH": f"{binaries}:{os.environ['PATH']}",
            "LTP_COLORIZE_OUTPUT": "n",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        said, late = test.communicate(timeout=limit)[0], ""
    except subprocess.TimeoutExpired:
        os.killpg(test.pid, signal.SIGKILL)
        said, late = test.communicate()[0], f"killed after {limit} s\n"
    return test.returncode, late + said.decode(errors="replace")


def _reason(said, kinds):
    lines = [line.strip() for line in said.splitlines() if any(kind in line for kind in kinds)]
    return "\n    ".join(lines[:10] or said.strip().splitlines()[-5:])


def ltp(case, suite, chosen, limit, report):
    """
    Runs LTP's file tests in a directory of the mount, as root, and calls report(outcome, name,
    text) for each. The store must verify afterwards.
    """
    case.open_to_others()
    known = json.loads((suite / "metadata" / "ltp.json").read_text())["tests"]
    excluded = suites.excluded("ltp")
    with case.mount("allow_other", "suid", "dev") as m:
        for name, command in _tests(suite, chosen):
            if name in excluded:
                report("excluded", name, excluded[name])
                continue
            if _other_filesystem(known, command):
                report("excluded", name, "works in a filesystem that it makes")
                continue
            folder = m("cache", name)
            os.mkdir(folder)
            os.chmod(folder, 0o1777)
            status, said = _run(command, suite, folder, limit)
            shutil.rmtree(folder, ignore_errors=True)
            if status == 0:
                report("passed", name, "")
            elif status == NOT_APPLICABLE:
                report("skipped", name, _reason(said, ["TCONF"]))
            else:
                report("failed", name, _reason(said, ["TFAIL", "TBROK", "killed after"]))
        found = run(OFFLOAD, "verify", m.mnt, check=False)
        if found.returncode:
            report("failed", "verify", (found.stdout + found.stderr).decode().strip())
