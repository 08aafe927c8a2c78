#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`offload serve`: its answers, who may ask, and trees that come and go."""
import base64
import concurrent.futures
import contextlib
import hashlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import time
import urllib.parse

import paths  # noqa: F401
from harness import OFFLOAD, ROOT, SLOW, Skip, as_nobody, eventually, main, read, run, same, stopped, test, write
from schema import check
from serve import Server, exchange, statuses

TRANSPORTS = {"unix": False, "tcp": True}
LISTEN = ("--listen", "127.0.0.1:0")
BOTH = ("--socket", "s.sock", *LISTEN)
TEXT = "".join(f"line {n} of a result\n" for n in range(1, 101))


def both(case):
    """Returns the options for a server with both transports."""
    return "--socket", case.path("run", "s.sock"), *LISTEN


def quoted(path):
    return urllib.parse.quote(path, safe="")


# --- Answers --------------------------------------------------------------------------------------


@test(variants=TRANSPORTS)
def every_call_is_there(case, tcp):
    with case.mount() as m, Server(case, *both(case)) as s:
        get = lambda path: s.get(path, tcp=tcp)
        post = lambda path, body, **more: s.post(path, body, tcp=tcp, **more)
        told = post(
            "/v1/memories", {"content": TEXT, "title": "a result", "task": "t"}, status=201
        )
        ref, path = told["memory_refs"][0]["id"], told["memory_refs"][0]["path"]
        assert ref in told["pointer"] and os.path.exists(m(path)), told
        assert [f["id"] for f in get("/v1/memories?task=t&limit=5")["files"]] == [ref]
        assert get("/v1/memories?task=other")["files"] == []
        lines = get(f"/v1/memories/{ref}?line_start=3&line_end=4")
        assert lines["text"] == "line 3 of a result\nline 4 of a result\n", lines
        assert get(f"/v1/memories/{quoted(path)}?byte_offset=0&byte_len=4")["text"] == "line"
        assert get(f"/v1/memories/{ref}/info")
        assert post(f"/v1/memories/{ref}/pin", {"important": True})["important"] is True
        assert get("/v1/search?query=line%2042")["hits"]
        assert post("/v1/search", {"query": "line 42"})["hits"]
        assert get("/v1/grep?pattern=line+42&ignore_case=true")["matches"] == 1
        assert post("/v1/grep", {"pattern": "LINE 42"})["matches"] == 0
        moved = post(f"/v1/memories/{ref}/promote", {"tier": "long-term", "tags": ["x", "y"]})
        assert moved["moved"] and moved["path"].startswith("persistent/"), moved
        assert get("/v1/memories?tag=x")["files"][0]["tags"] == ["x", "y"]
        assert [t["task"] if "task" in t else t["name"] for t in get("/v1/tasks")["tasks"]]
        assert get("/v1/agents")["agents"] == []
        assert get("/v1/stats?by=day,way")["rows"]
        assert get("/v1/usage")["groups"]
        step = post("/v1/reduce", {"tool": "Bash", "args": {"command": "ls"}, "result": "a\nb\n"})
        assert post("/v1/compact", {"steps": [step]})["text"]
        chat = {"messages": [{"role": "user", "content": "hello"}]}
        assert post("/v1/context", chat)["messages"] == chat["messages"]
        assert get("/health") == {"status": "ok", "version": get("/health")["version"], "mounted": True}


