#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""offload mcp: the three versions of the Model Context Protocol, with a client of our own."""
import base64
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fs"))

from harness import (  # noqa: E402
    OFFLOAD,
    SEAL_SOON,
    eventually,
    main,
    run,
    same,
    stopped,
    test,
    write,
)
from mcp_client import LEGACY, META, MODERN, Failed, Stdio, meta  # noqa: E402

ERAS = {"modern": True, "legacy": False}
PLACES = {"mounted": True, "unmounted": False}
TOOLS = [
    "memory_fetch",
    "memory_search",
    "memory_grep",
    "memory_offload",
    "memory_list",
    "memory_promote",
    "memory_stats",
]
LINES_MAX, BYTES_MAX = 2000, 65536
LINE_MAX = 64 << 20


def on_mount(case, modern=True, **environment):
    return Stdio("-d", case.mnt, modern=modern, **environment)


def on_store(case, modern=True):
    return Stdio("--store", case.store, modern=modern)


@contextlib.contextmanager
def somewhere(case, mounted, modern=True):
    """Yields a client of a new tree, mounted or not."""
    if not mounted:
        with on_store(case, modern) as client:
            yield client
        return
    with case.mount(SEAL_SOON), on_mount(case, modern) as client:
        yield client


def store(client, text, **more):
    """Offloads a text. Returns its ref."""
    return client.call("memory_offload", content=text, **more)["memory_refs"][0]["id"]


def fails(client, code, method, **params):
    """The request must fail with this code. Returns the error."""
    try:
        result = client.request(method, params)
    except Failed as e:
        assert e.code == code, e
        assert e.message and "\n" not in e.message, e
        return e
    raise AssertionError(f"expected {code}, got {result}")


# --- Discovery and versions -----------------------------------------------------------------------


@test
def discover(case):
    with on_store(case) as client:
        said = client.request("server/discover")
        assert said["supportedVersions"] == [MODERN, *LEGACY], said
        assert said["capabilities"] == {"tools": {}, "resources": {}}, said
        assert said["ttlMs"] > 0 and said["cacheScope"] == "public", said
        assert 0 < len(said["instructions"].split()) < 120, said
        # The client's identity is optional, and extensions are allowed.
        short = meta(**{"com.example/x": 1})
        del short[META + "clientInfo"]
        assert client.request("server/discover", {"_meta": short})["supportedVersions"]


@test(variants={v: v for v in LEGACY + ("1999-01-01", MODERN)})
def initialize(case, version):
    """Uses the client's version if it has a handshake, or else the newest one that does."""
    with on_store(case, modern=False) as client:
        params = {
            "protocolVersion": version,
            "capabilities": {"roots": {"listChanged": True}, "sampling": {}},
            "clientInfo": {"name": "test", "version": "1"},
        }
        said = client.request("initialize", params)
        assert said["protocolVersion"] == (version if version in LEGACY else LEGACY[0]), said
        assert said["capabilities"] == {"tools": {}, "resources": {}}, said
        assert said["serverInfo"]["name"] == "offloadfs" and said["serverInfo"]["version"], said
        assert said["instructions"], said
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert client.request("ping") == {}
        assert len(client.request("tools/list")["tools"]) == len(TOOLS)
        client.silent()


@test(variants=ERAS)
def tools_list(case, modern):
    with on_store(case, modern) as client:
        listed = client.request("tools/list")
        assert [t["name"] for t in listed["tools"]] == TOOLS, listed
        assert client.request("tools/list") == listed, "another order"
        assert ("ttlMs" in listed) == modern and "nextCursor" not in listed
        for tool in listed["tools"]:
            assert tool["title"] and len(tool["description"].split()) < 60, tool
            for schema in (tool["inputSchema"], tool["outputSchema"]):
                assert schema["type"] == "object", tool
            hints = tool["annotations"]
            changes = tool["name"] in ("memory_offload", "memory_promote")
            assert hints["readOnlyHint"] == (not changes), tool
            assert hints.get("destructiveHint", changes) is False or not changes, tool
            assert hints["openWorldHint"] is False, tool
        fails(client, -32602, "tools/list", cursor="x")


