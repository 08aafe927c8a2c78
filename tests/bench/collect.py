# SPDX-License-Identifier: MIT
"""The effect of collecting many files on readers, and whether the space comes back."""
import array
import errno
import json
import os
import random
import struct
import time

from corpus import SmallFiles, soup
from measure import MIB, Place, harness, heading, met, note, table, time_text, usage

READERS = 8
KEPT = 2000
AIM = 3
SECONDS = 8  # of reading without a collection


def add_arguments(parser):
    parser.add_argument(
        "files", nargs="?", type=int, default=100000, metavar="N", help="how many (default 100000)"
    )


def measure(options):
    with Place() as place:
        heading(f"collect: {options.files} expired files go while {READERS} readers read others")
        clock = place.path("clock")
        _set_clock(clock, 0)
        os.environ["OFFLOADFS_CLOCK"] = clock
        try:
            with place.daemon(options=("gc_interval=1000", "grace=0")) as m:
                result = _measure(m, clock, options)
        finally:
            del os.environ["OFFLOADFS_CLOCK"]
    return result


def _set_clock(path, minutes):
    ns = minutes * 60 * 10**9
    with open(path, "r+b" if os.path.exists(path) else "wb") as f:
        f.write(struct.pack("<qqq", ns, ns, 1))


def _measure(m, clock, options):
    kept = _fill(m("persistent"), KEPT, 9)
    _wait(m, "what is kept to be sealed", lambda said: not said["unsealed"]["files"])
    before = usage(m.store)[0]
    note(f"writing {options.files} files")
    _fill(m("cache/shell"), options.files, 8)
    _wait(m, "sealing", lambda said: not said["unsealed"]["files"])
    full = usage(m.store)[0]
    readers = Readers(kept)
    time.sleep(SECONDS)
    quiet = readers.stop()
    # The files' lifetime is over: they go on probation, which is over by the second collection.
    _set_clock(clock, 31)
    _look(m)
    _set_clock(clock, 120)
    readers = Readers(kept)
    start = time.monotonic()
    said = _look(m)
    took = time.monotonic() - start
    busy = readers.stop()
    _wait(m, "the space", lambda said: usage(m.store)[0] < before + (full - before) // 4, 90)
    left = usage(m.store)[0]
    rows = [
        [name, len(times), time_text(_part(times, 0.5)), time_text(_part(times, 0.99))]
        for name, times in (("without", quiet), ("with", busy))
    ]
    table(["a collection", "reads", "median", "p99"], rows)
    ratio = _part(busy, 0.99) / _part(quiet, 0.99)
    back = (full - left) / (full - before)
    print(
        f"\n  {said['removed']} files went in {time_text(took)};"
        f" {back:.0%} of what they took on disk is back"
        f"\n  aim: p99 within {AIM} times that without: {ratio:.2f}, {met(ratio <= AIM)}"
    )
    return {
        "files": options.files,
        "removed": said["removed"],
        "seconds": took,
        "p99": [_part(quiet, 0.99), _part(busy, 0.99)],
        "aims": {"p99": ratio <= AIM},
    }


def _fill(root, files, seed):
    small = SmallFiles(soup(4 * MIB, seed))
    paths = []
    for i in range(files):
        folder = os.path.join(root, f"{i // 1000:03d}")
        if i % 1000 == 0:
            os.makedirs(folder)
        paths.append(os.path.join(folder, f"{i:06d}.txt"))
        with open(paths[-1], "wb") as f:
            f.write(small.content(i))
    return paths


def _wait(m, what, done, bound=3600):
    """Polls, because a daemon whose clock is moved keeps checking it and so never rests."""
    note(f"waiting for {what}")
    end = time.monotonic() + bound
    while time.monotonic() < end:
        time.sleep(1.1)
        with open(m(".offload/status.json")) as f:
            if done(json.load(f)):
                break
    time.sleep(12)  # until the index is settled


def _look(m, how=b"run"):
    harness.eventually(lambda: _begins(m, how), "a collection begins")
    while True:
        said = json.loads(os.getxattr(m.mnt, "user.offload.gc"))
        if said["state"] != "running":
            return said
        time.sleep(0.05)


def _begins(m, how):
    try:
        os.setxattr(m.mnt, "user.offload.gc", how)
    except OSError as e:
        if e.errno != errno.EBUSY:
            raise
        return False
    return True


def _part(times, share):
    return sorted(times)[min(int(len(times) * share), len(times) - 1)]


class Readers:
    """Processes that read random files, independently of each other."""

    def __init__(self, paths):
        stop, self._stop = os.pipe()
        self._told = []
        for seed in range(READERS):
            told, tells = os.pipe()
            if os.fork() == 0:
                code = 1
                try:
                    os.close(self._stop)
                    _read_until(stop, tells, paths, seed)
                    code = 0
                finally:
                    os._exit(code)
            os.close(tells)
            self._told.append(told)
        os.close(stop)

    def stop(self):
        """Ends the processes. Returns the seconds that each read took."""
        os.close(self._stop)
        times = array.array("d")
        for told in self._told:
            with os.fdopen(told, "rb") as f:
                times.frombytes(f.read())
        for _ in self._told:
            os.wait()
        return times


def _read_until(stop, told, paths, seed):
    rng = random.Random(seed)
    times = array.array("d")
    os.set_blocking(stop, False)
    end = time.monotonic() + 600  # in case the parent is gone
    while time.monotonic() < end:
        start = time.monotonic()
        # Bypasses the cache, so that the daemon is asked.
        fd = os.open(rng.choice(paths), os.O_RDONLY | os.O_DIRECT)
        os.read(fd, 1 << 20)
        os.close(fd)
        times.append(time.monotonic() - start)
        try:
            if not os.read(stop, 1):
                break
        except BlockingIOError:
            pass
    with os.fdopen(told, "wb") as f:
        f.write(times.tobytes())