@test
def content_is_exact_and_has_ranges(case):
    data = b"\0" + os.urandom(3 << 20) + b"the end\n"
    with case.mount() as m, Server(case) as s:
        m.make("cache/web/blob.bin", data)
        at = f"/v1/memories/{quoted('cache/web/blob.bin')}/content"
        whole = s.request("GET", at)
        same(whole.body, data)
        assert whole.headers["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in whole.headers["Content-Security-Policy"]
        assert whole.headers["Content-Type"] == "application/octet-stream"
        for span, part in {
            "0-0": data[:1],
            "5-1999999": data[5:2000000],
            f"{len(data) - 8}-": b"the end\n",
            "-8": b"the end\n",
            f"100-{len(data) * 2}": data[100:],
            f"-{len(data) * 2}": data,
        }.items():
            answer = s.request("GET", at, headers={"Range": f"bytes={span}"})
            assert answer.status == 206, (span, answer)
            same(answer.body, part, span)
            assert answer.headers["Content-Range"].endswith(f"/{len(data)}")
        for odd in ("lines=1-2", "bytes=2-1", "bytes=a-b", "bytes=0-1,3-4", "bytes=", "bytes=-"):
            answer = s.request("GET", at, headers={"Range": odd})
            assert answer.status == 200 and len(answer.body) == len(data), odd
        for beyond in (len(data), 1 << 70):
            late = s.request("GET", at, headers={"Range": f"bytes={beyond}-"})
            assert late.status == 416, beyond
            assert late.headers["Content-Range"] == f"bytes */{len(data)}"
        answer = s.request("GET", at, headers={"Range": f"bytes={1 << 70}-5"})
        assert answer.status == 200 and len(answer.body) == len(data)
        head = s.request("HEAD", at, headers={"Range": "bytes=0-3"})  # for GET alone
        assert head.status == 200 and not head.body
        assert int(head.headers["Content-Length"]) == len(data)
        etag = head.headers["ETag"]
        for tags in (etag, f'"a", {etag}', f"W/{etag}", "*"):
            given = {"If-None-Match": tags, "Range": f"bytes={len(data)}-"}
            assert s.request("GET", at, headers=given).status == 304, tags
        assert s.request("GET", at, headers={"If-None-Match": '"a", "b"'}).status == 200
        part = {"Range": "bytes=0-3", "If-Range": etag}
        assert s.request("GET", at, headers=part).status == 206
        write(m("cache/web/blob.bin"), b"other")
        assert s.request("GET", at, headers=part).status == 200
        same(s.request("GET", at).body, b"other")
        m.make("cache/web/empty", b"")
        assert s.request("GET", f"/v1/memories/{quoted('cache/web/empty')}/content").body == b""
        s.refuses("GET", "/v1/memories/cache%2Fweb/content", saying="not a file")


@test
def content_is_text_where_it_is(case):
    with case.mount(), Server(case) as s:
        ref = s.put("<script>alert(1)</script>\n")["id"]
        answer = s.request("GET", f"/v1/memories/{ref}/content")
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert answer.body == b"<script>alert(1)</script>\n"


@test
def json_stays_what_it_was(case):
    """A NUL is a character, and a number keeps its digits."""
    with case.mount(), Server(case) as s:
        ref = s.put("a\0b\u200d\n" * 9)["id"]
        same(s.request("GET", f"/v1/memories/{ref}/content").body, "a\0b\u200d\n".encode() * 9)
        s.refuses("POST", "/v1/search", {"query": "a\0b"}, saying="NUL")
        sums = '{"sum":1286.95,"rate":0.1,"odd":0.30000000000000004}'
        call = '{"id":"c1","type":"function","function":{"name":"pay","arguments":%s}}' % sums
        asked = '{"role":"assistant","content":null,"tool_calls":[%s]}' % call
        lines = "paid \\u0000 \u200d\\n" * 2000
        told = '{"role":"tool","tool_call_id":"c1","content":"%s"}' % lines
        body = '{"messages":[%s,%s],"chat_id":"sums"}' % (asked, told)
        header = {"Content-Type": "application/json"}
        answer = s.request("POST", "/v1/context", body.encode(), headers=header)
        assert answer.status == 200, answer
        assert asked in answer.body.decode(), answer.body
        messages = json.loads(answer.body)["messages"]
        title = "[offloaded] pay sum=1286.95, rate=0.1, odd=0.30000000000000004:"
        assert messages[1]["content"].startswith(title), messages[1]
        again = s.post("/v1/context", {"messages": messages, "mode": "restore"})
        assert again["messages"] == json.loads(body)["messages"]


@test
def errors_have_their_status(case):
    with case.mount("task_idle=1h"), Server(case) as s:
        ref = s.put("a text\n", name="x.txt")["id"]
        s.refuses("GET", "/v1/memories/nosuch01", status=404)
        s.refuses("GET", f"/v1/memories/{ref}?line_start=99", status=416)
        s.refuses("GET", f"/v1/memories/{ref}?line_start=0", saying="line_start")
        s.refuses("GET", f"/v1/memories/{ref}?nonsense=1", saying="nonsense")
        s.refuses("GET", f"/v1/memories/{ref}?line_start=1&line_start=2", saying="twice")
        s.refuses("POST", "/v1/memories", {"content": "other", "name": "x.txt"}, status=409)
        s.refuses("POST", "/v1/memories", {"text": "a"}, saying="content")
        s.refuses("POST", "/v1/memories", b"{", saying="not JSON", headers={"Content-Type": "application/json"})
        s.refuses("POST", "/v1/memories", b"[]", saying="object", headers={"Content-Type": "application/json"})
        s.refuses("POST", "/v1/memories", b"{}", status=415, saying="Content-Type")
        s.refuses("POST", "/v1/memories", b'{"content":"a","content":"b"}', headers={"Content-Type": "application/json"})
        s.refuses("GET", "/v1/nothing", status=404)
        s.refuses("PUT", "/v1/memories", status=405)
        allowed = s.request("DELETE", f"/v1/memories/{ref}")
        assert allowed.status == 405 and allowed.headers["Allow"] == "GET, HEAD"
        s.refuses("GET", f"/v1/memories/{ref}?memory_id=x", saying="path")


@test
def a_person_is_told_to_no_ledger(case):
    person = {"Offload-Reader": "person"}
    with case.mount() as m, Server(case) as s:
        body = {"content": "of a person\n"}
        told = s.post("/v1/memories", body, status=201, headers=person)["memory_refs"][0]
        assert s.get(f"/v1/memories/{told['id']}", headers=person)["text"] == body["content"]
        assert s.get("/v1/stats")["rows"] == []


@test
def an_expired_content_is_gone(case):
    with case.mount(), Server(case) as s:
        ref = s.put("soon gone\n" * 10, task="t")["id"]
        run(OFFLOAD, "task", "done", "--drop-all", "-d", case.mnt, "t")
        error = s.refuses("GET", f"/v1/memories/{ref}", status=410)
        assert error["code"] == "expired", error


@test
def every_reply_has_the_headers_of_security(case):
    with case.mount(), Server(case, *both(case)) as s:
        ref = s.put("a text\n")["id"]
        for path in ("/health", "/v1/tasks", f"/v1/memories/{ref}/content", "/nothing", "/", "/openapi.json"):
            for token in (True, False):
                headers = s.request("GET", path, tcp=True, token=token).headers
                assert headers["X-Content-Type-Options"] == "nosniff", path
                assert headers["Cache-Control"] == "no-store", path
                assert headers["Referrer-Policy"] == "no-referrer", path
                assert headers["Cross-Origin-Resource-Policy"] == "same-origin", path
                assert "frame-ancestors 'none'" in headers["Content-Security-Policy"], path
                assert "Access-Control-Allow-Origin" not in headers, path


# --- The description ------------------------------------------------------------------------------

STEP = {"step": 1, "tool": "Bash", "observation": "listed 2 files"}
# Arguments that each route accepts. {ref} is the ref of a text.
ARGUMENTS = {
    "GET /v1/memories": "",
    "POST /v1/memories": {"content": "a text of its own\n"},
    "GET /v1/memories/{id}": "?line_start=1",
    "POST /v1/memories/{id}/promote": {"tier": "long-term"},
    "POST /v1/memories/{id}/pin": {},
    "GET /v1/search": "?query=text",
    "POST /v1/search": {"query": "text"},
    "GET /v1/grep": "?pattern=text",
    "POST /v1/grep": {"pattern": "text"},
    "POST /v1/context": {"messages": [{"role": "user", "content": "hello"}]},
    "POST /v1/reduce": {"tool": "Bash", "args": {"command": "ls"}, "result": "a\n"},
    "POST /v1/compact": {"steps": [STEP]},
    "POST /mcp": {"jsonrpc": "2.0", "id": 1, "method": "ping"},
    "POST /context_offload": {"messages": []},
    "POST /summary_working_memory": {"messages": []},
    "POST /grep": {"pattern": "text"},
    "POST /grep_working_memory": {"pattern": "text", "file_path": "x"},
    "POST /read_file": {"absolute_path": "x"},
    "POST /context_reload": {"absolute_path": "x"},
    "POST /read_working_memory": {"file_path": "x", "offset": 0, "limit": 10},
}


def send(s, method, path, given, **options):
    if isinstance(given, str):
        return s.request(method, path + given, **options)
    return s.request(method, path, given, **options)


def provoke(s, method, path, status, ref, given):
    """Makes a request that the route answers with this status."""
    there = path.replace("{id}", ref)
    if status == "401":
        return send(s, method, there, given, tcp=True, token=False)
    if status == "403":
        return send(s, method, there, given, tcp=True, headers={"Origin": "http://evil.example"})
    if status == "404":
        return send(s, method, path.replace("{id}", "nosuch01"), given)
    if status in ("400", "422") and method == "POST":
        return s.request("POST", there, b"no JSON", headers={"Content-Type": "application/json"})
    if status == "400":
        return s.request("GET", there + "?nonsense=1")
    return send(s, method, there, given)


@test(timeout=120)
def the_description_is_true(case):
    with case.mount(), Server(case, *both(case)) as s:
        ref = s.put(TEXT)["id"]
        described = s.get("/openapi.json")
        assert described["openapi"].startswith("3.1")
        names = set()
        for path, operations in described["paths"].items():
            for method, operation in operations.items():
                method = method.upper()
                assert operation["operationId"] not in names
                names.add(operation["operationId"])
                given = ARGUMENTS.get(f"{method} {path}", "" if method == "GET" else {})
                if path == "/v1/events":
                    check_events(s, operation)
                    continue
                for status, response in operation["responses"].items():
                    if status == "default":
                        continue
                    answer = provoke(s, method, path, status, ref, given)
                    where = f"{method} {path} {status}"
                    assert answer.status == int(status), f"{where}: {answer}"
                    check_body(answer, response, described, where)


def check_body(answer, response, described, where):
    kind = answer.headers["Content-Type"].split(";")[0]
    if kind == "text/plain" and "application/octet-stream" in response["content"]:
        kind = "application/octet-stream"
    assert kind in response["content"], f"{where}: {kind}"
    if kind == "application/json":
        check(answer.json, response["content"][kind]["schema"], described, where)


def check_events(s, operation):
    assert set(operation["responses"]) == {"200", "401", "403", "default"}
    assert s.request("GET", "/v1/events", tcp=True, token=False).status == 401
    with s.events() as events:
        ref = s.put("seen by who follows\n")["id"]
        assert any(event["data"]["ref"] == ref for event in events)


@test
def arguments_are_checked_as_described(case):
    """The server refuses what a parameter's schema refuses."""
    with case.mount(), Server(case) as s:
        for path, operations in s.get("/openapi.json")["paths"].items():
            for p in operations.get("get", {}).get("parameters", []):
                if p["in"] != "query" or p["schema"].get("type") not in ("integer", "boolean"):
                    continue
                at = path.replace("{id}", "x") + f"?{p['name']}=banana&query=a&pattern=a"
                s.refuses("GET", at)


# --- Access ---------------------------------------------------------------------------------------


@test
def tcp_needs_the_token(case):
    with case.mount(), Server(case, *both(case)) as s:
        assert stat.S_IMODE(os.stat(s.token_file).st_mode) == 0o600
        basic = base64.b64encode(f"anybody:{s.token}".encode()).decode()
        near = s.token[:-1] + ("a" if s.token[-1] != "a" else "b")
        good = (f"Bearer {s.token}", f"bearer {s.token}", f"Basic {basic}")
        bad = (
            f"Bearer {near}", f"Bearer {s.token}x", f"Bearer {s.token[:-1]}", "Bearer ", "Bearer",
            s.token, f"Token {s.token}", "Basic", "Basic !!!!", "Basic OnRva2Vu",
        )  # fmt: skip
        for value in good:
            s.get("/v1/tasks", tcp=True, token=False, headers={"Authorization": value})
        for value in bad:
            s.refuses("GET", "/v1/tasks", status=401, tcp=True, headers={"Authorization": value})
        s.refuses("GET", "/v1/tasks", status=401, tcp=True, token=False)
        s.refuses("GET", "/v1/nothing", status=401, tcp=True, token=False)
        s.refuses("POST", "/v1/memories", {"content": "a"}, status=401, tcp=True, token=False)
        assert s.get("/v1/memories")["files"] == []
        assert s.get("/health", tcp=True, token=False)["status"] == "ok"


@test
def a_token_stays_and_can_be_given(case):
    with case.mount():
        with Server(case, *LISTEN) as s:
            first = s.token
            assert not s.sockets
        with Server(case, *LISTEN) as s:
            assert s.token == first
        own = case.path("own")
        write(own, b"0123456789abcdef\n")
        os.chmod(own, 0o600)
        with Server(case, *LISTEN, "--token-file", own) as s:
            assert s.token == "0123456789abcdef" and s.get("/v1/tasks", tcp=True)
        for mode, text, saying in (
            (0o644, b"0123456789abcdef\n", "other users"),
            (0o600, b"short\n", "no token"),
            (0o600, b"two lines of\nsomething\n", "no token"),
        ):
            write(own, text)
            os.chmod(own, mode)
            fails(case, saying, *LISTEN, "--token-file", own)
        fails(case, "cannot open", *LISTEN, "--token-file", case.path("nothing"))


def fails(case, saying, *words):
    server = Server(case, *words).launch()
    out, said = server.process.communicate(timeout=40 * SLOW)
    assert server.process.returncode == 1, (out, said)
    assert len(said.splitlines()) == 1 and saying in said.decode(), said


@test
def the_page_is_announced_once(case):
    with case.mount():
        for token in (True, False):
            server = Server(case, *LISTEN)
            server.launch = lambda self=server: None
            process = subprocess.Popen(
                [OFFLOAD, "serve", *server.where, *LISTEN],
                stdout=subprocess.PIPE, env=server.environment, cwd="/",
            )  # fmt: skip
            line = process.stdout.readline().decode()
            process.terminate()
            assert process.wait(40 * SLOW) == 0
            assert ("/#token=" in line) == token, line


@test
def only_the_loopback_without_a_word_more(case):
    with case.mount():
        fails(case, "--allow-remote", "--listen", "0.0.0.0:0")
        fails(case, "is not an address", "--listen", "8377")
        fails(case, "is not an address", "--listen", "example.org:80")
        with Server(case, "--listen", "0.0.0.0:0", "--allow-remote") as s:
            at = s.address[1]
            with contextlib.closing(socket.create_connection(("127.0.0.1", at))) as raw:
                request = f"GET /v1/tasks HTTP/1.1\r\nHost: any.name\r\nAuthorization: Bearer {s.token}\r\nConnection: close\r\n\r\n"
                assert statuses(exchange(raw, request.encode())) == [200]


@test
def the_names_of_the_loopback_are_known(case):
    with case.mount(), Server(case, *LISTEN) as s:
        port = s.address[1]
        for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"):
            s.get("/v1/tasks", tcp=True, headers={"Host": host, "Origin": f"http://{host}"})


@test
def a_socket_is_its_owners(case):
    with case.mount(), Server(case) as s:
        path = s.sockets[0]
        assert path.startswith(s.runtime + "/offloadfs/")
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700


@test
def another_user_is_not_let_in(case):
    if not ROOT:
        raise Skip("needs root")
    with case.mount(), Server(case, "--socket", case.path("run", "s.sock")) as s:
        case.open_to_others()
        os.chmod(case.path("run"), 0o711)
        os.chmod(s.sockets[0], 0o666)

        def ask():
            answer = s.request("GET", "/health")
            assert answer.status == 403, answer

        as_nobody(ask)


@test
def a_dead_socket_is_replaced_and_a_living_one_is_not(case):
    with case.mount():
        first = Server(case).start()
        first.process.kill()
        first.process.communicate()
        with Server(case) as s:
            assert s.sockets == first.sockets and s.get("/health")
            fails(case, f"process {s.process.pid} serves")
            assert s.get("/health")
        assert not os.path.exists(s.sockets[0])
        write(s.sockets[0], b"precious")
        fails(case, "not a socket")
        with open(s.sockets[0], "rb") as f:
            assert f.read() == b"precious"
        os.mkdir(case.path("open"))
        os.chmod(case.path("open"), 0o777)
        fails(case, "other users can write", "--socket", case.path("open", "s.sock"))
        fails(case, "too long", "--socket", case.path("x" * 100))


# --- Agents ---------------------------------------------------------------------------------------


@test(variants={"mounted": True, "unmounted": False})
def an_agent_is_named_in_a_header(case, mounted):
    with contextlib.ExitStack() as stack:
        m = stack.enter_context(case.mount())
        m.make("cache/web/above", b"of the tree above\n")
        os.makedirs(m("agents/a"))
        os.makedirs(m("agents/a/agents/b"))
        if not mounted:
            m.unmount()
        s = stack.enter_context(Server(case, where=None if mounted else ["--store", case.store]))
        for agent in ("a", "a/b"):
            header = {"Offload-Agent": agent}
            told = s.post("/v1/memories", {"content": f"of {agent}\n"}, status=201, headers=header)
            ref = told["memory_refs"][0]["id"]
            files = s.get("/v1/memories", headers=header)["files"]
            assert ref in [f["id"] for f in files]
            assert not any("above" in f["path"] for f in files)
            assert s.get(f"/v1/memories/{ref}", headers=header)["text"] == f"of {agent}\n"
        above = {"Offload-Agent": "a"}
        s.refuses("GET", "/v1/memories/cache%2Fweb%2Fabove", status=404, headers=above)
        s.refuses("GET", "/v1/memories/..%2F..%2Fcache%2Fweb%2Fabove", headers=above)
        for bad in ("../a", "a/../b", "", "/a", "a//b"):
            s.refuses("GET", "/v1/memories", status=400, headers={"Offload-Agent": bad})
        s.refuses("GET", "/v1/memories", status=404, headers={"Offload-Agent": "nobody"})
        if not mounted:
            m.start()


# --- Trees that come and go -----------------------------------------------------------------------


@test
def the_daemon_may_be_another_one(case):
    m = case.mount()
    with Server(case) as s:
        ref = s.put("kept\n")["id"]
        for change in (m.crash, m.remount, m.crash):
            change()
            assert s.get(f"/v1/memories/{ref}")["text"] == "kept\n"
        m.kill9()
        # For a dead mount, either the tree is unreachable or its store is read.
        assert s.request("GET", f"/v1/memories/{ref}").status in (200, 503)
        m.start()
        assert s.get(f"/v1/memories/{ref}")["text"] == "kept\n"
        m.unmount()


@test
def a_store_need_not_be_mounted(case):
    with Server(case, where=["--store", case.store]) as s:
        assert s.get("/health")["mounted"] is False
        ref = s.put("at rest\n")["id"]
        at = f"/v1/memories/{ref}/content"
        assert s.request("GET", at).body == b"at rest\n"
        with case.mount():
            assert s.get("/health")["mounted"] is True
            assert s.request("GET", at).body == b"at rest\n"
            other = s.put("mounted\n")["id"]
        assert s.request("GET", f"/v1/memories/{other}/content").body == b"mounted\n"


@test
def a_server_keeps_no_tree(case):
    with case.mount() as m, Server(case, where=["-d", case.mnt]) as s:
        s.put("a text\n")
        with s.events() as events:
            m.unmount()
            m.start()
            ref = s.put("after it\n")["id"]
            assert any(event["data"]["ref"] == ref for event in events)


@test(timeout=120)
def a_daemon_that_hangs_is_answered_for(case):
    with case.mount() as m, Server(case, "--timeout", "1") as s:
        ref = s.put("a text\n")["id"]
        with stopped(m.process.pid):
            with concurrent.futures.ThreadPoolExecutor(30) as pool:
                hung = [pool.submit(s.request, "GET", f"/v1/memories/{ref}") for _ in range(30)]
                for each in hung:
                    answer = each.result()
                    assert answer.status == 503 and answer.headers["Retry-After"], answer
            assert s.request("GET", "/openapi.json").status == 200
        eventually(
            lambda: s.request("GET", f"/v1/memories/{ref}").status == 200, "the tree is back"
        )
        assert s.metric("offloadfs_serve_late_total") >= 30


@test
def what_runs_is_finished_before_the_end(case):
    with case.mount() as m:
        s = Server(case).start()
        body = json.dumps({"content": "to the end\n"}).encode()
        with contextlib.closing(s.raw()) as raw:
            raw.sendall(
                b"POST /v1/memories HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body)
            )
            assert raw.recv(1000).startswith(b"HTTP/1.1 100 ")
            s.process.send_signal(signal.SIGTERM)
            eventually(lambda: not listens(s), "nothing new is taken")
            answer = exchange(raw, body)
        assert statuses(answer) == [201] and b"Connection: close" in answer, answer
        assert s.process.wait(40 * SLOW) == 0
        s.process.communicate()


def listens(s):
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as c:
        return c.connect_ex(s.sockets[0]) == 0


# --- Events ---------------------------------------------------------------------------------------


@test(variants={"mounted": True, "unmounted": False})
def events_tell_what_happens(case, mounted):
    with contextlib.ExitStack() as stack:
        where = ["-d", case.mnt] if mounted else ["--store", case.store]
        if mounted:
            stack.enter_context(case.mount())
        s = stack.enter_context(Server(case, where=where))
        before = s.put("before anybody follows\n")["id"]
        if mounted:
            eventually(lambda: newest(s) == before, "the log has it")
        with s.events() as events, s.events() as others:
            ref = s.put("while somebody does\n")["id"]
            for stream in (events, others):
                event = next(stream)
                assert event["event"] == "offload" and event["data"]["ref"] == ref, event
            s.post(f"/v1/memories/{ref}/promote", {})
            promoted = next(events)
            assert promoted["event"] == "promote", promoted
        with s.events(**{"Last-Event-ID": event["id"]}) as again:
            assert next(again) == promoted
        with s.events("/v1/events?after=0") as all_of_it:
            assert [next(all_of_it)["data"]["ref"] for _ in range(3)] == [before, ref, ref]
        s.refuses("GET", "/v1/events?after=x")
        s.refuses("GET", "/v1/events?nonsense=1")
        eventually(lambda: s.metric("offloadfs_serve_followers") == 0, "nobody follows")


def newest(s):
    with s.events("/v1/events?after=0") as events:
        return next(events)["data"]["ref"]


@test
def the_events_of_an_agent_are_its_own(case):
    with case.mount() as m, Server(case) as s:
        os.makedirs(m("agents/a"))
        with s.events(**{"Offload-Agent": "a"}) as events:
            s.put("above\n")
            told = s.post(
                "/v1/memories", {"content": "its own\n"}, status=201, headers={"Offload-Agent": "a"}
            )
            event = next(events)
            assert event["data"]["ref"] == told["memory_refs"][0]["id"], event
            assert event["data"]["path"].startswith("cache/"), event
        s.refuses("GET", "/v1/events", status=404, headers={"Offload-Agent": "nobody"})


@test
def events_end_with_the_server(case):
    with case.mount():
        s = Server(case).start()
        with s.events() as events:
            s.put("a text\n")
            next(events)
            s.process.send_signal(signal.SIGTERM)
            assert list(events) == []
        assert s.process.wait(40 * SLOW) == 0
        s.process.communicate()


# --- Limits ---------------------------------------------------------------------------------------


@test
def bodies_have_a_limit(case):
    with case.mount(), Server(case, "--max-body", "1") as s:
        assert s.put("x" * (1 << 19))["bytes"] == 1 << 19
        s.refuses("POST", "/v1/memories", {"content": "x" * (1 << 20)}, status=413)
        s.refuses("POST", "/v1/search", {"query": "x" * (1 << 20)}, status=413)
        parts = iter([b"x" * 0x10000] * 20)
        s.refuses("POST", "/v1/memories", parts, status=413, headers={"Transfer-Encoding": "chunked"})
        assert s.get("/v1/memories")["total"]["files"] == 1


@test
def a_chunked_body_is_a_body(case):
    with case.mount(), Server(case) as s:
        text = json.dumps({"content": TEXT * 100}).encode()
        with contextlib.closing(s.connection()) as c:
            c.request(
                "POST", "/v1/memories", iter([text[:10], text[10:70000], text[70000:]]),
                {"Content-Type": "application/json"}, encode_chunked=True,
            )  # fmt: skip
            response = c.getresponse()
            ref = json.loads(response.read())["memory_refs"][0]["id"]
        assert s.request("GET", f"/v1/memories/{ref}/content").body == (TEXT * 100).encode()


@test
def connections_are_used_again(case):
    with case.mount(), Server(case, *both(case)) as s:
        for tcp in (False, True):
            with contextlib.closing(s.connection(tcp)) as c:
                c.connect()
                before = c.sock
                for _ in range(5):
                    c.request("GET", "/v1/tasks", headers={"Authorization": f"Bearer {s.token}"})
                    assert c.getresponse().read()
                    assert c.sock is before


@test
def the_idle_are_cut(case):
    with case.mount(), Server(case, "--idle", "1") as s:
        with contextlib.closing(s.raw()) as silent, contextlib.closing(s.raw()) as slow:
            slow.sendall(b"GET /health HT")
            assert silent.recv(10) == b"" and slow.recv(1000) in (b"", b"HTTP/1.1 408")
        with contextlib.closing(s.connection()) as c:
            c.request("GET", "/health")
            c.getresponse().read()
            assert c.sock.recv(10) == b""


# --- systemd --------------------------------------------------------------------------------------


@test
def sockets_may_be_handed_over(case):
    with case.mount():
        path = case.path("given.sock")
        with contextlib.ExitStack() as stack:
            given = stack.enter_context(contextlib.closing(socket.socket(socket.AF_UNIX)))
            given.bind(path)
            given.listen()
            tcp = stack.enter_context(contextlib.closing(socket.create_server(("127.0.0.1", 0))))
            s = Server(case)
            script = 'exec 3<&"$1" 4<&"$2"; shift 2; LISTEN_PID=$$ LISTEN_FDS=2 exec "$@"'
            process = subprocess.Popen(
                ["bash", "-c", script, "sh", str(given.fileno()), str(tcp.fileno()),
                 OFFLOAD, "serve", "--json", *s.where],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=s.environment,
                pass_fds=(given.fileno(), tcp.fileno()),
            )  # fmt: skip
            told = json.loads(process.stdout.readline())
            s.process = process
            assert told["sockets"] == [path], told
            s.sockets, s.urls = told["sockets"], told["urls"]
            with open(told["token_file"]) as f:
                s.token = f.read().strip()
            assert s.get("/v1/tasks") == s.get("/v1/tasks", tcp=True)
            process.terminate()
            assert process.wait(40 * SLOW) == 0
            process.communicate()
            assert os.path.exists(path), "what was handed over is not ours to remove"


@test
def the_units_are_what_systemd_takes(case):
    if not shutil.which("systemd-analyze"):
        raise Skip("there is no systemd-analyze")
    instance = case.dir[1:].replace("-", r"\x2d").replace("/", "-")
    names = []
    for kind in ("service", "socket"):
        unit = read(os.path.join(os.path.dirname(OFFLOAD), f"offload-serve@.{kind}")).decode()
        names.append(case.path(f"offload-serve@{instance}.{kind}"))
        program = next(
            (line.split("=")[1].split()[0] for line in unit.splitlines() if "ExecStart" in line), ""
        )
        write(names[-1], unit.replace(program or "\0", OFFLOAD).encode())
    done = run(
        "systemd-analyze", "--user", "--man=no", "verify", *names,
        check=False, env={**os.environ, "XDG_RUNTIME_DIR": case.dir},
    )  # fmt: skip
    said = [line for line in done.stderr.decode().splitlines() if "offload" in line]
    assert done.returncode == 0 and not said, done.stderr.decode()


# --- Many at once ---------------------------------------------------------------------------------


@test(timeout=180)
def nothing_is_lost_under_load(case):
    m = case.mount()
    s = Server(case).start()
    kept = {}

    def client(number):
        with contextlib.closing(s.connection()) as c:
            for n in range(15):
                text = f"client {number}, text {n}\n" * (1 + n * number % 50)
                c.request("POST", "/v1/memories", json.dumps({"content": text}), {"Content-Type": "application/json"})
                response = c.getresponse()
                told = json.loads(response.read())
                assert response.status == 201, told
                ref = told["memory_refs"][0]["id"]
                kept[ref] = text
                c.request("GET", f"/v1/memories/{ref}/content")
                assert c.getresponse().read().decode() == text

    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        list(pool.map(client, range(40)))
    assert len(kept) == 40 * 15
    s.process.kill()
    s.process.communicate()
    m.crash()
    with Server(case) as s:
        for ref, text in kept.items():
            assert s.request("GET", f"/v1/memories/{ref}/content").body.decode() == text
    m.unmount()


@test(timeout=120)
def folders_for_all_users_leave_files_private(case):
    """The mask of the process is lifted for such a folder, and for nothing else."""
    def masks(s):
        tasks = f"/proc/{s.process.pid}/task"
        for task in os.listdir(tasks):
            # A thread may end meanwhile.
            with contextlib.suppress(OSError), open(f"{tasks}/{task}/status") as f:
                yield from (line.split()[1] for line in f if line.startswith("Umask"))

    with case.mount() as m, Server(case, "--socket", case.path("s.sock"), umask=0o027) as s:
        os.chmod(m("cache"), 0o1777)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for n in range(20):
                put = lambda i, n=n: s.put(TEXT + str(i), category=f"c{n}-{i}")
                list(pool.map(put, range(8)))
                assert set(masks(s)) == {"0027"}, (n, set(masks(s)))
        for name in os.listdir(m("cache")):
            same(stat.S_IMODE(os.stat(m("cache", name)).st_mode), 0o1777)


@test
def a_large_content_costs_little_memory(case):
    with case.mount() as m, Server(case) as s:
        digest = hashlib.sha256()
        with open(m.make("cache/web/large"), "wb") as f:
            for _ in range(64):
                block = os.urandom(1 << 20)
                digest.update(block)
                f.write(block)
        at = f"/v1/memories/{quoted('cache/web/large')}/content"
        before = s.rss()
        with contextlib.closing(s.connection()) as c:
            c.request("GET", at)
            response, got = c.getresponse(), hashlib.sha256()
            while block := response.read(1 << 20):
                got.update(block)
        assert got.digest() == digest.digest()
        assert s.rss() - before < 20 << 20 or os.environ.get("OFFLOADFS_TEST_SANITIZED"), s.rss()


if __name__ == "__main__":
    main()
