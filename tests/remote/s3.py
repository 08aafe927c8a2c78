#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An S3 for tests: it verifies signatures, keeps everything that was ever stored, and has faults.

    with S3() as s3:
        s3.url, s3.environment()
        rule = s3.fault("drop_after", kind="put", key="wal/*", nth=2)
        ...
        assert rule.fired and not s3.rewritten()

docs/TESTING.md has the rest. As a program: tests/remote/s3.py --port N [--dir DIR] [--log FILE]
"""
import argparse
import base64
import collections
import contextlib
import hashlib
import itertools
import json
import os
import pathlib
import re
import select
import signal
import socket
import struct
import sys
import threading
import time
import urllib.parse
import xml.etree.ElementTree as xml
from xml.sax.saxutils import escape

from s3_faults import Faults, Rule
from s3_faults import Chaos  # noqa: F401
from s3_sign import ERRORS, READ_ONLY, Key, Refusal, claimed_key, parse_query, quote, verify, verify_body

BODY_MAX = 1 << 30
HEAD_MAX = 1 << 16
KEYS_MAX = 1000
NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
KEPT_HEADERS = re.compile("x-amz-meta-.*|content-type|content-encoding|cache-control")
REASONS = {
    100: "Continue", 200: "OK", 204: "No Content", 206: "Partial Content", 304: "Not Modified",
    400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    409: "Conflict", 411: "Length Required", 412: "Precondition Failed",
    416: "Requested Range Not Satisfiable", 429: "Too Many Requests",
    500: "Internal Server Error", 501: "Not Implemented", 503: "Service Unavailable",
}
CODES = {409: "ConditionalRequestConflict", 412: "PreconditionFailed", 429: "TooManyRequests",
         500: "InternalError", 503: "SlowDown"}
RIGHTS = {"put": "w", "get": "r", "head": "r", "list": "l", "delete": "d", "head_bucket": "l"}

Version = collections.namedtuple("Version", "data who time request")
Fact = collections.namedtuple("Fact", "data etag modified headers")
Change = collections.namedtuple("Change", "time key fact")  # fact None: deleted


class Bucket:
    """
    `objects` maps keys to bytes and may be changed by a test at any time. `versions` maps each key
    to all that was ever stored under it, the oldest first.
    """

    def __init__(self, name):
        self.name = name
        self.objects = {}
        self.versions = {}
        self.history = []
        self._facts = {}

    def fact(self, key):
        data = self.objects[key]
        known = self._facts.get(key)
        if known is None or known.data is not data:
            headers = known.headers if known else {}
            known = self._facts[key] = Fact(data, md5(data), time.time(), headers)
        return known

    def put(self, key, data, etag, headers, who, request):
        versions = self.versions.setdefault(key, [])
        # What is stored again is kept once.
        data = next((v.data for v in versions if v.data == data), data)
        fact = Fact(data, etag, time.time(), headers)
        versions.append(Version(data, who, fact.modified, request))
        self.objects[key], self._facts[key] = data, fact
        self.history.append(Change(fact.modified, key, fact))

    def delete(self, key):
        if self.objects.pop(key, None) is not None:
            self._facts.pop(key, None)
            self.history.append(Change(time.time(), key, None))

    def at(self, mark):
        """Facts of the objects there were after so many changes."""
        facts = {}
        for change in self.history[:mark]:
            facts[change.key] = change.fact
        return {key: fact for key, fact in facts.items() if fact}


class Request:
    """An entry of the log. `status` is None where no answer was sent."""

    def __init__(self, number, method, target, headers):
        self.number, self.time = number, time.time()
        self.method, self.headers = method, headers
        self.path, _, self.query_text = target.partition("?")
        self.query = dict(parse_query(self.query_text))
        self.kind, self.bucket, self.key, self.keys = "other", None, "", []
        self.who = claimed_key(headers)
        self.condition = headers.get("if-none-match") if method == "PUT" else None
        self.status = self.code = self.late = None
        self.received = self.sent = self.nth = 0
        self.applied = False
        self.faults = []
        self.etag = None

    @property
    def writes(self):
        return self.kind in ("put", "delete")

    def as_dict(self):
        names = "number time method kind bucket key who condition status code late received sent applied faults"
        return {name: getattr(self, name) for name in names.split()}

    def __repr__(self):
        return f"{self.number} {self.method} {self.key or self.query_text} {self.status} {self.code or ''}"


class Answer:
    def __init__(self, status, body=b"", headers=None, code=None):
        self.status, self.body, self.headers, self.code = status, body, headers or {}, code


class Dropped(Exception):
    """The connection is to be closed without an answer, or with a reset."""

    def __init__(self, reset=False):
        super().__init__()
        self.reset = reset


def md5(data):
    return hashlib.md5(data).hexdigest()


def iso(at):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at))


def http_date(at):
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(at))


def document(root, body):
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{NAMESPACE}">{body}</{root}>'.encode()


def element(name, value):
    return f"<{name}>{escape(str(value), {chr(13): '&#13;'})}</{name}>"


def refused(code, detail="", headers=None, status=None):
    own, message = ERRORS[code]
    said = {"Code": code, "Message": message, **({"Detail": detail} if detail else {})}
    body = "".join(element(name, value) for name, value in said.items())
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error>{body}</Error>'
    headers = {"Content-Type": "application/xml", **(headers or {})}
    return Answer(status or own, text.encode(), headers, code)


class Connection:
    def __init__(self, sock):
        self.sock = sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = sock.makefile("rb", HEAD_MAX)

    def read_head(self):
        """The request line's words and the headers, or None at the end."""
        lines, size = [], 0
        while True:
            line = self.file.readline(HEAD_MAX)
            size += len(line)
            if not line.endswith(b"\n") or size > HEAD_MAX:
                return None
            line = line.rstrip(b"\r\n").decode("latin-1")
            if not line and lines:
                break
            if line:
                lines.append(line)
        words = lines[0].split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return None
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            name = name.strip().lower()
            headers[name] = headers[name] + "," + value.strip() if name in headers else value.strip()
        return words, headers

    def read(self, size):
        data = self.file.read(size)
        if len(data) < size:
            raise Dropped()
        return data

    def send(self, answer, head_only, close, cut=None):
        """Returns how many bytes of the body were sent."""
        lines = [f"HTTP/1.1 {answer.status} {REASONS.get(answer.status, 'Error')}"]
        headers = {"Date": http_date(time.time()), "Server": "s3.py", **answer.headers}
        if answer.status not in (204, 304):
            headers.setdefault("Content-Length", len(answer.body))
        if close:
            headers["Connection"] = "close"
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        body = b"" if head_only or answer.status in (204, 304) else memoryview(answer.body)[:cut]
        if len(body) < HEAD_MAX:
            self.sock.sendall(head + body)
        else:
            self.sock.sendall(head)
            self.sock.sendall(body)
        return len(body)

    def is_gone(self):
        """Whether the client has closed its side."""
        try:
            ready = select.select([self.sock], [], [], 0)[0]
            return bool(ready) and not self.sock.recv(1, socket.MSG_PEEK)
        except (OSError, ValueError):
            return True

    def shut(self):
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)

    def close(self, reset=False):
        with contextlib.suppress(OSError):
            if reset:
                self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            else:
                self.sock.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            self.file.close()
        self.sock.close()


