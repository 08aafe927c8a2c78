# SPDX-License-Identifier: MIT
"""Bare Debian systems in folders, for building and trying packages."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from common import Failure, quietly, say

MIRROR = "http://deb.debian.org/debian"
INSIDE = "OFFLOADFS_PACKAGE_NAMESPACES"
ENVIRONMENT = {
    "DEBIAN_FRONTEND": "noninteractive",
    "LC_ALL": "C.UTF-8",
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "TZ": "UTC",
}


def in_own_namespaces():
    """Restarts this program in new namespaces, so that its mounts and processes end with it."""
    if os.environ.get(INSIDE):
        return
    if os.geteuid() != 0:
        raise Failure("this needs root, for debootstrap, chroot and mount")
    for program, package in (("debootstrap",) * 2, ("unshare", "util-linux")):
        if not shutil.which(program):
            raise Failure(f"'{program}' is not installed: apt-get install {package}")
    os.environ[INSIDE] = "1"
    alone = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
    os.execvp(alone[0], [*alone, sys.executable, *sys.argv])


class Chroot:
    """A system in the folder `root`. Use in a `with` statement, after in_own_namespaces()."""

    def __init__(self, root, archives=None):
        """`archives` is a folder that keeps what apt-get downloads, for use by other systems."""
        self.root, self.archives = root, archives
        self.enter = ("chroot",)

    def __enter__(self):
        quietly("mount", "--bind", self.root, self.root)  # one umount then removes everything
        if not self.path("/dev/fuse").exists():  # accessible to everybody, as udev does it
            quietly("mknod", "-m", "666", self.path("/dev/fuse"), "c", "10", "229")
        quietly("mount", "-t", "proc", "proc", self.path("/proc"))
        if self.archives:
            (self.archives / "partial").mkdir(parents=True, exist_ok=True)
            quietly("mount", "--bind", self.archives, self.path("/var/cache/apt/archives"))
        shutil.copy("/etc/resolv.conf", self.path("/etc/resolv.conf"))
        return self

    def __exit__(self, *_):
        quietly("umount", "--recursive", "--lazy", self.root)

    def run(self, *command, user="root", cwd="/", env=(), input=""):
        """Runs a command in the system; returns its output and errors."""
        inside = ("sh", "-c", 'cd "$0" && exec "$@"', cwd, *command)
        environment = {**ENVIRONMENT, "HOME": home(user), "USER": user, **dict(env)}
        enter = (*self.enter, f"--userspec={user}", self.root)
        return quietly(*enter, *inside, env=environment, input=input)

    def apt(self, *words):
        return self.run("apt-get", "-q", "-y", *words)

    def path(self, name):
        """Returns the path outside the system of a file in it."""
        return self.root / name.lstrip("/")


def home(user):
    return "/root" if user == "root" else f"/home/{user}"


class Booted:
    """systemd as the first process of a Chroot, in a `with` statement; run() then runs within it.

    It has a cgroup of its own below the root of cgroup v2.
    """

    BOOT = """
        echo 0 >"$1/cgroup.procs"
        exec unshare --mount --cgroup --pid --fork --kill-child --mount-proc="$0/proc" sh -ec '
            umount "$0/sys/fs/cgroup" # the same one is not mounted twice
            mount -t cgroup2 cgroup2 "$0/sys/fs/cgroup"
            exec env -i PATH="$PATH" container=chroot \
                chroot "$0" /lib/systemd/systemd --unit=basic.target' "$0"
    """

    def __init__(self, system):
        self.system = system

    def __enter__(self):
        root = self.system.root
        quietly("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", root / "run")
        quietly("mount", "-t", "sysfs", "-o", "ro", "sysfs", root / "sys")
        quietly("mount", "--bind", root / "dev", root / "dev")  # or it mounts the machine's
        quietly("mount", "-t", "cgroup2", "cgroup2", root / "sys/fs/cgroup")
        self.cgroup = tempfile.mkdtemp(prefix="offloadfs-", dir=root / "sys/fs/cgroup")
        os.chmod(self.cgroup, 0o755)
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            ["sh", "-ec", self.BOOT, root, self.cgroup],
            env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
        )
        try:
            self.wait()
        except BaseException:
            self.__exit__()
            raise
        return self.system

    def first(self):
        """Returns the process that is number 1 inside, or "" if there is none."""
        if self.process.poll() is not None:
            return ""
        number = self.process.pid
        return pathlib.Path(f"/proc/{number}/task/{number}/children").read_text().strip()

    def wait(self):
        """Waits until systemd has finished booting."""
        said = ""
        for _ in range(240):
            time.sleep(0.5)
            if not self.first():
                continue
            self.system.enter = ("nsenter", "-m", "-p", "-C", "-t", self.first(), "chroot")
            try:
                self.system.run("systemctl", "is-system-running")
                return
            except Failure as failure:  # also while "starting"; "degraded" is good enough
                said = str(failure)
                if "degraded" in said:
                    return
        self.log.seek(0)
        raise Failure(f"systemd does not start:\n{self.log.read()}\n{said}")

    def __exit__(self, *_):
        self.system.enter = ("chroot",)
        if self.first():  # ends all others
            os.kill(int(self.first()), signal.SIGKILL)
        self.process.wait()
        for folder, _, _ in os.walk(self.cgroup, topdown=False):
            os.rmdir(folder)


def bare(suite, folder):
    """Returns the bare system in `folder`/`suite`, creating it if necessary. Copy it for use."""
    root = folder / suite
    if not root.exists():
        say(f"{suite}: running debootstrap, which takes minutes the first time")
        half = folder / f"{suite}.half"
        shutil.rmtree(half, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        quietly("debootstrap", "--variant=minbase", suite, half, MIRROR)
        # Skip syncing: whatever a crash destroys is simply made again.
        (half / "etc/dpkg/dpkg.cfg.d/unsafe-io").write_text("force-unsafe-io\n")
        half.rename(root)
    return root


def copy(system, to):
    """Copies a system that is not in use; returns the new folder `to`."""
    half = to.with_name(to.name + ".half")
    shutil.rmtree(half, ignore_errors=True)
    quietly("cp", "-a", "--reflink=auto", system, half)
    half.rename(to)
    return to
