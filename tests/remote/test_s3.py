#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The S3 for the tests of replication: what it verifies, its operations, and its faults."""
import contextlib
import email.utils
import hashlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.parse

import paths  # noqa: F401
from harness import Skip, eventually, main, run, same, test
from s3 import S3, Key
from s3_client import OWNER, READER, Client, is_refused, loses


@contextlib.contextmanager
def service(**options):
    with S3(**options) as s3:
        yield s3, Client(s3)


def when(answer, header):
    return email.utils.parsedate_to_datetime(answer.headers[header]).timestamp()


# --- Verification ---------------------------------------------------------------------------------


def tampered(headers):
    headers["x-amz-meta-note"] = "another"


def unsigned(headers):
    del headers["authorization"]


def added(headers):
    headers["x-amz-meta-later"] = "1"


REFUSALS = {
    "other_secret": (403, "SignatureDoesNotMatch", {"key": ("test-key", "wrong")}),
    "changed_header": (403, "SignatureDoesNotMatch", {"change": tampered}),
    "no_such_key": (403, "InvalidAccessKeyId", {"key": ("nobody", "x")}),
    "not_signed": (403, "AccessDenied", {"change": unsigned}),
    "added_header": (403, "AccessDenied", {"change": added}),
    "long_ago": (403, "RequestTimeTooSkewed", {"at": -16 * 60}),
    "in_future": (403, "RequestTimeTooSkewed", {"at": 16 * 60}),
    "other_body": (400, "XAmzContentSHA256Mismatch", {"said": "0" * 64}),
    "read_only": (403, "AccessDenied", {"key": READER}),
}


@test(variants=REFUSALS)
def a_request_that_is_not_as_signed_changes_nothing(_case, expected):
    status, code, options = expected
    with service() as (s3, client):
        client.key = options.pop("key", OWNER)
        if "at" in options:
            options["at"] += time.time()
        answer = client.ask("PUT", "k", body=b"data", headers={"x-amz-meta-note": "one"}, **options)
        is_refused(answer, status, code)
        assert not s3.objects and not s3.versions
        client.key = OWNER
        assert client.put("k", b"data").status == 200, "the connection goes on"


@test
def a_test_moves_the_clock_of_the_server(_case):
    with service() as (s3, client):
        s3.clock_offset = 3600
        is_refused(client.put("k"), 403, "RequestTimeTooSkewed")
        assert client.ask("PUT", "k", at=s3.now()).status == 200
        answer = client.ask("GET", "k", at=s3.now())
        assert when(answer, "Last-Modified") >= int(time.time()) + 3590
        s3.age("k", 600)
        older = client.ask("GET", "k", at=s3.now())
        assert when(answer, "Last-Modified") - when(older, "Last-Modified") == 600
        assert when(older, "Date") >= when(answer, "Date")


@test
def a_temporary_key_needs_its_token(_case):
    with service(keys=[Key("temporary", "secret", token="token")]) as (s3, client):
        client.key = ("temporary", "secret")
        token = {"x-amz-security-token": "token"}
        is_refused(client.ask("PUT", "k"), 403, "InvalidAccessKeyId")
        wrong = {"x-amz-security-token": "wrong"}
        is_refused(client.ask("PUT", "k", headers=wrong), 400, "InvalidToken")
        assert client.ask("PUT", "k", headers=token).status == 200
        s3.keys["temporary"].expired = True
        is_refused(client.ask("PUT", "k", headers=token), 400, "ExpiredToken")


@test
def a_reader_reads_and_writes_nothing(_case):
    with service() as (s3, client):
        client.put("k", b"data")
        reader = Client(s3, READER)
        assert reader.get("k").body == b"data" and reader.keys() == ["k"]
        is_refused(reader.delete("k"), 403, "AccessDenied")
        assert reader.delete_all(["k"]).tags("Code") == ["AccessDenied"]
        assert s3.objects == {"k": b"data"}
        assert s3.count(who="read-key") == 4 and s3.count(who="read-key", writes=True) == 2


