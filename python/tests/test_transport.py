# SPDX-License-Identifier: MIT
import contextlib
import http.server
import json
import os
import socketserver
import stat
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import fakes  # noqa: F401 (it finds the package)

import offloadfs
from offloadfs import Store

ERRORS = {
    "invalid": offloadfs.Invalid,
    "not_found": offloadfs.NotFound,
    "expired": offloadfs.Expired,
    "range": offloadfs.OutOfRange,
    "forbidden": offloadfs.NotAllowed,
    "exists": offloadfs.Exists,
    "no_space": offloadfs.NoRoom,
    "unavailable": offloadfs.Unreachable,
    "timeout": offloadfs.TimedOut,
    "failed": offloadfs.OffloadError,
    "of_the_future": offloadfs.OffloadError,
}


class Scratch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = os.path.realpath(folder.name)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("OFFLOAD")}
        environment["XDG_RUNTIME_DIR"] = self.dir  # ignores other servers
        patch = mock.patch.dict(os.environ, environment, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def path(self, name):
        return os.path.join(self.dir, name)


class Tool(Scratch):
    """Uses a program in place of `offload`."""

    def program(self, code):
        path = self.path("offload")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"#!{sys.executable}\nimport json, os, sys, time\n{code}\n")
        os.chmod(path, stat.S_IRWXU)
        os.environ["OFFLOAD"] = path

    def seen(self, *args, **options):
        """Returns what the program receives from a call."""
        self.program(
            "print(json.dumps({'argv': sys.argv[1:], 'args': json.load(sys.stdin), "
            "'cwd': os.getcwd(), 'dir': os.environ.get('OFFLOAD_DIR'), "
            "'agent': os.environ.get('OFFLOAD_AGENT')}))"
        )
        return Store(*args, **options).call("tasks", a=1, b=None)

    def test_how_it_is_called(self):
        got = self.seen()
        self.assertEqual(got["argv"], ["call", "tasks", "--json"])
        self.assertEqual(got["args"], {"a": 1})
        self.assertEqual(self.seen(agent="a/b")["argv"][3:], ["--agent", "a/b"])
        os.environ["OFFLOAD_AGENT"] = "c"
        self.assertEqual(self.seen()["argv"][3:], ["--agent", "c"])
        got = self.seen(agent="")
        self.assertEqual((got["argv"][3:], got["agent"]), ([], ""))

    def test_which_tree(self):
        os.environ["OFFLOAD_DIR"] = "/elsewhere"
        self.assertEqual(self.seen()["dir"], "/elsewhere")
        got = self.seen(self.dir)
        self.assertEqual((got["cwd"], got["dir"], got["argv"][3:]), (self.dir, None, []))
        self.program("print(json.dumps({'cwd': os.getcwd()}))")
        os.environ["OFFLOAD"] = os.path.relpath(os.environ["OFFLOAD"])
        self.assertEqual(Store(self.dir).call("tasks"), {"cwd": self.dir})
        got = self.seen("/proc")  # a mountpoint, but not of a tree
        self.assertEqual((got["cwd"], got["argv"][3:]), ("/proc", []))
        os.mkdir(self.path("journal"))
        os.mkdir(self.path("packs"))
        self.assertEqual(self.seen(self.dir)["argv"][3:], ["--store", self.dir])
        with self.assertRaisesRegex(offloadfs.Invalid, "neither a mounted tree nor"):
            Store(self.path("nothing"))

    def test_errors(self):
        for code, kind in ERRORS.items():
            error = json.dumps({"error": {"code": code, "message": "what is wrong"}})
            self.program(f"print({error!r}); sys.exit(1)")
            with self.assertRaisesRegex(kind, "^what is wrong$") as caught:
                Store().tasks()
            self.assertIs(type(caught.exception), kind)
            self.assertEqual(caught.exception.code, code)

    def test_what_it_says_where_it_answers_nothing(self):
        self.program("sys.stderr.write('offload: call: no such option\\n'); sys.exit(2)")
        with self.assertRaisesRegex(offloadfs.Invalid, "^no such option$"):
            Store().tasks()
        self.program("os.kill(os.getpid(), 9)")
        with self.assertRaisesRegex(offloadfs.OffloadError, "ended with -9"):
            Store().tasks()
        for answer in ("", "nonsense", "[]"):
            self.program(f"print({answer!r})")
            with self.assertRaisesRegex(offloadfs.OffloadError, "not answer with a JSON object"):
                Store().tasks()

    def test_it_is_missing_or_hangs(self):
        os.environ["OFFLOAD"] = self.path("missing")
        with self.assertRaisesRegex(offloadfs.Unreachable, "was not found: install"):
            Store().tasks()
        self.program("time.sleep(60)")
        started = time.monotonic()
        with self.assertRaisesRegex(offloadfs.TimedOut, "within 0.2 s"):
            Store(timeout=0.2).tasks()
        self.assertLess(time.monotonic() - started, 30)


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        self.server.asked.append((self.command, self.path, self.headers, body))
        status, answer, headers = self.server.answer
        if status is None:
            self.server.release.wait(30)
            return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if answer:  # otherwise the client may be gone
            self.wfile.write(answer[: self.server.cut])
        self.close_connection = True

    do_POST = do_GET


