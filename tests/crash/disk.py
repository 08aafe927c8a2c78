# SPDX-License-Identifier: MIT
"""A small disk for a test: an ext4 in a file that can lose its power."""
import errno
import fcntl
import os
import struct

from harness import Skip, eventually, run

_EXT4_IOC_SHUTDOWN = 0x8004587D
_NOLOGFLUSH = 2


class Disk:
    """
    An ext4 of `mib` MiB, mounted at `path`. The last unmount frees the loop device, and the harness
    unmounts whatever a test leaves.
    """

    def __init__(self, case, mib):
        self.image, self.path = case.path("image"), case.path("disk")
        if not os.path.exists("/dev/loop-control"):
            raise Skip("there are no loop devices")
        os.makedirs(self.path, exist_ok=True)
        self.make(mib)

    def make(self, mib):
        if os.path.exists(self.image):
            os.unlink(self.image)
        with open(self.image, "wb") as f:
            f.truncate(mib << 20)
        run("mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-E", "nodiscard", self.image)
        self.mount()

    def mount(self):
        done = run("mount", "-o", "loop", self.image, self.path, check=False)
        if done.returncode != 0:
            raise Skip(f"cannot mount a disk image: {done.stderr.decode().strip()}")

    def unmount(self):
        eventually(lambda: run("umount", self.path, check=False).returncode == 0, "unmounted")

    def shut_down(self):
        """Cuts the disk off: nothing reaches it any more, not even data waiting in memory."""
        fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(fd, _EXT4_IOC_SHUTDOWN, struct.pack("I", _NOLOGFLUSH))
        except OSError as e:
            if e.errno in (errno.ENOTTY, errno.EOPNOTSUPP):
                raise Skip("this ext4 cannot be shut down") from e
            raise
        finally:
            os.close(fd)

    def is_dead(self):
        """Returns True if writing fails as it does after shut_down()."""
        try:
            with open(os.path.join(self.path, "probe"), "wb") as f:
                f.write(b"x")
        except OSError as e:
            return e.errno in (errno.EIO, errno.EROFS)
        return False

    def power_cycle(self):
        """Mounts again what had reached the disk, after ext4 has replayed its own journal."""
        self.unmount()
        self.mount()
