#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A file under random changes and reads of every kind always has the right content."""
import os

from suites import BUSY, EXERCISE, exercise

from harness import Skip, main, test

# What the filesystem must support. Other operations are skipped if it does not support them.
REQUIRED = ("--require", "direct,copy,fallocate,punch,seek,zero")


@test(
    variants={
        f"{name}, seed {seed}": (options, seed)
        for name, options in {"plain": (), "busy": BUSY}.items()
        for seed in (1, 2)
    }
)
def a_file_equals_its_image(case, variant):
    options, seed = variant
    if not os.access(EXERCISE, os.X_OK):
        raise Skip(f"there is no program at {EXERCISE}: set OFFLOADFS_EXERCISE")
    exercise(case, 4000, seed, options, rounds=3, arguments=REQUIRED)


main()
