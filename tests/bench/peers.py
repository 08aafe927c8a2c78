# SPDX-License-Identifier: MIT
"""The systems that the speed benchmark compares: the plain filesystem, offloadfs, and its peers.

Each stores its files in a directory of its own below the same place, and so on the same disk. Only
the system whose turn it is runs: `start` mounts it, `stop` ends its daemon, and calling it returns
the path of a name in it.
"""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import harness
from measure import Daemon, Failure, drop_caches, memory, note, own_group, run, usage

URING, CLASSIC = "offloadfs, io_uring", "offloadfs, classic"
OTHERS = {URING: "other, io_uring", CLASSIC: "other, classic"}  # the same, of another build
_URING_PARAMETER = pathlib.Path("/sys/module/fuse/parameters/enable_uring")
_DROP_CACHES = "/proc/sys/vm/drop_caches"


def can_drop_caches():
    return os.access(_DROP_CACHES, os.W_OK)


def first_line(*command):
    """Returns the first line that a program prints, which is usually its version."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    lines = done.stdout.decode(errors="replace").splitlines()
    return lines[0].strip() if lines else ""


class System:
    """The common part of all systems. By itself it is a directory of the plain filesystem."""

    read_only = False
    has_slices = False
    version = ""

    def __init__(self, place, name):
        self.place, self.name = place, name
        self.dir = place.path("on-" + name.replace(", ", "-"))
        self.root = self.disk = os.path.join(self.dir, "files")
        self._memory = {}
        os.makedirs(self.disk)

    def __call__(self, *names):
        return os.path.join(self.root, *names)

    def start(self):
        """Starts a daemon that has read nothing yet, unless one is running."""

    def stop(self):
        """Ends the daemon, if there is one."""

    def cold(self):
        """Empties the memory of the kernel and the daemon."""
        self.stop()
        self.start()
        drop_caches()
        time.sleep(0.2)

    def rest(self, seconds):
        """Waits until the daemon has finished its background work."""

    def settle(self, seconds):
        """Leaves no dirty pages and no work of the daemon for the next measurement."""
        self.rest(seconds)
        os.sync()
        time.sleep(0.2)

    def pid(self):
        """Returns the daemon's process id, or None."""

    def take_memory(self):
        """
        Returns the largest memory of its daemons since the last call, in bytes: at their ends
        ("rss") and in between ("peak"). The system must be stopped.
        """
        memory, self._memory = self._memory, {}
        return memory

    def _note_memory(self):
        """Must be called before a daemon is ended."""
        if self.pid():
            for key, field in (("rss", "VmRSS"), ("peak", "VmHWM")):
                self._memory[key] = max(self._memory.get(key, 0), memory(self.pid(), field))

    def stored(self):
        """Returns the bytes on disk of everything it holds. It must be stopped."""
        return usage(self.disk)[0]


class Offloadfs(System):
    has_slices = True

    def __init__(self, place, name, transport, *options, program=harness.OFFLOADFS):
        super().__init__(place, name)
        self._program = program
        self._mnt = os.path.join(self.dir, "mnt")
        self._transport, self._options = transport, (transport, *options)
        self.root = os.path.join(self._mnt, "cache", "bench")
        self._daemon = None
        self.version = first_line(program, "--version")

    def start(self):
        if not self._daemon:
            self._daemon = Daemon(self.place, self.disk, self._mnt, self._options)
            self._daemon.program = self._program
            self._daemon.start()
            if self._uses_uring() != (self._transport == "io_uring"):
                raise Failure(f"{self.name}: '-o {self._transport}' did not choose the transport")
            os.makedirs(self.root, exist_ok=True)

    def stop(self):
        self._note_memory()
        daemon, self._daemon = self._daemon, None
        if daemon:
            daemon.unmount()

    def rest(self, seconds):
        self._daemon.rest(seconds, what=f"{self.name} to rest", until=self._all_sealed)

    def pid(self):
        return self._daemon.pid if self._daemon else None

    def _uses_uring(self):
        fds = f"/proc/{self.pid()}/fd"
        for fd in os.listdir(fds):
            with contextlib.suppress(OSError):
                if "io_uring" in os.readlink(f"{fds}/{fd}"):
                    return True
        return False

    def _all_sealed(self):
        with open(self._daemon(".offload", "status.json")) as f:
            return not json.load(f)["unsealed"]["files"]


