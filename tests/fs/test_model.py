#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Random operations on the mount and on an ordinary directory must end in the same tree and fail in
the same way.
"""
import os
import random

from files import MIB, STATES, same_tree, snapshot
from harness import (
    RENAME_EXCHANGE,
    RENAME_NOREPLACE,
    SEAL_NEVER,
    SEAL_SOON,
    main,
    read,
    renameat2,
    same,
    test,
)

SEEDS = {str(seed): seed for seed in range(1, 7)}


class Both:
    """Does everything twice: below `real` and below `model`."""

    def __init__(self, real, model, rng):
        self.real, self.model, self.rng = real, model, rng
        self.log = []

    def apply(self, what, function, *names):
        outcomes = []
        for root in (self.real, self.model):
            try:
                function(*[os.path.join(root, n) for n in names])
                outcomes.append(None)
            except OSError as e:
                outcomes.append(e.errno)
        self.log.append(f"{what} {names}: {outcomes[1]}")
        recent = "\n".join(self.log[-12:])
        assert (
            outcomes[0] == outcomes[1]
        ), f"{what} {names}: errno {outcomes[0]}, expected {outcomes[1]}; before it:\n{recent}"

    def step(self):
        rng = self.rng
        name = lambda: "/".join(rng.choice("abc") for _ in range(rng.randrange(1, 4)))
        size = rng.choice([0, 1, 100, 4096, 5000, 70000, 300000])
        at = rng.choice([0, 1, 4095, 65536, 100000, 131072, 400000])
        data = rng.randbytes(size) if rng.random() < 0.7 else bytes([rng.randrange(256)]) * size
        flags = rng.choice([0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE])

        def put(path, mode):
            fd = os.open(path, mode | os.O_CREAT, 0o644)
            try:
                os.write(fd, data) if mode & (os.O_APPEND | os.O_TRUNC) else os.pwrite(fd, data, at)
            finally:
                os.close(fd)

        action = rng.choices(
            [
                "new",
                "append",
                "patch",
                "truncate",
                "mkdir",
                "rename",
                "unlink",
                "rmdir",
                "link",
                "symlink",
            ],
            [4, 3, 6, 4, 4, 5, 2, 1, 2, 1],
        )[0]
        if action == "new":
            self.apply(f"write {size}", lambda p: put(p, os.O_WRONLY | os.O_TRUNC), name())
        elif action == "append":
            self.apply(f"append {size}", lambda p: put(p, os.O_WRONLY | os.O_APPEND), name())
        elif action == "patch":
            self.apply(f"patch {at}+{size}", lambda p: put(p, os.O_WRONLY), name())
        elif action == "truncate":
            self.apply(f"truncate {at}", lambda p: os.truncate(p, at), name())
        elif action == "mkdir":
            self.apply("mkdir", os.mkdir, name())
        elif action == "rename":
            self.apply(f"rename {flags}", lambda a, b: renameat2(a, b, flags), name(), name())
        elif action == "unlink":
            self.apply("unlink", os.unlink, name())
        elif action == "rmdir":
            self.apply("rmdir", os.rmdir, name())
        elif action == "link":
            self.apply("link", os.link, name(), name())
        else:
            self.apply("symlink", lambda p: os.symlink("a/b", p), name())


@test(variants=SEEDS, timeout=180)
def a_random_tree_equals_its_model(case, seed):
    rng = random.Random(seed)
    os.mkdir(case.path("model"))
    with case.mount(SEAL_SOON if seed % 2 else SEAL_NEVER) as m:
        os.mkdir(m("cache/model"))
        both = Both(m("cache/model"), case.path("model"), rng)
        for _ in range(6):
            for _ in range(60):
                both.step()
            same_tree(snapshot(both.real), snapshot(both.model))
            before = snapshot(both.real, identity=True)
            getattr(m, rng.choice(["remount", "crash"]))(rng.choice([SEAL_SOON, SEAL_NEVER]))
            same_tree(snapshot(both.real, identity=True), before)


@test(variants=STATES, timeout=180)
def a_random_file_equals_its_model(case, state):
    """Writes, cuts and reads at the places where blocks, pages and chunks meet."""
    rng = random.Random(99)
    want = bytearray()
    edges = [0, 1, 4095, 4096, 65535, 65536, 131072, 262144, MIB - 1, MIB, MIB + 1, 2 * MIB]
    with state.mount(case) as m:
        path = m.make("cache/shell/f", b"")
        for turn in range(10):
            fd = os.open(path, os.O_RDWR)
            for _ in range(12):
                at = max(0, rng.choice(edges) + rng.randrange(-3, 4))
                if rng.random() < 0.75:
                    data = rng.randbytes(rng.choice([1, 5, 4096, 10000, 140000]))
                    assert os.pwrite(fd, data, at) == len(data)
                    want.extend(bytes(max(0, at - len(want))))
                    want[at : at + len(data)] = data
                else:
                    os.ftruncate(fd, at)
                    want[at:] = bytes(max(0, at - len(want)))
                look = rng.randrange(0, len(want) + 10)
                same(
                    os.pread(fd, 8192, look),
                    bytes(want[look : look + 8192]),
                    f"turn {turn}: read at {look}",
                )
            os.close(fd)
            state.settle(m, path)
            same(read(path), bytes(want), f"turn {turn}")


main()
