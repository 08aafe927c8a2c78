# SPDX-License-Identifier: MIT
"""Builds the commit twice, in different folders and at different times, and compares the bytes."""
import hashlib
import os
import pathlib
import shutil
import tempfile

from common import CACHE, Failure, export, git, quietly, say


def arguments(parser):
    pass


def install(folder):
    """Builds and installs in a folder; the files by name, with a hash of each."""
    source, build, root = folder / "source", folder / "build", folder / "root"
    export("HEAD", source)
    shutil.copytree(CACHE, source / "subprojects" / "packagecache")
    environment = {
        **os.environ,
        "CC": "gcc",
        "CFLAGS": f"-ffile-prefix-map={folder}=.",
        "SOURCE_DATE_EPOCH": git("log", "-1", "--format=%ct"),
    }
    quietly("meson", "setup", "--wrap-mode=nodownload", build, source, env=environment)
    quietly("ninja", "-C", build, env=environment)
    quietly("meson", "install", "-C", build, "--no-rebuild", "--destdir", root, env=environment)
    wheel = ("--wheel", "--no-isolation", "--outdir", root, source / "python")
    quietly("python3", "-m", "build", *wheel, env=environment)
    files = sorted(path for path in root.rglob("*") if path.is_file())
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


def run(options):
    with tempfile.TemporaryDirectory() as scratch:
        made = []
        for name in ("one", "another-with-a-longer-name"):
            say(f"building in {name}, which takes minutes")
            folder = pathlib.Path(scratch, name)
            folder.mkdir()
            made.append(install(folder))
        first, second = made
        different = sorted(f for f in first.keys() | second.keys() if first.get(f) != second.get(f))
        if different:
            raise Failure("these differ between two builds: " + ", ".join(different))
    say(f"{len(first)} files have the same bytes in both builds")
    return 0
