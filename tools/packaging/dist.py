# SPDX-License-Identifier: MIT
"""Makes the source archive, with libfuse in it, and builds and tests it without a network.

The archive is put into the folder of --output.
"""
import pathlib
import shutil
import tempfile

from common import CACHE, ROOT, Failure, git, quietly, say, version

# What needs neither a mount nor much time.
TESTS = ("layers", "base_text", "tree_slice", "store_open")


def arguments(parser):
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build-dist", metavar="DIR")


def build(source, folder):
    """Builds and tests an unpacked archive where there is no network."""
    alone = ("unshare", "-rn") if shutil.which("unshare") else ()
    quietly(*alone, "meson", "setup", "--wrap-mode=nodownload", folder, source)
    if not (source / "subprojects" / "fuse-3.18.3").is_dir():
        raise Failure("the archive lacks the sources of libfuse")
    targets = ("offload", "offloadfs", *(f"test_{name}" for name in TESTS[1:]))
    quietly(*alone, "ninja", "-C", folder, *targets)
    quietly(*alone, "meson", "test", "-C", folder, "--no-rebuild", *TESTS)


def run(options):
    name = f"offloadfs-{version()}"
    with tempfile.TemporaryDirectory() as scratch:
        source, folder = pathlib.Path(scratch, "source"), pathlib.Path(scratch, "build")
        # A clone, as what is not committed is no part of the archive.
        quietly("git", "clone", "-q", ROOT, source)
        quietly("git", "-C", source, "checkout", "-q", git("rev-parse", "HEAD"))
        shutil.copytree(CACHE, source / "subprojects" / "packagecache")
        quietly("meson", "setup", "--wrap-mode=nodownload", folder, source)
        command = ("dist", "--include-subprojects", "--no-tests", "--formats", "gztar")
        quietly("meson", *command, "-C", folder)
        (archive,) = (folder / "meson-dist").glob("*.tar.gz")
        say("building and testing it without a network, which takes minutes")
        quietly("tar", "-xf", archive, "-C", scratch)
        build(pathlib.Path(scratch, name), pathlib.Path(scratch, "again"))
        options.output.mkdir(parents=True, exist_ok=True)
        for made in (archive, archive.with_name(archive.name + ".sha256sum")):
            shutil.copy(made, options.output)
        say(f"made {options.output / archive.name}")
    return 0
