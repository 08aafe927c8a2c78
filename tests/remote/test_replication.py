#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A store in object storage: restoring it, who may write to it, and removing garbage."""
import concurrent.futures
import errno
import os
import re
import subprocess
import threading
import time

import paths  # noqa: F401
from clock import HOUR, Clock
from files import KIB, MIB, log_text, noise
from harness import (
    OFFLOAD, SEAL_NEVER, SEAL_SOON, SLOW, Skip, eventually, main, raises, read, run, same, test,
    uring_enabled, write, xattr,
)
from replication import (
    Remote, copy_store, fill, push, remove_remote, same_tree_elsewhere, status, tree,
    wait_current, wait_garbage, wait_state,
)


STATES = {
    "nothing_sealed": (SEAL_NEVER, False),
    "sealed": (SEAL_SOON, False),
    "nothing_sealed_checkpoint": (SEAL_NEVER, True),
    "sealed_checkpoint": (SEAL_SOON, True),
}


@test(variants=STATES)
def a_restored_store_is_the_same(case, state):
    seal, checkpoint = state
    with Remote() as remote:
        with remote.mount(case, seal) as m:
            fill(m)
            if seal == SEAL_SOON:
                m.wait_sealed(m("cache/shell/large"), m("cache/web/text"))
            if checkpoint:
                push(m)
            m.make("cache/shell/later", b"after the checkpoint")
            os.rename(m("cache/web/text"), m("persistent/notes/text"))
            os.unlink(m("cache/web/second"))
            want = tree(m)
            wait_current(m)
            m.kill9()
        same_tree_elsewhere(remote, case, want)



@test(variants={"soon": SEAL_SOON, "never": SEAL_NEVER})
def a_store_is_replicated_that_a_crash_left(case, seal):
    with Remote() as remote:
        remote.add(case.store)
        with remote.mount(case, seal) as m:
            remote.down()
            fill(m)
            if seal == SEAL_SOON:
                m.wait_sealed(m("cache/shell/large"), m("cache/web/text"))
                m.tidy()
            want = tree(m)
            m.kill9()
            remote.up()
            m.start()
            wait_current(m)
            m.crash()
            wait_current(m)
            assert tree(m) == want
            m.kill9()
        same_tree_elsewhere(remote, case, want)


@test
def a_checkpoint_of_nothing_new_is_as_good(case):
    with Remote() as remote:
        with remote.mount(case, SEAL_SOON) as m:
            fill(m)
            m.wait_sealed(m("cache/shell/large"), m("cache/web/text"))
            want = tree(m)
            for _ in range(2):
                for _ in range(3):
                    push(m)
                m.crash()
            wait_current(m)
            push(m)
            lineage = remote.lineage()
            assert len(lineage.manifests) >= 7 and len(lineage.check()) == len(lineage.manifests)
            m.kill9()
        same_tree_elsewhere(remote, case, want)


@test
def a_push_waits_for_what_it_asked_for(case):
    """Not only for the push of another that was under way."""

    def begin():
        return subprocess.Popen([OFFLOAD, "remote", "push", "--dir", m.mnt])

    def hold():
        answer = threading.Event()
        return remote.fault("delay", kind="put", key="a/ckpt/*/0*", until=answer), answer

    with Remote() as remote, remote.mount(case, SEAL_SOON) as m:
        wait_current(m)
        rule, answer = hold()
        first = begin()
        rule.wait()
        second = begin()
        eventually(lambda: status(m)["pushes_due"] == 2, "it has asked")
        rule, another = hold()
        answer.set()
        assert first.wait(20 * SLOW) == 0
        rule.wait()
        time.sleep(0.5)
        assert second.poll() is None, "the remote lacks its checkpoint"
        another.set()
        assert second.wait(20 * SLOW) == 0


def churn(m, rounds):
    """Makes and removes content, with checkpoints."""
    for i in range(rounds):
        for kept in ("gone", "stays"):
            m.wait_sealed(m.make(f"cache/{kept}/{i}", noise(1 * MIB, f"{kept} {i}")))
            push(m)
        os.unlink(m(f"cache/gone/{i}"))
        push(m)


