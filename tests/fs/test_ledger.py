#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The ledger records what was kept out of prompts and read back, by day, task, agent and way."""
import contextlib
import errno
import json
import os

from chats import generated
from claude import MOUNTED, chat
from clock import DAY, Clock
from files import log_text
from harness import OFFLOAD, SEAL_SOON, Mount, main, raises, read, run, test

TEXT = log_text(30000, 1)


def offload(where, *words, agent=None, **more):
    env = {**os.environ, "OFFLOAD_AGENT": agent or ""}
    return run(OFFLOAD, words[0], *where, *words[1:], cwd="/", env=env, **more).stdout.decode()


def sums(where, *words):
    return json.loads(offload(where, "stats", "--json", *words))


@test(variants={"mounted": True, "unmounted": False})
def every_way_is_told(case, mounted):
    with case.mount() as m:
        where = ["-d", case.mnt] if mounted else ["--store", case.store]
        if not mounted:
            m.unmount()
        pointer = offload(where, "put", "-t", "fix", input=TEXT)
        ref = pointer.split("(ref ")[1].split(")")[0].split(",")[0]
        offload(where, "run", "--", "seq", "5000", agent="me")
        offload(where, "run", "--", "seq", "5", agent="me")  # too short to be offloaded
        offload(where, "slice", ref, "1-20")
        messages = json.dumps({"messages": generated(1, calls=4, size=9000)}).encode()
        for _ in range(2):  # a repeated result saves nothing new
            offload(where, "context", "--mode", "auto", input=messages)
        for command in (f"offload show {ref}", f"offload slice {ref} 1-2"):  # record themselves
            call = {"name": "bash", "arguments": json.dumps({"command": command})}
            call = {"id": "1", "type": "function", "function": call}
            messages = [
                {"role": "user", "content": "Look."},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "1", "content": "what was read back"},
            ]
            for _ in range(2):
                offload(where, "context", "--mode", "auto", input=json.dumps(messages).encode())
                messages.append({"role": "assistant", "content": "I see."})
        step = {"tool": "bash", "args": {"command": "x"}, "result": TEXT.decode() + "2"}
        offload(where, "reduce", "-t", "fix", input=json.dumps(step).encode())
        rows = sums(where, "--by", "way")["rows"]
        assert set(rows) == {"put", "run", "slice", "context", "reduce"}, rows
        for way in ("put", "run", "reduce"):
            assert rows[way]["results"] == 1 and rows[way]["offloaded"] > 5000, rows
            assert 0 < rows[way]["pointers"] < 600 and not rows[way]["read"], rows
        assert rows["context"]["results"] == 4 and 2 <= rows["context"]["read"] <= 8, rows
        slice = rows["slice"]
        assert slice["read"] > 100 and slice["saved"] == -slice["read"], rows
        assert set(sums(where, "--by", "agent")["rows"]) == {"", "me"}
        assert sums(where, "--by", "task")["rows"]["fix"]["results"] == 2
        total = sums(where, "--since", "7d")["total"]
        assert total["results"] == 7, total
        assert total["saved"] == total["offloaded"] - total["pointers"] - total["read"]
        said = offload(where, "stats", "--by", "way")
        none = "slice: 0 tokens kept out by 0 results; pointers 0, "
        assert f"{none}read back {slice['read']}; saved -" in said, said
        assert offload(where, "stats").splitlines()[-1].startswith("tokens      "), "in short, too"
        done = run(OFFLOAD, "stats", *where, "--since", "monday", check=False)
        assert done.returncode == 2 and b"'monday' is not a day" in done.stderr, done


