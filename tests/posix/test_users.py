#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mounts of ordinary users, and several users of one mount."""
import ctypes
import errno
import fcntl
import mmap
import os
import shutil
import socket
import stat
import subprocess

from programs import ALICE, BOB, TEAM, as_user, outcome, program, told

from files import noise
from harness import (
    NOBODY,
    OFFLOAD,
    OFFLOADFS,
    SEAL_SOON,
    SLOW,
    Mount,
    Skip,
    eventually,
    is_alive,
    main,
    mount_points,
    raises,
    read,
    run,
    same,
    test,
    write,
)

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS = 0x20000
# fusermount3 mounts only for users with a name.
OWNER = NOBODY
FUSE_CONF, DEVICE = "/etc/fuse.conf", "/dev/fuse"


def own_namespace():
    """Limits later mounts to this test: nobody else sees them, and they end with it."""
    if libc.unshare(CLONE_NEWNS) != 0:
        raise Skip("this container does not allow mount namespaces")
    run("mount", "--make-rprivate", "/")


def open_device(case):
    """Opens /dev/fuse to everybody, as on most systems, but only for this test."""
    if os.stat(DEVICE).st_mode & 0o006 == 0o006:
        return
    node = case.path("fuse")
    os.mknod(node, stat.S_IFCHR, os.stat(DEVICE).st_rdev)
    os.chmod(node, 0o666)
    run("mount", "--bind", node, DEVICE)
    if told(ALICE, lambda: outcome(os.open, DEVICE, os.O_RDWR)) != "'OK'":
        raise Skip(f"{DEVICE} is closed to other users")


class UserMount(Mount):
    """A daemon of another user that serves only that user."""

    def __init__(self, home, options):
        super().__init__(home.case, home.store, home.mnt, options)
        self.program, self.identity = home("bin", "offloadfs"), home.identity

    def serves(self):
        return run("test", "-d", self("cache"), check=False, **self.identity).returncode == 0

    def kill9(self):
        self.process.kill()
        self.process.wait()
        self._ended()
        assert self.mnt in mount_points(), "a killed daemon cannot have unmounted"


class Home:
    """A user's home with copies of the programs, which may be unreachable where they were built."""

    def __init__(self, case, uid=OWNER):
        if not os.stat(program("fusermount3")).st_mode & stat.S_ISUID:
            raise Skip("fusermount3 is not set-user-ID: only root can mount here")
        case.open_to_others()
        own_namespace()
        open_device(case)
        os.chmod(case.dir, 0o1733)  # sanitizers write their reports there
        self.case, self.uid, self.path = case, uid, case.path("home")
        self.store, self.mnt = self("store"), self("mnt")
        os.makedirs(self("bin"))
        for binary in (OFFLOADFS, OFFLOAD):
            shutil.copy(binary, self("bin"))
        os.mkdir(self.mnt)
        for folder in (self.path, self.mnt):
            os.chown(folder, uid, uid)
        os.chmod(self.path, 0o755)
        self.identity = {"user": uid, "group": uid, "extra_groups": []}

    def __call__(self, *names):
        return os.path.join(self.path, *names)

    def mount(self, *options):
        return UserMount(self, options).start()

    def run(self, *command, **options):
        """Runs a program as the user of this home."""
        env = {
            **os.environ,
            "HOME": self.path,
            "XDG_DATA_HOME": self("data"),
            "XDG_CONFIG_HOME": self("config"),
            "XDG_STATE_HOME": self("state"),
            "XDG_CACHE_HOME": self("cache"),
            "PATH": self("bin") + os.pathsep + os.environ["PATH"],
        }
        return run(*command, env=env, timeout=45 * SLOW, **self.identity, **options)


def closed_to(uid, path):
    """Fails if this user can see anything of the path."""

    def work():
        for look in (os.listdir, os.lstat, os.chdir):
            with raises(errno.EACCES):
                look(path)
        with raises(errno.EACCES):
            write(os.path.join(path, "cache/file"), b"")

    as_user(uid, work, gid=uid)


# --- A mount of one user --------------------------------------------------------------------------


