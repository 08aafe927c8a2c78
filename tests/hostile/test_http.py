#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The attacker is a client of `offload serve`: a web page, another program, another user."""
import concurrent.futures
import contextlib
import errno
import json
import os
import resource
import socket
import time
import urllib.parse

import paths  # noqa: F401
from harness import SLOW, Skip, eventually, main, test
from serve import Server, exchange, statuses

LISTEN = ("--listen", "127.0.0.1:0")
SECRET = "the key of the house\n"


def both(case):
    return "--socket", case.path("run", "s.sock"), *LISTEN


def head(s, line="GET /v1/memories HTTP/1.1", *fields, token=True):
    """Returns the start of a request over TCP, without the empty line."""
    host, port = s.address
    said = [line, f"Host: {host}:{port}"]
    if token:
        said.append(f"Authorization: Bearer {s.token}")
    return "\r\n".join([*said, *fields, ""]).encode()


def send(s, data):
    """Sends bytes. Returns everything received until the server closes the connection."""
    with contextlib.closing(s.raw(True)) as raw:
        return exchange(raw, data)


def serves(s):
    assert s.get("/v1/memories", tcp=True)["files"] is not None
    assert s.get("/health")["status"] == "ok"


# --- Web pages ------------------------------------------------------------------------------------


@test
def pages_of_others_are_kept_out(case):
    with case.mount(), Server(case, *both(case)) as s:
        host, port = s.address
        own = f"{host}:{port}"
        for name in (
            "evil.example", f"evil.example:{port}", host, f"{host}:{port + 1}", f"{own}.evil.example",
            f"evil.example@{own}", f"{own}/", "", "localhost", f"127.0.0.2:{port}", f"0.0.0.0:{port}",
        ):  # fmt: skip
            answer = s.request("GET", "/v1/memories", tcp=True, headers={"Host": name})
            assert answer.status in (400, 403), (name, answer)
            assert s.request("GET", "/", tcp=True, headers={"Host": name}).status in (400, 403)
        for origin in (
            "http://evil.example", "null", "file://", "", f"http://{own}.evil.example",
            f"http://evil.example/?{own}", f"ftp://{own}", f"http://{host}", own, f"http://{own}/",
            f"http://{own} http://evil.example", "http://", f"://{own}", f"http:{own}",
        ):  # fmt: skip
            for method, path, body in (("GET", "/v1/memories", None), ("POST", "/v1/memories", {"content": "x"})):
                s.refuses(method, path, body, status=403, tcp=True, headers={"Origin": origin})
        # What a form, an image or a no-cors fetch can send.
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a"):
            answer = s.request("POST", "/v1/memories", b'{"content":"x"}', tcp=True, headers={"Content-Type": kind})
            assert answer.status == 415, answer
        assert s.get("/v1/memories")["files"] == []
        answer = s.request("OPTIONS", "/v1/memories", tcp=True, token=False, headers={
            "Origin": "http://evil.example", "Access-Control-Request-Method": "POST"})
        assert answer.status == 403 and "Access-Control-Allow-Origin" not in answer.headers
        s.post("/v1/memories", {"content": "x"}, status=201, tcp=True, headers={"Origin": f"http://{own}"})


# --- Request smuggling ----------------------------------------------------------------------------


