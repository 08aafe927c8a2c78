#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A small agent with a shell, on any service that speaks OpenAI's chat completions.

    OPENAI_BASE_URL   default: https://api.openai.com/v1
    OPENAI_API_KEY    OPENAI_MODEL

    examples/openai_agent.py 'Why does ./long_tests.sh fail?'

Before each request the messages go through `offload context`: results of more than 2,000 tokens are
then pointers, and the model reads back the lines that it wants with its shell. What is ours here is
in offload(), manage() and finish(); the rest is an agent like any other.
"""
import json
import os
import subprocess
import sys
import time
import urllib.request

URL = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1").rstrip("/")
KEY = os.environ.get("OPENAI_API_KEY", "")
MODEL = os.environ.get("OPENAI_MODEL", "gpt-4o")
TURNS = 50
# Also the task that owns what is taken out: each chat needs a name of its own.
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


def offload(*words, data=None):
    """What `offload WORDS` answers to `data`, both of them JSON; None when it cannot."""
    try:
        done = subprocess.run(
            ["offload", *words],
            input=json.dumps(data),
            encoding="utf-8",
            capture_output=True,
            timeout=60,
        )
        sys.stderr.write(done.stderr)
        done.check_returncode()
        return json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as e:
        print(f"offload: {e}", file=sys.stderr)
        return None


def manage(messages):
    """
    The messages as the model is to get them, or as they are when that cannot be done. Go on with
    these and not with the originals: what was decided once stays as it is, and the service can take
    most of the prompt from its cache.
    """
    answer = offload("context", "--chat", CHAT, "--keep", "0", data={"messages": messages})
    if answer is None:
        return messages
    counts = answer["metadata"]
    print(f"[{counts['tokens_before']} -> {counts['tokens_after']} tokens]", file=sys.stderr)
    return answer["messages"]


def finish(messages):
    """Saves the chat with all that was taken out of it; after that the store may forget it."""
    whole = offload("context", "--restore", data={"messages": messages})
    with open(f"{CHAT}.json", "w", encoding="utf-8") as f:
        json.dump(whole["messages"] if whole else messages, f, indent=1)
    if whole:
        offload("task", "done", "--json", CHAT)


def ask(messages):
    """The message that the model answers with."""
    request = {"model": MODEL, "tools": [BASH], "messages": messages}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
    post = urllib.request.Request(f"{URL}/chat/completions", json.dumps(request).encode(), headers)
    with urllib.request.urlopen(post, timeout=600) as reply:
        return json.load(reply)["choices"][0]["message"]


def bash(command):
    """The output of a command, in the folder in which `offload` runs: its paths are relative."""
    print(f"+ {command}", file=sys.stderr)
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    try:
        done = subprocess.run(["bash", "-c", command], timeout=600, check=False, **options)
    except (OSError, TypeError, ValueError, subprocess.SubprocessError) as e:
        return f"[failed: {e}]"
    return done.stdout.decode(errors="replace") + f"[exit {done.returncode}]\n"


def call_tool(call):
    """The message that answers a call."""
    try:
        text = bash(json.loads(call["function"]["arguments"])["command"])
    except (KeyError, TypeError, ValueError) as e:
        text = f"[these are not the arguments of bash: {e!r}]"
    return {"role": "tool", "tool_call_id": call["id"], "content": text}


def main():
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": sys.argv[1]}]
    for _ in range(TURNS):
        messages = manage(messages)
        answer = ask(messages)
        messages.append(answer)
        calls = answer.get("tool_calls") or []
        if not calls:
            print(answer["content"])
            break
        messages += [call_tool(call) for call in calls]
    finish(messages)


if __name__ == "__main__":
    main()