@test(root=True)
def a_user_mounts_uses_and_unmounts_a_store(case):
    home = Home(case)
    data = noise(50000, 1)
    with home.mount(SEAL_SOON) as m:

        def use():
            path = m.make("persistent/notes/mine", data)
            m.wait_sealed(path)
            same(read(path), data)
            os.chmod(path, 0o600)
            assert os.stat(path).st_uid == OWNER and os.stat(m.mnt).st_uid == OWNER
            for folder in ("cache", "tasks", "persistent", "archive"):
                os.makedirs(m(folder, "new"))

        as_user(OWNER, use)
        closed_to(BOB, m.mnt)
        closed_to(0, m.mnt)
        m.kill9()
        m.start()  # cleans up without more than a user's rights
        as_user(OWNER, lambda: same(read(m("persistent/notes/mine")), data))
        as_user(OWNER, lambda: run("fusermount3", "-u", m.mnt))
        assert m.wait() == 0
    check_private(home.store, OWNER)


@test(root=True)
def a_user_goes_up_and_down(case):
    home = Home(case)
    workspace = home("work")
    os.mkdir(workspace)
    os.chown(workspace, OWNER, OWNER)
    mnt = os.path.join(workspace, ".offload")
    home.run("offload", "up", cwd=workspace)
    try:
        assert mnt in mount_points()
        pointer = home.run("offload", "put", "-c", "notes", cwd=workspace, input=b"kept\n" * 1000)
        assert b"5000 bytes" in pointer.stdout.replace(b",", b"")
        closed_to(0, mnt)
        closed_to(BOB, mnt)
        said = home.run("sh", "-c", "cat .offload/cache/notes/* | wc -l", cwd=workspace).stdout
        same(said.strip(), b"1000")
    finally:
        home.run("offload", "down", cwd=workspace)
    assert mnt not in mount_points()
    (store,) = {folder for folder, _, names in os.walk(home("data")) if "index.db" in names}
    check_private(store, OWNER)


@test(root=True)
def a_store_of_another_user_is_refused(case):
    home = Home(case)
    with home.mount():
        pass
    os.makedirs(home("bob"))
    os.chown(home("bob"), BOB, BOB)
    home.identity = {"user": BOB, "group": BOB, "extra_groups": []}
    done = home.run("offloadfs", "-f", home.store, home("bob"), check=False)
    complaint(done, home.store)


def check_private(store, uid):
    """Only the owner can see anything in the store."""
    st = os.stat(store)
    assert (stat.S_IMODE(st.st_mode), st.st_uid) == (0o700, uid), oct(st.st_mode)
    found = 0
    for folder, folders, names in os.walk(store):
        for name in folders + names:
            st = os.lstat(os.path.join(folder, name))
            want = 0o700 if stat.S_ISDIR(st.st_mode) else 0o600
            got = stat.S_IMODE(st.st_mode), st.st_uid
            assert got == (want, uid), f"{name}: {oct(st.st_mode)} of {st.st_uid}"
            found += 1
    assert found >= 3


def complaint(done, *words):
    """The program refused with one line of its own that contains these words."""
    said = done.stderr.decode()
    assert done.returncode not in (0, None) and done.returncode > 0, done
    (last,) = [line for line in said.splitlines() if line.startswith("offloadfs: ")]
    for word in words:
        assert word in last, f"'{word}' is not in: {said}"


@test(root=True)
def mount_and_fstab_know_it(case):
    """As started by mount(8), with options of fstab that are not meant for us."""
    own_namespace()
    run("mount", "-t", "tmpfs", "none", "/usr/local/bin")
    shutil.copy(OFFLOADFS, "/usr/local/bin")
    fstab = case.path("fstab")
    options = "noauto,nofail,_netdev,x-systemd.automount,seal_delay=0"
    write(fstab, f"{case.store} {case.mnt} fuse.offloadfs {options} 0 0\n".encode())
    by_name = ["-t", "fuse.offloadfs", "-o", options, case.store, case.mnt]
    for words in (by_name, ["-T", fstab, case.mnt]):
        run("mount", *words)
        assert is_alive(case.mnt)
        with open(os.path.join(case.mnt, "cache/log"), "ab") as f:
            f.write(b"line\n")
        run("umount", case.mnt)
        eventually(lambda: not in_use(case.store), "the store is given back")
    with case.mount() as m:
        same(read(m("cache/log")), b"line\n" * 2)


