#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A sample of stress-ng: many changes at once, which it checks. Nothing remains afterwards."""
from suites import stress

from harness import main, test

SAMPLE = ("dentry", "hdd", "link", "mmap", "rename", "symlink")


@test(variants={name: name for name in SAMPLE}, timeout=120)
def stress_leaves_nothing_behind(case, name):
    stress(case, name, 1, memory=False)


main()
