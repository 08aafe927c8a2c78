# SPDX-License-Identifier: MIT
"""Builds the commit twice and compares every byte that is distributed.

This covers the source archive, the files that meson installs, and the wheel of python/. The builds
differ in time, folder, location of the build directory, mtimes of the sources, time zone, locale
and umask. Only the wheel needs its times and modes set: by SOURCE_DATE_EPOCH and a umask of 022.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import dist
from common import Failure, git, quietly, say

# Name of a build: (build directory relative to its source, umask, environment).
BUILDS = {
    "one": ("build", 0o022, {"TZ": "UTC+12", "LC_ALL": "C"}),
    "another": ("../elsewhere/deeper", 0o077, {"TZ": "UTC-14", "LC_ALL": "C.UTF-8"}),
}
WHEEL = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"


def arguments(parser):
    pass


def python():
    """Returns a Python that can make a wheel without a network."""
    for program in (sys.executable, "/usr/bin/python3"):
        command = (program, "-c", "import setuptools, wheel")
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return program
    raise Failure("no Python here has setuptools and wheel: run 'tools/bootstrap --test'")


def describe(root):
    """Yields (name, (mode, digest or link target)) for everything below a folder."""
    for path in sorted(root.rglob("*")):
        what = os.readlink(path) if path.is_symlink() else ""
        if path.is_file() and not what:
            what = hashlib.sha256(path.read_bytes()).hexdigest()
        yield str(path.relative_to(root)), (oct(path.lstat().st_mode), what)


def lay(folder):
    """Unpacks the source archive in a new folder; returns the source's folder."""
    archive, name = dist.make(folder / "root")
    quietly("tar", "-xf", archive, "-C", folder)
    return folder / name


def make(source, seconds, where, umask, environment):
    """Builds all that is distributed into the folder `root` beside the source; describes it."""
    for path in source.rglob("*"):
        os.utime(path, follow_symlinks=False)
    build, root = (source / where).resolve(), source.parent / "root"
    environment = {**os.environ, "CC": "gcc", "CCACHE_DISABLE": "1", **environment}
    options = {"env": environment, "umask": umask}
    quietly("meson", "setup", "--wrap-mode=nodownload", build, source, **options)
    files = json.loads(quietly("meson", "introspect", "--installed", build))
    made = [f for f in files if pathlib.Path(f).is_relative_to(build) and not os.path.lexists(f)]
    made = [os.path.relpath(f, build) for f in made]
    quietly("ninja", "-C", build, *made, **options)
    quietly("meson", "install", "-C", build, "--no-rebuild", "--destdir", root, **options)
    options = {"env": {**environment, "SOURCE_DATE_EPOCH": seconds}, "umask": 0o022}
    quietly(python(), "-c", WHEEL, root, cwd=source / "python", **options)
    return dict(describe(root))


def run(options):
    made = []
    with tempfile.TemporaryDirectory(prefix="offloadfs-reproducible-") as place:
        # Done first, as another commit may be checked out meanwhile.
        seconds = git("log", "-1", "--format=%ct")
        sources = [lay(pathlib.Path(place, name)) for name in BUILDS]
        for source, build in zip(sources, BUILDS.values()):
            say(f"building {source.parent.name}, which takes minutes")
            made.append(make(source, seconds, *build))
    first, second = made
    different = sorted(f for f in first.keys() | second.keys() if first.get(f) != second.get(f))
    if different:
        raise Failure("these differ between two builds: " + ", ".join(different))
    say(f"{len(first)} files are the same in both builds")
    return 0
