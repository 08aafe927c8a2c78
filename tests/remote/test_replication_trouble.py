#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Replication to a remote that is away, refuses or is unusable, and deaths during it."""
import contextlib
import errno
import os
import signal

import paths  # noqa: F401
from clock import Clock
from disk import Disk
from files import MIB, noise
from harness import OFFLOAD, SEAL_SOON, eventually, main, read, run, test, write
from replication import (
    Remote, bases, fill, processes_with, push, same_tree_elsewhere, status, tree, wait_current,
    wait_garbage, wait_state,
)


@test(timeout=120)
def an_outage_longer_than_the_log_is_held_is_followed_by_a_base(case):
    with Remote() as remote:
        with remote.mount(case, SEAL_SOON) as m:
            fill(m)
            wait_current(m)
            remote.down()
            for i in range(18):
                m.make(f"cache/outage/{i}", noise(16 * MIB, i))
            m.wait_sealed(*(m(f"cache/outage/{i}") for i in range(18)))
            for i in range(16):
                os.unlink(m(f"cache/outage/{i}"))
            m.tidy()
            remote.up()
            wait_current(m)
            assert bases(remote), "the log was held"
            m.make("cache/shell/after", b"behind the BASE")
            want = tree(m)
            wait_current(m)
            m.kill9()
        same_tree_elsewhere(remote, case, want)


@test
def mounts_that_die_before_they_have_an_epoch_do_no_harm(case):
    with Remote() as remote:
        with remote.mount(case) as m:
            fill(m)
            want = tree(m)
            wait_current(m)
        log = case.path("failpoints")
        for _ in range(20):
            # The probe makes two, then comes the FENCE.
            m.launch(OFS_FAILPOINT="remote.put=kill@3", OFS_FAILPOINT_LOG=log)
            assert m.wait() == -signal.SIGKILL
        assert len(read(log).splitlines()) == 20
        with m.start():
            wait_current(m)
            m.kill9()
        same_tree_elsewhere(remote, case, want)


@test
def a_restore_that_died_leaves_a_lineage_that_can_be_read(case):
    with Remote() as remote:
        with remote.mount(case) as m:
            fill(m)
            want = tree(m)
            wait_current(m)
        for i in range(5):
            # The probe makes two, then come the epoch of the previous FENCE and a FENCE.
            os.environ["OFS_FAILPOINT"] = f"remote.put=kill@{5 if i else 4}"
            done = remote.restore(case.path(f"dead-{i}"), check=False)
            assert done.returncode == -signal.SIGKILL, done
            del os.environ["OFS_FAILPOINT"]
        assert len([k for k, link in remote.lineage().log.items() if link["kind"] == "fence"]) == 5
        clock = Clock(case)
        remote.restore(case.path("alive"))
        with remote.mount(case, store=case.path("alive"), mnt=case.path("a"), clock=clock) as m:
            for i in range(2):
                m.make("cache/shell/more", b"%d" % i)
                push(m)
            m.make("cache/shell/more", b"more")
            wait_current(m)
            wait_garbage(remote, clock, m)
            want = tree(m)
            wait_current(m)
        remote.clock_offset = 0
        same_tree_elsewhere(remote, case, want)


@test(variants={"refused": "refuse", "hanging": "hang"})
def while_the_remote_is_away_all_goes_on_here(case, how):
    with Remote() as remote:
        with remote.mount(case, SEAL_SOON) as m:
            m.make("cache/shell/first", b"1")
            wait_current(m)
            remote.down(how)
            fill(m)
            m.wait_sealed(m("cache/shell/large"))
            if how == "refuse":
                said = wait_state(m, "behind")
                assert said["error"] and said["pending_bytes"] > 3 * MIB, said
            m.crash()
            m.make("cache/shell/more", b"2")
            want = tree(m)
            remote.up()
            wait_current(m)
            m.kill9()
        same_tree_elsewhere(remote, case, want)


@test
def a_sync_waits_for_a_remote_that_comes_back(case):
    with Remote() as remote, remote.mount(case, "replicate_every=fsync") as m:
        wait_current(m)
        rule = remote.fault("down", kind="put", key="a/wal/*", seconds=1.5)
        with open(m.make("cache/shell/file"), "wb") as f:
            f.write(b"synced")
            f.flush()
            os.fsync(f.fileno())
        assert rule.fired
        assert status(m)["pending_bytes"] == 0


@test
def an_unmount_without_its_remote_loses_nothing(case):
    with Remote() as remote:
        with remote.mount(case, SEAL_SOON) as m:
            wait_current(m)
            remote.down()
            fill(m)
            m.wait_sealed(m("cache/shell/large"))
            want = tree(m)
        remote.up()
        with remote.mount(case, SEAL_SOON) as m:
            wait_current(m)
            m.kill9()
        same_tree_elsewhere(remote, case, want)


