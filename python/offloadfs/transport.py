# SPDX-License-Identifier: MIT
"""The two ways to reach a tree: the tool `offload` and its server. Both give the same answers."""
from __future__ import annotations

import contextlib
import glob
import http.client
import ipaddress
import json
import os
import re
import shutil
import socket
import subprocess
import urllib.parse
from typing import Any, Dict, Iterator, List, Mapping, NoReturn, Optional, Protocol

from .errors import Invalid, NotFound, NotServed, OffloadError, TimedOut, Unreachable, error_of

Answer = Dict[str, Any]
PIECE = 65536


class Transport(Protocol):
    """A way to reach a tree. May be shared by threads; keeps nothing between calls."""

    def call(self, name: str, args: Mapping[str, Any], timeout: float) -> Answer: ...

    def chunks(self, memory: str, timeout: float) -> Iterator[bytes]:
        """Yields the content in pieces of at most 65,536 bytes; the timeout is for each piece."""

    def done(
        self, task: str, keep: List[str], drop_all: bool, timeout: float
    ) -> Answer: ...


def _loads(text: bytes, who: str) -> Answer:
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise OffloadError(f"{who} did not answer with a JSON object: {text[:200]!r}")
    return answer


def _error(text: bytes) -> Optional[OffloadError]:
    """Returns the exception for {"error": {"code", "message"}}, or None for any other text."""
    try:
        error = json.loads(text)["error"]
        return error_of(error["code"], error["message"])
    except (ValueError, KeyError, TypeError):
        return None


# --- the tool -------------------------------------------------------------------------------------


