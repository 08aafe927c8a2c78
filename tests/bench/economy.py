# SPDX-License-Identifier: MIT
"""
What a policy saves over the turns of chats, and how much the model no longer sees. Before each
answer of the model, the list that was sent last and the messages since are managed and sent.

sent     share of the tokens of the plain lists that is not sent
cost     the same in money: the part that equals the start of the previous list is cached and
         costs 0.1, the rest 1.25
peak     the longest list, compared with the longest plain one
visible  share of the facts used by an answer that are still in its list. A fact is a string of at
         least 8 characters that is not a word (path, identifier, number), and came from a result
miss     share of the answers using facts whose list lacks one
net      cost if each of these reads 900 tokens back once
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re

import policies
import tokens
from chats import recorded, transcript, transcripts
from measure import Failure, Progress, heading, table

CACHED, FRESH, READBACK = 0.1, 1.25, 900
MESSAGE = 4  # tokens per message in addition to its texts
STRING = re.compile(r"[\w/][\w./:@#%+~-]{6,}[\w/]")
_NO_WORD = re.compile(r"[\d_/.:@#%+~]|[a-z][A-Z]|-.*-|[A-Z]{2}")
# Our policies, with the members of a request.
OURS = {
    "compact": {"mode": "compact"},
    "compress": {"mode": "compress"},
    "auto": {"mode": "auto"},
    "auto, 30,000 and 16 KB": {
        "mode": "auto",
        "max_total_tokens": 30000,
        "max_tool_message_tokens": 4096,
    },
}


def measure(tool, options):
    chats, groups = _chats(options)
    turns = {name: _turns(messages) for name, messages in chats.items()}
    facts = {name: facts_of(messages) for name, messages in chats.items()}
    manage = {"everything": lambda _name, messages: messages}
    manage.update({name: _managed(tool, request) for name, request in OURS.items()})
    manage["hook"] = _hook(tool)
    manage.update(policies.PEERS)
    count, figures = _Tokens(), {}
    for policy, function in manage.items():
        if policy == "everything" or (options.only or "") in policy:
            figures[policy] = _policy(policy, function, chats, facts, count)
    out = {}
    for group, names in groups.items():
        heading(f"economy: {group}, {len(names)} chats, {sum(len(turns[n]) for n in names)} turns")
        out[group] = _shares({p: _sum(of[n] for n in names) for p, of in figures.items()})
    return out


def _shares(figures):
    """Prints the shares of each policy, and adds the net cost to the figures."""
    rows, plain = [], figures["everything"]
    for policy, figure in figures.items():
        figure["net"] = figure["cost"] + figure["missing"] * READBACK * FRESH
        saved = [1 - figure[k] / max(plain[k], 1) for k in ("sent", "cost")]
        saved.append(figure["peak"] / max(plain["peak"], 1))
        saved.append(figure["visible"] / max(figure["facts"], 1))
        saved.append(figure["missing"] / max(figure["using"], 1))
        saved.append(1 - figure["net"] / max(plain["cost"], 1))
        rows.append([policy, *(f"{100 * s:.1f} %" for s in saved)])
    table(["policy", "sent", "cost", "peak", "visible", "miss", "net"], rows)
    return figures


# --- Chats and the facts used in them -------------------------------------------------------------


def _chats(options):
    """
    Returns {name: messages in OpenAI's form} for the named folder or for all chats, and the names
    of the chats by the group in which they are shown.
    """
    coding = {} if options.chats else transcripts()
    chats = {} if options.chats else {**recorded(), **coding}
    if options.chats:
        for path in sorted(pathlib.Path(options.chats).iterdir()):
            if path.suffix == ".jsonl":
                chats.update(transcript(path))
            elif path.suffix == ".json":
                chat = json.loads(path.read_text())
                chats[path.stem] = chat["messages"] if isinstance(chat, dict) else chat
    names = [n for n in chats if options.half is None or half_of(n) == options.half]
    if not names:
        raise Failure("there are no chats: a folder of lists of messages or transcripts is needed")
    names = names[:: options.every]
    groups = {"all": names, "Claude Code": [n for n in names if n in coding]}
    return {n: chats[n] for n in names}, {g: some for g, some in groups.items() if some}


def half_of(name):
    return int(hashlib.sha256(name.encode()).hexdigest()[0], 16) % 2


def _turns(messages):
    return [i for i, m in enumerate(messages) if m["role"] == "assistant" and i]


def text_of(message):
    """Returns everything that a model reads of a message."""
    content = message.get("content")
    parts = [content] if isinstance(content, str) else [p.get("text") or "" for p in content or ()]
    for call in message.get("tool_calls") or ():
        parts += [call["function"]["name"], *_strings(call["function"]["arguments"])]
    return "\n".join(parts)


def _said(message):
    """Returns what is counted of a message: its text, and its calls with unparsed arguments."""
    parts = [text_of({**message, "tool_calls": None})]
    for call in message.get("tool_calls") or ():
        parts += [call["function"]["name"], call["function"]["arguments"]]
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


def facts_of(messages):
    """Returns, for each message, the facts it uses with the result that mentioned each first."""
    out, by_result, said = [], {}, set()
    for i, message in enumerate(messages):
        strings = {s for s in STRING.findall(text_of(message)) if _NO_WORD.search(s)}
        used = {}
        if message["role"] == "tool":
            for s in strings - said:
                by_result.setdefault(s, i)
        else:
            if message["role"] == "assistant":
                used = {s: by_result[s] for s in strings & by_result.keys()}
            said |= strings - by_result.keys()
        out.append(used)
    return out


# --- Policies -------------------------------------------------------------------------------------


def _managed(tool, asked):
    def manage(name, messages):
        request = {"chat_id": name, "messages": messages, **asked}
        return json.loads(tool("context", "--list", data=json.dumps(request).encode()))

    return manage


BYTES, READ_BYTES = 4096, 16384  # hooks leave smaller results, and files read, alone


def _hook(tool):
    """Manages as hooks do: only results, as they arrive, and only long ones."""
    results = _managed(tool, {"mode": "auto", "max_total_tokens": 10**9})

    def manage(name, messages):
        small = [
            i
            for i, called in policies.tools(messages)
            if len(messages[i]["content"].encode())
            <= (READ_BYTES if policies.READ.search(called) else BYTES)
        ]
        out = results(name, messages)
        for i in small:
            out[i] = messages[i]
        return out

    return manage


class _Tokens:
    """Estimates of the tokens of texts, one per text."""

    def __init__(self):
        self._known = {}

    def __call__(self, texts):
        texts = list(texts)
        new = [t for t in dict.fromkeys(texts) if t not in self._known]
        if new:
            self._known.update(zip(new, tokens.estimate(new)))
        return [self._known[t] for t in texts]


FIGURES = ("sent", "cost", "peak", "facts", "visible", "using", "missing")


def _policy(policy, manage, chats, facts, count):
    """Returns {name of a chat: its figures}."""
    figures = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        with Progress(policy, len(chats), "chats") as progress:
            sent = pool.map(lambda name: list(_sent(manage, name, chats[name])), chats)
            for i, (name, turns) in enumerate(zip(chats, sent)):
                figures[name] = dict.fromkeys(FIGURES, 0)
                _chat(figures[name], turns, facts[name], count)
                progress.show(i)
    return figures


def _sum(figures):
    total = dict.fromkeys(FIGURES, 0)
    for figure in figures:
        for key in FIGURES:
            total[key] = max(total[key], figure[key]) if key == "peak" else total[key] + figure[key]
    return total


def _sent(manage, name, messages):
    """Yields (number of the answer, the list sent for it) for each turn."""
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
        sizes = [size + MESSAGE for size in count(map(_said, messages))]
        figure["sent"] += sum(sizes)
        figure["cost"] += CACHED * sum(sizes[:cached]) + FRESH * sum(sizes[cached:])
        figure["peak"] = max(figure["peak"], sum(sizes))
        shown = "\n".join(map(text_of, messages))
        visible = sum(fact in shown for fact in facts[end])
        figure["facts"] += len(facts[end])
        figure["visible"] += visible
        figure["using"] += bool(facts[end])
        figure["missing"] += visible < len(facts[end])
        before = texts