@test
def no_request_hides_in_another(case):
    """Only the first of these is a request. What follows must never be answered."""
    inner = b"GET /v1/memories HTTP/1.1\r\nHost: x\r\n\r\n"
    chunked = b"Transfer-Encoding: chunked\r\n"
    with case.mount(), Server(case, *both(case), "--idle", "2") as s:
        lead = "POST /v1/memories/nosuch01/pin HTTP/1.1"
        json_type = "Content-Type: application/json"

        def request(*fields, body=b""):
            return head(s, lead, json_type) + b"".join(fields) + b"\r\n" + body

        tries = {
            "two lengths": request(b"Content-Length: 2\r\n", b"Content-Length: 40\r\n", body=b"{}" + inner),
            "the same length twice": request(b"Content-Length: 2\r\n" * 2, body=b"{}" + inner),
            "length and coding": request(b"Content-Length: 2\r\n", chunked, body=b"0\r\n\r\n" + inner),
            "coding and length": request(chunked, b"Content-Length: 5\r\n", body=b"0\r\n\r\n" + inner),
            "two codings": request(chunked, b"Transfer-Encoding: identity\r\n", body=b"0\r\n\r\n" + inner),
            "codings in a list": request(b"Transfer-Encoding: gzip, chunked\r\n", body=b"0\r\n\r\n" + inner),
            "an unknown coding": request(b"Transfer-Encoding: xchunked\r\n", body=b"0\r\n\r\n" + inner),
            "a coding with a blank": request(b"Transfer-Encoding : chunked\r\n", body=b"0\r\n\r\n" + inner),
            "a coding with a tab": request(b"Transfer-Encoding:\tchunked\x0b\r\n", body=b"0\r\n\r\n" + inner),
            "a length with a sign": request(b"Content-Length: +2\r\n", body=b"{}" + inner),
            "a length in hex": request(b"Content-Length: 0x2\r\n", body=b"{}" + inner),
            "lengths in a list": request(b"Content-Length: 2, 2\r\n", body=b"{}" + inner),
            "a length with a blank": request(b"Content-Length : 2\r\n", body=b"{}" + inner),
            "a negative length": request(b"Content-Length: -2\r\n", body=b"{}" + inner),
            "a length that wraps": request(b"Content-Length: 18446744073709551618\r\n", body=b"{}" + inner),
            "a bare LF": request(b"X: y\n", b"Content-Length: 2\r\n", body=b"{}" + inner),
            "only bare LFs": request(b"Content-Length: 2\r\n").replace(b"\r\n", b"\n") + b"{}" + inner,
            "a bare LF at the end": request(b"Content-Length: 2\r\n")[:-2] + b"\n{}" + inner,
            "a bare CR": request(b"X: y\rContent-Length: 2\r\n", b"Content-Length: 2\r\n", body=b"{}" + inner),
            "a folded line": request(b"X: y\r\n Content-Length: 40\r\n", b"Content-Length: 2\r\n", body=b"{}" + inner),
            "a folded length": request(b"Content-Length:\r\n 2\r\n", body=b"{}" + inner),
            "a fold at first": lead.encode() + b"\r\n X: y\r\n" + request(b"Content-Length: 2\r\n")[len(lead) + 2:] + b"{}" + inner,
            "a NUL in a value": request(b"X: y\0Content-Length: 40\r\n", b"Content-Length: 2\r\n", body=b"{}" + inner),
            "a NUL in a name": request(b"X\0Y: z\r\n", b"Content-Length: 2\r\n", body=b"{}" + inner),
            "a NUL in the target": request(b"Content-Length: 2\r\n", body=b"{}" + inner).replace(b"/pin", b"/pin\0x", 1),
            "no colon": request(b"Content-Length 2\r\n", b"Content-Length: 2\r\n", body=b"{}" + inner),
            "no name": request(b": 2\r\n", b"Content-Length: 2\r\n", body=b"{}" + inner),
            "two hosts": request(b"Host: evil.example\r\n", b"Content-Length: 2\r\n", body=b"{}" + inner),
            "a blank in the target": request(b"Content-Length: 2\r\n", body=b"{}" + inner).replace(b"/pin", b"/pin x", 1),
            "a wrong method": b"P(ST" + request(b"Content-Length: 2\r\n", body=b"{}" + inner)[4:],
            "chunks of an old version": request(chunked, body=b"0\r\n\r\n" + inner).replace(b"HTTP/1.1", b"HTTP/1.0", 1),
            "a chunk without its size": request(chunked, body=b"x\r\n" + inner),
            "a chunk that goes on": request(chunked, body=b"2\r\n{}XX0\r\n\r\n" + inner),
            "a chunk that wraps": request(chunked, body=b"10000000000000002\r\n{}\r\n0\r\n\r\n" + inner),
        }  # fmt: skip
        for what, data in tries.items():
            answers = statuses(send(s, data))
            assert len(answers) <= 2 and all(status >= 400 for status in answers), (what, answers)
            assert 404 not in answers, (what, answers)
        # The connection ends after a chunked body, so what follows is not a request.
        answers = statuses(send(s, request(chunked, body=b"2\r\n{}\r\n0\r\n\r\n" + inner)))
        assert answers == [404], answers
        # Well-formed: both are answered.
        second = head(s, "GET /v1/memories HTTP/1.1", "Connection: close") + b"\r\n"
        answers = statuses(send(s, request(b"Content-Length: 2\r\n", body=b"{}" + second)))
        assert answers == [404, 200], answers
        serves(s)


