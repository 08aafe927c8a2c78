# SPDX-License-Identifier: MIT
"""A store of millions of files: creating it, opening it, and working on all or part of it."""
import contextlib
import mmap
import os
import shutil
import statistics
import struct
import subprocess
import time

import collect
import large
import search
from corpus import SmallFiles, soup
from harness import OFFLOAD, SOURCE_ROOT
from measure import (
    MIB, Failure, Place, Progress, Watch, drop_caches, heading, note, run, size_text, store_usage,
    memory, table, time_text,
)  # fmt: skip

DIRECTORY = 1000  # files per directory
SMALL = 10_000  # files in the store for comparison
ROUNDS = 5
WIDE = 100_000  # files in a single directory
DIRECT = 128  # minimum size of --direct files in bytes, and a quarter of their maximum
FILL = os.path.abspath(os.environ.get("OFFLOADFS_FILL") or SOURCE_ROOT / "build" / "fill")
SELDOM = "gc_interval=86400000"
QUERIES = ("result 77 of", "nothing has these words in it", "category:category-00001")


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
        "--direct",
        action="store_true",
        help="make files of 128 to 512 bytes, without a mount: several times as quick",
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
        heading(f"scale: {files} files of {'128 to 512 bytes' if options.direct else '1 to 4 KB'}")
        result = {"files": files, "small": small}
        pool = []
        for count in sorted({files, small}):
            made = _make(place, _store(base, count, options), count, options, pool)
            if count == files and made:
                result["making"] = made
        store = _store(base, files, options)
        result["store"] = store_usage(store)
        print(
            f"  store: {size_text(result['store']['bytes'])}, of it packs"
            f" {size_text(result['store']['packs'])}, index {size_text(result['store']['index'])}"
            f" ({result['store']['index'] / files:.0f} bytes a file)",
            flush=True,
        )
        result["opening"] = _opening(place, store, options)
        result["walking"] = _walking(place, store, files)
        result["inventory"] = _inventory(place, store)
        result["searching"] = _searching(place, store)
        result["collecting"] = _collecting(place, store)
        result["rss"] = {}
        large._verify(place, store, result)
        if small < files:
            few = _store(base, small, options)
            result["listing"] = _listing(place, store, few, files, small)
        result["wide"] = _wide(place, min(WIDE, files), options)
        return result


def _store(base, count, options):
    return os.path.join(base, f"{count}-{'direct' if options.direct else 'files'}")


def _category(number):
    return f"category-{number:05d}"


# --- Creating -------------------------------------------------------------------------------------


def _make(place, store, count, options, pool):
    """Makes a store. Returns what was measured, or None if the store existed."""
    done = store + ".done"
    if os.path.exists(done):
        note(f"using {store} again")
        return None
    shutil.rmtree(store, ignore_errors=True)
    if not pool:
        note("making text")
        pool.append(soup(64 * MIB if count > SMALL or options.files > SMALL else 4 * MIB, 2))
    if options.direct:
        made = _make_direct(place, store, count, pool[0])
        with open(done, "w"):
            return made
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


def _make_direct(place, store, count, pool):
    with open(place.path("pool"), "wb") as f:
        f.write(pool)
    numbers = ("0", str(count), str(DIRECTORY), str(DIRECT))
    with subprocess.Popen([FILL, store, f.name, "cache", "category-", *numbers]) as fill:
        with Watch(rss=lambda: memory(fill.pid)) as watch:
            if fill.wait():
                raise Failure("the files could not be made")
    print(
        f"  {count} files made and sealed in {time_text(watch.seconds)}, memory"
        f" {size_text(watch.max['rss'])} at most",
        flush=True,
    )
    return {"files_per_second": count / watch.seconds, "max_rss": watch.max["rss"]}


def _journal(directory):
    """Returns bytes on disk. Cheaper than usage(), as it is called often."""
    total = 0
    for entry in os.scandir(directory):
        with contextlib.suppress(FileNotFoundError):
            total += entry.stat().st_blocks * 512
    return total


