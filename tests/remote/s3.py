#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An S3 for tests that verifies signatures, keeps everything ever stored, and has faults.

    with S3() as s3:
        s3.url, s3.environment()
        rule = s3.fault("drop_after", kind="put", key="wal/*", nth=2)
        ...
        assert rule.fired and not s3.rewritten()

docs/TESTING.md has the rest. As a program: tests/remote/s3.py --port N [--dir DIR] [--log FILE]
"""
import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import re
import signal
import socket
import sys
import threading
import time
import urllib.parse

from s3_faults import Chaos, Faults, Rule
from s3_http import Connection, Dropped, http_date
from s3_sign import READ_ONLY, Key, Refusal, claimed_key, parse_query, verify, verify_body
from s3_store import Bucket, Store, md5, parse_delete, refused

BODY_MAX = 1 << 30
CODES = {409: "ConditionalRequestConflict", 412: "PreconditionFailed", 429: "TooManyRequests",
         500: "InternalError", 503: "SlowDown"}
KINDS = {"PUT": "put", "GET": "get", "HEAD": "head", "DELETE": "delete"}
RIGHTS = {"put": "w", "get": "r", "head": "r", "list": "l", "delete": "d", "head_bucket": "l"}
LOGGED = (
    "number", "time", "method", "kind", "bucket", "key", "who", "condition", "status", "code",
    "late", "received", "sent", "applied", "faults",
)


class Request:
    """An entry of the log. `status` is None if no answer was sent."""

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
        return {name: getattr(self, name) for name in LOGGED}

    def __repr__(self):
        what = self.key or self.query_text
        return f"{self.number} {self.method} {what} {self.status} {self.code or ''}"


class S3:
    """A server with its own threads. `lock` guards all its data: hold it to read consistently."""

    def __init__(
        self, port=0, *, host="127.0.0.1", buckets=("test",), keys=None, region="us-east-1",
        domain="localhost", log=None,
    ):
        self.host, self.port, self.region, self.domain = host, port, region, domain
        keys = keys or [Key("test-key", "test-secret"), Key("read-key", "read-secret", READ_ONLY)]
        self.keys = {key.access: key for key in keys}
        self.clock_offset = 0  # seconds by which the server's clock is ahead
        self.buckets = {name: Bucket(name, self.now) for name in buckets}
        self.default = next(iter(self.buckets.values()))
        self.lock = threading.RLock()
        self.log = []
        self._log_file = open(log, "a") if log else None
        self._faults = Faults()
        self._store = Store(self._faults, region, self.now)
        self._late = []
        self._timers = []
        self._connections = set()
        self._listener = None
        self._state = "closed"  # or "up", "refuse", "hang"
        self._changed = threading.Condition(self.lock)

    # --- For tests

    @property
    def url(self):
        return f"http://{self.host}:{self.port}"

    def now(self):
        return time.time() + self.clock_offset

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
        """The number of requests so far."""
        return len(self.log)

    def count(self, kind=None, key="*", who=None, status=None, writes=None, since=0):
        """Counts matching requests in the log. `since` is an earlier value of `requests`."""
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
        """Returns the keys of the first bucket that ever had different bytes."""
        with self.lock:
            return [k for k, vs in self.versions.items() if any(v.data != vs[0].data for v in vs)]

    def environment(self, access=None):
        """Returns a client's environment variables."""
        key = self.keys[access] if access else next(iter(self.keys.values()))
        told = {
            "AWS_ACCESS_KEY_ID": key.access,
            "AWS_SECRET_ACCESS_KEY": key.secret,
            "AWS_REGION": self.region,
            "AWS_ENDPOINT_URL_S3": self.url,
            "S3_BUCKET": self.bucket,
        }
        return {**told, "AWS_SESSION_TOKEN": key.token} if key.token else told

    def age(self, key, seconds):
        """Makes an object of the first bucket older."""
        with self.lock:
            self.default.age(key, seconds)

    def mark(self):
        """Returns the current state of the first bucket, for the argument `mark` of stale_list."""
        return len(self.default.history)

    def fault(self, action, **options):
        """Adds a Rule and returns it."""
        if action == "stale_list" and "mark" not in options and "age" not in options:
            options["mark"] = self.mark()
        rule = Rule(action, **options)
        with self.lock:
            self._faults.rules.append(rule)
        return rule

    def remove(self, rule):
        with self.lock:
            self._faults.rules.remove(rule)

    def unreached(self):
        """Returns the rules that never fired."""
        with self.lock:
            return [rule for rule in self._faults.rules if not rule.fired]

    def chaos(self, seed, rates):
        """Starts random faults and returns the Chaos. Rates of {} end it."""
        with self.lock:
            self._faults.chaos = Chaos(seed, rates) if rates else None
            return self._faults.chaos

    def apply_late(self):
        """Applies everything that waits to be applied late. Returns (key, status) of each."""
        with self.lock:
            waiting, self._late = self._late, []
            return [(each[1].key, self._apply(*each)) for each in waiting]

    def down(self, how="refuse", seconds=None):
        """
        Answers nothing until up(), or for `seconds`: connections are refused, or hang. Requests
        that hung are carried out afterwards if their client is still waiting.
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
        """Writes all objects to a directory that load() reads."""
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
        """Adds the objects that save() has written."""
        directory = pathlib.Path(directory)
        index = json.loads((directory / "index.json").read_text())
        with self.lock:
            for name in index["buckets"]:
                self.buckets.setdefault(name, Bucket(name, self.now))
            for bucket, key, name, modified, headers in index["objects"]:
                data = (directory / name).read_bytes()
                self.buckets[bucket].put(key, data, md5(data), headers, None, None)
                self.buckets[bucket].age(key, self.now() - modified)

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
        if how == "hang" and self._state == "refuse":
            self._listen()
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
        """Returns True if the connection is kept."""
        method, target, version = words
        with self.lock:
            request = Request(len(self.log) + 1, method, target, headers)
            self.log.append(request)
        cut, reset = None, False
        close = headers.get("connection", "").lower() == "close" or version == "HTTP/1.0"
        try:
            with self.lock:
                hung = self._wait_until_up(connection)
            try:
                key = self._admit(request)
                body = self._read_body(connection, request)
                if hung and connection.is_gone():
                    raise Dropped()
                answer, plan = self._carry_out(connection, request, key, body)
                for rule in plan:
                    cut, reset = self._spoil(rule, answer)
            except Refusal as e:
                if {"expect", "transfer-encoding"} & set(headers) or e.code == "EntityTooLarge":
                    close = True
                elif "content-length" in headers and not request.received:
                    self._read_body(connection, request, early=False)
                answer = refused(e.code, e.detail, e.headers)
            answer.headers["x-amz-request-id"] = f"{request.number:016X}"
            request.status, request.code = answer.status, answer.code
            answer.headers["Date"] = http_date(self.now())
            request.sent = connection.send(answer, method == "HEAD", close, cut)
            if cut is not None:
                raise Dropped(reset)
        finally:
            self._note(request)
        return not close

    def _wait_until_up(self, connection):
        """Returns True if the service was hanging. The lock is held."""
        hung = self._state == "hang"
        self._changed.wait_for(lambda: self._state != "hang")
        if self._state != "up" or hung and connection.is_gone():
            raise Dropped()
        return hung

    def _admit(self, request):
        """Determines whose request it is and what it asks for."""
        headers = request.headers
        where, request.key = self._place(request)
        request.bucket = where
        sub = request.query
        if request.key:
            request.kind = KINDS.get(request.method, "other")
        elif request.method == "GET" and "list-type" in sub:
            request.kind, request.key = "list", sub.get("prefix", "")
        elif request.method == "POST" and "delete" in sub:
            request.kind = "delete"
        elif request.method == "HEAD":
            request.kind = "head_bucket"
        request.keys = [request.key]
        key = verify(
            request.method, request.path, request.query_text, headers, self.keys, self.region,
            self.now(),
        )
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
        """Returns the bucket and the key of a request."""
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
            answer = self._store.execute(*work)
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
        """Changes an answer. Returns after how many bytes it is cut, and whether with a reset."""
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
        request.late = self._store.execute(bucket, request, *rest).status
        self._note(request)
        return request.late

    def _note(self, request):
        with self.lock:
            if self._log_file:
                self._log_file.write(json.dumps(request.as_dict()) + "\n")
                self._log_file.flush()


def main():
    parser = argparse.ArgumentParser(description="An S3 for tests; ends on SIGINT or SIGTERM.")
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--bucket", action="append", metavar="NAME", help="default: test")
    parser.add_argument("--log", metavar="FILE", help="a line of JSON for each request")
    parser.add_argument("--dir", metavar="DIR", help="keep the objects there from run to run")
    parser.add_argument("--latency", type=float, metavar="SECONDS", help="each answer takes so long")
    options = parser.parse_args()
    stop = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, stop)
    with S3(options.port, buckets=options.bucket or ["test"], log=options.log) as s3:
        if options.dir and os.path.exists(os.path.join(options.dir, "index.json")):
            s3.load(options.dir)
        if options.latency:
            s3.fault("delay", count=None, seconds=options.latency)
        for name, value in s3.environment().items():
            print(f"export {name}={value}")
        sys.stdout.flush()
        signal.sigwait(stop)
    # From here on nothing is acknowledged.
    if options.dir:
        s3.save(options.dir)


if __name__ == "__main__":
    main()