@test
def garbage_goes_after_an_hour_and_whoever_needed_it_is_deposed(case):
    with Remote() as remote:
        clock = Clock(case)
        with remote.mount(case, SEAL_SOON, clock=clock) as m:
            fill(m)
            wait_current(m)
            m.kill9()
            copy_store(case.store, case.path("old"))
            clock.start(m)
            churn(m, 6)
            before = remote.names()
            gone = set()
            while not any(key.startswith("pack/") for key in gone):
                m.tidy()
                push(m)  # it may become the anchor, and the next one the newer checkpoint
                push(m)
                m.make("cache/shell/proof", b"the epoch is still ours")
                wait_current(m)
                wait_garbage(remote, clock, m)
                gone = before - remote.names()
            for kind in ("wal/", "pack/", "ckpt/0+1/part-", "ckpt/0+1/0"):
                assert any(re.match(kind, key) for key in gone), (kind, sorted(gone))
            assert not [key for key in gone if key.startswith("epoch/")]
            want = tree(m)
            wait_current(m)
            remote.check()
            old = remote.mount(case, store=case.path("old"), mnt=case.path("old-mnt"), clock=clock)
            wait_state(old, "deposed")
            is_read_only(old)
            old.abandon()
            m.make("cache/shell/still", b"ours")
            wait_current(m)
            want = tree(m)
            m.kill9()
        assert not remote.rewritten()
        remote.clock_offset = 0
        same_tree_elsewhere(remote, case, want)


@test
def refs_name_the_same_files_and_lost_ones_are_not_given_again(case):
    with Remote() as remote:
        with remote.mount(case, SEAL_SOON) as m:
            paths = [m.make(f"cache/run/{i}", b"kept %d" % i) for i in range(20)]
            kept = {xattr(path, "ref"): read(path) for path in paths}
            wait_current(m)
            remote.down()
            lost = {xattr(m.make(f"cache/run/lost-{i}", b"lost"), "ref") for i in range(50)}
            m.kill9()
            remote.up()
        with remote.elsewhere(case) as m:
            for ref, content in kept.items():
                same(read(m("refs", ref)), content)
            for ref in lost:
                with raises(errno.ENOENT):
                    read(m("refs", ref))
            new = {xattr(m.make(f"cache/run/new-{i}", b"new"), "ref") for i in range(200)}
            assert not new & (lost | set(kept)), "a ref was given twice"


def newest_chain(remote):
    manifests = remote.lineage().manifests
    return manifests[max(manifests)]["chain"]


@test
def many_checkpoints_are_a_chain_of_parts(case):
    with Remote() as remote:
        with remote.mount(case, SEAL_SOON) as m:
            for i in range(3000):
                m.make(f"cache/many/{i}", b"%d" % i)
            push(m)
            for i in range(8):
                m.make(f"cache/round/{i}", log_text(20 * KIB, i))
                os.unlink(m(f"cache/many/{i}"))
                push(m)
            m.make("cache/round/last", b"behind all checkpoints")
            want = tree(m)
            wait_current(m)
            m.kill9()
        assert len(newest_chain(remote)) > 4, newest_chain(remote)
        same_tree_elsewhere(remote, case, want)


@test(variants={"": False, "with_a_checkpoint_at_the_end": True})
def a_store_is_restored_twice_in_a_row(case, checkpoint):
    with Remote() as remote:
        with remote.mount(case, SEAL_SOON) as m:
            fill(m)
            want = tree(m)
            if checkpoint:
                m.wait_sealed(m("cache/shell/large"), m("cache/web/text"))
                push(m)
            wait_current(m)
            m.kill9()
        remote.restore(case.path("never-mounted"))
        for name in ("second", "third"):
            with remote.elsewhere(case, SEAL_SOON, name=name) as m:
                assert tree(m) == want
                m.make(f"cache/{name}", name.encode())
                want = tree(m)
                wait_current(m)
                m.kill9()
        same_tree_elsewhere(remote, case, want, "fourth")
        assert not remote.rewritten()


def refuses(remote, store, saying):
    before = remote.requests
    done = remote.restore(store, check=False)
    said = done.stderr.decode()
    assert done.returncode == 1 and saying in said and len(said.splitlines()) == 1, done
    assert not remote.count(kind="put", key="*/[we][ap][lo]*", since=before), "it took over"


