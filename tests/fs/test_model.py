#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Random operations on the mount and on an ordinary directory must give the same tree and the same
errors. tools/model runs many more.
"""
import os
import random

from files import MIB, STATES
from harness import main, read, same, test
from model import first_delay, play, random_ops

STEPS = 250
SEEDS = {str(seed): seed for seed in range(1, 9)}


@test(variants=SEEDS, timeout=180)
def a_random_tree_equals_its_model(case, seed):
    """
    On failure, `tools/model --seed SEED --steps STEPS` finds the shortest sequence that fails.
    """
    play(case, random_ops(seed, STEPS), first_delay(seed))


@test(variants=STATES, timeout=180)
def a_random_file_equals_its_model(case, state):
    """Writes, truncates and reads around the boundaries of blocks, pages and chunks."""
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
