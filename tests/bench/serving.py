# SPDX-License-Identifier: MIT
"""Many clients of `offload serve`: errors, times, memory, and what a crash of everything loses."""
import contextlib
import hashlib
import http.client
import json
import multiprocessing
import os
import pathlib
import random
import signal
import statistics
import sys
import threading
import time

from measure import MIB, Place, heading, met, note, size_text, table, time_text

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "services"))

import harness  # noqa: E402
import serve  # noqa: E402

MEMORY_AIM = 100 * MIB
PROCESSES = 4  # processes that the clients are divided among
WORDS = "context memory tool result error parse frame index token agent search store page".split()
JSON = {"Content-Type": "application/json"}


def add_arguments(parser):
    parser.add_argument(
        "clients", nargs="?", type=int, default=200, metavar="N", help="at once (default 200)"
    )
    parser.add_argument("--seconds", type=float, default=60, help="for how long (default 60)")


def measure(options):
    heading(f"serve: {options.clients} clients for {options.seconds:g} s, reads and writes")
    with Place() as place:
        m = place.daemon()
        server = serve.Server(place, where=["-d", m.mnt]).start()
        note("clients run")
        watch = _Memory(server)
        results = _run_clients(server.sockets[0], options)
        peak = watch.end()
        note("killing the server and the daemon, and reading everything back")
        server.process.kill()
        server.process.communicate()
        m.kill9()
        harness.detach(m.mnt, lazy=True)
        m.start()
        kept = {ref: digest for r in results for ref, digest in r["kept"].items()}
        with serve.Server(place, where=["-d", m.mnt]) as again:
            lost = _count_lost(again, kept)
        m.unmount()
    return _report(options, results, kept, lost, peak)


def _report(options, results, kept, lost, peak):
    times = {}
    for r in results:
        for what, each in r["times"].items():
            times.setdefault(what, []).extend(each)
    errors = [e for r in results for e in r["errors"]]
    for error in errors[:5]:
        print(f"  {error}")
    rows = []
    for what, each in sorted(times.items()):
        each.sort()
        rows.append(
            [what, len(each), time_text(statistics.median(each)), time_text(each[len(each) * 99 // 100]), time_text(each[-1])]
        )  # fmt: skip
    requests = sum(map(len, times.values()))
    table(["", "requests", "median", "99%", "longest"], rows)
    print(
        f"\n  {requests / options.seconds:.0f} requests a second;"
        f" the server's memory at most: {size_text(peak)}"
        f"\n  aim: no errors: {met(not errors)} ({len(errors)})"
        f"\n  aim: memory below {size_text(MEMORY_AIM)}: {met(peak < MEMORY_AIM)}"
        f"\n  aim: all {len(kept)} contents are there, and equal, after both were killed:"
        f" {met(not lost)} ({lost} are not)"
    )
    return {
        "clients": options.clients,
        "seconds": options.seconds,
        "requests": requests,
        "errors": len(errors),
        "kept": len(kept),
        "lost": lost,
        "memory": peak,
        "medians": {what: statistics.median(each) for what, each in times.items()},
    }


class _Memory:
    """Watches the memory of a server."""

    def __init__(self, server):
        self.peak, self.server, self.over = 0, server, threading.Event()
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()

    def _watch(self):
        while not self.over.wait(0.1):
            self.peak = max(self.peak, self.server.rss())

    def end(self):
        self.over.set()
        self.thread.join()
        return self.peak


# --- Clients --------------------------------------------------------------------------------------


def _run_clients(path, options):
    queue = multiprocessing.Queue()
    share = [options.clients // PROCESSES] * PROCESSES
    share[0] += options.clients % PROCESSES
    until = time.monotonic() + options.seconds
    workers = [
        multiprocessing.Process(target=_process, args=(queue, path, n, until, number))
        for number, n in enumerate(share)
    ]
    for each in workers:
        each.start()
    results = [queue.get() for _ in workers]
    for each in workers:
        each.join()
    return results


def _process(queue, path, clients, until, number):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    result = {"times": {}, "errors": [], "kept": {}}
    threads = [
        threading.Thread(target=_client, args=(path, until, f"{number}-{n}", result))
        for n in range(clients)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    queue.put(result)


class _Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=120)
        self.path = path

    def connect(self):
        self.sock = serve.socket.socket(serve.socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def _client(path, until, name, result):
    rand = random.Random(name)
    mine = []
    with contextlib.closing(_Unix(path)) as c:
        while time.monotonic() < until:
            what = rand.choices(
                ["offload", "content", "fetch", "list", "search", "grep"], [30, 30, 20, 10, 5, 5]
            )[0]
            if not mine:
                what = "offload"
            begin = time.perf_counter()
            try:
                _request(c, what, rand, name, mine, result)
            except (OSError, AssertionError, http.client.HTTPException, ValueError, KeyError) as e:
                result["errors"].append(f"{what}: {type(e).__name__}: {e}"[:300])
                c.close()
            result["times"].setdefault(what, []).append(time.perf_counter() - begin)


def _ask(c, method, path, body=None, status=200):
    c.request(method, path, body, JSON if body else {})
    response = c.getresponse()
    got = response.read()
    assert response.status == status, f"{response.status} {got[:200]!r}"
    return got


def _request(c, what, rand, name, mine, result):
    if what == "offload":
        text = _text(rand, name)
        told = json.loads(_ask(c, "POST", "/v1/memories", json.dumps({"content": text}), 201))
        mine.append(told["memory_refs"][0]["id"])
        result["kept"][mine[-1]] = hashlib.sha256(text.encode()).hexdigest()
    elif what == "content":
        ref = rand.choice(mine)
        got = _ask(c, "GET", f"/v1/memories/{ref}/content")
        assert hashlib.sha256(got).hexdigest() == result["kept"][ref], f"{ref} is not equal"
    elif what == "fetch":
        json.loads(_ask(c, "GET", f"/v1/memories/{rand.choice(mine)}?line_start=2&line_end=5"))
    elif what == "list":
        json.loads(_ask(c, "GET", "/v1/memories?limit=20"))
    elif what == "search":
        json.loads(_ask(c, "GET", f"/v1/search?query={rand.choice(WORDS)}&limit=5"))
    else:
        json.loads(_ask(c, "GET", f"/v1/grep?pattern={rand.choice(WORDS)}&path={rand.choice(mine)}&limit=5"))


def _text(rand, name):
    lines = rand.randint(3, 300)
    return f"of client {name}, {rand.random()}\n" + "".join(
        " ".join(rand.choices(WORDS, k=8)) + f" {rand.randint(0, 1 << 30)}\n" for _ in range(lines)
    )


def _count_lost(server, kept):
    lost = 0
    with contextlib.closing(_Unix(server.sockets[0])) as c:
        for ref, digest in kept.items():
            c.request("GET", f"/v1/memories/{ref}/content")
            response = c.getresponse()
            got = response.read()
            lost += response.status != 200 or hashlib.sha256(got).hexdigest() != digest
    return lost
