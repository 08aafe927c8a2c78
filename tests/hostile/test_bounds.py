#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whatever is written into the tree or asked of it, the daemon's memory stays bounded."""
import json
import os
import threading

import paths  # noqa: F401
from harness import SANITIZED, eventually, main, read, test, uring_enabled, xattr

MIB = 1 << 20
# Depends on how the daemon is built, and on what malloc does not return.
MARGIN = (2000 if SANITIZED else 96) * MIB


def resident(m):
    with open(f"/proc/{m.process.pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def unread_step(m):
    return json.loads(read(m(".offload/status.json")))["lifecycle"]["unread_step"]


def refs(size):
    return b'{"outcome_ref": [' + b'"k3f9x2",' * (size // 9) + b'""]}'


@test
def a_step_that_is_too_large_keeps_all_and_is_told(case):
    with case.mount() as m:
        output = m.make("cache/shell/output", b"x\n")
        os.setxattr(output, "user.offload.ttl", b"1s")
        for i in range(3):
            m.make(f"tasks/t/history/step_{i}.json", refs(14 * MIB))
        before = resident(m)
        said = eventually(
            lambda: (why := xattr(output, "lifecycle")).startswith("kept for") and why, "its time"
        )
        assert "step_0.json, which is too large to be read" in said, said
        assert resident(m) < before + MARGIN
        assert unread_step(m) == "tasks/t/history/step_0.json"
        for i in range(3):
            os.unlink(m(f"tasks/t/history/step_{i}.json"))
        assert "step_" not in xattr(output, "lifecycle")


@test
def steps_of_many_values_are_left_out_of_a_recap(case):
    with case.mount() as m:
        for i in range(16):
            text = b'{"tool_name": "x", "metadata": {"a": [' + b"{}," * 330000 + b"{}]}}"
            m.make(f"tasks/t/history/step_{i}.json", text)
        m.make("tasks/t/history/step_99.json", b'{"tool_name": "last", "observation": "seen"}')
        before = resident(m)
        text = read(m("tasks/t/context.md"))
        assert b"seen" in text and b"step_0.json (File too large)" in text, text
        assert resident(m) < before + MARGIN


@test
def slices_and_answers_are_held_within_bounds(case):
    with case.mount() as m:
        for i in range(1000):
            step = {"tool_name": f"tool{i}", "error": f"{i} " + 150 * "x", "success": False}
            m.make(f"tasks/t/history/step_{i}.json", json.dumps(step).encode())
        size = len(read(m("tasks/t/context.md")))
        assert size > 70000, size
        held = os.open(m("tasks/t/context.md"), os.O_RDONLY)
        before = resident(m)
        for i in range(5000):
            part = read(m(f"tasks/t/context.md:b{i}-{i + 65000}"))
            assert len(part) > 65000
        assert resident(m) < before + 2 * MARGIN
        # Slices that were dropped are made again, although context.md itself is open.
        assert len(read(m("tasks/t/context.md:b0-65000"))) == 65001
        os.close(held)


@test
def attributes_are_held_within_bounds(case):
    with case.mount() as m:
        for i in range(2500):
            path = m.make(f"persistent/f{i}")
            os.setxattr(path, "user.a", b"a" * 65536)
            os.setxattr(path, "user.b", b"b" * 65000)
        # 300 MB are on their way to the index.
        eventually(lambda: resident(m) < 2 * MARGIN, "the memory is given back")
        for i in range(2500):
            assert len(os.getxattr(m(f"persistent/f{i}"), "user.a")) == 65536
        assert resident(m) < 2 * MARGIN


@test
def searches_hold_up_nothing_else(case):
    # Over io_uring the kernel passes on at most eight requests of a processor at once.
    searches, answered = 8 if uring_enabled() else 40, []
    first = threading.Event()

    def search(i):
        read(m(f"search/word{i}"))
        answered.append(i)
        first.set()

    with case.mount() as m:
        for i in range(2000):
            m.make(f"cache/shell/{i}", b"some words\n" * 100)
        threads = [threading.Thread(target=search, args=(i,)) for i in range(searches)]
        for thread in threads:
            thread.start()
        assert first.wait(60)
        m.make("cache/shell/other", b"x\n")
        meanwhile = len(answered)
        for thread in threads:
            thread.join()
        assert meanwhile <= searches / 2, meanwhile
        assert len(answered) == searches


if __name__ == "__main__":
    main()