class S3:
    """
    A server in threads of its own. `lock` guards all that it keeps; hold it to look at several
    things at once.
    """

    def __init__(self, port=0, *, host="127.0.0.1", buckets=("test",), keys=None, region="us-east-1",
                 domain="localhost", log=None):
        self.host, self.port, self.region, self.domain = host, port, region, domain
        keys = keys or [Key("test-key", "test-secret"), Key("read-key", "read-secret", READ_ONLY)]
        self.keys = {key.access: key for key in keys}
        self.buckets = {name: Bucket(name) for name in buckets}
        self.default = next(iter(self.buckets.values()))
        self.clock_offset = 0  # seconds by which the server's clock is ahead
        self.lock = threading.RLock()
        self.log = []
        self._log_file = open(log, "a") if log else None
        self._faults = Faults()
        self._late = []
        self._timers = []
        self._connections = set()
        self._listener = None
        self._state = "closed"  # or "up", "refuse", "hang"
        self._changed = threading.Condition(self.lock)

    # --- What a test has

    @property
    def url(self):
        return f"http://{self.host}:{self.port}"

    @property
    def bucket(self):
        return self.default.name

    @property
    def objects(self):
        return self.default.objects

    @property
    def versions(self):
        return self.default.versions

    @property
    def requests(self):
        """How many there were."""
        return len(self.log)

    def count(self, kind=None, key="*", who=None, status=None, writes=None, since=0):
        """How many requests of the log are so; `since`: a value of `requests` before."""
        rule = Rule("delay", key=key)
        with self.lock:
            return sum(
                kind in (None, r.kind)
                and who in (None, r.who)
                and status in (None, r.status)
                and writes in (None, r.writes)
                and (key == "*" or any(rule.covers(k) for k in r.keys))
                for r in self.log[since:]
            )

    def rewritten(self):
        """The keys of the first bucket under which there ever were different bytes."""
        with self.lock:
            return [k for k, vs in self.versions.items() if any(v.data != vs[0].data for v in vs)]

    def environment(self, access=None):
        """What a client is told in its environment."""
        key = self.keys[access] if access else next(iter(self.keys.values()))
        told = {
            "AWS_ACCESS_KEY_ID": key.access,
            "AWS_SECRET_ACCESS_KEY": key.secret,
            "AWS_REGION": self.region,
            "AWS_ENDPOINT_URL_S3": self.url,
        }
        return {**told, "AWS_SESSION_TOKEN": key.token} if key.token else told

    def mark(self):
        """The state of the first bucket, for the argument `mark` of stale_list."""
        return len(self.default.history)

    def fault(self, action, **options):
        """Adds a Rule, which is returned."""
        if action == "stale_list" and "mark" not in options and "age" not in options:
            options["mark"] = self.mark()
        rule = Rule(action, **options)
        with self.lock:
            self._faults.rules.append(rule)
        return rule

    def remove(self, rule):
        with self.lock:
            self._faults.rules.remove(rule)

    def chaos(self, seed, rates):
        """From now on faults occur at random; returns the Chaos. Rates of {} end it."""
        with self.lock:
            self._faults.chaos = Chaos(seed, rates) if rates else None
            return self._faults.chaos

    def apply_late(self):
        """Applies now what waits to be; returns (key, status) of each."""
        with self.lock:
            waiting, self._late = self._late, []
            return [(each[1].key, self._apply(*each)) for each in waiting]

    def down(self, how="refuse", seconds=None):
        """
        Nothing is answered until up(), or for so long: connections are refused, or hang. A request
        that hung is carried out afterwards where its client still waits.
        """
        with self.lock:
            self._go_down(how)
        if seconds is not None:
            self._after(seconds, self.up)

    def up(self):
        with self.lock:
            if self._state == "refuse":
                self._listen()
            if self._state != "closed":
                self._state = "up"
            self._changed.notify_all()

    def save(self, directory):
        """Writes all objects to a directory, which load() reads."""
        directory = pathlib.Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        index = []
        with self.lock:
            for bucket in self.buckets.values():
                for key in sorted(bucket.objects):
                    fact = bucket.fact(key)
                    name = hashlib.sha256(fact.data).hexdigest()
                    (directory / name).write_bytes(fact.data)
                    index.append([bucket.name, key, name, fact.modified, fact.headers])
            buckets = list(self.buckets)
        (directory / "index.json").write_text(json.dumps({"buckets": buckets, "objects": index}))

    def load(self, directory):
        """Adds the objects that save() wrote."""
        directory = pathlib.Path(directory)
        index = json.loads((directory / "index.json").read_text())
        with self.lock:
            for name in index["buckets"]:
                self.buckets.setdefault(name, Bucket(name))
            for bucket, key, name, _, headers in index["objects"]:
                data = (directory / name).read_bytes()
                self.buckets[bucket].put(key, data, md5(data), headers, None, None)

    # --- Connections

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, value, trace):
        self.close()
        return False

    def start(self):
        with self.lock:
            self._listen()
            self._state = "up"
        return self

    def close(self):
        with self.lock:
            if self._state != "refuse" and self._listener:
                self._stop_listening()
            self._state = "closed"
            self._changed.notify_all()
            for timer in self._timers:
                timer.cancel()
            for connection in self._connections:
                connection.shut()
            self._changed.wait_for(lambda: not self._connections, 2)
            if self._log_file:
                self._log_file.close()
                self._log_file = None

    def _listen(self):
        self._listener = socket.create_server((self.host, self.port), backlog=256)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _stop_listening(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread in accept()
        self._listener.close()
        self._listener = None

    def _accept(self, listener):
        with contextlib.suppress(OSError):
            while True:
                sock, _ = listener.accept()
                threading.Thread(target=self._serve, args=(Connection(sock),), daemon=True).start()

    def _serve(self, connection):
        reset = False
        with self.lock:
            if self._state in ("refuse", "closed"):
                connection.close()
                return
            self._connections.add(connection)
        try:
            while (head := connection.read_head()) and self._handle(connection, *head):
                pass
        except Dropped as dropped:
            reset = dropped.reset
        except (OSError, ValueError):
            pass
        finally:
            with self.lock:
                self._connections.discard(connection)
                self._changed.notify_all()
            connection.close(reset)

    def _go_down(self, how):
        if how == "refuse" and self._state in ("up", "hang"):
            self._stop_listening()
            for connection in self._connections:
                connection.shut()
        self._state = how
        self._changed.notify_all()

    def _after(self, seconds, function, *arguments):
        timer = threading.Timer(seconds, function, arguments)
        timer.daemon = True
        with self.lock:
            self._timers = [t for t in self._timers if t.is_alive()] + [timer]
            timer.start()

    # --- A request

    def _handle(self, connection, words, headers):
        """Returns whether the connection goes on."""
        method, target, version = words
        with self.lock:
            request = Request(len(self.log) + 1, method, target, headers)
            self.log.append(request)
            hung = self._wait_until_up(connection)
        cut, reset = None, False
        close = headers.get("connection", "").lower() == "close" or version == "HTTP/1.0"
        try:
            try:
                key = self._admit(request)
                body = self._read_body(connection, request)
                if hung and connection.is_gone():
                    raise Dropped()
                answer, plan = self._carry_out(connection, request, key, body)
                for rule in plan:
                    cut, reset = self._spoil(rule, answer)
            except Refusal as e:
                if "expect" in headers or "transfer-encoding" in headers or e.code == "EntityTooLarge":
                    close = True
                elif "content-length" in headers and not request.received:
                    self._read_body(connection, request, early=False)
                answer = refused(e.code, e.detail, e.headers)
            answer.headers["x-amz-request-id"] = f"{request.number:016X}"
            request.status, request.code = answer.status, answer.code
            request.sent = connection.send(answer, method == "HEAD", close, cut)
            if cut is not None:
                raise Dropped(reset)
        finally:
            self._note(request)
        return not close

    def _wait_until_up(self, connection):
        """Returns whether the service was hanging; the lock is held."""
        hung = self._state == "hang"
        self._changed.wait_for(lambda: self._state != "hang")
        if self._state != "up" or hung and connection.is_gone():
            raise Dropped()
        return hung

    def _admit(self, request):
        """Whose request it is, and what it asks for."""
        headers = request.headers
        now = time.time() + self.clock_offset
        where, request.key = self._place(request)
        request.bucket = where
        sub = request.query
        if request.key:
            request.kind = {"PUT": "put", "GET": "get", "HEAD": "head", "DELETE": "delete"}.get(
                request.method, "other")
        elif request.method == "GET" and "list-type" in sub:
            request.kind, request.key = "list", sub.get("prefix", "")
        elif request.method == "POST" and "delete" in sub:
            request.kind = "delete"
        elif request.method == "HEAD":
            request.kind = "head_bucket"
        request.keys = [request.key]
        key = verify(
            request.method, request.path, request.query_text, headers, self.keys, self.region, now)
        if where not in self.buckets:
            raise Refusal("NoSuchBucket") if where else Refusal("NotImplemented")
        unknown = {"uploads", "uploadId", "acl", "tagging", "versionId", "partNumber"} & set(sub)
        if request.kind == "other" or unknown or "x-amz-copy-source" in headers:
            raise Refusal("NotImplemented")
        several = request.method == "POST"
        if RIGHTS[request.kind] not in key.rights and not several:
            raise Refusal("AccessDenied")
        if len(request.key.encode()) > 1024:
            raise Refusal("KeyTooLongError")
        return key

    def _place(self, request):
        """The bucket and the key of a request."""
        try:
            path = urllib.parse.unquote_to_bytes(request.path).decode()
        except UnicodeDecodeError:
            raise Refusal("InvalidURI") from None
        if not path.startswith("/"):
            raise Refusal("InvalidURI")
        host = re.sub(r":\d+$", "", request.headers.get("host", ""))
        if host.endswith("." + self.domain):
            return host[: -len(self.domain) - 1], path[1:]
        bucket, _, key = path[1:].partition("/")
        return bucket, key

    def _read_body(self, connection, request, early=True):
        headers = request.headers
        if "transfer-encoding" in headers:
            raise Refusal("NotImplemented", "Transfer-Encoding")
        if "content-length" not in headers:
            if request.method in ("PUT", "POST"):
                raise Refusal("MissingContentLength")
            return b""
        size = int(headers["content-length"])
        if not 0 <= size <= BODY_MAX:
            raise Refusal("EntityTooLarge") if early and size > 0 else Dropped()
        if headers.get("expect", "").lower() == "100-continue" and size:
            connection.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if early:
            with self.lock:
                self._faults.enter(request)
                rule = self._faults.pick(request, "early", lambda rule: rule["bytes"] < size)
            if rule:
                request.received = len(connection.file.read(rule["bytes"]))
                raise Dropped(reset=True)
        body = connection.read(size)
        request.received = size
        return body

    def _carry_out(self, connection, request, key, body):
        """Returns the answer, and the rules that spoil it."""
        several = None
        verify_body(request.headers, body, needs_digest=request.method == "POST")
        if request.kind == "put":
            request.etag = md5(body)
        elif request.method == "POST":
            several = parse_delete(body)
            request.keys = [k for k, _ in several[0]]
        with self.lock:
            if "content-length" not in request.headers:
                self._faults.enter(request)
            rule = self._faults.pick(request, "delay")
        if rule and rule["until"]:
            rule["until"].wait(rule["seconds"])
        elif rule:
            time.sleep(rule["seconds"] or 0)
        with self.lock:
            self._wait_until_up(connection)
            bucket = self.buckets[request.bucket]
            work = bucket, request, key, body, several
            rule = self._faults.pick(request, "before")
            if rule:
                return self._instead(rule, work), []
            answer = self._execute(*work)
            return answer, self._pick_after(request, answer)

    def _instead(self, rule, work):
        if rule.action == "status":
            return self._error(rule)
        if rule.action == "down":
            self.down(rule["how"], rule["seconds"])
            raise Dropped()
        if rule.action == "apply_late":
            self._late.append(work)
            if rule["seconds"] is not None:
                self._after(rule["seconds"], self._apply_if_waiting, work)
            if rule["answer"]:
                return refused(CODES[rule["answer"]])
        raise Dropped(rule.arguments.get("reset", False))

    @staticmethod
    def _error(rule):
        status = rule["status"]
        return refused(CODES.get(status, "InternalError"), headers=rule["headers"], status=status)

    def _pick_after(self, request, answer):
        def has_effect(rule):
            if rule.action == "corrupt":
                return answer.status in (200, 206) and len(answer.body) > 0
            if rule.action == "cut":
                return answer.status in (200, 206) and len(answer.body) > rule["bytes"]
            return request.applied or not request.writes

        rule = self._faults.pick(request, "after", has_effect)
        if rule and rule.action == "drop_after":
            raise Dropped(rule["reset"])
        return [rule] if rule else []

    def _spoil(self, rule, answer):
        """Changes an answer; returns after how many bytes it is cut, and whether with a reset."""
        if rule.action == "cut":
            return rule["bytes"], rule["reset"]
        if rule.action == "status":
            error = self._error(rule)
            answer.__dict__.update(error.__dict__)
        else:
            bit = len(answer.body) * 4 if rule["bit"] is None else rule["bit"]
            answer.body = bytearray(answer.body)
            answer.body[bit // 8] ^= 1 << bit % 8
        return None, False

    def _apply_if_waiting(self, work):
        with self.lock:
            if any(each is work for each in self._late):
                self._late = [each for each in self._late if each is not work]
                self._apply(*work)

    def _apply(self, bucket, request, *rest):
        """Carries out a request long after its answer."""
        request.late = True
        request.late = self._execute(bucket, request, *rest).status
        self._note(request)
        return request.late

    def _note(self, request):
        with self.lock:
            if self._log_file:
                self._log_file.write(json.dumps(request.as_dict()) + "\n")
                self._log_file.flush()

    # --- What S3 does; the lock is held

    def _execute(self, bucket, request, key, body, several):
        if several:
            return self._delete_several(bucket, request, key, *several)
        if request.kind == "head_bucket":
            return Answer(200, headers={"x-amz-bucket-region": self.region})
        return getattr(self, "_" + request.kind.replace("head", "get"))(bucket, request, body)

    def _during(self, request, has_effect=lambda rule: True):
        """A fault in how a request is carried out; there is none when that is late."""
        return None if request.late else self._faults.pick(request, "during", has_effect)

    def _put(self, bucket, request, body):
        headers = request.headers
        exists = request.key in bucket.objects
        if "if-match" in headers:
            if not exists:
                return refused("NoSuchKey")
            if headers["if-match"].strip('"') != bucket.fact(request.key).etag:
                return refused("PreconditionFailed")
        if request.condition not in (None, "*"):
            return refused("NotImplemented", "If-None-Match other than *")
        if request.condition and exists and not self._during(request):
            return refused("PreconditionFailed")
        kept = {name: v for name, v in headers.items() if KEPT_HEADERS.fullmatch(name)}
        bucket.put(request.key, body, request.etag, kept, request.who, request.number)
        request.applied = True
        return Answer(200, headers={"ETag": f'"{request.etag}"'})

    def _get(self, bucket, request, _body):
        headers = request.headers
        if request.key not in bucket.objects:
            return refused("NoSuchKey")
        fact = bucket.fact(request.key)
        said = {
            "ETag": f'"{fact.etag}"',
            "Last-Modified": http_date(fact.modified),
            "Accept-Ranges": "bytes",
            "Content-Type": "binary/octet-stream",
            **fact.headers,
        }
        if headers.get("if-match", fact.etag).strip('"') not in (fact.etag, "*"):
            return refused("PreconditionFailed")
        if headers.get("if-none-match", "").strip('"') in (fact.etag, "*"):
            return Answer(304, headers=said)
        size = len(fact.data)
        first, last = parse_range(headers.get("range", ""), size)
        if first is None:
            body, status = fact.data, 200
        elif first > last:
            return refused("InvalidRange", headers={"Content-Range": f"bytes */{size}"})
        else:
            body, status = memoryview(fact.data)[first : last + 1], 206
            said["Content-Range"] = f"bytes {first}-{last}/{size}"
        if request.method == "HEAD":
            said["Content-Length"] = len(body)
            body = b""
        return Answer(status, body, said)

    def _delete(self, bucket, request, _body):
        self._remove(bucket, request, request.key)
        return Answer(204)

    def _remove(self, bucket, request, key):
        if key not in bucket.objects:
            return
        if not self._during(request, lambda rule: rule.covers(key)):
            bucket.delete(key)
            request.applied = True

    def _delete_several(self, bucket, request, user, keys, quiet):
        result = []
        for key, _ in keys:
            if "d" not in user.rights:
                said = {"Key": key, "Code": "AccessDenied", "Message": ERRORS["AccessDenied"][1]}
                result.append(f"<Error>{''.join(element(n, v) for n, v in said.items())}</Error>")
                continue
            self._remove(bucket, request, key)
            if not quiet:
                result.append(f"<Deleted>{element('Key', key)}</Deleted>")
        return Answer(200, document("DeleteResult", "".join(result)), {"Content-Type": "application/xml"})

    def _list(self, bucket, request, _body):
        query = request.query
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        start, token = query.get("start-after", ""), query.get("continuation-token")
        try:
            most = min(int(query.get("max-keys") or KEYS_MAX), KEYS_MAX)
            after = base64.urlsafe_b64decode(token).decode() if token is not None else start
        except ValueError:
            return refused("InvalidArgument")
        if query["list-type"] != "2" or most < 0 or token == "":
            return refused("InvalidArgument")
        view = self._view(bucket, request)
        encoded = query.get("encoding-type") == "url"
        text = (lambda name: quote(name, "/")) if encoded else str
        rows, groups, last = [], [], after
        names = sorted(k for k in view if k.startswith(prefix) and k > after)
        more = False
        for name in names:
            end = name.find(delimiter, len(prefix)) if delimiter else -1
            group = name[: end + len(delimiter)] if end >= 0 else None
            told = groups[-1:] == [group] or token is not None and group and after.startswith(group)
            if told:
                last = name
                continue
            if len(rows) + len(groups) >= most:
                more = most > 0
                break
            last = name
            if group:
                groups.append(group)
            else:
                rows.append(name)
        body = [element("Name", bucket.name), element("Prefix", text(prefix))]
        if token is not None:
            body.append(element("ContinuationToken", token))
        if start:
            body.append(element("StartAfter", text(start)))
        if delimiter:
            body.append(element("Delimiter", text(delimiter)))
        if encoded:
            body.append(element("EncodingType", "url"))
        body.append(element("KeyCount", len(rows) + len(groups)))
        body.append(element("MaxKeys", most))
        body.append(element("IsTruncated", "true" if more else "false"))
        if more:
            body.append(element("NextContinuationToken", base64.urlsafe_b64encode(last.encode()).decode()))
        for name in rows:
            fact = view[name] if isinstance(view[name], Fact) else bucket.fact(name)
            said = {
                "Key": text(name),
                "LastModified": iso(fact.modified),
                "ETag": f'"{fact.etag}"',
                "Size": len(fact.data),
                "StorageClass": "STANDARD",
            }
            body.append(f"<Contents>{''.join(element(n, v) for n, v in said.items())}</Contents>")
        for group in groups:
            body.append(f"<CommonPrefixes>{element('Prefix', text(group))}</CommonPrefixes>")
        return Answer(200, document("ListBucketResult", "".join(body)), {"Content-Type": "application/xml"})

    def _view(self, bucket, request):
        """What a listing shows; values are Facts only where it is a stale one."""

        def mark(rule):
            if rule["mark"] is not None:
                return rule["mark"]
            oldest = time.time() - (rule["age"] or 0)
            return sum(1 for _ in itertools.takewhile(lambda c: c.time <= oldest, bucket.history))

        def differs(rule):
            then = bucket.at(mark(rule))
            return any(
                (then.get(k) and then[k].data) is not bucket.objects.get(k)
                for k in set(then) | set(bucket.objects)
                if k.startswith(request.query.get("prefix", ""))
            )

        rule = self._during(request, differs)
        return bucket.at(mark(rule)) if rule else bucket.objects


def parse_range(text, size):
    """First and last byte; None: the whole object. The first is after the last: not satisfiable."""
    found = re.fullmatch(r"bytes=(\d*)-(\d*)", text)
    if not found or found.groups() == ("", ""):
        return None, None
    first, last = found.groups()
    if not first:
        return (max(size - int(last), 0), size - 1) if int(last) and size else (1, 0)
    if last and int(last) < int(first):
        return None, None
    if int(first) >= size:
        return 1, 0
    return int(first), min(int(last), size - 1) if last else size - 1


def parse_delete(body):
    """The keys that POST ?delete names, and whether its answer is to be quiet."""
    try:
        root = xml.fromstring(body)
    except xml.ParseError:
        raise Refusal("MalformedXML") from None
    plain = [(re.sub("{.*}", "", e.tag), e) for e in root]
    keys = []
    for tag, entry in plain:
        if tag == "Object":
            named = {re.sub("{.*}", "", e.tag): e.text or "" for e in entry}
            if not named.get("Key"):
                raise Refusal("MalformedXML")
            keys.append((named["Key"], named.get("VersionId")))
    if not root.tag.endswith("Delete") or not 0 < len(keys) <= KEYS_MAX:
        raise Refusal("MalformedXML")
    quiet = any(tag == "Quiet" and e.text == "true" for tag, e in plain)
    return keys, quiet


def main():
    parser = argparse.ArgumentParser(description="An S3 for tests; ends on SIGINT or SIGTERM.")
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--bucket", action="append", metavar="NAME", help="default: test")
    parser.add_argument("--log", metavar="FILE", help="a line of JSON for each request")
    parser.add_argument("--dir", metavar="DIR", help="keep the objects there from run to run")
    options = parser.parse_args()
    stop = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, stop)
    with S3(options.port, buckets=options.bucket or ["test"], log=options.log) as s3:
        if options.dir and os.path.exists(os.path.join(options.dir, "index.json")):
            s3.load(options.dir)
        for name, value in {**s3.environment(), "S3_BUCKET": s3.bucket}.items():
            print(f"export {name}={value}")
        sys.stdout.flush()
        signal.sigwait(stop)
        if options.dir:
            s3.save(options.dir)


if __name__ == "__main__":
    main()
