# SPDX-License-Identifier: MIT
"""Installs the packages on bare Debian systems, uses, upgrades and removes them.

For each release, builds the packages and runs lintian in one system made by debootstrap, and tries
them in a bare one. Systems and packages are kept in the folder of --output, so that later runs take
only minutes. Needs root and a network. Its mounts and processes end with it.
"""
import hashlib
import os
import pathlib
import re
import shutil
import tempfile
import time

from chroot import Booted, Chroot, bare, copy, in_own_namespaces
from chroot_build import packages, store_before, write
from common import ROOT, Failure, quietly, say, version

RELEASES = ("bookworm", "trixie")
# Tools that the steps use besides the packages. systemd is installed by its own step.
TOOLS = ("gcc", "libc6-dev", "man-db", "mount", "pkgconf")
SYSTEMD = ("dbus-user-session", "libpam-systemd", "systemd")
OLDER = "0.0.1"
USER, WORKSPACE = "ann", "/home/ann/project"
STORE, TREE = "/srv/store", "/srv/memory"
LINES = "".join(f"line {number} of the log\n" for number in range(1, 5001))
BEFORE = {
    "persistent/notes.md": "# Notes\n" + LINES,
    "persistent/again/notes.md": "# Notes\n" + LINES,
    "archive/plan.txt": "the plan\n",
    "cache/log": LINES[:70000],
    "tasks/fix-1/log": LINES[::-1],
}
PYTHON = """
import offloadfs
store = offloadfs.Store(task="try")
memory = store.offload("".join(f"{n} grain\\n" for n in range(5000)), title="grains")
assert store.fetch(memory.id, (3, 4)).text == "2 grain\\n3 grain\\n", store.fetch(memory.id, (3, 4))
assert list(store.search("grain"))
assert store.grep("^49.9 gr[a]in").matches == 10
"""


def arguments(parser):
    parser.add_argument(
        "-o", "--output", metavar="DIR", default=ROOT / "build-deb", type=pathlib.Path,
        help="where systems and packages are kept (build-deb)",
    )
    parser.add_argument(
        "releases", nargs="*", metavar="RELEASE", help="releases of Debian: " + ", ".join(RELEASES),
    )


def same(found, expected):
    if found != expected:
        raise Failure(f"found {str(found)[:2000]!r}\ninstead of {str(expected)[:2000]!r}")


def has(text, part):
    if part not in text:
        raise Failure(f"there is no {part!r} in\n{text}")


class Trial:
    """The packages on one system. Each step continues from the state the previous ones left."""

    def __init__(self, system, debs, store):
        self.system, self.run, self.debs, self.store = system, system.run, debs, store
        self.names = [deb.name.split("_")[0] for deb in debs]
        self.number = debs[0].name.split("_")[1]  # independent of later checkouts

    def install(self, folder):
        self.system.apt("install", *sorted(f"{folder}/{deb.name}" for deb in self.debs))

    def as_user(self, *command, **options):
        return self.run(*command, user=USER, cwd=WORKSPACE, **options)

    def write_lines(self, tree, **options):
        self.run("tee", f"{tree}/cache/log", input=LINES, **options)
        self.read_lines(tree, **options)

    def read_lines(self, tree, **options):
        said = self.run("cat", f"{tree}/cache/log:2-3", **options)
        same(said, "line 2 of the log\nline 3 of the log\n")

    def unmount(self, tree, store):
        self.run("umount", tree)
        self.run("flock", "-w", "60", f"{store}/lock", "true")


def prepare(trial):
    """the bare system is prepared"""
    trial.system.apt("update")
    trial.system.apt("install", "--no-install-recommends", *TOOLS)
    trial.run("useradd", "--create-home", "--shell", "/bin/sh", USER)
    trial.run("mkdir", WORKSPACE, user=USER)
    trial.run("ln", "-sf", "../proc/self/mounts", "/etc/mtab")  # as Debian's installer does
    trial.traces = traces(trial.system)


