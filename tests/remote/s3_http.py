# SPDX-License-Identifier: MIT
"""The server's side of a connection, which can be cut and reset anywhere."""
import contextlib
import select
import socket
import struct
import time

HEAD_MAX = 1 << 16
REASONS = {
    100: "Continue", 200: "OK", 204: "No Content", 206: "Partial Content", 304: "Not Modified",
    400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    409: "Conflict", 411: "Length Required", 412: "Precondition Failed",
    416: "Requested Range Not Satisfiable", 429: "Too Many Requests",
    500: "Internal Server Error", 501: "Not Implemented", 503: "Service Unavailable",
}


class Answer:
    def __init__(self, status, body=b"", headers=None, code=None):
        self.status, self.body, self.headers, self.code = status, body, headers or {}, code


class Dropped(Exception):
    """The connection is to be closed without an answer, or with a reset."""

    def __init__(self, reset=False):
        super().__init__()
        self.reset = reset


def http_date(at):
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(at))


class Connection:
    def __init__(self, sock):
        self.sock = sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = sock.makefile("rb", HEAD_MAX)

    def read_head(self):
        """Returns the words of the request line and the headers, or None at the end."""
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
            before = headers[name] + "," if name in headers else ""
            headers[name] = before + value.strip()
        return words, headers

    def read(self, size):
        data = self.file.read(size)
        if len(data) < size:
            raise Dropped()
        return data

    def send(self, answer, head_only, close, cut=None):
        """Returns the number of bytes of the body that were sent."""
        lines = [f"HTTP/1.1 {answer.status} {REASONS.get(answer.status, 'Error')}"]
        headers = {"Server": "s3.py", **answer.headers}
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
        """Returns True if the client has closed its side."""
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
