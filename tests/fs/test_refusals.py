#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The daemon refuses with one line that gives the reason, and creates, mounts and changes nothing.
"""
import os
import re
import subprocess

from files import noise, same_tree, snapshot
from harness import (
    NOBODY,
    OFFLOADFS,
    SEAL_SOON,
    SLOW,
    Skip,
    main,
    mount_points,
    read,
    run,
    same,
    test,
    write,
)


def refuse(case, *arguments, prefix=(), codes=(1,)):
    """
    Runs the daemon, which must refuse and change nothing in the case's directory; returns its line.
    """
    before = everything(case)
    mounted = mount_points(case.dir)
    try:
        done = run(*prefix, OFFLOADFS, *arguments, check=False, timeout=30 * SLOW)
    except subprocess.TimeoutExpired:
        raise AssertionError("it neither served nor refused") from None
    said = done.stderr.decode()
    assert done.returncode in codes, f"exit {done.returncode}, expected {codes}: {said!r}"
    assert re.fullmatch(r"offloadfs: [^\n]+\n", said), f"not one line of ours: {said!r}"
    assert done.stdout == b"", done.stdout
    assert mount_points(case.dir) == mounted
    same_tree(everything(case), before)
    return said


def everything(case):
    """
    Returns a snapshot of the case's directory, without what opening a store may touch, and without
    a store that is being served and the mount's status files.
    """
    served = mount_points(case.dir)
    return {
        name: entry
        for name, entry in snapshot(case.dir).items()
        if not name.endswith((b"/lock", b"/index.db-shm", b"/index.db-wal"))
        and not name.endswith((b"/.offload/status.json", b"/.offload/metrics"))
        and not (served and name.startswith(b"store/"))
    }


def make_store(case):
    with case.mount(SEAL_SOON) as m:
        m.wait_sealed(m.make("cache/shell/kept", noise(20000, 1)))


def check_store(case):
    with case.mount() as m:
        same(read(m("cache/shell/kept")), noise(20000, 1))


# --- The store ------------------------------------------------------------------------------------


@test
def a_store_in_use(case):
    os.mkdir(case.path("second"))
    with case.mount() as m:
        kept = m.make("cache/shell/kept", b"served by the first")
        for foreground in (["-f"], []):
            said = refuse(case, *foreground, case.store, case.path("second"))
            assert m.mnt in said, f"does not say where the store is mounted: {said}"
            assert re.search(
                "unmount|umount|fusermount3|offload down|stop|end it", said
            ), f"does not say what to do: {said}"
        same(read(kept), b"served by the first")
        m.make("cache/shell/more", b"goes on")
    with case.mount(mnt=case.path("second")) as m:
        same(read(m("cache/shell/more")), b"goes on")


@test
def a_damaged_index(case):
    make_store(case)
    index = os.path.join(case.store, "index.db")

    def flip():
        with open(index, "r+b") as f:
            f.seek(60)  # user_version in the database header: its format
            byte = f.read(1)[0]
            f.seek(60)
            f.write(bytes([byte ^ 0x40]))

    flip()
    said = refuse(case, "-f", case.store, case.mnt)
    assert "index.db" in said and "damaged" in said, said
    flip()
    check_store(case)


@test
def a_directory_that_is_not_a_store(case):
    os.mkdir(case.store)
    write(os.path.join(case.store, "letter.txt"), b"dear")
    said = refuse(case, "-f", case.store, case.mnt)
    assert case.store in said, said


@test
def a_file_as_the_store(case):
    write(case.store, b"a file")
    said = refuse(case, "-f", case.store, case.mnt)
    assert case.store in said, said


def lost(index):
    os.unlink(index)


def emptied(index):
    write(index, b"")


def overwritten(index):
    write(index, b"this is no database" * 1000)


@test(variants={f.__name__: f for f in (lost, emptied, overwritten)})
def a_store_without_a_sound_index(case, damage):
    """
    Packs and journal are not taken for leftovers: with the index restored, everything is back.
    """
    make_store(case)
    index = os.path.join(case.store, "index.db")
    kept = read(index)
    damage(index)
    refuse(case, "-f", case.store, case.mnt)
    write(index, kept)
    check_store(case)


@test
def a_store_that_was_hardly_begun_is_made(case):
    """A power failure during the first start may leave empty directories and a lock."""
    os.makedirs(os.path.join(case.store, "journal"), mode=0o700)
    os.mkdir(os.path.join(case.store, "packs"), mode=0o700)
    write(os.path.join(case.store, "lock"), b"")
    make_store(case)
    check_store(case)


@test
def a_store_whose_parent_is_missing(case):
    said = refuse(case, "-f", case.path("missing/store"), case.mnt)
    assert "missing" in said, said


@test(root=True)
def a_store_of_somebody_else(case):
    make_store(case)
    case.open_to_others()
    os.mkdir(case.path("theirs"))
    os.chown(case.path("theirs"), NOBODY, NOBODY)
    if (
        run(
            "setpriv", f"--reuid={NOBODY}", "--clear-groups", "test", "-x", OFFLOADFS, check=False
        ).returncode
        != 0
    ):
        raise Skip(f"other users cannot run {OFFLOADFS}")
    refuse(
        case,
        "-f",
        case.store,
        case.path("theirs"),
        prefix=("setpriv", f"--reuid={NOBODY}", "--clear-groups"),
    )
    check_store(case)


# --- The mountpoint -------------------------------------------------------------------------------


@test
def a_missing_mountpoint(case):
    said = refuse(case, "-f", case.store, case.path("missing"))
    assert case.path("missing") in said, said
    refuse(case, case.store, case.path("missing"))


@test
def a_file_as_the_mountpoint(case):
    write(case.path("file"), b"a file")
    said = refuse(case, "-f", case.store, case.path("file"))
    assert case.path("file") in said, said


@test
def a_mountpoint_that_is_not_empty(case):
    write(os.path.join(case.mnt, "precious"), b"would be hidden")
    said = refuse(case, "-f", case.store, case.mnt)
    assert case.mnt in said and "empty" in said, said


@test
def a_mountpoint_that_is_in_use(case):
    with case.mount() as m:
        m.make("cache/shell/kept", b"served")
        refuse(case, "-f", case.path("second-store"), case.mnt)
        same(read(m("cache/shell/kept")), b"served")


# --- The machine ----------------------------------------------------------------------------------

HIDE_FUSE = """
set -e
mount --make-rprivate /
mount --bind /dev "$HOLD"
mount -t tmpfs none /dev
for node in null zero full random urandom tty; do
	: > /dev/$node
	mount --bind "$HOLD/$node" /dev/$node