@test
def both_eras_at_once(case):
    """Each request names its era, and the server keeps no state."""
    with on_store(case) as client:
        for modern in (True, False, True, False):
            client.modern = modern
            if not modern:
                assert client.request("ping") == {}
            assert client.request("tools/list")["tools"]
        for version in LEGACY:
            answer = client.ask(
                {
                    "jsonrpc": "2.0",
                    "id": version,
                    "method": "tools/list",
                    "params": {"_meta": meta(version)},
                }
            )
            assert "resultType" not in answer["result"], answer


# --- Messages -------------------------------------------------------------------------------------

WRONG = {
    # message: (code, id)
    b"{": (-32700, None),
    b"hello": (-32700, None),
    b'{"jsonrpc":"2.0","id":1,"method":"ping"} x': (-32700, None),
    b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}': (-32700, None),
    b'{"jsonrpc":"2.0","id":1,"method":"\xff"}': (-32700, None),
    b"\xef\xbb\xbf{}": (-32700, None),
    b"[" * 3000: (-32700, None),
    b"[]": (-32600, None),
    b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]': (-32600, None),
    b"null": (-32600, None),
    b"7": (-32600, None),
    b'"ping"': (-32600, None),
    b"{}": (-32600, None),
    b'{"jsonrpc":"1.0","id":1,"method":"ping"}': (-32600, 1),
    b'{"id":1,"method":"ping"}': (-32600, 1),
    b'{"jsonrpc":"2.0","id":1}': (-32600, 1),
    b'{"jsonrpc":"2.0","id":"a","method":7}': (-32600, "a"),
    b'{"jsonrpc":"2.0","id":null,"method":"ping"}': (-32600, None),
    b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}': (-32600, None),
    b'{"jsonrpc":"2.0","id":{},"method":"ping"}': (-32600, None),
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}': (-32602, 1),
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":null}': (-32602, 1),
    b'{"jsonrpc":"2.0","id":1,"method":"nothing"}': (-32601, 1),
    b'{"jsonrpc":"2.0","id":1,"method":""}': (-32601, 1),
    b'{"jsonrpc":"2.0","id":1,"method":"pin\\u0000g"}': (-32601, 1),
    b'{"jsonrpc":"2.0","id":1,"method":"initialize"}': (-32602, 1),
    b'{"jsonrpc":"2.0","id":1,"method":"server/discover"}': (-32602, 1),
    b'{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}': (-32602, 1),
    b'{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x"}}': (-32601, 1),
    b'{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}': (-32601, 1),
    b'{"jsonrpc":"2.0","id":1,"method":"prompts/list"}': (-32601, 1),
    b'{"jsonrpc":"2.0","id":1,"method":"completion/complete"}': (-32601, 1),
}

# Messages without an answer.
SILENT = [
    b"",
    b"  \t ",
    b"\r",
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
    b'{"jsonrpc":"2.0","method":"notifications/unheard/of","params":{"x":1}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[1]}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
    b'{"jsonrpc":"2.0","method":"tools/list"}',
    b'{"jsonrpc":"2.0","method":"notifications/x","params":[]}',
    b'{"jsonrpc":"2.0","id":1,"result":{}}',
    b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}',
]


@test
def wrong_messages(case):
    with on_store(case, modern=False) as client:
        for data, (code, number) in WRONG.items():
            client.send(data)
            answer = client.take()
            assert answer["error"]["code"] == code, f"{data[:80]!r}: {answer}"
            assert answer.get("id") == number and ("id" in answer) == (number is not None), answer
            assert answer["error"]["message"], answer
        for data in SILENT:
            if data.strip() or client.name == "stdio":
                client.send(data)
        assert client.request("ping") == {}
        client.silent()


@test
def deep_messages(case):
    """However deeply a message is nested, the server answers and goes on."""
    with on_store(case, modern=False) as client:
        for depth in (150, 1000, 2000, 100_000):
            deep = b'{"x":' * depth + b"1" + b"}" * depth
            for part in (b'"arguments":%s', b'"arguments":{"path":%s}', b'"_meta":%s'):
                client.send(
                    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
                    b'{"name":"memory_list",' + part % deep + b"}}"
                )
                answer = client.take()
                assert "error" in answer or "result" in answer, answer
        assert client.request("ping") == {}


