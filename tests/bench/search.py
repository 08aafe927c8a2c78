# SPDX-License-Identifier: MIT
"""The cost of search/<query> over tool results in the archive or the working tier."""
import os
import statistics
import time

from corpus import add_variations, real_results
from measure import MIB, Place, heading, met, run, table, time_text

RUNS = 5
AIM, AIM_WORKING = 0.05, 0.3
JOINED = 20

# Words that occur in nearly all results, in few, or in none.
QUERIES = (
    "error",
    "the",
    "import",
    "result",
    "user",
    "flight price",
    "open error src/main.c",
    "gift card balance",
    "round nearest int",
    "file not found",
    '"not enough seats"',
    '"no such file"',
    '"payment method"',
    "get_user_details",
    "has_close_elements",
    "dt.timedelta(**{self.precision:",
    "reserv* econ*",
    "resrevation",
    "flight -price",
    "nothing has these words in it",
)


def add_arguments(parser):
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="so many times the corpus, varied"
    )
    parser.add_argument(
        "--working", action="store_true", help="in the working tier, 20 results a file"
    )


def measure(options):
    aim = AIM_WORKING if options.working else AIM
    with Place() as place:
        corpus = place.path("corpus")
        real_results(corpus)
        if options.repeat > 1:
            add_variations(corpus, options.repeat)
        if options.working:
            corpus = _joined(corpus, place.path("joined"))
        paths = [os.path.join(d, name) for d, _, names in os.walk(corpus) for name in names]
        size = sum(map(os.path.getsize, paths))
        where = "cache" if options.working else "archive"
        heading(
            f"search: {len(QUERIES)} queries over {len(paths)} files ({size / MIB:.1f} MiB)"
            f" in {where}/, {RUNS} times each"
        )
        with place.daemon() as m:
            begin = time.monotonic()
            run("sh", "-c", 'cp -r "$1"/* "$2"', "sh", corpus, m(where))
            if options.working:
                m.rest(1)
            else:
                m.wait_indexed(len(paths))
            indexing = time.monotonic() - begin
            figures = {query: ask(m, query) for query in QUERIES}
            index = sum(
                os.stat(os.path.join(m.store, name)).st_blocks * 512
                for name in os.listdir(m.store)
                if name.startswith("search.db")
            )
    rows = [
        [query, hits, time_text(statistics.median(times)), time_text(max(times))]
        for query, (hits, times, _) in figures.items()
    ]
    table(["query", "hits", "median", "worst"], rows)
    median = statistics.median(t for _, times, _ in figures.values() for t in times)
    worst = max(t for _, times, _ in figures.values() for t in times)
    cut = sum(cut for _, _, cut in figures.values())
    print(f"\n  median {time_text(median)}, worst {time_text(worst)}")
    if options.working:
        print(f"  {cut} of {RUNS * len(QUERIES)} answers were cut for want of time")
    else:
        print(
            f"  written and indexed in {time_text(indexing)}"
            f"; the index takes {index / MIB:.1f} MiB, {100 * index / size:.0f}% of the text"
        )
    print(f"  aim: none takes more than {time_text(aim)}: {met(worst <= aim)}")
    return {
        "files": len(paths),
        "bytes": size,
        "median_ms": median * 1000,
        "worst_ms": worst * 1000,
        "seconds_indexing": indexing,
        "bytes_index": index,
        "cut": cut,
        "hits": {query: hits for query, (hits, _, _) in figures.items()},
        "aims": {"worst": worst <= aim},
    }


def _joined(corpus, out):
    """Joins the files of the corpus to larger ones."""
    paths = sorted(os.path.join(d, name) for d, _, names in os.walk(corpus) for name in names)
    os.mkdir(out)
    for i in range(0, len(paths), JOINED):
        with open(os.path.join(out, f"{i // JOINED:06d}.txt"), "wb") as f:
            for path in paths[i : i + JOINED]:
                with open(path, "rb") as one:
                    f.write(one.read() + b"\n")
    return out


def ask(m, query):
    """Returns the number of hits, the seconds of each run, and how many answers were cut."""
    times, hits, cut = [], 0, 0
    for i in range(RUNS):
        # Each run adds a blank: for another name no answer is kept.
        path = m("search", query.replace("/", "%2F") + " " * i)
        begin = time.perf_counter()
        with open(path, "rb") as f:
            answer = f.read()
        times.append(time.perf_counter() - begin)
        hits = answer.count(b"\n")
        cut += b"\noffloadfs: " in b"\n" + answer
    return hits, times, cut
