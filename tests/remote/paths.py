# SPDX-License-Identifier: MIT
"""Import this first: it makes the modules of tests/fs and tests/crash importable."""
import pathlib
import sys

for folder in ("crash", "fs"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / folder))