def in_use(store):
    """Returns True if a daemon holds the lock of a store."""
    with open(os.path.join(store, "lock"), "r+b") as f:
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


# --- A mount for other users ----------------------------------------------------------------------


@test(root=True)
def a_user_must_be_allowed_to_allow_others(case):
    if user_allow_other():
        raise Skip(f"{FUSE_CONF} allows it to everybody")
    home = Home(case)
    done = home.run("offloadfs", "-f", "-o", "allow_other", home.store, home.mnt, check=False)
    complaint(done, "allow_other", FUSE_CONF, "user_allow_other")
    assert home.mnt not in mount_points()
    with home.mount():
        as_user(OWNER, lambda: os.listdir(home.mnt))


@test(root=True)
def a_user_who_is_allowed_to_allow_others(case):
    """Uses another fuse.conf, in the mount namespace of this test."""
    if not os.path.exists(FUSE_CONF):
        raise Skip(f"there is no {FUSE_CONF} to mount another one over")
    home = Home(case)
    write(case.path("fuse.conf"), b"user_allow_other\n")

    run("mount", "--bind", case.path("fuse.conf"), FUSE_CONF)
    with home.mount("allow_other") as m:

        def alice():
            for name, mode in (("hers", 0o644), ("secret", 0o600)):
                os.chmod(m.make("cache/shell/" + name, name.encode()), mode)

        def bob():
            same(read(m("cache/shell/hers")), b"hers")
            for name in ("hers", "new"):
                with raises(errno.EACCES):
                    write(m("cache/shell", name), b"")
            with raises(errno.EACCES):
                read(m("cache/shell/secret"))

        as_user(OWNER, alice)
        as_user(BOB, bob)
    check_private(home.store, OWNER)


@test(root=True)
def a_tree_that_another_user_mounted_is_not_used_unawares(case):
    """A mount on a directory above one's own, such as /tmp, could see everything written there."""
    if not os.path.exists(FUSE_CONF):
        raise Skip(f"there is no {FUSE_CONF} to mount another one over")
    home = Home(case)
    write(case.path("fuse.conf"), b"user_allow_other\n")
    run("mount", "--bind", case.path("fuse.conf"), FUSE_CONF)
    os.rename(home.mnt, home(".offload"))
    home.mnt = home(".offload")
    work, victim = home("work"), case.path("victim")
    for folder in (work, victim):
        os.mkdir(folder)
        os.chown(folder, BOB, BOB)
    bob = {"user": BOB, "group": BOB, "extra_groups": []}
    env = {**os.environ, "HOME": victim}
    env.pop("XDG_DATA_HOME", None)
    env.pop("XDG_CONFIG_HOME", None)
    with home.mount("allow_other") as m:
        os.chmod(m("cache"), 0o1777)

        def put(check=True):
            return run(
                home("bin/offload"), "put", "-c", "bob", cwd=work, env=env, check=check,
                input=b"his own\n", timeout=45 * SLOW, **bob
            )

        said = put(check=False).stderr.decode()
        assert f"was mounted by user {OWNER}" in said and said.count("\n") == 1, said
        assert not os.path.exists(m("cache/bob"))
        own = os.path.join(victim, ".config/offloadfs")
        os.makedirs(own)
        write(os.path.join(own, "trusted_stores"), f"{home.mnt}\n".encode())
        put()
        assert told(BOB, lambda: len(os.listdir(m("cache/bob")))) == "1"


def user_allow_other():
    try:
        with open(FUSE_CONF) as f:
            return any(line.strip() == "user_allow_other" for line in f)
    except FileNotFoundError:
        return False


class Shared:
    """A mount of root's for everybody, and an ordinary directory. All users may work in both."""

    def __init__(self, case, *options):
        case.open_to_others()
        self.m = case.mount("allow_other", *options)
        os.makedirs(self.m("cache/shared"))
        os.makedirs(case.path("plain"))
        self.places = (case.path("plain"), self.m("cache/shared"))
        for place in self.places:
            os.chmod(place, 0o1777)

    def __enter__(self):
        self.m.__enter__()
        return self

    def __exit__(self, *why):
        return self.m.__exit__(*why)

    def both(self, work):
        """Runs work(path) in both. The results must be equal and are returned."""
        want, got = (work(place) for place in self.places)
        assert got == want, difference(got, want)
        return got


