# SPDX-License-Identifier: MIT
import asyncio
import datetime
import logging
import os
import threading
import unittest
from unittest import mock

from fakes import store

import offloadfs

LONG = "a line of output\n" * 1000


class Offload(unittest.TestCase):
    def test_the_pointer_stands_for_the_content(self):
        s = store()
        memory = s.offload(LONG, title="log", category="shell", ttl=datetime.timedelta(hours=1))
        self.assertEqual(str(memory), memory.pointer)
        self.assertEqual(memory.ref, memory.id)
        self.assertEqual(s.read(memory.id).decode(), LONG)
        self.assertEqual(s._transport.calls[0][1]["ttl_seconds"], 3600)
        s.offload(LONG, ttl=datetime.timedelta(seconds=0.5))
        self.assertEqual(s._transport.calls[1][1]["ttl_seconds"], 1)

    def test_the_task_is_that_of_the_store_unless_one_is_named(self):
        with mock.patch.dict(os.environ, OFFLOAD_TASK="from-env"):
            self.assertEqual(store().offload("x").task, "from-env")
            self.assertIsNone(store(task="").offload("x").task)
        self.assertEqual(store(task="t").offload("x").task, "t")
        self.assertEqual(store(task="t").offload("x", task="u").task, "u")
        self.assertIsNone(store(task="t").offload("x", task="").task)

    def test_bytes_that_are_no_text_go_as_base64(self):
        s = store()
        s.offload(b"\xff\x00")
        s.offload(bytearray("é".encode()))
        first, second = (args for _, args in s._transport.calls)
        self.assertEqual((first["content"], first["encoding"]), ("/wA=", "base64"))
        self.assertEqual(second, {"content": "é"})

    def test_nothing_can_be_stored(self):
        s = store()
        s._transport.full = True
        with self.assertRaisesRegex(offloadfs.NoRoom, "^no space left$") as caught:
            s.offload(LONG)
        self.assertEqual(caught.exception.code, "no_space")
        with self.assertLogs("offloadfs", logging.WARNING):
            self.assertEqual(s.shorten(LONG), LONG)


class Tools(unittest.TestCase):
    def test_long_results_become_pointers(self):
        s = store(task="t")

        @s.tool
        def run(command, *, times=1):
            "Runs it."
            return command * times

        self.assertEqual((run.__name__, run.__doc__), ("run", "Runs it."))
        self.assertEqual(run("short"), "short")
        pointer = run("x", times=5000)
        self.assertTrue(pointer.startswith("[offloaded] run x 5000 (ref "), pointer)
        self.assertEqual(s._transport.calls[0][1]["task"], "t")

    def test_a_title_is_one_line(self):
        run = store().tool(lambda command: LONG, category="shell")
        pointer = run("cat <<'EOF' |\n\tsort\x1b[1m \udcff")
        self.assertTrue(pointer.startswith("[offloaded] <lambda> cat <<'EOF' | sort [1m"), pointer)

    def test_options(self):
        s = store()

        @s.tool(max_bytes=10, category="web", title="a page")
        def get():
            return "x" * 200

        self.assertTrue(get().startswith("[offloaded] a page"))
        self.assertEqual(s._transport.calls[0][1]["category"], "web")

    def test_what_is_no_text_and_what_a_pointer_would_not_halve_stays(self):
        s = store()
        self.assertEqual(s.tool(lambda: {"a": LONG})(), {"a": LONG})
        self.assertIsNone(s.tool(lambda: None)())
        self.assertEqual(s.tool(lambda: "x" * 30, max_bytes=10)(), "x" * 30)

    def test_what_was_read_back_stays(self):
        s = store()
        run = s.tool(lambda command: "x" * 60000)
        for command in (
            "cat .offload/refs/k3f9x2:1-2000",
            "sed -n 1,9p /mnt/refs/k3f9x2",
            "offload slice k3f9x2 1-2000",
            "offload://k3f9x2",
        ):
            self.assertEqual(run(command=command), "x" * 60000)
        for command in ("make", "git show-ref refs/heads/main", "ls offload"):
            self.assertTrue(run(command).startswith("[offloaded]"), command)
        more = s.tool(lambda command: "x" * 70000)
        self.assertTrue(more("cat .offload/refs/k3f9x2").startswith("[offloaded]"))

    def test_coroutines(self):
        s = store()

        @s.tool
        async def run():
            return LONG

        self.assertTrue(asyncio.run(run()).startswith("[offloaded] run"))

    def test_a_failure_of_the_tool_is_its_own(self):
        @store().tool
        def run():
            raise KeyError("mine")

        with self.assertRaises(KeyError):
            run()

    def test_threads(self):
        s = store()
        run = s.tool(lambda n: f"{n}\n" * 5000, title="n")
        seen = []
        threads = [
            threading.Thread(target=lambda n=n: seen.append(run(n))) for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(seen)), 8)


