# SPDX-License-Identifier: MIT
"""Generates content for tests and compares whole trees."""
import contextlib
import hashlib
import os
import pathlib
import random
import stat
import subprocess

from harness import SEAL_NEVER, SEAL_SOON, SOURCE_ROOT, xattr

KIB = 1 << 10
MIB = 1 << 20


def noise(size, seed):
    """Returns `size` incompressible bytes."""
    return random.Random(seed).randbytes(size)


def log_text(size, seed):
    """Returns about `size` bytes of lines like those of a build or search. Ends with a newline."""
    rng = random.Random(seed)
    words = [
        "open",
        "error",
        "src/main.c",
        "warning:",
        "result",
        "user",
        "1024",
        "done",
        "flight",
        "price",
        "ok",
    ]
    out = bytearray()
    while len(out) < size:
        line = " ".join(rng.choices(words, k=int(rng.random() * 24)))
        out += b"%d: %s\n" % (rng.random() * 10**6, line.encode())
    return bytes(out)


def lines(data, first, last=None):
    """Returns lines `first` to `last` (from 1, inclusive; None: to the end), like `sed -n`."""
    return b"".join(split_lines(data)[first - 1 : last])


def split_lines(data):
    """Splits into lines with their terminators. Unlike bytes.splitlines(), only LF ends a line."""
    parts = data.split(b"\n")
    return [p + b"\n" for p in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def data_folder():
    """Returns the folder of recorded traces, which may not exist."""
    return pathlib.Path(
        os.environ.get("OFFLOADFS_TEST_DATA") or SOURCE_ROOT.parent / "shared" / "data"
    )


def tool_results(out):
    """
    Fills the directory `out`, which must not exist, with about 1,200 tool results of agents;
    returns their number.
    """
    script = data_folder() / "tool-results"
    if script.exists():
        subprocess.run([script, out], check=True, stdout=subprocess.DEVNULL)
    else:
        rng = random.Random(5)
        for i in range(1200):
            folder = pathlib.Path(
                out, rng.choice(["open", "find_file", "python", "edit", "ls", "search"])
            )
            folder.mkdir(parents=True, exist_ok=True)
            size = rng.choice([0, 1, 30, 200, 800, 2000, 9000]) if i else 400 * KIB
            (folder / f"{i:05d}.txt").write_bytes(
                log_text(size, rng.randrange(900)) if size else b""
            )
    return sum(len(names) for _, _, names in os.walk(out))


def snapshot(root, identity=False):
    """
    Maps every name below `root` to (type, content), but for .offload/ of a mount, which changes by
    itself. With `identity` adds mode, owner, mtime, link count, inode and ref, for comparing two
    states of one mount.
    """
    found = {}
    root = os.fsencode(root)
    for folder, dirs, names in os.walk(root):
        if folder == root and b".offload" in dirs:
            dirs.remove(b".offload")
        for name in dirs + names:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, root)] = _describe(path, identity)
    return found


def _describe(path, identity):
    st = os.lstat(path)
    kind = stat.S_IFMT(st.st_mode)
    if stat.S_ISLNK(st.st_mode):
        content = os.readlink(path)
    elif stat.S_ISREG(st.st_mode):
        with open(path, "rb") as f:
            data = f.read()
        assert len(data) == st.st_size, f"{path}: st_size {st.st_size}, read {len(data)} bytes"
        content = hashlib.sha256(data).hexdigest()
    else:
        content = None
    if not identity:
        return kind, content
    ref = xattr(path, "ref") if stat.S_ISREG(st.st_mode) else None
    links = st.st_nlink if not stat.S_ISDIR(st.st_mode) else None
    return (
        kind,
        content,
        oct(st.st_mode),
        st.st_uid,
        st.st_gid,
        st.st_mtime_ns,
        links,
        st.st_ino,
        ref,
    )


def same_tree(got, want):
    """Fails unless two snapshots are equal, and names the differences."""
    wrong = [f"missing: {name!r}" for name in want if name not in got]
    wrong += [f"too many: {name!r}" for name in got if name not in want]
    wrong += [
        f"differs: {name!r}: {got[name]}, expected {want[name]}"
        for name in want
        if name in got and got[name] != want[name]
    ]
    assert not wrong, f"{len(wrong)} of {len(want)} names:\n" + "\n".join(wrong[:20])


def disk_usage(directory):
    """Returns bytes on disk of the files directly in `directory`; files may vanish meanwhile."""
    total = 0
    for entry in os.scandir(directory):
        with contextlib.suppress(FileNotFoundError):
            total += entry.stat().st_blocks * 512
    return total


class State:
    """
    Where the content of a file lies when a test next uses it. `settle` brings a mount's files into
    this state; subsequent reads are served
      draft     from the kernel's cache or the journal,
      replayed  from the journal as replayed by a new daemon,
      sealed    from the kernel's cache; writes go on top of sealed content,
      stored    from a pack.
    """

    def __init__(self, name):
        self.name = name
        self.seals = name in ("sealed", "stored")

    def mount(self, case, *options):
        return case.mount(SEAL_SOON if self.seals else SEAL_NEVER, *options)

    def settle(self, m, *paths):
        if self.seals:
            m.wait_sealed(*[p for p in paths if os.path.getsize(p)])
        if self.name == "replayed":
            m.crash()
        if self.name == "stored":
            m.remount()


STATES = {name: State(name) for name in ("draft", "replayed", "sealed", "stored")}