# --- Operations -----------------------------------------------------------------------------------

NAMES = ["plain", "a b/c+d&e=f", "100%/%41", "ü/漢字", "dots/../x", "double//slash", "~-_.!*'()"]


@test(variants={"path": "path", "virtual": "virtual"})
def names_and_bytes_come_back(_case, style):
    with service() as (s3, client):
        client.style = style
        for name in NAMES:
            data = name.encode() * 3
            assert client.put(name, data).status == 200, name
            same(client.get(name).body, data, name)
            head = client.ask("HEAD", name)
            assert (head.status, head.headers["Content-Length"]) == (200, str(len(data)))
            assert head.headers["ETag"] == f'"{hashlib.md5(data).hexdigest()}"'
        assert sorted(s3.objects) == sorted(NAMES)
        for name in NAMES:
            assert client.delete(name).status == 204
            is_refused(client.get(name), 404, "NoSuchKey")
        assert client.delete("never").status == 204
        assert len(s3._connections) == 1, "one connection served all"


@test
def a_bucket_must_exist(_case):
    with service(buckets=["other"]) as (_, client):
        is_refused(client.put("k"), 404, "NoSuchBucket")
        is_refused(client.list(), 404, "NoSuchBucket")


@test
def what_exists_is_not_created_again(_case):
    with service() as (s3, client):
        assert client.create("k", b"one").status == 200
        is_refused(client.create("k", b"two"), 412, "PreconditionFailed")
        assert s3.objects == {"k": b"one"} and not s3.rewritten()
        client.put("k", b"one")
        assert not s3.rewritten()
        client.put("k", b"two")
        assert s3.rewritten() == ["k"]
        assert [(v.data, v.who) for v in s3.versions["k"]] == [
            (data, "test-key") for data in (b"one", b"one", b"two")
        ]


