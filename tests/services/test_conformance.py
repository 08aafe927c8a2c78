#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The Model Context Protocol, checked by its inspector and conformance suite. tools/conformance
installs both and sets OFFLOADFS_CONFORMANCE to their directory. Without it these tests are skipped.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "fs"))

import proxy  # noqa: E402
from harness import OFFLOAD, SLOW, Skip, main, test  # noqa: E402
from mcp_client import Stdio  # noqa: E402

ERAS = {"legacy": "legacy", "modern": "modern", "either": "auto"}
REVISIONS = {v: v for v in ("2025-11-25", "2026-07-28")}
TOKEN = "a-token-of-this-test"


def script(package, path):
    """Returns the words that run a script of an installed package."""
    folder = os.environ.get("OFFLOADFS_CONFORMANCE")
    if not folder:
        raise Skip("OFFLOADFS_CONFORMANCE is not set: tools/conformance sets it")
    node = next(
        filter(None, map(shutil.which, (f"{folder}/node_modules/.bin/node", "node"))), None
    )
    file = pathlib.Path(folder, "node_modules", package, path)
    if not node or not file.exists():
        raise Skip(f"there is no node, or no {package} in {folder}: run tools/conformance")
    return [node, str(file)]


def run(case, words, seconds=120):
    """Runs a client without any of our settings in its environment."""
    home = case.path("home")
    os.makedirs(home, exist_ok=True)
    return subprocess.run(
        words,
        cwd=home,
        env={"PATH": "/usr/bin:/bin", "HOME": home, "NO_COLOR": "1", "no_proxy": "127.0.0.1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds * SLOW,
    )


# --- The inspector --------------------------------------------------------------------------------


def inspect(case, era, target, method, *options):
    """Returns the result that the inspector received. The inspector checks its form."""
    words = script("@modelcontextprotocol/inspector", "clients/launcher/build/index.js")
    words += ["--cli", "--protocol-era", era, "--format", "json", "--method", method]
    done = run(case, [*words, *options, *target])
    assert done.returncode == 0, f"exit {done.returncode}: {done.stdout}{done.stderr}"
    return json.loads(done.stdout)["result"]


def look_around(case, era, target):
    """Does everything that the inspector can do with our server."""
    listed = inspect(case, era, target, "tools/list", "--strict")
    assert len(listed["tools"]) == 7, listed

    def call(tool, **arguments):
        words = ["--tool-name", tool, "--tool-args-json", json.dumps(arguments)]
        return inspect(case, era, target, "tools/call", *words)["structuredContent"]

    stored = call("memory_offload", content="a needle in a haystack", title="hay")
    ref = stored["memory_refs"][0]["id"]
    assert call("memory_fetch", memory_id=ref)["text"] == "a needle in a haystack"
    assert call("memory_search", query="needle")["hits"]
    assert call("memory_grep", pattern="n..dle")["lines"]
    assert call("memory_promote", memory_id=ref)["moved"]
    assert call("memory_list")["files"] and call("memory_stats")["rows"]
    uris = [r["uri"] for r in inspect(case, era, target, "resources/list")["resources"]]
    assert uris == [f"offload://{ref}"], uris
    read = inspect(case, era, target, "resources/read", "--uri", uris[0])
    assert read["contents"][0]["text"] == "a needle in a haystack", read
    assert inspect(case, era, target, "resources/templates/list")["resourceTemplates"]


@test(variants=ERAS, timeout=300)
def inspector_over_stdio(case, era):
    look_around(case, era, [OFFLOAD, "mcp", "--store", case.store])


@test(variants=ERAS, timeout=300)
def inspector_over_http(case, era):
    with serving(case) as port:
        look_around(case, era, [f"http://127.0.0.1:{port}/mcp"])


# --- The suite ------------------------------------------------------------------------------------


@contextlib.contextmanager
def serving(case):
    """Runs `offload serve` behind a proxy that adds its token. Yields the proxy's port."""
    token = pathlib.Path(case.path("token"))
    token.write_text(TOKEN + "\n")
    token.chmod(0o600)
    server = subprocess.Popen(
        [
            OFFLOAD, "serve", "--store", case.store, "--listen", "127.0.0.1:0",
            "--token-file", str(token),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip
    try:
        said = ""
        while True:
            line = server.stdout.readline()
            said += line
            port = re.search(r"127\.0\.0\.1:(\d+)", line)
            if port:
                break
            if not line:
                raise Skip(f"offload serve does not: {said}")
        with proxy.adding(TOKEN, int(port[1])) as own:
            yield own
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


def suite(case, port, *options):
    words = script("@modelcontextprotocol/conformance", "dist/index.js")
    url = f"http://127.0.0.1:{port}/mcp"
    return run(case, [*words, "server", "--url", url, *options], 600)


@test(variants=REVISIONS, timeout=600)
def conformance(case, revision):
    """
    Meets the requirements of a revision. What the suite's fixture has and we lack is listed in
    conformance-REVISION.yaml. Everything else must pass, and nothing listed there may.
    """
    expected = HERE / f"conformance-{revision}.yaml"
    with Stdio("--store", case.store) as client:  # makes a resource that can be read
        client.call("memory_offload", content="x\n")
    with serving(case) as port:
        done = suite(
            case, port, "--requirements", revision, "--expected-failures", str(expected)
        )
    print(done.stdout[-20000:], done.stderr[-5000:])
    assert done.returncode == 0, f"exit {done.returncode}"


@test(timeout=300)
def headers(case):
    """Requirements for headers that the suite does not count yet."""
    with serving(case) as port:
        done = suite(
            case, port, "--scenario", "http-header-validation", "--spec-version", "2026-07-28"
        )
    print(done.stdout[-20000:], done.stderr[-5000:])
    assert done.returncode == 0, f"exit {done.returncode}"


if __name__ == "__main__":
    main()
