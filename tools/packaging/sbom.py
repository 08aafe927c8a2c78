# SPDX-License-Identifier: MIT
"""Writes the components of a build's programs to standard output, as SPDX 2.3 (JSON).

Asks dpkg about files of the system. SOURCE_DATE_EPOCH, if set, is the time of the document.
"""
import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import time
import uuid

from common import ROOT, Failure, quietly

# Debian source package: (name, license). Packages of the system in a build are looked up here.
SYSTEM = {
    "sqlite3": ("SQLite", "blessing"),
    "libzstd": ("Zstandard", "BSD-3-Clause"),
    "openssl": ("OpenSSL", "Apache-2.0"),
    "xxhash": ("xxHash", "BSD-2-Clause"),
    "jansson": ("Jansson", "MIT"),
    "pcre2": ("PCRE2", "BSD-3-Clause"),
    "snowball": ("Snowball", "BSD-3-Clause"),
    "liburing": ("liburing", "LGPL-2.1-or-later OR MIT"),
    "ncurses": ("ncurses", "X11-distribute-modifications-variant"),
    "numactl": ("libnuma", "LGPL-2.1-only"),
    "zlib": ("zlib", "Zlib"),
    "chart.js": ("Chart.js", "MIT"),
    "node-chart.js": ("Chart.js", "MIT"),
    "node-d3-hierarchy": ("d3-hierarchy", "BSD-3-Clause"),
}
# Source packages of the compiler and the C library, which every program contains.
TOOLCHAIN = ("gcc-", "glibc")


def arguments(parser):
    parser.add_argument("build", type=pathlib.Path, help="a build directory")


def package(name, version, license, place):
    return {
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name),
        "name": name,
        "versionInfo": version,
        "downloadLocation": place,
        "filesAnalyzed": False,
        "licenseConcluded": license,
        "licenseDeclared": license,
        "copyrightText": "NOASSERTION",
    }


def from_system(path):
    """Returns the SPDX package of a system file, or None if it belongs to the toolchain."""
    path = pathlib.Path(path).resolve()
    found = None
    for name in (path, pathlib.Path("/" + str(path).removeprefix("/usr/"))):
        done = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True, check=False)
        found = found or (done.stdout.split(": ")[0] if done.returncode == 0 else None)
    if not found:
        return package(path.name, "NOASSERTION", "NOASSERTION", "NOASSERTION")
    wanted = "${source:Package} ${source:Version}\n"
    source, version = quietly("dpkg-query", "-W", "-f", wanted, found).splitlines()[0].split()
    if source.startswith(TOOLCHAIN):
        return None
    name, license = SYSTEM.get(source, (source, "NOASSERTION"))
    return package(name, version, license, f"https://sources.debian.org/src/{source}/{version}/")


def contents(build):
    """Returns the SPDX packages contained in the programs of a build."""
    commands = quietly("ninja", "-C", build, "-t", "commands", "offload", "offloadfs")
    paths = set(re.findall(r"(?<![\w.-])(/[^\s'\"]+\.a)(?=\s|$)", commands))
    paths |= set(re.findall(r"=(/[^\s'\"]+\.js)(?=\s|$)", commands))
    wrap = (ROOT / "subprojects" / "fuse3.wrap").read_text(encoding="utf-8")
    if "subprojects/fuse-" in commands:
        url = re.search(r"^source_url = (.*)$", wrap, re.M)[1]
        version = re.search(r"^directory = fuse-(.*)$", wrap, re.M)[1]
        yield package("libfuse", version, "LGPL-2.1-only", url)
    table = (ROOT / "src" / "embed" / "unicode_data.h").read_text(encoding="utf-8")
    unicode = re.search(r"Of Unicode ([\d.]*\d)", table)[1]
    place = f"https://www.unicode.org/Public/{unicode}/ucd/"
    yield package("Unicode Character Database", unicode, "Unicode-DFS-2016", place)
    for path in sorted(paths):
        if not pathlib.Path(path).resolve().is_relative_to(build.resolve()):
            yield from filter(None, [from_system(path)])


def run(options):
    if not (options.build / "build.ninja").is_file():
        raise Failure(f"'{options.build}' is not a build directory")
    if not shutil.which("dpkg"):
        raise Failure("'dpkg' is not installed: only Debian packages can be identified")
    project = json.loads(quietly("meson", "introspect", "--projectinfo", options.build))
    own = package("offloadfs", project["version"], "MIT", "NOASSERTION")
    packages = {p["SPDXID"]: p for p in contents(options.build)}
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    relations += [(own["SPDXID"], "CONTAINS", name) for name in packages]
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    made = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    created = made.strftime("%Y-%m-%dT%H:%M:%SZ")
    name = f"offloadfs-{project['version']}"
    said = json.dumps([created, name, *packages.values()])
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": uuid.uuid5(uuid.NAMESPACE_URL, said).urn,
        "creationInfo": {
            "created": created,
            "creators": ["Tool: offloadfs-tools-package"],
        },
        "packages": [own, *packages.values()],
        "relationships": [
            {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
            for a, kind, b in relations
        ],
    }
    print(json.dumps(document, indent=1))
    return 0
