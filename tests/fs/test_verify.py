#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`offload verify` finds damage, names the files that are lost, and repairs."""
import contextlib
import errno
import glob
import json
import os
import pty
import select
import signal
import struct
import subprocess
import time

from files import KIB, MIB, log_text, noise, same_tree, snapshot
from harness import (
    OFFLOAD,
    OFFLOADFS,
    SEAL_NEVER,
    SEAL_SOON,
    SLOW,
    Skip,
    eventually,
    main,
    raises,
    read,
    run,
    same,
    test,
    write,
    xattr,
)

MOUNTED = {"mounted": True, "unmounted": False}
ATTRIBUTE = "user.offload.verify"
PIECE = 256 * KIB  # bytes of a file that are stored as one chunk


# --- The tool -------------------------------------------------------------------------------------


def tree_of(case, mounted):
    """Returns the operand for verifying the tree: its mountpoint or its store."""
    return case.mnt if mounted else case.store


def verify(*words, code=0):
    """Runs the tool; returns the lines printed, and standard error."""
    done = run(OFFLOAD, "verify", *words, check=False, timeout=50 * SLOW)
    out, err = done.stdout.decode(), done.stderr.decode()
    codes = code if isinstance(code, tuple) else (code,)
    assert done.returncode in codes, f"exit {done.returncode}, expected {codes}: {out}{err}"
    for line in err.splitlines():
        assert line.startswith("offload: "), f"standard error: {err!r}"
    return out.splitlines(), err


def report(*words, code=0):
    """Like verify(), with --json: returns the object."""
    done = run(OFFLOAD, "verify", "--json", *words, check=False, timeout=50 * SLOW)
    codes = code if isinstance(code, tuple) else (code,)
    assert done.returncode in codes, f"exit {done.returncode}: {done.stdout} {done.stderr}"
    found = json.loads(done.stdout)
    assert found["problems"] == len(found["found"])
    assert found["repaired"] == sum(each["repaired"] for each in found["found"])
    paths = {each["ref"] for each in found["found"] if each["ref"]}
    assert found["hurt"] == len(paths), found
    return found


def hurt(result):
    """Returns the paths that a report names."""
    return {each["path"] for each in result["found"] if each["path"]}


def status(mnt):
    return json.loads(os.getxattr(mnt, ATTRIBUTE))


def command(mnt, word):
    os.setxattr(mnt, ATTRIBUTE, word)


class Tool:
    """The running tool, with a terminal as standard error."""

    def __init__(self, *words):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [OFFLOAD, "verify", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=slave,
            env=os.environ | SLOW_READS,
        )
        os.close(slave)
        self.said = b""

    def listen(self, word=None):
        """Reads from the terminal until `word` appears, or until the end."""
        deadline = time.monotonic() + 50 * SLOW
        while word is None or word not in self.said:
            ready, _, _ = select.select([self.master], [], [], deadline - time.monotonic())
            assert ready, f"the tool said only {self.said!r}"
            try:
                some = os.read(self.master, 4096)
            except OSError as e:
                assert e.errno == errno.EIO, e
                some = b""
            if not some:
                assert word is None, f"the tool ended and said only {self.said!r}"
                return
            self.said += some

    def finish(self):
        """Waits for the end; returns exit code, output and standard error."""
        self.listen()
        out = self.process.communicate(timeout=20 * SLOW)[0].decode()
        os.close(self.master)
        return self.process.returncode, out, self.said.decode()


# --- Stores and their damage ----------------------------------------------------------------------


