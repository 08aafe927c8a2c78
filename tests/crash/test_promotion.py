#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A daemon dies while it promotes files: each is in its task or kept with its origin."""
import errno
import os
import shutil

from rounds import LIMIT, close, count_hits, kept, launch, report, seeded, spread, was_reached
from workload import DYING, GONE

from harness import OFFLOAD, main, run, test, xattr

SEAL = "seal_delay=1"
POINTS = ("store.move", "io.pwritev")
REPORTS = [f"reports/r{i}" for i in range(4)]
LOGS = [f"shell/l{i}.log" for i in range(3)]


def content(name):
    return f"the content of {name}\n".encode()


def tool(case, *words):
    return run(OFFLOAD, *words, "-d", case.mnt, check=False, cwd="/")


class Scene:
    """A task whose reports never expire, while its logs do. `end` promotes or drops them."""

    def __init__(self, case, end):
        self.case, self.end = case, end
        self.template = case.path("template")
        self.log = case.path("failpoints")
        m = launch(case, SEAL, store=self.template)
        assert m.comes_up()
        for name in REPORTS + LOGS:
            m.make("tasks/t/" + name, content(name))
        m.wait_sealed(*(m("tasks/t", name) for name in REPORTS + LOGS))
        self.refs = {name: xattr(m("tasks/t", name), "ref") for name in REPORTS + LOGS}
        assert close(m) == 0

    def start(self, **environment):
        m = launch(self.case, SEAL, **environment)
        return m if m.comes_up() else None

    def play(self, failpoints):
        """Ends the task in a daemon with these failpoints. Returns the daemon's exit code."""
        shutil.rmtree(self.case.store, ignore_errors=True)
        shutil.copytree(self.template, self.case.store)
        if os.path.exists(self.log):
            os.unlink(self.log)
        m = launch(self.case, SEAL, OFS_FAILPOINT=failpoints, OFS_FAILPOINT_LOG=self.log)
        if not m.comes_up():
            return m.wait()
        self.end(m)
        return close(m)

    def expect(self, m, ended):
        """Each file is in one place, with its origin if kept. `ended`: none is in the task."""
        for name, ref in self.refs.items():
            category = name.split("/")[0]
            places = [m("tasks/t", name), m("persistent", category, os.path.basename(name))]
            found = [p for p in places if os.path.exists(p)]
            if name in LOGS and not found:
                try:
                    os.stat(m("refs", ref))
                    raise AssertionError(f"{name}: its ref leads elsewhere")
                except OSError as e:
                    assert e.errno == errno.EKEYEXPIRED, f"{name}: {e!r}"
                continue
            assert len(found) == 1, f"{name} is in {found}"
            with open(m("refs", ref), "rb") as f:
                assert f.read() == content(name), name
            if found == places[1:]:
                origin = xattr(found[0], "origin_task"), xattr(found[0], "origin_category")
                assert origin == ("t", category), f"{found[0]} was made as {origin}"
            assert not ended or found == places[1:], f"{name} is left"

    def check(self):
        m = self.start()
        assert m, "the store does not open"
        self.expect(m, False)
        if os.path.exists(m("tasks/t")):
            done = tool(self.case, "task", "done", "t")
            assert done.returncode == 0, done.stderr
        self.expect(m, True)
        m.kill9()
        m.start()
        self.expect(m, True)
        m.unmount()
        report(rounds=1, files=len(self.refs))


def end_by_tool(m):
    """The command fails if the daemon dies."""
    tool(m.case, "task", "done", "t", "--keep", "l1.log")


def end_by_rename(m):
    try:
        os.mkdir(m("persistent/reports"))
        for name in REPORTS:
            os.rename(m("tasks/t", name), m("persistent", name))
        tool(m.case, "task", "done", "t")
    except OSError as e:
        if e.errno not in GONE | DYING:
            raise


@test(timeout=LIMIT, variants={"tool": end_by_tool, "rename": end_by_rename})
def nothing_is_lost_while_files_are_promoted(case, end):
    rng = seeded("promotion")
    scene = Scene(case, end)
    assert scene.play(",".join(f"{p}=note" for p in POINTS)) == 0
    hits = count_hits(scene.log)
    scene.check()
    reached = 0
    for point in POINTS:
        assert hits[point], f"{point} is never met"
        for hit in spread(rng, hits[point], 3):
            for action in ("kill", "kill-after"):
                fault = f"{point}={action}@{hit}"
                print(fault, flush=True)
                with kept(case.store, scene.log):
                    scene.play(f"{point}=note,{fault}")
                    reached += was_reached(scene.log, fault)
                    scene.check()
    assert reached > len(POINTS), "hardly a fault was reached"


main()
