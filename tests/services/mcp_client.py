# SPDX-License-Identifier: MIT
"""
A client of the Model Context Protocol for tests, over standard input and output or over HTTP, with
a validator for the part of JSON Schema that the server uses.
"""
import base64
import contextlib
import json
import os
import queue
import subprocess
import threading
import time

from harness import OFFLOAD, SLOW

MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18")
META = "io.modelcontextprotocol/"


def meta(version=MODERN, **more):
    """Returns the `_meta` member of a modern request."""
    return {
        META + "protocolVersion": version,
        META + "clientInfo": {"name": "test", "version": "1"},
        META + "clientCapabilities": {},
        **more,
    }


class Failed(Exception):
    """The server answered with an error."""

    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code, self.message, self.data = error["code"], error["message"], error.get("data")


class Client:
    """
    The common part of both transports. `modern` is the default for requests. `send` takes a message
    or bytes, and `receive` returns the answer to an id.
    """

    def __init__(self, modern=True):
        self.modern = modern
        self.last_id = 0

    def make(self, method, params=None, **parts):
        """Returns a request with a new id."""
        self.last_id += 1
        params = dict(params or {})
        if self.modern:
            params.setdefault("_meta", meta())
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": method}
        if params:
            message["params"] = params
        return {**message, **parts}

    def ask(self, message, seconds=30):
        """Sends a request. Returns the answer, whatever it is."""
        self.send(message)
        return self.receive(message["id"], seconds)

    def request(self, method, params=None, seconds=30):
        """Returns the result, or raises Failed."""
        answer = self.ask(self.make(method, params), seconds)
        assert answer["jsonrpc"] == "2.0", answer
        assert set(answer) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}), answer
        if "error" in answer:
            raise Failed(answer["error"])
        if self.modern:
            assert answer["result"]["resultType"] == "complete", answer
            assert answer["result"]["_meta"][META + "serverInfo"]["name"] == "offloadfs", answer
        else:
            assert "resultType" not in answer["result"], answer
        return answer["result"]

    def call(self, tool, **arguments):
        """Returns the structured content of a tool's result, which must match its schema."""
        return self.result(tool, **arguments)["structuredContent"]

    def result(self, tool, **arguments):
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        assert not result["isError"], result
        validate(self.tools()[tool]["outputSchema"], result["structuredContent"])
        text = result["content"][0]
        assert text["type"] == "text" and json.loads(text["text"]) == result["structuredContent"]
        return result

    def complaint(self, tool, **arguments):
        """Calls a tool that must fail. Returns its sentence."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        assert result["isError"] and len(result["content"]) == 1, result
        assert "structuredContent" not in result, result
        text = result["content"][0]["text"]
        assert text and "\n" not in text, text
        return text

    def tools(self):
        if not hasattr(self, "_tools"):
            self._tools = {t["name"]: t for t in self.request("tools/list")["tools"]}
        return self._tools

    def pages(self, method, member, **params):
        """Returns the entries of all pages of a list, in order."""
        seen, got = set(), []
        while True:
            page = self.request(method, params)
            got += page[member]
            if "nextCursor" not in page:
                return got
            assert page["nextCursor"] not in seen, "a cursor came twice"
            seen.add(page["nextCursor"])
            params = {**params, "cursor": page["nextCursor"]}


class Stdio(Client):
    """Runs `offload mcp` with these options and additions to its environment."""

    name = "stdio"

    def __init__(self, *options, modern=True, cwd="/", **environment):
        super().__init__(modern)
        self.process = subprocess.Popen(
            [OFFLOAD, "mcp", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, **environment},
        )
        self.arrived = queue.Queue()
        self.answers = {}  # not yet asked for, by id
        self.others = []  # messages without an id
        self.threads = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._listen, daemon=True),
        ]
        self.said = b""
        for thread in self.threads:
            thread.start()

    def _read(self):
        for line in self.process.stdout:
            self.arrived.put(line)
        self.arrived.put(None)

    def _listen(self):
        self.said = self.process.stderr.read()

    def send(self, message):
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        assert b"\n" not in data
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def take(self, seconds=30):
        """Returns the next message, or None at the end. Raises queue.Empty if it is late."""
        line = self.arrived.get(timeout=max(seconds, 0) * SLOW if seconds else 0.001)
        if line is None:
            self.arrived.put(None)
            return None
        assert line.endswith(b"\n"), line[-80:]
        return json.loads(line)

    def receive(self, number, seconds=30):
        deadline = time.monotonic() + seconds * SLOW
        while number not in self.answers:
            message = self.take((deadline - time.monotonic()) / SLOW)
            assert message is not None, f"it ended: {self.said!r}"
            if message.get("id") is None:
                self.others.append(message)
            else:
                self.answers[message["id"]] = message
        return self.answers.pop(number)

    def silent(self, seconds=0.3):
        """Fails if anything arrives."""
        with contextlib.suppress(queue.Empty):
            raise AssertionError(f"unexpected: {self.take(seconds)}")
        assert not self.answers, self.answers

    def close(self, code=0):
        """Closes its input, after which it must exit without saying more."""
        if self.process.stdin and not self.process.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        got = self.process.wait(30 * SLOW)
        for thread in self.threads:
            thread.join()
        self.process.stdout.close()
        self.process.stderr.close()
        assert got == code, f"exit {got}, expected {code}: {self.said!r}"
        assert not self.said, self.said
        assert self.arrived.get_nowait() is None, "a message that nobody asked for"

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.close()
        else:
            self.process.kill()
            self.process.wait()


def _header(text):
    """Returns a header value, encoded if it would not arrive unchanged."""
    if text.isascii() and text.isprintable() and text == text.strip():
        return text
    return "=?base64?" + base64.b64encode(text.encode()).decode() + "?="


class Http(Client):
    """A server on the loopback or a Unix socket. Each message is sent in a separate request."""

    name = "http"

    def __init__(self, connect, path="/mcp", modern=True, headers=None):
        super().__init__(modern)
        self.connect, self.path, self.headers = connect, path, headers or {}
        self.answers = {}
        self.others = []
        self.status = None  # of the latest message

    def send(self, message):
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        if not isinstance(message, bytes):
            params = message.get("params") or {}
            version = (params.get("_meta") or {}).get(META + "protocolVersion")
            if version:
                headers["MCP-Protocol-Version"] = version
                headers["Mcp-Method"] = message["method"]
                name = params.get("name", params.get("uri"))
                if isinstance(name, str):
                    headers["Mcp-Name"] = _header(name)
            data = json.dumps(message).encode()
        else:
            data = message
        headers.update(self.headers)
        connection = self.connect()
        with contextlib.closing(connection):
            connection.request("POST", self.path, data, headers)
            response = connection.getresponse()
            self.status, body = response.status, response.read()
        if body:
            answer = json.loads(body)
            if "id" in answer:
                self.answers[answer["id"]] = answer
            else:
                self.others.append(answer)

    def take(self, seconds=30):
        return self.others.pop() if self.others else self.answers.popitem()[1]

    def receive(self, number, seconds=30):
        return self.answers.pop(number)

    def silent(self, seconds=0):
        assert not self.answers, self.answers

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


# --- JSON Schema ----------------------------------------------------------------------------------

_TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "null": lambda v: v is None,
}
_KNOWN = {
    "type", "enum", "properties", "required", "additionalProperties", "items", "minimum", "maximum",
    "minLength", "maxLength", "description", "title", "default",
}  # fmt: skip


def validate(schema, value, at="$"):
    """Raises an AssertionError that says where the value violates the schema."""
    assert set(schema) <= _KNOWN, f"{at}: keywords {set(schema) - _KNOWN}"
    types = schema.get("type", [])
    types = types if isinstance(types, list) else [types]
    assert not types or any(_TYPES[t](value) for t in types), f"{at}: {value!r} is no {types}"
    assert "enum" not in schema or value in schema["enum"], f"{at}: {value!r}"
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        missing = set(schema.get("required", [])) - set(value)
        assert not missing, f"{at}: {missing} missing"
        for name, member in value.items():
            if name in properties:
                validate(properties[name], member, f"{at}.{name}")
            else:
                assert schema.get("additionalProperties", True) is not False, f"{at}: {name}"
    if isinstance(value, list):
        for i, item in enumerate(value):
            validate(schema.get("items", {}), item, f"{at}[{i}]")
    if isinstance(value, str):
        assert len(value) >= schema.get("minLength", 0), f"{at}: {value!r} is too short"
        assert len(value) <= schema.get("maxLength", len(value)), f"{at}: {value!r} is too long"
    if isinstance(value, int):
        assert value >= schema.get("minimum", value), f"{at}: {value} is too small"
        assert value <= schema.get("maximum", value), f"{at}: {value} is too large"
