#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names, directories, links and attributes: the tiers behave as an ordinary POSIX filesystem."""
import errno
import fcntl
import os
import socket
import stat
import threading

from files import STATES, log_text, noise, same_tree, snapshot
from harness import (
    RENAME_EXCHANGE,
    RENAME_NOREPLACE,
    ROOT,
    SEAL_SOON,
    Skip,
    as_nobody,
    main,
    raises,
    read,
    renameat2,
    run,
    same,
    test,
    uring_enabled,
    write,
    xattr,
)

TIERS = ["cache", "tasks", "persistent", "archive"]


# --- The root -------------------------------------------------------------------------------------


@test
def root_lists_the_tiers(case):
    with case.mount() as m:
        assert set(os.listdir(m.mnt)) >= set(TIERS)
        listing = run("ls", "-la", m.mnt).stdout.decode().splitlines()
        for tier in TIERS:
            assert any(row.startswith("d") and row.endswith(" " + tier) for row in listing), listing
        assert stat.S_ISDIR(os.stat(m("refs")).st_mode)


@test
def tiers_cannot_be_removed_or_renamed(case):
    with case.mount() as m:
        for tier in TIERS + ["refs"]:
            refused(os.rmdir, m(tier))
            refused(os.rename, m(tier), m("other"))
            refused(os.rename, m(tier), m("cache/inside"))
            with raises(errno.EEXIST):
                os.mkdir(m(tier))
            assert os.path.isdir(m(tier))


@test
def reserved_names_cannot_be_made_at_the_root(case):
    with case.mount() as m:
        plain = m.make("cache/shell/plain", b"x")
        for name in ["refs", "views", "search", ".offload", "README.md"]:
            refused(create, m(name))
            refused(os.mkdir, m(name))
            refused(os.symlink, "target", m(name))
            refused(os.link, plain, m(name))
            refused(os.rename, plain, m(name))
        same(read(plain), b"x")
        for name in ["refs", "README.md", "views"]:
            m.make("cache/" + name + "/file", b"free below the root")


@test
def files_at_the_root_are_working_and_general(case):
    with case.mount() as m:
        write(m("note.txt"), b"made at the root\n")
        ino = os.stat(m("note.txt")).st_ino
        for _ in range(2):
            same(read(m("note.txt")), b"made at the root\n")
            assert "note.txt" in os.listdir(m.mnt)
            assert (xattr(m("note.txt"), "tier"), xattr(m("note.txt"), "category")) == (
                "working",
                "general",
            )
            assert os.stat(m("note.txt")).st_ino == ino
            m.crash()
        os.unlink(m("note.txt"))
        assert "note.txt" not in os.listdir(m.mnt)


# --- Directories ----------------------------------------------------------------------------------


@test
def directories_nest_deeply(case):
    with case.mount() as m:
        path = "cache/shell/" + "/".join(f"level{i}" for i in range(60))
        m.make(path + "/leaf", b"deep")
        os.rename(m("cache/shell/level0/level1"), m("cache/moved"))
        deep = path.replace("cache/shell/level0/level1", "cache/moved") + "/leaf"
        same(read(m(deep)), b"deep")
        m.remount()
        same(read(m(deep)), b"deep")
        assert os.path.samefile(m("cache/moved/level2/.."), m("cache/moved"))


@test
def directory_errors_are_the_usual_ones(case):
    with case.mount() as m:
        m.make("cache/a/b/file", b"x")
        with raises(errno.ENOTEMPTY):
            os.rmdir(m("cache/a"))
        with raises(errno.EEXIST):
            os.mkdir(m("cache/a"))
        with raises(errno.EISDIR):
            os.unlink(m("cache/a"))
        with raises(errno.ENOTDIR):
            os.rmdir(m("cache/a/b/file"))
        with raises(errno.ENOTDIR):
            os.stat(m("cache/a/b/file/below"))
        with raises(errno.ENOENT):
            os.stat(m("cache/missing"))
        with raises(errno.ENOENT):
            os.mkdir(m("cache/missing/below"))
        with raises(errno.EINVAL):
            os.rename(m("cache/a"), m("cache/a/b/inside"))
        with raises(errno.EPERM):
            os.link(m("cache/a"), m("cache/hard"))
        os.unlink(m("cache/a/b/file"))
        os.rmdir(m("cache/a/b"))
        os.rmdir(m("cache/a"))
        assert not os.path.exists(m("cache/a"))