def difference(got, want):
    """Returns the lines in which two lists differ."""
    pairs = [f"{g}, expected {w}" for g, w in zip(got, want) if g != w]
    return f"{len(pairs)} differ:\n" + "\n".join(pairs[:20])


def attributes(path):
    st = os.lstat(path)
    return oct(st.st_mode), st.st_uid, st.st_gid


@test(root=True)
def files_belong_to_who_makes_them(case):
    with Shared(case) as shared:

        def work(place):
            def make():
                os.umask(0o027)
                os.chdir(place)
                write("file", b"")
                os.mkdir("folder")
                os.symlink("file", "link")
                os.mkfifo("fifo")
                with socket.socket(socket.AF_UNIX) as s:
                    s.bind("socket")
                os.link("file", "hard")
                os.close(os.open("exact", os.O_CREAT | os.O_WRONLY, 0o4777))
                os.umask(0)
                os.close(os.open("open", os.O_CREAT | os.O_WRONLY, 0o666))

            as_user(ALICE, make, gid=TEAM)
            names = sorted(os.listdir(place))
            return [(name, *attributes(os.path.join(place, name))) for name in names]

        found = dict((name, rest) for name, *rest in shared.both(work))
        assert found["file"] == ["0o100640", ALICE, TEAM]
        assert found["open"] == ["0o100666", ALICE, TEAM]
        shared.m.crash()
        shared.both(lambda place: [attributes(os.path.join(place, n)) for n in found])


# What users of each kind try on a file and a directory of each mode.
DEEDS = {
    "read": lambda p: open(p + "/file", "rb").close(),
    "write": lambda p: open(p + "/file", "r+b").close(),
    "append": lambda p: open(p + "/file", "ab").close(),
    "truncate": lambda p: os.truncate(p + "/file", 3),
    "execute": lambda p: subprocess.run([p + "/file"], check=False),
    "touch": lambda p: os.utime(p + "/file"),
    "date": lambda p: os.utime(p + "/file", (1, 1)),
    "chmod": lambda p: os.chmod(p + "/file", os.stat(p + "/file").st_mode & 0o7777),
    "give away": lambda p: os.chown(p + "/file", BOB, -1),
    "own group": lambda p: os.chown(p + "/file", -1, TEAM),
    "list": lambda p: os.listdir(p),
    "look up": lambda p: os.stat(p + "/file"),
    "create": lambda p: write(p + "/new", b""),
    "rename": lambda p: os.rename(p + "/other", p + "/moved"),
    "unlink": lambda p: os.unlink(p + "/spare"),
    "link": lambda p: os.link(p + "/file", p + "/linked"),
    "mkdir": lambda p: os.mkdir(p + "/sub"),
    "rmdir": lambda p: os.rmdir(p + "/empty"),
}
MODES = [0o777, 0o755, 0o770, 0o750, 0o700, 0o1777, 0o2775, 0o707, 0o077, 0o444, 0o311, 0o644, 0]
WHO = {
    "owner": (ALICE, ALICE, ()),
    "group": (BOB, TEAM, ()),
    "supplementary group": (BOB, BOB, (TEAM, 7)),
    "other": (BOB, BOB, (7,)),
    "root": (0, 0, ()),
}


@test(root=True, timeout=120, variants={who.replace(" ", "_"): WHO[who] for who in WHO})
def modes_are_obeyed_as_anywhere(case, who):
    uid, gid, groups = who
    with Shared(case) as shared:

        def prepare(path, mode):
            os.makedirs(path + "/empty")
            write(path + "/file", b"#!/bin/sh\n")
            write(path + "/other", b"")
            write(path + "/spare", b"")
            for name in ("file", "other", "spare", "empty", "."):
                os.chown(os.path.join(path, name), ALICE, TEAM)
                os.chmod(os.path.join(path, name), mode)

        def deeds(base):
            made = []
            for mode in MODES:
                path = f"{base}/{mode:o}"
                for deed, do in DEEDS.items():
                    made.append((oct(mode), deed, outcome(do, path)))
            return made

        def work(place):
            for mode in MODES:
                prepare(f"{place}/{mode:o}", mode)
            return eval(told(uid, lambda: deeds(place), gid, groups))

        outcomes = [outcome for *_, outcome in shared.both(work)]
        assert "OK" in outcomes and (uid == 0) == ("EPERM" not in outcomes), outcomes


