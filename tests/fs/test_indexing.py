#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The search index follows the content of persistent/ and archive/ without delaying anything."""
import json
import os
import stat
import time

from files import log_text, noise, tool_results
from harness import SEAL_SOON, eventually, main, read, run, same, test, write

INDEX = "search.db"


def search(m):
    """Returns what .offload/status.json says about the index, up to a second old."""
    return json.loads(read(m(".offload/status.json")))["search"]


def wait_indexed(m, files):
    """Waits until `files` files are indexed and none is waiting."""

    def is_done():
        # A report that is requested more often is renewed less often.
        time.sleep(0.3)
        now = search(m)
        return now["caught_up"] and now["files"] == files

    eventually(is_done, f"{files} files are indexed", 60)


def make_some(m):
    """Creates two files that are kept and one that is not."""
    os.makedirs(m("cache/shell/run"))
    write(m("cache/shell/run/a"), b"alpha\n")
    write(m("cache/shell/run/b"), b"beta\n")
    write(m("cache/shell/c"), b"gamma\n")
    os.rename(m("cache/shell/run"), m("archive/run"))


@test
def what_is_promoted_is_indexed(case):
    with case.mount(SEAL_SOON) as m:
        make_some(m)
        wait_indexed(m, 2)
        assert search(m)["documents"] == 2 and search(m)["bytes"] > 0
        os.rename(m("cache/shell/c"), m("persistent/c"))
        wait_indexed(m, 3)
        os.rename(m("archive/run"), m("tasks/run"))
        wait_indexed(m, 1)
    assert stat.S_IMODE(os.stat(os.path.join(case.store, INDEX)).st_mode) == 0o600


SPARSE = {
    "nothing but a hole": lambda f: None,
    "text before it": lambda f: f.write(b"a needle in the beginning\n"),
    "data behind it": lambda f: (f.seek((1 << 40) - 100), f.write(noise(100, 7))),
}


@test(variants=SPARSE)
def a_large_hole_holds_up_nothing(case, fill):
    """The large file is found by its name, and its neighbours by their content."""
    with case.mount(SEAL_SOON) as m:
        os.mkdir(m("persistent/disks"))
        with open(m("persistent/disks/large.img"), "wb") as f:
            fill(f)
            f.truncate(1 << 40)
        write(m("persistent/disks/small"), b"a haystack\n")
        wait_indexed(m, 2)
        assert search(m)["documents"] == 1
        assert b"disks/small:1: a haystack" in read(m("search/haystack"))
        assert b"disks/large.img" in read(m("search/large.img"))
        write(m("persistent/disks/large.img"), b"a needle\n")  # now small
        wait_indexed(m, 2)
        assert b"disks/large.img:1: a needle" in read(m("search/needle"))


@test
def a_store_that_keeps_nothing_has_no_index(case):
    index = os.path.join(case.store, INDEX)
    with case.mount(SEAL_SOON) as m:
        m.wait_sealed(m.make("cache/shell/x", b"x\n"))
        wait_indexed(m, 0)
        m.remount()
        assert not os.path.exists(index)
        os.rename(m("cache/shell/x"), m("archive/x"))
        wait_indexed(m, 1)
        assert os.path.exists(index)
        m.remount()
        wait_indexed(m, 1)


@test
def many_results_are_indexed(case):
    source = case.path("results")
    count = tool_results(source)
    with case.mount(SEAL_SOON) as m:
        run("cp", "-r", source, m("cache/results"))
        os.rename(m("cache/results"), m("archive/results"))
        wait_indexed(m, count)


@test(variants={"unmounted": False, "killed": True})
def it_lasts(case, killed):
    m = case.mount(SEAL_SOON)
    make_some(m)
    wait_indexed(m, 2)
    write(m("archive/late"), log_text(3000, 1))
    if killed:
        m.kill9()
    else:
        m.unmount()
    with case.mount(SEAL_SOON) as m:
        wait_indexed(m, 3)


def spoil_all(path):
    write(path, noise(os.path.getsize(path), 2))


def spoil_behind_the_head(path):
    with open(path, "r+b") as f:
        f.seek(4096)
        f.write(noise(os.path.getsize(path) - 4096, 3))


def make_directory(path):
    os.unlink(path)
    os.mkdir(path)


@test(
    variants={
        "missing": os.unlink,
        "noise": spoil_all,
        "damaged": spoil_behind_the_head,
        "cut": lambda path: os.truncate(path, 5000),
        "empty": lambda path: os.truncate(path, 0),
    }
)
def an_index_that_is_no_good_is_built_anew(case, spoil):
    with case.mount(SEAL_SOON) as m:
        make_some(m)
        wait_indexed(m, 2)
    spoil(os.path.join(case.store, INDEX))
    with case.mount(SEAL_SOON) as m:
        same(read(m("archive/run/a")), b"alpha\n")
        write(m("persistent/d"), b"delta\n")
        wait_indexed(m, 3)


@test
def without_an_index_all_else_works(case):
    with case.mount(SEAL_SOON) as m:
        make_some(m)
        wait_indexed(m, 2)
    make_directory(os.path.join(case.store, INDEX))
    with case.mount(SEAL_SOON) as m:
        same(read(m("archive/run/a")), b"alpha\n")
        write(m("persistent/d"), b"delta\n")
        m.wait_sealed(m("persistent/d"))
        assert not search(m)["caught_up"]
    os.rmdir(os.path.join(case.store, INDEX))
    with case.mount(SEAL_SOON) as m:
        wait_indexed(m, 3)


main()
