# SPDX-License-Identifier: MIT
"""The tool on a tree, through the mount or on the store without one."""
import contextlib
import json

from harness import OFFLOAD, SLOW, run

MOUNTED = {"mounted": True, "unmounted": False}


class Tool:
    """The tool on a case's tree, through the mount or on the store."""

    def __init__(self, case, mounted=True):
        self.case = case
        self.where = ["-d", case.mnt] if mounted else ["--store", case.store]

    def __call__(self, command, *words, code=0):
        """Returns the lines that it printed; what it said on standard error is in `said`."""
        done = run(
            OFFLOAD, command, *self.where, *words, check=False, cwd="/", timeout=50 * SLOW
        )
        out, self.said = done.stdout.decode(), done.stderr.decode()
        assert done.returncode == code, f"exit {done.returncode}, expected {code}: {out}{self.said}"
        for line in self.said.splitlines():
            assert line.startswith("offload: " + command + ": "), f"standard error: {self.said!r}"
        return out.splitlines()

    def refuses(self, command, *words, code=1, saying=""):
        """It must fail with one line that has these words in it, and print nothing."""
        out = self(command, *words, code=code)
        assert not out, out
        assert len(self.said.splitlines()) == 1 and saying in self.said, self.said

    def json(self, command, *words, code=0):
        return json.loads("\n".join(self(command, "--json", *words, code=code)))


@contextlib.contextmanager
def tool(m, mounted):
    """The tool, with the mount left as it is or taken away meanwhile."""
    if mounted:
        yield Tool(m.case, True)
        return
    m.unmount()
    try:
        yield Tool(m.case, False)
    finally:
        m.start()