@test(root=True)
def a_private_file_is_private(case):
    with Shared(case) as shared:
        path = os.path.join(shared.places[1], "secret")
        as_user(ALICE, lambda: write(path, b"hers"))
        as_user(ALICE, lambda: os.chmod(path, 0o600))
        ref = os.getxattr(path, "user.offload.ref").decode()
        shared.m.remount()

        def bob():
            for name in (path, path + ":1", path + ":b0-1", shared.m("refs", ref)):
                with raises(errno.EACCES):
                    read(name)
            with raises(errno.EACCES):
                write(path, b"")
            for change in (os.unlink, lambda p: os.rename(p, p + "2")):  # the directory is sticky
                with raises(errno.EPERM):
                    change(path)
            with raises(errno.EPERM):
                os.chmod(path, 0o666)

        as_user(ALICE, lambda: same(read(path + ":1"), b"hers"))
        as_user(BOB, bob)
        same(read(path), b"hers")


@test(root=True)
def a_ref_leads_nobody_past_a_closed_directory(case):
    with Shared(case) as shared:
        closed = os.path.join(shared.places[1], "closed")
        path = os.path.join(closed, "open", "file")

        def alice():
            os.makedirs(os.path.dirname(path))
            write(path, b"hers\n")
            os.chmod(closed, 0o700)

        def hers(place):
            same(read(place), b"hers\n")
            same(read(place + ":1"), b"hers\n")

        def bobs(place):
            for name in (place, place + ":1", place + ":b0-1"):
                for look in (os.stat, read):
                    with raises(errno.ENOENT):
                        look(name)

        as_user(ALICE, alice)
        by_ref = shared.m("refs", os.getxattr(path, "user.offload.ref").decode())
        for again in (lambda: None, shared.m.remount):
            again()
            for uid, look in ((ALICE, hers), (0, hers), (BOB, bobs), (ALICE, hers), (BOB, bobs)):
                as_user(uid, lambda: look(by_ref), gid=uid)
        os.chown(closed, ALICE, TEAM)
        os.chmod(closed, 0o750)
        as_user(BOB, lambda: bobs(by_ref))
        as_user(BOB, lambda: hers(by_ref), groups=(7, TEAM))
        as_user(BOB, lambda: hers(by_ref), gid=TEAM)
        for mode in (0o711, 0o744):  # both rights are needed to find the file
            os.chmod(closed, mode)
            as_user(BOB, lambda: bobs(by_ref))
        os.chmod(closed, 0o705)
        as_user(BOB, lambda: bobs(by_ref), groups=(TEAM,))
        as_user(BOB, lambda: hers(by_ref))


@test(root=True)
def sticky_directories(case):
    with Shared(case) as shared:

        def work(place):
            os.mkdir(place + "/hers")
            os.chown(place + "/hers", ALICE, ALICE)
            os.chmod(place + "/hers", 0o1777)
            as_user(BOB, lambda: write(place + "/hers/bob's", b""))
            as_user(ALICE, lambda: write(place + "/hers/alice's", b""))
            as_user(ALICE, lambda: write(place + "/alice's", b""))
            got = []
            for uid in (BOB, ALICE):
                for name in ("alice's", "hers/alice's", "hers/bob's"):
                    path = os.path.join(place, name)
                    for deed in (
                        lambda: os.rename(path, path + "2"),
                        lambda: os.unlink(path + "2"),
                        lambda: os.unlink(path),
                    ):
                        got.append((uid, name, told(uid, lambda: outcome(deed))))
            return got

        got = shared.both(work)
        assert (BOB, "alice's", "'EPERM'") in got and (BOB, "hers/bob's", "'OK'") in got


