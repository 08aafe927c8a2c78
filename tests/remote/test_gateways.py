#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The S3 of the tests behaves like a real one, that of Ceph."""
import contextlib
import os
import threading
import time

import ceph
import paths  # noqa: F401
from cutting import Cutting
from harness import Skip, main, same, test
from s3 import S3
from s3_client import READER, Client, is_refused

NAMES = ["plain", "a b/c+d&e=f", "100%/%41", "ü/漢字", "double//slash", "~-_.!*'()"]


@contextlib.contextmanager
def ours(_case):
    with S3() as s3:
        yield s3


@contextlib.contextmanager
def cephs(case):
    directory = os.environ.get("OFFLOADFS_CEPH") or ceph.cache()
    if not os.path.exists(os.path.join(directory, "packages")):
        raise Skip("tools/remote ceph has not been run yet, which unpacks it")
    with ceph.Ceph(ceph.fetch(directory), case.dir) as gateway:
        yield gateway
        print(f"started in {gateway.seconds:.1f} s, {gateway.memory() >> 20} MiB")
        assert gateway.memory() < 350 << 20


GATEWAYS = {"ours": ours, "ceph": cephs}


@test(variants=GATEWAYS, timeout=120)
def objects_are_created_once(case, gateway):
    with gateway(case) as s3:
        client = Client(s3)
        for name in NAMES:
            assert client.create(name, name.encode()).status == 200, name
            is_refused(client.create(name, b"other"), 412, "PreconditionFailed")
            same(client.get(name).body, name.encode(), name)
        assert sorted(client.keys()) == sorted(NAMES)
        large = os.urandom(1 << 20) * 9
        assert client.create("large", large).status == 200
        is_refused(client.create("large", large), 412, "PreconditionFailed")
        same(client.get("large").body, large)
        assert client.delete("large").status == 204
        assert client.create("large", b"new").status == 200, "what was deleted can be created"


@test(variants=GATEWAYS, timeout=120)
def of_many_who_create_one_wins(case, gateway):
    with gateway(case) as s3:
        for n in range(10):
            bodies = [bytes([65 + who]) * (n * 300_000 + 1) for who in range(6)]
            answers = {}

            def create(who):
                answers[who] = Client(s3).create(f"k{n}", bodies[who])

            threads = [threading.Thread(target=create, args=(who,)) for who in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            winners = [who for who, answer in answers.items() if answer.status == 200]
            assert len(winners) == 1 and len(answers) == 6, answers
            same(Client(s3).get(f"k{n}").body, bodies[winners[0]])
            lost = {answer.status for answer in answers.values()} - {200}
            assert lost <= {412, 409}, answers


@test(variants=GATEWAYS, timeout=120)
def parts_lists_and_deletions(case, gateway):
    with gateway(case) as s3:
        client = Client(s3)
        client.put("k", b"0123456789")
        part = client.get("k", Range="bytes=2-4")
        assert (part.status, part.body) == (206, b"234")
        assert part.headers["Content-Range"] == "bytes 2-4/10"
        assert client.get("k", Range="bytes=-3").body == b"789"
        is_refused(client.get("k", Range="bytes=10-"), 416, "InvalidRange")
        is_refused(client.get("never"), 404, "NoSuchKey")
        assert client.ask("HEAD", "k").headers["Content-Length"] == "10"
        assert client.ask("HEAD", "never").status == 404
        assert client.delete("never").status == client.delete("k").status == 204

        names = [f"a/{n:03}" for n in range(25)] + ["b/x/1", "b/x/2", "c"]
        for name in names:
            client.put(name)
        seen, token = [], {}
        while token is not None:
            page = client.list(max_keys=10, **token)
            seen += page.tags("Key")
            following = page.tag("NextContinuationToken")
            token = {"continuation_token": following} if following else None
        assert seen == names
        assert client.keys(prefix="b/") == ["b/x/1", "b/x/2"]
        assert client.keys(prefix="a/", start_after="a/022") == ["a/023", "a/024"]
        folders = client.list(delimiter="/")
        assert folders.tags("Key") == ["c"] and folders.tags("Prefix")[-2:] == ["a/", "b/"]

        deleted = client.delete_all(["c", "a/000", "never"]).tags("Key")
        assert sorted(deleted) == ["a/000", "c", "never"]
        assert client.delete_all(["a/001"], quiet=True).tags("Key") == []
        assert client.keys() == names[2:-1]


@test(variants=GATEWAYS, timeout=120)
def who_may_not_is_refused(case, gateway):
    with gateway(case) as s3:
        client, reader = Client(s3), Client(s3, READER)
        client.put("k", b"data")
        assert reader.get("k").body == b"data" and reader.keys() == ["k"]
        is_refused(reader.put("k", b"x"), 403, "AccessDenied")
        is_refused(reader.delete("k"), 403, "AccessDenied")
        is_refused(client.ask("PUT", "k", at=time.time() - 1000), 403, "RequestTimeTooSkewed")
        wrong = client.ask("PUT", "k", body=b"x", said="0" * 64)
        is_refused(wrong, 400, "XAmzContentSHA256Mismatch")
        is_refused(Client(s3, ("test-key", "wrong")).get("k"), 403, "SignatureDoesNotMatch")
        is_refused(Client(s3, ("nobody", "wrong")).get("k"), 403, "InvalidAccessKeyId")
        assert client.get("k").body == b"data"


@test(variants=GATEWAYS, timeout=120)
def cut_connections_lose_nothing_that_was_acknowledged(case, gateway):
    with gateway(case) as s3, Cutting(s3.port, seed=3, largest=1 << 16) as proxy:
        data = os.urandom(5000)
        for n in range(30):
            while True:
                try:
                    status = Client(proxy).create(f"k{n}", data).status
                except Exception:
                    continue
                assert status in (200, 412)
                break
        assert proxy.cut > 5
        for n in range(30):
            same(Client(s3).get(f"k{n}").body, data)


if __name__ == "__main__":
    main()