class Reading(unittest.TestCase):
    def test_pieces(self):
        s = store()
        for data in (b"", b"x", b"x" * 250, "é".encode() * 151, b"x" * 99 + b"\xff\n" + b"y" * 300):
            s._transport.bytes["k3f9x2"] = data
            self.assertEqual(s.read("k3f9x2"), data)
            self.assertEqual("".join(s.text("k3f9x2")), data.decode(errors="replace"))

    def test_pages(self):
        s = store()
        members = dict.fromkeys(offloadfs.File.__dataclass_fields__)

        def page(limit, cursor="0", **filters):
            self.assertEqual(filters, {"tier": "archive"})
            first = int(cursor)
            last = min(first + limit, 2500)
            files = [{**members, "path": str(n)} for n in range(first, last)]
            return {"files": files, "next_cursor": str(last) if last < 2500 else None}

        s._transport.answers["memory_list"] = page
        self.assertEqual(len([*s.list(tier="archive")]), 2500)
        self.assertEqual([f.path for f in s.list(limit=3, tier="archive")], ["0", "1", "2"])
        self.assertEqual(len([*s.list(limit=1200, tier="archive")]), 1200)

    def test_members_of_newer_servers_are_left_out(self):
        s = store()
        s._transport.answers["tasks"] = {
            "tasks": [{"name": "t", "state": "live", "files": 1, "bytes": 2, "mood": "good"}]
        }
        self.assertEqual(s.tasks(), [offloadfs.Task("t", "live", 1, 2)])


class ReadingTools(unittest.TestCase):
    def setUp(self):
        self.store = store()
        tools = {tool.__name__: tool for tool in offloadfs.reading_tools(self.store)}
        self.read, self.search, self.grep = tools.values()
        self.assertEqual([*tools], ["read_memory", "search_memory", "grep_memory"])

    def answer(self, call, **members):
        self.store._transport.answers[call] = members

    def test_read(self):
        part = dict.fromkeys(offloadfs.Slice.__dataclass_fields__)
        self.answer("memory_fetch", **{**part, "text": "a\n"})
        self.assertEqual(self.read("k3f9x2"), "a\n")
        self.answer(
            "memory_fetch", **{**part, "text": "a", "lines": 9, "next": {"line_start": 2}}
        )
        self.assertEqual(self.read("k3f9x2", 1, 1), "a\n[9 lines in all; go on at line 2]")

    def test_search_and_grep(self):
        hit = {"at": "a:1-2", "path": "a", "line_start": 1, "line_end": 2, "snippet": "b"}
        self.answer("memory_search", hits=[hit], note=None)
        self.assertEqual(self.search("b?"), "a:1-2: b")
        self.answer(
            "memory_grep", lines=["a:1:b"], matches=1, files_searched=1, complete=False
        )
        self.assertEqual(self.grep("b"), "a:1:b\n[there may be more]")

    def test_errors_are_answers(self):
        def fail(**_):
            raise offloadfs.Expired("it expired")

        for call in ("memory_fetch", "memory_search", "memory_grep"):
            self.store._transport.answers[call] = fail
        for tool in (self.read, self.search, self.grep):
            self.assertEqual(tool("x"), "Error: it expired")


if __name__ == "__main__":
    unittest.main()
