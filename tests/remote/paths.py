# SPDX-License-Identifier: MIT
"""Imported first: what the tests of tests/fs share can be imported afterwards."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fs"))
