#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Python programs, and the system calls they make, find the mount an ordinary directory."""
import ctypes
import errno
import fcntl
import json
import mmap
import os
import pathlib
import select
import shutil
import socket
import struct
import tempfile
import threading
import zipfile

from programs import program, same_directories, sh, source_tree, start_python

from files import MIB, log_text, noise, snapshot
from harness import (
    SEAL_SOON,
    Skip,
    in_processes,
    main,
    raises,
    read,
    run,
    same,
    test,
    xattr,
)


@test(timeout=120)
def shutil_carries_trees(case):
    source = pathlib.Path(case.path("source"))
    source_tree(source)
    with case.mount(SEAL_SOON) as m:
        copy = shutil.copytree(source, m("persistent/deep/copy"), symlinks=True)
        same_directories(copy, source)
        moved = shutil.move(copy, m("cache/moved"))  # within the mount: a rename
        m.remount()
        same_directories(moved, source)
        out = shutil.move(moved, case.path("out"))  # out of the mount: a copy
        assert not os.path.exists(moved)
        same_directories(out, source)
        shutil.copy2(source / "src/offloadfs.c", m("cache/offloadfs.c"))
        assert os.stat(m("cache/offloadfs.c")).st_mtime_ns == os.stat(source / "src/offloadfs.c").st_mtime_ns
        same(read(m("cache/offloadfs.c")), read(source / "src/offloadfs.c"))
        shutil.copytree(source, m("cache/again"))
        shutil.rmtree(m("cache/again"))
        assert os.listdir(m("cache")) == ["offloadfs.c"]
        archive = shutil.make_archive(m("cache/archive"), "zip", source)
        shutil.unpack_archive(archive, m("cache/unpacked"))
        assert not sh(f"diff -r . {source}", m("cache/unpacked"))


@test
def temporary_files_and_directories(case):
    with case.mount() as m:
        os.makedirs(m("cache/tmp"))
        with tempfile.TemporaryDirectory(dir=m("cache/tmp")) as folder:
            with tempfile.NamedTemporaryFile(dir=folder) as named:
                named.write(b"named")
                named.flush()
                same(read(named.name), b"named")
                assert os.stat(named.name).st_mode & 0o777 == 0o600
            with tempfile.TemporaryFile(dir=folder) as nameless:
                assert os.listdir(folder) == []
                nameless.write(b"nameless" * 10000)
                nameless.seek(0)
                same(nameless.read(), b"nameless" * 10000)
            with tempfile.SpooledTemporaryFile(max_size=10, dir=folder) as spooled:
                spooled.write(b"more than ten bytes")
                spooled.seek(0)
                same(spooled.read(), b"more than ten bytes")
        assert os.listdir(m("cache/tmp")) == []


@test
def pathlib_finds_its_way(case):
    with case.mount() as m:
        base = pathlib.Path(m("persistent/notes"))
        (base / "a/b").mkdir(parents=True)
        (base / "a/b/file.txt").write_text("caf\u00e9\n")
        (base / "a/b/file.txt").rename(base / "a/other.txt")
        (base / "link").symlink_to("a/other.txt")
        assert [p.name for p in sorted(base.rglob("*"))] == ["a", "b", "other.txt", "link"]
        assert (base / "link").resolve() == base / "a/other.txt"
        assert (base / "link").read_text() == "caf\u00e9\n"
        assert (base / "a/other.txt").samefile(base / "link")
        (base / "a/other.txt").touch()
        (base / "hard").hardlink_to(base / "a/other.txt")
        (base / "a/b").rmdir()
        (base / "link").unlink()
        assert base.is_dir() and not (base / "a/b").exists() and base.owner() is not None
        assert {p.name for p in base.glob("**/*.txt")} == {"other.txt"}


@test
def archives_grow_in_place(case):
    with case.mount(SEAL_SOON) as m:
        os.makedirs(m("cache/zip"))
        path = m("cache/zip/archive.zip")
        contents = {f"file{i}": log_text(3000, i) for i in range(20)}
        for name, data in contents.items():
            with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as z:
                z.writestr(name, data)
            if name == "file10":
                m.wait_sealed(path)
        m.crash()
        with zipfile.ZipFile(path) as z:
            assert z.testzip() is None
            assert {n: z.read(n) for n in z.namelist()} == contents


