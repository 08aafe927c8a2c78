# SPDX-License-Identifier: MIT
"""
How well search/<query> finds, compared with other ways to rank lines at the same number of hits.

conversations  unchanged questions of LoCoMo, and the lines that answer them (evidence). Percent of
               questions for which one of these lines, or all, are in the first hits, and the
               tokens of all lines in these hits
traces         the words around a fact (see economy.py) in the result that it came from. Percent of
               questions for which a file with the fact is among the first hits
"""
import collections
import errno
import hashlib
import itertools
import json
import os
import pathlib
import re
import statistics
import time

import economy
import policies
import tokens
from chats import recorded, transcripts
from files import data_folder
from harness import xattr
from measure import Failure, Place, heading, met, note, run, table, time_text
from rankers import WORD, rankers

HITS = (5, 10, 20)
AT = 10  # hits at which conversations are judged
TUNING, HELD_OUT = ("conv-26", "conv-30", "conv-41"), ("conv-42", "conv-43")
ANY, ALL, TOKENS, FOUND = 87, 75, 1000, 85
OURS = "search/"
NAME_MAX = 255
NEAR = 200  # characters
_HIT = re.compile(r"(.+?)(?::(\d+)(?:-(\d+))?|:b[\d-]+)?: ")
# Not a number: results of files contain line numbers, which nobody asks for.
_WHOLE = re.compile(r"(?<!\w)(?!\d+\b)\w+")

# `scope` is the folder that the others search. `evidence` is a set of (path, line), or of paths.
Question = collections.namedtuple("Question", "query scope evidence")


def add_arguments(parser):
    add = parser.add_argument
    held_out, tuning = " ".join(HELD_OUT), " ".join(TUNING)
    add("folder", nargs="?", metavar="DIR", help="where locomo/ and the traces are")
    add("--conversations", nargs="+", default=HELD_OUT, metavar="NAME",
        help=f"whose questions are asked (default {held_out})")  # fmt: skip
    add("--tune", action="store_const", const=TUNING, dest="conversations",
        help=f"those of {tuning} instead")  # fmt: skip
    add("--all-categories", action="store_true", help="ask for no category")
    add("--words", type=int, default=3, metavar="N", help="on each side of a fact (default 3)")
    add("--model", metavar="NAME", help="search by meaning, too: embed_model")
    add("--url", metavar="URL", help="of an endpoint that has it: embed_url")
    add("--questions", type=int, default=300, metavar="N", help="about traces (default 300)")


def measure(options):
    folder = pathlib.Path(options.folder or data_folder())
    talks = folder / "locomo" / "conversations.json"
    if not talks.exists():
        raise Failure(f"there is no '{talks}': name the folder that has it, or OFFLOADFS_TEST_DATA")
    figures = _conversations(json.loads(talks.read_text()), options)
    figures["traces"] = _traces(folder, options)
    mine = figures["conversations"][OURS]
    judged = {
        f"any {ANY} at {AT} hits": mine[AT]["any"] >= ANY,
        f"all {ALL} at {AT} hits": mine[AT]["all"] >= ALL,
        f"at most {TOKENS} tokens at {AT} hits": mine[AT]["tokens"] <= TOKENS,
        "no question without a hit": not mine["none"],
    }
    for half, of in figures["traces"].items():
        first = {system: figure["found"][HITS[0]] for system, figure in of.items()}
        best = max(share for system, share in first.items() if system != OURS)
        judged[f"{FOUND} at {HITS[0]} hits, traces, {half}"] = first[OURS] >= FOUND
        judged[f"more than each other way there, {half}"] = first[OURS] > best
    print()
    for aim, is_met in judged.items():
        print(f"  aim: {aim}: {met(is_met)}")
    return {**figures, "aims": judged}


# --- Conversations --------------------------------------------------------------------------------