@test(root=True, variants={"away": True, "there": False})
def a_full_disk_costs_nothing_that_was_stored(case, away):
    with Remote() as remote:
        disk = Disk(case, 48)
        store = os.path.join(disk.path, "store")
        with remote.mount(case, SEAL_SOON, store=store) as m:
            fill(m)
            wait_current(m)
            if away:
                remote.down()
            full = 0
            for i in range(60):
                try:
                    m.make(f"cache/fills/{i}", noise(1 * MIB, i))
                except OSError as e:
                    assert e.errno == errno.ENOSPC, e
                    full += 1
            assert full
            for i in range(20):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(m(f"cache/fills/{i}"))
            remote.up()
            wait_current(m)
            assert bases(remote) or not away, "what is held for the remote goes when it is full"
            m.make("cache/shell/after", b"it was full")
            want = tree(m)
            wait_current(m)
            m.crash()
            assert tree(m) == want
            wait_current(m)
            m.kill9()
        same_tree_elsewhere(remote, case, want)


# --- An unusable remote ---------------------------------------------------------------------------


def refused_to_add(remote, case, saying, location=None):
    where = location or remote.location
    done = run(OFFLOAD, "remote", "add", "--store", case.store, where, check=False)
    said = done.stderr.decode()
    assert done.returncode == 1 and saying in said and len(said.splitlines()) == 1, done
    return said


def credentials_wrong(remote):
    os.environ["AWS_SECRET_ACCESS_KEY"] = "wrong-secret-of-the-test"
    yield "connecting", "SignatureDoesNotMatch"
    os.environ.update(remote.environment())


def read_only_credentials(remote):
    os.environ.update(remote.environment("read-key"))
    yield "connecting", "AccessDenied"
    os.environ.update(remote.environment())


def bucket_missing(remote):
    bucket = remote.buckets.pop("test")
    yield "connecting", "NoSuchBucket"
    remote.buckets["test"] = bucket


def condition_ignored(remote):
    rule = remote.fault("ignore_condition", count=None)
    yield "refused", "If-None-Match"
    assert rule.fired
    remote.remove(rule)


BAD = {
    f.__name__: f
    for f in (credentials_wrong, read_only_credentials, bucket_missing, condition_ignored)
}


@test(variants=BAD)
def a_remote_that_cannot_be_used_is_refused_and_the_mount_goes_on(case, bad):
    with Remote() as remote:
        trouble = bad(remote)
        state, saying = next(trouble)
        refused_to_add(remote, case, saying)
        next(trouble, None)
        remote.add(case.store)
        before = dict(remote.objects)
        trouble = bad(remote)
        next(trouble)
        with remote.mount(case) as m:
            fill(m)
            want = tree(m)
            said = eventually(lambda: (s := status(m))["error"] and s, "status says why")
            assert said["state"] == state and saying in said["error"], said
            if state == "refused":
                assert saying.encode() in push(m, check=False).stderr
            m.kill9()
        next(trouble, None)
        assert {k: v for k, v in remote.objects.items() if "/probe/" not in k} == before
        with remote.mount(case) as m:
            wait_current(m)
            m.kill9()
        same_tree_elsewhere(remote, case, want)


@test
def a_remote_has_one_store(case):
    with Remote() as remote:
        with remote.mount(case) as m:
            fill(m)
            want = tree(m)
            wait_current(m)
            m.kill9()
        other = case.path("other")
        done = run(OFFLOAD, "remote", "add", "--store", other, remote.location, check=False)
        assert done.returncode == 1 and b"already" in done.stderr, done
        with case.mount(store=other, mnt=case.mnt) as m:
            m.make("cache/other", b"of another store")
        with open(os.path.join(other, "config.ini"), "a") as f:
            f.write(f"remote = {remote.location}\n")
        before = remote.count(kind="put", key="a/[!p]*")
        with remote.mount(case, store=other) as m:
            assert "another store" in wait_state(m, "refused")["error"]
            m.make("cache/shell/goes", b"on")
        assert remote.count(kind="put", key="a/[!p]*") == before
        same_tree_elsewhere(remote, case, want)


@test
def credentials_are_shown_nowhere(case):
    with Remote() as remote:
        secret = remote.environment()["AWS_SECRET_ACCESS_KEY"]
        with remote.mount(case) as m:
            fill(m)
            wait_current(m)
            rule = remote.fault("status", kind="put", status=403, count=2)
            m.make("cache/shell/more", b"x")
            eventually(lambda: rule.fired == 2, "two refusals")
            wait_current(m)
            shown = read(m(".offload/status.json")) + run(
                OFFLOAD, "remote", "status", "--dir", m.mnt
            ).stdout + push(m).stdout
            assert b"s3://test/a" in shown and secret.encode() not in shown
            assert not processes_with(secret)
            m.log.seek(0)
            assert secret.encode() not in m.log.read()
        for folder, _, names in os.walk(case.store):
            for name in names:
                assert secret.encode() not in read(os.path.join(folder, name)), name
        with remote.lock:
            assert not [k for k, v in remote.objects.items() if secret.encode() in v]


main()
