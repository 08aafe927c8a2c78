# SPDX-License-Identifier: MIT
"""
What other programs do with an agent's messages before each turn, reimplemented in a few lines from
their documentation, for comparison with ours. Each takes the list as it was sent last with the
messages since, and returns the list to send. A text that replaces a result is never changed again.
"""
import hashlib
import re

import tokens

_SHELL = re.compile(r"bash|shell|exec|terminal|python|command", re.I)
READ = re.compile(r"read|open|view|cat", re.I)
# How the texts that replace results begin.
_STANDS = ("[Result stored", "[Offloaded", "[Content of", "[Old tool result")


def tools(messages):
    """Yields the number of each message with a result, and the name of its tool."""
    calls = {}
    for i, m in enumerate(messages):
        for call in m.get("tool_calls") or ():
            calls[call["id"]] = call["function"]["name"]
        if m["role"] == "tool":
            yield i, calls.get(m.get("tool_call_id"), m.get("name") or "")


def _replace(messages, numbers, write):
    out = list(messages)
    for i in numbers:
        out[i] = {**messages[i], "content": write(messages[i]["content"])}
    return out


def _open(messages):
    """Returns the results that no text has replaced yet."""
    return [
        (i, tool)
        for i, tool in tools(messages)
        if not messages[i]["content"].startswith(_STANDS)
    ]


def _loom(shown):
    """Loom: a result that is long for its kind is a file in .loom/cache from the start."""

    def is_long(tool, text):
        if _SHELL.search(tool):
            return len(text) > 500
        if READ.search(tool):
            return len(text.encode()) > 1024
        return len(text.encode()) > 2048 or text.count("\n") >= 50

    def write(text):
        lines = text.count("\n") + 1
        line = f"[Result stored in .loom/cache/{_id(text)}.txt, {lines} lines]"
        return f"{line}\n{text[:shown]}" if shown else line

    def manage(_name, messages):
        long = [i for i, tool in _open(messages) if is_long(tool, messages[i]["content"])]
        return _replace(messages, long, write)

    return manage


def _aga(_name, messages):
    """Aggressive memory offloading: above 4 KB a summary of 800 characters, and a reference."""

    def write(text):
        return f"[Offloaded to .aga_mem/{_id(text)}.md, summary:]\n{text[:800]}"

    long = [i for i, _ in _open(messages) if len(messages[i]["content"].encode()) > 4096]
    return _replace(messages, long, write)


def _reme(_name, messages):
    """ReMe's compaction: above 20,000 tokens, results over 2,000 except the last become files."""
    results = [i for i, _ in tools(messages)]
    if sum(_count([_said(m) for m in messages])) <= 20000:
        return messages
    shown = [i for i, _ in _open(messages) if i in results[:-1]]
    sizes = _count([messages[i]["content"] for i in shown])
    long = [i for i, size in zip(shown, sizes) if size > 2000]

    def write(text):
        return f"[Content of this result is in ./store/{_id(text)}.txt: {text[:200]}]"

    return _replace(messages, long, write)


def _strands(_name, messages):
    """Strands' offloader: above 2,500 tokens a preview of 1,000, with a reference and a hint."""

    def write(text):
        hint = f"[Offloaded: {len(text)} characters, retrieve with ref mem_{_id(text)}]"
        return f"{hint}\n{text[:4000]}"

    shown = [i for i, _ in _open(messages)]
    sizes = _count([messages[i]["content"] for i in shown])
    return _replace(messages, [i for i, size in zip(shown, sizes) if size > 2500], write)


def _clearing(over):
    """Clearing of tool uses: all results but the last three, above this number of tokens."""

    def manage(_name, messages):
        if over and sum(_count([_said(m) for m in messages])) <= over:
            return messages
        old = [i for i, _ in tools(messages)][:-3]
        old = [i for i, _ in _open(messages) if i in set(old)]
        return _replace(messages, old, lambda text: "[Old tool result content cleared]")

    return manage


def _id(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _said(message):
    calls = [c["function"]["arguments"] for c in message.get("tool_calls") or ()]
    return "\n".join([message.get("content") or "", *calls])


_known = {}


def _count(texts):
    new = [t for t in dict.fromkeys(texts) if t not in _known]
    if new:
        _known.update(zip(new, tokens.estimate(new)))
    return [_known[t] for t in texts]


PEERS = {
    "Loom, reference": _loom(0),
    "Loom, 500 characters": _loom(500),
    "AGA": _aga,
    "ReMe, keep 1": _reme,
    "Strands": _strands,
    "clearing, keep 3": _clearing(0),
    "clearing over 20,000": _clearing(20000),
}
