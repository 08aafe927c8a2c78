# SPDX-License-Identifier: MIT
"""Files of gigabytes: throughput, memory, the journal, slices, and the space they leave."""
import contextlib
import os
import subprocess
import time

import harness
from corpus import soup
from measure import (
    GIB, MIB, Place, Watch, drop_caches, heading, memory, met, note, run, size_text, store_usage,
    table, time_text, usage,
)  # fmt: skip

AIM_RSS = 200 * MIB
WRITE = MIB
POOL = 64 * MIB
EACH = GIB  # size of each file of --apparent


def add_arguments(parser):
    parser.add_argument(
        "gib", nargs="?", type=float, default=4, metavar="GIB", help="its size (default 4)"
    )
    parser.add_argument(
        "--apparent",
        type=float,
        metavar="GIB",
        help="files of 1 GiB, so much together, of the same 64 MiB",
    )


def measure(options):
    if options.apparent:
        return _measure_apparent(options)
    size = max(int(options.gib * GIB) // WRITE, 2) * WRITE
    with Place() as place:
        heading(f"large: one text file of {size_text(size)}")
        note("making text")
        pool = soup(min(POOL, size), 3)
        plain, _ = _write(place.path("plain"), pool, size)
        os.unlink(place.path("plain"))
        empty = place.empty_store()
        store = place.path("store")
        result = {"size": size, "empty": empty, "rss": {}}
        _fill(place, store, pool, size, plain, options.rest, result)
        _slices(place, store, result)
        _verify(place, store, result)
        _remove(place, store, options.rest, result)
        print("\n  memory of the daemon, at most:")
        table(["", "RSS"], [[name, size_text(rss)] for name, rss in result["rss"].items()])
        most = max(result["rss"].values())
        result["aims"] = {"rss": most < AIM_RSS}
        print(f"\n  aim: below {size_text(AIM_RSS)}: {size_text(most)}, {met(most < AIM_RSS)}")
        return result


def _write(path, pool, size):
    """
    Writes blocks of the pool, each with a numbered heading. Returns the bytes per second, including
    the final sync, and the number of lines.
    """
    lines = 0
    begin = time.perf_counter()
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        for number in range(size // WRITE):
            at = number * WRITE % len(pool)
            block = b"block %d\n" % number + pool[at : at + WRITE]
            block = block[: WRITE - 1] + b"\n"
            lines += block.count(b"\n")
            done = 0
            while done < WRITE:
                done += os.write(fd, block[done:])
        os.fsync(fd)
    finally:
        os.close(fd)
    return size / (time.perf_counter() - begin), lines


def _fill(place, store, pool, size, plain, rest, result):
    with place.daemon(store) as m:
        journal = os.path.join(store, "journal")
        os.mkdir(m("cache", "large"))
        with Watch(journal=lambda: usage(journal)[0]) as watch:
            cpu = m.cpu()
            speed, result["lines"] = _write(m("cache", "large", "file"), pool, size)
            cpu = m.cpu() - cpu
        most = watch.max["journal"]
        result["rss"]["while it is written"] = m.memory("VmHWM")
        with Watch(rss=m.memory, journal=lambda: usage(journal)[0]) as watch:
            sealing = m.rest(
                rest, what="sealing", until=lambda: harness.xattr(m("cache/large/file"), "sha256")
            )
            result["cpu_sealing"] = m.cpu()
        result["rss"]["while it is sealed"] = watch.max["rss"]
        result["journal_max"] = max(most, watch.max["journal"])
        result["full"] = store_usage(store)
        result["write"] = {"offloadfs": speed, "plain": plain, "cpu": cpu}
        result["seconds_sealing"] = sealing
    print(
        f"  written at {speed / MIB:.0f} MiB/s with the sync, to the plain filesystem at"
        f" {plain / MIB:.0f} MiB/s: {speed / plain:.2f} of it"
        f"\n  sealed {time_text(sealing)} later, {size_text(result['full']['bytes'])} stored"
        f"\n  journal directory: {size_text(result['journal_max'])} at most,"
        f" {size_text(result['full']['journal'])} at rest",
        flush=True,
    )


def _slices(place, store, result):
    """Each slice is read from a daemon that has read nothing yet."""
    lines, times = result["lines"], {}
    for name, first in (("start", 1), ("middle", lines // 2), ("end", lines - 99)):
        drop_caches(store)
        with place.daemon(store) as m:
            times[name] = run("cat", m(f"cache/large/file:{first}-{first + 99}"))
            result["rss"]["slice"] = max(result["rss"].get("slice", 0), m.memory("VmHWM"))
    result["seconds_slice"] = times
    print(
        "  100 lines, cold: "
        + ", ".join(f"{time_text(seconds)} at the {name}" for name, seconds in times.items()),
        flush=True,
    )


def _verify(place, store, result):
    """Verifies the unmounted store, if the companion tool can."""
    said = subprocess.run([harness.OFFLOAD, "help"], capture_output=True, check=False).stdout
    if b"\n  verify " not in said:
        return
    note("verifying")
    begin = time.perf_counter()
    with subprocess.Popen(
        [harness.OFFLOAD, "verify", store],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    ) as process:
        with Watch(rss=lambda: memory(process.pid)) as watch:
            code = process.wait()
    result["verify"] = {"seconds": time.perf_counter() - begin, "code": code}
    result["rss"]["offload verify"] = watch.max["rss"]
    print(f"  verified in {time_text(result['verify']['seconds'])}, exit code {code}", flush=True)


def _remove(place, store, rest, result):
    with place.daemon(store) as m:
        removing = run("rm", m("cache/large/file"))
        with contextlib.suppress(OSError):
            os.rmdir(m("cache/large"))
        returning = m.rest(rest, what="space to be given back")
        result["left"] = store_usage(store)
        result["rss"]["removal"] = m.memory("VmHWM")
    result["seconds_removing"] = removing
    result["seconds_giving_back"] = returning
    print(
        f"  removed in {time_text(removing)}, space back {time_text(returning)} later:"
        f" {size_text(result['left']['bytes'])} left, an empty store has"
        f" {size_text(result['empty']['bytes'])}",
        flush=True,
    )


# --- Much content that is mostly the same ---------------------------------------------------------


def _copy(path, to, size):
    """Copies by reference. cp would take a file with few blocks for sparse and read it."""
    with open(path, "rb") as source, open(to, "wb") as target:
        while size:
            size -= os.copy_file_range(source.fileno(), target.fileno(), size)


def _measure_apparent(options):
    each = min(EACH, int(options.apparent * GIB) // 2 // POOL * POOL)
    count = int(options.apparent * GIB) // each
    with Place() as place:
        heading(f"large: {count} files of {size_text(each)}, of the same {size_text(POOL)}")
        note("making text")
        pool, store = soup(POOL, 3), place.path("store")
        result = {"size": each * count, "files": count, "rss": {}}
        with place.daemon(store) as m:
            os.mkdir(m("cache", "large"))
            first = m("cache", "large", "0000")
            begin = time.perf_counter()
            with open(first, "wb", buffering=0) as f:
                for at in range(0, each, WRITE):
                    f.write(pool[at % POOL : at % POOL + WRITE])
            m.rest(options.rest, what="sealing", until=lambda: harness.xattr(first, "sha256"))
            result["seconds_first"] = time.perf_counter() - begin
            result["rss"]["one is written and sealed"] = m.memory("VmHWM")
            begin = time.perf_counter()
            for number in range(1, count):
                _copy(first, m("cache", "large", f"{number:04d}"), each)
            m.rest(options.rest, what="the copies")
            result["seconds_copies"] = time.perf_counter() - begin
            result["rss"]["it is copied"] = m.memory("VmHWM")
        result["store"] = store_usage(store)
        drop_caches(store)
        with place.daemon(store, f"cache/large/{count - 1:04d}") as m:
            result["seconds_opening"] = m.opened
            result["apparent"] = usage(m("cache"))[1]
            path = m("cache", "large", f"{count - 1:04d}")
            with Watch() as watch, open(path, "rb") as f:
                f.seek(each - POOL)
                same = f.read() == pool
            result["seconds_end"], result["same"] = watch.seconds, same
            result["seconds_removing"] = run("rm", "-r", m("cache", "large"))
            m.rest(options.rest, what="space to be given back")
            result["rss"]["the end is read, all is removed"] = m.memory("VmHWM")
        result["left"] = store_usage(store)
    print(
        f"  written and sealed in {time_text(result['seconds_first'])}, copied {count - 1} times in"
        f" {time_text(result['seconds_copies'])}\n  {size_text(result['apparent'])} take"
        f" {size_text(result['store']['bytes'])}, of it packs"
        f" {size_text(result['store']['packs'])}, index {size_text(result['store']['index'])}"
        f"\n  opened in {time_text(result['seconds_opening'])}; the last {size_text(POOL)} read in"
        f" {time_text(result['seconds_end'])}, {'right' if result['same'] else 'WRONG'}"
        f"\n  removed in {time_text(result['seconds_removing'])},"
        f" {size_text(result['left']['bytes'])} left"
        "\n\n  memory of the daemon, at most:"
    )
    table(["while", "RSS"], [[name, size_text(rss)] for name, rss in result["rss"].items()])
    return result
