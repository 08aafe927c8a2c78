# SPDX-License-Identifier: MIT
"""
What a policy saves over the turns of chats, and what it costs in sight. Before each answer of the
model the list is managed and sent: what was sent before, and what came since.

sent     tokens not sent, of those that the plain lists have
cost     the same in money: what begins as the list before did is cached and costs 0.1, the rest 1.25
peak     the longest list, beside the longest plain one
visible  of the facts that an answer uses, those that are still in its list. A fact is a string of 8
         or more characters that no word is (path, identifier, number), and which a result brought
miss     of the answers that use facts, those whose list lacks one
net      cost, where each of these reads 900 tokens back, once
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re

import tokens
from chats import recorded, transcript, transcripts
from measure import Failure, Progress, heading, table

CACHED, FRESH, READBACK = 0.1, 1.25, 900
MODES = ("compact", "compress", "auto")
LIMITS = {
    "default": {},
    "small window": {"max_total_tokens": 4000, "max_tool_message_tokens": 500},
}
_STRING = re.compile(r"[\w/][\w./:@#%+~-]{6,}[\w/]")
_NO_WORD = re.compile(r"[\d_/.:@#%+~]|[a-z][A-Z]|-.*-|[A-Z]{2}")


def measure(tool, options):
    chats = _chats(options)
    turns = sum(len(_turns(messages)) for messages in chats.values())
    heading(f"economy: {len(chats)} chats, {turns} turns")
    policies = {"everything": lambda _name, messages: messages}
    for limit, limits in LIMITS.items():
        for mode in MODES:
            if (options.only or "") in f"{mode}, {limit}":
                policies[f"{mode}, {limit}"] = _managed(tool, mode, limits)
    facts = {name: _facts(messages) for name, messages in chats.items()}
    count = _Tokens()
    figures, rows = {}, []
    for policy, manage in policies.items():
        figure = _policy(policy, manage, chats, facts, count)
        figures[policy] = figure
        plain = figures["everything"]
        figure["net"] = figure["cost"] + figure["missing"] * READBACK * FRESH
        saved = [1 - figure[k] / max(plain[k], 1) for k in ("sent", "cost")]
        saved.append(figure["peak"] / max(plain["peak"], 1))
        saved.append(figure["visible"] / max(figure["facts"], 1))
        saved.append(figure["missing"] / max(figure["using"], 1))
        saved.append(1 - figure["net"] / max(plain["cost"], 1))
        rows.append([policy, *(f"{100 * s:.1f} %" for s in saved)])
    table(["policy", "sent", "cost", "peak", "visible", "miss", "net"], rows)
    return figures


# --- Chats and what is used in them ---------------------------------------------------------------


def _chats(options):
    """Name -> messages in OpenAI's form: those of the folder that was named, or all there are."""
    if not options.chats:
        chats = {**recorded(), **transcripts()}
    else:
        chats = {}
        for path in sorted(pathlib.Path(options.chats).iterdir()):
            if path.suffix == ".jsonl":
                chats.update(transcript(path))
            elif path.suffix == ".json":
                chat = json.loads(path.read_text())
                chats[path.stem] = chat["messages"] if isinstance(chat, dict) else chat
    names = [n for n in chats if options.half is None or _half(n) == options.half]
    if not names:
        raise Failure("there are no chats: a folder of lists of messages or transcripts is needed")
    return {name: chats[name] for name in names[:: options.every]}


def _half(name):
    return int(hashlib.sha256(name.encode()).hexdigest()[0], 16) % 2


def _turns(messages):
    return [i for i, m in enumerate(messages) if m["role"] == "assistant" and i]


def _text(message):
    """All that a model reads of a message."""
    content = message.get("content")
    parts = [content] if isinstance(content, str) else [p.get("text") or "" for p in content or ()]
    for call in message.get("tool_calls") or ():
        parts += [call["function"]["name"], *_strings(call["function"]["arguments"])]
    return "\n".join(parts)


def _strings(arguments):
    try:
        value = json.loads(arguments)
    except ValueError:
        return [arguments]
    out, waiting = [], [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, (str, int, float)):
            out.append(str(value))
    return out


def _facts(messages):
    """For each message, the facts it uses that a result before it was the first to say."""
    out, by_result, said = [], set(), set()
    for message in messages:
        strings = {s for s in _STRING.findall(_text(message)) if _NO_WORD.search(s)}
        if message["role"] == "tool":
            by_result |= strings - said
            out.append(set())
        else:
            out.append(strings & by_result if message["role"] == "assistant" else set())
            said |= strings - by_result
    return out


# --- Policies -------------------------------------------------------------------------------------


def _managed(tool, mode, limits):
    def manage(name, messages):
        request = {"chat_id": name, "messages": messages, **limits}
        return json.loads(tool("context", "--mode", mode, "--list", data=json.dumps(request).encode()))

    return manage


class _Tokens:
    """Tokens of texts, each estimated once."""

    def __init__(self):
        self._known = {}

    def __call__(self, texts):
        new = [t for t in dict.fromkeys(texts) if t not in self._known]
        if new:
            self._known.update(zip(new, tokens.estimate(new)))
        return [self._known[t] for t in texts]


def _policy(policy, manage, chats, facts, count):
    figure = dict.fromkeys(("sent", "cost", "peak", "facts", "visible", "using", "missing"), 0)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        with Progress(policy, len(chats), "chats") as progress:
            sent = pool.map(lambda name: list(_sent(manage, name, chats[name])), chats)
            for i, (name, turns) in enumerate(zip(chats, sent)):
                _chat(figure, turns, facts[name], count)
                progress.show(i)
    return figure


def _sent(manage, name, messages):
    """(number of the answer, the list that it is asked with) for each turn."""
    have, taken = [], 0
    for end in _turns(messages):
        have, taken = manage(name, have + messages[taken:end]), end
        yield end, have


def _chat(figure, turns, facts, count):
    before = []
    for end, messages in turns:
        texts = [json.dumps(m, ensure_ascii=False) for m in messages]
        cached = next((i for i, (a, b) in enumerate(zip(before, texts)) if a != b), None)
        cached = min(len(before), len(texts)) if cached is None else cached
        sizes = count(texts)
        figure["sent"] += sum(sizes)
        figure["cost"] += CACHED * sum(sizes[:cached]) + FRESH * sum(sizes[cached:])
        figure["peak"] = max(figure["peak"], sum(sizes))
        shown = "\n".join(map(_text, messages))
        visible = sum(fact in shown for fact in facts[end])
        figure["facts"] += len(facts[end])
        figure["visible"] += visible
        figure["using"] += bool(facts[end])
        figure["missing"] += visible < len(facts[end])
        before = texts