@test
def of_many_who_create_one_wins(_case):
    with service() as (s3, _):
        statuses = []

        def create(n):
            statuses.append(Client(s3).create("k", b"%d" % n).status)

        threads = [threading.Thread(target=create, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(statuses) == [200] + [412] * 7 and len(s3.versions["k"]) == 1


RANGES = {
    "first": ("bytes=0-2", b"012", "bytes 0-2/10"),
    "open": ("bytes=7-", b"789", "bytes 7-9/10"),
    "suffix": ("bytes=-2", b"89", "bytes 8-9/10"),
    "beyond": ("bytes=8-99", b"89", "bytes 8-9/10"),
    "outside": ("bytes=10-11", None, "bytes */10"),
    "malformed": ("bytes=5-2", b"0123456789", None),
}


@test(variants=RANGES)
def a_range_is_exactly_that(_case, expected):
    asked, data, told = expected
    with service() as (_, client):
        client.put("k", b"0123456789")
        answer = client.get("k", Range=asked)
        assert answer.headers["Content-Range"] == told
        if data is None:
            is_refused(answer, 416, "InvalidRange")
        else:
            assert (answer.status, answer.body) == (206 if told else 200, data)


@test
def listings_can_be_followed_to_the_end(_case):
    names = sorted([f"a/{n:03}" for n in range(20)] + ["b", "c/x/1", "c/y"])
    with service() as (s3, client):
        s3.objects.update({name: b"x" for name in names})
        assert client.keys() == names
        assert client.keys(prefix="c/") == ["c/x/1", "c/y"]
        assert client.keys(start_after="a/018") == names[19:]
        for size in (1, 3, 22, 23):
            seen, token = [], {}
            while token is not None:
                page = client.list(max_keys=size, **token)
                assert len(page.tags("Key")) <= size
                seen += page.tags("Key")
                following = page.tag("NextContinuationToken")
                assert page.tag("IsTruncated") == ("true" if following else "false")
                token = {"continuation_token": following} if following else None
            assert seen == names, size
        folders = client.list(delimiter="/")
        assert folders.tags("Key") == ["b"] and folders.tags("Prefix") == ["", "a/", "c/"]


@test(variants={"told": False, "quiet": True})
def several_are_deleted_at_once(_case, quiet):
    with service() as (s3, client):
        s3.objects.update(a=b"1", b=b"2", c=b"3")
        is_refused(client.delete_all(["a"], digest=False), 400, "InvalidRequest")
        answer = client.delete_all(["a", "c", "never"], quiet)
        assert answer.status == 200 and answer.tags("Key") == ([] if quiet else ["a", "c", "never"])
        assert list(s3.objects) == ["b"]


@test
def damage_by_a_test_is_served(_case):
    with service() as (s3, client):
        client.put("k", b"data")
        s3.objects["k"] = b"DATA"
        assert client.get("k").body == b"DATA"
        del s3.objects["k"]
        is_refused(client.get("k"), 404, "NoSuchKey")


@test
def large_bodies_and_many_requests(_case):
    data = os.urandom(1 << 20) * 64
    with service() as (s3, client):
        assert client.put("large", data).status == 200
        same(client.get("large").body, data)
        started = time.monotonic()
        for n in range(500):
            client.create(f"k{n}", b"x" * 100)
        print(f"{500 / (time.monotonic() - started):.0f} requests a second")
        assert s3.requests == 502


@test
def objects_are_saved_and_loaded(case):
    with service() as (s3, client):
        client.ask("PUT", "a/b", body=b"data", headers={"x-amz-meta-n": "1"})
        s3.save(case.path("saved"))
    with service() as (s3, client):
        s3.load(case.path("saved"))
        answer = client.get("a/b")
        assert answer.body == b"data" and answer.headers["x-amz-meta-n"] == "1"


@test
def the_program_serves_logs_and_keeps(case):
    command = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "s3.py")]
    command += ["--dir", case.path("kept"), "--log", case.path("log")]

    def session(work):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            lines = (process.stdout.readline() for _ in range(5))
            told = dict(re.fullmatch(r"export (\w+)=(.*)\n", line).groups() for line in lines)
            url = urllib.parse.urlsplit(told["AWS_ENDPOINT_URL_S3"])
            work(Client(url, (told["AWS_ACCESS_KEY_ID"], told["AWS_SECRET_ACCESS_KEY"])))
            process.send_signal(signal.SIGTERM)
        assert process.returncode == 0

    session(lambda client: client.create("k", b"data"))
    session(lambda client: same(client.get("k").body, b"data"))
    with open(case.path("log")) as f:
        entries = [json.loads(line) for line in f]
    seen = [(e["kind"], e["key"], e["status"]) for e in entries]
    assert seen == [("put", "k", 200), ("get", "k", 200)]


@test
def curl_signs_as_this_wants_it(case):
    if not shutil.which("curl"):
        raise Skip("curl is not installed")
    with service() as (s3, _):

        def curl(*words, secret="test-secret", path="k"):
            out = run("curl", "-s", "-w", "\n%{http_code}", "--aws-sigv4", "aws:amz:us-east-1:s3",
                      "-u", f"test-key:{secret}", *words, f"{s3.url}/test/{path}").stdout
            body, _, status = out.rpartition(b"\n")
            return int(status), body

        content = case.path("content")
        with open(content, "wb") as f:
            f.write(os.urandom(3 << 20))
        with open(content, "rb") as f:
            data = f.read()
        said = ["-H", f"x-amz-content-sha256: {hashlib.sha256(data).hexdigest()}"]
        empty = ["-H", f"x-amz-content-sha256: {hashlib.sha256(b'').hexdigest()}"]
        create = ["--data-binary", f"@{content}", "-X", "PUT", "-H", "If-None-Match: *", *said]
        assert curl(*create)[0] == 200 and curl(*create)[0] == 412
        status, body = curl(*empty)
        assert status == 200
        same(body, data)
        assert curl("-r", "5-9", *empty) == (206, data[5:10])
        status, body = curl(*empty, secret="wrong")
        assert status == 403 and b"SignatureDoesNotMatch" in body
        status, body = curl(*empty, path="?list-type=2&prefix=")
        assert status == 200 and b"<Key>k</Key>" in body
        assert curl("-X", "DELETE", *empty)[0] == 204 and not s3.objects


