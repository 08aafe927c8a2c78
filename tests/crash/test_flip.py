#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One damaged byte anywhere in a store: reads are right or fail, and nothing crashes."""
import os

from flipping import FLIP, flip
from rounds import LIMIT, LONG, PART, PARTS, kept, seeded

from files import KIB, log_text, noise
from harness import ROOT, SEAL_NEVER, SEAL_SOON, SLOW, Skip, main, run, test, write

FILES = 9  # in the store
FEW = 800  # flips per store in an ordinary test run
# If set, the metadata from a damaged index is not compared.
NAMES_MAY_DIFFER = bool(os.environ.get("OFFLOADFS_FLIP_NAMES_MAY_DIFFER"))


def make_store(case, end):
    """
    Makes a store with all kinds of content in packs, files in the journal that were never sealed, a
    sealed file that was written to since, and an index, with its write-ahead log if the daemon was
    killed. Returns the directory of expected files.
    """
    text = log_text(3 * KIB, 1)
    sealed = {
        "cache/shell/text": text,
        "cache/shell/copy": text,
        "cache/shell/noise": noise(3 * KIB, 2),
        "cache/shell/empty": b"",
        "cache/shell/holes": bytes(100 * KIB) + b"island" + bytes(300 * KIB) + b"end\n",
        "persistent/notes/multi": (log_text(20 * KIB, 3) * 33)[: 650 * KIB],
    }
    drafts = {
        "cache/shell/draft": log_text(2 * KIB, 4),
        "tasks/t1/web/draft": noise(1 * KIB, 5),
        "cache/shell/copy": text[:1000] + b"written since" + text[1013:],
        "cache/shell/text": text + b"one more line\n",
    }
    m = case.mount(SEAL_SOON)
    m.wait_sealed(*[m.make(name, data) for name, data in sealed.items() if data])
    m.make("cache/shell/empty")
    m.remount()
    sealed["persistent/notes/late"] = log_text(1 * KIB, 6)
    m.wait_sealed(m.make("persistent/notes/late", sealed["persistent/notes/late"]))
    m.crash(SEAL_NEVER) if end == "killed" else m.remount(SEAL_NEVER)
    for name in ("cache/shell/draft", "tasks/t1/web/draft"):
        m.make(name, drafts[name])
    with open(m("cache/shell/copy"), "r+b") as f:
        f.seek(1000)
        f.write(b"written since")
    with open(m("cache/shell/text"), "ab") as f:
        f.write(b"one more line\n")
    # Unreadable records before one that knows of a sync are damage. After it, they could be a torn
    # tail.
    fd = os.open(m("cache/shell/text"), os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
    os.mkdir(m("tasks/t1/last"))
    if end == "killed":
        m.kill9()
        os.unlink(os.path.join(case.store, "reserve"))  # 8 MiB of zeros, removed by every start
    else:
        m.unmount()
    expected = case.path("expected")
    assert len({**sealed, **drafts}) == FILES
    for name, data in {**sealed, **drafts}.items():
        path = os.path.join(expected, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write(path, data)
    return expected


def size_of(store):
    return sum(os.path.getsize(os.path.join(d, n)) for d, _, names in os.walk(store) for n in names)


def show(store):
    for folder, _, names in os.walk(store):
        for name in names:
            path = os.path.join(folder, name)
            print(f"{os.path.getsize(path):8} {os.path.relpath(path, store)}")


@test(timeout=LIMIT, variants={"killed": "killed", "unmounted": "unmounted"})
def a_flipped_byte_is_noticed_or_does_not_matter(case, end):
    if not os.access(FLIP, os.X_OK):
        raise Skip(f"there is no {FLIP}: set OFFLOADFS_FLIP")
    rng = seeded("flip " + end)
    expected = make_store(case, end)
    show(case.store)
    total = 2 * size_of(case.store)
    every = PARTS if LONG else max(1, int(total * max(SLOW, 1) // FEW) | 1)
    start = PART if LONG else rng.randrange(every)
    command = [FLIP, "--every", str(every), "--start", str(start)]
    if NAMES_MAY_DIFFER:
        command.append("--names-may-differ")
    scratch = case.path("scratch")
    os.mkdir(scratch)
    if ROOT:  # keeps it in memory
        run("mount", "-t", "tmpfs", "scratch", scratch)
    wrong = case.path("wrong")
    with kept(case.store, expected, wrong):
        error, refused = flip(command + [case.store, expected, scratch + "/store"], wrong, FILES)
    assert error and refused, "the flips met no content or no index"


main()