def _writer(m, pool, count, index, jobs, counters):
    """Forks a child that writes every `jobs`-th directory. Returns its process id."""
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


def _opening(place, store, options):
    """Measures from the start of a daemon to its first answer about a file, and an idle daemon."""
    known = f"cache/{_category(0)}/{7:07d}.txt"
    seconds = []
    for _ in range(3):
        drop_caches(store)
        with place.daemon(store, known) as m:
            seconds.append(m.opened)
    # Reading frames back takes 2% of a processor for an hour if they have 2,000 files each.
    with place.daemon(store, options=("scrub=never",)) as m:
        # The first look for expired files begins after five seconds.
        time.sleep(6)
        m.rest(options.rest)
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
    """`offload list` of a few and of all files, with a daemon that has read nothing yet."""
    rows, result = [], {}
    for words in ("-n 20", "-n 20 --sort size", "--sort used", "--json --sort size"):
        drop_caches(store)
        with place.daemon(store) as m:
            cpu = m.cpu()
            command = [OFFLOAD, "list", "--dir", m.mnt, *words.split()]
            tool = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            # Only the tool's own memory: that of wait4() includes this program's.
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


def _searching(place, store):
    """Each search reads the working tier for as long as search_time allows."""
    rows, result = [], {}
    with place.daemon(store, options=(SELDOM,)) as m:
        for query in QUERIES:
            _, times, cut = search.ask(m, query)
            result[query] = times
            first, median = time_text(times[0]), time_text(statistics.median(times))
            rows.append([query, first, median, "yes" if cut else "no"])
        most = m.memory("VmHWM")
    print("\n  search:")
    table(["query", "first", f"median of {search.RUNS}", "cut for want of time"], rows)
    print(f"  memory {size_text(most)} at most", flush=True)
    return {"seconds": result, "max_rss": most}


def _collecting(place, store):
    drop_caches(store)
    with place.daemon(store, options=(SELDOM,)) as m:
        cpu = m.cpu()
        with Watch() as watch:
            said = collect._look(m, b"dry-run")
        cpu, most = m.cpu() - cpu, m.memory("VmHWM")
    print(
        f"\n  a dry run of a collection over {said['looked']} files, cold:"
        f" {time_text(watch.seconds)}, processor time {time_text(cpu)},"
        f" memory {size_text(most)} at most",
        flush=True,
    )
    return {"seconds": watch.seconds, "cpu": cpu, "max_rss": most}


def _wide(place, files, options):
    """Compares many files in one directory with the same in directories of a thousand."""
    small, rows, result = SmallFiles(soup(4 * MIB, 5)), [], {}
    for name, each in (("one directory", files), (f"{DIRECTORY} in each", DIRECTORY)):
        times = {}
        with place.daemon() as m:
            begin = time.perf_counter()
            for i in range(files):
                if i % each == 0:
                    os.mkdir(m("cache", f"wide-{i // each}"))
                path = m("cache", f"wide-{i // each}", f"{i:06d}.txt")
                fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                os.write(fd, small.content(i))
                os.close(fd)
            times["create"] = time.perf_counter() - begin
            m.rest(options.rest)
            store = m.store
        drop_caches(store)
        with place.daemon(store, options=(SELDOM,)) as m:
            times["ls -lR, cold"] = run("ls", "-lR", m("cache"))
            times["find, warm"] = run("find", m("cache"))
            times["rm -r"] = run("sh", "-c", 'rm -r "$1"/wide-*', "sh", m("cache"))
            most = m.memory("VmHWM")
        shutil.rmtree(store)
        result[name] = {**times, "max_rss": most}
        rows.append([name, *map(time_text, times.values()), size_text(most)])
    print(f"\n  {files} files:")
    table(["", *times, "memory"], rows)
    return result


def _listing(place, large, small, files, few):
    """`ls -l` of a different category each time, with a daemon that has read nothing yet."""
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
