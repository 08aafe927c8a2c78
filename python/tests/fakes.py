# SPDX-License-Identifier: MIT
"""Stand-ins for a tree and for the objects of SDKs."""
import hashlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))

from offloadfs import NoRoom, Store


class Tree:
    """A transport that records the calls and what was offloaded."""

    def __init__(self):
        self.calls, self.bytes, self.answers, self.full = [], {}, {}, False

    def call(self, name, args, timeout):
        self.calls.append((name, args))
        if self.full and name in ("memory_offload", "context"):
            raise NoRoom("no space left")
        if name == "memory_offload":
            return self.offload(**args)
        return self.answers[name](**args) if callable(self.answers[name]) else self.answers[name]

    def offload(self, content, category="general", task=None, title=None, **_):
        digest = hashlib.sha256(content.encode()).hexdigest()
        ref = digest[:6]
        new = ref not in self.bytes
        self.bytes[ref] = content.encode()
        memory = {"id": ref, "uri": f"offload://{ref}", "path": f"/mnt/refs/{ref}", "title": title}
        memory.update(category=category, task=task, mime="text/plain", bytes=len(content))
        memory.update(lines=content.count("\n"), tokens=len(content) // 4, sha256=digest, new=new)
        return {"pointer": f"[offloaded] {title} (ref {ref})\n", "memory_refs": [memory]}

    def chunks(self, memory, timeout):
        data = self.bytes[memory]
        return (data[at : at + 100] for at in range(0, len(data), 100))


def store(**options):
    """Returns a Store on a Tree."""
    made = Store(server="/nowhere", **options)
    made._transport = Tree()
    return made


class Model:
    """An SDK object: attributes, and model_dump() like Pydantic's."""

    def __init__(self, **members):
        self.__dict__.update(members)
        self._members = members

    def model_dump(self, *, mode="python", by_alias=False, exclude_unset=False):
        assert mode == "json" and exclude_unset and by_alias

        def dump(value):
            if isinstance(value, Model):
                return dump(value._members)
            if isinstance(value, dict):
                return {key: dump(member) for key, member in value.items()}
            return [dump(member) for member in value] if isinstance(value, list) else value

        return dump(self)
