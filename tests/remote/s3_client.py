# SPDX-License-Identifier: MIT
"""A strict client of S3 for tests, which repeats no request."""
import base64
import hashlib
import hmac
import html
import http.client
import re
import time
import urllib.parse
from xml.sax.saxutils import escape

NEW = {"If-None-Match": "*"}
OWNER = ("test-key", "test-secret")
READER = ("read-key", "read-secret")


def sign(method, host, path, query, headers, body_hash, key, at):
    """Returns the headers of a request signed with Signature Version 4."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at))
    signed = {name.lower(): value.strip() for name, value in headers.items()}
    signed = {name: value for name, value in signed.items() if name.startswith("x-amz-")}
    signed |= {"host": host, "x-amz-date": stamp, "x-amz-content-sha256": body_hash}
    names = ";".join(sorted(signed))
    lines = "".join(f"{name}:{signed[name]}\n" for name in sorted(signed))
    request = f"{method}\n{path}\n{query}\n{lines}\n{names}\n{body_hash}"
    scope = f"{stamp[:8]}/us-east-1/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    secret = b"AWS4" + key[1].encode()
    for part in (*scope.split("/"), text):
        secret = hmac.new(secret, part.encode(), hashlib.sha256).digest()
    signed["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={key[0]}/{scope}, SignedHeaders={names}, "
        f"Signature={secret.hex()}"
    )
    return {**headers, **signed}


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def code(self):
        return self.tag("Code")

    def tag(self, name):
        return (self.tags(name) or [None])[0]

    def tags(self, name):
        found = re.findall(f"<{name}>([^<]*)</{name}>", self.body.decode())
        return [html.unescape(text) for text in found]

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


class Client:
    def __init__(self, s3, key=OWNER, style="path"):
        self.s3, self.key, self.style = s3, key, style
        self.connection = http.client.HTTPConnection("127.0.0.1", s3.port, timeout=30)

    def ask(
        self, method, key="", query=None, body=b"", headers=None, *, at=None, said=None, change=None
    ):
        """`said` replaces the hash of the body. `change` edits the headers after signing."""
        virtual = self.style == "virtual"
        host = f"{'test.localhost' if virtual else '127.0.0.1'}:{self.s3.port}"
        path = ("/" if virtual else "/test/") + urllib.parse.quote(key, safe="/-_.~")
        parts = sorted((query or {}).items())
        text = "&".join(f"{n}={urllib.parse.quote(str(v), safe='-_.~')}" for n, v in parts)
        body_hash = said or hashlib.sha256(body).hexdigest()
        sent = sign(method, host, path, text, headers or {}, body_hash, self.key, at or time.time())
        if change:
            change(sent)
        try:
            self.connection.request(method, path + ("?" + text if text else ""), body or None, sent)
            response = self.connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        except BaseException:
            self.connection.close()
            raise

    def put(self, key, body=b"", **headers):
        return self.ask("PUT", key, body=body, headers=headers)

    def create(self, key, body=b""):
        return self.ask("PUT", key, body=body, headers=NEW)

    def get(self, key, **headers):
        return self.ask("GET", key, headers=headers)

    def delete(self, key):
        return self.ask("DELETE", key)

    def delete_all(self, keys, quiet=False, digest=True):
        body = "".join(f"<Object><Key>{escape(key)}</Key></Object>" for key in keys)
        body = f"<Delete><Quiet>{str(quiet).lower()}</Quiet>{body}</Delete>".encode()
        md5 = base64.b64encode(hashlib.md5(body).digest()).decode()
        return self.ask("POST", "", {"delete": ""}, body, {"Content-MD5": md5} if digest else {})

    def list(self, **query):
        query = {name.replace("_", "-"): value for name, value in query.items()}
        return self.ask("GET", "", {"list-type": 2, **query})

    def keys(self, **query):
        return self.list(**query).tags("Key")


def loses(work):
    """The request must end without an answer, or with part of one."""
    try:
        answer = work()
    except (http.client.HTTPException, OSError):
        return
    raise AssertionError(f"there was an answer: {answer}")


def is_refused(answer, status, code):
    assert (answer.status, answer.code) == (status, code), answer