class Tool:
    """Runs `offload` for each call."""

    def __init__(self, path: Optional[str], agent: Optional[str]) -> None:
        self.program = os.environ.get("OFFLOAD") or "offload"
        # Each call names its own task and agent, or none.
        self.env = {**os.environ, "OFFLOAD_TASK": "", "OFFLOAD_AGENT": ""}
        self.cwd: Optional[str] = None
        self.where: List[str] = ["--agent", agent] if agent else []
        if path is None:
            return
        path = os.path.abspath(path)
        # An explicit path overrides the environment, like an option of the tool.
        self.env.pop("OFFLOAD_DIR", None)
        self.env.pop("OFFLOAD_STORE", None)
        if _is_mounted(path):
            self.where += ["--dir", path]
        elif _is_store(path):
            self.where += ["--store", path]
        elif os.path.isdir(path):
            self.cwd = path
        else:
            raise Invalid(f"'{path}' is neither a mounted tree nor a store nor a workspace")

    def run(self, words: List[str], data: bytes, timeout: float) -> "subprocess.CompletedProcess[bytes]":
        """Returns the completed process, whatever its exit code."""
        program = shutil.which(self.program)
        if not program:
            raise Unreachable(
                f"'{self.program}' was not found: install offloadfs, set OFFLOAD to the path of its "
                "tool, or OFFLOAD_SERVER to a server"
            )
        try:
            return subprocess.run(
                [os.path.abspath(program), *words],  # it runs in self.cwd
                input=data,
                capture_output=True,
                timeout=timeout,
                cwd=self.cwd,
                env=self.env,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise TimedOut(f"'offload {words[0]}' did not answer within {timeout:g} s") from None
        except OSError as e:
            raise Unreachable(f"cannot run '{program}': {e.strerror}") from e

    def output(self, words: List[str], data: bytes, timeout: float) -> bytes:
        done = self.run(words, data, timeout)
        if done.returncode == 0:
            return done.stdout
        self.fail(words[0], done)

    def answer(self, words: List[str], data: bytes, timeout: float) -> Answer:
        return _loads(self.output(words, data, timeout), f"'offload {words[0]}'")

    @staticmethod
    def fail(command: str, done: "subprocess.CompletedProcess[bytes]") -> NoReturn:
        error = _error(done.stdout)
        if error:
            raise error
        lines = done.stderr.decode(errors="replace").splitlines()
        said = lines[-1] if lines else f"'offload {command}' ended with {done.returncode}"
        said = re.sub(rf"^offload: (?:{command}: )?", "", said)
        raise (Invalid if done.returncode == 2 else OffloadError)(said)

    def call(self, name: str, args: Mapping[str, Any], timeout: float) -> Answer:
        words = ["call", name, "--json", *self.where]
        return self.answer(words, json.dumps(args).encode(), timeout)

    def chunks(self, memory: str, timeout: float) -> Iterator[bytes]:
        args: Optional[Answer] = {"memory_id": memory, "byte_offset": 0}
        while args:
            part = self.call("memory_fetch", args, timeout)
            if part["encoding"] == "utf-8":
                yield part["text"].encode()
            else:
                end = part["byte_offset"] + part["byte_len"] - 1
                words = ["slice", *self.where, "--", memory, f"b{part['byte_offset']}-{end}"]
                yield self.output(words, b"", timeout)
            args = part["next"]

    def done(self, task: str, keep: List[str], drop_all: bool, timeout: float) -> Answer:
        words = ["task", "done", "--json", *self.where, *(f"--keep={k}" for k in keep)]
        words += [*(["--drop-all"] if drop_all else []), "--", task]
        try:
            return self.answer(words, b"", timeout)
        except OffloadError as e:
            if any(t["name"] == task for t in self.call("tasks", {}, timeout)["tasks"]):
                raise
            raise NotFound(str(e)) from None


def _is_mounted(path: str) -> bool:
    """True if a tree is mounted there. Asks no daemon, which might not answer."""
    point = os.fsencode(os.path.realpath(path))
    point = re.sub(rb"[\\ \t\n]", lambda m: b"\\%03o" % ord(m[0]), point)
    with open("/proc/self/mounts", "rb") as mounts:
        return any(line.split(b" ")[1:3] == [point, b"fuse.offloadfs"] for line in mounts)


def _is_store(path: str) -> bool:
    names = ("index.db", "journal", "packs")
    return sum(os.path.exists(os.path.join(path, name)) for name in names) > 1


# --- the server -----------------------------------------------------------------------------------

# Method and path of each call. memory_id replaces {id}; GET sends other arguments as the query.
_ROUTES = {
    "memory_offload": ("POST", "/v1/memories"),
    "memory_list": ("GET", "/v1/memories"),
    "memory_fetch": ("GET", "/v1/memories/{id}"),
    "memory_info": ("GET", "/v1/memories/{id}/info"),
    "memory_promote": ("POST", "/v1/memories/{id}/promote"),
    "memory_pin": ("POST", "/v1/memories/{id}/pin"),
    "memory_search": ("POST", "/v1/search"),
    "memory_grep": ("POST", "/v1/grep"),
    "memory_stats": ("GET", "/v1/stats"),
    "memory_usage": ("GET", "/v1/usage"),
    "tasks": ("GET", "/v1/tasks"),
    "agents": ("GET", "/v1/agents"),
    "context": ("POST", "/v1/context"),
    "reduce": ("POST", "/v1/reduce"),
    "compact": ("POST", "/v1/compact"),
}


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Server:
    """Sends each call to `offload serve`, over a connection of its own."""

    def __init__(self, server: str, token: Optional[str], agent: Optional[str]) -> None:
        self.server = server
        self.headers = {"Content-Type": "application/json"}
        if agent:
            # http.client encodes text as Latin-1; the server takes the name as UTF-8.
            self.headers["Offload-Agent"] = agent.encode().decode("latin-1")
        try:
            self.url = urllib.parse.urlsplit(server)
            self.url.port  # raises
        except ValueError as e:
            raise Invalid(f"'{server}' is not a server: {e}") from None
        if self.url.scheme not in ("http", "https", "unix") and not server.startswith("/"):
            raise Invalid(f"'{server}' is not a server: give a socket's path or an http:// URL")
        if token and self.url.scheme in ("http", "https"):
            if self.url.scheme == "http" and not _is_loopback(self.url.hostname):
                raise Invalid(f"a token is only sent over https://, not to '{server}'")
            self.headers["Authorization"] = f"Bearer {token}"

    def connect(self, timeout: float) -> http.client.HTTPConnection:
        if self.url.scheme not in ("http", "https"):
            return _UnixConnection(self.server.removeprefix("unix:"), timeout)
        host = self.url.hostname or ""
        if self.url.scheme == "https":
            return http.client.HTTPSConnection(host, self.url.port, timeout=timeout)
        return http.client.HTTPConnection(host, self.url.port, timeout=timeout)

    def reach(self, connection: http.client.HTTPConnection) -> None:
        try:
            connection.connect()
        except (ConnectionRefusedError, FileNotFoundError) as e:
            raise NotServed(f"cannot reach the server '{self.server}': {e}") from e

    @contextlib.contextmanager
    def request(
        self, method: str, path: str, timeout: float, body: Optional[bytes] = None
    ) -> Iterator[http.client.HTTPResponse]:
        """Yields the response, ready to be read; raises for a status other than 2xx."""
        if self.url.scheme in ("http", "https"):
            path = self.url.path.rstrip("/") + path
        connection = self.connect(timeout)
        try:
            self.reach(connection)
            connection.request(method, path, body, self.headers)
            response = connection.getresponse()
            if not 200 <= response.status < 300:
                said = f"the server '{self.server}' answered with status {response.status}"
                raise _error(response.read()) or OffloadError(said)
            yield response
        except socket.timeout:  # is TimeoutError since Python 3.10
            raise TimedOut(f"the server '{self.server}' did not answer within {timeout:g} s") from None
        except (OSError, http.client.HTTPException) as e:
            raise Unreachable(f"cannot reach the server '{self.server}': {e}") from e
        finally:
            connection.close()

    def call(self, name: str, args: Mapping[str, Any], timeout: float) -> Answer:
        method, path = _ROUTES[name]
        args, body = dict(args), None
        if "{id}" in path:
            path = path.replace("{id}", _segment(args.pop("memory_id")))
        if method == "GET":
            path += "?" + urllib.parse.urlencode({k: _word(v) for k, v in args.items()})
        else:
            body = json.dumps(args).encode()
        with self.request(method, path.rstrip("?"), timeout, body) as response:
            return _loads(response.read(), f"the server '{self.server}'")

    def chunks(self, memory: str, timeout: float) -> Iterator[bytes]:
        path = f"/v1/memories/{_segment(memory)}/content"
        with self.request("GET", path, timeout) as response:
            while True:
                piece = response.read(PIECE)
                if not piece:
                    break
                yield piece
            if response.length:  # http.client does not report a premature end
                raise http.client.IncompleteRead(b"", response.length)

    def done(self, task: str, keep: List[str], drop_all: bool, timeout: float) -> Answer:
        raise OffloadError(f"a server cannot end a task: run 'offload task done {task}'")


def _is_loopback(host: Optional[str]) -> bool:
    with contextlib.suppress(ValueError):
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    return False


def _segment(memory: str) -> str:
    return urllib.parse.quote(memory, safe="")


def _word(value: Any) -> str:
    """Formats a value for a query string."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


# --- either of them -------------------------------------------------------------------------------


def find(path: Optional[str], agent: Optional[str]) -> Transport:
    """Returns the tool, combined with the same tree's server if that runs at its default socket."""
    tool = Tool(path, agent)
    folder = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("XDG_STATE_HOME")
    folder = folder or os.path.expanduser("~/.local/state")
    # Asking the tool takes longer than checking whether any tree has a server.
    if not glob.glob(os.path.join(glob.escape(folder), "offloadfs", "serve-*.sock")):
        return tool
    try:
        where = tool.answer(["call", "--json", *tool.where], b"", 10).get("socket")
    except OffloadError:
        return tool
    if not where:
        return tool
    return Nearest(tool, Server(where, None, agent))


class Nearest:
    """Uses a server while it runs, and the tool when it has ended."""

    def __init__(self, tool: Tool, server: Server) -> None:
        self.tool, self.server = tool, server
        self.done = tool.done

    def call(self, name: str, args: Mapping[str, Any], timeout: float) -> Answer:
        try:
            return self.server.call(name, args, timeout)
        except NotServed:
            return self.tool.call(name, args, timeout)

    def chunks(self, memory: str, timeout: float) -> Iterator[bytes]:
        try:
            yield from self.server.chunks(memory, timeout)
        except NotServed:
            yield from self.tool.chunks(memory, timeout)
