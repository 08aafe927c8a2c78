#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tar, rsync, cp and mv copy trees into, within and out of the mount without losing anything."""
import os
import stat

from programs import ALICE, BOB, program, same_directories, sh, source_tree

from files import KIB, MIB, log_text, noise
from harness import ROOT, SEAL_SOON, main, read, run, same, test, write, xattr

HOLES = (64 * KIB, 5 * MIB, 300 * KIB)


def furnished_tree(path):
    """Makes a tree of sources with everything that a copy could lose, older than today."""

    def at(*names):
        return os.path.join(path, *names)

    source_tree(path)
    os.makedirs(at("odd/empty"))
    write(at("odd/run"), b"#!/bin/sh\n")
    write(at("odd/secret"), b"secret\n")
    write(at("odd/empty file"), b"")
    write(at("odd/caf\u00e9 \t*?"), b"a name\n")
    write(at("odd/noise"), noise(700 * KIB, 1))
    with open(at("odd/sparse"), "wb") as f:
        for i, hole in enumerate(HOLES):
            f.seek(hole, os.SEEK_CUR)
            f.write(noise(5000, i))
        f.truncate(f.tell() + MIB)
    os.link(at("odd/run"), at("odd/run again"))
    os.link(at("odd/run"), at("src/run too"))
    os.symlink("run", at("odd/link"))
    os.symlink("../src/store", at("odd/link to directory"))
    os.symlink("/nowhere/at all", at("odd/dangling"))
    os.mkfifo(at("odd/fifo"), 0o620)
    for name, mode in (("run", 0o4751), ("secret", 0o600), ("noise", 0o444), ("empty", 0o3770)):
        os.chmod(at("odd", name), mode)
    if ROOT:
        for name in ("secret", "noise", "empty"):
            os.chown(at("odd", name), ALICE, BOB)
        os.chown(at("odd/link"), ALICE, BOB, follow_symlinks=False)
    sh("find . -depth -exec touch -h -d 1999-12-31T23:59:59.987654321 {} +", path)


@test(timeout=120)
def tar_carries_everything(case):
    paths = {"FROM": case.path("source"), "TO": case.path("out.tar")}
    furnished_tree(case.path("source"))
    os.mkdir(case.path("back"))
    with case.mount(SEAL_SOON) as m:
        os.makedirs(m("persistent/tree"))
        sh('tar --format=posix -C "$FROM" -cf in.tar .', m("persistent"), **paths)
        sh("tar -xpf in.tar -C tree", m("persistent"))
        same_directories(m("persistent/tree"), case.path("source"))
        m.remount()
        same_directories(m("persistent/tree"), case.path("source"))
        sh('tar --format=posix -cf "$TO" -C tree .', m("persistent"), **paths)
        run("tar", "-xpf", case.path("out.tar"), "-C", case.path("back"))
        # tar compares content, mode, times, owner, size and link targets.
        sh('tar -df in.tar -C tree && tar -df "$TO" -C tree', m("persistent"), **paths)
    same_directories(case.path("back"), case.path("source"))


@test
def tar_carries_attributes(case):
    options = ["--xattrs", "--xattrs-include=user.*", "--xattrs-exclude=user.offload.*"]
    note = bytes(range(256))
    os.makedirs(case.path("back"))
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/notes/first/file", b"x")
        os.setxattr(path, "user.note", note)
        os.setxattr(path, "user.empty", b"")
        os.setxattr(os.path.dirname(path), "user.note", b"of a directory")
        os.makedirs(m("cache/notes/second"))
        run("tar", *options, "-cf", case.path("tar"), "-C", m("cache/notes/first"), ".")
        run("tar", *options, "-xf", case.path("tar"), "-C", m("cache/notes/second"))
        run("tar", *options, "-xf", case.path("tar"), "-C", case.path("back"))
        run("cp", "-a", m("cache/notes/first"), m("cache/notes/third"))
        m.crash()
        for folder in (m("cache/notes/second"), m("cache/notes/third"), case.path("back")):
            same(os.getxattr(os.path.join(folder, "file"), "user.note"), note)
            same(os.getxattr(os.path.join(folder, "file"), "user.empty"), b"")
            same(os.getxattr(folder, "user.note"), b"of a directory")


def rsync(*words):
    """Runs rsync, which compares times to the nanosecond. Returns a line for each change."""
    done = run(program("rsync"), "-aH", "-@-1", "--itemize-changes", *words)
    return done.stdout.decode().splitlines()


@test(timeout=120)
def rsync_carries_everything_and_a_second_time_nothing(case):
    source, back = case.path("source") + "/", case.path("back") + "/"
    furnished_tree(source)
    with case.mount(SEAL_SOON) as m:
        inside = m("persistent/tree") + "/"
        os.makedirs(m("persistent"), exist_ok=True)
        assert rsync(source, inside)
        assert rsync(source, inside) == []
        for again in (m.remount, m.crash):
            again()
            assert rsync(source, inside) == []
            assert rsync("--checksum", source, inside) == []
        same_directories(inside, source)
        assert rsync(inside, back)
        assert rsync(inside, back) == []
        assert rsync(inside, m("cache/second") + "/")
        assert rsync(inside, m("cache/second") + "/") == []
    same_directories(back, source)


