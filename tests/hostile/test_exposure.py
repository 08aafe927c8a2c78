#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The attacker is another process of the same user that wants the content in our memory."""
import os
import signal
import subprocess

import paths  # noqa: F401
from harness import NOBODY, OFFLOAD, SANITIZED, Skip, eventually, main, test


def owner_of(pid):
    """Returns the owner of a process's files in /proc: root, unless its user may inspect it."""
    return os.stat(f"/proc/{pid}/mem").st_uid


def store_of_nobody(case):
    if SANITIZED:
        raise Skip("a sanitizer attaches to the process")
    store = case.path("mine")
    os.mkdir(store, 0o700)
    os.chown(store, NOBODY, NOBODY)
    case.open_to_others()
    return store


@test(root=True, variants={"closed": False, "asked for": True})
def memory_of_the_tool_is_closed(case, asked):
    store = store_of_nobody(case)
    with subprocess.Popen(
        [OFFLOAD, "put", "--store", store],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"]} | ({"OFFLOADFS_COREDUMP": "1"} if asked else {}),
        user=NOBODY,
        group=NOBODY,
    ) as tool:
        want = NOBODY if asked else 0
        eventually(lambda: owner_of(tool.pid) == want, f"its memory is of user {want}")
        tool.stdin.close()


@test(root=True)
def no_core_dump_holds_content(case):
    store = store_of_nobody(case)
    os.mkdir(case.path("there"), 0o777)
    os.chmod(case.path("there"), 0o777)
    with subprocess.Popen(
        ["sh", "-c", f"ulimit -c unlimited; exec {OFFLOAD} put --store {store}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=case.path("there"),
        user=NOBODY,
        group=NOBODY,
    ) as tool:
        eventually(lambda: owner_of(tool.pid) == 0, "its memory is closed")
        os.kill(tool.pid, signal.SIGABRT)
        status = tool.wait()
    assert status == -signal.SIGABRT, status
    assert os.listdir(case.path("there")) == []


if __name__ == "__main__":
    main()