@test
def two_thousand_entries_are_listed_once_each(case):
    names = {f"entry-{i:05d}-{'x' * (i % 90)}" for i in range(2000)}
    with case.mount() as m:
        os.makedirs(m("cache/shell/many"))
        for name in names:
            write(m("cache/shell/many", name), b"")
        for _ in range(2):
            listed = os.listdir(m("cache/shell/many"))
            assert len(listed) == 2000 and set(listed) == names
            rows = run("ls", "-la", m("cache/shell/many")).stdout.splitlines()
            assert len(rows) == 2000 + 3  # "total", "." and ".."
            m.remount()
        removed = 0
        for entry in os.scandir(m("cache/shell/many")):  # continues reading while entries disappear
            os.unlink(entry.path)
            removed += 1
        assert removed == 2000 and os.listdir(m("cache/shell/many")) == []
        os.rmdir(m("cache/shell/many"))


@test
def rm_and_find_agree_with_the_tree(case):
    with case.mount() as m:
        for i in range(300):
            m.make(f"cache/shell/d{i % 7}/e{i % 11}/f{i}", b"%d" % i)
        found = run("find", m("cache"), "-type", "f").stdout.splitlines()
        assert len(found) == 300
        run("rm", "-r", m("cache/shell"))
        assert os.listdir(m("cache")) == []


# --- Names ----------------------------------------------------------------------------------------


@test
def names_of_255_bytes_and_no_longer(case):
    with case.mount() as m:
        for name in ["n" * 255, "\u00e9" * 127 + "e", "." + "d" * 254]:
            same(read(m.make("cache/shell/" + name, name.encode())), name.encode())
            os.rename(m("cache/shell", name), m("cache", name))
            os.mkdir(m("cache/shell", name))
        m.remount()
        assert len(os.listdir(m("cache/shell"))) == 3 and len(os.listdir(m("cache"))) == 4
        with raises(errno.ENAMETOOLONG):
            write(m("cache/shell", "n" * 256), b"")


@test
def names_of_odd_bytes(case):
    names = [bytes([b]) for b in range(1, 256) if b not in b"/."]
    names += [
        b"...",
        b" lead",
        b"trail ",
        b"two\nlines",
        b"-rf",
        b"\xff\xfe\x80",
        b"tab\there",
        b"a\\b",
        b"*?[]",
        b"q'\"`$(x)",
        b"CC:\\con",
        b"caf\xc3\xa9",
        b"cafe\xcc\x81",
        b"no:1-2",
        b"none#L3",
        b"nil@L4-5",
        b"aa:b:c",
    ]
    with case.mount() as m:
        folder = os.fsencode(m("cache/odd"))
        os.makedirs(folder)
        for name in names:
            write(os.path.join(folder, name), b"in " + name)
        for _ in range(2):
            assert sorted(os.listdir(folder)) == sorted(names)
            for name in names:
                same(read(os.path.join(folder, name)), b"in " + name, repr(name))
            m.crash()


# --- Rename ---------------------------------------------------------------------------------------


@test(variants=STATES)
def rename_keeps_inode_and_content(case, state):
    with state.mount(case) as m:
        data = log_text(50000, 1)
        old = m.make("cache/shell/old", data)
        ino = os.stat(old).st_ino
        state.settle(m, old)
        os.makedirs(m("cache/web/deep"))
        os.rename(old, m("cache/web/deep/new"))
        assert not os.path.exists(old)
        assert os.stat(m("cache/web/deep/new")).st_ino == ino
        state.settle(m)
        same(read(m("cache/web/deep/new")), data)
        assert os.stat(m("cache/web/deep/new")).st_ino == ino


@test
def rename_replaces_atomically(case):
    with case.mount() as m:
        target = m.make("cache/notes/target", b"version 0\n")
        stop = threading.Event()
        bad = []

        def watch():
            while not stop.is_set():
                try:
                    if not read(target).startswith(b"version "):
                        bad.append("not a whole version")
                except OSError as e:
                    bad.append(str(e))

        watcher = threading.Thread(target=watch)
        watcher.start()
        for i in range(1, 301):
            os.rename(m.make("cache/notes/.tmp", b"version %d\n" % i), target)
        stop.set()
        watcher.join()
        assert not bad, bad[:3]
        same(read(target), b"version 300\n")
        m.crash()
        same(read(target), b"version 300\n")
        assert os.listdir(m("cache/notes")) == ["target"]


@test
def rename_over_an_open_file_leaves_it_readable(case):
    with case.mount() as m:
        target = m.make("cache/notes/target", b"old")
        with open(target, "r+b", buffering=0) as held:
            os.rename(m.make("cache/notes/new", b"new"), target)
            same(held.read(), b"old")
            held.write(b"er")
            held.seek(0)
            same(held.read(), b"older")
            assert os.fstat(held.fileno()).st_nlink == 0
        same(read(target), b"new")


