#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Following: what a follower shows of another host's store, how soon, and at what cost."""
import contextlib
import errno
import json
import mmap
import os
import signal
import threading
import time

import paths  # noqa: F401
from clock import HOUR, MINUTE, Clock
from files import KIB, MIB, log_text, noise, snapshot
from harness import (
    OFFLOAD, SEAL_NEVER, SEAL_SOON, SLOW, Mount, eventually, main, mount_points, raises, read,
    renameat2, run, same, stopped, test, write, RENAME_EXCHANGE,
)
from replication import (
    Remote, processes_with, push, status, wait_current, wait_garbage, wait_state,
)

READER = "read-key"
BOUND = 2.05  # seconds between two requests
LONG = 25 * MINUTE  # a follower adopts a newer checkpoint after this time


class Follower(Mount):
    """Shows the remote. Its time is that of the Clock, if there is one."""

    def __init__(self, remote, case, *options, name="follower", clock=None):
        super().__init__(case, remote.location, case.path(name), ("follow",) + options)
        os.makedirs(self.mnt, exist_ok=True)
        self.remote, self.clock = remote, clock
        self.cache = case.path(name + "-cache")

    def launch(self, **environment):
        told = {"XDG_CACHE_HOME": self.cache, **self.remote.environment(READER), **environment}
        if self.clock:
            told["OFFLOADFS_CLOCK"] = self.clock.path
        return super().launch(**told)

    def ask(self):
        """Waits for a round, which may have begun before. Returns complete_until after it."""
        before = status(self)["reads"]
        self.clock.pass_time(3)
        said = eventually(lambda: (s := status(self))["reads"] != before and s, "a round")
        return said["complete_until"]

    def catch_up(self):
        """Waits until everything that is in the remote now is shown."""
        before = self.ask()
        eventually(lambda: self.ask() != before, "the end of the log")

    def requests(self, since=0, **which):
        return self.remote.count(who=READER, since=since, **which)


def journal_size(m):
    return json.loads(read(m(".offload/status.json")))["disk"]["journal"]


def follow(remote, case, *options, **where):
    return Follower(remote, case, *options, **where).start()


@contextlib.contextmanager
def followed(case, *options):
    """Yields a Remote, the replicated mount, a Follower of it, and the clock of the mount."""
    clock = Clock(case)
    with Remote() as remote, remote.mount(case, *options, "replicate_every=10", clock=clock) as m:
        fill(m)
        if SEAL_SOON in options:
            m.wait_sealed(m("cache/shell/large"), m("cache/web/text"))
        wait_current(m)
        with follow(remote, case, clock=Clock(case, "follower-clock")) as f:
            yield remote, m, f, clock


def fill(m):
    m.make("cache/shell/small", b"a few bytes\n")
    m.make("cache/shell/large", noise(3 * MIB, 1))
    m.make("cache/web/text", log_text(300 * KIB, 2))
    m.make("persistent/notes/needle.md", b"# Notes\n\nthe needle of the haystack\n")
    path = m.make("archive/attributes", b"with attributes")
    os.setxattr(path, "user.colour", b"\x00green")
    os.chmod(path, 0o640)
    os.utime(path, ns=(10**18 + 1, 10**18 + 987654321))
    os.symlink("../nowhere", m("persistent/link"))
    os.link(m("cache/shell/small"), m("cache/web/second"))
    with open(m("cache/shell/holes"), "wb") as f:
        f.truncate(5 * MIB)
        f.seek(2 * MIB)
        f.write(noise(10 * KIB, 3))


def attributes(path):
    return {
        name: os.getxattr(path, name, follow_symlinks=False)
        for name in os.listxattr(path, follow_symlinks=False)
        if not name.startswith("user.offload.")
    }


def tree(m):
    """Returns the tree, or None if it is changing."""
    try:
        return {
            name: (what, attributes(os.path.join(os.fsencode(m.mnt), name)))
            for name, what in snapshot(m.mnt, identity=True).items()
            if name.split(b"/")[0] in (b"cache", b"persistent", b"archive", b"tasks")
        }
    except OSError as e:
        if e.errno not in (errno.ENOENT, errno.ESTALE):
            raise
        return None


def shows(f, m):
    """Waits until the follower shows what the other host has."""
    wait_current(m)
    f.catch_up()
    want = tree(m)
    try:
        eventually(lambda: tree(f) == want, "the same tree", 5)
    except AssertionError:
        got = tree(f) or {}
        wrong = [(n, want.get(n), got.get(n)) for n in {*want, *got} if want.get(n) != got.get(n)]
        raise AssertionError(f"{len(wrong)} names differ: {wrong[:10]}") from None


