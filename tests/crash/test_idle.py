#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A daemon dies while it makes unused content dense: everything is still there, unchanged."""
import os
import random
import shutil
import time

from rounds import (
    LIMIT,
    LONG,
    close,
    count_hits,
    failpoint_names,
    kept,
    launch,
    report,
    seeded,
    spread,
    was_reached,
)

from clock import HOUR, Clock
from harness import OFFLOAD, eventually, main, read, run, same, test

SEAL = "seal_delay=1"
FILES = 60
HARMLESS = {"io.list", "io.open", "io.pread", "io.preadv", "io.size"}
NOTES = ",".join(f"{name}=note" for name in failpoint_names() if name not in HARMLESS)
ACTIONS = ("kill", "kill-after", "short")


LINES = [random.Random(n).randbytes(30).hex().encode() + b"\n" for n in range(3000)]


def content(number):
    """Lines shared with other files, so that larger frames compress better."""
    return b"".join(random.Random(number).choices(LINES, k=600))


def packed(store):
    """Returns the disk space of the packs, in bytes."""
    folder = os.path.join(store, "packs")
    return sum(os.stat(os.path.join(folder, name)).st_blocks * 512 for name in os.listdir(folder))


class Scene:
    """A store whose files are unused for hours once the clock of its daemon is moved."""

    def __init__(self, case):
        self.case, self.log = case, case.path("failpoints")
        self.template = case.path("template")
        m = launch(case, SEAL, store=self.template)
        assert m.comes_up()
        m.wait_sealed(*(m.make(f"persistent/notes/{i}", content(i)) for i in range(FILES)))
        assert close(m) == 0
        self.before = packed(self.template)

    def start(self, **environment):
        clock = Clock(self.case)
        m = launch(self.case, SEAL, OFFLOADFS_CLOCK=clock.path, **environment)
        return m, clock

    def densify(self, m, clock):
        """Waits until nothing is left to do or the daemon dies. Returns the hits before that."""
        time.sleep(0.2)
        before = count_hits(self.log)
        clock.pass_time(3 * HOUR)

        def done():
            clock.pass_time(60)
            return m.process.poll() is not None or packed(self.case.store) < self.before * 0.6

        eventually(done, "the packs are smaller")
        return before

    def play(self, failpoints):
        """Returns the daemon's exit code, and the hits before anything was made dense."""
        shutil.rmtree(self.case.store, ignore_errors=True)
        shutil.copytree(self.template, self.case.store)
        if os.path.exists(self.log):
            os.unlink(self.log)
        m, clock = self.start(OFS_FAILPOINT=failpoints, OFS_FAILPOINT_LOG=self.log)
        if not m.comes_up():
            return m.wait(), {}
        before = self.densify(m, clock)
        return close(m), before

    def check(self, goes_on):
        """All content is right. If `goes_on`, densifying is also continued to its end."""
        m, clock = self.start()
        assert m.comes_up(), "the store does not open"
        for again in range(1 + goes_on):
            if again:
                self.densify(m, clock)
            for i in range(FILES):
                same(read(m(f"persistent/notes/{i}")), content(i), f"notes/{i}")
        m.unmount()
        run(OFFLOAD, "verify", "--store", self.case.store)
        report(rounds=1, files=FILES)


@test(timeout=LIMIT)
def nothing_is_lost_while_content_is_made_dense(case):
    rng = seeded("idle")
    scene = Scene(case)
    code, before = scene.play(NOTES)
    assert code == 0
    hits = count_hits(scene.log)
    hits = {name: (before[name], n) for name, n in hits.items() if n > before[name]}
    scene.check(False)
    assert {"io.pwrite", "io.datasync", "io.punch", "index.commit"} <= set(hits), hits
    reached = set()
    for name, (first, last) in sorted(hits.items()):
        for hit in spread(rng, last - first, 2):
            for action in ACTIONS if LONG else (rng.choice(ACTIONS),):
                fault = f"{name}={action}@{first + hit}"
                print(fault, flush=True)
                with kept(case.store, scene.log):
                    code, _ = scene.play(f"{name}=note,{fault}")
                    if was_reached(scene.log, fault):
                        assert code == -9, f"{fault}: the daemon ended with {code}"
                        reached.add(name)
                    scene.check(LONG or first + hit == last)
    assert reached == set(hits), f"not reached: {set(hits) - reached}"


main()
