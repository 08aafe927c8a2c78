# SPDX-License-Identifier: MIT
"""Writers that know exactly what they were promised, and the comparison of a tree with that.

A Writer changes only names of its own, one operation at a time. It keeps the state after all its
acknowledged operations, the operation in flight, and the operations since the last sync.
"""
import errno
import os
import random
import stat
import threading

from files import KIB, log_text, noise
from harness import KEEP_SIZE, PUNCH_HOLE, fallocate, read

# Errors of an operation after the daemon is gone.
GONE = {errno.ENOTCONN, errno.ECONNABORTED, errno.ECANCELED}

# Errors while it dies: the kernel cannot copy a request to a process that is being killed, and over
# io_uring it reports being interrupted by that signal.
DYING = {errno.EIO, errno.EINTR}

_POOL = noise(512 * KIB, 1) + log_text(512 * KIB, 2) + bytes(64 * KIB) + noise(512 * KIB, 3)

LABEL = "user.label."

_SIZES = [0, 1, 40, 500, 3000, 3000, 9000, 20000, 60000, 60000, 300000]


class Difference(AssertionError):
    """The tree is not what was promised. `kind` is "lost" or "corrupt"."""

    def __init__(self, kind, text):
        super().__init__(f"{kind}: {text}")
        self.kind = kind


class State:
    """
    Names below the mount, and the nodes they name: number -> (kind, mode, content, mtime or None if
    unknown, extended attributes). These are never changed in place, so a copy is cheap.
    """

    def __init__(self, names=(), nodes=()):
        self.names, self.nodes = dict(names), dict(nodes)

    def copy(self):
        return State(self.names, self.nodes)

    def node(self, path):
        return self.nodes[self.names[path]]

    def of_kind(self, kind):
        return [p for p, n in self.names.items() if self.nodes[n][0] == kind]

    def apply(self, op):
        getattr(self, "_" + op[0])(*op[1:])

    def _drop(self, path):
        number = self.names.pop(path)
        if number not in self.names.values():
            del self.nodes[number]

    def _set(self, path, **new):
        fields = ("kind", "mode", "content", "mtime", "labels")
        node = dict(zip(fields, self.node(path)), **new)
        self.nodes[self.names[path]] = tuple(node.values())

    def _create(self, path, mode, number):
        self.names[path] = number
        self.nodes[number] = ("file", mode, b"", None, {})

    def _mkdir(self, path, mode, number):
        self.names[path] = number
        self.nodes[number] = ("dir", mode, None, None, {})

    def _symlink(self, path, target, number):
        self.names[path] = number
        self.nodes[number] = ("symlink", 0o777, target, None, {})

    def _link(self, path, new):
        self.names[new] = self.names[path]

    def _unlink(self, path):
        self._drop(path)

    def _rmdir(self, path):
        self._drop(path)

    def _rename(self, path, new):
        if self.names.get(new) == self.names[path]:
            return  # two names of one file: POSIX changes nothing
        if new in self.names:
            self._drop(new)
        for old in [p for p in self.names if p == path or p.startswith(path + "/")]:
            self.names[new + old[len(path) :]] = self.names.pop(old)

    def _write(self, path, offset, data):
        old = self.node(path)[2]
        head = old[:offset].ljust(offset, b"\0")
        self._set(path, content=head + data + old[offset + len(data) :], mtime=None)

    def _copy(self, path, offset, data, _source, _start):
        self._write(path, offset, data)

    def _punch(self, path, offset, size):
        self._write(path, offset, bytes(min(size, len(self.node(path)[2]) - offset)))

    def _label(self, path, name, value):
        self._set(path, labels=self.node(path)[4] | {name: value})

    def _unlabel(self, path, name):
        self._set(path, labels={k: v for k, v in self.node(path)[4].items() if k != name})

    def _truncate(self, path, size):
        self._set(path, content=self.node(path)[2][:size].ljust(size, b"\0"), mtime=None)

    def _chmod(self, path, mode):
        self._set(path, mode=mode)

    def _utime(self, path, mtime):
        self._set(path, mtime=mtime)

    def _sync(self, path, how):
        pass


