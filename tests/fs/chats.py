# SPDX-License-Identifier: MIT
"""Chats of agents, recorded or generated, in the forms in which services take them."""
import json
import os
import pathlib
import random

from files import SOURCE_ROOT, log_text


def recorded():
    """Name -> messages in OpenAI's form: the traces, or generated chats where there are none."""
    data = pathlib.Path(
        os.environ.get("OFFLOADFS_TEST_DATA") or SOURCE_ROOT.parent / "shared" / "data"
    )
    chats = {}
    airline = data / "tau-bench" / "gpt-4o-airline.json"
    if airline.exists():
        for i, chat in enumerate(json.loads(airline.read_text())):
            chats[f"airline-{i:03d}"] = chat["traj"]
    for path in sorted((data / "swe-agent").glob("*.traj")):
        chats[path.stem] = _as_calls(json.loads(path.read_text())["history"])
    return chats or {f"made-{i:03d}": generated(i) for i in range(40)}


def _as_calls(history):
    """
    A chat of SWE-agent's with its actions as calls and its observations as results: some runs were
    recorded with both as plain texts, some with lists of calls written as a text.
    """
    out, waiting = [], None
    for i, m in enumerate(history):
        role, content = m["role"], m["content"]
        if role == "assistant" and m.get("action"):
            words = m["action"].split()
            arguments = json.dumps({"command": m["action"]})
            call = {"name": words[0] if words else "bash", "arguments": arguments}
            waiting = f"call_{i}"
            calls = [{"id": waiting, "type": "function", "function": call}]
            out.append({"role": role, "content": m.get("thought") or content, "tool_calls": calls})
        elif waiting and role in ("tool", "user"):
            out.append({"role": "tool", "tool_call_id": waiting, "content": content})
            waiting = None
        else:
            out.append({"role": role, "content": content})
    return out


def generated(seed, calls=12, size=None):
    """A chat in which `calls` tools are called, each with a result of about `size` bytes."""
    rng = random.Random(seed)
    messages = [
        {"role": "system", "content": "You are a careful engineer. Use the tools."},
        {"role": "user", "content": f"Find out why job {seed} fails and mend it in src/job.c."},
    ]
    for i in range(calls):
        name, arguments = rng.choice(
            [
                ("bash", {"command": f"make -C build job-{i}"}),
                ("read_file", {"path": f"src/part_{i}.c"}),
                ("web_search", {"query": f"error {rng.randrange(100)} in make"}),
            ]
        )
        call = {"name": name, "arguments": json.dumps(arguments)}
        messages.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"call_{seed}_{i}", "type": "function", "function": call}],
            }
        )
        text = log_text(size or rng.choice([30, 400, 2000, 9000, 40000]), rng.randrange(900))
        messages.append(
            {
                "role": "tool",
                "tool_call_id": f"call_{seed}_{i}",
                "name": name,
                "content": text.decode(),
            }
        )
    messages.append({"role": "assistant", "content": "The cause is a missing check; I mend it."})
    messages.append({"role": "user", "content": "Good. What is left to do?"})
    return messages


def anthropic(messages):
    """(system, messages) in Anthropic's form."""
    system, out = None, []
    for m in messages:
        if m["role"] == "system":
            system = f"{system}\n{m['content']}" if system else m["content"]
        elif m["role"] == "tool":
            text = [{"type": "text", "text": m["content"]}]
            block = {"type": "tool_result", "tool_use_id": m["tool_call_id"], "content": text}
            out.append({"role": "user", "content": [block]})
        elif m.get("tool_calls"):
            blocks = [{"type": "text", "text": m["content"]}] if m.get("content") else []
            out.append({"role": "assistant", "content": blocks + [_use(c) for c in m["tool_calls"]]})
        else:
            out.append({"role": m["role"], "content": m["content"]})
    return system, out


def _use(call):
    try:
        arguments = json.loads(call["function"]["arguments"])
    except ValueError:
        arguments = {"text": call["function"]["arguments"]}
    return {
        "type": "tool_use",
        "id": call["id"],
        "name": call["function"]["name"],
        "input": arguments,
    }


def results(messages):
    """(tool, arguments, text) of each result of a chat in OpenAI's form."""
    calls = {}
    for m in messages:
        for call in m.get("tool_calls") or []:
            calls[call["id"]] = call["function"]
        if m["role"] == "tool":
            call = calls[m["tool_call_id"]]
            yield call["name"], call["arguments"], m["content"]
