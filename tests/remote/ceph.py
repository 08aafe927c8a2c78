# SPDX-License-Identifier: MIT
"""A Ceph object gateway from Debian's packages, unpacked but not installed, with a cluster in
memory.

    with Ceph(fetch(directory)) as ceph:
        ceph.url, ceph.environment()

One monitor, one OSD that keeps everything in memory, one radosgw, and no manager.
"""
import ctypes
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid

from s3_client import OWNER, READER, Client

PACKAGES = ["ceph-base", "ceph-common", "ceph-mon", "ceph-osd", "radosgw"]
BUCKET = "test"
START_SECONDS = 60

CONFIG = """\
[global]
fsid = {fsid}
mon_initial_members = a
mon_host = v2:127.0.0.1:{mon_port}/0
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
ms_bind_msgr1 = false
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
ms_mon_client_mode = crc
ms_mon_service_mode = crc
ms_mon_cluster_mode = crc
keyring = /dev/null
run_dir = {run}
admin_socket =
log_file = {run}/$name.log
mon_cluster_log_file = /dev/null
crash_dir = {run}
erasure_code_dir = {lib}/ceph/erasure-code
plugin_dir = {lib}/ceph
osd_class_dir = {lib}/rados-classes
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 1
osd_pool_default_pgp_num = 1
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0

[mon]
mon_data = {run}/mon
mon_allow_pool_size_one = true
mon_memory_autotune = false
mon_max_pg_per_osd = 1000
mon_data_avail_crit = 1
paxos_propose_interval = 0.02
paxos_min_wait = 0.01
mon_osd_initial_require_min_compat_client = luminous

[osd]
osd_data = {run}/osd
osd_objectstore = memstore
memstore_device_bytes = {bytes}
osd_op_num_shards = 1
osd_op_num_threads_per_shard = 2
osd_max_pgls = 1024

[client]
rgw_dns_name = localhost
rgw_frontends = beast endpoint=127.0.0.1:{port} tcp_nodelay=1
rgw_thread_pool_size = 32
rgw_enable_gc_threads = false
rgw_enable_lc_threads = false
rgw_enable_quota_threads = false
rgw_run_sync_thread = false
rgw_enable_usage_log = false
rgw_enable_ops_log = false
rgw_cache_lru_size = 1000
"""


class Unavailable(Exception):
    """The packages are not available. The text says why."""


# --- Packages -------------------------------------------------------------------------------------


def _apt(*command, where=None):
    done = subprocess.run(
        command, cwd=where, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no reason was given"])[-1]
        raise Unavailable(f"cannot get Ceph's packages: {command[0]} says: {last}")
    return done.stdout


def _depends(packages):
    """Returns the direct dependencies of these packages, by apt's lists."""
    text = _apt("apt-cache", "depends", "--no-recommends", "--no-suggests", "--no-enhances",
                "--no-conflicts", "--no-breaks", "--no-replaces", *packages)
    lines = (line.partition("Depends: ") for line in text.splitlines())
    return {name.strip() for _, mark, name in lines if mark}


def _installed():
    text = _apt("dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package}\n")
    return {line.split()[-1] for line in text.splitlines() if line.startswith("ii")}


def _wanted():
    """Returns the packages, and those of the libraries they need that are not installed."""
    here = _installed()
    wanted, new = set(), set(PACKAGES)
    while new:
        wanted |= new
        libraries = {name for name in _depends(sorted(new)) if name.startswith("lib")}
        new = libraries - here - wanted
    return sorted(wanted)


def _download(directory):
    settings = ["-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=0", "-qq"]
    try:
        _apt("apt-get", *settings, "download", *_wanted(), where=directory)
    except Unavailable:  # also if the lists are missing or outdated
        _apt("apt-get", *settings, "update")
        _apt("apt-get", *settings, "download", *_wanted(), where=directory)


def cache():
    above = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(above, "offloadfs", "ceph")


def fetch(directory):
    """Returns the folder of the unpacked packages below `directory`. Downloads them once."""
    for program in ("apt-get", "apt-cache", "dpkg-query", "dpkg"):
        if not shutil.which(program):
            raise Unavailable(f"{program} is not installed")
    directory = pathlib.Path(directory).resolve()
    root = directory / "packages"
    if root.exists():
        return root
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix="packages-") as scratch:
        scratch = pathlib.Path(scratch)
        _download(scratch)
        for package in sorted(scratch.glob("*.deb")):
            _apt("dpkg", "-x", str(package), str(scratch / "root"))
        os.rename(scratch / "root", root)
    return root


# --- The cluster ----------------------------------------------------------------------------------