@test(timeout=120)
def rsync_follows_changes(case):
    source = case.path("source") + "/"
    source_tree(source)
    with case.mount(SEAL_SOON) as m:
        inside = m("cache/tree") + "/"
        rsync(source, inside)
        m.wait_sealed(m("cache/tree/src/store/ops.c"))
        ref = xattr(m("cache/tree/src/store/ops.c"), "ref")
        sh(
            "echo more >>src/store/ops.c; rm -r src/fuse; mkdir src/new; echo x >src/new/x;"
            "mv src/offloadfs.c src/moved.c; chmod 600 docs/TESTING.md",
            source,
        )
        changed = rsync("--delete", source, inside)
        assert "*deleting   src/fuse/" in changed, changed
        assert ">f+++++++++ src/new/x" in changed, changed
        assert ".f...p..... docs/TESTING.md" in changed, changed
        assert xattr(m("cache/tree/src/store/ops.c"), "ref") != ref, "it is replaced"
        assert rsync("--delete", source, inside) == []
        same_directories(inside, source)


@test(timeout=120)
def rsync_writes_in_place_and_keeps_holes(case):
    source = case.path("source") + "/"
    os.mkdir(source)
    data = bytearray(log_text(3 * MIB, 1))
    write(source + "log", data)
    with open(source + "sparse", "wb") as f:
        f.truncate(40 * MIB)
        f.seek(20 * MIB)
        f.write(b"island")
    with case.mount(SEAL_SOON) as m:
        inside = m("cache/tree") + "/"
        rsync("--sparse", source, inside)
        m.wait_sealed(m("cache/tree/log"), m("cache/tree/sparse"))
        before = os.stat(m("cache/tree/log"))
        data[MIB : MIB + 10] = b"0123456789"
        write(source + "log", data)
        rsync("--inplace", "--no-whole-file", source, inside)
        assert os.stat(m("cache/tree/log")).st_ino == before.st_ino
        same(read(m("cache/tree/log")), bytes(data))
        m.remount()
        same_directories(inside, source)
        sparse = os.stat(m("cache/tree/sparse"))
        assert sparse.st_size == 40 * MIB and sparse.st_blocks * 512 < MIB, sparse.st_blocks


@test(timeout=120)
def cp_carries_everything(case):
    source = case.path("source")
    furnished_tree(source)
    with case.mount(SEAL_SOON) as m:
        run("cp", "-a", source, m("persistent/in"))
        run("cp", "-a", m("persistent/in"), m("cache/within"))
        m.remount()
        run("cp", "-a", m("cache/within"), case.path("out"))
        same_directories(m("persistent/in"), source)
        same_directories(m("cache/within"), source)
        again = run("cp", "-auv", source + "/.", m("persistent/in")).stdout
        assert b" -> " not in again, again  # cp considers nothing newer
        run("cp", "-al", m("cache/within"), m("cache/linked"))
        assert os.path.samefile(m("cache/linked/odd/noise"), m("cache/within/odd/noise"))
        for how in ("auto", "never"):
            copy = m("cache/sparse")
            run("cp", f"--sparse={how}", "--reflink=auto", m("cache/within/odd/sparse"), copy)
            same(read(copy), read(f"{source}/odd/sparse"))
    same_directories(case.path("out"), source)


@test(timeout=120)
def mv_crosses_the_border(case):
    furnished_tree(case.path("source"))
    run("cp", "-a", case.path("source"), case.path("moving"))
    with case.mount(SEAL_SOON) as m:
        run("mv", case.path("moving"), m("persistent/moved"))
        assert not os.path.exists(case.path("moving"))
        same_directories(m("persistent/moved"), case.path("source"))
        before = os.stat(m("persistent/moved/odd/noise")).st_ino
        run("mv", m("persistent/moved"), m("cache/moved"))
        assert os.stat(m("cache/moved/odd/noise")).st_ino == before
        m.crash()
        run("mv", m("cache/moved"), case.path("moved"))
        assert os.listdir(m("cache")) == [] and os.listdir(m("persistent")) == []
    same_directories(case.path("moved"), case.path("source"))


@test
def install_sets_mode_and_owner(case):
    with case.mount() as m:
        source = case.path("program")
        write(source, b"program\n")
        owner = ["-o", str(ALICE), "-g", str(BOB)] if ROOT else []
        run("install", "-D", "-p", "-m", "2755", *owner, source, m("persistent/bin/deep/program"))
        run("install", "-d", "-m", "1777", m("cache/tmp"))
        run("install", "-b", "-m", "640", source, m("persistent/bin/deep/program"))
        m.crash()
        assert sorted(os.listdir(m("persistent/bin/deep"))) == ["program", "program~"]
        old = os.stat(m("persistent/bin/deep/program~"))
        assert stat.S_IMODE(old.st_mode) == 0o2755, oct(old.st_mode)
        assert old.st_mtime_ns == os.stat(source).st_mtime_ns
        assert not ROOT or (old.st_uid, old.st_gid) == (ALICE, BOB)
        assert stat.S_IMODE(os.stat(m("persistent/bin/deep/program")).st_mode) == 0o640
        assert stat.S_IMODE(os.stat(m("cache/tmp")).st_mode) == 0o1777


main()