def _conversations(talks, options):
    corpus, questions = {}, []
    for talk in talks:
        name, lines_of = talk["sample_id"], {}
        for session, turns in talk["conversation"].items():
            if not isinstance(turns, list):
                continue
            path = f"{name}/session_{int(session.rpartition('_')[2]):02d}.txt"
            corpus[path] = [f"{t['speaker']}: {' '.join(t['text'].split())}" for t in turns]
            lines_of.update((turn["dia_id"], (path, i)) for i, turn in enumerate(turns, 1))
        for asked in talk["qa"] if name in options.conversations else ():
            evidence = {lines_of[e] for e in asked["evidence"] if e in lines_of}
            if evidence:
                questions.append(Question(asked["question"], name, evidence))
    if not questions:
        raise Failure(f"there are no questions about {' '.join(options.conversations)}")
    heading(f"recall: {len(questions)} questions about {', '.join(options.conversations)}")
    suffix = "" if options.all_categories else " category:{}"
    hits, times, refused = _found(corpus, questions, suffix, options, around=True)
    systems, rows = {}, []
    for system, of in hits.items():
        systems[system] = figure = {"none": sum(not some for some in of)}
        for k, delivered in zip(HITS, _delivered(corpus, of)):
            seen = [(_lines(some[:k]), q.evidence) for some, q in zip(of, questions)]
            figure[k] = {
                "any": _percent(bool(lines & evidence) for lines, evidence in seen),
                "all": _percent(evidence <= lines for lines, evidence in seen),
                "tokens": delivered,
            }
        cells = [f"{figure[k][key]:.{int(key != 'tokens')}f}" for k in HITS for key in figure[k]]
        rows.append([system, *cells, figure["none"], *_times(system, times)])
    heads = [f"{key} {k}" for k in HITS for key in ("any", "all", "tokens")]
    table(["", *heads, "no hit", "median", "worst"], rows)
    _print_refused(refused)
    speed = {"median_ms": statistics.median(times) * 1000, "worst_ms": max(times) * 1000}
    return {"questions": len(questions), "conversations": systems, **speed}


def _lines(hits):
    return {(path, i) for path, first, last in hits for i in range(first, last + 1)}


def _delivered(corpus, hits):
    """Returns the mean tokens of the lines in a question's first hits, by number of hits."""
    texts = [
        "".join(corpus[path][i - 1] + "\n" for path, i in sorted(_lines(some[:k])))
        for k in HITS
        for some in hits
    ]
    sizes = tokens.estimate(texts)
    return [statistics.mean(sizes[i : i + len(hits)]) for i in range(0, len(sizes), len(hits))]


# --- Traces ---------------------------------------------------------------------------------------


def _traces(folder, options):
    """Returns {half: figures of each system}, which is empty if no trace has a fact."""
    corpus, asked = _asked({**recorded(folder), **transcripts(folder)}, options)
    if not asked:
        note(f"there are no traces in '{folder}'")
        return {}
    hits, times, refused = _found(corpus, [q for _, q in asked], "", options, around=False)
    out = {}
    for half, name in enumerate(("tuning", "held out")):
        mine = [i for i, (chat, _) in enumerate(asked) if economy.half_of(chat) == half]
        if not mine:
            continue
        heading(f"recall: {len(mine)} facts of {len(corpus)} results of the traces, {name}")
        rows, out[name] = [], {}
        for system, of in hits.items():
            found = {
                k: _percent(asked[i][1].evidence & {hit[0] for hit in of[i][:k]} for i in mine)
                for k in HITS
            }
            none = sum(not of[i] for i in mine)
            out[name][system] = {"questions": len(mine), "found": found, "none": none}
            row = [system, *(f"{found[k]:.1f}" for k in HITS), none]
            rows.append(row + _times(system, [times[i] for i in mine]))
        table(["", *(f"top {k}" for k in HITS), "no hit", "median", "worst"], rows)
    _print_refused(refused)
    return out


