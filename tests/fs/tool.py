# SPDX-License-Identifier: MIT
"""Runs `offload` on a tree, through the mount or directly on the store."""
import contextlib
import json

from harness import OFFLOAD, SLOW, run

MOUNTED = {"mounted": True, "unmounted": False}


class Tool:
    """`offload` on a case's tree, through the mount or on the store."""

    def __init__(self, case, mounted=True):
        self.case = case
        self.where = ["-d", case.mnt] if mounted else ["--store", case.store]

    def __call__(self, command, *words, code=0):
        """Returns the lines printed; leaves standard error in `said`."""
        done = run(
            OFFLOAD, command, *self.where, *words, check=False, cwd="/", timeout=50 * SLOW
        )
        out, self.said = done.stdout.decode(), done.stderr.decode()
        assert done.returncode == code, f"exit {done.returncode}, expected {code}: {out}{self.said}"
        for line in self.said.splitlines():
            assert line.startswith("offload: " + command + ": "), f"standard error: {self.said!r}"
        return out.splitlines()

    def refuses(self, command, *words, code=1, saying=""):
        """Requires a failure with a one-line message containing `saying`, and no output."""
        out = self(command, *words, code=code)
        assert not out, out
        assert len(self.said.splitlines()) == 1 and saying in self.said, self.said

    def json(self, command, *words, code=0):
        return json.loads("\n".join(self(command, "--json", *words, code=code)))


@contextlib.contextmanager
def tool(m, mounted):
    """Yields a Tool, through the mount or, with the tree unmounted for the block, on the store."""
    if mounted:
        yield Tool(m.case, True)
        return
    m.unmount()
    try:
        yield Tool(m.case, False)
    finally:
        m.start()