@test
def paths_lead_nowhere_else(case):
    with case.mount() as m, Server(case, *both(case), "--idle", "2") as s:
        with open(case.path("secret"), "w", encoding="utf-8") as f:
            f.write(SECRET)
        m.make("cache/web/x", b"inside\n")
        os.symlink(case.path("secret"), m("cache/web/link"))
        os.symlink(case.dir, m("cache/web/up"))
        ids = (
            "..%2Fsecret", "%2e%2e%2fsecret", "..", "%2e%2e", ".%2e%2fsecret", "cache%2F..%2F..%2Fsecret",
            "%252e%252e%252fsecret", "..%252fsecret", "%2Fetc%2Fpasswd", "%2Fproc%2Fself%2Fenviron",
            "cache%2Fweb%2Flink", "cache%2Fweb%2Fup%2Fsecret", "cache%00", "%00", "%ff%fe", "%c0%ae%c0%ae%2fsecret",
            "%", "%2", "%zz", "..%5csecret", "%20", "refs%2F..%2F..%2Fsecret", "offload%3A%2F%2F..%2Fsecret",
            "offload%3A%2F%2F", ".offload%2F..%2F..%2Fsecret", urllib.parse.quote(case.path("secret"), safe=""),
            urllib.parse.quote(m("../secret"), safe=""), urllib.parse.quote(m("cache/web/../../../secret"), safe=""),
            "x" * 5000, "%2F" * 2000, "a%2Fb" * 500,
        )  # fmt: skip
        for each in ids:
            for path in (f"/v1/memories/{each}", f"/v1/memories/{each}/content", f"/v1/memories/{each}/info"):
                answer = s.request("GET", path)
                assert 400 <= answer.status < 500, (path, answer)
                assert SECRET.encode() not in answer.body and b"root:" not in answer.body, path
        for target in (
            "/v1/../v1/memories", "/v1/./memories", "//v1/memories", "/v1//memories", "/v1/memories/",
            "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/v1%2Fmemories", "/V1/memories", "/v1/memories;x",
            "/v1/memories/a/b/c/d/e/f", "/app.js%00.html", "/..%2fapp.js", "/.git/config", "/index.html/../v1",
            "/v1/memories%3Flimit=1", "/v1/memories#x", "/\\v1\\memories", "v1/memories", "*", "",
        ):  # fmt: skip
            line = f"GET {target} HTTP/1.1"
            answers = statuses(send(s, head(s, line, "Connection: close") + b"\r\n"))
            assert all(400 <= status < 500 for status in answers), (target, answers)
        # An absolute target must name this host.
        own = "{}:{}".format(*s.address)
        for target, status in (
            (f"http://{own}/v1/memories", 200),
            (f"http://{own}", 400),
            ("http://evil.example/v1/memories", 403),
            (f"https://{own}/v1/memories", 400),
            (f"http://{own}@evil.example/v1/memories", 403),
        ):
            data = head(s, f"GET {target} HTTP/1.1", "Connection: close") + b"\r\n"
            answers = statuses(send(s, data))
            assert answers == [status], (target, answers)
        serves(s)


@test
def ids_of_routes_are_not_confused(case):
    """An id that equals the rest of a route is still an id."""
    with case.mount() as m, Server(case) as s:
        m.make("cache/web/content", b"a\n")
        m.make("cache/web/info", b"b\n")
        for name in ("content", "info"):
            at = f"/v1/memories/cache%2Fweb%2F{name}"
            assert s.get(at)["path"] == f"cache/web/{name}"
            assert s.request("GET", at + "/content").body in (b"a\n", b"b\n")
        s.refuses("GET", "/v1/memories/content", status=404)
        s.refuses("GET", "/v1/memories/content/content", status=404)


# --- Exhaustion -----------------------------------------------------------------------------------


@test
def huge_heads_are_refused(case):
    with case.mount(), Server(case, *both(case), "--idle", "1") as s:
        for data in (
            head(s, "GET /" + "a" * 200000 + " HTTP/1.1") + b"\r\n",
            head(s, "GET /v1/memories?path=" + "a" * 200000 + " HTTP/1.1") + b"\r\n",
            head(s) + b"X: " + b"a" * 200000 + b"\r\n\r\n",
            head(s) + b"".join(b"X%d: y\r\n" % n for n in range(20000)) + b"\r\n",
            head(s) + b"".join(b"X%d: y\r\n" % n for n in range(150)) + b"\r\n",
            head(s, "GET /v1/memories?" + "&".join(f"a{n}=b" for n in range(1000)) + " HTTP/1.1") + b"\r\n",
            b"A" * 1000000,
            b"\r\n" * 100000,
            b"GET " * 100000,
        ):  # fmt: skip
            answers = statuses(send(s, data))
            assert all(400 <= status < 600 for status in answers), (data[:60], answers)
        serves(s)


