# SPDX-License-Identifier: MIT
"""The cost of searching the whole mount with its views, compared with cache/ and with a disk."""
import os

from corpus import SmallFiles, soup
from measure import MIB, Place, heading, met, run, table, time_text

RUNS = 5
AIM = 3


def add_arguments(parser):
    parser.add_argument(
        "files", nargs="?", type=int, default=20000, metavar="N", help="how many (default 20000)"
    )


def measure(options):
    with Place() as place:
        heading(f"walk: grep -rn over {options.files} small files, warm, the best of {RUNS} runs")
        disk = place.path("disk")
        _fill(disk, options.files)
        with place.daemon() as m:
            _fill(m("cache"), options.files)
            m.rest(options.rest, what="sealing")
            folders = {"the disk": disk, "cache/": m("cache"), "the mount": m.mnt}
            best = dict.fromkeys(folders, float("inf"))
            for _ in range(RUNS):
                for name, folder in folders.items():
                    best[name] = min(best[name], _search(folder))
    table(["", "time"], [[name, time_text(seconds)] for name, seconds in best.items()])
    ratio = best["the mount"] / best["cache/"]
    print(
        f"\n  the mount is {best['cache/'] / best['the disk']:.2f} times the disk for cache/"
        f"\n  aim: all of it, views included, within {AIM} times cache/: {ratio:.2f},"
        f" {met(ratio <= AIM)}"
    )
    return {"files": options.files, "seconds": best, "aims": {"views": ratio <= AIM}}


def _fill(root, files):
    small = SmallFiles(soup(4 * MIB, 8))
    for i in range(files):
        folder = os.path.join(root, f"category{i % 20}", f"{i // 1000:03d}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"{i:06d}.txt"), "wb") as f:
            f.write(small.content(i))


def _search(folder):
    return run("sh", "-c", 'grep -rn "no such words in here" "$1" || [ $? = 1 ]', "sh", folder)
