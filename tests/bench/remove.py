# SPDX-License-Identifier: MIT
"""Whether a store from which everything was removed is as small as one that was never used."""
import os
import random

from corpus import SmallFiles, soup
from measure import MIB, Place, Watch, heading, met, run, store_usage, table, time_text

AIM = MIB


def add_arguments(parser):
    parser.add_argument(
        "mib", nargs="?", type=int, default=50, metavar="MIB", help="how much to write (default 50)"
    )


def measure(options):
    with Place() as place:
        heading(f"remove: {options.mib} MiB of mixed files, written and all removed")
        empty = place.empty_store()
        with place.daemon() as m:
            count = _fill(m, options.mib * MIB)
            m.rest(options.rest, what="sealing")
            full = store_usage(m.store)
            with Watch(rss=m.memory) as watch:
                removing = run("rm", "-rf", m("cache", "mixed"), m("persistent", "mixed"))
                giving_back = m.rest(options.rest, what="space to be given back")
            left = store_usage(m.store)
        parts = ["packs", "index", "journal", "rest", "bytes"]
        table(
            [""] + parts,
            [
                [name] + [s[p] for p in parts]
                for name, s in (
                    ("an empty store", empty),
                    (f"with {count} files", full),
                    ("all removed", left),
                )
            ],
        )
        more = left["bytes"] - empty["bytes"]
        print(
            f"\n  removed in {time_text(removing)}, space back {time_text(giving_back)} later,"
            f" {watch.max['rss'] / MIB:.0f} MiB of memory at most"
            f"\n  aim: within {AIM} bytes of an empty store: {more} more, {met(more <= AIM)}"
        )
        return {
            "files": count,
            "empty": empty,
            "full": full,
            "left": left,
            "seconds_removing": removing,
            "seconds_giving_back": giving_back,
            "max_rss": watch.max["rss"],
            "aims": {"returned": more <= AIM},
        }


def _fill(m, size):
    """Half of it is small text files, the rest large files, some of them incompressible."""
    rng = random.Random(7)
    small = SmallFiles(soup(4 * MIB, 8))
    for top in ("cache", "persistent"):
        os.mkdir(m(top, "mixed"))
    written = count = 0
    while written < size:
        if written < size // 2:
            data = small.content(count)
        elif count % 3 == 0:
            data = rng.randbytes(rng.randrange(1, 3 * MIB))
        else:
            data = soup(rng.randrange(1, 3 * MIB), count)
        top = m(("cache", "persistent")[count % 2], "mixed", f"{count % 40:02d}")
        os.makedirs(top, exist_ok=True)
        with open(os.path.join(top, f"{count:06d}.txt"), "wb") as f:
            f.write(data)
        written += len(data)
        count += 1
    return count