@test
def rename_between_kinds(case):
    with case.mount() as m:
        os.makedirs(m("cache/empty"))
        os.makedirs(m("cache/full/sub"))
        os.makedirs(m("cache/source/kept"))
        plain = m.make("cache/plain", b"p")
        with raises(errno.ENOTEMPTY, errno.EEXIST):
            os.rename(m("cache/source"), m("cache/full"))
        with raises(errno.EISDIR):
            os.rename(plain, m("cache/empty"))
        with raises(errno.ENOTDIR):
            os.rename(m("cache/source"), plain)
        with raises(errno.ENOENT):
            os.rename(m("cache/nothing"), plain)
        os.rename(m("cache/source"), m("cache/empty"))
        assert os.listdir(m("cache/empty")) == ["kept"]
        os.link(plain, m("cache/second"))
        os.rename(plain, m("cache/second"))  # two names of one file: no effect
        assert os.stat(plain).st_nlink == 2
        same(read(plain), b"p")


@test
def rename_noreplace(case):
    with case.mount() as m:
        a, b = m.make("cache/a", b"a"), m.make("cache/b", b"b")
        with raises(errno.EEXIST):
            renameat2(a, b, RENAME_NOREPLACE)
        renameat2(a, m("cache/c"), RENAME_NOREPLACE)
        m.crash()
        assert sorted(os.listdir(m("cache"))) == ["b", "c"]
        same(read(b) + read(m("cache/c")), b"ba")


@test
def rename_exchange(case):
    with case.mount() as m:
        a, b = m.make("cache/x/a", b"a"), m.make("persistent/notes/b", b"b")
        folder = m("cache/folder")
        os.makedirs(folder + "/sub")
        inodes = os.stat(a).st_ino, os.stat(b).st_ino
        renameat2(a, b, RENAME_EXCHANGE)
        assert (os.stat(b).st_ino, os.stat(a).st_ino) == inodes
        same(read(a) + read(b), b"ba")
        renameat2(a, folder, RENAME_EXCHANGE)
        m.crash()
        assert os.listdir(a) == ["sub"]
        same(read(folder) + read(b), b"ba")
        with raises(errno.ENOENT):
            renameat2(a, m("cache/missing"), RENAME_EXCHANGE)


# --- Links ----------------------------------------------------------------------------------------


@test(variants=STATES)
def hard_links_are_one_file(case, state):
    with state.mount(case) as m:
        data = noise(30000, 2)
        first = m.make("cache/shell/first", data)
        second = m("cache/shell/second")
        os.link(first, second)
        state.settle(m, first)
        assert os.stat(first).st_nlink == 2 and os.path.samefile(first, second)
        with open(second, "r+b") as f:
            f.write(b"changed")
        data = b"changed" + data[7:]
        same(read(first), data)
        os.unlink(first)
        assert os.stat(second).st_nlink == 1
        state.settle(m, second)
        same(read(second), data)
        with raises(errno.EEXIST):
            os.link(second, second)


@test
def symlinks_keep_any_target(case):
    with case.mount() as m:
        m.make("cache/shell/real", b"reached")
        targets = ["real", "../shell/real", "/no/such/place", "t" * 4000, "odd \udcff\n"]
        for i, target in enumerate(targets):
            os.symlink(target, m(f"cache/shell/link{i}"))
        for _ in range(2):
            for i, target in enumerate(targets):
                assert os.readlink(m(f"cache/shell/link{i}")) == target
                st = os.lstat(m(f"cache/shell/link{i}"))
                assert stat.S_ISLNK(st.st_mode) and st.st_size == len(os.fsencode(target))
            same(read(m("cache/shell/link0")) + read(m("cache/shell/link1")), b"reachedreached")
            with raises(errno.ENOENT):
                read(m("cache/shell/link2"))
            m.remount()
        os.unlink(m("cache/shell/link0"))
        same(read(m("cache/shell/real")), b"reached")


@test
def fifos_and_sockets_are_kept(case):
    with case.mount() as m:
        os.makedirs(m("cache/shell"))
        os.mkfifo(m("cache/shell/fifo"), 0o640)
        os.chdir(m("cache/shell"))
        with socket.socket(socket.AF_UNIX) as s:
            s.bind("socket")
        os.chdir("/")
        m.remount()
        assert stat.S_ISFIFO(os.lstat(m("cache/shell/fifo")).st_mode)
        assert stat.S_ISSOCK(os.lstat(m("cache/shell/socket")).st_mode)


# --- Attributes -----------------------------------------------------------------------------------


