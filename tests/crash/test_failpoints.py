#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nothing acknowledged is lost if the daemon dies in any of its calls on the store."""
import os
import shutil

from rounds import (
    LIMIT,
    UNUSED,
    close,
    count_hits,
    failpoint_names,
    kept,
    launch,
    report,
    seeded,
    share,
    spread,
    was_reached,
)
from workload import DYING, GONE, Writer

from files import KIB, noise
from harness import SEAL_NEVER, eventually, main, read, test, xattr

ACTIONS = ("kill", "kill-after", "short")
NAMES = failpoint_names()
NOTES = ",".join(f"{name}=note" for name in NAMES)
SEAL = "seal_delay=1"


def is_write(name):
    return "write" in name


def sealed(m, writer):
    """Returns True if all files of the writer are sealed."""
    paths = [p for p in writer.state.of_kind("file") if writer.state.node(p)[2]]
    return all(xattr(m(p), "sha256") for p in paths)


def sync_little(m):
    """Syncs that have almost nothing to write extend the log with zeros for later ones."""
    fd = os.open(m("cache/shell"), os.O_RDONLY)
    try:
        for mode in (0o711, 0o755) * 5:
            os.fchmod(fd, mode)
            os.fsync(fd)
    finally:
        os.close(fd)


def script(m, writer):
    """The life of a daemon: writing, syncing, sealing, reading, removing. Ends early if it dies."""
    writer.gone |= DYING
    try:
        bulky = m.make("cache/shell/bulky", noise(300 * KIB, 9))
        writer.growing = True
        writer.work(30)
        if not writer.cut and not writer.failure:
            eventually(lambda: xattr(bulky, "sha256") and sealed(m, writer), "all is sealed")
            read(bulky + ":b0-99")  # from its pack, since the kernel has not cached slices
            os.unlink(bulky)
            writer.begin()
            writer.growing = False
            writer.work(15)
        if not writer.cut and not writer.failure:
            eventually(lambda: sealed(m, writer), "all is sealed")
            sync_little(m)
            os.chmod(m("cache/shell"), 0o711)  # gives the last checkpoint something to do
    except OSError as e:
        if e.errno not in GONE | DYING:
            raise
    assert writer.failure is None, writer.failure
    writer.gone -= DYING


class Scene:
    """A store to start from, and the writer that knows its content."""

    def __init__(self, case, name, seed):
        self.case, self.name = case, name
        self.template = None
        self.writer = Writer(case.mnt, "w", seed, syncs=True, most=25)
        if name == "old":
            self._make_old()

    def _make_old(self):
        """
        Makes a store with packs, an index and drafts in the journal. The journal and the packs end
        with garbage, as after a death in the middle of a write.
        """
        self.template = self.case.path("template")
        for delay in (SEAL, SEAL_NEVER):
            m = launch(self.case, delay, store=self.template)
            assert m.comes_up()
            packed = m.make("persistent/packed", noise(20 * KIB, 8))
            if delay == SEAL:
                m.wait_sealed(packed)
            self.writer.growing = True
            self.writer.work(25)
            assert not self.writer.failure, self.writer.failure
            self.writer = self.writer.again()
            if delay == SEAL:
                assert close(m) == 0
        m.kill9()
        for folder in ("journal", "packs"):
            files = os.listdir(os.path.join(self.template, folder))
            with open(os.path.join(self.template, folder, max(files)), "ab") as f:
                f.write(b"\x5a" * 300)

    def play(self, log, failpoints):
        """Runs the script under these failpoints. Returns the writer and the daemon's exit code."""
        shutil.rmtree(self.case.store, ignore_errors=True)
        if self.template:
            shutil.copytree(self.template, self.case.store)
        if os.path.exists(log):
            os.unlink(log)
        writer = self.writer.again()
        m = launch(self.case, SEAL, OFS_FAILPOINT=failpoints, OFS_FAILPOINT_LOG=log)
        if m.comes_up():
            script(m, writer)
            return writer, close(m)
        return writer, m.wait()

    def check(self, writer):
        """A start finds everything acknowledged and goes on from there. So does the next one."""
        m = launch(self.case, SEAL)
        assert m.comes_up(), "the store does not open"
        files = writer.check()
        writer = writer.again()
        writer.work(10)
        assert not writer.failure and not writer.cut, writer.failure or writer.cut
        m.kill9()
        m.start()
        files += writer.check()
        m.unmount()
        report(rounds=1, files=files)


def play_until_reached(scene, log, name, action, hit):
    """
    Runs the scene up to the hit. Background work makes the number of hits vary, so a hit that is
    not reached is replaced by the last one that was.
    """
    for _ in range(6):
        fault = f"{name}={action}@{hit}"
        writer, code = scene.play(log, f"{name}=note,{fault}")
        if was_reached(log, fault):
            assert code == -9, f"{fault}: the daemon ended with {code}"
            return writer
        assert code == 0, f"{fault} was not reached, and the daemon ended with {code}"
        assert not writer.cut, f"{fault} was not reached, and an operation failed: {writer.cut}"
        hit = min(hit, max(count_hits(log)[name], 1))
    raise AssertionError(f"{fault} was not reached in six runs")


def dry_run(scene, log):
    writer, code = scene.play(log, NOTES)
    assert code == 0 and not writer.cut, f"without a fault the daemon ended with {code}"
    with kept(scene.case.store):
        scene.check(writer)
    return count_hits(log)


@test(timeout=LIMIT, variants={"kill": "kill", "kill-after": "kill-after", "short": "short"})
def everything_acknowledged_survives_death_at_every_failpoint(case, action):
    rng = seeded("failpoints")
    log = case.path("failpoints")
    scenes = [Scene(case, name, rng.random()) for name in ("new", "old")]
    hits = [dry_run(scene, log) for scene in scenes]
    points = [n for n in NAMES if action != "short" or is_write(n)]
    missed = [n for n in points if n not in UNUSED and not any(h[n] for h in hits)]
    assert not missed, f"never reached: {missed}: the script of this test has to grow"
    wrong = [n for n in UNUSED if any(h[n] for h in hits)]
    assert not wrong, f"reached, and listed as unused: {wrong}"
    plan = []
    for name in points:
        for scene, found in zip(scenes, hits):
            print(f"{name}: {found[name]} hits in the {scene.name} store", flush=True)
            plan += [(scene, name, hit) for hit in spread(rng, found[name], 3)]
    for scene, name, hit in share(plan):
        print(f"{name}={action}@{hit} on the {scene.name} store", flush=True)
        with kept(case.store, log):
            scene.check(play_until_reached(scene, log, name, action, hit))


main()
