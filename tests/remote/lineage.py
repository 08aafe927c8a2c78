# SPDX-License-Identifier: MIT
"""The objects in the remote of a store, read as docs/REPLICATION.md describes them."""
import hashlib
import json
import struct


class Wrong(AssertionError):
    """The objects violate the protocol."""


def need(condition, text):
    if not condition:
        raise Wrong(text)


def decode(key, data):
    """Returns the header, and the body as stored (src/replica/remote_object.h)."""
    magic, version, header, body, _whole = struct.unpack_from("<8sIIQQ", data)
    need(magic == b"OFSobjct" and version == 1, f"{key} is no object of version 1")
    need(len(data) == 32 + header + body + 32, f"{key} has another length")
    need(hashlib.sha256(data[:-32]).digest() == data[-32:], f"{key} has another hash")
    return json.loads(data[32 : 32 + header]), data[32 + header : -32]


class Lineage:
    """
    All objects of a store. check() proves that there is one lineage: every reader, starting from
    any manifest, reaches the same end.
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
            # If a host died before it made epoch/<E+1>, the log ends with a FENCE.
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
        """Returns True if the log contains the position of the manifest."""
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