class Frame:
    """A frame of a pack, located by its header. `files` are those whose noise it contains."""

    def __init__(self, pack, off, data, known):
        self.pack, self.off = pack, off
        _, form, self.chunks, payload, _, table = struct.unpack_from("<IHHIII", data, off)
        self.payload = off + 32 + table + 8
        self.end = self.payload + payload
        self.bytes = data[off : self.end]
        inside = data[self.payload : self.end] if form == 0 else b""
        self.files = {
            name
            for name, content in known.items()
            if any(content[i : i + 64] in inside for i in range(0, len(content), PIECE))
        }

    def damage(self):
        flip(self.pack, (self.payload + self.end) // 2)


def flip(path, off):
    with open(path, "r+b") as f:
        f.seek(off)
        byte = f.read(1)
        f.seek(off)
        f.write(bytes([byte[0] ^ 0x55]))


def frames(case, known):
    """Returns the frames in the packs. `known` maps paths in the tree to noise."""
    found = []
    folder = os.path.join(case.store, "packs")
    for name in sorted(os.listdir(folder)):
        data = read(os.path.join(folder, name))
        at = 64
        while at + 32 <= len(data):
            if data[at : at + 4] != b"FOSF":
                at += 8
                continue
            found.append(Frame(os.path.join(folder, name), at, data, known))
            at = (found[-1].end + 7) // 8 * 8
    # Each piece must occur once, so that these are the copies that the index uses.
    for name, content in known.items():
        pieces = (len(content) + PIECE - 1) // PIECE
        holders = sum(name in each.files for each in found)
        assert 1 <= holders <= pieces, f"{name} lies in {holders} frames"
    return found


def fill(case, m, groups=3, each=6, size=40000):
    """
    Creates sealed files of noise, in frames that are shared and need no repacking; returns {path:
    content}. Leaves none of them in a cache.
    """
    known = {}
    m.remount(SEAL_NEVER)
    for group in range(groups):
        for i in range(each):
            name = f"cache/shell/{group}-{i}"
            known[name] = noise(size, group * 1000 + i)
            m.make(name, known[name])
    m.remount(SEAL_SOON)
    m.wait_sealed(*[m(name) for name in known])
    m.remount(SEAL_SOON)
    return known


def check_content(m, known, lost=()):
    """Checks that everything can be read except the lost files, which give EIO."""
    for name, content in known.items():
        if name in lost:
            with raises(errno.EIO):
                read(m(name))
        else:
            same(read(m(name)), content, name)


@contextlib.contextmanager
def at_rest(m, really=True):
    """Unmounts for the duration of the block."""
    if really:
        m.unmount()
    yield
    if really:
        m.start()


# Slows reading down: verifying the content below takes more than a second.
SLOW_READS = {"OFS_FAILPOINT": "io.pread=slow"}


def start_slow(m):
    m.launch(**SLOW_READS)
    assert m.comes_up()


def slow_to_verify(m):
    m.wait_sealed(m.make("cache/shell/large", noise(16 * MIB, 1)))
    m.unmount()
    start_slow(m)


# --- Sound stores ---------------------------------------------------------------------------------


@test(variants=MOUNTED)
def a_sound_store_has_no_problems(case, mounted):
    with case.mount(SEAL_SOON) as m:
        content = {f"cache/shell/{i}": log_text(3000 + i, i) for i in range(20)}
        for i in range(5):
            content[f"persistent/copies/{i}"] = content[f"cache/shell/{i}"]
        paths = [m.make(name, data) for name, data in content.items()]
        m.make("cache/shell/empty")
        m.wait_sealed(*paths)
        before = snapshot(m("cache"), identity=True)
        m.remount()
        with at_rest(m, not mounted):
            out, err = verify(tree_of(case, mounted))
            assert err == "" and len(out) == 1, (out, err)
            assert out[0].startswith("offload: ") and out[0].endswith(" verified: no problems"), out
            assert " 20 chunks, " in out[0], out
            found = report(tree_of(case, mounted))
        assert found["chunks"] == 20 and found["found"] == [], found
        assert found["bytes"] >= sum(len(d) for d in set(content.values())), found
        assert found["frames"] >= 1 and found["state"] == "done" and not found["repair"], found
        same_tree(snapshot(m("cache"), identity=True), before)


@test(variants=MOUNTED)
def a_sound_store_has_nothing_to_repair(case, mounted):
    with case.mount(SEAL_SOON) as m:
        known = fill(case, m, groups=2)
        m.make("persistent/reports/one", b"one\n")
        before = {top: snapshot(m(top), identity=True) for top in ("cache", "persistent")}
        with at_rest(m, not mounted):
            out, err = verify("--repair", tree_of(case, mounted))
            assert err == "" and out[0].endswith("no problems"), (out, err)
        for top, want in before.items():
            same_tree(snapshot(m(top), identity=True), want)
        check_content(m, known)


@test
def drafts_and_an_empty_store_have_no_problems(case):
    with case.mount(SEAL_NEVER) as m:
        verify(case.mnt)
        m.make("cache/shell/draft", noise(300000, 1))
        m.make("cache/shell/sparse")
        os.truncate(m("cache/shell/sparse"), 1 << 30)
        verify(case.mnt)
        m.crash()
        verify(case.mnt)
        m.unmount()
        verify(case.store)
        m.start()
        same(read(m("cache/shell/draft")), noise(300000, 1))


@test
def a_store_in_use_has_no_problems(case):
    with case.mount("seal_delay=1") as m:
        for turn in range(6):
            for i in range(30):
                m.make(f"cache/shell/{i}", log_text(20000, turn * 100 + i))
            verify(case.mnt)
            for i in range(0, 30, 3):
                os.unlink(m(f"cache/shell/{i}"))
            verify(case.mnt)


@test
def the_tree_can_be_named_in_every_way(case):
    with case.mount(SEAL_SOON) as m:
        m.make("cache/shell/x", b"x\n")
        for words in (
            [case.mnt],
            [m("cache/shell")],
            [case.store],
            ["-d", case.mnt],
            ["--store", case.store],
        ):
            verify(*words)
        assert status(case.mnt)["state"] == "done", "verified by the daemon"
        m.kill9()
        verify(case.mnt)
        m.start()
    verify(case.store)
    for words in ([case.path("nothing")], [case.path()], [case.mnt, case.store], ["--what"]):
        out, err = verify(*words, code=2)
        assert not out and len(err.splitlines()) == 1, (words, out, err)


# --- Damaged packs --------------------------------------------------------------------------------


@test(variants=MOUNTED)
def a_damaged_frame_costs_the_files_in_it_and_no_others(case, mounted):
    with case.mount(SEAL_SOON) as m:
        known = fill(case, m)
        with at_rest(m, not mounted):
            bad = max(frames(case, known), key=lambda f: len(f.files))
            assert 2 <= len(bad.files) < len(known), "some share the frame"
            bad.damage()
            out, err = verify(tree_of(case, mounted), code=1)
            found = report(tree_of(case, mounted), code=1)
        assert hurt(found) == bad.files, found
        assert found["repaired"] == 0
        named = {line.split(": ")[0] for line in out[:-1]} - {"store"}
        assert named == bad.files, out
        count = f"{len(bad.files)} files hurt"
        assert count in out[-1] and "no problems" not in out[-1], out
        assert "--repair" in err and len(err.splitlines()) == 1, err
        check_content(m, known, bad.files)


@test(variants=MOUNTED)
def damage_in_one_piece_of_a_large_file_costs_that_file(case, mounted):
    with case.mount(SEAL_SOON) as m:
        known = fill(case, m, groups=1)
        # Outside persistent/: the indexer might read it there and leave it in the daemon's cache.
        known["cache/shell/large"] = noise(5 * PIECE + 1000, 77)
        m.wait_sealed(m.make("cache/shell/large", known["cache/shell/large"]))
        m.remount()
        with at_rest(m, not mounted):
            bad = next(f for f in frames(case, known) if f.files == {"cache/shell/large"})
            bad.damage()
            found = report(tree_of(case, mounted), code=1)
        assert hurt(found) == {"cache/shell/large"} and found["hurt"] == 1, found
        check_content(m, known, {"cache/shell/large"})


@test
def every_holder_of_damaged_content_is_named(case):
    with case.mount(SEAL_SOON) as m:
        known = fill(case, m, groups=1, each=1, size=200000)
        (name, data), = known.items()
        known["archive/copy"] = data
        m.wait_sealed(m.make("archive/copy", data))
        os.link(m(name), m("persistent/linked"))
        m.remount()
        for frame in frames(case, {name: data}):
            if frame.files:
                frame.damage()
        found = report(case.mnt, code=1)
        assert found["hurt"] == 2, found
        assert "archive/copy" in hurt(found), found
        assert hurt(found) & {name, "persistent/linked"}, found


@test(variants=MOUNTED)
def repair_puts_a_damaged_frame_aside(case, mounted):
    with case.mount(SEAL_SOON) as m:
        known = fill(case, m)
        with at_rest(m, not mounted):
            bad = max(frames(case, known), key=lambda f: len(f.files))
            bad.damage()
            damaged = read(bad.pack)[bad.off : bad.end]
            assert damaged != bad.bytes
            found = report("--repair", tree_of(case, mounted), code=(0, 1))
            assert found["repair"] and hurt(found) == bad.files, found
            folder = os.path.join(case.store, "quarantine")
            aside = [read(os.path.join(folder, each)) for each in os.listdir(folder)]
            assert any(damaged in each for each in aside), "not in quarantine"
            again = report(tree_of(case, mounted), code=(0, 1))
            assert hurt(again) == bad.files, "what is lost is still named"
        check_content(m, known, bad.files)
        m.crash()
        check_content(m, known, bad.files)


@test
def writing_the_same_content_again_heals(case):
    with case.mount(SEAL_SOON) as m:
        known = fill(case, m)
        bad = max(frames(case, known), key=lambda f: len(f.files))
        bad.damage()
        report("--repair", case.mnt, code=(0, 1))
        for name in sorted(bad.files):
            m.wait_sealed(m.make("persistent/again/" + name.replace("/", "_"), known[name]))
        eventually(
            lambda: run(OFFLOAD, "verify", case.mnt, check=False).returncode == 0, "it is sound"
        )
        check_content(m, known)
        m.remount()
        verify(case.mnt)
        check_content(m, known)
        m.unmount()
        verify(case.store)


@test
def removing_what_is_hurt_leaves_a_sound_store(case):
    with case.mount(SEAL_SOON) as m:
        known = fill(case, m)
        bad = max(frames(case, known), key=lambda f: len(f.files))
        bad.damage()
        report("--repair", case.mnt, code=(0, 1))
        for name in bad.files:
            os.unlink(m(name))
            del known[name]
        eventually(
            lambda: run(OFFLOAD, "verify", case.mnt, check=False).returncode == 0, "it is sound"
        )
        check_content(m, known)


@test
def a_pack_cut_short_under_a_mount_costs_what_lay_behind(case):
    with case.mount(SEAL_SOON) as m:
        known = fill(case, m)
        holders = [f for f in frames(case, known) if f.files]
        first = sorted(holders, key=lambda f: (f.pack, f.off))[1]
        os.truncate(first.pack, first.payload + 100)
        lost = {n for f in holders if f.pack == first.pack and f.off >= first.off for n in f.files}
        assert lost != set(known)
        found = report(case.mnt, code=1)
        assert hurt(found) == lost, found
        check_content(m, known, lost)


def cut(pack):
    os.truncate(pack, os.path.getsize(pack) // 2)


@test(variants={"missing": os.unlink, "cut": cut})
def damage_to_the_last_pack_is_told_at_rest(case, damage):
    with case.mount(SEAL_SOON) as m:
        known = fill(case, m)
        m.unmount()
        pack = max(f.pack for f in frames(case, known))
        damage(pack)
        done = run(OFFLOAD, "verify", case.store, check=False)
        said = (done.stdout + done.stderr).decode()
        assert done.returncode in (1, 2), said
        # Either the files are named, or the store reports why it cannot be opened at all.
        if done.returncode == 2:
            assert os.path.basename(pack) in said, said
        elif damage is os.unlink:
            assert all(name in said for name in known), said


@test(timeout=240)
def a_missing_pack_costs_what_lay_in_it(case):
    space = os.statvfs(case.dir)
    if space.f_bavail * space.f_frsize < 1500 * MIB:
        raise Skip("too little space for two packs")
    with case.mount(SEAL_SOON) as m:
        known = {}
        for i in range(9):
            name = f"persistent/large/{i}"
            known[name] = noise(32 * MIB, i)
            m.wait_sealed(m.make(name, known[name]))
        m.unmount()
        folder = os.path.join(case.store, "packs")
        packs = sorted(os.listdir(folder))
        assert len(packs) >= 2, packs
        first = read(os.path.join(folder, packs[0]))
        # Files are stored in order, so one that is partly in this pack begins or ends in it.
        lost = {
            name
            for name, data in known.items()
            if any(data[i : i + 64] in first for i in (0, len(data) - PIECE))
        }
        assert lost and lost != set(known)
        del first
        os.unlink(os.path.join(folder, packs[0]))
        found = report(case.store, code=1)
        assert hurt(found) == lost, found
        m.start()
        assert hurt(report(case.mnt, code=1)) == lost
        check_content(m, known, lost)


@test
def odd_names_are_told_on_one_line(case):
    odd = b"cache/shell/a\xff\x1b[31m\nb: c"
    with case.mount(SEAL_SOON) as m:
        path = os.path.join(os.fsencode(m.mnt), odd)
        os.makedirs(os.path.dirname(path))
        write(path, noise(200000, 5))
        m.wait_sealed(path)
        ref = xattr(path, "ref")
        m.remount()
        for frame in frames(case, {odd: noise(200000, 5)}):
            frame.damage()
        out, _ = verify(case.mnt, code=1)
        found = report(case.mnt, code=1)
        problems = [each for each in found["found"] if each["path"]]
        assert len(problems) == 1 and problems[0]["ref"] == ref, found
        assert problems[0]["path"].startswith("cache/shell/a\\xff"), found
        assert len(out) == len(found["found"]) + 1, out
        assert "\x1b" not in "".join(out), out


# --- Damaged drafts -------------------------------------------------------------------------------


def journal_place(case, data):
    """Returns the journal segment and the offset of a record's data."""
    folder = os.path.join(case.store, "journal")
    for name in sorted(os.listdir(folder)):
        at = read(os.path.join(folder, name)).find(data[:64])
        if at >= 0:
            return os.path.join(folder, name), at
    raise AssertionError("not in the journal")


def while_mounted(case, m, data):
    m.remount()
    flip(*journal_place(case, data))


def while_unmounted(case, m, data):
    m.unmount()
    flip(*journal_place(case, data))
    m.start()


def while_dead(case, m, data):
    m.kill9()
    flip(*journal_place(case, data))
    m.start()


@test(variants={f.__name__: f for f in (while_mounted, while_unmounted, while_dead)})
def a_damaged_draft_is_named(case, damage):
    with case.mount(SEAL_NEVER) as m:
        known = {f"cache/shell/{i}": noise(30000, i) for i in range(3)}
        for name, data in known.items():
            m.make(name, data)
            # Damage to data not known to be on disk would count as a torn write.
            fd = os.open(m(name), os.O_RDONLY)
            os.fsync(fd)
            os.close(fd)
        m.make("cache/shell/after", b"after\n")
        damage(case, m, known["cache/shell/1"])
        found = report(case.mnt, code=1)
        assert hurt(found) == {"cache/shell/1"}, found
        check_content(m, known, {"cache/shell/1"})
        report("--repair", case.mnt, code=(0, 1))
        check_content(m, known, {"cache/shell/1"})


# --- The attribute --------------------------------------------------------------------------------


@test
def the_attribute_is_the_roots_alone(case):
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/shell/x", b"x\n")
        assert status(case.mnt)["state"] == "none"
        assert os.listxattr(case.mnt) == []
        with raises(errno.EINVAL):
            command(case.mnt, b"begin")
        with raises(errno.EINVAL):
            command(case.mnt, b"")
        with raises(errno.EOPNOTSUPP):
            command(path, b"start")
        with raises(errno.EOPNOTSUPP):
            command(m("cache"), b"start")
        for name in (".0", ".x", ".", "x"):
            with raises(errno.ENODATA):
                os.getxattr(case.mnt, ATTRIBUTE + name)
        with raises(errno.ENODATA):
            os.getxattr(path, ATTRIBUTE)
        command(case.mnt, b"stop")
        assert status(case.mnt)["state"] == "none"
        command(case.mnt, b"start")
        eventually(lambda: status(case.mnt)["state"] == "done", "it is done")
        assert os.listxattr(case.mnt) == []


@test(timeout=120)
def one_verification_at_a_time(case):
    with case.mount(SEAL_SOON) as m:
        slow_to_verify(m)
        command(case.mnt, b"start")
        for word in (b"start", b"repair"):
            with raises(errno.EBUSY):
                command(case.mnt, word)
        _, err = verify(case.mnt, code=2)
        assert "already" in err, err
        command(case.mnt, b"stop")
        eventually(lambda: status(case.mnt)["state"] == "stopped", "it stopped")
        command(case.mnt, b"start")
        eventually(lambda: status(case.mnt)["state"] == "done", "it is done", 40)
        assert status(case.mnt)["done"] == status(case.mnt)["total"] > 0


# --- Terminals and unusual ends -------------------------------------------------------------------


@test(variants=MOUNTED)
def progress_is_shown_on_a_terminal_only(case, mounted):
    with case.mount(SEAL_SOON) as m:
        m.make("cache/shell/x", noise(MIB, 1))
        with at_rest(m, not mounted):
            code, out, said = Tool(tree_of(case, mounted)).finish()
            assert code == 0 and out.endswith("no problems\n"), (code, out)
            assert "Verifying" in said and "%" in said and "\n" not in said, said
            assert said.endswith("\r\x1b[K"), "it is taken away in the end"
            out, err = verify(tree_of(case, mounted))
            assert err == "" and len(out) == 1 and "\r" not in out[0], (out, err)


@test(variants=MOUNTED, timeout=120)
def interrupt_stops_it(case, mounted):
    with case.mount(SEAL_SOON) as m:
        slow_to_verify(m)
        with at_rest(m, not mounted):
            tool = Tool(tree_of(case, mounted))
            tool.listen(b"Verifying")
            tool.process.send_signal(signal.SIGINT)
            code, out, said = tool.finish()
            assert code == 130, (code, out, said)
            assert "stopped" in out, out
            if mounted:
                assert status(case.mnt)["state"] == "stopped"
            verify(tree_of(case, mounted))


@test(timeout=120)
def an_unmount_stops_it(case):
    with case.mount(SEAL_SOON) as m:
        slow_to_verify(m)
        command(case.mnt, b"start")
        m.unmount()
        start_slow(m)
        assert status(case.mnt)["state"] == "none"
        tool = Tool(case.mnt)
        tool.listen(b"Verifying")
        m.unmount()
        code, out, said = tool.finish()
        assert code == 2 and "unmounted" in said, (code, out, said)
    verify(case.store)


@test(timeout=120)
def a_daemon_that_dies_meanwhile_is_told(case):
    with case.mount(SEAL_SOON) as m:
        slow_to_verify(m)
        tool = Tool(case.mnt)
        tool.listen(b"Verifying")
        m.kill9()
        code, out, said = tool.finish()
        assert code == 2 and out == "", (code, out, said)
        assert "has lost its daemon" in said, said
        m.start()
        verify(case.mnt)


def bytes_of(store):
    """Maps every file of a store to its bytes and mtime."""
    found = {}
    for folder, _, names in os.walk(store):
        for path in (os.path.join(folder, name) for name in names):
            with open(path, "rb") as f:
                found[path] = (f.read(), os.stat(path).st_mtime_ns)
    return found


def journal_damaged(case, bits):
    """A store whose daemon died, with bits flipped in the record of the second of three files."""
    with case.mount(SEAL_NEVER) as m:
        for name in ("one", "two", "three"):
            m.make(f"persistent/notes/{name}", f"of file {name}\n".encode() * 20)
        m.kill9()
    (name,) = glob.glob(os.path.join(case.store, "journal", "*.wal"))
    with open(name, "r+b") as f:
        data = bytearray(f.read())
        at = data.rindex(b"OFSr", 0, data.index(b"of file two"))
        for bit in bits:
            data[at + bit // 8] ^= 1 << bit % 8
        f.seek(0)
        f.write(data)


@test
def an_emptied_journal_is_told(case):
    """The index does not contain anything yet."""
    with case.mount(SEAL_NEVER) as m:
        m.make("persistent/notes/one", b"one")
        m.kill9()
    (name,) = glob.glob(os.path.join(case.store, "journal", "*.wal"))
    os.truncate(name, 0)
    _, said = verify(case.store, code=2)
    assert "is empty: it was never mounted, or its journal was lost" in said, said


@test(variants={"mended": (130,), "lost": (130, 200), "content": (8 * 200,)})
def damage_to_the_journal_is_told_and_kept(case, bits):
    journal_damaged(case, bits)
    before = bytes_of(case.store)
    for _ in range(2):
        lines, said = verify(case.store, code=1)
        assert "the journal was damaged from position" in lines[0], lines
        assert "nothing was changed" in lines[0] and "is damaged at position" in said
        assert bytes_of(case.store) == before
    (name,) = glob.glob(os.path.join(case.store, "journal", "*.wal"))
    with case.mount(SEAL_NEVER) as m:
        status = json.loads(read(m(".offload/status.json")))
        assert "journal" in status["warning"], status
        same(read(m("persistent/notes/three")), b"of file three\n" * 20)
        if len(bits) > 1:
            assert read(m("persistent/notes/two")) == b""
        elif bits[0] > 1000:
            with raises(errno.EIO):
                read(m("persistent/notes/two"))
        else:
            same(read(m("persistent/notes/two")), b"of file two\n" * 20)
        lines, _ = verify(case.mnt, code=1)
        assert any("quarantine/ keeps it as it was" in line for line in lines), lines
    kept = os.path.join(case.store, "quarantine", os.path.basename(name))
    with open(kept, "rb") as f:
        after = f.read()
    start = next(i for i in range(len(after)) if after[i])
    was = before[name][0].rstrip(b"\0")
    assert after[start:].startswith(was[start:])
    lines, _ = verify("--repair", case.store, code=(0, 1))
    assert any(line.endswith("(repaired)") for line in lines), lines
    lines, _ = verify(case.store, code=(0, 1))
    assert not any("journal" in line for line in lines), lines
    with case.mount(SEAL_NEVER) as m:
        assert json.loads(read(m(".offload/status.json")))["warning"] is None


@test
def a_store_that_cannot_be_written_is_verified(case):
    with case.mount(SEAL_SOON) as m:
        m.wait_sealed(m.make("persistent/notes/sealed", noise(9 * KIB, 1)))
    with case.mount(SEAL_NEVER) as m:
        m.make("persistent/notes/draft", b"never sealed\n")
        m.kill9()
    before = bytes_of(case.store)
    run("chmod", "-R", "a-w", case.store)
    lines, _ = verify(case.store)
    assert "2 files" in lines[0] and "no problems" in lines[0], lines
    assert bytes_of(case.store) == before
    run(OFFLOADFS, "--read-only", case.store, case.mnt)
    try:
        same(read(f"{case.mnt}/persistent/notes/sealed"), noise(9 * KIB, 1))
        same(read(f"{case.mnt}/persistent/notes/draft"), b"never sealed\n")
        assert b"notes/draft:1" in read(f"{case.mnt}/search/sealed")
        with raises(errno.EROFS):
            write(f"{case.mnt}/persistent/notes/new", b"x")
    finally:
        run("fusermount3", "-u", case.mnt)
    eventually(lambda: not os.path.ismount(case.mnt), "it is unmounted")
    assert bytes_of(case.store) == before
    run("chmod", "-R", "u+w", case.store)


if __name__ == "__main__":
    main()
