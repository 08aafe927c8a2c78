# SPDX-License-Identifier: MIT
"""Buckets that remember everything, and the operations of S3 on them."""
import base64
import collections
import hashlib
import itertools
import re
import time
import xml.etree.ElementTree as xml
from xml.sax.saxutils import escape

from s3_http import Answer, http_date
from s3_sign import ERRORS, Refusal, quote

KEYS_MAX = 1000
NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
PROLOGUE = '<?xml version="1.0" encoding="UTF-8"?>\n'
XML = {"Content-Type": "application/xml"}
KEPT_HEADERS = re.compile("x-amz-meta-.*|content-type|content-encoding|cache-control")

Version = collections.namedtuple("Version", "data who time request")
Fact = collections.namedtuple("Fact", "data etag modified headers")
Change = collections.namedtuple("Change", "time key fact")  # fact None: deleted


class Bucket:
    """
    `objects` maps keys to bytes, and tests may change it at any time. `versions` maps each key to
    everything ever stored under it, the oldest first.
    """

    def __init__(self, name, now):
        self.name, self._now = name, now
        self.objects = {}
        self.versions = {}
        self.history = []
        self._facts = {}

    def fact(self, key):
        data = self.objects[key]
        known = self._facts.get(key)
        if known is None or known.data is not data:
            headers = known.headers if known else {}
            known = self._facts[key] = Fact(data, md5(data), self._now(), headers)
        return known

    def put(self, key, data, etag, headers, who, request):
        versions = self.versions.setdefault(key, [])
        # Equal content is kept only once.
        data = next((v.data for v in versions if v.data == data), data)
        fact = Fact(data, etag, self._now(), headers)
        versions.append(Version(data, who, fact.modified, request))
        self.objects[key], self._facts[key] = data, fact
        self.history.append(Change(fact.modified, key, fact))

    def delete(self, key):
        if self.objects.pop(key, None) is not None:
            self._facts.pop(key, None)
            self.history.append(Change(self._now(), key, None))

    def age(self, key, seconds):
        fact = self.fact(key)
        self._facts[key] = fact._replace(modified=fact.modified - seconds)

    def at(self, mark):
        """Returns the facts of the objects after the first `mark` changes."""
        facts = {}
        for change in self.history[:mark]:
            facts[change.key] = change.fact
        return {key: fact for key, fact in facts.items() if fact}


def md5(data):
    return hashlib.md5(data).hexdigest()


def iso(at):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at))


def document(root, body):
    return f'{PROLOGUE}<{root} xmlns="{NAMESPACE}">{body}</{root}>'.encode()


def element(name, value):
    return f"<{name}>{escape(str(value), {chr(13): '&#13;'})}</{name}>"


def refused(code, detail="", headers=None, status=None):
    own, message = ERRORS[code]
    said = {"Code": code, "Message": message, **({"Detail": detail} if detail else {})}
    body = "".join(element(name, value) for name, value in said.items())
    text = f"{PROLOGUE}<Error>{body}</Error>"
    return Answer(status or own, text.encode(), {**XML, **(headers or {})}, code)


class Store:
    """The operations and the faults that occur in them. The caller holds the lock of both."""

    def __init__(self, faults, region, now):
        self._faults, self.region, self._now = faults, region, now

    def execute(self, bucket, request, key, body, several):
        if several:
            return self._delete_several(bucket, request, key, *several)
        if request.kind == "head_bucket":
            return Answer(200, headers={"x-amz-bucket-region": self.region})
        return getattr(self, "_" + request.kind.replace("head", "get"))(bucket, request, body)

    def _during(self, request, has_effect=lambda rule: True):
        """Returns the fault in how the request is carried out. Late requests have none."""
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
        return Answer(200, document("DeleteResult", "".join(result)), dict(XML))

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
            following = base64.urlsafe_b64encode(last.encode()).decode()
            body.append(element("NextContinuationToken", following))
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
        return Answer(200, document("ListBucketResult", "".join(body)), dict(XML))

    def _view(self, bucket, request):
        """Returns what a listing shows. The values are Facts only if it is stale."""

        def mark(rule):
            if rule["mark"] is not None:
                return rule["mark"]
            oldest = self._now() - (rule["age"] or 0)
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
    """Returns the first and last byte. None: the whole object. First > last: not satisfiable."""
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
    """Returns the keys that POST ?delete names, and True if its answer is to be quiet."""
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
