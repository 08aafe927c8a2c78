# SPDX-License-Identifier: MIT
"""How long the tools that an agent waits for take from start to exit, on a mounted tree."""
import json
import os
import re
import shutil
import statistics
import subprocess
import time

import harness
from measure import Failure, Place, busy_processors, drop_caches, heading, met, table, time_text

RUNS = 100
FILES = 300
COLD_RUNS = 10
PAUSE = 0.010  # seconds, in which the processors halt
AIM = 0.005  # seconds, for each tool
LINES = 400  # lines of a stored output: 20 KB


def add_arguments(parser):
    parser.add_argument(
        "--runs", type=int, default=RUNS, metavar="N", help=f"of each tool (default {RUNS})"
    )
    parser.add_argument(
        "--files", type=int, default=FILES, metavar="N", help=f"in the tree (default {FILES})"
    )
    parser.add_argument(
        "--cold", type=int, default=COLD_RUNS, metavar="N",
        help=f"of each tool with nothing in the caches (default {COLD_RUNS})",
    )  # fmt: skip


def measure(options):
    heading(f"tools: from start to exit, {options.files} files in the tree, {options.runs} runs")
    with Place() as place, place.daemon() as m:
        tools = Tools(place, m)
        tools.fill(options.files)
        m.rest(options.rest, what="sealing")
        times = {
            "at rest": tools.times(options.runs, PAUSE),
            "one after the other": tools.times(options.runs, 0),
            "cold": tools.times(options.cold, PAUSE, cold=True),
        }
        with busy_processors():
            times["under load"] = tools.times(options.runs, PAUSE)
    return report(times)


def report(times):
    """Prints and judges the times. The first rows are the least that starting a process takes."""
    figures, aims = {}, {}
    for state, by_tool in times.items():
        rows = []
        for tool, seconds in by_tool.items():
            seconds = sorted(seconds)
            figures.setdefault(state, {})[tool] = {
                "median": statistics.median(seconds),
                "95%": seconds[int(len(seconds) * 0.95)],
                "slowest": seconds[-1],
            }
            row = figures[state][tool]
            ok = row["median"] <= AIM
            if tool not in FLOOR:
                aims[f"{tool}, {state}"] = ok
            rows.append(
                [tool, *(time_text(s) for s in row.values()), "" if tool in FLOOR else met(ok)]
            )
        print(f"\n  {state}")
        table(["", "median", "95%", "slowest", f"aim: {time_text(AIM)}"], rows)
    return {"seconds": figures, "aims": aims}


FLOOR = ("true", "cat on the plain filesystem", "cat on the mount")


class Tools:
    """The tools, each as a function from the run's number to what to start."""

    def __init__(self, place, mount):
        self._place, self._mount = place, mount
        self._environment = {**os.environ, "OFFLOAD_DIR": mount.mnt}
        self._count = 0
        self._ref = None
        # A copy, so that its cache can be dropped even if only root may drop all caches.
        self._offload = place.path("bin", "offload")
        os.makedirs(place.path("bin"))
        shutil.copy(harness.OFFLOAD, self._offload)
        self._plain = place.path("plain.txt")
        self._write(self._plain)

    def _text(self):
        """Returns a text that is never repeated."""
        self._count += 1
        return "".join(
            f"src/part{i % 17}/file{i}.c:{i * 7}: warning {self._count}: unused\n"
            for i in range(LINES)
        )

    def _write(self, path, make=str):
        with open(path, "w", encoding="utf-8") as f:
            f.write(make(self._text()))
        return path

    def fill(self, files):
        """Puts this many files into the tree."""
        for _ in range(files):
            out = subprocess.run(
                [self._offload, "put", "-c", "shell"],
                input=self._text().encode(),
                stdout=subprocess.PIPE,
                env=self._environment,
                check=True,
            ).stdout.decode()
        self._ref = re.search(r"ref (\w+)", out)[1]

    def _event(self, text):
        return json.dumps({
            "hook_event_name": "PostToolUse",
            "session_id": "bench",
            "cwd": self._place.dir,
            "tool_name": "Bash",
            "tool_input": {"command": "make"},
            "tool_response": {"stdout": text, "stderr": "", "interrupted": False},
        })  # fmt: skip

    def _starts(self):
        """Returns {name: (command, function that makes its input)}."""
        given = self._place.path("input")
        offload, nothing = self._offload, os.devnull

        def new(make=str):
            return lambda: self._write(given, make)

        def old(path):
            return lambda: path

        true, cat = shutil.which("true"), shutil.which("cat")
        hook = [offload, "hook", "claude-code"]
        return {
            "true": ([true], old(nothing)),
            "cat on the plain filesystem": ([cat, self._plain], old(nothing)),
            "cat on the mount": ([cat, self._mount("refs", self._ref)], old(nothing)),
            "run -- true": ([offload, "run", "--", "true"], old(nothing)),
            "run -- cat, stored": ([offload, "run", "--", "cat", given], new()),
            "put": ([offload, "put", "-c", "shell"], new()),
            "slice": ([offload, "slice", self._ref, "100-150"], old(nothing)),
            "hook, a short output": (hook, new(lambda _: self._event("done\n"))),
            "hook, stored": (hook, new(self._event)),
        }

    def times(self, runs, pause, cold=False):
        """Returns the seconds by tool. The tools take turns, so disturbances affect all alike."""
        starts = self._starts()
        seconds = {name: [] for name in starts}
        for _ in range(runs):
            for name, (command, given) in starts.items():
                path = given()
                if cold:
                    drop_caches(os.path.dirname(self._offload))
                time.sleep(pause)
                seconds[name].append(self._time(command, path))
        return seconds

    def _time(self, command, given):
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, given, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        ]
        begin = time.perf_counter()
        pid = os.posix_spawn(command[0], command, self._environment, file_actions=actions)
        _, status = os.waitpid(pid, 0)
        took = time.perf_counter() - begin
        if status:
            raise Failure(f"'{' '.join(command)}' ended with status {status}")
        return took