@test(variants=STATES)
def mode_and_times_are_kept(case, state):
    with state.mount(case) as m:
        path = m.make("cache/shell/f", b"x" * 5000)
        state.settle(m, path)
        os.chmod(path, 0o4751)
        os.utime(path, ns=(1234567890123456789, 987654321987654321))
        os.chmod(m("cache/shell"), 0o750)
        os.utime(m("cache/shell"), ns=(1, 2))
        state.settle(m, path)
        st = os.stat(path)
        assert stat.S_IMODE(st.st_mode) == 0o4751, oct(st.st_mode)
        assert st.st_mtime_ns == 987654321987654321
        folder = os.stat(m("cache/shell"))
        assert (stat.S_IMODE(folder.st_mode), folder.st_mtime_ns) == (0o750, 2)


@test
def writing_moves_mtime_and_chmod_moves_ctime(case):
    with case.mount() as m:
        path = m.make("cache/shell/f", b"x")
        os.utime(path, ns=(0, 0))
        os.utime(m("cache/shell"), ns=(0, 0))
        with open(path, "ab") as f:
            f.write(b"y")
        st = os.stat(path)
        assert st.st_mtime_ns > 10**18
        os.chmod(path, 0o600)
        assert (
            os.stat(path).st_ctime_ns >= st.st_ctime_ns
            and os.stat(path).st_mtime_ns == st.st_mtime_ns
        )
        write(m("cache/shell/g"), b"")
        assert os.stat(m("cache/shell")).st_mtime_ns > 10**18


@test(root=True)
def owners_are_kept(case):
    with case.mount() as m:
        path = m.make("cache/shell/f", b"x")
        os.symlink("f", m("cache/shell/link"))
        os.chown(path, 1234, 5678)
        os.chown(m("cache/shell/link"), 11, 12, follow_symlinks=False)
        m.crash()
        assert (os.stat(path).st_uid, os.stat(path).st_gid) == (1234, 5678)
        assert (os.lstat(m("cache/shell/link")).st_uid, os.lstat(m("cache/shell/link")).st_gid) == (
            11,
            12,
        )


@test
def a_read_only_file_is_written_by_its_creator(case):
    """Git creates objects this way: the open that creates a file may write, whatever its mode."""
    if ROOT:
        case.open_to_others()
    with case.mount(*["allow_other"] * ROOT) as m:
        os.makedirs(m("cache/shell"))
        os.chmod(m("cache/shell"), 0o777)
        let_through(m)

        def work():
            fd = os.open(m("cache/shell/object"), os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o444)
            assert os.write(fd, b"written") == 7
            os.close(fd)
            with raises(errno.EEXIST):
                os.open(m("cache/shell/object"), os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o444)
            st = os.stat(m("cache/shell/object"))
            assert (stat.S_IMODE(st.st_mode), st.st_uid) == (0o444, os.geteuid())

        as_nobody(work)
        same(read(m("cache/shell/object")), b"written")


@test(root=True)
def permissions_hold_for_others(case):
    case.open_to_others()
    with case.mount("allow_other") as m:
        secret = m.make("cache/shell/secret", b"root's")
        os.chmod(secret, 0o600)
        os.chmod(m("cache/shell"), 0o755)
        let_through(m)

        def work():
            assert "secret" in os.listdir(m("cache/shell"))
            with raises(errno.EACCES):
                read(secret)
            with raises(errno.EACCES):
                write(m("cache/shell/mine"), b"")
            with raises(errno.EACCES):
                os.unlink(secret)
            with raises(errno.EPERM):
                os.chmod(secret, 0o666)

        as_nobody(work)


@test(root=True)
def a_mount_is_private_without_allow_other(case):
    case.open_to_others()
    with case.mount() as m:

        def work():
            with raises(errno.EACCES):
                os.listdir(m.mnt)

        as_nobody(work)
        assert stat.S_IMODE(os.stat(case.store).st_mode) == 0o700


@test
def the_store_is_private(case):
    os.umask(0)
    with case.mount(SEAL_SOON) as m:
        m.wait_sealed(m.make("cache/shell/f", noise(9000, 3)))
    assert stat.S_IMODE(os.stat(case.store).st_mode) == 0o700
    for folder, _, names in os.walk(case.store):
        for name in names:
            mode = stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode)
            assert mode & 0o077 == 0, f"{name} has mode {oct(mode)}"


# --- The filesystem -------------------------------------------------------------------------------


@test
def statfs_tells_of_a_real_filesystem(case):
    with case.mount() as m:
        fs = os.statvfs(m.mnt)
        assert fs.f_namemax == 255 and fs.f_frsize > 0
        assert fs.f_blocks >= fs.f_bfree >= fs.f_bavail > 0
        assert run("df", m("cache")).stdout.splitlines()[1].endswith(os.fsencode(m.mnt))


