# SPDX-License-Identifier: MIT
"""A transparent proxy that adds the token, for clients that cannot be given one."""
import contextlib
import selectors
import socket
import threading

HEAD_MAX = 1 << 16


@contextlib.contextmanager
def adding(token, port):
    """Yields the port of a proxy on the loopback that forwards to `port`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        own = listener.getsockname()[1]
        threading.Thread(
            target=_accept, args=(listener, own, port, token), daemon=True
        ).start()
        yield own


def _accept(listener, own, port, token):
    with contextlib.suppress(OSError):
        while True:
            client, _ = listener.accept()
            threading.Thread(
                target=_serve, args=(client, own, port, token), daemon=True
            ).start()


def _serve(client, own, port, token):
    """Forwards one request and asks both sides to close the connection."""
    with client, contextlib.suppress(OSError):
        head, body = _read_head(client)
        if not head:
            return
        with socket.create_connection(("127.0.0.1", port)) as server:
            server.sendall(_edit(head, own, port, token) + body)
            _pass_on(client, server)


def _read_head(client):
    data = b""
    while b"\r\n\r\n" not in data and len(data) < HEAD_MAX:
        some = client.recv(HEAD_MAX)
        if not some:
            return b"", b""
        data += some
    head, _, body = data.partition(b"\r\n\r\n")
    return head, body


def _edit(head, own, port, token):
    """Returns the head as if it had been sent to the server itself, with the token."""
    first, *lines = head.split(b"\r\n")
    kept = []
    for line in lines:
        name = line.partition(b":")[0].lower()
        if name == b"connection":
            continue
        if name in (b"host", b"origin"):
            line = line.replace(b":%d" % own, b":%d" % port)
        kept.append(line)
    kept += [b"Authorization: Bearer " + token.encode(), b"Connection: close"]
    return b"\r\n".join([first, *kept]) + b"\r\n\r\n"


def _pass_on(client, server):
    with selectors.DefaultSelector() as both:
        both.register(client, selectors.EVENT_READ, server)
        both.register(server, selectors.EVENT_READ, client)
        while True:
            for key, _ in both.select():
                data = key.fileobj.recv(HEAD_MAX)
                if data:
                    key.data.sendall(data)
                elif key.fileobj is server:
                    return
                else:
                    both.unregister(client)
