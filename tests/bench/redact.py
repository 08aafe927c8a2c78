# SPDX-License-Identifier: MIT
"""The speed of the search for secrets, and what it finds in texts without any."""
import os
import pathlib
import subprocess

from files import SOURCE_ROOT
from measure import Failure, heading, met, table

REDACT = os.environ.get("OFFLOADFS_REDACT") or str(SOURCE_ROOT / "build" / "redact")
ROUNDS = 5
AIM_SPEED = 300  # MB/s
SHOWN = 40  # finds at most
FOLDERS = ("src", "docs", "tools", "tests/bench", "tests/fs")
TRACES = os.environ.get("OFFLOADFS_TEST_DATA") or SOURCE_ROOT.parent / "shared" / "data"


def add_arguments(parser):
    parser.add_argument(
        "--files",
        metavar="DIR",
        action="append",
        help="search the files in it instead of the sources and the traces",
    )


def measure(options):
    if not os.access(REDACT, os.X_OK):
        raise Failure(f"there is no program at '{REDACT}': set OFFLOADFS_REDACT")
    folders = options.files or [SOURCE_ROOT / name for name in FOLDERS] + [TRACES]
    paths = [p for folder in folders for p in sorted(pathlib.Path(folder).rglob("*"))]
    paths = [p for p in paths if p.is_file() and not p.is_symlink() and "\n" not in str(p)]
    done = subprocess.run(
        [REDACT, str(ROUNDS)],
        input="".join(f"{p}\n" for p in paths).encode(errors="surrogateescape"),
        stdout=subprocess.PIPE,
        check=True,
    )
    *found, last = done.stdout.decode(errors="replace").splitlines()
    size, seconds = (float(word) for word in last.split())
    speed = size / max(seconds, 1e-9) / 1e6
    heading(f"redact: one core, processor time, the best of {ROUNDS} rounds")
    table(
        ["files", "MB", "MB/s", "lines with secrets"],
        [[len(paths), f"{size / 1e6:.1f}", f"{speed:.0f}", len(found)]],
    )
    for line in found[:SHOWN]:
        print("  " + line.replace("\t", ": ", 1)[:160])
    print(f"\n  aim: at least {AIM_SPEED} MB/s: {met(speed >= AIM_SPEED)}")
    return {"mb_per_second": speed, "bytes": size, "lines": len(found)}
