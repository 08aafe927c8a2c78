#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The benchmarks of offloadfs. Run them through tools/bench, which builds offloadfs first."""
import argparse
import json
import os
import platform
import signal
import subprocess
import sys

import measure
import age  # noqa: I001  (as all below, it finds the rest through measure)
import agents
import awake
import collect
import context
import evict
import harness
import large
import mcp
import plot
import profile
import recall
import redact
import remote
import remove
import scale
import search
import serving
import speed
import storage
import tokens
import tools
import walk

BENCHMARKS = {
    "storage": storage,
    "scale": scale,
    "large": large,
    "age": age,
    "remove": remove,
    "walk": walk,
    "agents": agents,
    "awake": awake,
    "collect": collect,
    "gc": evict,
    "context": context,
    "mcp": mcp,
    "tools": tools,
    "search": search,
    "serve": serving,
    "recall": recall,
    "speed": speed,
    "profile": profile,
    "tokens": tokens,
    "redact": redact,
    "remote": remote,
}
# The benchmarks of `all`, with small numbers.
QUICK = {
    "storage": [],
    "scale": ["20000"],
    "age": ["--days", "2"],
    "large": ["0.25"],
    "remove": ["10"],
    "walk": ["2000"],
    "agents": ["10", "--files", "200", "--runs", "3"],
    "collect": ["2000"],
    "gc": ["4000", "--tombstones", "100"],
    "search": [],
    "serve": ["20", "--seconds", "3"],
    "context": ["--every", "40", "--size", "4"],
    "mcp": ["--runs", "20", "--files", "50"],
    "tools": ["--runs", "10", "--files", "50", "--cold", "1"],
    "speed": ["--quick"],
}
HELP = {
    "storage": "bytes that tool results take, beside other ways to keep them",
    "scale": "a store of millions of files: opening, memory, walking, listing, searching",
    "large": "a file of gigabytes: memory, journal, slices, removal",
    "age": "what a month of making, reading, expiring and archiving leaves of a store",
    "remove": "whether removed space comes back",
    "walk": "grep over the whole mount, views included",
    "agents": "what a tree of an agent costs among many, beside a store of its own",
    "search": "queries over archived results",
    "awake": "processors that are kept awake while requests come: gain, cost",
    "serve": "many clients of offload serve at once, and what a crash of all loses",
    "recall": "how well a search finds what questions are about",
    "context": "what is saved of prompts, whether it comes back, and how quick that is",
    "speed": "times of everyday work, beside the plain filesystem and other ones over FUSE",
    "profile": "where the time of offloadfs goes: messages, processor time, calls, stacks",
    "mcp": "calls over the Model Context Protocol",
    "tools": "how long the tools take that an agent waits for: run, put, slice, the hook",
    "tokens": "how near the estimate of tokens comes to a real tokenizer, and how quick it is",
    "remote": "replication to object storage: cost, requests, restoring, little room",
    "redact": "how quick the search for secrets is, and what it finds",
    "collect": "what readers notice of a garbage collection",
    "gc": "time and memory of a garbage collection",
    "all": "all of them but awake, recall, remote, profile, tokens and redact, in turn",
}


def main():
    parser = _parser()
    options = parser.parse_args()
    if options.command == "plot":
        _plot(options)
        return
    if not os.access(harness.OFFLOADFS, os.X_OK):
        sys.exit(f"bench: there is no daemon at '{harness.OFFLOADFS}': set OFFLOADFS")
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        sys.exit("bench: cannot open '/dev/fuse' for reading and writing")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _interrupt)
    harness.isolate()
    _print_machine()
    results = {}
    try:
        for name, each in _chosen(parser, options):
            results[name] = BENCHMARKS[name].measure(each)
    except (measure.Failure, AssertionError, subprocess.CalledProcessError) as e:
        sys.exit(f"bench: {e}")
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
    finally:
        if options.json and results:
            _write_json(options.json, results)


def _sentence(text):
    return text[0].upper() + text[1:]


def _parser():
    parser = argparse.ArgumentParser(
        prog="bench", description="Measures offloadfs. docs/BENCHMARKS.md says how to read it."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in [*BENCHMARKS, "all"]:
        command = commands.add_parser(name, help=HELP[name], description=_sentence(HELP[name]))
        command.add_argument("--json", metavar="FILE", help="write all figures there as well")
        command.add_argument(
            "--rest",
            type=float,
            default=12,
            metavar="SECONDS",
            help="a store at which nothing happened for so long is at rest (default 12)",
        )
        if name == "all":
            command.add_argument(
                "--quick", action="store_true", help="small numbers: minutes, to see that it works"
            )
        else:
            BENCHMARKS[name].add_arguments(command)
    command = commands.add_parser("plot", help=plot.HELP, description=_sentence(plot.HELP))
    plot.add_arguments(command)
    return parser


def _plot(options):
    try:
        plot.draw(options)
    except measure.Failure as e:
        sys.exit(f"bench: {e}")


def _chosen(parser, options):
    if options.command != "all":
        yield options.command, options
        return
    for name, small in QUICK.items():
        some = small if options.quick else []
        yield name, parser.parse_args([name, "--rest", str(options.rest), *some])


def _interrupt(_signal, _frame):
    # Cleaning up must not be interrupted again.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _machine():
    version = subprocess.run([harness.OFFLOADFS, "--version"], capture_output=True, check=False)
    return {
        "offloadfs": version.stdout.decode(errors="replace").strip(),
        "kernel": platform.release(),
        "processors": os.cpu_count(),
        "load": os.getloadavg()[0],
    }


def _print_machine():
    machine = _machine()
    print(
        f"{machine['offloadfs']}, Linux {machine['kernel']}, {machine['processors']} processors,"
        f" load {machine['load']:.1f}",
        flush=True,
    )


def _write_json(path, results):
    with open(path, "w") as f:
        json.dump({"machine": _machine(), **results}, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