@test(variants=MOUNTED)
def the_hook_tells(case, mounted):
    with chat(case, mounted) as c:
        pointer = c.output(c.bash("make", TEXT.decode()))
        command = pointer.split("Read lines: ")[1].split(" (")[0]
        assert c.output(c.bash(command, "one line that was read back\n")) is None
        assert c.output(c.bash("offload slice x 1-2", "told by the command itself\n")) is None
        row = json.loads(c.sh(f"'{OFFLOAD}' stats --by agent --json"))["rows"]["claude-code"]
        assert row["results"] == 1 and row["offloaded"] > 5000, row
        assert row["read"] == (6 if mounted else 0) or 4 <= row["read"] <= 8, row


@test
def nothing_is_lost_and_nothing_counts_twice(case):
    clock = Clock(case)
    m = Mount(case, case.store, case.mnt, [SEAL_SOON])
    for day in range(3):
        clock.start(m)
        for i in range(3):
            os.setxattr(case.mnt, "user.offload.ledger", b"run\tme\tfix\t1\t100\t10\t1")
            if i == day:
                m.wait_sealed(m.make(f"cache/web/{day}", log_text(5000, day)))
        m.kill9()
        clock.pass_time(DAY)
    with contextlib.ExitStack() as stack:
        clock.start(m)
        stack.callback(m.unmount)
        lines = read(m(".offload/ledger")).decode().splitlines()
        assert lines[0] == "day\tway\tagent\ttask\tresults\toffloaded\tpointers\tread"
        assert [line.split("\t", 1)[1] for line in lines[1:]] == ["run\tme\tfix\t3\t300\t30\t3"] * 3
        assert len({line.split("\t")[0] for line in lines}) == 4
        status = json.loads(read(m(".offload/status.json")))["tokens"]
        assert status == {"results": 9, "offloaded": 900, "pointers": 90, "read": 9}, status
        assert b"\noffloadfs_tokens_offloaded_total 900\n" in read(m(".offload/metrics"))


@test
def rows_of_a_day_have_a_limit(case):
    """They would slow down status.json for everybody. No sum is wrong for it."""
    with case.mount() as m:
        for name in ("agents/a", "agents/a/agents/in", "agents/b"):
            os.mkdir(m(name))
        for i in range(1200):
            tree = m("agents/a/agents/in" if i % 2 else "agents/a")
            os.setxattr(tree, "user.offload.ledger", b"run\t\tt%d\t1\t100\t10\t1" % i)
        for tree in ("agents/b", ""):
            os.setxattr(m(tree), "user.offload.ledger", b"run\t\tx\t1\t100\t10\t1")

        def rows(tree):
            return read(m(tree, ".offload/ledger")).decode().splitlines()[1:]

        assert len(rows("agents/a")) == 1002 and len(rows("")) == 1004
        others = sorted(row.split("\t", 1)[1] for row in rows("agents/a") if "\tother\t" in row)
        assert others == ["other\t\t\t100\t10000\t1000\t100",
                          "other\tagents/in/\t\t100\t10000\t1000\t100"], others
        for tree, n in ("agents/a", 1200), ("agents/a/agents/in", 600), ("agents/b", 1), ("", 1202):
            tokens = json.loads(read(m(tree, ".offload/status.json")))["tokens"]
            assert tokens["results"] == n and tokens["offloaded"] == n * 100, (tree, tokens)


@test
def what_is_no_entry_is_refused(case):
    with case.mount():
        for value in (
            b"", b"\t", b"run", b"run\t\t\t1\t2\t3", b"run\t\t\t1\t2\t3\t4\t5", b"\t\t\t1\t2\t3\t4",
            b"run\t\t\t-1\t2\t3\t4", b"run\t\t\t1\t2\t3\tx", b"run\t\t\t1\t2\t3\t99999999999999",
            b"run\t\t\n\t1\t2\t3\t4", b"run\t\r\t\t1\t2\t3\t4", b"run\t\x1b[2J\t\t1\t2\t3\t4",
            b"run\t\xff\t\t1\t2\t3\t4", b"run\0\t\t\t1\t2\t3\t4",
        ):
            with raises(errno.EINVAL):
                os.setxattr(case.mnt, "user.offload.ledger", value)


if __name__ == "__main__":
    main()
