# SPDX-License-Identifier: MIT
"""A store that keeps little of its content on this disk: whether the limit holds; read times."""
import os
import random
import time

from measure import (
    GIB, KIB, MIB, Failure, Watch, drop_caches, heading, met, note, run, size_text, table,
    time_text,
)  # fmt: skip
from remote_load import Texts
from remote_service import (
    add_remote, is_complete, kind_of, kinds, push, service, state, wait_until,
)  # fmt: skip

PACK = 16 * MIB  # by which the limit may be exceeded
MEAN = 64 * KIB
RANDOM = 300  # number of files
RATIO = 0.32  # stored size of texts divided by their size, approximately
DIRECTORY = 500


def add_arguments(parser):
    parser.add_argument("--stored", type=int, default=2048, help="bound: MiB that are stored, about (2048)")
    parser.add_argument("--local", type=int, default=100, help="bound: MiB of it kept here (100)")


def measure(what, place, kind, options):
    heading(f"bound: {options.stored} MiB stored, {options.local} of them here, from {kind.name}")
    store, texts, rows, result = place.path("store"), Texts(MEAN), [], {}
    with service(place, kind, 6 * GIB) as s:
        add_remote(store, "bound")
        settings = ("gc_interval=86400000", "scrub=never", f"local_max={options.local}")

        count, ratio = 0, RATIO

        def phase(name, work):
            """Runs a phase with a daemon that has read nothing yet."""
            nonlocal ratio
            drop_caches()
            s.requests()
            note(name)
            with place.daemon(store, known="", options=settings) as m:
                with Watch(0.05, packs=lambda: _usage(store)) as watch:
                    read = work(m)
                    seconds = time.perf_counter() - watch._begin
                said = state(m)
                requests = s.requests()
                sent = sum(r["received"] for r in requests or [] if kind_of(r) == "PUT pack")
                if sent:
                    ratio = sent / read
            each = result[name] = {
                "seconds": seconds,
                "read": read,
                "brought": said["brought_bytes"],
                "max_packs": watch.max["packs"],
                "requests": kinds(requests or []),
                "ratio": ratio,
                "gets": kinds(requests).get("GET pack", 0) if requests else said["reads"],
            }
            need = read * ratio
            rows.append(
                [name, time_text(seconds), size_text(read), size_text(each["brought"])]
                + [f"{each['brought'] / need:.2f}", each["gets"], size_text(each["max_packs"])]
            )

        def write(m):
            nonlocal count
            count, written = _fill(m, texts, options.stored * MIB / RATIO)
            push(m)
            wait_until(lambda: is_complete(m), "the store rests")
            return written

        phase("write", write)
        phase("read and compare all", lambda m: _compare(m, texts, range(count)))
        numbers = random.Random(1).sample(range(count), min(RANDOM, count))
        phase("files at random", lambda m: _compare(m, texts, numbers))
        phase("rg over all", lambda m: _search(m, count, result["write"]["read"]))
    table(["", "time", "content", "brought", "of need", "GETs", "packs at most"], rows)
    worst = max(each["max_packs"] for each in result.values())
    kept = worst <= options.local * MIB + PACK
    print(
        f"  {count} files; all of them were read, and as written"
        f"\n  aim: packs take at most {options.local} MiB and one object: {met(kept)}"
        f" ({size_text(worst)})"
    )
    return {"files": count, "phases": result, "aims": {"bound": kept}}


def _usage(store):
    packs = os.path.join(store, "packs")
    return sum(entry.stat().st_blocks * 512 for entry in os.scandir(packs))


def _path(m, number):
    return m(f"cache/part-{number // DIRECTORY:05d}", f"{number:07d}.txt")


def _fill(m, texts, size):
    """Writes files of `size` bytes in total. Returns their number and their bytes."""
    count = written = 0
    while written < size:
        if count % DIRECTORY == 0:
            os.makedirs(os.path.dirname(_path(m, count)))
        text = texts.text(count)
        with open(_path(m, count), "wb") as f:
            f.write(text)
        written += len(text)
        count += 1
    return count, written


def _compare(m, texts, numbers):
    read = 0
    for number in numbers:
        with open(_path(m, number), "rb") as f:
            found = f.read()
        if found != texts.text(number):
            raise Failure(f"{_path(m, number)} is not what was written")
        read += len(found)
    return read


def _search(m, count, written):
    run("rg", "-a", "--no-ignore", "-c", f"^result {count - 1} of", m("cache"))
    return written
