# SPDX-License-Identifier: MIT
"""Time and memory of collecting among many evictable files."""
import json
import os
import shutil

import collect
import scale
from measure import MIB, Place, Watch, heading, note, size_text, table, time_text

DAYS = 31  # how far the clock is moved, beyond the lifetime of the files
SELDOM = "gc_interval=86400000"
GRACE = "grace=100d"
SHARE = 10  # one in this many files is removed


def add_arguments(parser):
    scale.add_arguments(parser)
    parser.add_argument(
        "--tombstones",
        type=int,
        default=10_000,
        metavar="N",
        help="of so many files that went before (default 10000)",
    )


def measure(options):
    files = max(options.files // scale.DIRECTORY, 2) * scale.DIRECTORY
    with Place() as place:
        base = os.path.abspath(options.store) if options.store else place.dir
        os.makedirs(base, exist_ok=True)
        heading(f"gc: {files} evictable files, {options.tombstones} tombstones")
        made = scale._store(base, files, options)
        scale._make(place, made, files, options, [])
        store = place.path("store")
        shutil.copytree(made, store)
        clock = place.path("clock")
        collect._set_clock(clock, 0)
        os.environ["OFFLOADFS_CLOCK"] = clock
        try:
            return _measure(place, store, clock, files, options)
        finally:
            del os.environ["OFFLOADFS_CLOCK"]


def _measure(place, store, clock, files, options):
    rows, result = [], {"files": files, "tombstones": options.tombstones, "left": files}
    minutes = DAYS * 24 * 60
    with place.daemon(store, options=(SELDOM, GRACE, "working_keep=1048576G")) as m:
        if options.tombstones:
            note(f"making {options.tombstones} tombstones")
            collect._fill(m("tasks", "gone"), options.tombstones, 8)
            os.setxattr(m("tasks", "gone"), "user.offload.state", b"done")
            collect._look(m)
        collect._set_clock(clock, minutes)
        for name, how in (("dry run", b"dry-run"), ("nothing goes", b"run")):
            rows.append(_run(m, name, how, result))
        with open(m(".offload/status.json")) as f:
            stored = json.load(f)["lifecycle"]["working_stored"]
    keep = max(stored * (SHARE - 1) // SHARE // MIB, 1)
    with place.daemon(store, options=(SELDOM, GRACE, f"working_keep={keep}")) as m:
        rows.append(_run(m, "put on probation", b"run", result))
        minutes += 2
        # The collector may see the clock before it is asked, and remove files of its own accord.
        rows.append(
            _run(m, "a tenth goes", b"run", result, lambda: collect._set_clock(clock, minutes))
        )
    table(["collection", "files", "removed", "time", "memory before", "at most"], rows)
    return result


def _run(m, name, how, result, first=lambda: None):
    note(name)
    before = m.memory()
    with Watch(rss=m.memory) as watch:
        first()
        said = collect._look(m, how)
    left = said["looked"] - said["removed"]
    files, result["left"] = result["left"], left
    result[name] = {
        "looked": files,
        "removed": files - left,
        "seconds": watch.seconds,
        "rss_before": before,
        "max_rss": watch.max["rss"],
    }
    return [
        name,
        files,
        files - left,
        time_text(watch.seconds),
        size_text(before),
        size_text(watch.max["rss"]),
    ]