@test
def a_state_file_is_replaced_while_others_read_it(case):
    """As programs save their settings: a reader sees either the old or the new content."""
    with case.mount("seal_delay=0") as m:
        os.makedirs(m("persistent/state"))
        path = m("persistent/state/state.json")

        def save(number):
            beside = f"{path}.{os.getpid()}.tmp"
            with open(beside, "w") as f:
                json.dump({"number": number, "items": list(range(number))}, f)
                f.flush()
                os.fsync(f.fileno())
            os.replace(beside, path)

        save(1)
        refs = {xattr(path, "ref")}

        def work(which):
            for number in range(1, 150):
                if which:
                    with open(path) as f:
                        state = json.load(f)
                    assert state["items"] == list(range(state["number"]))
                else:
                    save(number)

        in_processes(3, work)
        refs.add(xattr(path, "ref"))
        assert len(refs) == 2 and os.listdir(m("persistent/state")) == ["state.json"]
        m.crash()
        with open(path) as f:
            assert json.load(f)["number"] == 149


@test
def mappings_of_several_processes_are_one(case):
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/map/file", noise(MIB, 1))
        m.wait_sealed(path)
        m.remount()
        want = bytearray(noise(MIB, 1))
        with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as shared:
            same(shared[:], bytes(want))

            def work(number):
                with open(path, "r+b") as mine, mmap.mmap(mine.fileno(), 0) as view:
                    for at in range(number, MIB, 4096):
                        view[at] = number
                    view.flush()

            in_processes(3, work)
            for number in range(3):
                want[number::4096] = bytes([number]) * len(want[number::4096])
            same(shared[:], bytes(want))
            private = mmap.mmap(f.fileno(), 0, mmap.MAP_PRIVATE)
            private[:4] = b"mine"
            private.close()
            f.seek(0)
            same(f.read(), bytes(want))
        m.crash()
        same(read(path), bytes(want))


@test
def writing_through_a_mapping_moves_mtime(case):
    """Otherwise make, rsync and backups would not notice the change."""
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/map/file", log_text(20000, 1))
        m.wait_sealed(path)
        for done in (lambda view: view.flush(), lambda view: view.close()):
            os.utime(path, (1, 1))
            changed = os.stat(path).st_ctime_ns
            with open(path, "r+b") as f:
                view = mmap.mmap(f.fileno(), 0)
                view[100] = 0
                done(view)
                st = os.stat(path)
                view.close()
            assert st.st_mtime_ns > 10**18 and st.st_ctime_ns > changed, st


@test
def direct_and_cached_access_see_the_same(case):
    block = 4096
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/db/file", noise(16 * block, 1))
        m.wait_sealed(path)
        want = bytearray(noise(16 * block, 1))
        buffer = mmap.mmap(-1, block)  # page-aligned, as O_DIRECT requires
        direct = os.open(path, os.O_RDWR | os.O_DIRECT)
        with open(path, "r+b", buffering=0) as cached:
            for i in range(0, 16, 3):
                os.preadv(direct, [buffer], i * block)
                same(buffer[:], bytes(want[i * block : (i + 1) * block]))
                buffer[:] = noise(block, 100 + i)
                os.pwritev(direct, [buffer], i * block)
                want[i * block : (i + 1) * block] = buffer[:]
                os.pwrite(cached.fileno(), b"cached", (i + 1) * block - 3)
                want[(i + 1) * block - 3 : (i + 1) * block + 3] = b"cached"
                same(os.pread(cached.fileno(), len(want), 0), bytes(want[: 16 * block + 3]))
        os.close(direct)
        m.crash()
        same(read(path), bytes(want))


@test(root=True)
def a_filesystem_in_a_file_is_mounted(case):
    with case.mount(SEAL_SOON) as m:
        image = m.make("persistent/images/disk")
        os.truncate(image, 32 * MIB)
        run("mke2fs", "-q", "-F", "-t", "ext4", image)
        os.mkdir(case.path("disk"))
        for _ in range(2):
            done = run("mount", "-o", "loop", image, case.path("disk"), check=False)
            if done.returncode != 0:
                raise Skip(f"there are no loop devices: {done.stderr.decode().strip()}")
            if not os.path.exists(case.path("disk/tree")):
                source_tree(case.path("disk/tree"))
            before = snapshot(case.path("disk"))
            run("umount", case.path("disk"))
            run("e2fsck", "-fn", image)
            m.wait_sealed(image)
            m.crash()
        assert len(before) > 100
        assert os.stat(image).st_blocks * 512 < 16 * MIB, "what is empty takes no room"