def overwrite(path, at, data):
    with open(path, "r+b") as f:
        f.seek(at)
        f.write(data)


# --- What is shown --------------------------------------------------------------------------------


def writes(m):
    m.make("cache/shell/small", b"other bytes, and more of them\n")
    overwrite(m("cache/shell/large"), MIB + 3, noise(100 * KIB, 4))
    overwrite(m("cache/shell/large"), 3 * MIB - 5, b"over the end")
    with open(m("cache/web/text"), "ab") as f:
        f.write(b"one more line\n")
    os.truncate(m("cache/shell/holes"), 2 * MIB + 100)
    m.make("tasks/T/shell/new", b"")
    m.make("cache/big/one", noise(12 * MIB, 5))
    m.make("cache/\u00fcmlaut and space", b"name")


def names(m):
    os.rename(m("cache/shell"), m("persistent/shell"))
    os.rename(m("persistent/shell/small"), m("cache/web/text"))
    m.make("cache/a", b"a")
    m.make("cache/b", b"b")
    renameat2(m("cache/a"), m("cache/b"), RENAME_EXCHANGE)
    os.makedirs(m("cache/deep/er/est"))
    os.rename(m("cache/deep/er"), m("archive/er"))
    os.unlink(m("persistent/link"))
    os.symlink("elsewhere", m("persistent/link"))
    os.unlink(m("archive/attributes"))
    os.unlink(m("cache/web/second"))
    m.make("cache/web/second", b"another one of that name")
    os.rmdir(m("cache/deep"))


def facts(m):
    path = m("archive/attributes")
    os.setxattr(path, "user.colour", b"blue")
    os.setxattr(path, "user.size", b"x" * 500)
    os.chmod(m("cache/web"), 0o750)
    os.utime(m("cache/web/text"), ns=(10**18, 10**18 + 7))
    os.utime(m("persistent/link"), ns=(10**18, 10**18 + 8), follow_symlinks=False)
    os.link(path, m("cache/third"))
    os.removexattr(m("cache/third"), "user.colour")


CHANGES = {f.__name__: f for f in (writes, names, facts)}


@test(variants={"sealed": SEAL_SOON, "not_sealed": SEAL_NEVER})
def what_the_other_host_has_is_shown(case, seal):
    with followed(case, seal) as (remote, m, f, _):
        shows(f, m)
        for change in (facts, writes, names):
            change(m)
            shows(f, m)
        push(m)
        m.make("cache/behind", b"the checkpoint")
        shows(f, m)
        f.remount()
        shows(f, m)
        m.make("cache/after", b"the restart")
        shows(f, m)
        f.crash()
        shows(f, m)
        said = status(f)
        assert said["state"] == "current" and not said["error"] and said["epoch"] == 1, said
        assert said["location"].startswith(remote.location), said
        assert said == {**json.loads(read(f(".offload/status.json")))["remote"],
                        "reads": said["reads"], "complete_until": said["complete_until"]}


@test
def names_appear_where_there_were_none_and_go(case):
    with followed(case, SEAL_NEVER) as (_, m, f, _):
        new = [f("cache/new"), f("cache/dir/new"), f("new")]
        for _ in range(2):
            for path in new + [f("cache/dir")]:
                with raises(errno.ENOENT):
                    os.stat(path)
            assert "new" not in os.listdir(f("cache"))
            for name in ("cache/new", "cache/dir/new", "new"):
                m.make(name, name.encode())
            wait_current(m)
            f.catch_up()
            eventually(lambda: all(map(os.path.exists, new)), "the new names", 5)
            eventually(lambda: "new" in os.listdir(f("cache")), "a listing", 5)
            for path in new:
                same(read(path), os.path.relpath(path, f.mnt).encode())
            for name in ("cache/new", "cache/dir/new", "new"):
                os.unlink(m(name))
            os.rmdir(m("cache/dir"))
            wait_current(m)
            f.catch_up()
            eventually(lambda: not any(map(os.path.exists, new)), "names go", 5)
            eventually(lambda: "new" not in os.listdir(f("cache")), "a listing", 5)