@test(root=True)
def setgid_directories_hand_on_their_group(case):
    with Shared(case) as shared:

        def work(place):
            os.chdir(place)
            os.mkdir("team")
            os.chown("team", ALICE, TEAM)
            os.chmod("team", 0o2777)

            def make():
                os.umask(0o002)
                write("team/file", b"")
                os.mkdir("team/folder")
                write("team/folder/below", b"")
                os.symlink("x", "team/link")
                for mode in (0o2755, 0o2644, 0o2770):
                    os.close(os.open(f"team/{mode:o}", os.O_CREAT | os.O_WRONLY, mode))
                os.mkdir("team/exact", 0o2700)

            as_user(BOB, make)
            names = ["file", "folder", "folder/below", "link", "2755", "2644", "2770", "exact"]
            return [(name, *attributes("team/" + name)) for name in names]

        got = shared.both(work)
        os.chdir("/")
        assert ("folder", "0o42775", BOB, TEAM) in got
        assert ("folder/below", "0o100664", BOB, TEAM) in got


def privileged(place, mode):
    """Makes a program of Alice's with this mode, which everybody may write."""
    path = os.path.join(place, "program")
    write(path, b"#!/bin/sh\n")
    os.chown(path, ALICE, TEAM)
    os.chmod(path, mode)
    return path


CHANGES = {
    "write": lambda p: write_into(p),
    "truncate": lambda p: os.truncate(p, 2),
    "truncate to the same size": lambda p: os.truncate(p, os.stat(p).st_size),
    "open and truncate": lambda p: open(p, "wb").close(),
    "touch": lambda p: os.utime(p),
    "read": lambda p: read(p),
    "chown to itself": lambda p: os.chown(p, os.stat(p).st_uid, os.stat(p).st_gid),
    "chgrp": lambda p: os.chown(p, -1, TEAM),
    "chgrp to another": lambda p: os.chown(p, -1, BOB),
    "chown by number": lambda p: os.chown(p, BOB, -1),
    "chmod g+s": lambda p: os.chmod(p, os.stat(p).st_mode | stat.S_ISGID),
    "mapped write": lambda p: mapped_write(p),
    "nothing": lambda p: None,
}


def write_into(path):
    with open(path, "r+b") as f:
        f.write(b"x")


def mapped_write(path):
    with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as view:
        view[0] = 1


@test(
    root=True,
    variants={
        "alice": (ALICE, ALICE, ()),
        "alice_in_the_team": (ALICE, ALICE, (TEAM,)),
        "bob": (BOB, BOB, (TEAM,)),
        "root": (0, 0, ()),
    },
)
def set_id_bits_are_cleared_as_anywhere(case, who):
    uid, gid, groups = who
    with Shared(case) as shared:

        def work(place):
            got = []
            for mode in (0o4777, 0o2777, 0o6777, 0o4766):
                for what, change in CHANGES.items():
                    path = privileged(place, mode)
                    said = told(uid, lambda: outcome(change, path), gid, groups)
                    got.append((oct(mode), what, said, oct(mode_alone(path))))
                    os.unlink(path)
            return got

        shared.both(work)


def mode_alone(path):
    """Returns the mode, asking the kernel for nothing else."""
    return int(run("stat", "-c", "%f", path).stdout, 16) & 0o7777


@test(root=True)
def other_users_do_not_unmount(case):
    with Shared(case) as shared:

        def bob():
            assert run("fusermount3", "-u", shared.m.mnt, check=False).returncode != 0
            assert run("umount", shared.m.mnt, check=False).returncode != 0

        program("fusermount3")
        as_user(BOB, bob)
        assert is_alive(shared.m.mnt)


@test(root=True)
def set_id_programs_have_no_power(case):
    """The mount is nosuid and nodev, whoever made it."""
    with Shared(case) as shared:
        path = os.path.join(shared.places[1], "id")
        shutil.copy(program("id"), path)
        os.chmod(path, 0o6755)
        as_user(ALICE, lambda: same(run(path, "-u").stdout, b"%d\n" % ALICE))
        device = os.path.join(shared.places[1], "null")
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        with raises(errno.EACCES):
            read(device)
        with raises(errno.EPERM):
            as_user_raising(ALICE, lambda: os.mknod(device + "2", stat.S_IFCHR, os.makedev(1, 3)))


def as_user_raising(uid, work):
    """Like as_user(), but an OSError of work() is raised here."""
    said = eval(told(uid, lambda: outcome(work)))
    if said != "OK":
        raise OSError(getattr(errno, said), said)


main()