@test
def wrong_requests(case):
    """Modern requests with parts that are missing or of the wrong type."""
    with on_store(case) as client:
        for key in ("protocolVersion", "clientCapabilities"):
            short = meta()
            del short[META + key]
            fails(client, -32602, "server/discover", _meta=short)
            fails(client, -32602, "server/discover", _meta={**meta(), META + key: 7})
        odd = ("", "2026-07-28 ", "v\u2028\U0001f600", "x" * 5000)  # not all fit into a header
        for version in ("1900-01-01", *(odd if client.name == "stdio" else ())):
            e = fails(client, -32022, "tools/list", _meta=meta(version))
            assert e.data["supported"] == [MODERN, *LEGACY], e.data
            assert e.data["requested"] == version or len(version) > 4000, e.data
        removed = ("initialize", "ping", "logging/setLevel", "resources/subscribe")
        for method in (*removed, "subscriptions/listen", "tasks/get", "prompts/get", "x"):
            fails(client, -32601, method)
        for params in ({}, {"name": 7}, {"name": "nothing"}, {"name": "memory_pin"}):
            fails(client, -32602, "tools/call", **params)
        fails(client, -32602, "tools/call", name="memory_list", arguments=[])
        fails(client, -32602, "tools/call", name="memory_list\0", arguments={})
        assert client.request("resources/list")["resources"] == []
        store(client, "x\n")
        fails(client, -32602, "resources/list", cursor="nothing of ours")
        fails(client, -32602, "resources/list", cursor=7)
        fails(client, -32602, "resources/templates/list", cursor="x")


@test
def wrong_arguments(case):
    """Mistakes that a model can correct are results with a sentence, not errors."""
    with on_store(case) as client:
        store(client, "a line\n")
        for tool, arguments, words in (
            ("memory_fetch", {}, "memory_id"),
            ("memory_fetch", {"memory_id": 7}, "memory_id"),
            ("memory_fetch", {"memory_id": "zzzzzz"}, "zzzzzz"),
            ("memory_fetch", {"memory_id": "../../etc/passwd"}, "out of the tree"),
            ("memory_fetch", {"memory_id": "x", "line": 1}, "line_start"),
            ("memory_search", {"query": ""}, "query"),
            ("memory_search", {"query": "x", "limit": 0}, "1 to 50"),
            ("memory_list", {"tier": "none"}, "long-term"),
            ("memory_grep", {"pattern": "("}, "parenthesis"),
            ("memory_offload", {"content": "x", "category": "a/b"}, "a/b"),
            ("memory_promote", {"memory_id": "zzzzzz"}, "zzzzzz"),
        ):
            said = client.complaint(tool, **arguments)
            assert words in said, (tool, arguments, said)


@test(timeout=120)
def huge_messages(case):
    """A line that is too long is refused, and the next one is read."""
    with on_store(case) as client:
        client.send(b"[" + b" " * LINE_MAX + b"]")
        refused = client.take()
        assert refused["error"]["code"] == -32600 and "id" not in refused, refused
        text = "".join(f"line {i} \u00e4\u20ac\U0001f600\n" for i in range(300_000))
        ref = store(client, text)
        client.send(b"x" * (LINE_MAX + 1))
        assert client.take()["error"]["code"] == -32600
        same(fetch_all(client, ref).encode(), text.encode())


@test
def long_line_without_end(case):
    """Input that ends in the middle of a line that is too long."""
    client = on_store(case)
    client.process.stdin.write(b"x" * (LINE_MAX + 5))
    client.process.stdin.close()
    assert client.take()["error"]["code"] == -32600
    client.close()


@test
def last_line_without_newline(case):
    client = on_store(case, modern=False)
    client.process.stdin.write(b'{"jsonrpc":"2.0","id":"last","method":"ping"}')
    client.process.stdin.close()
    assert client.take() == {"jsonrpc": "2.0", "id": "last", "result": {}}
    client.close()


@test
def many_at_once(case):
    """Requests of both eras mixed with nonsense: each is answered once, under its id."""
    with case.mount(), on_mount(case) as client:
        refs = [store(client, f"text {i}\n" * 10) for i in range(5)]
        ids = []
        for i in range(200):
            number = i if i % 2 else f"id {i} \u00e4"
            client.modern = i % 3 != 0
            arguments = {"memory_id": refs[i % 5]}
            message = client.make("tools/call", {"name": "memory_fetch", "arguments": arguments})
            client.send({**message, "id": number})
            ids.append((number, i % 5))
            if i % 10 == 0:
                client.send(b"nonsense")
        for number, which in ids:
            result = client.receive(number)["result"]
            assert result["structuredContent"]["text"] == f"text {which}\n" * 10, result
        assert len(client.others) == 20, client.others
        client.silent()


