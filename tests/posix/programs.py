# SPDX-License-Identifier: MIT
"""What the tests with other people's programs share: programs, sources, users, comparison."""
import errno
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fs"))

from files import same_tree, snapshot  # noqa: E402
from harness import SOURCE_ROOT, Skip, in_processes, run, same  # noqa: E402

# Users that no machine has: nothing but their numbers is needed.
ALICE, BOB, TEAM = 61001, 61002, 61010

# What of the sources makes a tree worth working on: a few hundred files in some twenty folders.
SOURCES = ("src", "include", "tests/fs", "tests/unit", "docs")


def program(*names):
    """The first of these programs that is installed."""
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    raise Skip(f"{names[0]} is not installed (tools/bootstrap --test)")


def sh(command, cwd, **environment):
    """Runs a line of shell in a directory; returns its standard output."""
    env = {**os.environ, "LC_ALL": "C", **environment}
    return run("sh", "-ec", command, cwd=cwd, env=env).stdout


def start_python(code, *arguments):
    """Starts Python code as a process of its own, its standard output a pipe."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def source_tree(path):
    """Copies sources to `path`, which must not exist; they are older than whatever is made now."""
    for name in SOURCES:
        shutil.copytree(
            SOURCE_ROOT / name,
            os.path.join(path, name),
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    sh("find . -exec touch -d 2024-02-29T12:34:56.789012345 {} +", path)


def same_directories(one, other, but=()):
    """Two directories hold the same: names, kinds, contents, modes, owners, times, hard links."""

    def described(root):
        found = snapshot(root, identity=True)
        numbers = {}
        for name, (kind, content, *rest) in sorted(found.items()):
            *kept, ino, _ = rest
            # The number of a file, as the first of its names: another filesystem, other numbers.
            found[name] = (kind, content, *kept, numbers.setdefault(ino, name))
        return {n: d for n, d in found.items() if n not in but}

    same_tree(described(one), described(other))


class Twins:
    """
    Two directories that are worked on alike, an ordinary one and one in the mount. What a line of
    shell prints must be the same in both, and the directories themselves whenever compare() is
    called.
    """

    def __init__(self, plain, mounted):
        self.plain, self.mounted = plain, mounted

    def do(self, command):
        """Runs it in both; returns what it printed."""
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
    """Runs work() as another user, in a child of root's; it must return without an exception."""

    def demoted(_):
        os.setgroups(list(groups))
        os.setgid(uid if gid is None else gid)
        os.setuid(uid)
        work()

    in_processes(1, demoted)


def told(uid, work, gid=None, groups=()):
    """What work() returns as another user, as text."""
    into, out = os.pipe()

    def tell():
        os.write(out, repr(work()).encode())

    as_user(uid, tell, gid, groups)
    os.close(out)
    with open(into, "rb") as f:
        return f.read().decode()


def outcome(function, *arguments):
    """OK, or the error's name."""
    try:
        function(*arguments)
        return "OK"
    except OSError as e:
        return errno.errorcode[e.errno]