@test(variants={"sealed": SEAL_SOON, "not_sealed": SEAL_NEVER})
def what_is_open_changes(case, seal):
    with followed(case, seal) as (_, m, f, _):
        size = 3 * MIB
        with open(f("cache/shell/large"), "rb", buffering=0) as held, open(
            f("cache/web/text"), "rb", buffering=0
        ) as gone, mmap.mmap(held.fileno(), size, prot=mmap.PROT_READ) as mapped:
            want = bytearray(noise(size, 1))
            same(os.pread(held.fileno(), size, 0), bytes(want))
            same(mapped[:], bytes(want))
            for i in range(3):
                at = i * MIB + 7
                want[at : at + 5000] = noise(5000, i)
                overwrite(m("cache/shell/large"), at, noise(5000, i))
                if seal == SEAL_SOON:
                    m.wait_sealed(m("cache/shell/large"))
                wait_current(m)
                f.catch_up()
                eventually(lambda: os.pread(held.fileno(), size, 0) == want, "new content", 5)
                eventually(lambda: mapped[:] == want, "new content where it is mapped", 5)
            os.unlink(m("cache/web/text"))
            os.rename(m("cache/shell/large"), m("persistent/large"))
            os.truncate(m("persistent/large"), size // 2)
            shows(f, m)
            eventually(lambda: os.fstat(held.fileno()).st_size == size // 2, "another size", 5)
            same(os.pread(held.fileno(), size, 0), bytes(want[: size // 2]))
            same(gone.read(), log_text(300 * KIB, 2))


def refusals(f):
    """Yields attempts at all kinds of changes."""
    small, other = f("cache/shell/small"), f("cache/other")
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND):
        yield lambda flags=flags: os.open(small, flags)
    yield lambda: os.open(other, os.O_CREAT | os.O_RDONLY)
    yield lambda: os.open(f("cache"), os.O_TMPFILE | os.O_RDWR)
    yield lambda: os.mkdir(other)
    yield lambda: os.mknod(other)
    yield lambda: os.mkfifo(other)
    yield lambda: os.symlink("x", other)
    yield lambda: os.link(small, other)
    yield lambda: os.unlink(small)
    yield lambda: os.rmdir(f("cache/shell"))
    yield lambda: os.rename(small, other)
    yield lambda: os.rename(small, f("persistent/small"))
    yield lambda: renameat2(small, f("cache/web/text"), RENAME_EXCHANGE)
    yield lambda: os.truncate(small, 0)
    yield lambda: os.chmod(small, 0o600)
    yield lambda: os.chown(small, os.getuid(), os.getgid())
    yield lambda: os.utime(small)
    yield lambda: os.setxattr(small, "user.colour", b"red")
    yield lambda: os.removexattr(f("archive/attributes"), "user.colour")
    yield lambda: os.setxattr(small, "user.offload.title", b"x")
    yield lambda: os.setxattr(small, "user.offload.pinned", b"1")
    yield lambda: os.setxattr(f.mnt, "user.offload.remote", b"push")
    yield lambda: write(f(".offload/status.json"), b"{}")


@test
def nothing_can_be_changed(case):
    with followed(case, SEAL_SOON) as (remote, m, f, _):
        before = tree(f)
        for i, change in enumerate(refusals(f)):
            try:
                with raises(errno.EROFS, *([errno.EACCES] if "status" in repr(change) else [])):
                    change()
            except AssertionError as e:
                raise AssertionError(f"change {i}: {e}") from None
        for words in (
            ("promote", f("cache/shell/small")),
            ("archive", f("cache/shell/small")),
            ("pin", f("cache/shell/small")),
            ("put", "-c", "shell"),
            ("gc",),
            ("remote", "push"),
        ):
            done = run(OFFLOAD, *words, cwd=f.mnt, check=False)
            assert done.returncode and done.stderr, (words, done)
        assert tree(f) == before == tree(m)
        assert not remote.count(who=READER, writes=True)


@test
def slices_searches_and_lists_are_answered(case):
    with followed(case, SEAL_SOON) as (_, m, f, _):
        text = log_text(300 * KIB, 2)
        lines = text.splitlines(keepends=True)
        same(run("cat", f("cache/web/text:10-20")).stdout, b"".join(lines[9:20]))
        ref = os.getxattr(f("cache/web/text"), "user.offload.ref").decode()
        same(run("cat", f(f"refs/{ref}:1")).stdout, lines[0])

        def found(word):
            return run(OFFLOAD, "search", "--dir", f.mnt, word).stdout.decode()

        def listed():
            done = run(OFFLOAD, "list", "--dir", f.mnt, "--json")
            return {each["path"] for each in json.loads(done.stdout)["files"]}

        eventually(lambda: "persistent/notes/needle.md" in found("haystack"), "it is found")
        assert {"cache/web/text", "persistent/notes/needle.md"} <= listed(), listed()
        m.make("persistent/notes/late.md", b"a thimble came later\n")
        os.rename(m("persistent/notes/needle.md"), m("archive/moved.md"))
        m.make("cache/web/text", b"1\n2\n3\n")
        shows(f, m)
        eventually(lambda: "persistent/notes/late.md" in found("thimble"), "the new one is found")
        eventually(lambda: "archive/moved.md" in found("haystack"), "where it is now")
        assert "persistent/notes/needle.md" not in found("haystack")
        same(run("cat", f("cache/web/text:2-3")).stdout, b"2\n3\n")
        assert {"persistent/notes/late.md", "archive/moved.md"} <= listed(), listed()
        assert "persistent/notes/needle.md" not in listed()


# --- Cost -----------------------------------------------------------------------------------------


@test
def a_copy_is_used_again(case):
    with followed(case, SEAL_SOON) as (remote, m, f, _):
        push(m)
        shows(f, m)
        f.remount()
        shows(f, m)
        m.make("cache/shell/later", b"in the log")
        wait_current(m)
        before = remote.requests
        f.remount()
        assert not f.requests(before, key="a/ckpt/*/part-*"), remote.log[before:]
        shows(f, m)
        assert not f.requests(before, key="a/pack/*"), remote.log[before:]
        copies = os.listdir(os.path.join(f.cache, "offloadfs"))
        assert len(copies) == 1, copies
        other = Follower(remote, case, name="second", clock=f.clock)
        other.cache = f.cache
        other.launch()
        assert other.wait() == 1
        assert tree(f) == tree(m)


@test
def when_idle_it_asks_every_two_seconds(case):
    with Remote() as remote, remote.mount(case, SEAL_SOON) as m:
        fill(m)
        wait_current(m)
        with follow(remote, case) as f:
            eventually(lambda: status(f)["complete_until"], "the end of the log")
            began, before = time.monotonic(), remote.requests
            eventually(lambda: f.requests(before) >= 2, "two requests")
            count = f.requests(before)
            assert count <= (time.monotonic() - began) / BOUND + 1, remote.log[before:]
            assert f.requests(before, kind="get", key="a/wal/*") == f.requests(before)


@test
def while_another_host_works_it_asks_as_rarely(case):
    with followed(case, SEAL_NEVER) as (remote, m, f, _):
        f.catch_up()
        began, before, passed = time.monotonic(), remote.requests, 0
        for i in range(40):
            m.make("cache/shell/busy", b"%d" % i)
            wait_current(m)
            for seconds in (2, 3):
                f.clock.pass_time(seconds)
                eventually(lambda: f.requests(before) >= passed // 4, "it asks")
                passed += seconds
        seconds = passed + time.monotonic() - began
        assert passed / 8 < f.requests(before) <= seconds / 2, (f.requests(before), seconds)
        shows(f, m)


# --- Events ---------------------------------------------------------------------------------------


@test
def a_newer_checkpoint_is_built_on_before_the_old_one_is_garbage(case):
    with followed(case, SEAL_SOON) as (remote, m, f, clock):
        for i in range(3):
            before = remote.requests
            f.clock.pass_time(LONG)
            clock.pass_time(LONG)
            os.unlink(m.make("cache/shell/gone", b"x"))
            push(m)
            m.make("cache/shell/proof", b"%d" % i)
            shows(f, m)
            parts = f.requests(before, key="a/ckpt/*/part-*")
            assert parts, "it built on the checkpoint"
            assert not f.requests(before, key="a/epoch/*"), "it began again"
        old = remote.names()
        for i in range(9):
            f.clock.pass_time(LONG)
            clock.pass_time(LONG)
            push(m)
            m.make("cache/shell/proof", b"still %d" % i)
            before = remote.requests
            shows(f, m)
            assert not f.requests(before, key="a/epoch/*"), "it began again"
        eventually(lambda: any(n.startswith("wal/") for n in old - remote.names()), "garbage goes")
        shows(f, m)
        journal = os.path.join(f.cache, "offloadfs", *os.listdir(os.path.join(f.cache, "offloadfs")))
        assert len(os.listdir(os.path.join(journal, "journal"))) < 4


def pass_the_garbage(remote, m, clock):
    """
    Removes everything with which a follower could begin or go on now. The log goes last, all of it
    at once.
    """
    old = {n for n in remote.names() if n.startswith(("ckpt/0", "wal/")) and "part" not in n}
    for i in range(2):
        push(m)  # it may become the anchor, and the next one the newer checkpoint
        push(m)
        m.make("cache/shell/proof", b"%d" % i)
        wait_current(m)
        wait_garbage(remote, clock, m)
    assert old
    eventually(lambda: not old & remote.names(), "what is listed as garbage goes")


@test(variants={"process": Clock.pass_time, "machine": Clock.step})
def whoever_slept_past_the_garbage_begins_again(case, sleep):
    with followed(case, SEAL_SOON) as (remote, m, f, clock):
        shows(f, m)
        with open(f("cache/shell/large"), "rb", buffering=0) as held:
            with stopped(f.process.pid):
                os.unlink(m("cache/web/text"))
                os.unlink(m("cache/web/second"))
                overwrite(m("cache/shell/large"), 0, b"overwritten")
                m.make("cache/shell/new", noise(100 * KIB, 9))
                m.wait_sealed(m("cache/shell/large"))
                pass_the_garbage(remote, m, clock)
                sleep(f.clock, 4 * HOUR)
                before = remote.requests
            eventually(lambda: f.requests(before, key="a/epoch/*"), "it begins again", 40)
            shows(f, m)
            same(held.read(11), b"overwritten")
        m.make("cache/shell/after", b"goes on")
        shows(f, m)


@test
def whoever_restores_the_store_is_followed(case):
    with followed(case, SEAL_SOON) as (remote, m, f, clock):
        shows(f, m)
        m.kill9()
        with remote.elsewhere(case, SEAL_SOON) as new:
            new.make("cache/shell/elsewhere", b"by another host")
            os.unlink(new("cache/web/text"))
            shows(f, new)
            assert status(f)["epoch"] > 1
            push(new)
            new.make("cache/shell/more", noise(MIB, 6))
            shows(f, new)
            f.clock.pass_time(LONG)
            push(new)
            new.make("cache/shell/late", b"on a checkpoint of the new epoch")
            shows(f, new)
        f.remount()
        assert read(f("cache/shell/elsewhere")) == b"by another host"
        m.start()
        wait_state(m, "deposed")


@test(timeout=120)
def a_gap_of_the_log_is_passed(case):
    with followed(case, SEAL_SOON) as (remote, m, f, _):
        shows(f, m)
        answer = threading.Event()
        rule = remote.fault("delay", kind="put", key="a/wal/*", until=answer)
        for i in range(18):
            m.make(f"cache/outage/{i}", noise(16 * MIB, i))
        m.wait_sealed(*(m(f"cache/outage/{i}") for i in range(18)))
        for i in range(17):
            os.unlink(m(f"cache/outage/{i}"))
        os.unlink(m("cache/web/second"))
        m.tidy()
        eventually(lambda: journal_size(m) < 128 * MIB, "the log is given up")
        assert rule.fired and os.path.exists(f("cache/web/second")), "it shows what it has"
        answer.set()
        wait_current(m)
        bases = [p for p, link in remote.lineage().log.items() if link["kind"] == "base"]
        assert len(bases) > 1, "the log was held"
        shows(f, m)
        m.make("cache/shell/after", b"behind the BASE")
        shows(f, m)


@test(variants={"refused": "refuse", "hanging": "hang"})
def while_the_remote_is_away_all_that_is_here_is_read(case, how):
    with followed(case, SEAL_SOON) as (remote, m, f, clock):
        push(m)
        # In a separate object, so that it is not fetched along with another file.
        m.make("cache/web/far", noise(3 * MIB, 9))
        m.wait_sealed(m("cache/web/far"))
        push(m)
        f.remount()
        want = noise(3 * MIB, 1)
        same(read(f("cache/shell/large")), want)
        f.catch_up()
        complete = status(f)["complete_until"]
        remote.down(how)
        f.clock.pass_time(3)
        m.make("cache/shell/late", b"not seen yet")
        same(read(f("cache/shell/large")), want)
        assert os.readlink(f("persistent/link")) == "../nowhere"
        assert not os.path.exists(f("cache/shell/late"))
        if how == "refuse":
            with raises(errno.EIO):
                read(f("cache/web/far"))
            said = wait_state(f, "behind")
            assert said["error"] and said["complete_until"] <= complete, said
        remote.up()
        shows(f, m)
        assert status(f)["state"] == "current" and not status(f)["error"]


@test
def several_follow(case):
    with followed(case, SEAL_SOON) as (remote, m, f, clock):
        with follow(remote, case, name="second", clock=clock) as g:
            for change in (facts, writes, names):
                change(m)
                shows(f, m)
                shows(g, m)
            with stopped(g.process.pid):
                m.make("cache/one", b"more")
                shows(f, m)
            shows(g, m)


def sealing_key(case, name="key"):
    path = case.path(name)
    write(path, run("base64", "-w0", input=os.urandom(32)).stdout + b"\n")
    os.chmod(path, 0o600)
    return f"replicate_key={path}"


def says(f, text, code=1, **environment):
    """The follower does not start, but prints one line and exits with `code`."""
    f.launch(**environment)
    log = os.dup(f.log.fileno())
    try:
        ended = f.wait()
        said = os.pread(log, 10000, 0).decode()
    finally:
        os.close(log)
    assert ended == code and text in said and len(said.splitlines()) == 1, (ended, said)
    assert f.mnt not in mount_points()


@test
def a_sealed_store_is_followed_with_its_key(case):
    with Remote() as remote:
        key, clock = sealing_key(case), Clock(case)
        with remote.mount(case, SEAL_SOON, key, "replicate_every=10") as m:
            fill(m)
            wait_current(m)
            says(Follower(remote, case, name="without"), "key")
            says(Follower(remote, case, sealing_key(case, "other"), name="wrong"), "key")
            with follow(remote, case, key, clock=clock) as f:
                shows(f, m)
                writes(m)
                push(m)
                shows(f, m)
                f.remount()
                shows(f, m)


# --- Refusals -------------------------------------------------------------------------------------


@test
def without_a_store_or_its_remote_there_is_no_mount(case):
    with Remote() as remote:
        f = Follower(remote, case)
        says(f, "the remote has no store")
        bucket = remote.buckets.pop("test")
        says(f, "NoSuchBucket")
        remote.buckets["test"] = bucket
        with remote.mount(case) as m:
            fill(m)
            wait_current(m)
        remote.down()
        says(f, "onnect")
        remote.up()
        says(f, "SignatureDoesNotMatch", AWS_SECRET_ACCESS_KEY="another")
        f.options.append("replicate_key=/nonexistent")
        says(f, "/nonexistent")
        f.options.pop()
        f.options.remove("follow")
        says(f, "-o follow", code=2)
        f.options.append("follow")
        with f.start():
            assert read(f("cache/shell/small")) == b"a few bytes\n"


@test(variants={"idle": False, "with_a_reader": True})
def it_ends_while_its_remote_hangs(case, reads):
    with followed(case, SEAL_SOON) as (remote, m, f, _):
        push(m)
        f.remount()
        f.catch_up()
        before = remote.requests
        remote.down("hang")
        f.clock.pass_time(3)
        eventually(lambda: f.requests(before) == 1, "a request hangs")
        if reads:
            reader = threading.Thread(target=fails_to_read, args=(f("cache/shell/large"),))
            reader.start()
            eventually(lambda: f.requests(before) > 1, "a read hangs")
            f.process.send_signal(signal.SIGTERM)
            # Each of its requests would take 20 seconds.
            assert f.process.wait(15) == 0
            assert f.wait() == 0
            reader.join()
        else:
            f.unmount()
        assert not remote.count(who=READER, status=200, since=before)
        remote.up()
        f.start()
        shows(f, m)


def fails_to_read(path):
    with raises(errno.EIO, errno.ENOTCONN, errno.ECONNABORTED):
        read(path)


@test
def credentials_are_shown_nowhere(case):
    with followed(case, SEAL_SOON) as (remote, m, f, _):
        secret = remote.environment(READER)["AWS_SECRET_ACCESS_KEY"]
        rule = remote.fault("status", kind="get", key="a/wal/*", status=403, count=2)
        eventually(lambda: (f.clock.pass_time(3), rule.fired == 2)[1], "two refusals")
        shows(f, m)
        shown = read(f(".offload/status.json")) + run(
            OFFLOAD, "remote", "status", "--dir", f.mnt
        ).stdout
        assert b"s3://test/a" in shown and secret.encode() not in shown
        assert not processes_with(secret)
        f.log.seek(0)
        assert secret.encode() not in f.log.read()
        for folder, _, found in os.walk(f.cache):
            for name in found:
                assert secret.encode() not in read(os.path.join(folder, name)), name


main()
