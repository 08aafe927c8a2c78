# SPDX-License-Identifier: MIT
"""Compares the interface of liboffloadfs with the recorded one.

The interface is what a compiler takes from the public headers: prototypes, layouts, constants. It
is recorded in tests/package/liboffloadfs.abi. Needs gcc and pahole (package dwarves), on x86-64.
"""
import difflib
import pathlib
import re
import shutil
import tempfile

from common import ROOT, Failure, quietly, say

WRITTEN = ROOT / "tests" / "package" / "liboffloadfs.abi"
HEADERS = sorted((ROOT / "include" / "offloadfs").glob("*.h"))
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def arguments(parser):
    parser.add_argument("--write", action="store_true", help="record the current interface")


def words(text):
    return " ".join(text.split())


def describe():
    """Yields the interface as lines of text."""
    text = "".join(COMMENT.sub("", header.read_text(encoding="utf-8")) for header in HEADERS)
    with tempfile.TemporaryDirectory() as folder:
        source, compiled = pathlib.Path(folder, "all.c"), pathlib.Path(folder, "all.o")
        source.write_text("".join(f"#include <offloadfs/{h.name}>\n" for h in HEADERS))
        compiler = ("gcc", f"-I{ROOT / 'include'}", "-g", "-fno-eliminate-unused-debug-types")
        prototypes = pathlib.Path(folder, "prototypes")
        quietly(*compiler, "-aux-info", prototypes, "-c", source, "-o", compiled)
        for line in sorted(prototypes.read_text().splitlines()):
            if "include/offloadfs/" in line:
                yield COMMENT.sub("", line).strip()
        types = re.findall(r"^(?:struct|enum) (\w+) \{", text, re.M)
        for name in sorted(types):
            for line in quietly("pahole", "-C", name, compiled).splitlines():
                # pahole's remarks differ between versions.
                if not re.match(r"\s*/\* (?!size:)", line) and line.strip():
                    yield words(line)
    for found in sorted(re.findall(r"^typedef [^;]*;|^enum \{[^}]*\};", text, re.M)):
        yield words(found)
    for found in re.findall(r"^#define (OFS_.*(?:\\\n.*)*)", text, re.M):
        yield words(found.replace("\\\n", " "))


def run(options):
    if not shutil.which("pahole"):
        raise Failure("'pahole' is not installed: it is in the package dwarves")
    lines = [line + "\n" for line in describe()]
    if options.write:
        WRITTEN.write_text("".join(lines), encoding="utf-8")
        return 0
    written = WRITTEN.read_text(encoding="utf-8").splitlines(keepends=True)
    difference = "".join(difflib.unified_diff(written, lines, "recorded", "current"))
    if difference:
        raise Failure(
            f"the interface has changed:\n{difference}docs/STABILITY.md says what may change; "
            "'tools/package abi --write' records it"
        )
    say("the interface is as recorded")
    return 0
