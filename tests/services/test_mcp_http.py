#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Model Context Protocol over HTTP: POST /mcp of offload serve, tested like offload mcp."""
import contextlib
import http.client
import pathlib
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fs"))

import harness  # noqa: E402
import test_mcp  # noqa: E402  (its tests are registered, and those that fit run here, too)
from harness import OFFLOAD, SLOW, eventually, main, test  # noqa: E402
from mcp_client import LEGACY, META, MODERN, Http, meta  # noqa: E402

SAME = """
    discover initialize tools_list both_eras_at_once wrong_messages deep_messages wrong_requests
    wrong_arguments many_at_once every_tool long_hits_are_linked bounds bytes_that_are_no_text pages resources
    long_resources no_store_yet mounted_meanwhile daemon_killed
""".split()


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60 * SLOW)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Served(Http):
    """A client of its own server on a Unix socket. A context manager."""

    servers = 0

    def __init__(self, case, *options, modern=True, **environment):
        Served.servers += 1
        path = case.path(f"s{Served.servers}")
        self.server = subprocess.Popen(
            [OFFLOAD, "serve", "--socket", path, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={**test_mcp.os.environ, **environment},
        )
        super().__init__(lambda: Connection(path), modern=modern)
        eventually(lambda: self._answers(path), "the server listens")

    def _answers(self, path):
        assert self.server.poll() is None, f"offload serve ended with {self.server.returncode}"
        with contextlib.suppress(OSError), contextlib.closing(Connection(path)) as connection:
            connection.connect()
            return True

    def __exit__(self, *_):
        self.server.terminate()
        assert self.server.wait(30 * SLOW) == 0


def on_mount(case, modern=True, **environment):
    return Served(case, "-d", case.mnt, modern=modern, **environment)


def on_store(case, modern=True):
    return Served(case, "--store", case.store, modern=modern)


test_mcp.on_mount, test_mcp.on_store = on_mount, on_store
harness._tests[:] = [t for t in harness._tests if t.function.__name__ in SAME]


@test
def status_codes(case):
    """The protocol's statuses for errors of messages. Other errors are results with status 200."""
    with on_store(case) as client:
        call = {"name": "memory_list", "arguments": {}}
        for method, params, headers, status in (
            ("tools/list", {}, {}, 200),
            ("tools/call", call, {}, 200),
            ("tools/call", {"name": "nothing"}, {}, 200),
            ("ping", {}, {}, 404),
            ("nothing", {}, {}, 404),
            ("tools/list", {"_meta": meta("1999-01-01")}, {}, 400),
            ("tools/list", {"_meta": {META + "protocolVersion": MODERN}}, {}, 400),
            ("tools/list", {}, {"Mcp-Method": "tools/call"}, 400),
            ("tools/list", {}, {"MCP-Protocol-Version": LEGACY[0]}, 400),
            ("tools/call", call, {"Mcp-Name": "memory_fetch"}, 400),
            ("tools/call", call, {"Mcp-Name": "=?base64?bWVtb3J5X2xpc3Q=?="}, 200),
        ):
            client.headers = headers
            client.ask(client.make(method, params))
            assert client.status == status, (method, params, headers, client.status)
        client.headers = {}
        for data, status in (
            (b'{"jsonrpc":"2.0","method":"notifications/initialized"}', 202),
            (b'{"jsonrpc":"2.0","id":1,"result":{}}', 202),
            (b"{", 400),
            (b"[]", 400),
            (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', 200),
        ):
            client.send(data)
            assert client.status == status, (data, client.status)


@test
def agents_by_header(case):
    """The header that names an agent works here, too."""
    with case.mount(), on_mount(case) as client:
        client.headers = {"Offload-Agent": "a"}
        ref = test_mcp.store(client, "its own\n")
        client.headers = {"Offload-Agent": "b"}
        client.complaint("memory_fetch", memory_id=ref)
        client.headers = {}
        assert client.call("memory_fetch", memory_id=ref)["path"].startswith("agents/a/")


@test
def no_streams(case):
    """There are no streams to listen to and no sessions to end."""
    with on_store(case) as client:
        for method in ("GET", "DELETE"):
            with contextlib.closing(client.connect()) as connection:
                connection.request(method, "/mcp", headers={"Accept": "text/event-stream"})
                assert connection.getresponse().status == 405


if __name__ == "__main__":
    main()