@test
def sockets_in_the_mount_are_reached(case):
    with case.mount() as m:
        os.makedirs(m("cache/run"))
        os.chdir(m("cache/run"))
        with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
            server.bind("socket")
            server.listen()
            client.connect("socket")
            with server.accept()[0] as accepted:
                accepted.sendall(b"through")
            same(client.recv(100), b"through")
        os.unlink("socket")
        os.chdir("/")


LOCKER = """
import fcntl, sys
f = open(sys.argv[1], "r+b")
lock = getattr(fcntl, sys.argv[2])
try:
    lock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("free", flush=True)
except OSError:
    print("taken", flush=True)
    lock(f, fcntl.LOCK_EX)
    print("then free", flush=True)
"""


@test(variants={"flock": "flock", "lockf": "lockf"})
def locks_hold_between_processes(case, kind):
    with case.mount() as m:
        path = m.make("cache/lock/file", b"x")
        os.link(path, m("cache/lock/other name"))
        lock = getattr(fcntl, kind)
        with open(path, "r+b") as f:
            lock(f, fcntl.LOCK_EX)
            with start_python(LOCKER, m("cache/lock/other name"), kind) as other:
                same(other.stdout.readline(), b"taken\n")
                lock(f, fcntl.LOCK_UN)
                same(other.stdout.readline(), b"then free\n")
            with start_python(LOCKER, path, kind) as other:
                same(other.stdout.readline(), b"free\n")
        sh(f"flock {path} true", m.mnt)
        program("flock")


@test
def locks_of_ranges_do_not_meet(case):
    with case.mount() as m:
        path = m.make("cache/lock/file", bytes(100))
        with open(path, "r+b") as f:
            fcntl.lockf(f, fcntl.LOCK_EX, 10, 0)

            def work(_):
                with open(path, "r+b") as mine:
                    fcntl.lockf(mine, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 10)
                    with raises(errno.EAGAIN, errno.EACCES):
                        fcntl.lockf(mine, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 5)

            in_processes(1, work)


@test
def sendfile_and_splice(case):
    data = log_text(3 * MIB, 2)
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/web/page", data)
        m.wait_sealed(path)
        m.remount()
        ours, theirs = socket.socketpair()
        got = bytearray()

        def receive():
            while block := theirs.recv(1 << 16):
                got.extend(block)

        receiver = threading.Thread(target=receive)
        receiver.start()
        with open(path, "rb") as f:
            at = 0
            while n := os.sendfile(ours.fileno(), f.fileno(), at, MIB):
                at += n
        ours.close()
        receiver.join()
        same(bytes(got), data)
        with open(path, "rb") as f, open(m("cache/web/copy"), "wb") as copy:
            while os.copy_file_range(f.fileno(), copy.fileno(), MIB):
                pass
        same(read(m("cache/web/copy")), data)
        # Splices from a pipe into the mount.
        into, out = os.pipe()
        os.write(out, b"spliced")
        with open(m("cache/web/spliced"), "wb") as copy:
            assert os.splice(into, copy.fileno(), 100) == 7
        same(read(m("cache/web/spliced")), b"spliced")


IN_MODIFY, IN_MOVED_FROM, IN_MOVED_TO, IN_CREATE, IN_DELETE = 0x2, 0x40, 0x80, 0x100, 0x200


@test
def changes_are_watched(case):
    libc = ctypes.CDLL(None, use_errno=True)
    with case.mount(SEAL_SOON) as m:
        os.makedirs(m("cache/watched"))
        fd = libc.inotify_init1(os.O_NONBLOCK)
        mask = IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE
        assert libc.inotify_add_watch(fd, os.fsencode(m("cache/watched")), mask) >= 0
        sh("echo x >a; mv a b; mkdir c; echo y >>b; rm b; rmdir c", m("cache/watched"))
        want = [
            (IN_CREATE, "a"),
            (IN_MODIFY, "a"),
            (IN_MOVED_FROM, "a"),
            (IN_MOVED_TO, "b"),
            (IN_CREATE, "c"),
            (IN_MODIFY, "b"),
            (IN_DELETE, "b"),
            (IN_DELETE, "c"),
        ]
        got = []
        while select.select([fd], [], [], 0)[0]:
            events, at = os.read(fd, 1 << 16), 0
            while at < len(events):
                _, event, _, length = struct.unpack_from("iIII", events, at)
                name = events[at + 16 : at + 16 + length].rstrip(b"\0").decode()
                got.append((event & mask, name))
                at += 16 + length
        os.close(fd)
        assert got == want, got


main()
