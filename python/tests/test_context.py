# SPDX-License-Identifier: MIT
import asyncio
import contextlib
import importlib
import logging
import os
import sys
import tempfile
import types
import unittest

from fakes import Model, store

import offloadfs
from offloadfs.adapters import anthropic, openai

USER = {"role": "user", "content": "Why does it fail?"}


def managed(messages, system=None, mode=None, **_):
    """Returns an answer in which each message is marked as seen."""
    seen = [{**m, "seen": True} for m in messages]
    answer = {"messages": seen, "metadata": {"tokens_before": 2, "tokens_after": 1}}
    return {**answer, "system": f"{system}, summary"} if system else answer


def context(**options):
    c = offloadfs.Context([USER], store=store(), **options)
    c.store._transport.answers["context"] = managed
    return c


class Messages(unittest.TestCase):
    def test_manage(self):
        c = context(chat="c", max_total_tokens=5000)
        self.assertEqual(c.manage(), [{**USER, "seen": True}])
        self.assertEqual(c.metadata["tokens_after"], 1)
        (_, args) = c.store._transport.calls[0]
        self.assertEqual(
            args,
            {
                "messages": [USER],
                "chat_id": "c",
                "mode": "auto",
                "max_total_tokens": 5000,
            },
        )

    def test_restore_asks_for_nothing_else(self):
        c = context(chat="c", system="s")
        c.restore()
        (_, args) = c.store._transport.calls[0]
        self.assertEqual(args, {"messages": [USER], "system": "s", "mode": "restore"})

    def test_options(self):
        c = context(mode="compact", keep=2)
        c.manage()
        (_, args) = c.store._transport.calls[0]
        self.assertEqual(args, {"messages": [USER], "mode": "compact", "keep_recent_count": 2})

    def test_the_chat_is_the_task_of_the_store(self):
        self.assertEqual(offloadfs.Context(store=store(task="t")).chat, "t")
        self.assertEqual(offloadfs.Context(store=store(task="t"), chat="c").chat, "c")

    def test_a_failure_leaves_the_messages(self):
        c = context()
        c.store._transport.full = True
        with self.assertRaises(offloadfs.NoRoom):
            c.manage()
        self.assertEqual(c.messages, [USER])
        with self.assertLogs("offloadfs", logging.WARNING):
            self.assertEqual(c.prepare(), [USER])

    def test_objects_of_sdks_become_dictionaries(self):
        c = context()
        c.append(Model(role="assistant", content=[Model(type="text", text="a"), {"b": ("c",)}]))
        c.extend([Model(role="user", content="d")])
        self.assertEqual(
            c.messages[1:],
            [
                {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"b": ("c",)}]},
                {"role": "user", "content": "d"},
            ],
        )


class Client:
    """A client with one method, at the given attribute path."""

    def __init__(self, path, answer, wait=False):
        self.asked = None
        *above, last = path.split(".")

        def create(**request):
            self.asked = request
            return answer

        async def acreate(**request):
            return create(**request)

        at = self
        for name in above:
            setattr(at, name, types.SimpleNamespace())
            at = getattr(at, name)
        setattr(at, last, acreate if wait else create)


class Adapters(unittest.TestCase):
    def check(self, path, answer, functions, want, **options):
        """
        Checks that both functions send managed messages and append the answer; yields the requests.
        """
        for wait in (False, True):
            c = context(**options)
            client = Client(path, answer, wait)
            got = functions[wait](client, c, model="m")
            self.assertIs(asyncio.run(got) if wait else got, answer)
            self.assertEqual(c.messages, [{**USER, "seen": True}, *want])
            yield client.asked

    def test_openai_chat_completions(self):
        call = Model(
            id="c1", type="function", function=Model(name="bash", arguments='{"command": "ls"}')
        )
        message = Model(role="assistant", content=None, tool_calls=[call])
        answer = Model(choices=[Model(index=0, message=message, finish_reason="tool_calls")])
        functions = (openai.complete, openai.acomplete)
        want = [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "bash", "arguments": '{"command": "ls"}'},
                    }
                ],
            }
        ]
        for asked in self.check("chat.completions.create", answer, functions, want):
            self.assertEqual((asked["model"], asked["messages"][0]["seen"]), ("m", True))

    def test_openai_responses(self):
        item = Model(type="function_call", call_id="c1", name="bash", arguments="{}")
        answer = Model(output=[Model(type="reasoning", id="r1", summary=[]), item])
        functions = (openai.respond, openai.arespond)
        want = [
            {"type": "reasoning", "id": "r1", "summary": []},
            {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{}"},
        ]
        for asked in self.check("responses.create", answer, functions, want):
            self.assertEqual((asked["model"], asked["input"][0]["seen"]), ("m", True))

    def test_anthropic_messages(self):
        blocks = [
            Model(type="text", text="I look."),
            Model(type="tool_use", id="t1", name="bash", input={"command": "ls"}),
        ]
        answer = Model(role="assistant", content=blocks, stop_reason="tool_use")
        functions = (anthropic.create, anthropic.acreate)
        want = [
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls"}},
                ],
            }
        ]
        for asked in self.check("messages.create", answer, functions, want, system="s"):
            self.assertEqual(asked["system"], "s, summary")
        for asked in self.check("messages.create", answer, functions, want):
            self.assertNotIn("system", asked)