def _asked(chats, options):
    """
    Returns the lines of each distinct result, and (chat, question) for some of the facts. All
    results that contain a fact count, since those of a file that was read twice are nearly equal.
    """
    corpus, path_of, asked = {}, {}, {}
    for chat, messages in chats.items():
        for i, tool in policies.tools(messages):
            text = economy.text_of(messages[i])
            if text.strip() and text not in path_of:
                path_of[text] = f"{chat}/{i:04d}-{re.sub(r'[^A-Za-z0-9]', '_', tool)}.txt"
                corpus[path_of[text]] = text.split("\n")
        used = {fact: i for facts in economy.facts_of(messages) for fact, i in facts.items()}
        for fact, i in used.items():
            text = economy.text_of(messages[i])
            query = _around(fact, text, options.words)
            if len(query) >= 3:
                have = {path for other, path in path_of.items() if fact in other}
                question = Question(" ".join(query), "", have)
                asked.setdefault(fact + "\0" + text, (chat, question))
    chosen = sorted(asked, key=lambda k: hashlib.sha256(k.encode(errors="replace")).digest())
    return corpus, [asked[key] for key in chosen[: options.questions]]


def _around(fact, text, n):
    """Returns the whole words next to a fact, except those of the fact itself."""
    at = next(m.start() for m in economy.STRING.finditer(text) if m[0] == fact)
    end = at + len(fact)
    before = [m[0] for m in _WHOLE.finditer(text, max(at - NEAR, 0), at)]
    after = itertools.takewhile(lambda m: m.end() <= end + NEAR, _WHOLE.finditer(text, end))
    own = WORD.findall(fact.lower())
    near = [w for w in before if w.lower() not in own][-n:]
    near += [w for w in (m[0] for m in after) if w.lower() not in own][:n]
    return near


# --- Searching ------------------------------------------------------------------------------------


def _found(corpus, questions, suffix, options, around):
    """
    Returns {system: hits of each question as (path, first line, last line)}, the seconds that ours
    took for each question, and the number of questions that it refused. With `around`, the others
    are added again with the lines next to each hit.
    """
    n = max(HITS)
    with Place() as place:
        root = place.path("corpus")
        for path, lines in corpus.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "wb") as f:
                f.write("\n".join(lines).encode(errors="replace"))
        asked_for = {"embed_model": options.model, "embed_url": options.url}
        with place.daemon(options=[f"{k}={v}" for k, v in asked_for.items() if v]) as m:
            run("cp", "-r", f"{root}/.", m("persistent"))
            m.wait_indexed(len(corpus))
            answers = [_ask(m, q.query, suffix.format(q.scope)) for q in questions]
            hits = {OURS: [[_hit(m, line) for line in (a or ())][:n] for a, _ in answers]}
        note("asking the others")
        for scope in dict.fromkeys(q.scope for q in questions):
            mine = [(i, q.query) for i, q in enumerate(questions) if q.scope == scope]
            for name, search in rankers(corpus, root, scope).items():
                alone = hits.setdefault(name, [()] * len(questions))
                for i, query in mine:
                    alone[i] = [(path, line, line) for path, line in search(query, n)]
    for name in list(hits) if around else ():
        if name != OURS:
            hits[f"{name}, a line around"] = [
                [(path, max(i - 1, 1), min(i + 1, len(corpus[path]))) for path, i, _ in some]
                for some in hits[name]
            ]
    return hits, [seconds for _, seconds in answers], sum(a is None for a, _ in answers)


def _ask(m, query, suffix):
    """Returns the lines of an answer, or None if the query is refused, and the seconds it took."""
    query = query.replace("/", "%2F")
    while len(os.fsencode(query + suffix)) > NAME_MAX:
        query = query.rpartition(" ")[0]
    begin = time.perf_counter()
    try:
        with open(m("search", query + suffix), encoding="utf-8", newline="\n") as f:
            lines = f.read().split("\n")[:-1]
    except OSError as e:
        if e.errno != errno.EINVAL:
            raise
        lines = None
    return lines, time.perf_counter() - begin


def _hit(m, line):
    path, first, last = _HIT.match(line).groups()
    if path.startswith("refs/"):
        path = xattr(m(path), "path")
    first = int(first or 1)
    return path.partition("/")[2], first, int(last or first)


def _percent(conditions):
    return 100 * statistics.mean(map(bool, conditions))


def _times(system, times):
    if system != OURS:
        return ["-", "-"]
    return [time_text(statistics.median(times)), time_text(max(times))]


def _print_refused(refused):
    if refused:
        print(f"\n  {OURS} refused {refused} of the queries, which count as having no hit")
