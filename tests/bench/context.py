# SPDX-License-Identifier: MIT
"""How much smaller prompts become, whether everything can be restored, and at what speed."""
import json
import os
import pathlib
import subprocess
import sys

import economy
import tokens
from chats import anthropic, generated, recorded, results, transcripts
from corpus import soup
from harness import OFFLOAD
from measure import KIB, MIB, Failure, Place, Progress, heading, met, size_text, table

AIM_SPEED = 50  # MB/s
AIM_MEMORY = 3  # times the size of the chat
MODES = ("compact", "compress", "auto")
# The limits in a request: none, and those of a model with a small window.
LIMITS = {
    "default": {},
    "small window": {"max_total_tokens": 4000, "max_tool_message_tokens": 500},
}
FORMS = ("openai", "anthropic")


def add_arguments(parser):
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="only every Nth of the chats"
    )
    parser.add_argument(
        "--economy", action="store_true", help="over the turns of chats: what is saved and still seen"
    )
    parser.add_argument(
        "--only", metavar="WORD", help="with --economy: only policies with that in their names"
    )
    parser.add_argument(
        "--half", type=int, choices=(0, 1), help="with --economy: only this half of the chats"
    )
    parser.add_argument(
        "--chats", metavar="DIR", help="with --economy: these chats (.json lists, .jsonl transcripts)"
    )
    parser.add_argument(
        "--size", type=float, default=100, metavar="MB", help="of the large chats (default 100)"
    )


def measure(options):
    if options.economy:
        with Place() as place, place.daemon() as m:
            return economy.measure(Tool(m), options)
    chats = recorded()
    names = list(chats)[:: options.every]
    chats = {name: chats[name] for name in names}
    figures = {"chats": len(chats)}
    with Place() as place, place.daemon() as m:
        tool = Tool(m)
        heading(f"context: {len(chats)} chats, tokens as src/base/tokens.h estimates them")
        figures["reduce"] = _reduce(tool, chats)
        figures["compact"] = _compact(tool, chats)
        figures["modes"] = _modes(tool, chats)
        figures["turns"] = _turns(tool, chats)
        heading(f"context: chats of {options.size:g} MB")
        figures["large"] = _large(m, tool, options.size, pathlib.Path(place.path("chat.json")))
    figures["aims"] = {
        "exact": all(f["restored"] == f["tried"] for f in figures["modes"].values()),
        "deterministic": all(f["same"] == f["tried"] for f in figures["modes"].values()),
        "speed": all(f["mb_per_s"] > AIM_SPEED for f in figures["large"].values()),
        "memory": all(f["memory_ratio"] <= AIM_MEMORY for f in figures["large"].values()),
    }
    print(
        f"\n  aims: every list comes back byte for byte: {met(figures['aims']['exact'])};"
        f" the same input gives the same output: {met(figures['aims']['deterministic'])};"
        f"\n  more than {AIM_SPEED} MB/s: {met(figures['aims']['speed'])};"
        f" at most {AIM_MEMORY} times the chat's size of memory: {met(figures['aims']['memory'])}"
    )
    return figures


class Tool:
    """The companion tool on one mount."""

    def __init__(self, mount):
        self.environment = {**os.environ, "OFFLOAD_DIR": mount.mnt}

    def __call__(self, *arguments, data):
        done = subprocess.run(
            [OFFLOAD, *arguments], input=data, capture_output=True, env=self.environment, check=False
        )
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            raise Failure(f"'{' '.join(arguments)}' ended with {done.returncode}: {said}")
        return done.stdout


def _percent(before, after):
    return f"{100 * (before - after) / max(before, 1):.1f} %"


def _text_of(messages, key):
    """Returns the text of an object's member, unchanged."""
    text = messages.decode()
    begin = text.index(f'"{key}": ') + len(key) + 4
    return text[begin : json.JSONDecoder().raw_decode(text, begin)[1]]


# --- Tool results ---------------------------------------------------------------------------------


