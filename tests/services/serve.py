# SPDX-License-Identifier: MIT
"""`offload serve` for tests: started on a case's tree, asked over its socket or TCP."""
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import urllib.parse

from harness import OFFLOAD, SLOW, Skip, eventually

JSON = {"Content-Type": "application/json"}


class _Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=50 * SLOW)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:500]!r}"


class Server:
    """A server. Requests go to its first socket or, with tcp=True, to its first address."""

    def __init__(self, case, *words, where=None, environment=None, **options):
        self.case = case
        self.where = where or ["-d", case.mnt]
        self.words = words
        self.runtime = case.path("run")
        os.makedirs(self.runtime, mode=0o700, exist_ok=True)
        self.environment = {
            **os.environ,
            "HOME": case.dir,
            "XDG_RUNTIME_DIR": self.runtime,
            **(environment or {}),
        }
        self.options = options
        self.process = None

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, value, trace):
        if self.process:
            code = self.stop()
            assert kind or code == 0, f"the server ended with {code}"
        return False

    def start(self):
        self.launch()
        line = self.process.stdout.readline()
        if not line:
            said = self.process.stderr.read().decode()
            self.stop()
            if "built without libmicrohttpd" in said:
                raise Skip("built without libmicrohttpd")
            raise AssertionError(f"no server: {said}")
        told = json.loads(line)
        self.sockets, self.urls, self.token_file = told["sockets"], told["urls"], told["token_file"]
        self.token = None
        if self.token_file:
            with open(self.token_file) as f:
                self.token = f.read().strip()
        return self

    def launch(self):
        self.process = subprocess.Popen(
            [OFFLOAD, "serve", "--json", *self.where, *self.words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment,
            cwd="/",
            **self.options,
        )
        return self

    def stop(self, number=signal.SIGTERM):
        """Ends the server and shows its output. Returns its exit code."""
        process, self.process = self.process, None
        process.send_signal(number)
        try:
            _, said = process.communicate(timeout=40 * SLOW)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError("the server did not end") from None
        if said:
            print(f"--- the server said:\n{said.decode(errors='replace')}---", flush=True)
        return process.returncode

    # --- Requests

    @property
    def address(self):
        at = urllib.parse.urlsplit(self.urls[0])
        return at.hostname, at.port

    def connection(self, tcp=False):
        if not tcp:
            return _Unix(self.sockets[0])
        return http.client.HTTPConnection(*self.address, timeout=50 * SLOW)

    def raw(self, tcp=False):
        """Returns a connected socket."""
        if tcp:
            return socket.create_connection(self.address, timeout=50 * SLOW)
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(50 * SLOW)
        s.connect(self.sockets[0])
        return s

    def request(self, method, path, body=None, headers=None, tcp=False, token=True):
        with contextlib.closing(self.connection(tcp)) as c:
            sent = dict(headers or {})
            if isinstance(body, (dict, list)):
                body = json.dumps(body)
                sent = {**JSON, **sent}
            if tcp and token and self.token:
                sent.setdefault("Authorization", f"Bearer {self.token}")
            c.request(method, path, body, sent, encode_chunked="Transfer-Encoding" in sent)
            return Answer(c.getresponse())

    def ask(self, method, path, body=None, status=200, **options):
        """Returns the JSON of an answer, which must have this status."""
        answer = self.request(method, path, body, **options)
        assert answer.status == status, f"{method} {path}: expected {status}, got {answer}"
        return answer.json

    def get(self, path, **options):
        return self.ask("GET", path, **options)

    def post(self, path, body, **options):
        return self.ask("POST", path, body, **options)

    def refuses(self, method, path, body=None, status=400, saying="", **options):
        """The answer must be an error with this status and these words. Returns the error."""
        error = self.ask(method, path, body, status=status, **options)["error"]
        assert saying in error["message"], error
        return error

    def put(self, text, **members):
        """Stores a text. Returns its memory reference."""
        answer = self.post("/v1/memories", {"content": text, **members}, status=201)
        return answer["memory_refs"][0]

    @contextlib.contextmanager
    def events(self, path="/v1/events", **headers):
        """Yields a stream of events, as dictionaries."""
        with contextlib.closing(self.connection()) as c:
            c.request("GET", path, headers=headers)
            response = c.getresponse()
            assert response.status == 200, response.read()
            yield _read_events(response)

    def metric(self, name):
        eventually(lambda: self.request("GET", "/metrics").status == 200, "metrics")
        text = self.request("GET", "/metrics").body.decode()
        line = next(each for each in text.splitlines() if each.startswith(name + " "))
        return float(line.split()[-1])

    def rss(self):
        """Returns the resident memory, in bytes."""
        with open(f"/proc/{self.process.pid}/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _read_events(response):
    event = {}
    for line in iter(response.readline, b""):
        line = line.decode().rstrip("\n")
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(": ")
            event[name] = value
        elif event:
            event["data"] = json.loads(event["data"])
            yield event
            event = {}


def exchange(s, data, until_end=True):
    """Sends bytes on a socket. Returns everything received up to its end."""
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        s.sendall(data)
    got = b""
    with contextlib.suppress(ConnectionResetError):
        while part := s.recv(65536):
            got += part
            if not until_end and b"\r\n\r\n" in got:
                break
    return got


def statuses(answer):
    """Returns the status codes of the responses in these bytes."""
    return [int(n) for n in re.findall(rb"(?:^|\n|\})HTTP/1\.[01] (\d+)", answer)]