def observe(mnt, roots):
    """Returns `roots` and all below: path -> (kind, mode, content, mtime, labels, inode, links)."""
    found = {}
    for root in roots:
        if not os.path.lexists(os.path.join(mnt, root)):
            continue
        found[root] = _look(os.path.join(mnt, root))
        for folder, dirs, names in os.walk(os.path.join(mnt, root), onerror=_raise):
            for name in dirs + names:
                path = os.path.join(folder, name)
                found[os.path.relpath(path, mnt)] = _look(path)
    return found


def _raise(error):
    raise error


def _look(path):
    st = os.lstat(path)
    mode = stat.S_IMODE(st.st_mode)
    if stat.S_ISDIR(st.st_mode):
        return "dir", mode, None, None, _labels(path), st.st_ino, None
    if stat.S_ISLNK(st.st_mode):
        return "symlink", mode, os.readlink(path), None, {}, st.st_ino, st.st_nlink
    content = read(path)
    if len(content) != st.st_size:
        raise Difference("corrupt", f"{path}: size {st.st_size}, and {len(content)} bytes to read")
    return "file", mode, content, st.st_mtime_ns, _labels(path), st.st_ino, st.st_nlink


def _labels(path):
    """Returns the extended attributes set by a Writer."""
    names = [n for n in os.listxattr(path) if n.startswith(LABEL)]
    return {n: os.getxattr(path, n) for n in names}


def differences(state, found):
    """Returns [(kind, text)] for each difference between a tree and this state."""
    wrong = [("lost", f"{p} is missing") for p in state.names if p not in found]
    wrong += [("corrupt", f"{p} is there, and should not be") for p in found.keys() - state.names]
    inodes, links = {}, {}
    for path, number in state.names.items():
        links[number] = links.get(number, 0) + 1
    for path, number in state.names.items():
        if path not in found:
            continue
        kind, mode, content, mtime, labels = state.nodes[number]
        is_kind, is_mode, is_content, is_mtime, is_labels, ino, nlink = found[path]
        if (is_kind, is_mode) != (kind, mode):
            wrong.append(("corrupt", f"{path}: {is_kind} {is_mode:o}, expected {kind} {mode:o}"))
        elif is_content != content:
            wrong.append(_different_content(path, is_content, content))
        elif mtime is not None and is_mtime != mtime:
            wrong.append(("corrupt", f"{path}: mtime {is_mtime}, expected {mtime}"))
        elif is_labels != labels:
            wrong.append(_different_labels(path, is_labels, labels))
        if inodes.setdefault(number, ino) != ino:
            wrong.append(("corrupt", f"{path} is no longer a link to its other names"))
        if nlink is not None and nlink != links[number]:
            wrong.append(("corrupt", f"{path} has {nlink} links, expected {links[number]}"))
    if len(set(inodes.values())) != len(inodes):
        wrong.append(("corrupt", "different files have become one"))
    return wrong


def _different_content(path, got, want):
    if not isinstance(got, bytes) or not isinstance(want, bytes):
        return "corrupt", f"{path}: {got!r}, expected {want!r}"
    at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
    return "lost" if at == len(got) else "corrupt", (
        f"{path}: {len(got)} bytes, expected {len(want)}; they differ from {at} on: "
        f"{got[at:at + 24]!r}, expected {want[at:at + 24]!r}"
    )


def _different_labels(path, got, want):
    sizes = [{k: len(v) for k, v in labels.items()} for labels in (got, want)]
    return "corrupt", f"{path}: attributes of sizes {sizes[0]}, expected {sizes[1]}"


def written_in_part(state, op, found):
    """
    Returns the state with as much of the write or copy `op` as is found, or None. One write may
    become several requests and one copy several changes, applied in order of offset.
    """
    if op[0] not in ("write", "copy") or op[1] not in found or found[op[1]][0] != "file":
        return None
    _, path, offset, data = op[:4]
    got, old = found[path][2], state.node(path)[2]
    if len(got) > len(old):
        count = len(got) - offset
    else:
        count = len(os.path.commonprefix([got[offset : offset + len(data)], data]))
    if not 0 < count < len(data):
        return None
    state = state.copy()
    state.apply(("write", path, offset, data[:count]))
    return state


