# SPDX-License-Identifier: MIT
"""Imported first: what the tests of tests/fs and tests/crash share can be imported afterwards."""
import pathlib
import sys

for folder in ("crash", "fs"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / folder))
