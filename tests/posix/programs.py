# SPDX-License-Identifier: MIT
"""Shared by the tests with other people's programs: programs, sources, users, comparison."""
import errno
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fs"))

from files import same_tree, snapshot  # noqa: E402
from harness import SOURCE_ROOT, Skip, in_processes, run, same  # noqa: E402

# Users that exist on no machine. Only their numbers matter.
ALICE, BOB, TEAM = 61001, 61002, 61010

# Enough of the sources to work on: a few hundred files in about twenty directories.
SOURCES = ("src", "include", "tests/fs", "tests/unit", "docs")


def program(*names):
    """Returns the path of the first of these programs that is installed."""
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    raise Skip(f"{names[0]} is not installed (tools/bootstrap --test)")


def sh(command, cwd, **environment):
    """Runs a shell command in a directory. Returns its standard output."""
    env = {**os.environ, "LC_ALL": "C", **environment}
    return run("sh", "-ec", command, cwd=cwd, env=env).stdout


def start_python(code, *arguments):
    """Starts Python code in a process whose standard output is a pipe."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def source_tree(path):
    """Copies the sources to `path`, which must not exist. They are older than any new file."""
    for name in SOURCES:
        shutil.copytree(
            SOURCE_ROOT / name,
            os.path.join(path, name),
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    sh("find . -exec touch -d 2024-02-29T12:34:56.789012345 {} +", path)


def same_directories(one, other, but=()):
    """Two directories have the same names, kinds, contents, modes, owners, times and hard links."""

    def described(root):
        found = snapshot(root, identity=True)
        numbers = {}
        for name, (kind, content, *rest) in sorted(found.items()):
            *kept, ino, _ = rest
            # Inode numbers differ between filesystems: the first of a file's names stands for its
            # number.
            found[name] = (kind, content, *kept, numbers.setdefault(ino, name))
        return {n: d for n, d in found.items() if n not in but}

    same_tree(described(one), described(other))


class Twins:
    """
    An ordinary directory and one in the mount, treated alike. A shell command must print the same
    in both, and compare() requires that the directories are equal.
    """

    def __init__(self, plain, mounted):
        self.plain, self.mounted = plain, mounted

    def do(self, command):
        """Runs a command in both directories. Returns its output."""
        outputs = [self._run(command, d) for d in (self.plain, self.mounted)]
        same(outputs[1], outputs[0], f"output of {command!r}")
        return outputs[0]

    def _run(self, command, directory):
        env = {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=directory,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        said = done.stdout.replace(os.fsencode(directory), b"DIR")
        return said + b"exit %d\n" % done.returncode

    def compare(self):
        same_tree(snapshot(self.mounted), snapshot(self.plain))


def as_user(uid, work, gid=None, groups=()):
    """Runs work() in a child of root's as another user. It must return without an exception."""

    def demoted(_):
        os.setgroups(list(groups))
        os.setgid(uid if gid is None else gid)
        os.setuid(uid)
        work()

    in_processes(1, demoted)


def told(uid, work, gid=None, groups=()):
    """Returns the result of work() as another user, as text."""
    into, out = os.pipe()

    def tell():
        os.write(out, repr(work()).encode())

    as_user(uid, tell, gid, groups)
    os.close(out)
    with open(into, "rb") as f:
        return f.read().decode()


def outcome(function, *arguments):
    """Returns "OK" or the name of the error."""
    try:
        function(*arguments)
        return "OK"
    except OSError as e:
        return errno.errorcode[e.errno]
