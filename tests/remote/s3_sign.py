# SPDX-License-Identifier: MIT
"""Verifies AWS Signature Version 4 as S3 does. Has S3's error codes."""
import base64
import calendar
import functools
import hashlib
import hmac
import re
import time
import urllib.parse
import zlib

MAX_SKEW = 15 * 60
UNSIGNED = "UNSIGNED-PAYLOAD"
READ_ONLY = "rl"

ERRORS = {
    "AccessDenied": (403, "Access Denied"),
    "AuthorizationHeaderMalformed": (400, "The authorization header is malformed."),
    "BadDigest": (400, "The digest that you specified does not match what was received."),
    "ConditionalRequestConflict": (409, "A conflicting conditional operation is in progress."),
    "EntityTooLarge": (400, "Your proposed upload exceeds the maximum allowed size."),
    "ExpiredToken": (400, "The provided token has expired."),
    "IncompleteBody": (400, "The request body ended early."),
    "InternalError": (500, "We encountered an internal error. Please try again."),
    "InvalidAccessKeyId": (403, "The access key that you provided does not exist."),
    "InvalidArgument": (400, "Invalid Argument"),
    "InvalidDigest": (400, "The digest that you specified is not valid."),
    "InvalidRange": (416, "The requested range is not satisfiable."),
    "InvalidRequest": (400, "Invalid Request"),
    "InvalidToken": (400, "The provided token is malformed or otherwise invalid."),
    "InvalidURI": (400, "The URI cannot be parsed."),
    "KeyTooLongError": (400, "Your key is too long."),
    "MalformedXML": (400, "The XML that you provided is not well formed."),
    "MethodNotAllowed": (405, "The method is not allowed against this resource."),
    "MissingContentLength": (411, "You must provide the Content-Length header."),
    "NoSuchBucket": (404, "The specified bucket does not exist."),
    "NoSuchKey": (404, "The specified key does not exist."),
    "NotImplemented": (501, "What you asked for is not implemented."),
    "PreconditionFailed": (412, "At least one of the preconditions did not hold."),
    "RequestTimeTooSkewed": (403, "The request's time and the server's differ too much."),
    "SignatureDoesNotMatch": (403, "The calculated signature is not the one that you provided."),
    "SlowDown": (503, "Please reduce your request rate."),
    "TooManyRequests": (429, "Please reduce your request rate."),
    "XAmzContentSHA256Mismatch": (400, "The body is not what x-amz-content-sha256 says."),
}


class Refusal(Exception):
    """An answer with one of S3's errors."""

    def __init__(self, code, detail="", **headers):
        super().__init__(code)
        self.code, self.detail = code, detail
        self.status, self.message = ERRORS[code]
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class Key:
    """
    An access key. Its rights are letters: r (read objects), l (list), w (write), d (delete). A key
    with a token is temporary, and a test may set `expired`.
    """

    def __init__(self, access, secret, rights="rlwd", token=None):
        self.access, self.secret, self.rights, self.token = access, secret, rights, token
        self.expired = False


def quote(text, safe=""):
    return urllib.parse.quote(text, safe=safe + "-_.~")


def parse_query(text):
    """Returns decoded (name, value) pairs. The value may be empty."""
    pairs = (part.partition("=") for part in text.split("&") if part)
    return [(urllib.parse.unquote_plus(n), urllib.parse.unquote_plus(v)) for n, _, v in pairs]


@functools.lru_cache(64)
def signing_key(secret, date, region):
    key = b"AWS4" + secret.encode()
    for part in (date, region, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256\s+Credential=([^,\s]+),\s*SignedHeaders=([^,\s]+),\s*"
    r"Signature=([0-9a-f]+)\s*"
)


def claimed_key(headers):
    """Returns the access key that a request claims to be signed with, or None."""
    found = _AUTHORIZATION.fullmatch(headers.get("authorization", ""))
    return found and found[1].split("/")[0]