@test
def flock_excludes(case):
    with case.mount() as m:
        path = m.make("cache/shell/lock", b"")
        with open(path, "rb") as one, open(path, "rb") as two:
            fcntl.flock(one, fcntl.LOCK_EX)
            with raises(errno.EWOULDBLOCK):
                fcntl.flock(two, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(one, fcntl.LOCK_UN)
            fcntl.flock(two, fcntl.LOCK_EX | fcntl.LOCK_NB)


@test
def inode_numbers_never_change(case):
    with case.mount(SEAL_SOON) as m:
        paths = [m.make(f"cache/shell/d{i % 3}/f{i}", b"%d" % i) for i in range(50)]
        before = snapshot(m("cache"), identity=True)
        m.wait_sealed(*paths)
        same_tree(snapshot(m("cache"), identity=True), before)
        m.remount()
        same_tree(snapshot(m("cache"), identity=True), before)
        m.crash()
        same_tree(snapshot(m("cache"), identity=True), before)
        new = os.stat(m.make("cache/shell/new", b"new")).st_ino
        assert new not in {entry[7] for entry in before.values()}


@test(timeout=120)
def git_works_in_a_tier(case):
    with case.mount(SEAL_SOON) as m:
        repo = m("cache/repo")

        def git(*words):
            return run(
                "git", "-C", repo, "-c", "user.name=t", "-c", "user.email=t@example.org", *words
            ).stdout

        run("git", "init", "-q", repo)
        for i in range(40):
            m.make(f"cache/repo/src/d{i % 5}/f{i}.c", log_text(3000, i))
        git("add", ".")
        git("commit", "-q", "-m", "first")
        git("gc", "-q")
        m.remount()
        git("fsck", "--strict")
        assert git("status", "--porcelain") == b""
        run("git", "clone", "-q", repo, m("persistent/clone"))
        assert len(os.listdir(m("persistent/clone/src"))) == 5


@test
def cp_and_tar_carry_a_tree_there_and_back(case):
    source = case.path("source")
    for i in range(120):
        os.makedirs(f"{source}/d{i % 9}", exist_ok=True)
        write(f"{source}/d{i % 9}/f{i}", log_text(i * 37, i))
    os.symlink("d1/f1", f"{source}/link")
    os.link(f"{source}/d1/f1", f"{source}/hard")
    with case.mount(SEAL_SOON) as m:
        run("cp", "-a", source, m("cache/copy"))
        os.mkdir(m("persistent/tar"))
        run("sh", "-c", 'tar -C "$0" -c . | tar -C "$1" -x', source, m("persistent/tar"))
        m.remount()
        run("diff", "-r", "--no-dereference", source, m("cache/copy"))
        run("cp", "-a", m("persistent/tar"), case.path("back"))
        same_tree(snapshot(case.path("back")), snapshot(source))
        assert os.path.samefile(m("persistent/tar/hard"), m("persistent/tar/d1/f1"))


@test
def a_mount_over_io_uring_works(case):
    if not uring_enabled():
        raise Skip("/sys/module/fuse/parameters/enable_uring is not Y")
    with case.mount(SEAL_SOON, "io_uring") as m:
        data = noise(3 << 20, 4)
        path = m.make("cache/shell/f", data)
        m.wait_sealed(path)
        m.remount()
        same(read(path), data)
        m.crash()
        same(read(path), data)


def let_through(m):
    """Gives other users access to everything below cache/."""
    for folder in (m.mnt, m("cache")):
        if not os.stat(folder).st_mode & stat.S_IXOTH:
            os.chmod(folder, 0o755)


def create(path):
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))


def refused(function, *arguments):
    """Fails unless the call is refused as not permitted, not as if something were broken."""
    with raises(
        errno.EPERM,
        errno.EACCES,
        errno.EEXIST,
        errno.EROFS,
        errno.EBUSY,
        errno.EINVAL,
        errno.ENOTEMPTY,
        errno.EISDIR,
        errno.ENOTDIR,
        errno.EXDEV,
    ):
        function(*arguments)


@test
def a_time_too_far_away_is_the_last_or_first_there_is(case):
    with case.mount() as m:
        path = m.make("cache/shell/far")
        os.utime(path, (10**11, 10**11))
        assert os.stat(path).st_mtime_ns == 2**63 - 1, os.stat(path)
        os.utime(path, (-(10**11), -(10**11)))
        assert os.stat(path).st_mtime_ns == -(2**63), os.stat(path)


main()