def install_older(trial):
    """packages of an older version are installed by apt-get"""
    place = trial.system.path("/packages")
    for folder in ("older", "new"):
        (place / folder).mkdir(parents=True)
    for deb in trial.debs:
        shutil.copy(deb, place / "new")
        content = "/packages/content"
        trial.run("dpkg-deb", "--raw-extract", f"/packages/new/{deb.name}", content)
        control = trial.system.path(content) / "DEBIAN" / "control"
        control.write_text(control.read_text().replace(trial.number, OLDER))
        trial.run("dpkg-deb", "-Znone", "--build", content, f"/packages/older/{deb.name}")
        shutil.rmtree(trial.system.path(content))
    trial.install("/packages/older")


def upgrade(trial):
    """the new packages replace them under a mount, which keeps working"""
    trial.run("mkdir", "-p", STORE, TREE)
    trial.run("offloadfs", STORE, TREE)
    trial.write_lines(TREE)
    trial.install("/packages/new")
    said = trial.run("dpkg-query", "-W", "-f", "${Package} ${Version} ${Status}\n", *trial.names)
    expected = (f"{name} {trial.number} install ok installed\n" for name in sorted(trial.names))
    same(said, "".join(expected))
    trial.read_lines(TREE)
    trial.write_lines(TREE)
    trial.unmount(TREE, STORE)


def programs(trial):
    """the programs print their version and have manual pages"""
    for program in ("offload", "offloadfs"):
        has(trial.as_user(program, "--version"), version())
    trial.as_user("man", "-w", "offload-run", "offload", "offloadfs")


def unmounted(trial):
    """a user stores, shows and finds without a mount"""
    said = trial.as_user("offload", "put", "--title", "the log", input=LINES)
    (ref,) = re.findall(r"\(ref (\w+)\)", said)
    has(trial.as_user("offload", "show", ref), "the log")
    has(trial.as_user("offload", "search", "line 4711"), "cache/general/")
    trial.as_user("offload", "export", "all.tar.zst")


def mounted(trial):
    """a user mounts by fusermount3"""
    trial.as_user("offload", "up")
    trial.write_lines(f"{WORKSPACE}/.offload", user=USER)
    trial.as_user("offload", "down")


def by_mount(trial):
    """mount(8) and fstab mount, umount(8) unmounts"""
    trial.run("mount", "-t", "fuse.offloadfs", STORE, TREE)
    trial.read_lines(TREE)
    trial.unmount(TREE, STORE)
    with trial.system.path("/etc/fstab").open("a") as fstab:
        fstab.write(f"{STORE} {TREE} fuse.offloadfs allow_other,nofail,seal_delay=1s 0 0\n")
    trial.run("mount", TREE)
    trial.read_lines(TREE, user=USER)
    trial.unmount(TREE, STORE)


def library(trial):
    """the example builds with the library and runs"""
    trial.as_user("cp", "/usr/share/doc/liboffloadfs-dev/examples/library.c", ".")
    trial.as_user("sh", "-c", "cc library.c -o library $(pkg-config --cflags --libs liboffloadfs)")
    has(trial.as_user("ldd", "./library"), "liboffloadfs.so.0 => /")
    request = '{"messages": [{"role": "user", "content": "Hi."}]}'
    has(trial.as_user("./library", input=request), '"Hi."')


def client(trial):
    """the Python client stores, reads and finds"""
    trial.as_user("python3", "-c", PYTHON)


def before(trial):
    """a store of the previous version has all its files"""
    place = "/srv/before"
    trial.run("mkdir", place, f"{place}/memory")
    quietly("tar", "-xf", trial.store, "-C", trial.system.path(place))
    trial.run("offloadfs", f"{place}/store", f"{place}/memory")
    tree = trial.system.path(f"{place}/memory")
    for name, content in BEFORE.items():
        same((tree / name).read_text(), content)
    trial.run("offload", "verify", f"{place}/memory")
    trial.unmount(f"{place}/memory", f"{place}/store")
    trial.run("offload", "verify", f"{place}/store")


