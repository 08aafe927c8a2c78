# SPDX-License-Identifier: MIT
"""What search/<query> costs over archived tool results."""
import os
import statistics
import time

from corpus import add_variations, real_results
from measure import MIB, Place, heading, met, run, table, time_text

RUNS = 5
AIM = 0.05

# Words of every kind of result: some in nearly all of them, some in few, some in none.
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


def measure(options):
    with Place() as place:
        corpus = place.path("corpus")
        real_results(corpus)
        if options.repeat > 1:
            add_variations(corpus, options.repeat)
        files = sum(len(names) for _, _, names in os.walk(corpus))
        heading(f"search: {len(QUERIES)} queries over {files} archived results, {RUNS} times each")
        with place.daemon() as m:
            begin = time.monotonic()
            run("sh", "-c", 'cp -r "$1"/* "$2"', "sh", corpus, m("archive"))
            m.wait_indexed(files)
            indexing = time.monotonic() - begin
            figures = {query: _ask(m, query) for query in QUERIES}
            index = sum(
                os.stat(os.path.join(m.store, name)).st_blocks * 512
                for name in os.listdir(m.store)
                if name.startswith("search.db")
            )
    rows = [
        [query, hits, time_text(statistics.median(times)), time_text(max(times))]
        for query, (hits, times) in figures.items()
    ]
    table(["query", "hits", "median", "worst"], rows)
    median = statistics.median(t for _, times in figures.values() for t in times)
    worst = max(t for _, times in figures.values() for t in times)
    print(
        f"\n  median {time_text(median)}, worst {time_text(worst)};"
        f" written and indexed in {time_text(indexing)}; the index takes {index / MIB:.1f} MiB"
        f"\n  aim: none takes more than {time_text(AIM)}: {met(worst <= AIM)}"
    )
    return {
        "files": files,
        "median_ms": median * 1000,
        "worst_ms": worst * 1000,
        "seconds_indexing": indexing,
        "bytes_index": index,
        "hits": {query: hits for query, (hits, _) in figures.items()},
        "aims": {"worst": worst <= AIM},
    }


def _ask(m, query):
    """The number of hits, and the seconds of each run."""
    times, hits = [], 0
    for i in range(RUNS):
        # Blanks make it another name, for which no answer is kept.
        path = m("search", query.replace("/", "%2F") + " " * i)
        begin = time.perf_counter()
        with open(path, "rb") as f:
            hits = f.read().count(b"\n")
        times.append(time.perf_counter() - begin)
    return hits, times