class Peer(System):
    """A daemon of somebody else's. It stays in the foreground and ends when it is unmounted."""

    programs = ()

    def __init__(self, place, name):
        super().__init__(place, name)
        self.root = os.path.join(self.dir, "mnt")
        os.mkdir(self.root)
        self.process = None
        self.version = self.says_version()

    @classmethod
    def is_installed(cls):
        return all(shutil.which(program) for program in cls.programs)

    def command(self):
        raise NotImplementedError

    def says_version(self):
        return first_line(self.programs[0], "--version")

    def start(self):
        if self.process:
            return
        log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            self.command(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=own_group,
        )
        self.place.mounts.append(self)
        deadline = time.monotonic() + 30
        while not (self.root in harness.mount_points() and harness.is_alive(self.root)):
            if self.process.poll() is not None or time.monotonic() > deadline:
                log.seek(0)
                said = log.read().decode(errors="replace").strip()
                raise Failure(f"{self.name} does not mount: {said}")
            time.sleep(0.01)

    def stop(self):
        if not self.process:
            return
        self._note_memory()
        harness.eventually(lambda: harness.detach(self.root)[0], f"{self.name} is unmounted", 10)
        self.process.wait(30)
        self._ended()

    def abandon(self):
        """Ends the daemon after a failure."""
        harness.detach(self.root)[0] or harness.detach(self.root, lazy=True)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._ended()

    def pid(self):
        return self.process.pid if self.process else None

    def _ended(self):
        self.place.mounts.remove(self)
        self.process = None


class Bindfs(Peer):
    programs = ("bindfs",)

    def command(self):
        return ["bindfs", "-f", self.disk, self.root]


class Gocryptfs(Peer):
    programs = ("gocryptfs",)

    def __init__(self, place, name):
        super().__init__(place, name)
        self._password = os.path.join(self.dir, "password")
        pathlib.Path(self._password).write_text("benchmark\n")
        # Hashing the password is not to be measured.
        run("gocryptfs", "-init", "-q", "-scryptn", "10", "-passfile", self._password, self.disk)

    def command(self):
        return ["gocryptfs", "-fg", "-q", "-passfile", self._password, self.disk, self.root]

    def says_version(self):
        return first_line("gocryptfs", "-version")


class Squashfuse(Peer):
    """An image of the plain filesystem's files. There is nothing to mount before the first."""

    programs = ("squashfuse", "mksquashfs")
    read_only = True

    def __init__(self, place, name):
        # squashfuse_ll, which uses inodes, is the faster one but not always included.
        self._program = "squashfuse_ll" if shutil.which("squashfuse_ll") else "squashfuse"
        super().__init__(place, name)
        self._image = os.path.join(self.disk, "image")

    def command(self):
        return [self._program, "-f", self._image, self.root]

    def says_version(self):
        return first_line(self._program, "-V")

    def add(self, directory):
        """Adds a directory to the image."""
        self.stop()
        run(
            "mksquashfs", directory, self._image, "-comp", "zstd",
            "-keep-as-directory", "-no-progress", "-no-recovery", "-quiet",
        )  # fmt: skip


PEERS = {"bindfs": Bindfs, "gocryptfs": Gocryptfs, "squashfuse": Squashfuse}


def installed_peers(names):
    """Yields the installed ones of these peers. Reports the others."""
    for name in names:
        if PEERS[name].is_installed():
            yield name
        else:
            note(f"left out {name}, which is not installed (tools/bootstrap --bench)")


@contextlib.contextmanager
def uring_enabled(wanted):
    """If wanted and allowed, makes the kernel offer FUSE over io_uring during the block."""
    before = None
    with contextlib.suppress(OSError):
        if wanted and not harness.uring_enabled():
            before = _URING_PARAMETER.read_text()
            _URING_PARAMETER.write_text("Y")
    try:
        yield
    finally:
        if before is not None:
            with contextlib.suppress(OSError):
                _URING_PARAMETER.write_text(before)


def why_no_uring():
    """Returns why offloadfs cannot use io_uring, or None. Call within uring_enabled()."""
    if "without io_uring" in first_line(harness.OFFLOADFS, "--version"):
        return "offloadfs was built without it"
    if not harness.uring_enabled():
        return f"the kernel does not offer it, and only root can set {_URING_PARAMETER}"
    return None
