#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
One flipped bit in a journal that was never synced, followed by sound records: reads are right or
fail, and no other record is lost.
"""
import glob
import os

from flipping import FLIP, flip
from rounds import LIMIT, LONG, PART, PARTS, kept, seeded

from clock import Clock
from files import KIB, log_text, noise
from harness import OFFLOAD, ROOT, Mount, SEAL_NEVER, SLOW, Skip, main, run, test, write

BITS = 10000 if LONG else 400  # how many are flipped


def make_store(case):
    """Makes a journal with all kinds of records. Returns the directory of expected files."""
    clock = Clock(case)
    m = clock.start(Mount(case, case.store, case.mnt, (SEAL_NEVER, "grace=0")))
    files = {
        "persistent/kept/draft": log_text(KIB, 4),
        "persistent/kept/renamed": log_text(KIB // 2, 5),
        "persistent/kept/linked": log_text(KIB // 2, 6),
        "persistent/web/noise": noise(KIB, 7),
    }
    gone = m.make("cache/shell/gone", b"expires\n")
    os.setxattr(gone, "user.offload.ttl", b"1s")
    m.make("persistent/kept/before", files["persistent/kept/renamed"])
    os.rename(m("persistent/kept/before"), m("persistent/kept/renamed"))
    m.make("persistent/kept/first", files["persistent/kept/linked"])
    os.link(m("persistent/kept/first"), m("persistent/kept/linked"))
    os.unlink(m("persistent/kept/first"))
    for name in ("persistent/kept/draft", "persistent/web/noise"):
        m.make(name, files[name])
    os.setxattr(m("persistent/kept/draft"), "user.offload.title", b"a title")
    os.setxattr(m("persistent/kept/draft"), "user.offload.tags", b"a,b")
    os.removexattr(m("persistent/kept/draft"), "user.offload.tags")
    os.chmod(m("persistent/kept/draft"), 0o640)
    # A file is cut, extended, partly zeroed and copied.
    os.truncate(m("persistent/kept/draft"), 900)
    os.truncate(m("persistent/kept/draft"), 1100)
    files["persistent/kept/draft"] = files["persistent/kept/draft"][:900] + bytes(200)
    run("fallocate", "-z", "-o", "100", "-l", "50", m("persistent/kept/draft"))
    data = files["persistent/kept/draft"]
    files["persistent/kept/draft"] = data[:100] + bytes(50) + data[150:]
    run("cp", "--reflink=auto", m("persistent/kept/draft"), m("persistent/kept/copy"))
    files["persistent/kept/copy"] = files["persistent/kept/draft"]
    for _ in range(3):  # expiry, then a probation of up to an hour
        clock.pass_time(3600)
        run(OFFLOAD, "gc", "--dir", case.mnt)
    assert not os.path.exists(gone)
    os.mkdir(m("persistent/last"))
    m.kill9()
    os.unlink(os.path.join(case.store, "reserve"))
    expected = case.path("expected")
    for name, data in files.items():
        path = os.path.join(expected, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write(path, data)
    return expected, len(files)


@test(timeout=LIMIT)
def a_flipped_bit_of_the_journal_loses_no_other_record(case):
    if not os.access(FLIP, os.X_OK):
        raise Skip(f"there is no {FLIP}: set OFFLOADFS_FLIP")
    expected, files = make_store(case)
    (segment,) = glob.glob(os.path.join(case.store, "journal", "*.wal"))
    used = len(open(segment, "rb").read().rstrip(b"\0"))
    every = max(1, int(8 * used * max(SLOW, 1)) // BITS | 1) * (PARTS if LONG else 1)
    start = seeded("bits").randrange(every) if not LONG else PART * (every // PARTS)
    scratch = case.path("scratch")
    os.mkdir(scratch)
    if ROOT:  # keeps it in memory
        run("mount", "-t", "tmpfs", "scratch", scratch)
    only = os.path.relpath(segment, case.store)
    command = [FLIP, "--bits", "--only", only, "--every", str(every), "--start", str(start)]
    wrong = case.path("wrong")
    with kept(case.store, expected, wrong):
        error, refused = flip(
            command + [case.store, expected, scratch + "/store"], wrong, files
        )
    assert error and not refused, f"{error} errors on reading, {refused} on opening"


main()
