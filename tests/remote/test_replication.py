#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A store in object storage: what is restored, who may write, and what a bad remote costs."""
import contextlib
import errno
import os
import time

import paths  # noqa: F401
from clock import HOUR, Clock
from files import KIB, MIB, log_text, noise, snapshot
from harness import (
    OFFLOAD, SEAL_NEVER, SEAL_SOON, eventually, main, raises, read, run, same, test, write, xattr,
)
from replication import (
    Remote, copy_store, processes_with, push, remove_remote, status, wait_current, wait_state,
)
from s3 import S3


def fill(m):
    """Files of every kind; returns those that have a content worth a comparison."""
    m.make("cache/shell/small", b"a few bytes\n")
    m.make("cache/shell/large", noise(3 * MIB, 1))
    m.make("cache/web/text", log_text(300 * KIB, 2))
    m.make("persistent/notes/empty")
    m.make("persistent/notes/\u00fcmlaut and space", b"name")
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


def tree(m):
    return {
        name: what
        for name, what in snapshot(m.mnt, identity=True).items()
        if name.split(b"/")[0] in (b"cache", b"persistent", b"archive")
    }


def same_tree_elsewhere(remote, case, want, name="elsewhere"):
    with remote.elsewhere(case, name=name) as m:
        got = tree(m)
        assert got == want, [(n, want.get(n), got.get(n)) for n in {*want, *got} if want.get(n) != got.get(n)]
        wait_current(m)
    remote.lineage().check()


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
        assert not remote.rewritten()


main()