# --- Faults ---------------------------------------------------------------------------------------


@test
def a_request_is_dropped_before_it_is_applied(_case):
    with service() as (s3, client):
        rule = s3.fault("drop_before", kind="put")
        loses(lambda: client.create("k", b"data"))
        assert rule.fired == 1 and not s3.versions and not s3.unreached()
        assert client.create("k", b"data").status == 200


@test
def a_request_is_dropped_after_it_was_applied(_case):
    with service() as (s3, client):
        rule = s3.fault("drop_after", kind="put", key="wal/*")
        client.create("pack/1", b"data")
        loses(lambda: client.create("wal/1", b"data"))
        assert rule.fired == 1 and s3.objects["wal/1"] == b"data"
        assert client.create("wal/1", b"data").status == 412
        assert s3.log[1].status is None and s3.log[1].faults == ["drop_after"]


@test(variants={"unanswered": None, "500": 500})
def a_late_request_obeys_its_condition_then(_case, answer):
    with service() as (s3, client):
        rule = s3.fault("apply_late", key="wal/*", count=2, answer=answer)
        for name in ("wal/1", "wal/2"):
            if answer:
                assert client.create(name, b"early").status == answer
            else:
                loses(lambda name=name: client.create(name, b"early"))
        assert rule.fired == 2 and not s3.objects
        client.create("wal/2", b"other")
        assert s3.apply_late() == [("wal/1", 200), ("wal/2", 412)]
        assert s3.objects == {"wal/1": b"early", "wal/2": b"other"} and not s3.apply_late()


@test
def a_late_request_comes_by_itself(_case):
    with service() as (s3, client):
        s3.fault("apply_late", seconds=0.05)
        loses(lambda: client.create("k", b"data"))
        eventually(lambda: s3.objects, "it is applied")
        assert s3.log[0].late == 200


@test(variants={str(status): status for status in (409, 412, 429, 500, 503)})
def any_status_with_and_without_effect(_case, status):
    with service() as (s3, client):
        s3.fault("status", key="no", status=status)
        s3.fault("status", key="yes", status=status, applied=True)
        assert client.create("no").status == client.create("yes").status == status
        assert list(s3.objects) == ["yes"]


@test
def an_answer_is_cut_short(_case):
    with service() as (s3, client):
        client.put("k", b"0123456789")
        rule = s3.fault("cut", bytes=4)
        try:
            client.get("k")
            raise AssertionError("the answer is whole")
        except http.client.IncompleteRead as e:
            assert e.partial == b"0123"
        assert rule.fired == 1 and client.get("k").status == 200


@test
def a_body_is_cut_short(_case):
    with service() as (s3, client):
        rule = s3.fault("cut_request", bytes=1000)
        loses(lambda: client.put("k", bytes(8 << 20)))
        assert rule.fired == 1 and not s3.versions and s3.log[0].received == 1000


@test
def a_listing_is_an_old_one(_case):
    with service() as (s3, client):
        client.put("old")
        client.put("gone")
        rule = s3.fault("stale_list", count=None)
        assert client.keys() == ["gone", "old"] and not rule.fired, "nothing has changed yet"
        client.put("new")
        client.delete("gone")
        assert client.keys() == ["gone", "old"] and rule.fired == 1
        s3.remove(rule)
        assert client.keys() == ["new", "old"]
        s3.fault("stale_list", age=3600)
        assert client.keys() == []


@test
def a_condition_is_ignored(_case):
    with service() as (s3, client):
        rule = s3.fault("ignore_condition")
        client.create("k", b"one")
        assert not rule.fired
        assert client.create("k", b"two").status == 200 and rule.fired == 1
        assert s3.rewritten() == ["k"]
        assert client.create("k", b"three").status == 412