done
umount -l "$HOLD"
exec "$@"
"""


@test(root=True)
def a_machine_without_fuse(case):
    os.mkdir(case.path("hold"))
    hide = ("unshare", "-m", "env", "HOLD=" + case.path("hold"), "sh", "-c", HIDE_FUSE, "sh")
    probe = run(*hide, "sh", "-c", "test ! -e /dev/fuse && test -c /dev/null", check=False)
    if probe.returncode != 0:
        raise Skip(f"cannot hide /dev/fuse here: {probe.stderr.decode().strip()}")
    for foreground in (["-f"], []):
        said = refuse(case, *foreground, case.store, case.mnt, prefix=hide)
        assert "/dev/fuse" in said, said


# --- Usage ----------------------------------------------------------------------------------------

USAGE = {
    "nothing": [],
    "only-a-store": ["STORE"],
    "too-much": ["STORE", "MNT", "more"],
    "unknown-flag": ["--frobnicate", "STORE", "MNT"],
    "unknown-short-flag": ["-Q", "STORE", "MNT"],
    "unknown-option": ["-o", "frobnicate=7", "STORE", "MNT"],
    "delay-of-letters": ["-o", "seal_delay=soon", "STORE", "MNT"],
    "delay-below-zero": ["-o", "seal_delay=-1", "STORE", "MNT"],
    "delay-too-large": ["-o", "seal_delay=99999999999999", "STORE", "MNT"],
    "delay-missing": ["-o", "seal_delay=", "STORE", "MNT"],
    "cap-of-letters": ["-o", "slice_max_lines=many", "STORE", "MNT"],
    "cap-with-a-tail": ["-o", "slice_max_bytes=64k!", "STORE", "MNT"],
    "option-missing": ["STORE", "MNT", "-o"],
}


@test(variants=USAGE)
def wrong_usage(case, arguments):
    known = {"STORE": case.store, "MNT": case.mnt}
    refuse(case, "-f", *[known.get(a, a) for a in arguments], codes=(2,))


@test
def help_and_version_are_no_errors(case):
    for flag, pattern in (
        ("--help", rb"(?i)usage: *\S*offloadfs.*STORE MOUNTPOINT"),
        ("--version", rb"offloadfs.*\d"),
    ):
        done = run(OFFLOADFS, flag)
        assert re.search(pattern, done.stdout), done.stdout
        assert done.stderr == b"", done.stderr


# --- What is not refused --------------------------------------------------------------------------


@test
def without_f_it_goes_to_the_background_once_mounted(case):
    done = run(
        OFFLOADFS,
        case.store,
        case.mnt,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=30 * SLOW,
    )
    assert done.stderr == b""
    assert case.mnt in mount_points()
    write(os.path.join(case.mnt, "note"), b"written at once")
    run("fusermount3", "-u", case.mnt)
    with case.mount() as m:  # waits for the daemon that is just closing
        same(read(m("note")), b"written at once")


@test
def without_standard_files_it_goes_to_the_background(case):
    os.mkdir(case.path("second"))
    closed = ("sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-')
    run(*closed, OFFLOADFS, case.store, case.mnt, timeout=30 * SLOW)
    write(os.path.join(case.mnt, "note"), b"written at once")
    # No file of the store got one of the three standard descriptors, which are replaced later;
    # above all not the lock.
    refuse(case, case.store, case.path("second"))
    same(read(os.path.join(case.mnt, "note")), b"written at once")
    run("fusermount3", "-u", case.mnt)


@test
def relative_paths_mean_where_it_was_started(case):
    run(OFFLOADFS, "store", "mnt", cwd=case.dir, stdout=subprocess.DEVNULL, timeout=30 * SLOW)
    write(os.path.join(case.mnt, "note"), b"found again")
    run("fusermount3", "-u", case.mnt)
    with case.mount() as m:
        same(read(m("note")), b"found again")
        assert os.path.isdir(os.path.join(case.store, "journal"))


@test
def an_empty_directory_becomes_a_store(case):
    os.mkdir(case.store)
    make_store(case)
    assert {"journal", "packs", "index.db"} <= set(os.listdir(case.store))
    check_store(case)


main()
