# SPDX-License-Identifier: MIT
"""The speed of calls over the Model Context Protocol, on standard input and output."""
import json
import statistics
import subprocess
import time

import harness
from corpus import soup
from measure import KIB, MIB, Place, Failure, heading, met, table, time_text

RUNS = 300
FILES = 500
AIM = 0.003  # seconds, median of memory_fetch on a mounted tree
AIMED = ("memory_fetch, 20 lines", "memory_fetch, 64 KiB")


def add_arguments(parser):
    parser.add_argument(
        "--runs", type=int, default=RUNS, metavar="N", help=f"of each call (default {RUNS})"
    )
    parser.add_argument(
        "--files", type=int, default=FILES, metavar="N", help=f"in the tree (default {FILES})"
    )


class Server:
    """offload mcp on a tree. A context manager."""

    def __init__(self, *options):
        self.process = subprocess.Popen(
            [harness.OFFLOAD, "mcp", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.id = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def ask(self, method, params):
        """Returns the result, and the seconds it took without the client's own JSON."""
        self.id += 1
        message = {"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}
        data = json.dumps(message).encode() + b"\n"
        begin = time.perf_counter()
        self.process.stdin.write(data)
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        took = time.perf_counter() - begin
        answer = json.loads(line or "{}")
        result = answer.get("result")
        if not result or result.get("isError"):
            raise Failure(f"{method} failed: {answer}")
        return result, took

    def call(self, tool, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})


def measure(options):
    heading(
        f"mcp: calls over standard input and output, {options.files} files; of {options.runs} runs"
    )
    with Place() as place, place.daemon() as m:
        with Server("-d", m.mnt) as server:
            begin = time.perf_counter()
            server.ask("tools/list", {})
            start = time.perf_counter() - begin
            refs = _fill(server, options.files)
            m.rest(options.rest, what="sealing")
            times = {what: _times(server, options.runs, *ask) for what, ask in _asks(refs).items()}
    medians = {what: statistics.median(t) for what, t in times.items()}
    slowest = {what: sorted(t)[int(len(t) * 0.99)] for what, t in times.items()}
    table(
        ["", "median", "99%"],
        [[what, time_text(medians[what]), time_text(slowest[what])] for what in times],
    )
    worst = max(medians[what] for what in AIMED)
    print(
        f"\n  started and asked for its tools in {time_text(start)}"
        f"\n  aim: memory_fetch within {time_text(AIM)}: {met(worst <= AIM)}"
    )
    return {
        "files": options.files,
        "runs": options.runs,
        "start": start,
        "medians": medians,
        "slowest": slowest,
        "aims": {"fetch": worst <= AIM},
    }


def _fill(server, count):
    """Stores small texts and finally one of a MiB. Returns their refs in this order."""
    text = soup(2 * MIB, 8).decode("ascii", "replace").split("\n")
    refs = []
    for i in range(count):
        some = "\n".join(text[i * 20 % len(text) :][:100]) + f"\n{i}\n"
        refs.append(server.call("memory_offload", content=some)[0])
    lines = [line[:200] for line in text]
    refs.append(server.call("memory_offload", content="\n".join(lines)[:MIB])[0])
    return [r["structuredContent"]["memory_refs"][0]["id"] for r in refs]


def _asks(refs):
    """Returns {title: (method, function from the run's number to parameters)}."""

    def call(tool, arguments):
        return "tools/call", lambda i: {"name": tool, "arguments": arguments(i)}

    small, large = refs[:-1], refs[-1]
    return {
        "memory_fetch, 20 lines": call(
            "memory_fetch", lambda i: {"memory_id": small[i % len(small)], "line_end": 20}
        ),
        "memory_fetch, 64 KiB": call(
            "memory_fetch",
            lambda i: {"memory_id": large, "byte_offset": i % 15 * 64 * KIB, "byte_len": 64 * KIB},
        ),
        "memory_list": call("memory_list", lambda i: {}),
        "memory_search": call("memory_search", lambda i: {"query": f"word {i}"}),
        "memory_offload": call("memory_offload", lambda i: {"content": f"a new text {i}\n"}),
        "resources/read": (
            "resources/read",
            lambda i: {"uri": f"offload://{small[i % len(small)]}"},
        ),
        "tools/list": ("tools/list", lambda i: {}),
    }


def _times(server, runs, method, params):
    return [server.ask(method, params(i))[1] for i in range(runs)]
