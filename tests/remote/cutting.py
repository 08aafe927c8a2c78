# SPDX-License-Identifier: MIT
"""A proxy that cuts its connections after a number of bytes that a seed determines."""
import contextlib
import random
import selectors
import socket
import struct
import threading

SMALLEST = 100


class Cutting:
    """
    Forwards connections to a port of the loopback. Each is cut after a number of bytes, counted in
    both directions, between SMALLEST and `largest`, with small numbers as likely as large ones.
    Half of them are cut with a reset. `cut` counts the cut ones.
    """

    def __init__(self, target, seed=1, largest=64 << 20, port=0):
        self.target, self.seed, self.largest, self.port = target, seed, largest, port
        self.connections = self.cut = 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=256)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, kind, value, trace):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        return False

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                dice = random.Random(f"{self.seed} {self.connections}")
                limit = int(SMALLEST * (self.largest / SMALLEST) ** dice.random())
                chosen = client, limit, dice.random() < 0.5
                threading.Thread(target=self._serve, args=chosen, daemon=True).start()

    def _serve(self, client, limit, reset):
        with client, contextlib.suppress(OSError):
            with socket.create_connection(("127.0.0.1", self.target)) as server:
                if not self._pass_on(client, server, limit):
                    return
                self.cut += 1
                if reset:
                    for s in (client, server):
                        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    @staticmethod
    def _pass_on(client, server, limit):
        """Returns True if the limit was reached before the end of the connection."""
        with selectors.DefaultSelector() as both:
            both.register(client, selectors.EVENT_READ, server)
            both.register(server, selectors.EVENT_READ, client)
            while True:
                for key, _ in both.select():
                    data = key.fileobj.recv(min(limit, 1 << 16))
                    if not data:
                        return False
                    key.data.sendall(data)
                    limit -= len(data)
                    if not limit:
                        return True