@test
def ends_after_the_last_answer(case):
    with case.mount():
        client = on_mount(case)
        for i in range(50):
            client.send(client.make("tools/call", {"name": "memory_list", "arguments": {}}))
        client.process.stdin.close()
        for i in range(1, 51):
            assert client.receive(i)["result"]["structuredContent"]["files"] == []
        client.close()


@test(variants={"SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT, "SIGHUP": signal.SIGHUP})
def signals(case, number):
    client = on_store(case, modern=False)
    assert client.request("ping") == {}
    client.process.send_signal(number)
    client.process.wait(30)
    client.close()


@test(root=True)
def the_first_process_of_a_container(case):
    ping = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    alone = ("unshare", "--pid", "--fork", "--mount-proc")
    done = run(*alone, OFFLOAD, "mcp", "--store", case.store, input=ping)
    assert json.loads(done.stdout)["result"] == {}, done


@test
def nobody_reads(case):
    """The server ends when the reading end of its output is closed."""
    process = subprocess.Popen(
        [OFFLOAD, "mcp", "--store", case.store],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    process.wait(30)
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    assert process.returncode == 0 and process.stderr.read() == b""
    process.stderr.close()


@test
def blocked_output(case):
    """Even if its client does not read, the server can be ended by a signal."""
    with case.mount():
        process = subprocess.Popen(
            [OFFLOAD, "mcp", "-d", case.mnt], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        ping = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
        os.write(process.stdin.fileno(), ping)
        assert process.stdout.readline(), "it has started"
        os.set_blocking(process.stdin.fileno(), False)
        with contextlib.suppress(BlockingIOError):
            for _ in range(10000):
                os.write(process.stdin.fileno(), ping)
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        process.stdin.close()
        process.stdout.close()


# --- Tools ----------------------------------------------------------------------------------------


def fetch_all(client, ref, **arguments):
    """Returns a whole content by following what each answer says about the next part."""
    parts, arguments = [], {"memory_id": ref, **arguments}
    while arguments:
        got = client.call("memory_fetch", **arguments)
        shown = {**got, "text": got["text"][:40]}
        assert got["byte_len"] <= BYTES_MAX, shown
        assert got["line_start"] is None or got["text"].count("\n") <= LINES_MAX, shown
        assert len(got["text"].encode()) == got["byte_len"] or got["encoding"] == "lossy", shown
        parts.append(got["text"])
        assert got["next"] != arguments, "it does not go on"
        arguments = got["next"]
    return "".join(parts)


@test(variants=PLACES)
def every_tool(case, mounted):
    with somewhere(case, mounted) as client:
        text = "alpha beta\n" + "".join(f"line {i}\n" for i in range(5000)) + "omega needle\n"
        result = client.result("memory_offload", content=text, title="T\u00e4st", category="notes")
        stored = result["structuredContent"]["memory_refs"][0]
        ref = stored["id"]
        assert stored["new"] and stored["bytes"] == len(text.encode()), stored
        link = result["content"][1]
        assert link["type"] == "resource_link" and link["uri"] == f"offload://{ref}", link
        assert link["size"] == stored["bytes"] and link["name"] == stored["path"], link
        arguments = {"content": text, "title": "T\u00e4st", "category": "notes"}
        again = client.call("memory_offload", **arguments)["memory_refs"][0]
        assert not again["new"] and again["id"] == ref, again

        got = client.result("memory_fetch", memory_id=ref, line_start=2, line_end=3)
        assert got["structuredContent"]["text"] == "line 0\nline 1\n", got
        assert len(got["content"]) == 1, "a link to what was not cut"
        got = client.result("memory_fetch", memory_id=f"offload://{ref}")
        assert got["structuredContent"]["next"]["line_start"] == LINES_MAX + 1, got
        assert got["content"][1]["uri"] == f"offload://{ref}", got

        hits = client.result("memory_search", query="omega needle")
        assert stored["path"] in [h["path"] for h in hits["structuredContent"]["hits"]], hits
        assert client.call("memory_search", query="nowhereatall")["hits"] == []
        found = client.call("memory_grep", pattern="^line 49{3}$")
        assert found["lines"] == [stored["path"] + ":5001:line 4999"], found

        listed = client.call("memory_list")
        assert [f["id"] for f in listed["files"]] == [ref], listed
        promoted = client.call("memory_promote", memory_id=ref, tags=["a", "b"])
        assert promoted["moved"] and promoted["path"].startswith("persistent/notes/"), promoted
        assert client.call("memory_fetch", memory_id=ref)["path"] == promoted["path"]
        stats = client.call("memory_stats", by=["day", "way"])
        assert {r["way"] for r in stats["rows"]} == {"mcp"}, stats


@test(variants=PLACES)
def long_hits_are_linked(case, mounted):
    with somewhere(case, mounted) as client:
        big = store(client, "zebra crossing\n" + "filler words here\n" * 6000)
        store(client, "zebra stripes\n")
        found = client.result("memory_search", query="zebra")
        links = [c["uri"] for c in found["content"][1:]]
        assert len(found["structuredContent"]["hits"]) >= 2 and links == [f"offload://{big}"], found


@test(variants=PLACES)
def bounds(case, mounted):
    """An answer has at most 2,000 lines and 65,536 bytes, and the rest follows part by part."""
    texts = {
        "lines": "".join(f"{i}\n" for i in range(4 * LINES_MAX + 7)),
        "long lines": "".join(f"{i} {'x' * 999}\n" for i in range(500)),
        "one line": "0123456789" * 20_000,
        "characters": "\u20ac\U0001f600" * 25_000,
        "no end": "a\n" * LINES_MAX + "b",
        "exactly": "a\n" * LINES_MAX,
        "long line first": "x" * 70_000 + "\ny\n" * 10,
        "empty": "",
        "nul": "a\0b\nc\0\n",
        "crlf": "a\r\nb\r\n" * 3000,
    }
    with somewhere(case, mounted) as client:
        for name, text in texts.items():
            ref = store(client, text, title=name)
            same(fetch_all(client, ref).encode(), text.encode(), name)
            if text:
                same(fetch_all(client, ref, byte_offset=0).encode(), text.encode(), name)
            if text.count("\n") > 10:
                got = fetch_all(client, ref, line_start=3, line_end=LINES_MAX + 4)
                want = "".join(text.splitlines(keepends=True)[2 : LINES_MAX + 4])
                if "\r" not in text:
                    same(got.encode(), want.encode(), name)


@test(variants=PLACES)
def bytes_that_are_no_text(case, mounted):
    """Tools show as much text as there is, and resources return the bytes."""
    with somewhere(case, mounted) as client:
        png = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 500
        for data in (png, png[:1000], b"\xff"):
            content = base64.b64encode(data).decode()
            ref = store(client, content, encoding="base64")
            got = client.call("memory_fetch", memory_id=ref)
            assert got["encoding"] == "lossy" and got["bytes"] == len(data), got["encoding"]
            assert "\ufffd" in got["text"]
            uri, parts = f"offload://{ref}:b0-", []
            while uri:
                first, *rest = client.request("resources/read", {"uri": uri})["contents"]
                assert "/" in first["mimeType"] and first["uri"] == uri, first["mimeType"]
                parts.append(base64.b64decode(first["blob"], validate=True))
                uri = rest[0]["uri"] if rest else None
            same(b"".join(parts), data)


@test(variants=PLACES)
def pages(case, mounted):
    """The cursors of both lists lead through all files, each once."""
    with somewhere(case, mounted) as client:
        refs = {store(client, f"number {i}\n", name=f"n{i}.txt") for i in range(230)}
        seen, cursor = [], {}
        while cursor is not None:
            page = client.call("memory_list", limit=37, **cursor)
            assert cursor or page["total"]["files"] == 230, page["total"]
            seen += [f["id"] for f in page["files"]]
            cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else None
        assert len(seen) == 230 and set(seen) == refs
        listed = client.pages("resources/list", "resources")
        assert len(listed) == 230 and {r["uri"] for r in listed} == {f"offload://{r}" for r in refs}


# --- Resources ------------------------------------------------------------------------------------


@test(variants=ERAS)
def resources(case, modern):
    missing = -32602 if modern else -32002
    with somewhere(case, True, modern) as client:
        text = "first\nsecond \u00e4\n"
        ref = store(client, text, title="Two lines")
        listed = client.request("resources/list")
        (entry,) = listed["resources"]
        assert entry["uri"] == f"offload://{ref}" and entry["size"] == len(text.encode()), entry
        assert entry["title"] == "Two lines" and entry["name"] and entry["mimeType"], entry
        assert not modern or (listed["ttlMs"], listed["cacheScope"]) == (0, "private"), listed
        templates = client.request("resources/templates/list")["resourceTemplates"]
        assert templates[0]["uriTemplate"] == "offload://{ref}", templates

        read = client.request("resources/read", {"uri": entry["uri"]})
        want = [{"uri": entry["uri"], "mimeType": "text/plain", "text": text}]
        assert read["contents"] == want, read
        assert not modern or read["cacheScope"] == "private", read
        part = client.request("resources/read", {"uri": f"offload://{ref}:2-2"})
        assert part["contents"][0]["text"] == "second \u00e4\n", part
        write(os.path.join(case.mnt, "cache/empty"), b"")
        for uri in ("offload://cache/empty", "offload://search/nothinglikeit"):
            (empty,) = client.request("resources/read", {"uri": uri})["contents"]
            assert empty == {"uri": uri, "mimeType": "text/plain", "text": ""}, empty

        for uri in (
            "offload://zzzzzz",
            "offload://",
            f"offload://{ref}:9-10",
            f"offload://{ref}:x",
            f"OFFLOAD://{ref}",
            ref,
            "file:///etc/passwd",
            "offload:///etc/passwd",
            "offload://../../etc/passwd",
            "",
        ):
            e = fails(client, missing, "resources/read", uri=uri)
            assert e.data == {"uri": uri}, (uri, e.data)
        fails(client, -32602, "resources/read")
        fails(client, -32602, "resources/read", uri=["x"])


@test
def long_resources(case):
    """Long resources are cut and say how to continue."""
    with case.mount(), on_mount(case) as client:
        text = "".join(f"line {i}\n" for i in range(7000))
        uri, got = "offload://" + store(client, text), []
        while uri:
            (part,) = client.request("resources/read", {"uri": uri})["contents"]
            assert part["uri"] == uri and len(part["text"].encode()) <= BYTES_MAX + 200, uri
            *lines, last = part["text"].splitlines(keepends=True)
            uri = None
            if last.startswith("[cut here"):
                uri = last.split("go on with ")[1].rstrip("]\n")
            else:
                lines.append(last)
            got += lines
        same("".join(got).encode(), text.encode())


# --- Trees ----------------------------------------------------------------------------------------


@test
def agents_trees(case):
    """An agent's server reaches only that agent's tree."""
    with case.mount() as m, on_mount(case) as outer:
        outside = store(outer, "the parent's secret\n")
        m.make("agents/a/persistent/notes/own.txt", b"its own secret\n")
        m.make("agents/b/persistent/notes/other.txt", b"another's secret\n")
        with Stdio("-d", case.mnt, "--agent", "a") as client:
            listed = [f["path"] for f in client.call("memory_list")["files"]]
            assert listed == ["persistent/notes/own.txt"], listed
            names = [r["name"] for r in client.pages("resources/list", "resources")]
            assert names == listed, names
            for name in (
                outside,
                f"offload://{outside}",
                "agents/b/persistent/notes/other.txt",
                "../b/persistent/notes/other.txt",
                m("agents/b/persistent/notes/other.txt"),
                m("cache"),
            ):
                client.complaint("memory_fetch", memory_id=name)
            fails(client, -32602, "resources/read", uri=f"offload://{outside}")
            found = client.call("memory_grep", pattern="secret")
            assert found["lines"] == [listed[0] + ":1:its own secret"], found
            hits = client.call("memory_search", query="secret")["hits"]
            assert {h["path"] for h in hits} == set(listed), hits
            inside = store(client, "stored by a\n")
        assert m.serves() and outer.call("memory_fetch", memory_id=inside)["text"] == "stored by a\n"
        with Stdio("-d", case.mnt, OFFLOAD_AGENT="b") as client:
            client.complaint("memory_fetch", memory_id=inside)


@test(variants={"option": True, "environment": False})
def task(case, by_option):
    options, environment = (["--task", "job"], {}) if by_option else ([], {"OFFLOAD_TASK": "job"})
    with case.mount(), Stdio("-d", case.mnt, *options, **environment) as client:
        got = client.call("memory_offload", content="x\n")["memory_refs"][0]
        assert got["task"] == "job" and got["path"].startswith("tasks/job/"), got
        got = client.call("memory_offload", content="y\n", task="other")["memory_refs"][0]
        assert got["path"].startswith("tasks/other/"), got


@test
def no_store_yet(case):
    """Reading fails as long as there is no store. Storing makes it."""
    with on_store(case) as client:
        assert client.request("tools/list")["tools"]
        client.complaint("memory_fetch", memory_id="abc123")
        ref = store(client, "the first\n")
        assert client.call("memory_fetch", memory_id=ref)["text"] == "the first\n"


@test
def mounted_meanwhile(case):
    """The server neither prevents mounting nor unmounting."""
    with on_store(case) as client:
        ref = store(client, "before\n")
        with case.mount() as m:
            assert client.call("memory_fetch", memory_id=ref)["text"] == "before\n"
            other = store(client, "during\n")
            assert os.path.exists(m(f"refs/{other}"))
        assert client.call("memory_fetch", memory_id=other)["text"] == "during\n"


@test
def daemon_killed(case):
    """The daemon dies between two calls and is started again. The server continues."""
    with case.mount() as m, on_mount(case) as client:
        ref = store(client, "kept\n")
        m.kill9()  # the store is read without a daemon
        assert client.call("memory_fetch", memory_id=ref)["text"] == "kept\n"
        m.start()
        assert client.call("memory_fetch", memory_id=ref)["text"] == "kept\n"
        m.crash()
        assert client.call("memory_fetch", memory_id=ref)["text"] == "kept\n"
        assert store(client, "kept\n") == ref


@test(timeout=120)
def daemon_hangs(case):
    """
    Every request is still answered, at once if it needs no tree. A server whose input has ended
    exits although a call never returns.
    """
    with case.mount() as m, on_mount(case, OFFLOAD_TIMEOUT="1") as client:
        ref = store(client, "kept\n")
        other = on_mount(case, OFFLOAD_TIMEOUT="1")
        assert other.call("memory_fetch", memory_id=ref)["text"] == "kept\n"
        fetch = {"name": "memory_fetch", "arguments": {"memory_id": ref}}
        with stopped(m.process.pid):
            calls = [client.make("tools/call", fetch) for _ in range(12)]
            calls.append(client.make("resources/read", {"uri": f"offload://{ref}"}))
            for call in calls:
                client.send(call)
            other.send(other.make("tools/call", fetch))
            other.process.stdin.close()
            assert client.request("tools/list")["tools"]
            for call in calls[:-1]:
                result = client.receive(call["id"], 60)["result"]
                assert result["isError"] and result["content"][0]["text"], result
            assert client.receive(calls[-1]["id"])["error"]["code"] == -32603
            assert other.receive(other.last_id)["result"]["isError"]
            other.close()
        assert client.call("memory_fetch", memory_id=ref)["text"] == "kept\n"


@test
def cancelled(case):
    """A request that is cancelled before it is answered gets no answer."""
    with case.mount() as m, on_mount(case) as client:
        ref = store(client, "kept\n")
        call = {"name": "memory_fetch", "arguments": {"memory_id": ref}}
        with stopped(m.process.pid):
            for number in ("first", 2, "third"):
                client.send({**client.make("tools/call", call), "id": number})
            for number in ("first", 2, "never sent", "2"):
                client.send(
                    {
                        "jsonrpc": "2.0",
                        "method": "notifications/cancelled",
                        "params": {"requestId": number, "reason": "a test"},
                    }
                )
            assert client.request("tools/list")["tools"]
        assert client.receive("third")["result"]["structuredContent"]["text"] == "kept\n"
        client.silent()
        eventually(lambda: client.call("memory_fetch", memory_id=ref), "it goes on")


if __name__ == "__main__":
    main()
