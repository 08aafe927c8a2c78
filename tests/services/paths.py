# SPDX-License-Identifier: MIT
"""Import this first: it makes the modules of tests/fs importable."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fs"))
