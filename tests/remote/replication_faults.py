# SPDX-License-Identifier: MIT
"""
Replication under faults, compared with a model of what was acknowledged. A Life is one store from
its first mount on. Hosts have it one after another, and sometimes at the same time. Requests to the
service fail in every possible way, daemons are killed before and after them, and garbage is
removed. A restore must give an earlier state with everything acknowledged, and the objects must
form one lineage. The seed alone determines what is done; the timing also depends on the machine.
"""
import base64
import collections
import contextlib
import datetime
import errno
import os
import random
import signal
import subprocess
import threading
import time

import paths  # noqa: F401
from clock import HOUR, Clock
from harness import OFFLOAD, SLOW, eventually, read, run, stop, write
from replication import FINAL, Remote, copy_store, push, status, wait_current
from replication_model import Ended, Lost, Model

DEAD = {errno.ENOTCONN, errno.ECONNABORTED, errno.EIO, errno.EROFS, errno.ENODEV}
FOLDER = "cache/f"


class Host:
    """A directory with the store, and its daemon."""

    def __init__(self, life, number):
        self.life, self.number = life, number
        self.store = life.case.path(f"store-{number}")
        self.mnt = life.case.path(f"mnt-{number}")
        self.m = None

    def start(self, failpoint=None):
        """Returns True if the daemon serves. With a failpoint it may have died before."""
        life = self.life
        log = life.case.path("failpoints")
        environment = {"OFFLOADFS_CLOCK": life.clock.path}
        if failpoint:
            environment.update(OFS_FAILPOINT=failpoint, OFS_FAILPOINT_LOG=log)
        if not self.m:
            self.m = life.remote.make(life.case, *life.options, store=self.store, mnt=self.mnt)
        self.m.launch(**environment)
        serves = self.m.comes_up()
        if not serves:
            assert failpoint, "the daemon ended before it served"
            self.m.wait()
        return serves

    def kill(self):
        if self.m and self.m.process:
            self.m.kill9()

    def tree(self):
        folder = self.m(FOLDER)
        names = os.listdir(folder) if os.path.isdir(folder) else []
        return {name: read(os.path.join(folder, name)) for name in names}


# Faults of requests: of those that create, and of those that read.
CREATES = [
    ("drop_before", {}),
    ("drop_before", {"reset": True}),
    ("drop_after", {}),
    ("drop_after", {"reset": True}),
    ("apply_late", {"seconds": 0.2}),
    ("apply_late", {"seconds": 0.7, "answer": 500}),
    ("delay", {"seconds": 0.3}),
    ("cut_request", {"bytes": 0}),
    ("cut_request", {"bytes": 60}),
    *(("status", {"status": s, "applied": a}) for s in (409, 412, 500, 503) for a in (False, True)),
]
READS = [
    ("drop_before", {}),
    ("drop_after", {"reset": True}),
    ("delay", {"seconds": 0.3}),
    ("cut", {"bytes": 0}),
    ("cut", {"bytes": 40, "reset": True}),
    ("corrupt", {}),
    ("status", {"status": 500}),
    ("status", {"status": 503}),
]
LISTS = [
    ("drop_before", {}),
    ("cut", {"bytes": 50}),
    ("status", {"status": 503}),
    ("stale_list", {}),
]
DELETES = [
    ("drop_before", {}),
    ("drop_after", {}),
    ("apply_late", {"seconds": 0.3}),
    ("status", {"status": 500}),
    ("status", {"status": 503, "applied": True}),
    ("lying_delete", {}),
]
LOG, MANIFESTS, PARTS, PACKS = "a/wal/*", "a/ckpt/*/0*", "a/ckpt/*/part-*", "a/pack/*"
EPOCHS = "a/epoch/*"


def kind_of(action, kind, key, arguments):
    detail = "".join(
        f" {arguments[n]}" if n == "status" else f" {n}"
        for n in ("status", "applied", "answer", "reset")
        if arguments.get(n)
    )
    return f"{kind} {key.removeprefix('a/')} {action}{detail}"


