#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Replication under random faults. Environment: OFFLOADFS_FAULTS_SEEDS (FIRST:LAST),
OFFLOADFS_FAULTS_EVENTS (per life), OFFLOADFS_FAULTS_REPORT (a file that gets a line of JSON for
each life).
"""
import json
import os

import paths  # noqa: F401
from harness import main, test
from lineage import Wrong
from replication_faults import Life
from replication_model import Lost, WrongBytes

FIRST, LAST = map(int, (os.environ.get("OFFLOADFS_FAULTS_SEEDS") or "1:8").split(":"))
EVENTS = int(os.environ.get("OFFLOADFS_FAULTS_EVENTS") or 6)
REPORT = os.environ.get("OFFLOADFS_FAULTS_REPORT")


def report(life, error):
    if not REPORT:
        return
    line = {
        "seed": life.seed, "set": life.tally, "reached": life.reached, "files": life.compared,
        "lost": isinstance(error, Lost), "wrong": isinstance(error, WrongBytes),
        "forked": isinstance(error, Wrong), "failed": error is not None,
    }
    with open(REPORT, "a") as f:
        f.write(json.dumps(line) + "\n")


@test(variants={str(seed): seed for seed in range(FIRST, LAST + 1)}, timeout=180)
def what_was_acknowledged_is_there_whatever_fails(case, seed):
    life, error = Life(case, seed), None
    try:
        life.live(EVENTS)
    except BaseException as e:
        error = e
        raise
    finally:
        report(life, error)
    assert sum(life.reached.values()) > 0, "no fault was reached"


main()