def _reduce(tool, chats):
    """Compares each result as the harness would send it with the line that replaces it."""
    rows, all_before, all_after = [], 0, 0
    by_rule = {}
    for name, messages in chats.items():
        calls = list(results(messages))
        if not calls:
            continue
        lines = b"".join(
            json.dumps({"tool": t, "args": a, "result": r}).encode() + b"\n" for t, a, r in calls
        )
        steps = [json.loads(line) for line in tool("reduce", data=lines).splitlines()]
        if tool("reduce", data=lines).splitlines() != tool("reduce", data=lines).splitlines():
            raise Failure(f"reduce gives two answers for '{name}'")
        before = tokens.estimate([r for _, _, r in calls])
        after = tokens.estimate([_shown(s) for s in steps])
        for step, b, a in zip(steps, before, after):
            rule = by_rule.setdefault(step["metadata"].get("rule") or "any other", [0, 0, 0])
            rule[0] += 1
            rule[1] += b
            rule[2] += a
    for rule, (count, before, after) in sorted(by_rule.items()):
        rows.append([rule, count, before, after, _percent(before, after)])
        all_before += before
        all_after += after
    rows.append(["all", "", all_before, all_after, _percent(all_before, all_after)])
    table(["reduce", "results", "tokens", "reduced", "saved"], rows)
    return {"before": all_before, "after": all_after}


def _shown(step):
    ref = f" [ref {step['outcome_ref']}]" if step.get("outcome_ref") else ""
    return step["observation"] + ref


def _compact(tool, chats):
    """Compares the history of each chat as a section of a prompt with the full results."""
    before = after = steps = changed = kept = 0
    for messages in [*chats.values(), *transcripts().values()]:
        calls = list(results(messages))
        if not calls:
            continue
        lines = b"".join(
            json.dumps({"tool": t, "args": a, "result": r}).encode() + b"\n" for t, a, r in calls
        )
        reduced = tool("reduce", data=lines)
        sections = _sections(tool, reduced.splitlines(keepends=True))
        section = sections[-1]
        for one, following in zip(sections, sections[1:]):
            same = len(os.path.commonprefix([one, following]))
            kept, changed = kept + same, changed + len(one) - same
        steps += len(calls)
        before += sum(tokens.estimate([r for _, _, r in calls]))
        after += tokens.estimate([section.decode()])[0]
    print()
    table(
        ["compact", "steps", "tokens", "section", "saved", "changed by a step"],
        [
            ["the history of every chat", steps, before, after, _percent(before, after)]
            + [f"{100 * changed / max(kept + changed, 1):.1f}%"]
        ],
    )
    return {"before": before, "after": after, "kept": kept, "changed": changed}


def _sections(tool, steps):
    """Returns the history after each step."""
    return [tool("compact", data=b"".join(steps[:n])) for n in range(1, len(steps) + 1)]


# --- Lists of messages ----------------------------------------------------------------------------


def _request(messages, form, limits, chat):
    """Returns a request in a form, and the list as it is written in it."""
    request = {"chat_id": chat, **limits}
    if form == "anthropic":
        request["system"], messages = anthropic(messages)
    request["messages"] = messages
    return json.dumps(request).encode(), json.dumps(messages)


def _modes(tool, chats):
    figures, rows = {}, []
    for limit, limits in LIMITS.items():
        for form in FORMS:
            for mode in MODES:
                figure = {"before": 0, "after": 0, "tried": 0, "restored": 0, "same": 0}
                for name, messages in chats.items():
                    _one(tool, figure, mode, _request(messages, form, limits, f"{name}-{form}"))
                figures[f"{mode}, {form}, {limit}"] = figure
                rows.append(
                    [f"{mode}, {form}, {limit}", figure["before"], figure["after"]]
                    + [_percent(figure["before"], figure["after"])]
                    + [f"{figure[k]} of {figure['tried']}" for k in ("restored", "same")]
                )
    print()
    table(["context", "tokens", "managed", "saved", "restored", "same again"], rows)
    return figures


