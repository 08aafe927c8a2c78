# SPDX-License-Identifier: MIT
"""Import this first: it makes the modules of tests/crash, fs, posix and services importable."""
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / name) for name in ("fs", "posix", "crash", "services")]