def _free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def _end_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Ceph:
    """Runs in a temporary folder below `directory`."""

    def __init__(self, root, directory=None, port=0, size=1 << 30):
        self.root = pathlib.Path(root)
        self.directory, self.port, self.size = directory, port or _free_port(), size
        self.processes = {}
        self.run = None
        self.seconds = None  # duration of the start

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def environment(self):
        return {
            "AWS_ACCESS_KEY_ID": OWNER[0],
            "AWS_SECRET_ACCESS_KEY": OWNER[1],
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL_S3": self.url,
            "S3_BUCKET": BUCKET,
        }

    def memory(self):
        """Returns the resident memory of its processes, in bytes."""
        pages = 0
        for process in self.processes.values():
            with open(f"/proc/{process.pid}/statm") as f:
                pages += int(f.read().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, value, trace):
        self.stop()
        return False

    def start(self):
        started = time.monotonic()
        self.run = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=self.directory))
        try:
            self._start_cluster()
            self._create_user()
            self._start("radosgw", "-n", "client.rgw")
            self._create_reader()
            self._create_bucket()
        except BaseException:
            self.stop()
            raise
        self.seconds = time.monotonic() - started
        return self

    def stop(self):
        """Ends the processes, the gateway first."""
        for process in reversed(self.processes.values()):
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.clear()
        if self.run:
            shutil.rmtree(self.run, ignore_errors=True)

    def _start_cluster(self):
        lib = next((self.root / "usr/lib").glob("*/ceph")).parent
        library = f"lib/{lib.name}"
        places = [lib, lib / "ceph", self.root / library]
        self.environ = {
            "PATH": os.environ.get("PATH", ""),
            "LD_LIBRARY_PATH": ":".join(str(place) for place in places),
            "CEPH_CONF": str(self.run / "ceph.conf"),
            "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES": str(8 << 20),
        }
        fsid, port = str(uuid.uuid4()), _free_port()
        text = CONFIG.format(
            fsid=fsid, mon_port=port, run=self.run, lib=lib, bytes=self.size, port=self.port
        )
        (self.run / "ceph.conf").write_text(text)
        for name in ("mon", "osd"):
            (self.run / name).mkdir()
        monmap = str(self.run / "monmap")
        self._do("monmaptool", "--create", "--fsid", fsid, "--addv", "a",
                 f"[v2:127.0.0.1:{port}]", "--set-min-mon-release", "16", monmap)
        self._do("ceph-mon", "--mkfs", "-i", "a", "--monmap", monmap)
        self._start("ceph-mon", "-i", "a")
        self._do("ceph-osd", "--mkfs", "-i", "0", "--osd-uuid", str(uuid.uuid4()))
        self._start("ceph-osd", "-i", "0")
        # A pool made before there is an OSD would wait for the monitor's next tick.
        self._wait_for_osd()

    def _wait_for_osd(self):
        log = self.run / "osd.0.log"
        deadline = time.monotonic() + START_SECONDS
        while not log.exists() or b"state: booting -> active" not in log.read_bytes():
            self.check()
            if time.monotonic() > deadline:
                raise RuntimeError("the OSD does not come up")
            time.sleep(0.02)

    def _create_user(self):
        self._do("radosgw-admin", "user", "create", "--uid=test", "--display-name=test",
                 f"--access-key={OWNER[0]}", f"--secret={OWNER[1]}")

    def _create_reader(self):
        self._do("radosgw-admin", "subuser", "create", "--uid=test", "--subuser=reader",
                 "--key-type=s3", "--access=read",
                 f"--access-key={READER[0]}", f"--secret={READER[1]}")

    def _create_bucket(self):
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                why = Client(self).ask("PUT")
                if why.status == 200:
                    return
            except OSError as e:
                why = e
            self.check()
            if time.monotonic() > deadline:
                raise RuntimeError(f"the gateway does not answer: {why}")
            time.sleep(0.05)

    def _program(self, name):
        return str(self.root / "usr/bin" / name)

    def _start(self, name, *words):
        with open(self.run / f"{name}.out", "wb") as out:
            self.processes[name] = subprocess.Popen(
                [self._program(name), "-f", *words],
                cwd=self.run, env=self.environ, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                start_new_session=True, preexec_fn=_end_with_parent,
            )

    def check(self):
        """Raises an error if a daemon has ended."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                said = (self.run / f"{name}.out").read_text(errors="replace")[-2000:]
                raise RuntimeError(f"{name} ended with {process.returncode}: {said}")

    def _do(self, name, *words):
        done = subprocess.run(
            [self._program(name), *words], cwd=self.run, env=self.environ, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=START_SECONDS,
        )
        if done.returncode != 0:
            said = done.stdout.decode(errors="replace")[-2000:]
            raise RuntimeError(f"{name} ended with {done.returncode}: {said}")
