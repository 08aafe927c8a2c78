#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The attacker is a name or content that a terminal or a reader takes for something else."""
import json
import re
import os

import paths  # noqa: F401
from claude import MOUNTED, chat, make_repository
from harness import OFFLOAD, main, read, run, same, test

# Escape sequences, also with the one-byte C1 codes, marks of direction, line ends, tags.
EVIL = "x\x1b[31my\u202ez\u009b1mw\u2028v\U000e0041u\x7f"
RAW = ["\x1b", "\x7f", "\u202e", "\u009b", "\u2028", "\U000e0041", "\r", "\x07"]


def harmless(text):
    text = text.decode()
    assert not any(raw in text for raw in RAW), ascii(text)
    return text


def said(done):
    return harmless(done.stdout) + harmless(done.stderr)


@test(variants=MOUNTED)
def nothing_that_is_printed_deceives(case, mounted):
    with chat(case, mounted) as c:
        name, line = f"cache/web/n{EVIL}", f"needle {EVIL}\n"
        title = "of \u202etxt"
        put = ["put", "-c", "web", "-n", f"n{EVIL}", "--title", title]
        said(c.offload(*put, input=line.encode()))
        forged = said(c.offload("put", "-c", "web", "-n", "n (ref 22222)\nit", input=b"text"))
        assert re.match(r"\[offloaded\] web: 4 bytes, 1 line \(ref (?!22222)\w+\) Read it: ", forged)
        shown = said(c.offload(*put, "--json", input=line.encode()))
        same(json.loads(shown)["title"], title)
        for words in (
            ["show", name],
            ["show", "--json", name],
            ["search", "needle"],
            ["search", "--json", "needle"],
            ["search", "of"],
            ["search", "--json", f"needle {EVIL}"],
            ["slice", name + ":summary"],
            ["promote", name],
            ["promote", "--json", name],
            ["show", f"no{EVIL}"],
            ["stats", "--store", f"/none{EVIL}"],
            ["task", EVIL],
            [EVIL],
            ["put", f"--{EVIL}"],
            ["put", "-c", EVIL],
            ["run", "--", f"/{EVIL}"],
            ["gc", "--dry-run"],
            ["verify"],
        ):
            said(c.offload(*words, check=False))


@test(variants=MOUNTED)
def what_is_said_of_steps_does_not_deceive(case, mounted):
    with chat(case, mounted) as c:
        calls = [
            {"tool": f"t{EVIL}", "args": {f"a{EVIL}": EVIL}, "result": f"{EVIL}\r\n{EVIL}\x07"},
            {"tool": "read_file", "args": {"path": "a"}, "result": "E\x1b]0;pwn\x07\n"},
        ]
        given = "\n".join(json.dumps(call) for call in calls).encode()
        steps = c.offload("reduce", "-t", "T", input=given)
        said(steps)
        same(json.loads(steps.stdout.splitlines()[0])["tool_name"], calls[0]["tool"])
        shown = said(c.offload("compact", input=steps.stdout))
        assert "  | E\n" in shown, shown
        same(said(c.offload("compact", "-t", "T")), shown)
        said(c.offload("compact", "-t", "T", "--json"))
        if mounted:
            same(harmless(read(os.path.join(c.mnt, "tasks/T/context.md"))), shown)


@test
def a_summary_and_an_answer_do_not_deceive(case):
    with case.mount("seal_delay=50") as m:
        path = m.make(f"persistent/web/n{EVIL}", f"needle {EVIL}\r\nend\r\n".encode())
        m.wait_sealed(path)
        shown = harmless(read(path + ":summary"))
        assert "needle xy<U+202E>z" in shown and "\n2: end\n" in shown, shown
        harmless(read(m("search/needle")))
        same(json.loads(harmless(read(path + ":info")))["path"], f"persistent/web/n{EVIL}")


@test
def a_workspace_with_such_a_name(case):
    with chat(case, False) as c:
        inner = os.path.join(c.path, f"d{EVIL}")
        make_repository(inner)
        for words in (["up"], ["up"], ["down"], ["down"]):
            said(c.offload(*words, inner))
        for words in (["install"], ["install"], ["uninstall"], ["uninstall"]):
            hook = ["hook", *words, "claude-code", "--yes", "--project"]
            said(run(OFFLOAD, *hook, cwd=inner, env=c.env))


if __name__ == "__main__":
    main()
