# SPDX-License-Identifier: MIT
"""The space that tool results take: as blobs, as a stream, in other programs, in offloadfs."""
import itertools
import os
import shutil
import sqlite3
import subprocess
import time

import collect
from corpus import Corpus, add_variations, copy_directory, real_results
from measure import Failure, Place, heading, met, note, run, size_text, store_usage, table, usage

AIM_WORKING = 2.2  # times denser than a blob for each result
AIM_IDLE = 6  # times smaller than the results, content only
AIM_ARCHIVED = 2.5  # times the size of the densest stream
IDLE_HOURS = 3
SELDOM = "gc_interval=86400000"  # nothing expires meanwhile

BLOBS = "one zstd -6 blob a result"
UNIQUE = "the same, deduplicated"
STREAM = "tar | zstd -19 --long"
BORG = "borg, zstd,6"
WORKING = "offloadfs, working"
IDLE = "offloadfs, working, idle"
ARCHIVED = "offloadfs, archived"


def add_arguments(parser):
    parser.add_argument(
        "directory",
        nargs="?",
        metavar="DIR",
        help="what to store: category folders (default: the tool results of recorded agents)",
    )
    parser.add_argument(
        "--repeat",
        type=int,
        default=1,
        metavar="N",
        help="N times as much: the same results in N vocabularies",
    )


def measure(options):
    with Place() as place:
        corpus = _corpus(place, options)
        heading(
            f"storage: {corpus.files} files, {len(corpus.unique)} of them different,"
            f" {corpus.apparent} bytes"
        )
        sizes = {}
        note("compressing with other programs")
        _zstd(place, corpus, sizes)
        _borg(place, corpus, sizes)
        stores, empty = _offloadfs(place, corpus, options.rest)
        sizes.update({n: stores[n]["bytes"] for n in (WORKING, IDLE, ARCHIVED)})
        _print_sizes(corpus, sizes)
        _print_stores(corpus, {"an empty store": empty, **stores})
        return {
            "files": corpus.files,
            "unique": len(corpus.unique),
            "apparent": corpus.apparent,
            "bytes": sizes,
            "stores": {"empty": empty, **stores},
            "aims": _print_aims(corpus, sizes, stores, empty["bytes"]),
        }


def _corpus(place, options):
    root = place.path("corpus")
    if options.directory:
        if not os.path.isdir(options.directory):
            raise Failure(f"there is no folder '{options.directory}'")
        copy_directory(options.directory, root)
    else:
        real_results(root)
    if options.repeat > 1:
        note(f"making {options.repeat - 1} variations")
        add_variations(root, options.repeat)
    corpus = Corpus(root)
    if not corpus.apparent:
        raise Failure("there is nothing to store")
    return corpus


def _zstd(place, corpus, sizes):
    if not shutil.which("zstd"):
        note("left out zstd, which is not installed")
        return
    out = place.path("blobs")
    os.mkdir(out)
    run("zstd", "-q", "-6", "--no-check", "-r", corpus.root, "--output-dir-mirror", out)
    blobs = {}
    for folder, _, names in os.walk(out):
        for name in names:
            blobs[os.path.join(folder, name)] = os.path.getsize(os.path.join(folder, name))
    sizes[BLOBS] = sum(blobs.values())
    prefix = out + corpus.root
    if f"{prefix}{corpus.unique[0][len(corpus.root):]}.zst" not in blobs:
        prefix = out  # zstd leaves out the folders that were named
    sizes[UNIQUE] = sum(blobs[f"{prefix}{p[len(corpus.root):]}.zst"] for p in corpus.unique)
    shutil.rmtree(out)
    tar = subprocess.Popen(
        ["tar", "--sort=name", "--owner=0", "--group=0", "--mtime=@0", "-C", corpus.root]
        + ["-cf", "-", "."],
        stdout=subprocess.PIPE,
    )
    packed = subprocess.run(
        ["zstd", "-q", "-19", "--long", "-T1"], stdin=tar.stdout, stdout=subprocess.PIPE, check=True
    )
    tar.stdout.close()
    if tar.wait() != 0:
        raise Failure("tar failed")
    sizes[STREAM] = len(packed.stdout)


def _borg(place, corpus, sizes):
    if not shutil.which("borg"):
        note("left out borg, which is not installed")
        return
    repository = place.path("borg")
    environment = {
        **os.environ,
        "BORG_BASE_DIR": place.path("borg-home"),
        "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK": "yes",
    }
    run("borg", "init", "-e", "none", repository, env=environment)
    run("borg", "create", "-C", "zstd,6", repository + "::all", ".", env=environment,
        cwd=corpus.root)  # fmt: skip
    sizes[BORG] = usage(repository)[0]
    shutil.rmtree(repository)