class Life:
    def __init__(self, case, seed):
        self.case, self.seed, self.began = case, seed, time.monotonic()
        self.rng = random.Random(f"faults {seed}")
        self.model = Model()
        self.clock = Clock(case)
        self.on_sync = self.rng.random() < 0.6
        self.options = [
            "replicate_every=" + ("fsync" if self.on_sync else str(self.rng.choice([20, 100]))),
        ]
        self.seals = self.rng.random() < 0.7
        self.options.append(f"seal_delay={self.rng.choice([1, 20]) if self.seals else 3600000}")
        if self.rng.random() < 0.3:
            self.options.append("local_max=1")
        self.key = self.rng.random() < 0.2 and case.path("key")
        self.key_options = ["--key", self.key] if self.key else []
        if self.key:
            self.options.append(f"replicate_key={self.key}")
            write(self.key, base64.b64encode(self.rng.randbytes(32)) + b"\n")
            os.chmod(self.key, 0o600)
        self.tally = collections.Counter()  # faults that were set
        self.reached = collections.Counter()
        self.compared = 0
        self.hosts = 0
        self.host = None
        self.early = 0  # a mark of the service for stale listings

    # --- The writer

    def now(self):
        return self.clock.now()

    def _step(self, call, change):
        """Makes one system call, which changes the state by `change`."""
        state = dict(self.model.last)
        change(state)
        try:
            call()
        except OSError as e:
            if e.errno not in DEAD:
                raise
            self.model.add(state, float("inf"))  # it may have taken effect
            raise Ended(str(e)) from e
        self.model.add(state, self.now())

    def _pwrite(self, fd, data):
        assert os.pwrite(fd, data, 0) == len(data)

    def _write(self, folder, name, data, sync):
        path = os.path.join(folder, name)
        if name not in self.model.last:
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
            self._step(lambda: os.close(os.open(path, flags)), lambda s: s.update({name: b""}))
        try:
            fd = os.open(path, os.O_WRONLY)
        except OSError as e:
            raise Ended(str(e)) from e
        try:
            self._step(
                lambda: self._pwrite(fd, data),
                lambda s: s.update({name: data + s[name][len(data) :]}),
            )
            if sync:
                self._sync(fd)
        finally:
            with contextlib.suppress(OSError):
                os.close(fd)

    def _sync(self, fd):
        try:
            os.fsync(fd)
        except OSError as e:
            raise Ended(str(e)) from e
        if self.on_sync:
            self.model.required = len(self.model.states) - 1

    def operate(self, host, sync):
        rng, names = self.rng, sorted(self.model.last)
        folder = host.m(FOLDER)
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as e:
            raise Ended(str(e)) from e
        dice = rng.random()
        if len(names) < 3 or dice < 0.55:
            name = rng.choice(names) if names and dice < 0.15 else f"n{self.model.tokens}"
            size = rng.choice([1, 100, 5000, 60000])
            self._write(folder, name, self.model.content(size), sync)
            return
        old = rng.choice(names)
        if dice < 0.8:
            new = rng.choice(names + [f"r{self.model.tokens}"] * 3)
            if new == old:
                return
            paths = os.path.join(folder, old), os.path.join(folder, new)
            self._step(lambda: os.rename(*paths), lambda s: s.update({new: s.pop(old)}))
        else:
            self._step(lambda: os.unlink(os.path.join(folder, old)), lambda s: s.pop(old))

    def work(self, host, count, syncs=True):
        for _ in range(count):
            self.operate(host, syncs and self.rng.random() < 0.4)
        self.note_complete(host)

    def note_complete(self, host):
        """What the status reports as complete must be there from now on."""
        with contextlib.suppress(OSError):
            s = status(host.m)
            if s["complete_until"] and s["state"] not in FINAL:
                at = datetime.datetime.fromisoformat(s["complete_until"].replace("Z", "+00:00"))
                self.model.require_before(at.timestamp())

    def settle(self, host):
        """Waits until everything is in the remote."""
        count = len(self.model.states)
        self.send_soon(host)
        wait_current(host.m)
        self.model.required = count - 1

    def send_soon(self, host):
        """Syncs, because a host that sends only for syncs may otherwise take five seconds."""
        if not self.on_sync:
            return
        with contextlib.suppress(OSError):
            fd = os.open(host.m(FOLDER, min(self.model.last)), os.O_WRONLY)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    # --- Faults of requests

    def rule(self, kind, key, faults):
        action, arguments = self.rng.choice(faults)
        arguments = dict(arguments)
        name = kind_of(action, kind, key, arguments)
        if action == "stale_list":
            arguments["mark"] = self.early
        rule = self.remote.fault(action, kind=kind, key=key, **arguments)
        rule.name = name
        self.tally[name] += 1
        return rule

    def drop(self, rules):
        """Removes the rules, and counts those that fired."""
        for rule in rules:
            self.reached[rule.name] += rule.fired > 0
            self.remote.remove(rule)

    def requests_fail(self):
        """Requests of a sending host fail."""
        keys = [LOG, LOG, LOG, MANIFESTS, PARTS] + [PACKS] * self.seals
        rules = [
            self.rule("put", self.rng.choice(keys), CREATES)
            for _ in range(self.rng.randint(1, 3))
        ]
        if self.rng.random() < 0.4:
            # After an unknown outcome the host reads whether the object exists. This fails, too.
            rules.append(self.rule("put", LOG, [f for f in CREATES if f[0] == "drop_after"]))
            rules.append(self.rule("get", LOG, READS))
        needs_checkpoint = any(rule.key != LOG for rule in rules)
        deadline = time.monotonic() + 6 * SLOW
        while not all(rule.fired for rule in rules) and time.monotonic() < deadline:
            self.work(self.host, 3)
            if needs_checkpoint:
                self.push_soon(self.host)
            time.sleep(0.05)
        self.drop(rules)
        self.settle(self.host)

    def push_soon(self, host):
        """Starts a checkpoint without waiting for it."""
        os.setxattr(host.m.mnt, "user.offload.remote", b"push")

    def service_goes_away(self):
        how = self.rng.choice(["refuse", "hang"])
        rule = self.remote.fault("down", kind="put", key=LOG, seconds=0.6, how=how)
        rule.name = f"put wal/* down {how}"
        self.tally[rule.name] += 1
        self.work(self.host, 4, syncs=False)
        if self.on_sync:
            self.push_soon(self.host)
        with contextlib.suppress(AssertionError):
            rule.wait(10 * SLOW)
        self.work(self.host, 4)
        self.drop([rule])
        self.remote.up()
        self.settle(self.host)

    # --- Deaths

    def dies(self, fatal):
        """Works until fatal() or a failpoint has killed the daemon. Returns True if it did."""
        ended = False
        deadline = time.monotonic() + 10 * SLOW
        try:
            fatal()
            while time.monotonic() < deadline:
                self.work(self.host, 2)
                if self.rng.random() < 0.3:
                    self.push_soon(self.host)
        except (Ended, OSError):
            ended = True
        return ended

    def goes_on(self):
        """Continues after a death, on the same host or on another one."""
        if self.rng.random() < 0.5:
            return self.elsewhere()
        self.host.start()
        self.model.goes_on_from(self.host.tree(), self.acknowledged_here, "the same host")
        self.settle(self.host)

    @property
    def acknowledged_here(self):
        """Returns the latest state that was acknowledged to the caller."""
        return max(i for i, at in enumerate(self.model.times) if at != float("inf"))

    def daemon_is_killed(self):
        self.tally["kill"] += 1
        timer = threading.Timer(self.rng.uniform(0, 0.4), self.host.m.process.kill)
        self.reached["kill"] += self.dies(timer.start)
        timer.join()
        self.host.kill()
        self.goes_on()

    def daemon_dies_at_a_request(self):
        point = self.rng.choice(["put", "put", "put", "get", "delete"])
        action = self.rng.choice(["kill", "kill-after"])
        hit = {"put": self.rng.randint(1, 10), "get": self.rng.randint(1, 3), "delete": 1}[point]
        name = f"daemon remote.{point}={action}"
        self.host.kill()
        self.forget_failpoints()
        self.tally[name] += 1
        if self.host.start(f"remote.{point}={action}@{hit}"):
            self.dies(lambda: None)
            self.is_dead()
        self.reached[name] += self.failpoint_fired()
        self.goes_on()

    def forget_failpoints(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.case.path("failpoints"))

    def failpoint_fired(self):
        return os.path.exists(self.case.path("failpoints"))

    def is_dead(self):
        """Waits for the end of the daemon, which is killed if it is still running."""
        if self.host.m.process.poll() is None:
            self.host.kill()
        else:
            self.host.m.wait()

    # --- Other hosts

    def new_host(self):
        self.hosts += 1
        return Host(self, self.hosts)

    def start_restore(self, host, failpoint=None):
        environment = dict(os.environ, OFFLOADFS_CLOCK=self.clock.path)
        if failpoint:
            log = self.case.path("failpoints")
            environment.update(OFS_FAILPOINT=failpoint, OFS_FAILPOINT_LOG=log)
        return subprocess.Popen(
            [OFFLOAD, "restore", *self.key_options, self.remote.location, host.store],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=environment,
        )

    def restore(self, host, failpoint=None):
        """Returns None if it worked, or else the error text."""
        process = self.start_restore(host, failpoint)
        said = process.communicate(timeout=60 * SLOW)[1].decode()
        return said + f"exit {process.returncode}" if process.returncode else None

    def restore_under_faults(self, host):
        """Tries to restore until it works. Only the first try has faults."""
        rng, rules, failpoint, name = self.rng, [], None, None
        if rng.random() < 0.3:
            point = rng.choice(["put", "get", "list"])
            hit = {"put": rng.randint(3, 4), "get": rng.randint(1, 12), "list": 1}[point]
            action = rng.choice(["kill", "kill-after"])
            failpoint, name = f"remote.{point}={action}@{hit}", f"restore remote.{point}={action}"
            self.tally[name] += 1
            self.forget_failpoints()
        elif rng.random() < 0.8:
            rules = [
                rng.choice([
                    lambda: self.rule("put", LOG, CREATES),
                    lambda: self.rule("put", EPOCHS, CREATES),
                    lambda: self.rule("get", rng.choice([LOG, MANIFESTS, PARTS, EPOCHS]), READS),
                    lambda: self.rule("list", "a/ckpt/*", LISTS),
                ])()
                for _ in range(rng.randint(1, 3))
            ]
        said = self.restore(host, failpoint)
        if failpoint:
            self.reached[name] += self.failpoint_fired()
        self.drop(rules)
        for _ in range(5):
            if not said:
                return
            self.late()
            said = self.restore(host)
        raise AssertionError(f"nothing can be restored: {said}")

    def late(self):
        """Applies the requests that are still to be applied late."""
        time.sleep(0.1)
        self.remote.apply_late()

    def take(self, host, where):
        """Makes the host the owner of the store."""
        host.start()
        found = host.tree()
        self.model.goes_on_from(found, self.model.required, where)
        self.compared += len(found)
        self.host = host

    def elsewhere(self):
        self.host.kill()
        host = self.new_host()
        self.restore_under_faults(host)
        self.take(host, "another host")
        self.settle(host)

    def zombie(self):
        """The host is stopped during a request while another one takes over."""
        old = self.host
        name = "zombie"
        self.tally[name] += 1
        rule = self.remote.fault(
            "apply_late", kind="put", key=LOG, seconds=self.rng.choice([0.05, 0.3, 60])
        )
        self.work(old, self.rng.randint(1, 5), syncs=False)
        if self.on_sync:
            self.push_soon(old)
        with contextlib.suppress(AssertionError):
            rule.wait(5 * SLOW)
        self.remote.remove(rule)
        stop(old.m.process.pid)
        try:
            host = self.new_host()
            self.restore_under_faults(host)
            self.take(host, "the host after a zombie")
            self.work(host, 5)
            self.settle(host)
        finally:
            os.kill(old.m.process.pid, signal.SIGCONT)
        self.is_deposed(old)
        self.reached[name] += 1
        self.work(host, 3)
        self.settle(host)
        old.m.abandon()

    def is_deposed(self, old):
        """The old host learns that it is deposed, and acknowledges nothing."""
        path = old.m(FOLDER, "zombie")

        def deposed():
            try:
                fd = os.open(path, os.O_CREAT | os.O_WRONLY)
                try:
                    os.pwrite(fd, b"zombie", 0)
                    if self.on_sync:
                        os.fsync(fd)
                        raise Lost("a zombie acknowledged")
                finally:
                    os.close(fd)
            except OSError as e:
                assert e.errno in DEAD, e
            return status(old.m)["state"] == "deposed"

        eventually(deposed, "the zombie is deposed", 30)

    def two_take_over(self):
        """Two hosts restore at the same time. Exactly one of them ends up with the store."""
        self.tally["two at once"] += 1
        self.host.kill()
        hosts = [self.new_host(), self.new_host()]
        restores = [self.start_restore(host) for host in hosts]
        for process in restores:
            process.communicate(timeout=60 * SLOW)
        hosts = [h for h, p in zip(hosts, restores) if p.returncode == 0]
        assert hosts, "neither could take over"
        for host in hosts:
            host.start()
        states = []
        for host in hosts:
            final = ("current", *FINAL)
            states.append(eventually(lambda: (s := status(host.m)["state"]) in final and s, "who"))
        # A host that was current may have been deposed since.
        current = [h for h in hosts if self.still_has_it(h)]
        assert len(current) == 1, f"{len(current)} of {states} have the store"
        self.reached["two at once"] += len(hosts) == 2
        for host in hosts:
            if host not in current:
                host.kill()
        self.host = current[0]
        self.model.goes_on_from(self.host.tree(), self.model.required, "one of two hosts")
        self.settle(self.host)

    @staticmethod
    def still_has_it(host):
        """Returns True if the host can send, which only the owner can."""
        with contextlib.suppress(OSError):
            os.makedirs(host.m("cache/probe"), exist_ok=True)
            return push(host.m, check=False).returncode == 0
        return False

    # --- Garbage

    def garbage_goes(self):
        """Lets hours pass, so that garbage is removed, under faults."""
        host, rules, ghost = self.host, [], None
        if self.rng.random() < 0.6:
            host.kill()
            ghost = self.new_host()
            copy_store(host.store, ghost.store)
            host.start()
        for _ in range(self.rng.randint(1, 3)):
            self.work(host, 6)
            for _ in range(self.rng.randint(2, 3)):
                push(host.m)
        self.early = self.remote.mark()
        self.work(host, 2)
        self.settle(host)
        if self.rng.random() < 0.25:
            self.die_in_a_sweep()
            host = self.host
        else:
            rules = [
                self.rng.choice([
                    lambda: self.rule("list", "a/*", LISTS),
                    lambda: self.rule("delete", "a/*", DELETES),
                    lambda: self.rule("get", MANIFESTS, READS[:2]),
                ])()
                for _ in range(self.rng.randint(1, 3))
            ]
        self.sweeps(host, rules)
        self.settle(host)
        self.drop(rules)
        self.remote.apply_late()
        if ghost:
            self.comes_back(ghost)
        if self.rng.random() < 0.6:
            self.elsewhere()

    def comes_back(self, ghost):
        """A host whose epoch is garbage by now learns that it no longer has the store."""
        name = "back from the dead"
        self.tally[name] += 1
        ghost.start()
        eventually(lambda: status(ghost.m)["state"] == "deposed", "it is deposed", 30)
        try:
            write(ghost.m("cache/ghost"), b"boo")
            raise Lost("a host that was deposed takes files")
        except OSError as e:
            assert e.errno in DEAD, e
        ghost.m.abandon()
        self.reached[name] += 1

    def sweeps(self, host, rules):
        """Lets hours pass until the host looks for garbage. Stale listings are not that old."""
        before = self.remote.requests
        for _ in range(10):
            self.hours_pass()
            for rule in rules:
                if rule.action == "stale_list":
                    rule.arguments["mark"] = self.remote.mark()
            self.work(host, 3)
            self.settle(host)
            if self.remote.count(kind="list", key="a/ckpt/*", since=before):
                return
        raise AssertionError("nobody looked for garbage")

    def hours_pass(self):
        self.clock.pass_time(2 * HOUR)
        self.remote.clock_offset += 2 * HOUR

    def die_in_a_sweep(self):
        """Makes a host die in a sweep. Then another one prepares a sweep."""
        point = self.rng.choice(["list", "delete"])
        action = self.rng.choice(["kill", "kill-after"])
        # The probe of a mount makes the first removal.
        hit = self.rng.randint(1, 3) if point == "list" else self.rng.randint(2, 4)
        name = f"sweep remote.{point}={action}"
        self.tally[name] += 1
        self.host.kill()
        self.forget_failpoints()
        if self.host.start(f"remote.{point}={action}@{hit}"):
            with contextlib.suppress(Ended, OSError, AssertionError):
                self.prepare_sweep(self.host)
                self.hours_pass()
                for _ in range(200):
                    self.work(self.host, 1)
                    time.sleep(0.05)
            self.is_dead()
        self.reached[name] += self.failpoint_fired()
        self.goes_on()
        self.prepare_sweep(self.host)

    def prepare_sweep(self, host):
        """Makes an anchor, a newer checkpoint, and an object of the log after it."""
        self.work(host, 3)
        for _ in range(2):
            push(host.m)
        self.work(host, 2)
        self.settle(host)

    # --- All of it

    EVENTS = [
        (5, requests_fail), (1, service_goes_away), (1, daemon_is_killed),
        (2, daemon_dies_at_a_request), (2, elsewhere), (1, zombie), (1, two_take_over),
        (2, garbage_goes),
    ]

    def live(self, events):
        with Remote() as self.remote:
            self.remote.key = self.key
            self.host = self.new_host()
            self.remote.add(self.host.store)
            self.host.start()
            try:
                self.work(self.host, 5)
                self.settle(self.host)
                weights, functions = zip(*self.EVENTS)
                for event in self.rng.choices(functions, weights, k=events):
                    print(f"{event.__name__} {time.monotonic() - self.began:.1f}", flush=True)
                    self.early = self.remote.mark()
                    self.run_event(event)
                self.end()
            finally:
                for m in list(self.case.mounts):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(m.process.pid, signal.SIGCONT)

    def run_event(self, event):
        event(self)
        self.remote.apply_late()
        self.remote.check()

    def end(self):
        """The last host dies in the middle of its work, and everything is checked elsewhere."""
        with contextlib.suppress(Ended):
            self.work(self.host, 10)
        self.host.kill()
        host = self.new_host()
        said = self.restore(host)
        assert not said, said
        self.take(host, "the last host")
        self.settle(host)
        self.remote.check()
        run(OFFLOAD, "remote", "verify", "--dir", host.m.mnt, timeout=60 * SLOW)
        host.m.unmount()
