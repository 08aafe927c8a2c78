#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Content holds secrets, which the tools must not print."""
import os

import paths  # noqa: F401
from claude import MOUNTED, chat
from harness import OFFLOAD, SEAL_SOON, main, read, run, same, test, write

BODY = "Zm9vYmFyYmF6cXV4" * 2 + "0123"
TOKEN = "ghp_" + BODY
COLOURED = "ghp_" + BODY[:10] + "\x1b[1m" + BODY[10:]


def hidden(text):
    if isinstance(text, bytes):
        text = text.decode()
    assert BODY not in text and BODY[10:] not in text, text
    assert "[redacted" in text.lower(), text


# Invisible: a zero-width space and joiner, and a hyphen that shows only at the end of a line.
UNSEEN = {
    name: "ghp_" + BODY[:10] + unseen + BODY[10:]
    for name, unseen in {"space": "\u200b", "joiner": "\u2060", "hyphen": "\xad"}.items()
}


@test(variants={"plain": TOKEN, "with colours": COLOURED, **UNSEEN})
def what_is_printed_of_a_secret(case, token):
    with case.mount(SEAL_SOON) as m:
        path = m.make("persistent/web/page", f"needle {token} end\n".encode() * 3)
        m.wait_sealed(path)
        hidden(run(OFFLOAD, "search", "--dir", case.mnt, "needle").stdout)
        hidden(run(OFFLOAD, "search", "--dir", case.mnt, "--json", "needle").stdout)
        hidden(read(m("search/needle")))
        hidden(read(path + ":summary"))
        # The content itself is unchanged.
        assert token.encode() in read(path)


@test
def a_message_that_is_cut_does_not_end_in_a_part_of_a_secret(case):
    with chat(case, False) as c:
        c.offload("put", "-c", "web", input=b"text\n")
        for n in range(380, 520, 9):
            path = "x" * 240 + "/" + "x" * (n - 241) + "/" + TOKEN
            said = c.offload("show", path, check=False).stderr.decode()
            assert BODY[:6] not in said, said
        for n in range(0, 60, 3):
            store = os.path.join(c.home, "store")
            c.offload("put", "--store", store, "-c", "web", input=b"text\n", check=False)
            write(os.path.join(store, "config.ini"), f"redact = {'x ' * n}{TOKEN}\n".encode())
            said = c.offload("stats", "--store", store, check=False).stderr.decode()
            assert "redact = '" in said and BODY[:6] not in said, said


SECRET = ("apiVersion: v1", "data:", f"  a: {BODY}", f"  b.c: {BODY[::-1]}", "kind: Secret")


@test(variants={"head": (5, 400), "cut after": (7, 400), "cut before": (400, 0), "tail": (400, 2)})
def a_preview_knows_what_stands_around_its_lines(case, lines):
    """The lines before or after it identify the secret, whether shown or not."""
    before, after = lines
    text = [f"line {i}" for i in range(before)] + list(SECRET)
    text += [f"behind {i}" for i in range(after)]
    with chat(case, False) as c:
        shown = c.offload("put", "-c", "shell", input="\n".join(text).encode()).stdout.decode()
        assert BODY not in shown and BODY[::-1] not in shown, shown
        hidden_lines = 0
        for line in text[-3:]:  # those shown
            if line[:3] in ("  a", "  b"):
                hidden_lines += 1
            else:
                assert f": {line.strip()}\n" in shown, (line, shown)
        assert shown.count("[redacted: ") >= hidden_lines, shown


@test
def a_title_with_a_secret(case):
    with case.mount(SEAL_SOON) as m:
        put = [OFFLOAD, "put", "--dir", case.mnt, "-c", "web", "-n", "x", "--title", f"is {TOKEN}"]
        hidden(run(*put, "--json", input=b"text\n").stdout)
        hidden(run(OFFLOAD, "show", "--dir", case.mnt, "cache/web/x").stdout)
        hidden(run(OFFLOAD, "show", "--dir", case.mnt, "--json", "cache/web/x").stdout)
        hidden(read(m("cache/web/x:info")))


RULE = b"""
[[rules]]
id = "acme"
regex = '\\b(acme-[a-z]+)\\b'
keywords = ["acme-"]
"""


@test(variants=MOUNTED)
def a_rule_of_the_users_own(case, mounted):
    with chat(case, False) as c:
        folder = os.path.join(c.home, ".config/offloadfs")
        own = os.path.join(folder, "redact.toml")
        os.makedirs(folder)
        write(own, RULE)
        if mounted:
            c.offload("up")
        put = ["put", "-c", "web", "-n", "x", "--title", "of acme-title"]
        said = c.offload(*put, input=b"the acme-secret of mine\n" * 1000).stdout
        assert b"acme-secret" not in said and b"acme-title" not in said, said
        assert b"[redacted: acme]" in said, said
        shown = c.offload("show", "cache/web/x").stdout
        assert b"acme-title" not in shown and b"[redacted: acme]" in shown, shown
        same(c.offload("slice", "cache/web/x:1").stdout, b"the acme-secret of mine\n")
        if mounted:  # the daemon uses the rule, too
            shown = read(os.path.join(c.mnt, "search/mine")) + read(f"{c.mnt}/cache/web/x:summary")
            assert b"acme-secret" not in shown and b"[redacted: acme]" in shown, shown
        os.chmod(own, 0o622)
        refused(c, own, "others may write to")
        os.chmod(own, 0o600)
        write(own, b"[[rules]]\nid = 'x'\nregex = '('\n")
        refused(c, own, "rule 'x': the regex is wrong")


def refused(c, *words):
    done = c.offload("show", "cache/web/x", check=False)
    said = done.stderr.decode()
    assert done.returncode == 1 and said.count("\n") == 1, done
    assert all(word in said for word in words), said


if __name__ == "__main__":
    main()
