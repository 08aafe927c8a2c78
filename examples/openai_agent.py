#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A small agent with a shell, for any service that offers OpenAI's chat completions API.

    OPENAI_BASE_URL   default: https://api.openai.com/v1
    OPENAI_API_KEY    OPENAI_MODEL

    examples/openai_agent.py 'Why does ./long_tests.sh fail?'

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

URL = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1").rstrip("/")
KEY = os.environ.get("OPENAI_API_KEY", "")
MODEL = os.environ.get("OPENAI_MODEL", "gpt-4o")
TURNS = 50
# Also the task that owns the offloaded results. Each chat needs a name of its own.
CHAT = f"chat-{time.time_ns()}-{os.getpid()}"

SYSTEM = """You solve tasks with the bash tool, in the current folder. Long results are stored, and
you get a pointer with the first and last lines. Read more of one with `cat FILE:120-180`, search it
with `grep -n`, both on the path in the pointer. Do not read all of it."""

BASH = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Runs a shell command and returns its output and exit code.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
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


def ask(messages):
    """Returns the message of the model's answer."""
    request = {"model": MODEL, "tools": [BASH], "messages": messages}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
    post = urllib.request.Request(f"{URL}/chat/completions", json.dumps(request).encode(), headers)
    with urllib.request.urlopen(post, timeout=600) as reply:
        return json.load(reply)["choices"][0]["message"]


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


def call_tool(call):
    """Returns the message that answers a tool call."""
    try:
        text = bash(json.loads(call["function"]["arguments"])["command"])
    except (KeyError, TypeError, ValueError) as e:
        text = f"[these are not the arguments of bash: {e!r}]"
    return {"role": "tool", "tool_call_id": call["id"], "content": text}


def main():
    prompt = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": sys.argv[1]}]
    context = Context(prompt, chat=CHAT)
    for _ in range(TURNS):
        context.prepare()
        if context.metadata:  # empty if the messages could not be managed
            print(
                "[{tokens_before} -> {tokens_after} tokens]".format_map(context.metadata),
                file=sys.stderr,
            )
        answer = ask(context.messages)
        context.append(answer)
        calls = answer.get("tool_calls") or []
        if not calls:
            print(answer["content"])
            break
        context.extend(call_tool(call) for call in calls)
    finish(context)


if __name__ == "__main__":
    main()
