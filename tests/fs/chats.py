# SPDX-License-Identifier: MIT
"""Recorded and generated chats of agents, in the forms that model services accept."""
import json
import random

from files import data_folder, log_text


def recorded(folder=None):
    """
    Maps names to messages in OpenAI's form: recorded traces, or generated chats if there are none.
    """
    folder, chats = folder or data_folder(), {}
    airline = folder / "tau-bench" / "gpt-4o-airline.json"
    if airline.exists():
        for i, chat in enumerate(json.loads(airline.read_text())):
            chats[f"airline-{i:03d}"] = chat["traj"]
    for path in sorted((folder / "swe-agent").glob("*.traj")):
        chats[path.stem] = _as_calls(json.loads(path.read_text())["history"])
    return chats or {f"made-{i:03d}": generated(i) for i in range(40)}


def transcripts(folder=None):
    """Maps names to messages in OpenAI's form: the recorded Claude Code transcripts, if any."""
    chats = {}
    for path in sorted((folder or data_folder()).glob("claude-code/*.jsonl")):
        chats.update(transcript(path))
    return chats


def transcript(path):
    """Splits a Claude Code transcript into chats: a new one begins at each compaction summary."""
    chats = [[]]
    for line in path.read_text().splitlines():
        entry = json.loads(line)
        message = entry.get("message")
        if entry.get("isMeta") or entry.get("type") not in ("user", "assistant"):
            continue
        if entry.get("isCompactSummary"):
            chats.append([])
        _add_blocks(chats[-1], message["role"], message["content"])
    return {f"{path.stem}-{i}": chat for i, chat in enumerate(chats) if chat}


def _add_blocks(chat, role, content):
    """Adds a transcript entry to `chat`. An answer of the model may span several entries."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in blocks:
        if block["type"] == "tool_result":
            result = block.get("content") or ""
            if not isinstance(result, str):
                result = "\n".join(part.get("text") or "" for part in result)
            chat.append({"role": "tool", "tool_call_id": block["tool_use_id"], "content": result})
        elif block["type"] not in ("text", "tool_use"):
            continue
        elif role == "assistant":
            if not chat or chat[-1]["role"] != "assistant":
                chat.append({"role": role, "content": ""})
            if block["type"] == "text":
                chat[-1]["content"] += block["text"]
            else:
                call = {"name": block["name"], "arguments": json.dumps(block["input"])}
                calls = chat[-1].setdefault("tool_calls", [])
                calls.append({"id": block["id"], "type": "function", "function": call})
        else:
            chat.append({"role": role, "content": block["text"]})


def _as_calls(history):
    """
    Turns a SWE-agent chat into calls (its actions) and results (its observations). Some runs were
    recorded with both as plain text, others with each list of calls as text.
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
    """Returns a chat with `calls` tool calls, each with a result of about `size` bytes."""
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
    """Converts messages to Anthropic's form; returns (system, messages)."""
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
    """Yields (tool, arguments, text) for each tool result of a chat in OpenAI's form."""
    calls = {}
    for m in messages:
        for call in m.get("tool_calls") or []:
            calls[call["id"]] = call["function"]
        if m["role"] == "tool":
            call = calls[m["tool_call_id"]]
            yield call["name"], call["arguments"], m["content"]
