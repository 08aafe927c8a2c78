# SPDX-License-Identifier: MIT
"""Makes the source archive, builds it without a network, and tests it.

It contains the files of the checked-out commit, and the archive of libfuse that tools/bootstrap has
put into subprojects/packagecache. The same commit always gives the same bytes.
"""
import pathlib
import tempfile

from common import CACHE, ROOT, git, quietly, say, version
from deb import libfuse

# Suites that need neither a mount nor much time.
SUITES = ("layers", "unit", "fuzz")


def arguments(parser):
    parser.add_argument(
        "-o", "--output", metavar="DIR", default=ROOT / "build-dist", type=pathlib.Path,
        help="where the archive is put (build-dist)",
    )  # fmt: skip


def make(output):
    """Makes the archive in a folder; returns its path and the name of the folder in it."""
    name = f"offloadfs-{version()}"
    archive = output.resolve() / (name + ".tar.gz")
    output.mkdir(parents=True, exist_ok=True)
    cache = CACHE.relative_to(ROOT)
    git(
        "-c", "tar.umask=0022", "archive", "-9", "-o", archive,
        f"--prefix={name}/{cache}/", f"--add-file={libfuse()}", f"--prefix={name}/", "HEAD",
    )  # fmt: skip
    return archive, name


def run(options):
    archive, name = make(options.output)
    say("building it without a network and testing it, which takes minutes")
    with tempfile.TemporaryDirectory(prefix="offloadfs-dist-") as place:
        quietly("tar", "-xf", archive, "-C", place)
        source = pathlib.Path(place, name)
        quietly("unshare", "--map-root-user", "--net", "tools/build", cwd=source)
        suites = [f"--suite={suite}" for suite in SUITES]
        quietly("meson", "test", "-C", "build", "--no-rebuild", *suites, cwd=source)
    say(f"made {archive}")
    return 0