class Writer(threading.Thread):
    """
    Works in `roots`, directories that it makes first, until it is stopped, has done `limit`
    operations, or an operation fails with an error in `gone`. An error in `refused` is accepted if
    the operation has changed nothing.

    With `syncs`, it also syncs, and keeps the state at the last sync that returned while `trusting`
    was set, and the operations since.
    """

    def __init__(self, mnt, name, seed, *, syncs=False, gone=GONE, refused=(), most=40):
        super().__init__(daemon=True)
        self.mnt, self.name, self.rng = mnt, name, random.Random(seed)
        self.roots = [f"cache/{name}", f"persistent/{name}"]
        self.syncs, self.gone, self.refused, self.most = syncs, set(gone), set(refused), most
        self.state, self.base, self.history = State(), State(), []
        self.growing = True
        self.synced_by = None
        self.count = 0
        self.begin()

    def begin(self):
        """Starts counting acknowledged, refused and partial operations anew."""
        self.in_flight = self.failure = self.cut = None
        self.acknowledged = self.refusals = self.shortened = 0
        self.stopping, self.trusting = False, True

    def again(self):
        """Returns a writer that continues from the state of this one."""
        other = Writer(
            self.mnt,
            self.name,
            0,
            syncs=self.syncs,
            gone=self.gone,
            refused=self.refused,
            most=self.most,
        )
        other.rng.setstate(self.rng.getstate())
        other.state, other.base = self.state.copy(), self.base.copy()
        other.history = self.history[:]
        other.growing, other.count, other.synced_by = self.growing, self.count, self.synced_by
        return other

    def run(self):
        self.work()

    def work(self, limit=None):
        """Does operations. Afterwards `cut` is the error that ended them, or None."""
        try:
            while not self.stopping and (limit is None or self.acknowledged < limit):
                self.do(self.choose())
        except OSError as e:
            if e.errno in self.gone:
                self.cut = e.errno
            else:
                self.failure = f"{self.in_flight and self.in_flight[:3]}: {e!r}"
        except BaseException as e:
            self.failure = f"{self.in_flight and self.in_flight[:3]}: {e!r}"

    def do(self, op):
        """Does one operation, which is acknowledged unless this raises."""
        self.in_flight = op
        try:
            if op[0] in ("write", "copy"):
                getattr(self, "_" + op[0])(*op)
            else:
                getattr(self, "_" + op[0])(*op[1:])
                self._acknowledge(op)
        except OSError as e:
            if e.errno not in self.refused:
                raise
            self.refusals += 1
        self.in_flight = None

    def _acknowledge(self, op):
        if op[0] == "read":
            return
        self.state.apply(op)
        if self.syncs and op[0] != "sync":
            self.history.append(op)
        elif self.syncs and self.trusting:
            self.base, self.history, self.synced_by = self.state.copy(), [], op[2]
        self.acknowledged += 1

    def settle(self, found, power_loss=False):
        """
        Compares what is found with what was promised, and adopts it as the state. Returns the
        number of names. The state must be that after all acknowledged operations, with or without
        the one in flight. After a power loss it may be that after any of the operations since the
        last sync.
        """
        ops = self.history[:] if power_loss else []
        if self.in_flight and self.in_flight[0] not in ("sync", "read"):
            ops.append(self.in_flight)
        state = self.base if power_loss else self.state
        candidates = [state]
        for op in ops:
            part = written_in_part(state, op, found)
            state = state.copy()
            state.apply(op)
            candidates += [part, state] if part else [state]
        best = None
        for state in reversed(candidates):
            wrong = differences(state, found)
            if not wrong:
                break
            best = wrong if best is None or len(wrong) < len(best) else best
        else:
            raise Difference(
                best[0][0],
                f"{self.name}, {len(ops)} operations that may be missing"
                f" (the last: {ops[-1][:3] if ops else None}), synced by {self.synced_by};"
                f" where it is not in the nearest state:\n"
                + "\n".join(text for _, text in best[:20]),
            )
        self.state = state.copy()
        self.base, self.history, self.in_flight = self.state.copy(), [], None
        return len(self.state.names)

    def check(self, power_loss=False):
        """Calls settle() with the content of the mount. The writer must have ended."""
        if self.failure:
            raise AssertionError(f"{self.name}: {self.failure}")
        return self.settle(observe(self.mnt, self.roots), power_loss)

    # --- Choosing the next operation

    def choose(self):
        rng, names = self.rng, self.state.names
        for root in self.roots:
            if root not in names:
                return "mkdir", root, 0o755, self._number()
        if len(names) > self.most:
            self.growing = False
        elif len(names) < self.most // 5:
            self.growing = True
        kinds = ["write"] * 6 + ["append"] * 5 + ["truncate"] * 2 + ["chmod", "utime", "read"]
        kinds += ["rename", "rename", "replace", "sync", "copy", "copy", "punch"]
        kinds += ["label", "label", "unlabel"]
        kinds += ["create"] * 6 + ["mkdir", "link", "symlink"] if self.growing else ["unlink"] * 10
        kinds += ["unlink"]
        while True:
            op = getattr(self, "_choose_" + rng.choice(kinds))()
            if op:
                return op

    def _number(self):
        self.count += 1
        return self.count

    def _new_name(self):
        folder = self.rng.choice(self.state.of_kind("dir"))
        return f"{folder}/{self._number()}"

    def _any(self, *kinds):
        found = [p for kind in kinds for p in self.state.of_kind(kind) if p not in self.roots]
        return self.rng.choice(found) if found else None

    def _data(self):
        size = self.rng.choice(_SIZES) or 1
        start = self.rng.randrange(len(_POOL) - size)
        return _POOL[start : start + size]

    def _choose_create(self):
        return "create", self._new_name(), self.rng.choice([0o600, 0o640, 0o755]), self._number()

    def _choose_mkdir(self):
        name = self._new_name()
        return ("mkdir", name, 0o755, self._number()) if name.count("/") < 5 else None

    def _choose_symlink(self):
        return "symlink", self._new_name(), f"to/{self._number()}", self._number()

    def _choose_link(self):
        path = self._any("file")
        return path and ("link", path, self._new_name())

    def _choose_write(self):
        path = self._any("file")
        if not path:
            return None
        size = len(self.state.node(path)[2])
        return "write", path, self.rng.randrange(size + size // 8 + 1), self._data()

    def _choose_append(self):
        path = self._any("file")
        return path and ("write", path, len(self.state.node(path)[2]), self._data())

    def _choose_truncate(self):
        path = self._any("file")
        if not path:
            return None
        size = len(self.state.node(path)[2])
        return "truncate", path, self.rng.choice([0, size // 2, size // 3, size + 5000])

    def _choose_copy(self):
        path, source = self._any("file"), self._any("file")
        content = path and self.state.node(source)[2]
        if not content or self.state.names[path] == self.state.names[source]:
            return None
        # The whole content, as `cp` does, or a part.
        start, at, size = 0, 0, len(content)
        if self.rng.random() < 0.5:
            start = self.rng.choice([0, self.rng.randrange(size), 262144 % size])
            at = self.rng.choice([start, self.rng.randrange(len(self.state.node(path)[2]) + 1)])
            size = self.rng.choice([size, self.rng.randrange(size) + 1, 262144])
        return "copy", path, at, content[start : start + size], source, start

    def _choose_punch(self):
        path = self._any("file")
        size = path and len(self.state.node(path)[2])
        if not size:
            return None
        at = self.rng.choice([0, self.rng.randrange(size), 262144 % size])
        return "punch", path, at, self.rng.choice([1, 5000, 262144, 10**9])

    def _choose_label(self):
        path = self._any("file", "dir")
        if not path:
            return None
        size = self.rng.choice([0, 5, 5, 300, 20000])
        return "label", path, LABEL + self.rng.choice("abcdef"), self._data()[:size]

    def _choose_unlabel(self):
        path = self._any("file", "dir")
        names = path and list(self.state.node(path)[4])
        return ("unlabel", path, self.rng.choice(names)) if names else None

    def _choose_chmod(self):
        path = self._any("file", "dir")
        return path and ("chmod", path, self.rng.choice([0o700, 0o711, 0o755]))

    def _choose_utime(self):
        path = self._any("file")
        return path and ("utime", path, 10**18 + self._number())

    def _choose_read(self):
        path = self._any("file")
        return path and ("read", path)

    def _choose_rename(self):
        path = self._any("file", "file", "symlink", "dir")
        new = self._new_name()
        return None if not path or new.startswith(path + "/") else ("rename", path, new)

    def _choose_replace(self):
        path, new = self._any("file"), self._any("file", "symlink")
        return ("rename", path, new) if path and path != new else None

    def _choose_unlink(self):
        path = self._any("file", "file", "file", "symlink", "dir")
        if not path:
            return None
        if self.state.node(path)[0] != "dir":
            return "unlink", path
        return None if any(p.startswith(path + "/") for p in self.state.names) else ("rmdir", path)

    def _choose_sync(self):
        if not self.syncs:
            return None
        how = self.rng.choice(["fsync", "fdatasync", "directory"])
        path = self._any("file") if how in ("fsync", "fdatasync") else self.roots[0]
        return path and ("sync", path, how)

    # --- Doing it

    def _at(self, path):
        return os.path.join(self.mnt, path)

    def _create(self, path, mode, _number):
        os.close(os.open(self._at(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))

    def _mkdir(self, path, mode, _number):
        os.mkdir(self._at(path), mode)

    def _symlink(self, path, target, _number):
        os.symlink(target, self._at(path))

    def _link(self, path, new):
        os.link(self._at(path), self._at(new))

    def _unlink(self, path):
        os.unlink(self._at(path))

    def _rmdir(self, path):
        os.rmdir(self._at(path))

    def _rename(self, path, new):
        os.rename(self._at(path), self._at(new))

    def _write(self, _name, path, offset, data):
        fd = os.open(self._at(path), os.O_WRONLY)
        try:
            while data:
                count = os.pwrite(fd, data, offset)
                self._acknowledge(("write", path, offset, data[:count]))
                self.shortened += count < len(data)
                offset, data = offset + count, data[count:]
                self.in_flight = ("write", path, offset, data)
        finally:
            _close(fd)

    def _copy(self, _name, path, offset, data, source, start):
        target = os.open(self._at(path), os.O_WRONLY)
        try:
            origin = os.open(self._at(source), os.O_RDONLY)
            try:
                while data:
                    count = os.copy_file_range(origin, target, len(data), start, offset)
                    if not count:
                        raise Difference("lost", f"{source} ends at {start}")
                    self._acknowledge(("write", path, offset, data[:count]))
                    start, offset, data = start + count, offset + count, data[count:]
                    self.in_flight = ("copy", path, offset, data, source, start)
            finally:
                _close(origin)
        finally:
            _close(target)

    def _punch(self, path, offset, size):
        fd = os.open(self._at(path), os.O_WRONLY)
        try:
            fallocate(fd, PUNCH_HOLE | KEEP_SIZE, offset, size)
        finally:
            _close(fd)

    def _label(self, path, name, value):
        os.setxattr(self._at(path), name, value)

    def _unlabel(self, path, name):
        os.removexattr(self._at(path), name)

    def _truncate(self, path, size):
        os.truncate(self._at(path), size)

    def _chmod(self, path, mode):
        os.chmod(self._at(path), mode)

    def _utime(self, path, mtime):
        os.utime(self._at(path), ns=(mtime, mtime))

    def _read(self, path):
        got, want = read(self._at(path)), self.state.node(path)[2]
        if got != want:
            raise Difference(*_different_content(path, got, want))

    def _sync(self, path, how):
        fd = os.open(self._at(path), os.O_RDONLY)
        try:
            (os.fdatasync if how == "fdatasync" else os.fsync)(fd)
        finally:
            _close(fd)


def _close(fd):
    """Closes. The descriptor is released even on an error, and flush promises nothing here."""
    try:
        os.close(fd)
    except OSError:
        pass