@test
def a_restore_needs_an_empty_directory_and_a_store_to_restore(case):
    with Remote() as remote:
        refuses(remote, case.path("new"), "the remote has no store")
        assert not os.path.exists(case.path("new"))
        with remote.mount(case) as m:
            fill(m)
            wait_current(m)
            os.mkdir(case.path("full"))
            write(case.path("full/file"), b"mine")
            refuses(remote, case.path("full"), "is not empty")
            refuses(remote, case.store, "is not empty")
            refuses(remote, case.path("full/file"), "")
            refuses(remote, case.path("no/such/directory"), "")
            assert os.listdir(case.path("full")) == ["file"]
            m.make("cache/shell/still", b"the host still has the store")
            want = tree(m)
            wait_current(m)
            m.kill9()
        os.mkdir(case.path("elsewhere"))
        same_tree_elsewhere(remote, case, want, "elsewhere/")
        assert not [n for n in os.listdir(case.dir) if "restoring" in n]


def is_read_only(m):
    """A deposed mount can be read but not changed."""
    same(read(m("cache/shell/small")), b"a few bytes\n")
    with raises(errno.EIO, errno.EROFS):
        m.make("cache/shell/refused", b"x")
    fd = os.open(m("cache/shell/small"), os.O_RDONLY)
    try:
        with raises(errno.EIO):
            os.fsync(fd)
    finally:
        os.close(fd)


@test(variants={"before_its_first_mount": False, "replicated": True})
def of_two_copies_of_a_store_one_goes_on(case, replicated):
    with Remote() as remote:
        if replicated:
            with remote.mount(case) as m:
                fill(m)
        else:
            with case.mount() as m:
                fill(m)
            remote.add(case.store)
        copy_store(case.store, case.path("copy"))
        with remote.mount(case) as m:
            m.make("cache/shell/winner", b"went on")
            want = tree(m)
            wait_current(m)
            with remote.mount(case, store=case.path("copy"), mnt=case.path("copy-mnt")) as copy:
                # A copy that never had the log had nothing that another host could take over.
                assert wait_state(copy, "deposed" if replicated else "refused")["error"]
                if replicated:
                    is_read_only(copy)
                else:
                    copy.make("cache/shell/loser", b"goes on here alone")
            m.make("cache/shell/winner", b"goes on")
            want = tree(m)
            wait_current(m)
            m.kill9()
        same_tree_elsewhere(remote, case, want)


@test
def whoever_restores_deposes_the_other_which_keeps_its_tail(case):
    with Remote() as remote:
        with remote.mount(case, "replicate_every=fsync") as m:
            fill(m)
            wait_current(m)
            want = tree(m)
            remote.restore(case.path("elsewhere"))
            m.make("cache/shell/tail", b"was never sent")
            said = wait_state(m, "deposed")
            assert "another host" in said["error"], said
            is_read_only(m)
            same(read(m("cache/shell/tail")), b"was never sent")
            assert push(m, check=False).returncode == 1
            m.remount()
            assert wait_state(m, "deposed")["error"]
            same(read(m("cache/shell/tail")), b"was never sent")
            is_read_only(m)
        new = case.path("elsewhere")
        with remote.mount(case, store=new, mnt=case.path("new-mnt")) as m:
            assert tree(m) == want
            wait_current(m)
        remote.check()


@test
def an_unmount_sends_what_is_left(case):
    with Remote() as remote:
        with remote.mount(case, "replicate_every=3600000") as m:
            wait_current(m)
            fill(m)
            want = tree(m)
            assert status(m)["pending_bytes"] > 3 * MIB
        same_tree_elsewhere(remote, case, want)


@test
def a_file_that_was_synced_is_in_the_remote(case):
    with Remote() as remote:
        with remote.mount(case, "replicate_every=fsync") as m:
            wait_current(m)
            for i in range(20):
                with open(m.make(f"cache/synced/{i}"), "wb") as f:
                    f.write(b"%d" % i)
                    f.flush()
                    os.fsync(f.fileno())
            m.kill9()
        with remote.elsewhere(case) as m:
            for i in range(20):
                same(read(m(f"cache/synced/{i}")), b"%d" % i)


