#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A small agent with a shell, for any service that offers Anthropic's Messages API.

    ANTHROPIC_BASE_URL   default: https://api.anthropic.com
    ANTHROPIC_API_KEY    ANTHROPIC_MODEL

    examples/anthropic_agent.py 'Why does ./long_tests.sh fail?'

Before each request the messages are managed: long results become pointers, and the model reads the
lines it needs with its shell. Only finish() and the lines with `context` concern offloading; the
rest is an agent like any other. Needs the package: pip install ./python
"""
import json
import os
import subprocess
import sys
import time
import urllib.request

from offloadfs import Context, OffloadError

URL = os.environ.get("ANTHROPIC_BASE_URL", "https://api.anthropic.com").rstrip("/")
KEY = os.environ.get("ANTHROPIC_API_KEY", "")
MODEL = os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-4-5")
TURNS = 50
# Also the task that owns the offloaded results. Each chat needs a name of its own.
CHAT = f"chat-{time.time_ns()}-{os.getpid()}"

SYSTEM = """You solve tasks with the bash tool, in the current folder. Long results are stored, and
you get a pointer with the first and last lines. Read more of one with `cat FILE:120-180`, search it
with `grep -n`, both on the path in the pointer. Do not read all of it."""

BASH = {
    "name": "bash",
    "description": "Runs a shell command and returns its output and exit code.",
    "input_schema": {
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    },
}


def save(messages):
    with open(f"{CHAT}.json", "w", encoding="utf-8") as f:
        json.dump(messages, f, indent=1)


def finish(context):
    """Saves the restored chat. After that the store may drop what was taken out of it."""
    try:
        save(context.restore())
        context.store.done(CHAT)
    except OffloadError as e:
        print(f"offload: {e}", file=sys.stderr)
        save(context.messages)


def ask(context):
    """Returns the content blocks of the model's answer."""
    request = {"model": MODEL, "max_tokens": 8000, "tools": [BASH]}
    request.update(system=context.system, messages=context.messages)
    request["cache_control"] = {"type": "ephemeral"}  # caches the prompt for the next request
    headers = {"anthropic-version": "2023-06-01", "x-api-key": KEY}
    headers["content-type"] = "application/json"
    post = urllib.request.Request(f"{URL}/v1/messages", json.dumps(request).encode(), headers)
    with urllib.request.urlopen(post, timeout=600) as reply:
        return json.load(reply)["content"]


def bash(command):
    """
    Returns a command's output. Runs it where `offload` runs, since paths in pointers are relative.
    """
    print(f"+ {command}", file=sys.stderr)
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    try:
        done = subprocess.run(["bash", "-c", command], timeout=600, check=False, **options)
    except (OSError, TypeError, ValueError, subprocess.SubprocessError) as e:
        return f"[failed: {e}]"
    return done.stdout.decode(errors="replace") + f"[exit {done.returncode}]\n"


def call_tool(use):
    """Returns the block that answers a tool call."""
    text = bash(use["input"].get("command"))
    return {"type": "tool_result", "tool_use_id": use["id"], "content": text}


def main():
    context = Context([{"role": "user", "content": sys.argv[1]}], system=SYSTEM, chat=CHAT)
    for _ in range(TURNS):
        context.prepare()
        if context.metadata:  # empty if the messages could not be managed
            print(
                "[{tokens_before} -> {tokens_after} tokens]".format_map(context.metadata),
                file=sys.stderr,
            )
        blocks = ask(context)
        context.append({"role": "assistant", "content": blocks})
        results = [call_tool(block) for block in blocks if block["type"] == "tool_use"]
        if not results:
            print("".join(b["text"] for b in blocks if b["type"] == "text"))
            break
        context.append({"role": "user", "content": results})
    finish(context)


if __name__ == "__main__":
    main()
