# SPDX-License-Identifier: MIT
"""Runs tests/crash/flip.c."""
import os
import subprocess

from rounds import report
from workload import Difference

from harness import SOURCE_ROOT, write

FLIP = os.path.abspath(os.environ.get("OFFLOADFS_FLIP") or SOURCE_ROOT / "build" / "flip")


def flip(command, list_of_wrong, files):
    """
    Runs the program, passes its progress on, and writes its findings to a file. Returns the number
    of errors in reading and in opening. `files` is the number of files that are compared.
    """
    wrong, before, done = [], 0, None
    print(" ".join(command), flush=True)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            word, *rest = line.split()
            if word == "progress":
                report(rounds=int(rest[0]) - before, of=int(rest[1]))
                before = int(rest[0])
            elif word == "done":
                done = list(map(int, rest))
            else:
                wrong.append(line)
    assert wrong or done, f"flip ended with {process.returncode}"
    if done:
        tried, right, error, refused, _ = done
        print(f"{tried} flips: {right} did not matter, {error} EIO, {refused} refused")
        report(rounds=tried - before, files=tried * files)
    if wrong:
        write(list_of_wrong, "".join(wrong).encode())
        report(corrupt=len(wrong) - 1)  # the Difference itself counts as one
        raise Difference(
            "corrupt", f"{len(wrong)} flips were not noticed and mattered:\n" + "".join(wrong[:100])
        )
    assert process.returncode == 0, f"flip ended with {process.returncode}"
    return error, refused
