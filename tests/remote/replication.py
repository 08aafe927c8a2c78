# SPDX-License-Identifier: MIT
"""Stores that are replicated to the S3 of the tests, and what lies there as the protocol has it."""
import contextlib
import hashlib
import json
import os
import shutil
import struct
import subprocess

import paths  # noqa: F401
from clock import HOUR
from harness import OFFLOAD, SLOW, Mount, eventually, run
from s3 import S3

FINAL = ("deposed", "refused")


class Remote(S3):
    """The service, with a store at s3://test/a; what this process starts has its environment."""

    def __init__(self, prefix="a"):
        super().__init__()
        self.prefix = prefix

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
        """A Mount, not started; a store that is not there yet is to be replicated."""
        store, mnt = store or case.store, mnt or case.mnt
        if not os.path.exists(store):
            self.add(store)
        with contextlib.suppress(FileExistsError):  # a dead mount is no directory
            os.makedirs(mnt, exist_ok=True)
        if not any(o.startswith("replicate_every") for o in options):
            options += ("replicate_every=100",)
        return Mount(case, store, mnt, options)

    def mount(self, case, *options, store=None, mnt=None, clock=None):
        """Mounts, with that Clock."""
        m = self.make(case, *options, store=store, mnt=mnt)
        return clock.start(m) if clock else m.start()

    def restore(self, store, check=True):
        return run(OFFLOAD, "restore", self.location, store, check=check, timeout=100 * SLOW)

    def elsewhere(self, case, *options, name="elsewhere"):
        """Restores to another directory and mounts that."""
        self.restore(case.path(name))
        return self.mount(case, *options, store=case.path(name), mnt=case.path(name + "-mnt"))

    def lineage(self):
        with self.lock:
            return Lineage(dict(self.objects), self.prefix)

    def names(self):
        """The keys below the prefix, without it."""
        with self.lock:
            return {k[len(self.prefix) + 1 :] for k in self.objects}


def remove_remote(store):
    run(OFFLOAD, "remote", "remove", "--store", store, timeout=100 * SLOW)


def status(m):
    """What status.json shows, but as it is now."""
    return json.loads(os.getxattr(m.mnt, "user.offload.remote"))


def wait_state(m, *states):
    return eventually(lambda: (s := status(m))["state"] in states and s, f"{states}", 40)


def wait_current(m):
    """Waits until all that was written is in the remote."""

    def is_current():
        s = status(m)
        assert s["state"] not in FINAL, s
        return s["state"] == "current" and not s["pending_bytes"] and s

    return eventually(is_current, "the remote has everything", 40)


def wait_garbage(remote, clock, m):
    """Two hours pass, and what is garbage then is gone, or a fault came between."""
    before = remote.requests
    clock.pass_time(2 * HOUR)
    remote.clock_offset += 2 * HOUR
    eventually(lambda: remote.count(kind="list", key="a/pack/*", since=before), "a sweep")
    wait_current(m)


def push(m, check=True):
    return run(OFFLOAD, "remote", "push", "--dir", m.mnt, check=check, timeout=100 * SLOW)


# --- What lies there


class Wrong(AssertionError):
    """The objects break the protocol."""


def need(condition, text):
    if not condition:
        raise Wrong(text)


def decode(key, data):
    """The header, and the body as it is stored (src/replica/remote_object.h)."""
    magic, version, header, body, _whole = struct.unpack_from("<8sIIQQ", data)
    need(magic == b"OFSobjct" and version == 1, f"{key} is no object of version 1")
    need(len(data) == 32 + header + body + 32, f"{key} has another length")
    need(hashlib.sha256(data[:-32]).digest() == data[-32:], f"{key} has another hash")
    return json.loads(data[32 : 32 + header]), data[32 + header : -32]


