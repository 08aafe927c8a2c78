# SPDX-License-Identifier: MIT
"""A month of a busy agent, with a clock that is moved: what remains, beside a fresh store."""
import contextlib
import os
import random
import sqlite3
import statistics
import time

import collect
from corpus import SmallFiles, soup
from measure import (
    MIB, Place, Progress, drop_caches, heading, met, note, run, size_text, store_usage, table,
    time_text,
)  # fmt: skip

AIM = 1.3
ROUNDS = 3
MADE = 2000  # files created to measure the speed
# Files created per hour, by category. Their lifetimes range from half an hour to unlimited.
SHARES = {"shell": 50, "search": 20, "file_read": 15, "web": 10, "notes": 4, "reports": 1}
KEPT = ("persistent", "archive")
OPTIONS = ("gc_interval=1000", "grace=0", "seal_delay=50", "tombstones=7d")


def add_arguments(parser):
    parser.add_argument(
        "--days", type=int, default=30, metavar="N", help="how long it lives (default 30)"
    )
    parser.add_argument(
        "--rate", type=int, default=200, metavar="N", help="files an hour (default 200)"
    )


def measure(options):
    with Place() as place:
        heading(f"age: {options.days} days with {options.rate} files an hour")
        clock = place.path("clock")
        collect._set_clock(clock, 0)
        os.environ["OFFLOADFS_CLOCK"] = clock
        try:
            with place.daemon(options=OPTIONS) as m:
                lived = _live(m, clock, options)
                with place.daemon() as fresh:
                    copied = _copy(m, fresh)
                    fresh.rest(options.rest)
                    stores = {"aged": m.store, "fresh": fresh.store}
                collect._wait(m, "the aged store", _is_sealed)
        finally:
            del os.environ["OFFLOADFS_CLOCK"]
        return {**lived, "left": copied, **_compare(place, stores, options)}


def _is_sealed(said):
    return not said["unsealed"]["files"]


def _live(m, clock, options):
    rng, small = random.Random(6), SmallFiles(soup(4 * MIB, 6))
    alive, made, moved, read = [], 0, 0, 0
    names, weights = zip(*SHARES.items())
    hours = options.days * 24
    with Progress("living", hours, "hours") as progress:
        for hour in range(hours):
            for category in rng.choices(names, weights, k=options.rate):
                folder = m("cache", category, f"{hour // 24:03d}")
                os.makedirs(folder, exist_ok=True)
                alive.append(os.path.join(folder, f"{made:07d}.txt"))
                with open(alive[-1], "wb") as f:
                    f.write(small.content(made))
                made += 1
            for path in rng.sample(alive, min(len(alive), options.rate // 4)):
                with contextlib.suppress(FileNotFoundError), open(path, "rb") as f:
                    read += len(f.read()) > 0
            for tier in KEPT:
                path = rng.choice(alive)
                folder = m(tier, os.path.basename(os.path.dirname(os.path.dirname(path))))
                os.makedirs(folder, exist_ok=True)
                with contextlib.suppress(FileNotFoundError):
                    os.rename(path, os.path.join(folder, os.path.basename(path)))
                    moved += 1
            collect._set_clock(clock, (hour + 1) * 60)
            collect._look(m)
            # Files of the last two days may still exist.
            del alive[: -48 * options.rate]
            progress.show(hour)
    print(f"  {made} files made, {read} read again, {moved} kept for good", flush=True)
    return {"made": made, "read": read, "moved": moved}


def _copy(m, fresh):
    """Copies everything that is left into a fresh store. Returns the number of files."""
    note("copying what is left")
    for tier in ("cache", *KEPT):
        run("sh", "-c", 'cp -a "$1"/. "$2"', "sh", m(tier), fresh(tier))
    return sum(len(names) for tier in ("cache", *KEPT) for _, _, names in os.walk(fresh(tier)))


def _compare(place, stores, options):
    sizes = {}
    for name, store in stores.items():
        # The store's clock does not follow the machine's clock back, so nothing expires.
        with place.daemon(store, options=("gc_interval=86400000",)) as m:
            m.rest(options.rest)
        sizes[name] = store_usage(store)
        sizes[name]["tables"] = _tables(store)
    times = {name: {} for name in stores}
    for number in range(ROUNDS):
        for name, store in stores.items():
            drop_caches(store)
            with place.daemon(store, options=("gc_interval=86400000",)) as m:
                tops = [m(tier) for tier in ("cache", *KEPT)]
                took = {
                    "opening": m.opened,
                    "find -size +1, cold": run("find", *tops, "-size", "+1"),
                    "reading all, cold": run("sh", "-c", 'cat "$@"', "sh", *_files(tops)),
                    "creating": _create(m("cache", f"new-{number}")),
                }
            for what, seconds in took.items():
                times[name].setdefault(what, []).append(seconds)
    rows, ratios = [], {}
    tombstones = sizes["aged"]["tables"].get("tombstone", 0)
    for part in ("packs", "index"):
        aged, fresh = (sizes[name][part] for name in ("aged", "fresh"))
        if part == "index":
            aged -= tombstones
        ratios[part] = aged / fresh
        rows.append([part, size_text(aged), size_text(fresh), f"{ratios[part]:.2f}"])
    for what in times["aged"]:
        aged, fresh = (statistics.median(times[name][what]) for name in ("aged", "fresh"))
        ratios[what] = aged / fresh
        rows.append([what, time_text(aged), time_text(fresh), f"{ratios[what]:.2f}"])
    table(["", "aged", "fresh", "ratio"], rows)
    worst = max(ratios.values())
    print(
        f"\n  tombstones: {size_text(tombstones)} of the index, not counted above"
        f"\n  aim: within {AIM} times a fresh store: {worst:.2f}, {met(worst <= AIM)}"
    )
    return {"sizes": sizes, "seconds": times, "ratios": ratios, "aims": {"ratio": worst <= AIM}}


def _tables(store):
    """Returns the bytes of the index by table and of its free pages, if Python's SQLite can."""
    with contextlib.closing(sqlite3.connect(f"file:{store}/index.db?immutable=1", uri=True)) as db:
        try:
            tables = dict(db.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"))
        except sqlite3.OperationalError:
            return {}
        (free,) = db.execute("SELECT freelist_count * page_size FROM pragma_freelist_count, "
                             "pragma_page_size").fetchone()  # fmt: skip
    return {**tables, "free": free}


def _files(tops):
    return [os.path.join(d, name) for top in tops for d, _, names in os.walk(top) for name in names]


def _create(folder):
    small = SmallFiles(soup(MIB, 7))
    contents = [small.content(i) for i in range(MADE)]
    os.mkdir(folder)
    begin = time.perf_counter()
    for i, content in enumerate(contents):
        with open(os.path.join(folder, f"{i:04d}"), "wb", buffering=0) as f:
            f.write(content)
    return time.perf_counter() - begin
