# SPDX-License-Identifier: MIT
"""A store of a million files: making it, opening it, walking it, listing a part of it."""
import contextlib
import mmap
import os
import shutil
import statistics
import struct
import subprocess
import time

from corpus import SmallFiles, soup
from harness import OFFLOAD
from measure import (
    MIB, Failure, Place, Progress, Watch, drop_caches, heading, note, run, size_text, store_usage,
    memory, table, time_text,
)  # fmt: skip

DIRECTORY = 1000  # files in one
SMALL = 10_000  # files in the store that the large one is compared with
ROUNDS = 5


def add_arguments(parser):
    parser.add_argument(
        "files",
        nargs="?",
        type=int,
        default=1_000_000,
        metavar="FILES",
        help="how many files of 1 to 4 KB (default 1000000)",
    )
    parser.add_argument(
        "--store",
        metavar="DIR",
        help="keep the stores in this folder and use them again; making a large one takes long",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=min(os.cpu_count() or 1, 4),
        metavar="N",
        help="how many processes write (default: one for each processor, at most 4)",
    )


def measure(options):
    files = max(options.files // DIRECTORY, 2) * DIRECTORY
    small = min(SMALL, files)
    with Place() as place:
        base = os.path.abspath(options.store) if options.store else place.dir
        os.makedirs(base, exist_ok=True)
        heading(f"scale: {files} files of 1 to 4 KB")
        result = {"files": files, "small": small}
        pool = []
        for count in sorted({files, small}):
            made = _make(place, os.path.join(base, f"{count}-files"), count, options, pool)
            if count == files and made:
                result["making"] = made
        store = os.path.join(base, f"{files}-files")
        result["store"] = store_usage(store)
        print(
            f"  store: {size_text(result['store']['bytes'])}, of it packs"
            f" {size_text(result['store']['packs'])}, index {size_text(result['store']['index'])}"
            f" ({result['store']['index'] / files:.0f} bytes a file)",
            flush=True,
        )
        result["opening"] = _opening(place, store)
        result["walking"] = _walking(place, store, files)
        result["inventory"] = _inventory(place, store)
        if small < files:
            result["listing"] = _listing(
                place, store, os.path.join(base, f"{small}-files"), files, small
            )
        return result


def _category(number):
    return f"category-{number:05d}"


# --- Making ---------------------------------------------------------------------------------------


def _make(place, store, count, options, pool):
    """Makes a store that is not there yet; returns what was measured meanwhile, None if it was."""
    done = store + ".done"
    if os.path.exists(done):
        note(f"using {store} again")
        return None
    shutil.rmtree(store, ignore_errors=True)
    if not pool:
        note("making text")
        pool.append(soup(64 * MIB if count > SMALL or options.files > SMALL else 4 * MIB, 2))
    journal = os.path.join(store, "journal")
    with place.daemon(store) as m:
        counters = mmap.mmap(-1, 8 * options.jobs)
        sizes = {"rss": m.memory, "journal": lambda: _journal(journal)}
        with Watch(**sizes) as writing:
            children = [_writer(m, pool[0], count, i, options.jobs, counters)
                        for i in range(options.jobs)]  # fmt: skip
            _wait(children, counters, options.jobs, count)
        cpu = m.cpu()
        with Watch(**sizes) as sealing:
            seconds = m.rest(options.rest, what=f"sealing of {count} files")
        made = {
            "seconds_writing": writing.seconds,
            "files_per_second": count / writing.seconds,
            "seconds_sealing": seconds,
            "cpu_writing": cpu,
            "cpu_sealing": m.cpu() - cpu,
            "max_rss": max(writing.max["rss"], sealing.max["rss"]),
            "max_journal": max(writing.max["journal"], sealing.max["journal"]),
        }
    print(
        f"  {count} files written in {time_text(writing.seconds)}"
        f" ({made['files_per_second']:.0f} files/s), sealed {time_text(seconds)} later;"
        f" processor time of the daemon {cpu:.1f} + {made['cpu_sealing']:.1f} s"
        f"\n    meanwhile at most: memory {size_text(made['max_rss'])},"
        f" journal {size_text(made['max_journal'])}",
        flush=True,
    )
    with open(done, "w"):
        return made


def _journal(directory):
    """Bytes on disk; cheaper than usage(), as it is asked for often."""
    total = 0
    for entry in os.scandir(directory):
        with contextlib.suppress(FileNotFoundError):
            total += entry.stat().st_blocks * 512
    return total


def _writer(m, pool, count, index, jobs, counters):
    """A child that writes every `jobs`-th directory; returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        files, done = SmallFiles(pool), 0
        for directory in range(index, count // DIRECTORY, jobs):
            path = m("cache", _category(directory))
            os.mkdir(path)
            for i in range(directory * DIRECTORY, (directory + 1) * DIRECTORY):
                fd = os.open(f"{path}/{i:07d}.txt", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                os.write(fd, files.content(i))
                os.close(fd)
                done += 1
                struct.pack_into("q", counters, 8 * index, done)
        code = 0
    except OSError as e:
        print(f"cannot write: {e}", flush=True)
    finally:
        os._exit(code)


def _wait(children, counters, jobs, count):
    failed = False
    with Progress("writing", count, "files") as progress:
        while children:
            pid, status = os.waitpid(children[0], os.WNOHANG)
            if pid:
                failed |= status != 0
                children.pop(0)
            progress.show(sum(struct.unpack_from(f"{jobs}q", counters)))
            time.sleep(0.01)
    if failed:
        raise Failure("the files could not be written")


# --- Using ----------------------------------------------------------------------------------------


def _opening(place, store):
    """From the start of a daemon to the first answer about a file; what an idle daemon takes."""
    known = f"cache/{_category(0)}/{7:07d}.txt"
    seconds = []
    for _ in range(3):
        drop_caches(store)
        with place.daemon(store, known) as m:
            seconds.append(m.opened)
    with place.daemon(store) as m:
        time.sleep(5)
        idle, high = m.memory(), m.memory("VmHWM")
    print(
        f"  opened in {time_text(statistics.median(seconds))} (median of 3, to a first stat);"
        f" idle memory {size_text(idle)}, {size_text(high)} at most since the start",
        flush=True,
    )
    return {"seconds": seconds, "idle_rss": idle, "idle_hwm": high}


def _walking(place, store, files):
    drop_caches(store)
    with place.daemon(store) as m:
        before = m.memory()
        cpu = m.cpu()
        with Watch(rss=m.memory) as cold:
            run("find", m.mnt, "-size", "+1")
        cpu = m.cpu() - cpu
        most, after = m.memory("VmHWM"), m.memory()
        with Watch(rss=m.memory) as warm:
            run("find", m.mnt, "-size", "+1")
    grown = (most - before) / files
    print("\n  find -size +1 over all:")
    table(
        ["", "time", "memory before", "at most", "after", "bytes a file"],
        [
            ["cold", time_text(cold.seconds), size_text(before), size_text(most)]
            + [size_text(after), f"{grown:.0f}"],
            ["again", time_text(warm.seconds), size_text(after), size_text(warm.max["rss"])]
            + ["", ""],
        ],
    )
    return {
        "seconds_cold": cold.seconds,
        "seconds_warm": warm.seconds,
        "cpu_cold": cpu,
        "bytes_a_file": grown,
        "rss_before": before,
        "rss_max": max(most, warm.max["rss"]),
        "rss_after": after,
    }


def _inventory(place, store):
    """`offload list`, with a daemon that has read nothing yet: a few files, and all of them."""
    rows, result = [], {}
    for words in ("-n 20", "-n 20 --sort size", "--sort used", "--json --sort size"):
        drop_caches(store)
        with place.daemon(store) as m:
            cpu = m.cpu()
            command = [OFFLOAD, "list", "--dir", m.mnt, *words.split()]
            tool = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            # What it used itself: wait4() tells the memory of this program, too.
            with Watch(rss=lambda: memory(tool.pid)) as running:
                _, status, usage = os.wait4(tool.pid, 0)
            if status:
                raise Failure(f"'offload list {words}' failed")
            result[words] = {
                "seconds": running.seconds,
                "cpu": m.cpu() - cpu,
                "cpu_tool": usage.ru_utime + usage.ru_stime,
                "max_rss": m.memory("VmHWM"),
                "max_rss_tool": running.max["rss"],
            }
        each = result[words]
        rows.append(
            [words, *(time_text(each[k]) for k in ("seconds", "cpu", "cpu_tool"))]
            + [size_text(each["max_rss"]), size_text(each["max_rss_tool"])]
        )
    print("\n  offload list, cold:")
    table(["", "time", "processor: daemon", "tool", "memory: daemon", "tool"], rows)
    return result


def _listing(place, large, small, files, few):
    """`ls -l` of a category, each time another one and a daemon that has read nothing yet."""
    times = {large: [], small: []}
    for number in range(1, ROUNDS + 1):
        for store, count in ((large, files), (small, few)):
            category = _category(number * (count // DIRECTORY - 1) // ROUNDS)
            drop_caches(store)
            with place.daemon(store) as m:
                times[store].append(run("ls", "-l", m("cache", category)))
    medians = {store: statistics.median(each) for store, each in times.items()}
    ratio = medians[large] / medians[small]
    print(
        f"\n  ls -l of {DIRECTORY} files, cold, median of {ROUNDS}: {time_text(medians[large])}"
        f" of {files}, {time_text(medians[small])} of {few}: {ratio:.2f} times",
        flush=True,
    )
    return {"large": times[large], "small": times[small], "ratio": ratio}