@test(timeout=120)
def the_slow_are_cut(case):
    """Sending a byte now and then does not keep a connection's place."""
    with case.mount(), Server(case, *both(case), "--idle", "2") as s:
        length = b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
        starts = (b"", head(s), head(s, "POST /v1/memories HTTP/1.1") + length)
        ends = [False] * len(starts)

        def drip(number):
            with contextlib.closing(s.raw(True)) as raw:
                raw.sendall(starts[number])
                raw.settimeout(0.3)
                until = time.monotonic() + 60 * SLOW
                while time.monotonic() < until:
                    try:
                        raw.sendall(b"X")
                        if raw.recv(1000) == b"":
                            break
                    except TimeoutError:
                        continue
                    except OSError:
                        break
                else:
                    return
            ends[number] = True

        with concurrent.futures.ThreadPoolExecutor(len(starts)) as pool:
            list(pool.map(drip, range(len(starts))))
        assert all(ends), ends
        serves(s)


@test(timeout=120)
def endless_bodies_are_cut(case):
    with case.mount(), Server(case, *both(case), "--max-body", "2") as s:
        before = s.rss()
        for path in ("/v1/memories", "/v1/search", "/mcp", "/context_offload", "/nothing"):
            with contextlib.closing(s.raw(True)) as raw:
                raw.sendall(head(s, f"POST {path} HTTP/1.1", "Content-Type: application/json",
                                 "Transfer-Encoding: chunked") + b"\r\n")  # fmt: skip
                block, sent = b"10000\r\n" + b"x" * 0x10000 + b"\r\n", 0
                with contextlib.suppress(OSError):
                    while sent < 64 << 20:
                        raw.sendall(block)
                        sent += len(block)
                assert sent < 32 << 20, f"{path} took {sent} bytes"
        # Announced bodies that never arrive take no memory.
        held = []
        for _ in range(100):
            held.append(s.raw(True))
            held[-1].sendall(
                head(s, "POST /v1/memories HTTP/1.1", "Content-Type: application/json", "Content-Length: 2000000")
                + b"\r\n{"
            )  # fmt: skip
        serves(s)
        if not os.environ.get("OFFLOADFS_TEST_SANITIZED"):
            assert s.rss() - before < 64 << 20, s.rss()
        for each in held:
            each.close()


@test
def bodies_together_have_a_limit(case):
    """Bodies that are allowed one by one must not take all memory together."""
    with case.mount(), Server(case, *both(case)) as s:
        held, refused = [], 0
        for _ in range(8):
            raw = s.raw(True)
            raw.sendall(
                head(s, "POST /v1/memories HTTP/1.1", "Content-Type: application/json",
                     f"Content-Length: {60 << 20}", "Expect: 100-continue") + b"\r\n"
            )  # fmt: skip
            refused += b" 503 " in raw.recv(100)
            held.append(raw)
        assert refused >= 3, refused
        for each in held:
            each.close()
        eventually(lambda: s.metric("offloadfs_serve_body_bytes") == 0, "all is given back")


@test
def deep_and_odd_json_is_an_error(case):
    with case.mount(), Server(case) as s:
        for text in (
            b"[" * 100000, b'{"a":' * 100000, b'{"content":' + b"[" * 5000 + b"]" * 5000 + b"}",
            b'{"content":"\xff\xfe"}', b"", b"\0", b"nul",
            *(b'{"%s":' % name + b"[" * depth + b"]" * depth + b"}"
              for name in (b"messages", b"steps", b"params", b"content") for depth in (150, 1900)),
            b'{"messages":[{"role":"tool","content":' + b"[" * 1900 + b"]" * 1900 + b"}]}",
            b'{"content":1e999}', b'{"content":' + b"9" * 100000 + b"}", b"\xef\xbb\xbf{}", b'{"content":"a"}x',
        ):  # fmt: skip
            for path in ("/v1/memories", "/v1/context", "/mcp", "/context_offload", "/grep"):
                answer = s.request("POST", path, text, headers={"Content-Type": "application/json"})
                assert answer.status in (200, 400, 422), (path, text[:20], answer)
                json.loads(answer.body)
        assert s.get("/v1/memories")["files"] == []