@contextlib.contextmanager
def packages(**modules):
    """Replaces modules, installed or not, by some with these members; __ in a name means a dot."""
    before = dict(sys.modules)
    for name, members in modules.items():
        full = name.replace("__", ".")
        parts = full.split(".")
        for i in range(1, len(parts) + 1):
            sys.modules[".".join(parts[:i])] = types.ModuleType(".".join(parts[:i]))
    for name, members in modules.items():
        vars(sys.modules[name.replace("__", ".")]).update(members)
    try:
        yield
    finally:
        for name in [*sys.modules]:
            if name not in before:
                del sys.modules[name]
        sys.modules.update(before)


class Middleware:
    tools = ()


class Message:
    """Imitates langchain's ToolMessage."""

    def __init__(self, content, tool_call_id):
        self.content, self.tool_call_id = content, tool_call_id

    def model_copy(self, update):
        return Message(update["content"], self.tool_call_id)


class NamedTool:
    def __init__(self, function):
        self.name, self.description = function.__name__, function.__doc__
        assert self.description, "a tool needs a description"


class LangChain(unittest.TestCase):
    def setUp(self):
        fakes = packages(
            langchain__agents__middleware={"AgentMiddleware": Middleware},
            langchain__tools={"tool": NamedTool},
        )
        self.enterContext(fakes) if hasattr(self, "enterContext") else self.enter(fakes)
        self.langchain = importlib.import_module("offloadfs.adapters.langchain")
        self.addCleanup(sys.modules.pop, "offloadfs.adapters.langchain", None)

    def enter(self, manager):  # missing before Python 3.11
        manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)

    def result(self, name, content, args=(), **options):
        middleware = self.langchain.OffloadMiddleware(store(), **options)
        request = types.SimpleNamespace(tool_call={"name": name, "id": "c1", "args": dict(args)})
        message = Message(content, "c1")

        async def handler(_):
            return message

        results = [
            middleware.wrap_tool_call(request, lambda _: message),
            asyncio.run(middleware.awrap_tool_call(request, handler)),
        ]
        self.assertEqual(results[0].content, results[1].content)
        self.assertEqual({m.tool_call_id for m in results}, {"c1"})
        return results[0].content

    def test_results_become_pointers(self):
        self.assertTrue(self.result("bash", "x" * 9000).startswith("[offloaded] bash (ref "))
        self.assertEqual(self.result("bash", "short"), "short")
        image = {"type": "image", "base64": "A" * 9000}
        blocks = [{"type": "text", "text": "x" * 9000, "id": "b1"}, image]
        text, same = self.result("mcp", blocks)
        self.assertTrue(text["text"].startswith("[offloaded] mcp"))
        self.assertEqual((text["id"], same), ("b1", image))

    def test_what_was_read_back_stays(self):
        self.assertEqual(self.result("read_memory", "x" * 9000), "x" * 9000)
        self.assertEqual(self.result("mine", "x" * 9000, skip=["mine"]), "x" * 9000)
        args = {"command": "cat .offload/refs/k3f9x2"}
        self.assertEqual(self.result("bash", "x" * 9000, args), "x" * 9000)

    def test_a_command_stays(self):
        middleware = self.langchain.OffloadMiddleware(store())
        command = types.SimpleNamespace(update={})
        request = types.SimpleNamespace(tool_call={"name": "t", "args": {}})
        self.assertIs(middleware.wrap_tool_call(request, lambda _: command), command)

    def test_tools_to_read_back(self):
        middleware = self.langchain.OffloadMiddleware(store())
        names = [t.name for t in middleware.tools]
        self.assertEqual(names, ["read_memory", "search_memory", "grep_memory"])


class DeepAgents(unittest.TestCase):
    """Checks where each folder of the agent is; handling the files is deepagents' own work."""

    def backend(self, root, **options):
        class Filesystem:
            def __init__(self, root_dir, virtual_mode):
                assert virtual_mode, "paths begin at the folder, and cannot leave it"
                self.root = root_dir

        class Composite:
            def __init__(self, default, routes):
                self.default, self.routes = default, routes

        fakes = {"FilesystemBackend": Filesystem, "CompositeBackend": Composite}
        s = store(**options)
        s._transport.answers["memory_stats"] = {"status": {"mountpoint": root}}
        with packages(deepagents__backends=fakes):
            module = importlib.import_module("offloadfs.adapters.deepagents")
            self.addCleanup(sys.modules.pop, "offloadfs.adapters.deepagents", None)
            return module.backend(s)

    def test_folders(self):
        with tempfile.TemporaryDirectory() as root:
            b = self.backend(root, task="t")
            self.assertEqual(b.default.root, os.path.join(root, "tasks/t"))
            places = {route: f.root for route, f in b.routes.items()}
            self.assertEqual(
                places,
                {
                    "/memories/": os.path.join(root, "persistent/memories"),
                    "/refs/": os.path.join(root, "refs"),
                },
            )
            self.assertTrue(os.path.isdir(b.default.root))
            below = self.backend(root, task="t", agent="a/b")
            self.assertEqual(below.default.root, os.path.join(root, "agents/a/agents/b/tasks/t"))

    def test_refusals(self):
        with self.assertRaisesRegex(ValueError, "task"):
            self.backend("/nowhere", task="")
        with self.assertRaisesRegex(offloadfs.Unreachable, "not mounted"):
            self.backend(None, task="t")


if __name__ == "__main__":
    unittest.main()
