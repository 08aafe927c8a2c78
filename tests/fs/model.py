# SPDX-License-Identifier: MIT
"""
Runs random operations on a mount and on an ordinary directory. Both must give the same results and
end with the same tree.

An operation is a tuple of plain values, such as ("rename", "cache/a", "persistent/b", 1), so a list
of operations can be printed, kept, replayed and reduced.
"""
import errno
import hashlib
import json
import mmap
import os
import random
import stat
import time

from files import log_text
from harness import (
    KEEP_SIZE,
    PUNCH_HOLE,
    RENAME_EXCHANGE,
    RENAME_NOREPLACE,
    ZERO_RANGE,
    eventually,
    fallocate,
    renameat2,
    xattr,
)

TOPS = ("cache", "persistent", "tasks")
NAMES = ("a", "b", "c d", "\u00e9", "\udcff", ".h", "log.txt")
DELAYS = (1, 30, 200, 3600000)
EDGES = (0, 1, 4095, 4096, 65536, 131072, 262143, 262144, 262145, 524288)
SIZES = (0, 1, 100, 4096, 5000, 70000, 300000)
SLOTS = 3
PAST = 10**9  # upper bound of times set by operations; later times come from running the test
DROP_CACHES = "/proc/sys/vm/drop_caches"


def content(kind, size, seed):
    """Returns content of few kinds, so that much of it is equal."""
    if kind == "noise":
        return random.Random(seed).randbytes(size)
    if kind == "text":
        return (log_text(2000, seed) * (size // 2000 + 1))[:size]
    return bytes([seed % 3]) * size


class Side:
    """One of the two trees, with the files held open in it. Each method is an operation."""

    def __init__(self, root):
        self.root = root
        self.held = {}

    def path(self, name):
        return os.path.join(self.root, name)

    def close_all(self):
        for fd in self.held.values():
            os.close(fd)
        self.held.clear()

    # Operations by name.

    def write(self, name, flags, at, size, kind, seed):
        fd = os.open(self.path(name), flags, 0o664)
        try:
            data = content(kind, size, seed)
            done = os.write(fd, data) if flags & os.O_APPEND else os.pwrite(fd, data, at)
            return done, os.fstat(fd).st_size
        finally:
            os.close(fd)

    def read(self, name, at, size, evict):
        fd = os.open(self.path(name), os.O_RDONLY | os.O_NONBLOCK)
        try:
            if evict:
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            return hashlib.sha256(os.pread(fd, size, at)).hexdigest()
        finally:
            os.close(fd)

    def map(self, name, at, size, seed, sync):
        fd = os.open(self.path(name), os.O_RDWR)
        try:
            length = os.fstat(fd).st_size
            if not length:
                return "empty"
            with mmap.mmap(fd, length) as mapped:
                at, before = at % length, bytes(mapped[:64])
                size = min(size, length - at)
                mapped[at : at + size] = content("noise", size, seed)
                if sync:
                    mapped.flush()
                return before, hashlib.sha256(mapped).hexdigest()
        finally:
            os.close(fd)

    def truncate(self, name, size):
        os.truncate(self.path(name), size)

    def rename(self, old, new, flags):
        renameat2(self.path(old), self.path(new), flags)

    def link(self, old, new):
        os.link(self.path(old), self.path(new), follow_symlinks=False)

    def symlink(self, target, name):
        os.symlink(target, self.path(name))

    def readlink(self, name):
        return os.readlink(self.path(name))

    def unlink(self, name):
        os.unlink(self.path(name))

    def rmdir(self, name):
        os.rmdir(self.path(name))

    def mkdir(self, name, mode):
        os.mkdir(self.path(name), mode)

    def mkfifo(self, name):
        os.mkfifo(self.path(name), 0o640)

    def chmod(self, name, mode):
        os.chmod(self.path(name), mode)

    def utimens(self, name, atime, mtime):
        os.utime(self.path(name), ns=(atime, mtime), follow_symlinks=False)

    def stat(self, name):
        return describe(self.path(name))

    def list(self, name):
        with os.scandir(self.path(name)) as entries:
            return sorted((e.name, e.is_dir(follow_symlinks=False)) for e in entries)

    def fill(self, name, count):
        for i in range(count):
            fd = os.open(self.path(f"{name}/many{i}"), os.O_WRONLY | os.O_CREAT, 0o644)
            os.write(fd, b"%d" % i)
            os.close(fd)

    def sweep(self, name):
        """Removes files while reading the directory; each must be listed exactly once."""
        swept = []
        with os.scandir(self.path(name)) as entries:
            for entry in entries:
                if entry.name.startswith("many"):
                    os.unlink(entry.path)
                    swept.append(entry.name)
        return sorted(swept)

    def allocate(self, name, mode, at, size):
        fd = os.open(self.path(name), os.O_WRONLY | os.O_NONBLOCK)
        try:
            try:
                fallocate(fd, mode, at, size)
            except OSError as e:
                if e.errno != errno.EOPNOTSUPP:
                    raise
                allocate_otherwise(fd, mode, at, size)
            # Filesystems differ in whether a call that changes nothing updates the time.
            os.utime(fd)
            return os.fstat(fd).st_size
        finally:
            os.close(fd)

    def copy(self, old, new, start, at, size):
        source = os.open(self.path(old), os.O_RDONLY | os.O_NONBLOCK)
        try:
            target = os.open(self.path(new), os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK, 0o644)
            try:
                done = 0
                while done < size and (
                    n := os.copy_file_range(source, target, size - done, start + done, at + done)
                ):
                    done += n
                return done, os.fstat(target).st_size
            finally:
                os.close(target)
        finally:
            os.close(source)

    def fsync(self, name):
        fd = os.open(self.path(name), os.O_RDONLY | os.O_NONBLOCK)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    # Operations on a file that is held open, whatever happens to its names.

    def hold(self, slot, name):
        fd = os.open(self.path(name), os.O_RDWR | os.O_NONBLOCK)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            return
        self.let_go(slot)
        self.held[slot] = fd

    def let_go(self, slot):
        if slot in self.held:
            os.close(self.held.pop(slot))

    def held_write(self, slot, at, size, kind, seed):
        if slot in self.held:
            return os.pwrite(self.held[slot], content(kind, size, seed), at)

    def held_truncate(self, slot, size):
        if slot in self.held:
            os.ftruncate(self.held[slot], size)

    def held_read(self, slot):
        if slot in self.held:
            fd = self.held[slot]
            st = os.fstat(fd)
            data = os.pread(fd, st.st_size + 10, 0)
            return st.st_size, st.st_nlink, oct(st.st_mode), hashlib.sha256(data).hexdigest()


def allocate_otherwise(fd, mode, at, size):
    """Imitates fallocate() if the ordinary filesystem lacks it."""
    length = os.fstat(fd).st_size
    if mode & (PUNCH_HOLE | ZERO_RANGE):
        os.pwrite(fd, bytes(max(0, min(size, length - at))), at)
    if not mode & KEEP_SIZE and at + size > length:
        os.ftruncate(fd, at + size)


def describe(path):
    """Returns the properties of a file that both trees must agree on."""
    st = os.lstat(path)
    links, size, what = st.st_nlink, st.st_size, None
    if stat.S_ISDIR(st.st_mode):
        # Some filesystems do not count subdirectories.
        links, size = 2 + sum(e.is_dir(follow_symlinks=False) for e in os.scandir(path)), None
    elif stat.S_ISLNK(st.st_mode):
        what = os.readlink(path)
    return oct(st.st_mode), size, links, what, st.st_mtime // PAST if st.st_mtime < PAST else "new"


def snapshot(root):
    """Maps each name below `root` to describe(), a content digest and the file's first name."""
    found, first = {}, {}
    for top in TOPS:
        for folder, dirs, names in os.walk(os.path.join(root, top)):
            dirs.sort()
            for name in sorted(dirs + names):
                path = os.path.join(folder, name)
                st = os.lstat(path)
                short = os.path.relpath(path, root)
                digest = None
                if stat.S_ISREG(st.st_mode):
                    with open(path, "rb") as f:
                        data = f.read()
                    digest = len(data), hashlib.sha256(data).hexdigest()
                found[short] = (*describe(path), digest, first.setdefault(st.st_ino, short))
    return found


def directory_links(root):
    """Lists directories whose link count is not 2 plus the subdirectories (or 1: unknown)."""
    wrong = []
    for folder, dirs, _ in os.walk(root):
        want = 2 + sum(not os.path.islink(os.path.join(folder, d)) for d in dirs)
        links = os.lstat(folder).st_nlink
        if links not in (1, want):
            wrong.append(f"{folder}: {links} links, expected {want}")
    return wrong


class Differs(AssertionError):
    pass


class Model:
    """
    Runs operations on both sides. In addition to those of Side: remount, crash (SIGKILL and
    restart), pause, settle (seals everything), drop_caches, check (compares the trees).
    """

    def __init__(self, case, delay):
        self.case = case
        self.mount = case.mount(f"seal_delay={delay}")
        self.delay = delay
        self.real = Side(self.mount.mnt)
        self.plain = Side(case.path("plain"))
        for top in ("", *TOPS):
            os.mkdir(self.plain.path(top))

    def apply(self, op):
        name, *arguments = op
        if name in ("remount", "crash"):
            self.real.close_all()
            self.plain.close_all()
            self.delay = arguments[0]
            getattr(self.mount, name)(f"seal_delay={self.delay}")
        elif name == "pause":
            time.sleep(arguments[0])
        elif name == "settle":
            self.settle()
        elif name == "drop_caches":
            drop_caches()
        elif name == "check":
            self.check()
        else:
            self.compare(op, self.outcome(self.real, op), self.outcome(self.plain, op))

    @staticmethod
    def outcome(side, op):
        try:
            return getattr(side, op[0])(*op[1:])
        except OSError as e:
            return errno.errorcode[e.errno]

    @staticmethod
    def compare(op, real, plain):
        if real != plain:
            raise Differs(f"{op}: the mount gave {real!r}, the directory {plain!r}")

    def settle(self):
        if self.delay > 1000:
            return
        for name, (mode, size, *_) in snapshot(self.real.root).items():
            if stat.S_ISREG(int(mode, 8)) and size:
                path = self.real.path(name)
                eventually(lambda: xattr(path, "sha256"), f"{path} is sealed", 8)

    def check(self):
        real, plain = snapshot(self.real.root), snapshot(self.plain.root)
        wrong = [
            f"{n!r}: the mount has {real.get(n)}, the directory {plain.get(n)}"
            for n in sorted(real.keys() | plain.keys())
            if real.get(n) != plain.get(n)
        ]
        wrong += directory_links(self.real.root)
        if wrong:
            raise Differs(f"{len(wrong)} names differ:\n" + "\n".join(wrong[:10]))


def drop_caches():
    try:
        with open(DROP_CACHES, "w") as f:
            f.write("3")
    except OSError:
        pass  # needs root, and is not possible everywhere


class Generator:
    """Makes up operations. It consults the plain tree so that most of them make sense."""

    WEIGHTS = {
        "create": 10,
        "patch": 16,
        "append": 6,
        "truncate": 8,
        "read": 8,
        "map": 5,
        "rename": 14,
        "link": 4,
        "symlink": 2,
        "readlink": 1,
        "unlink": 5,
        "rmdir": 3,
        "mkdir": 8,
        "mkfifo": 1,
        "chmod": 3,
        "utimens": 3,
        "stat": 4,
        "list": 3,
        "fill": 0.3,
        "sweep": 0.6,
        "copy": 6,
        "allocate": 5,
        "fsync": 1,
        "hold": 4,
        "let_go": 2,
        "held_write": 5,
        "held_truncate": 2,
        "held_read": 4,
        "pause": 3,
        "settle": 1,
        "drop_caches": 0.5,
        "check": 3,
        "remount": 0.7,
        "crash": 1,
    }

    def __init__(self, seed, root):
        self.rng = random.Random(seed)
        self.root = root
        self.files, self.dirs = [], list(TOPS)

    def look(self):
        self.files, self.dirs = [], list(TOPS)
        for folder, dirs, names in os.walk(self.root):
            dirs.sort()
            short = [os.path.relpath(os.path.join(folder, n), self.root) for n in sorted(dirs)]
            self.dirs += [n for n in short if n not in TOPS]
            self.files += [
                os.path.relpath(os.path.join(folder, n), self.root)
                for n in sorted(names)
                if not n.startswith("many") or n == "many7"
            ]

    def any(self):
        """Returns a random path, which may not be valid."""
        depth = self.rng.randrange(1, 4)
        return "/".join([self.rng.choice(TOPS), *self.rng.choices(NAMES, k=depth)])

    def file(self):
        if self.files and self.rng.random() < 0.85:
            return self.rng.choice(self.files)
        return self.any()

    def folder(self):
        """Never returns a top-level directory: those have refusals of their own."""
        below = [d for d in self.dirs if d not in TOPS]
        return self.rng.choice(below) if below and self.rng.random() < 0.85 else self.any()

    def new(self):
        if self.rng.random() < 0.1:
            return self.any()
        return self.rng.choice(self.dirs) + "/" + self.rng.choice(NAMES)

    def old(self):
        return self.folder() if self.rng.random() < 0.3 else self.file()

    def offset(self):
        rng = self.rng
        if rng.random() < 0.2:
            return rng.randrange(1200000)
        return max(0, rng.choice(EDGES) + rng.choice((0, 0, -1, 1, 100)))

    def data(self):
        rng = self.rng
        size = rng.choice(SIZES) if rng.random() < 0.7 else rng.randrange(140000)
        return size, rng.choice(("noise", "text", "same")), rng.randrange(20)

    def next(self):
        rng = self.rng
        if rng.random() < 0.3:
            self.look()
        kind = rng.choices(list(self.WEIGHTS), self.WEIGHTS.values())[0]
        slot = rng.randrange(SLOTS)
        if kind == "create":
            flag = rng.choice((os.O_TRUNC, os.O_TRUNC, os.O_EXCL, 0))
            self.files.append(name := self.new())
            flags = os.O_WRONLY | os.O_NONBLOCK | os.O_CREAT | flag
            return ("write", name, flags, 0, *self.data())
        if kind == "patch":
            flags = os.O_WRONLY | os.O_NONBLOCK
            return ("write", self.file(), flags, self.offset(), *self.data())
        if kind == "append":
            flags = os.O_WRONLY | os.O_NONBLOCK | os.O_APPEND | os.O_CREAT
            return ("write", self.file(), flags, 0, *self.data())
        if kind == "truncate":
            return kind, self.file(), self.offset()
        if kind == "read":
            return kind, self.file(), self.offset(), rng.randrange(200000), rng.random() < 0.5
        if kind == "map":
            return kind, self.file(), self.offset(), self.data()[0], slot, rng.random() < 0.5
        if kind == "rename":
            flags = rng.choice((0, 0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE, RENAME_EXCHANGE))
            to = self.old() if rng.random() < (0.9 if flags == RENAME_EXCHANGE else 0.4) else None
            return kind, self.old(), to or self.new(), flags
        if kind == "link":
            return kind, self.file(), self.new()
        if kind == "symlink":
            return kind, rng.choice(("a", "b/a", "../persistent/a", "../cache/b", "")), self.new()
        if kind in ("readlink", "unlink", "fsync"):
            return kind, self.file()
        if kind in ("rmdir", "sweep"):
            return kind, self.folder()
        if kind == "mkdir":
            self.dirs.append(name := self.new())
            return kind, name, rng.choice((0o755, 0o700, 0o777))
        if kind == "mkfifo":
            return kind, self.new()
        if kind == "chmod":
            return kind, self.old(), rng.choice((0o600, 0o640, 0o755, 0o777)) | 0o700
        if kind == "utimens":
            return kind, self.old(), rng.randrange(PAST) * PAST, rng.randrange(PAST) * PAST + 7
        if kind == "stat":
            return kind, self.old()
        if kind == "list":
            return kind, rng.choice((self.folder(), rng.choice(TOPS)))
        if kind == "fill":
            return kind, self.folder(), rng.choice((20, 150, 400))
        if kind == "copy":
            old, new = self.file(), rng.choice((self.file(), self.new()))
            if rng.random() < 0.4:
                return kind, old, new, 0, 0, 10**9
            size = rng.choice((rng.randrange(300000), 262144, 600000))
            start = self.offset()
            return kind, old, new, start, rng.choice((start, self.offset())), size
        if kind == "allocate":
            modes = (0, KEEP_SIZE, PUNCH_HOLE | KEEP_SIZE, ZERO_RANGE, ZERO_RANGE | KEEP_SIZE)
            size = rng.choice((0, 1, 5000, 262144, rng.randrange(700000)))
            return kind, self.file(), rng.choice(modes), self.offset(), size
        if kind == "hold":
            return kind, slot, self.file()
        if kind in ("let_go", "held_read"):
            return kind, slot
        if kind == "held_write":
            return kind, slot, self.offset(), *self.data()
        if kind == "held_truncate":
            return kind, slot, self.offset()
        if kind == "pause":
            return kind, rng.choice((0.005, 0.04, 0.1))
        if kind in ("remount", "crash"):
            return kind, rng.choice(DELAYS)
        return (kind,)


def play(case, ops, delay, record=None):
    """
    Runs the operations that ops(root of the plain tree) yields. Each is written to `record` before
    it runs; a failure prints the last of them.
    """
    model = Model(case, delay)
    recent = []
    with model.mount:
        try:
            for op in ops(model.plain.root):
                recent.append(op)
                if record:
                    record.write(json.dumps(op) + "\n")
                    record.flush()
                model.apply(op)
        except BaseException:
            print(f"the last of {len(recent)} operations (seal_delay={delay} at the start):")
            print("\n".join(f"  {op!r}" for op in recent[-40:]))
            raise
        finally:
            model.real.close_all()
            model.plain.close_all()


def random_ops(seed, steps):
    """Returns operations for play(), determined by `seed` and `steps`."""

    def ops(root):
        generator = Generator(seed, root)
        for _ in range(steps):
            yield generator.next()
        yield from (("check",), ("settle",), ("crash", 1), ("check",), ("remount", 1), ("check",))

    return ops


def first_delay(seed):
    return DELAYS[seed % len(DELAYS)]
