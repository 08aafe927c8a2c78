# SPDX-License-Identifier: MIT
"""Builds what tools/package test needs, in a system of its release."""
import contextlib
import pathlib
import shutil
import zlib

from chroot import Chroot, bare, copy
from common import CACHE, Failure, ROOT, export, git, quietly, say, version
from deb import BUILD, LINTIAN, lay_source, package_version

PLACE = "/build"
SOURCE = f"{PLACE}/offloadfs"
BEFORE = f"{PLACE}/before"
# ccache makes another build take seconds. lintian is the release's own.
HELPERS = ("ccache", "dpkg-dev", "lintian")
ENVIRONMENT = {"CCACHE_DIR": f"{PLACE}/ccache"}


@contextlib.contextmanager
def builder(suite, systems):
    """Yields the build system, with the source and the packages that debian/control requires."""
    root = systems / f"{suite}-build"
    if not root.exists():
        copy(bare(suite, systems), root)
    with Chroot(root) as system:
        system.path(PLACE).mkdir(exist_ok=True)
        for old in system.path(PLACE).glob("*offloadfs*"):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        lay_source(system.path(SOURCE))
        system.apt("update")
        system.apt("install", "--no-install-recommends", *HELPERS)
        system.apt("build-dep", "--no-install-recommends", SOURCE)
        yield system


def packages(suite, folder, systems):
    """Returns the packages of the checked-out commit, in `folder`; builds them if necessary."""
    number = package_version()
    if not list(folder.glob(f"*_{number}_*.changes")):
        say(f"{suite}: building {number}, which takes minutes")
        folder.mkdir(parents=True, exist_ok=True)
        with builder(suite, systems) as system:
            system.run(*BUILD, cwd=SOURCE, env=ENVIRONMENT)
            (changes,) = system.path(PLACE).glob("*.changes")
            system.run(*LINTIAN, changes.name, cwd=PLACE)
            for deb in system.path(PLACE).glob("*.deb"):
                shutil.copy(deb, folder)
            shutil.copy(changes, folder)
    debs = folder.glob(f"*_{number}_*.deb")
    return sorted(deb for deb in debs if "-dbgsym_" not in deb.name)


def commit_before():
    """Returns the last commit of the previous version."""
    changed = f"-Sversion: '{version()}'"
    found = git("log", "-1", "--format=%H", changed, "HEAD", "--", "meson.build")
    if not found:
        raise Failure(f"the history has no commit before version {version()}")
    return git("rev-parse", found + "^")


def store_before(suite, systems, files):
    """Returns an archive of a store with `files` ({name: content}) from the previous version."""
    commit = commit_before()
    archive = systems / f"store-{commit[:12]}-{zlib.crc32(repr(files).encode()):x}.tar"
    if not archive.exists():
        say(f"{suite}: building the previous version, {commit[:12]}, which takes minutes")
        with builder(suite, systems) as system:
            build_before(system, commit)
            write_before(system, files)
            half = archive.with_suffix(".half")
            quietly("tar", "-cf", half, "-C", system.path(BEFORE), "store")
            half.rename(archive)
    return archive


def build_before(system, commit):
    folder = system.path(BEFORE)
    shutil.rmtree(folder, ignore_errors=True)
    export(commit, folder)
    shutil.copytree(CACHE, folder / CACHE.relative_to(ROOT))
    system.run("meson", "setup", "build", "--wrap-mode=nodownload", cwd=BEFORE, env=ENVIRONMENT)
    system.run("ninja", "-C", "build", "offload", "offloadfs", cwd=BEFORE, env=ENVIRONMENT)


def write_before(system, files):
    system.run("mkdir", "store", "memory", cwd=BEFORE)
    system.run("build/offloadfs", "store", "memory", cwd=BEFORE)
    write(system.path(BEFORE) / "memory", files)
    system.run("umount", "memory", cwd=BEFORE)
    # The lock becomes free when the daemon has ended, with everything on disk.
    system.run("flock", "-w", "60", "store/lock", "true", cwd=BEFORE)


def write(tree, files):
    for name, content in files.items():
        file = pathlib.Path(tree, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
