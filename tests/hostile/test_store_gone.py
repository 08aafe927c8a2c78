#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The store is taken away from a running daemon. Nothing is acknowledged that would be lost, what is
still there can be read, and users are told what happened.
"""
import errno
import json
import os
import pathlib
import re
import shutil
import time

import paths  # noqa: F401
from disk import Disk
from harness import (
    OFFLOAD,
    SEAL_NEVER,
    SEAL_SOON,
    Skip,
    detach,
    eventually,
    main,
    mount_points,
    raises,
    read,
    run,
    same,
    test,
    write,
)

KEPT = b"kept\n" * 1000


def away(store):
    return store + ".away"


def move(store):
    os.rename(store, away(store))


def replace(store):
    move(store)
    os.mkdir(store, 0o700)


def replace_by_file(store):
    move(store)
    write(store, b"x\n")


def remove_segments(store):
    for name in os.listdir(os.path.join(store, "journal")):
        os.unlink(os.path.join(store, "journal", name))


def replace_index(store):
    index = os.path.join(store, "index.db")
    shutil.copy(index, index + "2")
    os.rename(index + "2", index)


# What is done to the store, and how it is reported.
WAYS = {
    "deleted": (shutil.rmtree, "was deleted"),
    "moved": (move, "was moved"),
    "another in its place": (replace, "was moved, or another one"),
    "a file in its place": (replace_by_file, "was moved, or another one"),
    "journal": (lambda store: shutil.rmtree(os.path.join(store, "journal")), "'journal'"),
    "segments": (remove_segments, "a file in 'journal'"),
    "packs": (lambda store: shutil.rmtree(os.path.join(store, "packs")), "'packs'"),
    "index": (lambda store: os.unlink(os.path.join(store, "index.db")), "'index.db'"),
    "another index": (replace_index, "'index.db'"),
    "log of the index": (lambda store: os.unlink(store + "/index.db-wal"), "'index.db-wal'"),
    "lock": (lambda store: os.unlink(os.path.join(store, "lock")), "'lock'"),
}


def expect_broken(m, kept, why):
    """Nothing in the tree is lost yet, but all changes are refused."""
    for change in (
        lambda: write(m("cache/new"), b"new"),
        lambda: write(kept, b"other"),
        lambda: os.mkdir(m("cache/folder")),
        lambda: os.unlink(kept),
        lambda: os.rename(kept, m("persistent/x")),
        lambda: os.setxattr(kept, "user.x", b"x"),
    ):
        with raises(errno.EIO):
            change()
    same(read(kept), KEPT)
    status = json.loads(read(m(".offload/status.json")))
    assert status["state"] == "read-only" and why in status["error"], status
    assert b"\noffloadfs_read_only 1\n" in read(m(".offload/metrics"))


def ends_badly(m, *words):
    """Unmounts. The daemon must exit with an error and say what is missing."""
    eventually(lambda: detach(m.mnt)[0], "unmounted", 5)
    code = m.process.wait(30)
    said = os.pread(m.log.fileno(), 1 << 16, 0).decode()
    m.wait()
    assert code == 1, (code, said)
    for word in (*words, "the last checkpoint failed", "could not be written completely"):
        assert word in said, f"{said!r} lacks {word!r}"
    return said


@test(variants=WAYS)
def a_store_is_taken_away(case, way):
    take, why = way
    m = case.mount(SEAL_SOON)
    kept = m.make("cache/shell/kept", KEPT)
    m.wait_sealed(kept)
    with open(kept, "r+b", buffering=0) as f:
        f.seek(len(KEPT) - 1)
        f.write(b"\n")
        take(case.store)
        with raises(errno.EIO):
            os.fsync(f.fileno())
    expect_broken(m, kept, why)
    said = ends_badly(m, why)
    assert said.count("nothing is written to the store any more") <= 2, said
    if os.path.exists(away(case.store)):
        if os.path.isdir(case.store):
            shutil.rmtree(case.store)
        elif os.path.exists(case.store):
            os.unlink(case.store)
        os.rename(away(case.store), case.store)
        with case.mount() as m:
            same(read(kept), KEPT)


@test
def a_writer_is_told_at_once(case):
    """Once the store has been deleted for a moment, no write is acknowledged."""
    m = case.mount(SEAL_NEVER)
    fd = os.open(m.make("cache/shell/log"), os.O_WRONLY | os.O_APPEND)
    shutil.rmtree(case.store)
    time.sleep(0.02)
    with raises(errno.EIO):
        os.write(fd, b"line\n")
    os.close(fd)
    ends_badly(m, "the journal is gone, and the changes with it")


@test
def a_journal_is_cut_short(case):
    m = case.mount(SEAL_NEVER)
    fd = os.open(m.make("cache/shell/log"), os.O_WRONLY | os.O_APPEND)
    os.write(fd, b"line\n")
    for name in os.listdir(os.path.join(case.store, "journal")):
        os.truncate(os.path.join(case.store, "journal", name), 0)
    with raises(errno.EIO):
        os.fsync(fd)
    os.close(fd)
    status = json.loads(read(m(".offload/status.json")))
    assert "a file in 'journal' was cut short" in status["error"], status
    ends_badly(m, "the journal is gone, and the changes with it")


@test
def what_was_written_before_a_move_is_there(case):
    """A draft that was not synced survives in the journal, though there is no checkpoint."""
    m = case.mount(SEAL_NEVER)
    kept = m.make("cache/shell/kept", KEPT)
    move(case.store)
    with raises(errno.EIO), open(kept, "rb") as f:
        os.fsync(f.fileno())
    same(read(kept), KEPT)
    said = ends_badly(m, "the journal has the changes, and the next start reads it")
    assert re.search(r": [1-9]\d* changed files and directories are not in the index", said), said
    os.rename(away(case.store), case.store)
    with case.mount() as m:
        same(read(kept), KEPT)
        write(kept, b"goes on")


@test
def a_pack_is_removed(case):
    """What would be sealed into the pack stays in the journal, also for the next start."""
    m = case.mount(SEAL_SOON)
    m.wait_sealed(m.make("cache/shell/sealed", os.urandom(1000)))
    for pack in pathlib.Path(case.store, "packs").iterdir():
        pack.unlink()
    kept = m.make("cache/shell/kept", KEPT)
    eventually(
        lambda: b"was removed" in os.pread(m.log.fileno(), 1 << 16, 0), "the sealer has noticed"
    )
    same(read(kept), KEPT)
    eventually(lambda: json.loads(read(m(".offload/status.json")))["error"], "an error is told")
    eventually(lambda: detach(m.mnt)[0], "unmounted", 5)
    m.wait()
    with case.mount(SEAL_SOON) as m:
        same(read(kept), KEPT)
        m.wait_sealed(kept)


def on_disk(case, *options):
    """Starts a daemon whose store is on a disk of its own."""
    disk = Disk(case, 48)
    return disk, case.mount(*options, store=os.path.join(disk.path, "store"))


@test(root=True)
def the_disk_is_unmounted_lazily(case):
    disk, m = on_disk(case, SEAL_NEVER)
    kept = m.make("cache/shell/kept", KEPT)
    run("umount", "-l", disk.path)
    with raises(errno.EIO), open(kept, "rb") as f:
        os.fsync(f.fileno())
    expect_broken(m, kept, "was moved")
    ends_badly(m)
    eventually(
        lambda: run("mount", "-o", "loop", disk.image, disk.path, check=False).returncode == 0,
        "the disk is free again",
    )
    with m.start():
        same(read(kept), KEPT)


def turn_read_only(disk):
    """Makes ext4 turn read-only, as on an error."""
    run("mount", "-o", "remount,errors=remount-ro", disk.path)
    device = run("findmnt", "-no", "SOURCE", disk.path).stdout.decode().strip()
    trigger = f"/sys/fs/ext4/{os.path.basename(device)}/trigger_fs_error"
    try:
        write(trigger, b"1")
    except OSError as e:
        raise Skip(f"an ext4 cannot be given an error here: {e}") from e


@test(root=True, variants={"writing": False, "syncing": True})
def the_disk_turns_read_only(case, syncing):
    disk, m = on_disk(case, SEAL_NEVER)
    kept = m.make("cache/shell/kept", KEPT)
    with open(kept, "rb") as f:
        os.fsync(f.fileno())
        if syncing:
            os.setxattr(kept, "user.x", b"x")
        turn_read_only(disk)
        with raises(errno.EIO):
            os.fsync(f.fileno()) if syncing else write(m("cache/new"), b"new")
    expect_broken(m, kept, "read-only")
    ends_badly(m, "read-only", "the journal has the changes")
    disk.power_cycle()
    with m.start():
        same(read(kept), KEPT)


@test(root=True)
def a_disk_in_use_is_not_remounted_read_only(case):
    """The kernel refuses to, because the daemon has files open for writing."""
    disk, m = on_disk(case)
    done = run("mount", "-o", "remount,ro", disk.path, check=False)
    assert done.returncode != 0 and b"busy" in done.stderr, done
    m.make("cache/shell/kept", KEPT)
    m.unmount()


# --- The companion tool ---------------------------------------------------------------------------


def in_workspace(case, store=None):
    """Mounts in a workspace. Returns the daemon and a function that runs the tool there."""
    work = case.path("work")
    os.makedirs(os.path.join(work, ".offload"))
    m = case.mount(SEAL_NEVER, store=store, mnt=os.path.join(work, ".offload"))
    return m, lambda *words: run(OFFLOAD, *words, cwd=work, check=False)


def ends_by_down(m, offload, *words):
    done = offload("down")
    assert done.returncode == 1 and done.stdout == b"", done
    for word in words:
        assert word.encode() in done.stderr, done
    assert m.wait() == 1 and m.mnt not in mount_points()


DOWN = {
    name: WAYS[name]
    for name in ("deleted", "moved", "another in its place", "a file in its place", "index")
}


@test(variants=DOWN)
def doctor_and_down_tell_of_it(case, way):
    take, why = way
    m, offload = in_workspace(case)
    m.make("cache/kept", KEPT)
    take(case.store)
    time.sleep(1.2)  # status.json may be that old
    done = offload("doctor")
    assert done.returncode == 1 and why.encode() in done.stdout, done
    ends_by_down(m, offload, why)


@test(root=True)
def down_tells_of_a_last_checkpoint_that_failed(case):
    """The disk turns read-only while nobody writes. doctor and the next daemon report it."""
    disk = Disk(case, 48)
    m, offload = in_workspace(case, os.path.join(disk.path, "store"))
    kept = m.make("cache/kept", KEPT)
    run("sync", "-f", disk.path)
    os.setxattr(kept, "user.x", b"x")
    turn_read_only(disk)
    ends_by_down(m, offload, "could not write everything", "its journal has the rest")
    disk.power_cycle()
    done = offload("doctor", "--store", m.store)
    assert b"could not write everything" in done.stdout, done
    os.makedirs(m.mnt)
    with m.start():
        assert b"could not write everything" in os.pread(m.log.fileno(), 1 << 16, 0)
        same(read(kept), KEPT)
        done = offload("down")
        assert done.returncode == 0, done
        assert m.wait() == 0
    assert read(os.path.join(m.store, "lock")) == b""


if __name__ == "__main__":
    main()