class OnSocket(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def get_request(self):
        request, _ = super().get_request()
        return request, ("local", 0)


class Server(Scratch):
    """Uses a server in place of `offload serve`, on a socket or a port."""

    @contextlib.contextmanager
    def serving(self, where, name="s#?"):
        if where == "socket":
            path = self.path(name)
            server, name = OnSocket(path, Handler), path
        else:
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            name = f"http://127.0.0.1:{server.server_address[1]}"
        server.asked, server.answer, server.cut = [], (200, b"{}", {}), None
        server.release = threading.Event()
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server, name
        finally:
            server.release.set()
            server.shutdown()
            thread.join()
            server.server_close()
            if where == "socket":
                os.unlink(name)

    def each(self):
        for where in ("socket", "port"):
            with self.subTest(where), self.serving(where) as (server, name):
                yield server, name

    def test_requests(self):
        for server, name in self.each():
            s = Store(server=name, token="t-1", agent="a")
            s.call("memory_offload", content="é")
            s.call("memory_fetch", memory_id="cache/a b", line_start=2, line_end=3)
            s.call("memory_stats", by=["day", "way"])
            s.call("memory_list", reverse=True)
            s.call("memory_pin", memory_id="k3f9x2", important=False)
            got = [(method, path, body) for method, path, _, body in server.asked]
            self.assertEqual(
                got,
                [
                    ("POST", "/v1/memories", b'{"content": "\\u00e9"}'),
                    ("GET", "/v1/memories/cache%2Fa%20b?line_start=2&line_end=3", b""),
                    ("GET", "/v1/stats?by=day%2Cway", b""),
                    ("GET", "/v1/memories?reverse=true", b""),
                    ("POST", "/v1/memories/k3f9x2/pin", b'{"important": false}'),
                ],
            )
            headers = server.asked[0][2]
            self.assertEqual(headers["Offload-Agent"], "a")
            token = "Bearer t-1" if name.startswith("http") else None
            self.assertEqual(headers["Authorization"], token)

    def test_the_environment_names_it(self):
        for server, name in self.each():
            os.environ.update(OFFLOAD_SERVER=name, OFFLOAD_TOKEN="t-2")
            Store().call("tasks")
            self.assertEqual(server.asked[0][1], "/v1/tasks")
            Store(agent="é日").call("tasks")
            agent = server.asked.pop()[2]["Offload-Agent"]
            self.assertEqual(agent.encode("latin-1").decode(), "é日")
            if name.startswith("http"):
                self.assertEqual(server.asked[0][2]["Authorization"], "Bearer t-2")
            # A path determines which tree is meant.
            os.environ["OFFLOAD"] = self.path("missing")
            with self.assertRaises(offloadfs.Unreachable):
                Store(self.dir).call("tasks")
            self.assertEqual(len(server.asked), 1)

    def test_errors(self):
        for server, name in self.each():
            for code, kind in ERRORS.items():
                error = {"error": {"code": code, "message": "what is wrong"}}
                server.answer = (418, json.dumps(error).encode(), {})
                with self.assertRaisesRegex(kind, "^what is wrong$") as caught:
                    Store(server=name).tasks()
                self.assertIs(type(caught.exception), kind)
            for status, answer in ((502, b"<html>"), (302, b""), (200, b"nonsense")):
                server.answer = (status, answer, {"Location": "/elsewhere"})
                with self.assertRaises(offloadfs.OffloadError):
                    Store(server=name).tasks()

    def test_content(self):
        for server, name in self.each():
            server.answer = (200, b"\xff" * 200000, {})
            pieces = [*Store(server=name).chunks("a/b")]
            self.assertEqual(b"".join(pieces), b"\xff" * 200000)
            self.assertLessEqual(max(map(len, pieces)), 65536)
            self.assertEqual(server.asked[0][:2], ("GET", "/v1/memories/a%2Fb/content"))
            server.cut = 70000
            with self.assertRaisesRegex(offloadfs.Unreachable, "cannot reach the server"):
                Store(server=name).read("k3f9x2")
            server.cut = None
            error = {"error": {"code": "expired", "message": "it expired"}}
            server.answer = (410, json.dumps(error).encode(), {})
            with self.assertRaisesRegex(offloadfs.Expired, "it expired"):
                Store(server=name).read("k3f9x2")

    def test_it_hangs_or_is_gone(self):
        for server, name in self.each():
            server.answer = (None, b"", {})
            with self.assertRaisesRegex(offloadfs.TimedOut, "within 0.2 s"):
                Store(server=name, timeout=0.2).tasks()
        with self.assertRaisesRegex(offloadfs.Unreachable, "cannot reach the server"):
            Store(server=name).tasks()

    def test_the_default_socket_while_there_is_a_server(self):
        os.mkdir(self.path("offloadfs"))
        with self.serving("socket", "offloadfs/serve-1.sock") as (server, name):
            answer = {"socket": name, "tasks": [], "by": "tool"}
            Tool.program(self, f"print({json.dumps(answer)!r})")
            server.answer = (200, b'{"by": "server"}', {})
            s = Store(self.dir)
            self.assertEqual(s.call("tasks"), {"by": "server"})
        self.assertEqual(s.call("tasks"), answer)
        self.assertEqual(Store(self.dir).call("tasks"), answer)

    def test_names(self):
        for wrong in ("ftp://x", "127.0.0.1:80", "http://localhost:99999", "http://[::1"):
            with self.assertRaisesRegex(offloadfs.Invalid, "is not a server"):
                Store(server=wrong)
        for far in ("http://example.org", "http://127.example.org", "http://192.0.2.1:80"):
            with self.assertRaisesRegex(offloadfs.Invalid, "only sent over https://"):
                Store(server=far, token="t")
        for right in ("http://localhost:1", "http://[::1]:1", "https://example.org", "unix:/s"):
            Store(server=right, token="t")


if __name__ == "__main__":
    unittest.main()
