# SPDX-License-Identifier: MIT
"""Imported first: what the tests of tests/crash, fs, posix and services share can be imported afterwards."""
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / name) for name in ("fs", "posix", "crash", "services")]
