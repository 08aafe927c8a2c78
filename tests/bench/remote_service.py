# SPDX-License-Identifier: MIT
"""Object storage for the benchmark of replication, in separate processes, and stores in it."""
import collections
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import urllib.parse

import harness
from measure import GIB, Failure, own_group, run

_TESTS = pathlib.Path(__file__).resolve().parents[1] / "remote"
sys.path.append(str(_TESTS))

import ceph  # noqa: E402

URL = "s3://test/"


def _give_way(pid):
    """The service stands for other machines, so here it yields to whatever is measured."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.setpriority(os.PRIO_PROCESS, int(thread), 19)


class S3:
    """The S3 of the tests. Its log has every request."""

    name = "the S3 of the tests"

    latency = 0.0  # seconds that each answer takes

    def __init__(self, place, _size=0):
        self._dir, self._log_path = place.path("s3"), place.path("s3.log")
        self._port, self._process = 0, None
        self._read = 0

    def __enter__(self):
        self.up()
        return self

    def __exit__(self, kind, value, trace):
        self._stop(signal.SIGKILL)

    def up(self):
        command = [sys.executable, "-B", _TESTS / "s3.py", "--port", self._port, "--dir", self._dir,
                   "--log", self._log_path, "--latency", self.latency]
        self._process = subprocess.Popen(
            [str(c) for c in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            preexec_fn=own_group,
        )  # fmt: skip
        told = (self._process.stdout.readline().split()[1].partition("=") for _ in range(5))
        self._environment = {name: value for name, _, value in told}
        self._port = urllib.parse.urlsplit(self._environment["AWS_ENDPOINT_URL_S3"]).port
        _give_way(self._process.pid)

    def down(self):
        """Refuses connections. Objects are kept."""
        self._stop(signal.SIGTERM)

    def environment(self):
        return self._environment

    def pids(self):
        return [self._process.pid]

    def requests(self):
        """Returns the requests that ended since the last call."""
        with open(self._log_path) as f:
            f.seek(self._read)
            lines = f.readlines()
            self._read = f.tell()
        return [json.loads(line) for line in lines]

    def _stop(self, how):
        process, self._process = self._process, None
        if process:
            process.send_signal(how)
            process.wait()
            process.stdout.close()


class Ceph:
    """Ceph's gateway, from packages that tools/remote downloads. It does not report requests."""

    name = "Ceph's gateway"

    def __init__(self, place, size=GIB):
        try:
            packages = ceph.fetch(os.environ.get("OFFLOADFS_CEPH") or ceph.cache())
        except ceph.Unavailable as e:
            raise Failure(str(e)) from None
        self._gateway = ceph.Ceph(packages, place.dir, size=size)

    def __enter__(self):
        self._gateway.start()
        for pid in self.pids():
            _give_way(pid)
        return self

    def __exit__(self, kind, value, trace):
        self._gateway.stop()

    def environment(self):
        return self._gateway.environment()

    def pids(self):
        return [process.pid for process in self._gateway.processes.values()]

    def requests(self):
        return None


@contextlib.contextmanager
def service(place, kind, size=GIB):
    """Runs object storage for about `size` bytes and for the daemons started during the block."""
    with kind(place, size) as s:
        before = {name: os.environ.get(name) for name in s.environment()}
        os.environ.update(s.environment())
        try:
            yield s
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


# --- Requests -------------------------------------------------------------------------------------


def kind_of(request):
    """Returns what a request is for: "PUT log", "GET pack"."""
    parts = (request["key"] or "").split("/")[1:]
    what = {"wal": "log", "pack": "pack", "ckpt": "checkpoint"}.get(parts[0] if parts else "", "")
    if parts and parts[-1].startswith("part-"):
        what = "part"
    return f"{request['kind'].upper()} {what or 'other'}"


def kinds(requests):
    """Counts requests by kind."""
    return dict(sorted(collections.Counter(map(kind_of, requests)).items()))


def writes(requests):
    return sum(request["kind"] in ("put", "delete") for request in requests)


def kinds_text(counts):
    return ", ".join(f"{n} {kind}" for kind, n in counts.items()) or "none"


# --- Stores ---------------------------------------------------------------------------------------


def add_remote(store, name):
    run(harness.OFFLOAD, "remote", "--store", store, "add", URL + name)


def state(m):
    """Returns what replication reports about itself."""
    return json.loads(os.getxattr(m.mnt, "user.offload.remote"))


def push(m):
    run(harness.OFFLOAD, "remote", "--dir", m.mnt, "push")


def wait_until(condition, what, bound=600):
    deadline = time.monotonic() + bound
    while True:
        # The report on a store is kept for a moment, and for as long as it is being looked up.
        time.sleep(1.2)
        if condition():
            return
        if time.monotonic() > deadline:
            raise Failure(f"not within {bound} s: {what}")


def is_sealed(m):
    with open(m(".offload/status.json")) as f:
        return not json.load(f)["unsealed"]["files"]


def is_complete(m):
    """Returns True if the remote has everything, sealed content too, and the daemon is done."""
    now = state(m)
    return is_sealed(m) and now["state"] == "current" and not now["pending_bytes"]


def cpu_of(pid, name=None):
    """Returns the seconds of processor time of a process, or of its threads with a name."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/stat") as f:
            head, _, rest = f.read().rpartition(")")
            if name is None or head.partition("(")[2] == name:
                total += sum(map(int, rest.split()[11:13]))
    return total / os.sysconf("SC_CLK_TCK")