def _one(tool, figure, mode, request):
    data, messages = request
    answer = tool("context", "--mode", mode, data=data)
    metadata = json.loads(answer)["metadata"]
    back = tool("context", "--restore", data=answer)
    figure["before"] += metadata["tokens_before"]
    figure["after"] += metadata["tokens_after"]
    figure["tried"] += 1
    figure["restored"] += _text_of(back, "messages") == messages
    figure["same"] += tool("context", "--mode", mode, data=data) == answer


def _turns(tool, chats):
    """Sums up what is sent: before each answer of the model, the chat up to that point."""
    figures, rows = {}, []
    for limit, limits in LIMITS.items():
        figure = dict.fromkeys(("turns", "plain", *MODES), 0)
        with Progress("turns", len(chats), "chats") as progress:
            for i, (name, messages) in enumerate(chats.items()):
                for end in (e for e, m in enumerate(messages) if m["role"] == "assistant" and e):
                    figure["turns"] += 1
                    data, _ = _request(messages[:end], "openai", limits, name)
                    for mode in MODES:
                        metadata = json.loads(tool("context", "--mode", mode, data=data))["metadata"]
                        figure[mode] += metadata["tokens_after"]
                    figure["plain"] += metadata["tokens_before"]
                progress.show(i)
        figures[limit] = figure
        rows += [
            [f"{mode}, {limit}", figure["turns"], figure["plain"], figure[mode]]
            + [_percent(figure["plain"], figure[mode])]
            for mode in MODES
        ]
    print()
    table(["sent in all turns", "turns", "tokens", "managed", "saved"], rows)
    return figures


# --- Large chats ----------------------------------------------------------------------------------


def _chat_of(size, result):
    """Returns a request of about `size` bytes with different results of `result` bytes each."""
    text = soup(min(size, 8 * MIB), 7).decode()
    messages, have, i = generated(1, 0)[:2], 0, 0
    while have < size:
        call = {"name": "bash", "arguments": json.dumps({"command": f"make part-{i}"})}
        at = i * 7919 % max(len(text) - result, 1)
        content = f"part {i}\n{text[at:at + result]}"
        messages.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"call_{i}", "type": "function", "function": call}],
            }
        )
        messages.append({"role": "tool", "tool_call_id": f"call_{i}", "content": content})
        have += len(content)
        i += 1
    messages.append({"role": "user", "content": "What failed?"})
    return messages


def _large(mount, tool, megabytes, path):
    figures, rows = {}, []
    size = int(megabytes * 1e6)
    for result in (200, 2000, 20000, 1000000):
        for mode in MODES:
            messages = _chat_of(size, result)
            request = {"messages": messages, "chat_id": f"large-{result}-{mode}"}
            path.write_text(json.dumps(request))
            length = path.stat().st_size
            # Keeps the writing of the input and the rest of the previous chat out of the
            # measurement.
            os.sync()
            mount.rest(1)
            seconds, memory = _run_measured(tool, mode, path)
            name = f"{mode}, results of {size_text(result)}"
            figures[name] = {
                "mb_per_s": length / 1e6 / seconds,
                "memory_ratio": memory / length,
            }
            rows.append(
                [name, f"{length / 1e6:.0f} MB", f"{length / 1e6 / seconds:.0f}"]
                + [f"{memory / length:.2f}"]
            )
    table(["a large chat", "size", "MB/s", "memory / size"], rows)
    return figures


# A process's peak memory includes that before its exec, so a small process starts it.
_STARTER = """
import resource, subprocess, sys, time
begin = time.perf_counter()
code = subprocess.run(sys.argv[2:], stdin=open(sys.argv[1]), stdout=subprocess.DEVNULL).returncode
print(time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, code)
"""


def _run_measured(tool, mode, path):
    """Returns the seconds and the peak memory of the tool."""
    command = [sys.executable, "-c", _STARTER, path, OFFLOAD, "context", "--mode", mode]
    done = subprocess.run(command, env=tool.environment, capture_output=True, check=True)
    seconds, memory, code = done.stdout.split()
    if int(code):
        raise Failure(f"'context --mode {mode}' ended with {int(code)}")
    return float(seconds), int(memory) * KIB