@test(variants={"one": False, "several": True})
def a_deletion_is_a_lie(_case, several):
    with service() as (s3, client):
        s3.objects.update({"a/1": b"", "b/1": b""})
        rule = s3.fault("lying_delete", key="a/*", count=None)
        if several:
            assert client.delete_all(["a/1", "b/1"]).tags("Key") == ["a/1", "b/1"]
        else:
            assert client.delete("a/1").status == client.delete("b/1").status == 204
        assert list(s3.objects) == ["a/1"] and rule.fired == 1


@test
def a_bit_is_flipped(_case):
    with service() as (s3, client):
        client.put("k", b"0123")
        s3.fault("corrupt", bit=9)
        assert client.get("k").body == b"0323" and client.get("k").body == b"0123"


@test
def a_request_waits(_case):
    with service() as (s3, client):
        gate = threading.Event()
        rule = s3.fault("delay", key="slow", until=gate)
        thread = threading.Thread(target=client.create, args=("slow", b"1"))
        thread.start()
        rule.wait()
        assert Client(s3).create("slow", b"2").status == 200
        gate.set()
        thread.join()
        assert s3.objects == {"slow": b"2"} and s3.log[0].status == 412


@test
def the_service_refuses_until_it_is_up(_case):
    with service() as (s3, client):
        client.create("a")
        s3.down()
        loses(lambda: client.create("b"))
        loses(lambda: client.create("b"))
        s3.up()
        assert client.create("b").status == 200
        rule = s3.fault("down", key="c", seconds=0.1)
        loses(lambda: client.create("c"))
        assert rule.fired == 1 and "c" not in s3.objects

        def created():
            with contextlib.suppress(OSError):
                return client.create("c").status == 200

        eventually(created, "the service is up again")


@test
def the_service_hangs_until_it_is_up(_case):
    with service() as (s3, client):
        s3.down("hang")
        client.connection.timeout = 0.2
        loses(lambda: client.create("left"))
        client.connection.timeout = 30
        threading.Timer(0.2, s3.up).start()
        assert client.create("waited").status == 200
        assert list(s3.objects) == ["waited"], "who has gone is not served"


@test
def rules_choose_who_when_and_how_often(_case):
    with service() as (s3, client):
        reader = Client(s3, READER)
        rule = s3.fault("status", kind=("get", "head"), who="read-key", nth=2, count=2, status=503)
        client.put("k", b"data")
        assert [reader.get("k").status for _ in range(5)] == [200, 503, 503, 200, 200]
        assert client.get("k").status == 200
        assert (rule.matched, rule.fired) == (5, 2)
        assert s3.count(kind="get", status=503) == 2 and s3.count(writes=True) == 1


RATES = {
    "drop_before": 0.1, "drop_after": 0.1, "status": 0.2, "cut": 0.1, "corrupt": 0.1,
    "apply_late": 0.05,
}


def chaotic(seed):
    with service() as (s3, client):
        chaos = s3.chaos(seed, RATES)
        outcomes = []

        def each(work):
            for n in range(200):
                try:
                    outcomes.append(work(n).status)
                except (http.client.HTTPException, OSError):
                    outcomes.append(None)

        each(lambda n: client.create(f"k{n}", b"%d" % n))
        late = [request for request in s3.log if "apply_late" in request.faults]
        eventually(lambda: all(request.late for request in late), "what is late has come")
        each(lambda n: client.get(f"k{n}"))
        assert not s3.rewritten()
        return [(number, action) for number, action, _ in chaos.fired], outcomes


@test
def a_seed_has_the_same_faults_again(_case):
    faults, outcomes = chaotic(7)
    assert {action for _, action in faults} == set(RATES)
    assert None in outcomes and 503 in outcomes and 200 in outcomes
    assert chaotic(7) == (faults, outcomes)
    assert chaotic(8)[0] != faults


if __name__ == "__main__":
    main()