def units(trial):
    """systemd mounts for a user who is not logged in, and starts and restricts the server"""
    trial.system.apt("install", "--no-install-recommends", *SYSTEMD)
    with Booted(trial.system):
        trial.run("loginctl", "enable-linger", USER)
        number = trial.run("id", "-u", USER).strip()
        runtime = {"XDG_RUNTIME_DIR": f"/run/user/{number}"}

        def systemctl(*words):
            return trial.as_user("systemctl", "--user", *words, env=runtime)

        eventually(lambda: systemctl("is-active", "basic.target"))
        name = trial.run("systemd-escape", "--path", WORKSPACE).strip()
        socket = f"/run/user/{number}/offloadfs/{name}.sock"
        try:
            mounts(trial, systemctl, f"offloadfs@{name}.service")
            serves(trial, systemctl, f"offload-serve@{name}", socket)
        except Failure as failure:
            said = trial.run("journalctl", "--no-pager", "--lines=50")
            raise Failure(f"{failure}\n{said}") from None


def mounts(trial, systemctl, unit):
    tree = f"{WORKSPACE}/.offload"
    systemctl("enable", "--now", unit)
    trial.write_lines(tree, user=USER)
    systemctl("kill", "--signal=KILL", "--kill-whom=main", unit)
    eventually(lambda: trial.read_lines(tree, user=USER))
    systemctl("disable", "--now", unit)
    has(trial.run("sh", "-c", f"mountpoint {tree} || :"), "is not a mountpoint")


def serves(trial, systemctl, unit, socket):
    systemctl("enable", "--now", f"{unit}.socket")
    trial.as_user("python3", "-c", PYTHON, env={"OFFLOAD_SERVER": socket})
    process = systemctl("show", "--value", "-p", "MainPID", f"{unit}.service").strip()
    status = trial.run("cat", f"/proc/{process}/status")
    for line in ("NoNewPrivs:\t1", "Seccomp:\t2"):
        has(status, line)
    systemctl("disable", "--now", f"{unit}.socket", f"{unit}.service")


def remove(trial):
    """purging the packages leaves nothing behind and touches nothing else"""
    files = set(trial.run("dpkg", "-L", *trial.names).split("\n")) - {"", "/."}
    stores = digests(trial.system)
    trial.system.apt("purge", *trial.names)
    left = sorted(file for file in files if os.path.lexists(trial.system.path(file)))
    trial.run("dpkg", "-S", *left)  # the rest are folders of other packages
    same(traces(trial.system) - trial.traces, set())
    same(digests(trial.system), stores)


def eventually(do):
    """Repeats do() until it succeeds, for a minute at most."""
    for _ in range(120):
        try:
            return do()
        except Failure as failure:
            last = failure
            time.sleep(0.5)
    raise last


def traces(system):
    """Returns everything with the project's name where packages and their scripts put files."""
    return {
        str(path)
        for folder in ("/etc", "/usr", "/var/lib")
        for path in system.path(folder).rglob("*offload*")
    }


def digests(system):
    """Maps each file that users have stored to its digest."""
    return {
        path: hashlib.sha256(path.read_bytes()).digest()
        for folder in ("/home", "/srv")
        for path in system.path(folder).rglob("*")
        if path.is_file()
    }


STEPS = (
    prepare, install_older, upgrade, programs, unmounted, mounted, by_mount, library, client,
    before, units, remove,
)


def attempt(suite, output, place):
    systems = output / "systems"
    debs = packages(suite, output / suite, systems)
    store = store_before(suite, systems, BEFORE)
    root = copy(bare(suite, systems), place / suite)
    with Chroot(root, systems / f"{suite}-archives") as system:
        trial = Trial(system, debs, store)
        for step in STEPS:
            start = time.monotonic()
            try:
                step(trial)
            except Failure as failure:
                raise Failure(f"{suite}: failed: {step.__doc__}\n{failure}") from None
            say(f"{suite}: {step.__doc__} ({time.monotonic() - start:.0f} s)")


def run(options):
    in_own_namespaces()
    output = options.output.resolve()
    for suite in options.releases or RELEASES:
        place = pathlib.Path(tempfile.mkdtemp(prefix="offloadfs-test-"))
        try:
            attempt(suite, output, place)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    say("all steps passed")
    return 0