@test
def idle_there_are_no_requests(case):
    with Remote() as remote, remote.mount(case, SEAL_SOON, "replicate_every=10") as m:
        clock = Clock(case)
        m.unmount()
        clock.start(m)
        path = m.make("cache/shell/file", log_text(100 * KIB, 1))
        m.wait_sealed(path)
        push(m)
        wait_current(m)
        before = remote.requests
        for _ in range(12):  # hundreds of rounds, and half a day
            time.sleep(0.25)
            clock.pass_time(HOUR)
            remote.clock_offset += HOUR
            read(path)
            status(m)
        assert remote.requests == before, remote.log[before:]


def pack_bytes(store):
    folder = os.path.join(store, "packs")
    return sum(os.stat(os.path.join(folder, n)).st_blocks * 512 for n in os.listdir(folder))


def big_files(m, count):
    return [m.make(f"cache/big/{i}", noise(4 * MIB, i)) for i in range(count)]


def read_uncached(path):
    with open(path, "rb") as f:
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return f.read()


@test(timeout=120)
def with_a_bound_all_is_readable_and_the_disk_is_not_used(case):
    with Remote() as remote, remote.mount(case, SEAL_SOON, "local_max=16") as m:
        paths = big_files(m, 16)
        m.wait_sealed(*paths)
        push(m)
        eventually(lambda: pack_bytes(case.store) <= 18 * MIB, "packs are within their bound")
        for i, path in enumerate(paths):
            same(read_uncached(path), noise(4 * MIB, i))
        eventually(lambda: pack_bytes(case.store) <= 18 * MIB, "and after all was read")
        assert status(m)["brought_bytes"] >= 40 * MIB, status(m)
        m.crash()
        for i, path in enumerate(paths):
            same(read_uncached(path), noise(4 * MIB, i))
        remote.down()
        away = 0
        for i, path in enumerate(paths):
            try:
                same(read_uncached(path), noise(4 * MIB, i))
            except OSError as e:
                assert e.errno == errno.EIO, e
                away += 1
        assert 8 <= away < 16, away
        remote.up()
        for i, path in enumerate(paths):
            same(read_uncached(path), noise(4 * MIB, i))
        wait_current(m)


@test(timeout=120, variants={"classic": "no_io_uring", "io_uring": "io_uring"})
def content_that_does_not_come_holds_up_nothing_else(case, transport):
    if transport == "io_uring" and not uring_enabled():
        raise Skip("this needs FUSE over io_uring")
    with Remote() as remote:
        m = remote.mount(case, SEAL_SOON, "local_max=8", transport)
        paths = big_files(m, 16)
        m.wait_sealed(*paths)
        push(m)
        eventually(lambda: pack_bytes(case.store) <= 10 * MIB, "most of it is away")
        m.make("cache/here", b"one\ntwo\n")
        remote.down("hang")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            every = [pool.submit(read_uncached, path) for path in paths[3:6]]
            every += [pool.submit(read, f"{paths[7]}:-1")]
            eventually(lambda: all(r.running() or r.done() for r in every), "all have begun")
            with open(m("cache/new"), "wb") as f:
                f.write(b"new\n")
                f.flush()
                os.fsync(f.fileno())
            same(read(m("cache/here:2")), b"two\n")
            assert len(os.listdir(m("cache/big"))) == 16
            assert not all(r.done() for r in every), "these waited for those"
            m.process.terminate()
            assert m.wait() == 0
            assert any(r.exception(30 * SLOW) for r in every)


@test(timeout=120)
def without_its_remote_a_store_has_everything(case):
    with Remote() as remote:
        with remote.mount(case, SEAL_SOON, "local_max=8") as m:
            fill(m)
            m.wait_sealed(*big_files(m, 8))
            push(m)
            want = tree(m)
            eventually(lambda: pack_bytes(case.store) <= 10 * MIB, "most of it is away")
        kept = dict(remote.objects)
        rule = remote.fault("status", kind="get", key="a/pack/*", status=503, count=None)
        done = run(OFFLOAD, "remote", "remove", "--store", case.store, check=False)
        assert done.returncode == 1 and rule.fired, done
        remote.remove(rule)
        remove_remote(case.store)
        assert dict(remote.objects) == kept
        remote.down()
        with case.mount(SEAL_SOON) as m:
            assert tree(m) == want
            with raises(errno.ENODATA):
                status(m)
        remote.up()
        remote.prefix = "b"
        remote.add(case.store)
        with remote.mount(case, SEAL_SOON) as m:
            push(m)
            m.kill9()
        same_tree_elsewhere(remote, case, want)


main()
