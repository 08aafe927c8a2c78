# SPDX-License-Identifier: MIT
"""Builds the Debian packages of the checked-out commit.

Builds without a network, in a folder of its own with the files of the commit and the archive of
libfuse that tools/bootstrap has put into subprojects/packagecache. Needs the Build-Depends of
debian/control, which 'apt-get build-dep ./' installs. The version of a commit without a tag is
VERSION~gitTIME.COMMIT, which is older than VERSION and newer than the commits before it.
To distribute the packages, set DEBFULLNAME and DEBEMAIL to their maintainer, as for dch(1).
"""
import os
import pathlib
import re
import shutil
import tempfile

from common import CACHE, Failure, ROOT, export, git, quietly, say, version

DISTRIBUTION = "unstable"
BUILD = ("dpkg-buildpackage", "-b", "-us", "-uc")
LINTIAN = ("lintian", "--fail-on", "error,warning", "--tag-display-limit", "0")
# Only the system's own programs: another Python or compiler earlier in PATH might lack what
# debian/control requires.
ENVIRONMENT = {
    "HOME": os.environ.get("HOME", "/"),
    "LC_ALL": "C.UTF-8",
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "TZ": "UTC",
}


def arguments(parser):
    parser.add_argument(
        "-o", "--output", metavar="DIR", default=ROOT / "build-deb", type=pathlib.Path,
        help="where the packages are put (build-deb)",
    )
    parser.add_argument("--no-lintian", action="store_true", help="do not run lintian")


def package_version():
    number = version()
    if {number, "v" + number} & set(git("tag", "--points-at", "HEAD").split()):
        return number
    time = git("log", "-1", "--format=%cd", "--date=format-local:%Y%m%d%H%M%S")
    return f"{number}~git{time}.{git('rev-parse', '--short=7', 'HEAD')}"


def libfuse():
    """Returns the archive named in subprojects/fuse3.wrap."""
    wrap = (ROOT / "subprojects" / "fuse3.wrap").read_text()
    archive = CACHE / re.search(r"^source_filename = (.+)$", wrap, re.M).group(1)
    if not archive.is_file():
        raise Failure(f"there is no '{archive.relative_to(ROOT)}': run tools/bootstrap")
    return archive


def set_maintainer(control):
    """Writes the environment's maintainer, if any, into debian/control; returns the maintainer."""
    text = control.read_text()
    (maintainer,) = re.findall(r"^Maintainer: (.+)$", text, re.M)
    email = os.environ.get("DEBEMAIL")
    if not email:
        return maintainer
    distributor = f"{os.environ.get('DEBFULLNAME', 'offloadfs packagers')} <{email}>"
    control.write_text(text.replace(maintainer, distributor))
    return distributor


def lay_source(folder):
    """Makes a new folder with a source for dpkg-buildpackage; returns the package version."""
    archive = libfuse()
    export("HEAD", folder)
    cache = folder / CACHE.relative_to(ROOT)
    cache.mkdir()
    shutil.copy(archive, cache)
    maintainer = set_maintainer(folder / "debian" / "control")
    number = package_version()
    (folder / "debian" / "changelog").write_text(
        f"offloadfs ({number}) {DISTRIBUTION}; urgency=medium\n\n"
        f"  * Commit {git('rev-parse', 'HEAD')}.\n"
        "    CHANGELOG.md says what is new.\n\n"
        f" -- {maintainer}  {git('log', '-1', '--format=%cD')}\n"
    )
    return number


def run(options):
    for program, package in (("dpkg-buildpackage", "dpkg-dev"), ("dh", "debhelper")):
        if not shutil.which(program):
            raise Failure(f"'{program}' is not installed: apt-get install {package}")
    output = options.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="offloadfs-deb-") as place:
        source = pathlib.Path(place) / "offloadfs"
        number = lay_source(source)
        check = ("sh", "-c", "dpkg-checkbuilddeps 2>&1 || :")
        missing = quietly(*check, cwd=source, env=ENVIRONMENT).strip()
        if missing:
            raise Failure(f"{missing.splitlines()[-1]}: sudo apt-get build-dep '{ROOT}'")
        say(f"building {number}; this may take minutes")
        quietly(*BUILD, cwd=source, env=ENVIRONMENT)
        built = [file for file in pathlib.Path(place).iterdir() if file.is_file()]
        for file in built:
            shutil.copy(file, output)
            say(f"made {output / file.name}")
        if not options.no_lintian:
            if not shutil.which("lintian"):
                raise Failure("'lintian' is not installed: apt-get install it, or --no-lintian")
            changes = next(file for file in built if file.suffix == ".changes")
            quietly(*LINTIAN, changes)
            say("lintian found no problems")
    return 0
