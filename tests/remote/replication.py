# SPDX-License-Identifier: MIT
"""Stores replicated to the S3 of the tests, and checks of what lies there."""
import contextlib
import json
import os
import shutil
import subprocess

import paths  # noqa: F401
from clock import HOUR
from files import KIB, MIB, log_text, noise, snapshot
from harness import OFFLOAD, SLOW, Mount, eventually, run
from lineage import Lineage, need
from s3 import S3

FINAL = ("deposed", "refused")


class Remote(S3):
    """The service, with a store at s3://test/a. Child processes inherit the environment for it."""

    def __init__(self, prefix="a"):
        super().__init__()
        self.prefix = prefix
        self.key = None  # path of the key that seals the objects

    def start(self):
        super().start()
        os.environ.update(self.environment())
        return self

    @property
    def location(self):
        return f"s3://{self.bucket}/{self.prefix}"

    def add(self, store):
        run(OFFLOAD, "remote", "add", "--store", store, self.location)

    def make(self, case, *options, store=None, mnt=None):
        """Returns a Mount that is not started. A store that is missing will be replicated."""
        store, mnt = store or case.store, mnt or case.mnt
        if not os.path.exists(store):
            self.add(store)
        with contextlib.suppress(FileExistsError):  # a dead mount does not look like a directory
            os.makedirs(mnt, exist_ok=True)
        if not any(o.startswith("replicate_every") for o in options):
            options += ("replicate_every=100",)
        return Mount(case, store, mnt, options)

    def mount(self, case, *options, store=None, mnt=None, clock=None):
        """Mounts, using the Clock if there is one."""
        m = self.make(case, *options, store=store, mnt=mnt)
        return clock.start(m) if clock else m.start()

    def restore(self, store, check=True):
        return run(OFFLOAD, "restore", self.location, store, check=check, timeout=100 * SLOW)

    def elsewhere(self, case, *options, name="elsewhere"):
        """Restores into another directory and mounts that."""
        self.restore(case.path(name))
        return self.mount(case, *options, store=case.path(name), mnt=case.path(name + "-mnt"))

    def lineage(self):
        with self.lock:
            return Lineage(dict(self.objects), self.prefix)

    def check(self):
        """
        Checks that there is one lineage, and that no object was rewritten or removed too early. Of
        sealed objects only the names and the sealing are checked.
        """
        need(not self.rewritten(), f"written again: {self.rewritten()}")
        if self.key:
            with self.lock:
                bare = [k for k, data in self.objects.items() if b"OFSobjct" in data[:8]]
            need(not bare, f"not sealed: {bare}")
            return
        with self.lock:
            lineage, ever = self.lineage(), set(self.versions)
        lineage.check()
        for name, m in lineage.manifests.items():
            place = name[0], m["seq"]
            key = f"{self.prefix}/wal/{place[0]:08x}/{place[1]:08x}"
            need(
                place in lineage.log or key not in ever,
                f"the log behind checkpoint {name} went before it",
            )

    def names(self):
        """Returns the keys below the prefix, relative to it."""
        with self.lock:
            return {k[len(self.prefix) + 1 :] for k in self.objects}


def remove_remote(store):
    run(OFFLOAD, "remote", "remove", "--store", store, timeout=100 * SLOW)


def status(m):
    """Returns the `remote` part of status.json, but up to date."""
    return json.loads(os.getxattr(m.mnt, "user.offload.remote"))


def wait_state(m, *states):
    return eventually(lambda: (s := status(m))["state"] in states and s, f"{states}", 40)


def wait_current(m):
    """Waits until everything written is in the remote."""

    def is_current():
        s = status(m)
        assert s["state"] not in FINAL, s
        return s["state"] == "current" and not s["pending_bytes"] and s

    return eventually(is_current, "the remote has everything", 40)


def wait_garbage(remote, clock, m):
    """Lets two hours pass and waits for a sweep. It removes the garbage unless it meets a fault."""
    before = remote.requests
    clock.pass_time(2 * HOUR)
    remote.clock_offset += 2 * HOUR
    eventually(lambda: remote.count(kind="list", key="a/pack/*", since=before), "a sweep")
    wait_current(m)


def push(m, check=True):
    return run(OFFLOAD, "remote", "push", "--dir", m.mnt, check=check, timeout=100 * SLOW)


def copy_store(source, target):
    shutil.copytree(source, target, symlinks=True)


def processes_with(text):
    """Returns the command lines of the processes whose arguments contain the text."""
    found = subprocess.run(["ps", "axww", "-o", "args"], stdout=subprocess.PIPE, check=True).stdout
    return [line for line in found.decode(errors="replace").splitlines() if text in line]


# --- A tree to restore ----------------------------------------------------------------------------


def fill(m):
    """Makes files of all kinds. Returns those whose content is worth comparing."""
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
        differ = [n for n in {*want, *got} if want.get(n) != got.get(n)]
        assert not differ, [(n, want.get(n), got.get(n)) for n in differ]
        wait_current(m)
    run(OFFLOAD, "verify", "--store", case.path(name))
    remote.check()


def bases(remote):
    """Returns the BASEs that follow other objects of the log."""
    return [place for place, link in remote.lineage().log.items() if link["kind"] == "base"][1:]