@test(timeout=300)
def ten_thousand_connections(case):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 11000:
        raise Skip(f"this user may open {hard} files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 11000), hard))
    with case.mount(), Server(case, *both(case), "--idle", "2") as s:
        ref = s.put("a text\n")["id"]
        crowd = []
        try:
            for n in range(10000):
                raw = socket.socket()
                raw.setblocking(False)
                code = raw.connect_ex(s.address)
                assert code in (0, errno.EINPROGRESS), os.strerror(code)
                crowd.append(raw)
                if n % 1000 == 999:
                    # The Unix socket has places of its own.
                    assert s.get(f"/v1/memories/{ref}")["text"] == "a text\n"
            eventually(lambda: reachable(s), "the idle have made room", 60)
        finally:
            for raw in crowd:
                raw.close()
        serves(s)
        if not os.environ.get("OFFLOADFS_TEST_SANITIZED"):
            assert s.rss() < 100 << 20, s.rss()


def reachable(s):
    with contextlib.suppress(OSError):
        return s.request("GET", "/v1/memories", tcp=True).status == 200


@test
def followers_that_do_not_read_hold_nobody_up(case):
    with case.mount(), Server(case) as s:
        quiet = [s.raw() for _ in range(64)]
        for raw in quiet:
            raw.sendall(b"GET /v1/events?after=0 HTTP/1.1\r\nHost: x\r\n\r\n")
            assert raw.recv(12) == b"HTTP/1.1 200"
        s.refuses("GET", "/v1/events", status=503)
        for n in range(50):
            s.put(f"text {n} " * 100)
        for raw in quiet[:32]:
            raw.close()
        eventually(
            lambda: s.metric("offloadfs_serve_followers") == 32, "those that left are gone"
        )
        with s.events() as events:
            ref = s.put("seen\n")["id"]
            assert any(event["data"]["ref"] == ref for event in events)
        for raw in quiet:
            raw.close()


# --- Stored content -------------------------------------------------------------------------------


@test
def hostile_names_are_told_harmlessly(case):
    """Text that deceives a reader or ends a JSON string is shown escaped."""
    names = (
        b'"}],"x":[{"', b"<script>alert(1)</script>", b"a\nb: c", b"\x1b[31mred", b"\xff\xfe",
        "\u202egpj.exe".encode(), b"a\\", "\u2028".encode(), b"\r\nSet-Cookie: a=b", b"' OR 1=1 --", b"%2e%2e%2f",
    )  # fmt: skip
    with case.mount() as m, Server(case, *both(case)) as s:
        folder = os.fsencode(m("cache/web"))
        os.makedirs(folder)
        for name in names:
            with open(os.path.join(folder, name.replace(b"/", b"_")), "wb") as f:
                f.write(b"needle in a text\n")
        for path in (
            "/v1/memories?limit=100", "/v1/grep?pattern=needle", "/v1/search?query=needle", "/v1/usage", "/v1/stats",
        ):  # fmt: skip
            answer = s.request("GET", path)
            assert answer.status == 200, answer
            json.loads(answer.body)
            for bad in (b"\x1b", "\u202e".encode(), "\u2028".encode(), b"\xff", b"\r"):
                assert bad not in answer.body.rstrip(b"\n"), (path, bad)
        files = s.get("/v1/memories?limit=100")["files"]
        assert len(files) == len(names)
        for file in files:
            answer = s.request("GET", f"/v1/memories/{file['id']}/content")
            assert answer.body == b"needle in a text\n"
            assert "Set-Cookie" not in answer.headers
            assert s.request("GET", f"/v1/memories/{file['id']}/info").status == 200
        with s.events("/v1/events?after=0") as events:
            for _ in names:
                assert set(next(events)) == {"id", "event", "data"}
        for title in ("a\nb", "</script>", "\x1b[31m", "\u202e", "x" * 1025):
            answer = s.request("POST", "/v1/memories", {"content": "t " + repr(title), "title": title})
            assert answer.status in (201, 400), answer
            json.loads(answer.body)


@test
def fields_cannot_be_put_into_a_reply(case):
    with case.mount(), Server(case, *both(case)) as s:
        for target in ("/%0d%0aSet-Cookie:%20a=b", "/v1/memories/%0d%0aX:%20y/content", "/v1/events?after=%0d%0aX:y"):
            answer = s.request("GET", target)
            assert 400 <= answer.status < 500, answer
            assert "X" not in answer.headers and "Set-Cookie" not in answer.headers
        for value in ("a\tb", "é", "\x7f", "a" * 8000):
            with contextlib.suppress(ValueError):
                answer = s.request("GET", "/v1/memories", headers={"Offload-Agent": value.encode("utf-8")})
                assert 400 <= answer.status < 500, answer


if __name__ == "__main__":
    main()
