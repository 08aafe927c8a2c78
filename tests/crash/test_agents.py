#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Kills, a full disk and power loss while agents' trees are created, renamed and removed and files
move between them. Afterwards each tree is complete or absent, each file is in one of them, and a
tree's counts match its contents.
"""
import errno
import json
import os
import shutil
import threading
import time

from rounds import (
    LIMIT,
    close,
    count_hits,
    kept,
    kill,
    launch,
    report,
    rounds,
    seeded,
    spread,
    was_reached,
)
from workload import DYING, GONE, Difference

from disk import Disk
from harness import eventually, main, read, test, write, xattr

SEAL = "seal_delay=1"
POINTS = ("store.move", "io.pwritev", "index.commit")
TOPS = ("cache", "tasks", "persistent", "archive", "agents")
DEAD = {errno.EIO, errno.EROFS, errno.EUCLEAN}


class State:
    """Trees ("" is the root's), directories and files by path. Never changed, only copied."""

    def __init__(self, trees=("",), dirs=(), files=()):
        self.trees, self.dirs, self.files = set(trees), set(dirs), dict(files)

    def __repr__(self):
        files = {p: f"{len(c)} bytes" for p, c in sorted(self.files.items())}
        return f"trees {sorted(self.trees)}, directories {sorted(self.dirs)}, files {files}"

    def __eq__(self, other):
        return vars(self) == vars(other)

    def after(self, kind, path, new):
        s = State(self.trees, self.dirs, self.files)
        if kind == "tree":
            s.trees.add(path)
        elif kind == "dir":
            s.dirs.add(path)
        elif kind == "file":
            s.files[path] = new
        elif kind == "unlink":
            del s.files[path]
        elif kind == "rmdir":
            s.trees.discard(path)
            s.dirs.discard(path)
        elif kind == "rename":

            def moved(p):
                return new + p[len(path) :] if p == path or p.startswith(path + "/") else p

            s.trees = {moved(p) for p in s.trees}
            s.dirs = {moved(p) for p in s.dirs}
            s.files = {moved(p): content for p, content in s.files.items()}
        return s


def join(tree, name):
    return f"{tree}/{name}" if tree else name


class Mover(threading.Thread):
    """Does random operations until it is stopped or the daemon is gone."""

    def __init__(self, mnt, rng, state, gone=GONE | DYING, full=False):
        super().__init__(daemon=True)
        self.mnt, self.rng, self.state, self.gone, self.full = mnt, rng, state, gone, full
        self.history = [state]  # all states since the last sync
        self.in_flight = self.cut = self.failure = None
        self.done = self.refused = 0
        self.stopping, self.trusting = False, True

    def run(self, limit=None):
        try:
            while not self.stopping and (limit is None or self.done < limit):
                self._do(*self._choose())
        except OSError as e:
            if e.errno in self.gone:
                self.cut = e.errno
            else:
                self.failure = f"{self.in_flight}: {e!r}"
        except BaseException as e:
            self.failure = f"{self.in_flight}: {e!r}"

    def _choose(self):
        s, rng = self.state, self.rng
        while True:
            kind = rng.choice(["tree", "dir", "file", "file", "move", "move", "move", "move",
                               "name", "unlink", "rmdir", "rmdir", "sync"])  # fmt: skip
            tree, number = rng.choice(sorted(s.trees)), rng.randrange(10**6)
            # Nothing is replaced.
            if str(number) in {os.path.basename(p) for p in s.trees | s.dirs | set(s.files)}:
                continue
            folders = [join(tree, "cache")] + [d for d in s.dirs if d.startswith(join(tree, "cache"))]
            inner = sorted(s.trees - {""})
            things = sorted(s.files) + sorted(s.dirs)
            if kind == "tree" and len(s.trees) < 6 and tree.count("agents") < 2:
                return kind, join(tree, f"agents/{number}"), None
            if kind == "dir" and len(s.dirs) < 8:
                return kind, join(tree, f"cache/{number}"), None
            if kind == "file" and len(s.files) < 20:
                content = b"%d\n" % number * rng.choice([1, 100, 3000])
                return kind, f"{rng.choice(sorted(folders))}/{number}", content
            if kind == "move" and things:
                return "rename", rng.choice(things), join(tree, f"cache/{number}")
            if kind == "name" and inner:
                path = rng.choice(inner)
                return "rename", path, f"{os.path.dirname(path)}/{number}"
            if kind == "unlink" and len(s.files) > 5:
                return kind, rng.choice(sorted(s.files)), None
            if kind == "rmdir":
                used = s.trees | s.dirs | set(s.files)
                empty = [
                    p
                    for p in inner + sorted(s.dirs)
                    if not any(u.startswith(p + "/") for u in used)
                ]
                if empty:
                    return kind, rng.choice(empty), None
            if kind == "sync":
                return kind, "cache", None

    def _do(self, kind, path, new):
        self.in_flight = (kind, path, new)
        at = os.path.join(self.mnt, path)
        try:
            if kind in ("tree", "dir"):
                os.mkdir(at)
            elif kind == "file":
                write(at, new)
            elif kind == "unlink":
                os.unlink(at)
            elif kind == "rmdir":
                os.rmdir(at)
            elif kind == "rename":
                os.rename(at, os.path.join(self.mnt, new))
            elif kind == "sync":
                fd = os.open(at, os.O_RDONLY)
                try:
                    os.fsync(fd)
                finally:
                    os.close(fd)
        except OSError as e:
            if not self.full or e.errno != errno.ENOSPC:
                raise
            self.refused += 1
            if kind == "file" and os.path.exists(at):
                os.unlink(at)
            self.in_flight = None
            return
        self.state = self.state.after(kind, path, new)
        synced = kind == "sync" and self.trusting
        self.history = [self.state] if synced else self.history + [self.state]
        self.in_flight = None
        self.done += 1

    def candidates(self, power_loss=False):
        found = self.history[:] if power_loss else [self.state]
        if self.in_flight:
            kind, path, new = self.in_flight
            if kind == "file":
                found.append(self.state.after(kind, path, b""))
            found.append(self.state.after(kind, path, new))
        if not power_loss:
            return found
        # Later changes may have lost their content: then the file exists, but is empty.
        return found + [
            s.after("file", p, b"") for s in found for p in s.files if s.files[p] and s is not found[0]
        ]


def look(mnt, tree, found):
    """Adds the contents of a tree, which must be complete."""
    root = os.path.join(mnt, tree)
    for top in TOPS + ("refs", "views", "search", ".offload", "README.md"):
        if not os.path.exists(os.path.join(root, top)):
            raise Difference("lost", f"{tree or 'the root'} has no {top}")
    before = len(found.files)
    for folder, dirs, names in os.walk(os.path.join(root, "cache")):
        below = os.path.relpath(folder, mnt)
        found.dirs |= {os.path.join(below, d) for d in dirs}
        for name in names:
            found.files[os.path.join(below, name)] = read(os.path.join(folder, name))
    found.trees.add(tree)
    for agent in os.listdir(os.path.join(root, "agents")):
        look(mnt, join(tree, "agents/" + agent), found)
    files = {p: c for p, c in list(found.files.items())[before:]}
    content = json.loads(read(os.path.join(root, ".offload/status.json")))["content"]
    counted = content["files"], content["bytes"]
    if counted != (len(files), sum(map(len, files.values()))):
        raise Difference("corrupt", f"{tree or 'the root'} counts {counted} of {sorted(files)}")


def check_refs(mnt, state):
    """Each file is found by its ref in its own tree and those around it, and in no other."""
    for path in state.files:
        ref = xattr(os.path.join(mnt, path), "ref")
        for tree in state.trees:
            here = os.path.exists(os.path.join(mnt, tree, "refs", ref))
            if here != (not tree or path.startswith(tree + "/")):
                raise Difference("corrupt", f"{path} is {'' if here else 'not '}in {tree}/refs")


def check(mnt, mover, power_loss=False):
    """Returns the state found in the mount, which must be one that was promised."""
    assert not mover.failure, mover.failure
    found = State()
    look(mnt, "", found)
    if found not in mover.candidates(power_loss):
        raise Difference(
            "corrupt",
            f"{found} is none of the last {len(mover.candidates(power_loss))} states, in"
            f" flight {mover.in_flight}; the newest: {mover.state}",
        )
    check_refs(mnt, found)
    report(rounds=1, files=len(found.files))
    return found


@test(timeout=LIMIT)
def trees_are_whole_after_sigkill(case):
    rng = seeded("agents", each_part=True)
    state = State()
    with kept(case.store):
        for number in range(rounds(12)):
            print(f"round {number}", flush=True)
            m = launch(case, f"seal_delay={rng.choice([1, 20, 3600000])}")
            assert m.comes_up(), "the store does not open"
            mover = Mover(m.mnt, rng, state)
            mover.start()
            eventually(lambda: mover.done > 5 or mover.failure, "something was done")
            time.sleep(0.3 * rng.random())
            assert kill(m), "it had ended before"
            mover.join()
            m = launch(case, SEAL)
            assert m.comes_up(), "the store does not open"
            state = check(m.mnt, mover)
            m.unmount()


def play(case, rng_seed, log, failpoints, full=False):
    """Runs a mover on a fresh store under a fault. Returns it and the daemon's exit code."""
    shutil.rmtree(case.store, ignore_errors=True)
    if os.path.exists(log):
        os.unlink(log)
    m = launch(case, SEAL, OFS_FAILPOINT=failpoints, OFS_FAILPOINT_LOG=log)
    mover = Mover(m.mnt, seeded(rng_seed), State(), full=full)
    if m.comes_up():
        mover.run(150)
    else:
        return mover, m.wait()
    if full:
        check(m.mnt, mover)
    return mover, close(m)


@test(timeout=LIMIT, variants={"kill": "kill", "kill-after": "kill-after", "full": "enospc"})
def trees_are_whole_after_a_fault_at_any_call(case, action):
    rng, log = seeded("agents"), case.path("failpoints")
    mover, code = play(case, "moves", log, ",".join(f"{p}=note" for p in POINTS))
    assert code == 0 and not mover.failure and not mover.cut, (code, mover.failure, mover.cut)
    hits, reached = count_hits(log), 0
    for point in POINTS:
        if action == "enospc" and point == "store.move":
            continue
        for hit in spread(rng, hits[point], 8):
            fault = f"{point}={action}@{hit}"
            print(fault, flush=True)
            with kept(case.store, log):
                mover, code = play(case, "moves", log, f"{point}=note,{fault}", action == "enospc")
                assert not mover.failure, mover.failure
                reached += was_reached(log, fault)
                m = launch(case, SEAL)
                assert m.comes_up(), "the store does not open"
                check(m.mnt, mover)
                m.unmount()
    assert reached > 8, "hardly a fault was reached"


@test(timeout=LIMIT, root=True)
def trees_are_whole_after_power_loss(case):
    rng = seeded("agents", each_part=True)
    disk = Disk(case, 256)
    store, state = os.path.join(disk.path, "store"), State()
    with kept(disk.image, store):
        for number in range(rounds(6)):
            print(f"round {number}", flush=True)
            m = launch(case, f"seal_delay={rng.choice([1, 20, 3600000])}", store=store)
            assert m.comes_up(), "the store does not open"
            mover = Mover(m.mnt, rng, state, GONE | DYING | DEAD)
            mover.start()
            eventually(lambda: mover.done > 20 or mover.failure, "something was done")
            time.sleep(0.3 * rng.random())
            # A sync during the shutdown of ext4 may succeed all the same.
            mover.trusting = False
            disk.shut_down()
            eventually(lambda: mover.cut or mover.failure, "it met that", 10)
            assert kill(m), "the daemon ended by itself"
            mover.join()
            disk.power_cycle()
            m = launch(case, SEAL, store=store)
            assert m.comes_up(), "the store does not open"
            state = check(m.mnt, mover, power_loss=True)
            m.unmount()
        disk.unmount()


main()