class Lineage:
    """
    All objects of a store. check() proves that there is one lineage: that whoever reads them, from
    any manifest on, comes to the same end.
    """

    def __init__(self, objects, prefix):
        self.objects = {
            k[len(prefix) + 1 :]: v for k, v in objects.items() if k.startswith(prefix + "/")
        }
        self.epochs, self.log, self.manifests = {}, {}, {}
        for key, data in sorted(self.objects.items()):
            kind, *words = key.split("/")
            if kind == "epoch":
                self.epochs[int(words[0], 16)] = decode(key, data)[0]
            elif kind == "wal":
                self.log[int(words[0], 16), int(words[1], 16)] = decode(key, data)[0]
            elif kind == "ckpt" and not words[1].startswith("part-"):
                self.manifests[int(words[0], 16), int(words[1], 16)] = decode(key, data)[0]

    @property
    def newest(self):
        return max(self.epochs)

    def check(self):
        need("store" in self.objects, "there is no object 'store'")
        need(
            sorted(self.epochs) == list(range(1, len(self.epochs) + 1)),
            f"epochs are not dense: {sorted(self.epochs)}",
        )
        for epoch, began in self.epochs.items():
            self._check_epoch(epoch, began)
        extra = {e for e, _ in self.log} - set(self.epochs)
        need(not extra, f"there is a log of the epochs {extra}, which never began")
        sound = [name for name in self.manifests if self.is_sound(*name)]
        need(sound or (1, 1) not in self.log, "there is no checkpoint to begin with")
        for name in sound:
            self._check_manifest(name)
        return sound

    def _check_epoch(self, epoch, began):
        links = sorted((seq, link) for (e, seq), link in self.log.items() if e == epoch)
        fences = [(seq, link) for seq, link in links if link["kind"] == "fence"]
        if epoch < self.newest:
            need(fences, f"epoch {epoch} ends without a FENCE")
            need(len(fences) == 1, f"epoch {epoch} has {len(fences)} FENCEs")
            need(fences[0][0] == links[-1][0], f"epoch {epoch} goes on behind its FENCE")
            need(
                fences[0][1] == self.epochs[epoch + 1],
                f"epoch {epoch + 1} is not what the FENCE of {epoch} says",
            )
        else:
            # Somebody may have died before epoch/<E+1> was made: then it ends with a FENCE.
            need(all(s == links[-1][0] for s, _ in fences), f"epoch {epoch} goes on")
        for seq, link in links:
            before = self.log.get((epoch, seq - 1))
            if before is None and seq == 1:
                before = began
            need(
                before is None or before["to"] == link["from"],
                f"wal/{epoch}/{seq} does not go on where the log was",
            )
            need(
                link["kind"] == "fence" or link["writer"] == began["writer"],
                f"wal/{epoch}/{seq} is not of the writer of its epoch",
            )

    def is_sound(self, epoch, n):
        """Whether the log has the place at which the manifest is."""
        m = self.manifests[epoch, n]
        link = self.log.get((epoch, m["seq"])) if m["seq"] else self.epochs.get(epoch)
        if not link or link["to"] != m["lsn"]:
            return False
        return link["kind"] != "base" or link["checkpoint"] <= n

    def _check_manifest(self, name):
        m = self.manifests[name]
        newest = max(n for n in self.manifests if self.is_sound(*n))
        if name != newest:
            return  # it may be garbage that is being removed
        for part in m["chain"] + m["drafts"]:
            need(part["key"] in self.objects, f"{part['key']} is missing")
        for o in m["objects"]:
            key = f"pack/{o['epoch']:08x}/{o['number']:08x}"
            need(len(self.objects.get(key, b"")) == o["size"], f"{key} is missing, or another")
        seq, epoch = m["seq"], name[0]
        while epoch <= self.newest:
            seqs = [s for e, s in self.log if e == epoch and s > seq]
            need(
                sorted(seqs) == list(range(seq + 1, seq + 1 + len(seqs))),
                f"the log of epoch {epoch} has a hole behind the newest checkpoint",
            )
            seq, epoch = 0, epoch + 1


def copy_store(source, target):
    shutil.copytree(source, target, symlinks=True)


def processes_with(text):
    """What /proc shows of processes' arguments, where the text is in it."""
    found = subprocess.run(["ps", "axww", "-o", "args"], stdout=subprocess.PIPE, check=True).stdout
    return [line for line in found.decode(errors="replace").splitlines() if text in line]
