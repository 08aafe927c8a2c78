#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Content holds secrets: what the tools print of it does not."""
import paths  # noqa: F401
from harness import OFFLOAD, SEAL_SOON, main, read, run, test

BODY = "Zm9vYmFyYmF6cXV4" * 2 + "0123"
TOKEN = "ghp_" + BODY
COLOURED = "ghp_" + BODY[:10] + "\x1b[1m" + BODY[10:]


def hidden(text):
    if isinstance(text, bytes):
        text = text.decode()
    assert BODY not in text and BODY[10:] not in text, text
    assert "[redacted" in text.lower(), text


@test(variants={"plain": TOKEN, "with colours": COLOURED})
def what_is_printed_of_a_secret(case, token):
    with case.mount(SEAL_SOON) as m:
        path = m.make("persistent/web/page", f"needle token={token} end\n".encode() * 3)
        m.wait_sealed(path)
        hidden(run(OFFLOAD, "search", "--dir", case.mnt, "needle").stdout)
        hidden(run(OFFLOAD, "search", "--dir", case.mnt, "--json", "needle").stdout)
        hidden(read(m("search/needle")))
        hidden(read(path + ":summary"))
        # The content itself is what it was.
        assert token.encode() in read(path)


@test
def a_title_with_a_secret(case):
    with case.mount(SEAL_SOON) as m:
        put = [OFFLOAD, "put", "--dir", case.mnt, "-c", "web", "-n", "x", "--title", f"is {TOKEN}"]
        hidden(run(*put, "--json", input=b"text\n").stdout)
        hidden(run(OFFLOAD, "show", "--dir", case.mnt, "cache/web/x").stdout)
        hidden(run(OFFLOAD, "show", "--dir", case.mnt, "--json", "cache/web/x").stdout)
        hidden(read(m("cache/web/x:info")))


if __name__ == "__main__":
    main()