def verify(method, path, query, headers, keys, region, now):
    """
    Returns the Key that signed a request, or raises Refusal. `path` and `query` are as received,
    and names of headers are in lower case.
    """
    if "authorization" not in headers:
        raise Refusal("AccessDenied", "the request is not signed")
    found = _AUTHORIZATION.fullmatch(headers["authorization"])
    if not found:
        raise Refusal("AuthorizationHeaderMalformed")
    credential, signed, signature = found.groups()
    access, *scope = credential.split("/")
    date = headers.get("x-amz-date", "")
    try:
        at = calendar.timegm(time.strptime(date, "%Y%m%dT%H%M%SZ"))
    except ValueError:
        raise Refusal("AccessDenied", "x-amz-date is missing or malformed") from None
    if scope != [date[:8], region, "s3", "aws4_request"]:
        raise Refusal("AuthorizationHeaderMalformed", f"expected {date[:8]}/{region}/s3")
    key = keys.get(access)
    if not key or (key.token and "x-amz-security-token" not in headers):
        raise Refusal("InvalidAccessKeyId")
    if abs(now - at) > MAX_SKEW:
        raise Refusal("RequestTimeTooSkewed")
    if "x-amz-content-sha256" not in headers:
        raise Refusal("InvalidRequest", "x-amz-content-sha256 is missing")
    names = signed.split(";")
    needed = {"host", *(name for name in headers if name.startswith("x-amz-"))}
    if not needed <= set(names) or not set(names) <= set(headers):
        raise Refusal("AccessDenied", "the request has headers that are not signed, or the reverse")
    canonical = canonical_request(method, path, query, headers, names)
    text = f"AWS4-HMAC-SHA256\n{date}\n{'/'.join(scope)}\n{sha256(canonical.encode('latin-1'))}"
    want = hmac.new(signing_key(key.secret, date[:8], region), text.encode(), "sha256").hexdigest()
    if names != sorted(names) or not hmac.compare_digest(want, signature):
        raise Refusal("SignatureDoesNotMatch", canonical)
    if key.expired:
        raise Refusal("ExpiredToken")
    if headers.get("x-amz-security-token") != key.token:
        raise Refusal("InvalidToken")
    return key


def canonical_request(method, path, query, headers, names):
    pairs = sorted((quote(n), quote(v)) for n, v in parse_query(query))
    return "\n".join(
        [
            method,
            quote(urllib.parse.unquote_to_bytes(path), "/"),
            "&".join(f"{n}={v}" for n, v in pairs),
            *(f"{name}:{' '.join(headers[name].split())}" for name in names),
            "",
            ";".join(names),
            headers["x-amz-content-sha256"],
        ]
    )


def sha256(data):
    return hashlib.sha256(data).hexdigest()


_CHECKSUMS = {
    "content-md5": lambda data: hashlib.md5(data).digest(),
    "x-amz-checksum-sha1": lambda data: hashlib.sha1(data).digest(),
    "x-amz-checksum-sha256": lambda data: hashlib.sha256(data).digest(),
    "x-amz-checksum-crc32": lambda data: zlib.crc32(data).to_bytes(4, "big"),
}


def verify_body(headers, body, needs_digest=False):
    """Raises Refusal unless the body matches its headers."""
    said = headers["x-amz-content-sha256"]
    if said.startswith("STREAMING-"):
        raise Refusal("NotImplemented", said)
    if said != UNSIGNED and said != sha256(body):
        raise Refusal("XAmzContentSHA256Mismatch")
    given = [name for name in _CHECKSUMS if name in headers]
    for name in given:
        try:
            digest = base64.b64decode(headers[name], validate=True)
        except ValueError:
            raise Refusal("InvalidDigest") from None
        if digest != _CHECKSUMS[name](body):
            raise Refusal("BadDigest")
    if needs_digest and not given:
        raise Refusal("InvalidRequest", "Content-MD5 or a checksum is missing")