def _offloadfs(place, corpus, rest):
    """Measures everything in cache/, unused for a while, in archive/, and an empty store."""
    empty = place.empty_store(mounted=False)
    stores = {}
    with place.daemon(options=(SELDOM,)) as m:
        for category in corpus.categories():
            os.mkdir(m("cache", category))
            run("cp", "-r", os.path.join(corpus.root, category, "."), m("cache", category))
        m.rest(rest, what="sealing", until=lambda: _is_sealed(m("cache")))
        mounted = store_usage(m.store)
        m.unmount()
        stores[WORKING] = store_usage(m.store)
        stores[WORKING]["tables"] = _tables(place, m.store)
        stores["the same, mounted"] = mounted  # with the reserve for a full disk
        _make_denser(m, place.path("clock"), rest)
        stores[IDLE] = store_usage(m.store)
        m.start()
        for category in corpus.categories():
            os.rename(m("cache", category), m("archive", category))
        m.rest(2 * rest, bound=600, what="the archive to be written")
        m.unmount()
        stores[ARCHIVED] = store_usage(m.store)
    return stores, empty


def _tables(place, store):
    """Returns the bytes of each table with its indexes, or {} if SQLite cannot tell."""
    copy = shutil.copy(os.path.join(store, "index.db"), place.path("index-copy.db"))
    sql = (
        "SELECT s.tbl_name, sum(d.pgsize) FROM dbstat d JOIN sqlite_schema s ON s.name = d.name"
        " GROUP BY 1 ORDER BY 2 DESC"
    )
    connection = sqlite3.connect(copy)
    try:
        return dict(connection.execute(sql).fetchall())
    except sqlite3.OperationalError:
        return {}
    finally:
        connection.close()


def _make_denser(m, clock, rest):
    """Lets hours pass, and then single minutes until the packs no longer change."""
    note("waiting for idle content to be made dense")
    collect._set_clock(clock, IDLE_HOURS * 60)
    os.environ["OFFLOADFS_CLOCK"] = clock
    try:
        m.start()
    finally:
        del os.environ["OFFLOADFS_CLOCK"]
    packs = os.path.join(m.store, "packs")
    state, since = usage(packs), time.monotonic()
    for minutes in itertools.count((IDLE_HOURS + 1) * 60):
        collect._set_clock(clock, minutes)
        time.sleep(0.25)
        if usage(packs) != state:
            state, since = usage(packs), time.monotonic()
        elif time.monotonic() - since > 2 * rest:
            break
    m.unmount()


def _is_sealed(root):
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            try:
                if os.path.getsize(path) and not os.getxattr(path, "user.offload.sha256"):
                    return False
            except OSError:
                return False
    return True


def _print_sizes(corpus, sizes):
    base = sizes.get(BLOBS)
    order = [BLOBS, UNIQUE, STREAM, BORG, WORKING, IDLE, ARCHIVED]
    table(
        ["", "bytes", "ratio", "against the first"],
        [
            [name, sizes[name], f"{corpus.apparent / sizes[name]:.2f}"]
            + [f"{base / sizes[name]:.2f}x" if base else "-"]
            for name in order
            if name in sizes
        ],
    )


def _print_stores(corpus, stores):
    parts = ["packs", "index", "journal", "rest", "bytes", "sizes"]
    print("\n  Bytes on disk of the stores, and their sums of file sizes:")
    table([""] + parts, [[name] + [s[p] for p in parts] for name, s in stores.items()])
    index = stores[ARCHIVED]["index"] - stores["an empty store"]["index"]
    print(f"\n  index, beyond an empty store's: {index / corpus.files:.0f} bytes a file, archived")
    tables = stores[WORKING]["tables"]
    if tables:
        said = [f"{t} {n / corpus.files:.0f}" for t, n in tables.items() if n > 4096]
        print(f"  bytes a file of its tables, with their indices, working: {', '.join(said)}")


def _print_aims(corpus, sizes, stores, empty):
    """Prints which aims are met, except those that cannot be judged."""
    aims = {}
    print()
    if BLOBS in sizes:
        times, net = sizes[BLOBS] / sizes[WORKING], sizes[BLOBS] / (sizes[WORKING] - empty)
        aims["working"] = times >= AIM_WORKING
        print(
            f"  aim: working at least {AIM_WORKING}x as dense as one blob a result:"
            f" {times:.2f}x, {met(aims['working'])} ({net:.2f}x without what an empty store takes)"
        )
    times = corpus.apparent / stores[IDLE]["packs"]
    aims["idle"] = times >= AIM_IDLE
    print(
        f"  aim: the content of what is idle {AIM_IDLE} times smaller than the results:"
        f" {times:.2f} ({corpus.apparent / stores[WORKING]['packs']:.2f} before),"
        f" {met(aims['idle'])}"
    )
    if STREAM in sizes:
        share, net = sizes[ARCHIVED] / sizes[STREAM], (sizes[ARCHIVED] - empty) / sizes[STREAM]
        aims["archived"] = share <= AIM_ARCHIVED
        print(
            f"  aim: archived at most {AIM_ARCHIVED:.0%} of the stream's size ({STREAM}):"
            f" {share:.0%}, {met(aims['archived'])} ({net:.0%} without what an empty store takes,"
            f" {stores[ARCHIVED]['packs'] / sizes[STREAM]:.0%} the content alone)"
        )
    return aims
