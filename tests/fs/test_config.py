#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Configuration of the daemon and the tool by STORE/config.ini, -o config=FILE and mount options; an
invalid one prevents starting.
"""
import calendar
import errno
import json
import os
import re
import stat
import time

from harness import (
    OFFLOAD,
    OFFLOADFS,
    SLOW,
    main,
    mount_points,
    raises,
    read,
    run,
    same,
    test,
    write,
)

TEN_LINES = b"".join(b"line %d\n" % n for n in range(1, 11))


def configure(case, text, name="config.ini"):
    """Writes a configuration file into the store, which it creates if missing; returns the path."""
    os.makedirs(case.store, mode=0o700, exist_ok=True)
    path = os.path.join(case.store, name)
    write(path, text)
    return path


def lines_of_a_slice(m):
    """Returns how many lines a slice through the mount may have."""
    path = m.make("cache/shell/ten", TEN_LINES)
    return len([line for line in read(path + ":1-10").splitlines() if line.startswith(b"line ")])


def refuse(case, *options, code=1):
    """Starts the daemon, which must refuse in one line and mount nothing; returns the line."""
    arguments = [word for option in options for word in ("-o", option)]
    done = run(OFFLOADFS, *arguments, case.store, case.mnt, check=False, timeout=30 * SLOW)
    said = done.stderr.decode()
    assert done.returncode == code, f"exit {done.returncode}: {said}"
    assert re.fullmatch(r"offloadfs: [^\n]+\n", said), f"not one line of ours: {said!r}"
    assert case.mnt not in mount_points()
    return said


@test
def a_file_in_a_store_that_is_not_there_yet(case):
    configure(case, b"# by hand\nslice_max_lines = 3\n")
    with case.mount() as m:
        assert lines_of_a_slice(m) == 3


@test
def the_file_counts_from_the_next_start_on(case):
    with case.mount() as m:
        assert lines_of_a_slice(m) == 10
        path = configure(case, b"slice_max_lines = 3\r\n")
        assert lines_of_a_slice(m) == 10
        os.chmod(path, 0o400)
        m.remount()
        assert lines_of_a_slice(m) == 3
        m.crash()
        assert lines_of_a_slice(m) == 3
    same(read(path), b"slice_max_lines = 3\r\n")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o400


@test
def an_option_wins_over_the_file(case):
    configure(case, b"slice_max_lines = 3\nslice_max_bytes = 1M\n")
    with case.mount("slice_max_lines=5") as m:
        assert lines_of_a_slice(m) == 5


@test
def of_options_the_last_one_counts(case):
    with case.mount("slice_max_lines=5", "slice_max_lines=unlimited", "slice_max_lines=4") as m:
        assert lines_of_a_slice(m) == 4


@test
def another_file_takes_the_place_of_that_of_the_store(case):
    configure(case, b"this one is not looked at\n")
    write(case.path("other.ini"), b"slice_max_lines = 2\n")
    run(OFFLOADFS, "-o", "config=other.ini", case.store, case.mnt, cwd=case.dir)
    path = os.path.join(case.mnt, "ten")
    write(path, TEN_LINES)
    assert read(path + ":1-10").startswith(b"line 1\nline 2\n[offloadfs:"), read(path + ":1-10")
    run("fusermount3", "-u", case.mnt)


def lifetime(path):
    """Returns a file's time to live as shown, and the days until it expires (or "never")."""
    ttl = os.getxattr(path, "user.offload.ttl").decode()
    expires = os.getxattr(path, "user.offload.expires").decode()
    if expires == "never":
        return ttl, expires
    until = calendar.timegm(time.strptime(expires, "%Y-%m-%dT%H:%M:%SZ")) - time.time()
    return ttl, round(until / 86400)


@test
def a_category_of_any_name_has_a_lifetime(case):
    """The category applies in cache/, in tasks and as a label, also to the tool without a mount."""
    configure(
        case,
        b"ttl_web = 2d\n"
        b"[category analysis]\nttl = 30d ; what was found out\n"
        b"[category two words]\nttl = never\n"
        b"[category shell]\nttl = 3d\n",
    )
    with case.mount() as m:
        same(lifetime(m.make("cache/analysis/a", b"a")), ("30d", 30))
        same(lifetime(m.make("tasks/t/analysis/a", b"a")), ("30d", 30))
        same(lifetime(m.make("cache/two words/a", b"a")), ("never", "never"))
        same(lifetime(m.make("cache/shell/a", b"a")), ("3d", 3))
        same(lifetime(m.make("cache/web/a", b"a")), ("2d", 2))
        same(lifetime(m.make("cache/elsewhere/a", b"a")), ("1d", 1))
        label = m.make("cache/notes/a", b"a")
        os.setxattr(label, "user.offload.category", b"analysis")
        same(lifetime(label), ("30d", 30))
        readme = read(m("README.md")).decode()
        assert "shell 3d, search 6h, web 2d" in readme, readme
        assert "analysis 30d" in readme, readme
        assert len(readme.splitlines()) <= 40, readme
    done = run(OFFLOAD, "show", "--store", case.store, "--json", "cache/analysis/a")
    same(json.loads(done.stdout)["ttl"], "30d")


@test
def the_configuration_in_effect_can_be_used_as_one(case):
    configure(case, b"[category analysis]\nttl = 30d\n[category web]\nttl = 1h\n")
    with case.mount("ttl_shell=5m") as m:
        text = read(m(".offload/config.ini"))
    assert b"/config.ini:2\nttl = 2592000\n" in text, text
    assert b"mount option\nttl_shell = 300\n" in text, text
    assert b"/config.ini:4\nttl_web = 3600\n" in text, text
    configure(case, text)
    with case.mount() as m:
        again = read(m(".offload/config.ini"))
        same(lifetime(m.make("cache/analysis/a", b"a")), ("30d", 30))
    set_by = re.compile(rb"# Set by: .*")
    same(set_by.sub(b"", again), set_by.sub(b"", text))


@test
def the_transport_may_stand_in_the_file(case):
    configure(case, b"io_uring = off\n")
    with case.mount() as m:
        assert lines_of_a_slice(m) == 10


WRONG = {
    "misspelt": (b"\nseal_dely = 5\n", ":2: unknown key 'seal_dely': did you mean 'seal_delay'?"),
    "unknown": (b"colour = red\n", ":1: unknown key 'colour': the keys are seal_delay, "),
    "value": (
        b"# x\nseal_delay = soon\n",
        ":2: seal_delay = 'soon': must be a number of milliseconds from 0 to 3600000",
    ),
    "twice": (b"scrub=1\nscrub=2\n", ":2: 'scrub' is set twice, first in line 1"),
    "section": (b"[offloadfs]\nscrub=1\n", ":1: unknown section [offloadfs]: the sections are [promote]"),
    "category": (
        b"[category analysis]\nttl = 30 days\n",
        ":2: ttl = '30 days': must be a number of seconds from 1 to ",
    ),
    "no-category": (b"ttl = 30d\n", ":1: 'ttl' belongs in [category NAME]"),
    "two-lifetimes": (
        b"ttl_web = 1h\n[category web]\nttl = 2h\n",
        ":3: 'ttl_web' is set twice, first in line 1",
    ),
    "syntax": (b"scrub\n", ":1: not a line of the form KEY = VALUE"),
    "binary": (b"\x7fELF\0\0\n", ":1: a NUL byte"),
    "long": (b"scrub = " + b"1" * 300, ":1: scrub = '1111"),
}


@test(variants=WRONG)
def a_wrong_file_is_refused_by_daemon_and_tool(case, wrong):
    text, words = wrong
    with case.mount() as m:
        m.make("cache/shell/kept", b"kept")
    path = configure(case, text)
    said = refuse(case)
    assert f"{path}{words}" in said, said
    done = run(OFFLOAD, "verify", "--store", case.store, check=False)
    assert done.returncode == 2 and f"offload: verify: {path}{words}" in done.stderr.decode(), done
    os.unlink(path)
    with case.mount() as m:
        same(read(m("cache/shell/kept")), b"kept")


@test
def a_wrong_file_makes_no_store(case):
    path = configure(case, b"seal_delay = -1\n")
    refuse(case)
    assert os.listdir(case.store) == [os.path.basename(path)]


@test
def another_file_that_is_missing_or_none(case):
    missing = case.path("missing.ini")
    assert f"cannot read '{missing}': No such file" in refuse(case, f"config={missing}")
    assert f"'{case.mnt}' is not a regular file" in refuse(case, f"config={case.mnt}")


@test
def the_tool_minds_the_file(case):
    """Without a mount, slices are capped by the file's settings, too."""
    with case.mount() as m:
        m.make("cache/shell/ten", TEN_LINES)
    configure(case, b"slice_max_lines = 3\n")
    done = run(OFFLOAD, "slice", "--store", case.store, "cache/shell/ten", "1-10")
    assert done.stdout.startswith(b"line 1\nline 2\nline 3\n[offloadfs:"), done.stdout


OPTIONS = {
    "value": ("seal_delay=x", "option 'seal_delay=x': must be a number of milliseconds from 0"),
    "misspelt": ("seal_dely=5", "unknown option 'seal_dely': did you mean 'seal_delay'?"),
    "no-value": ("scrub", "option 'scrub' needs a value: scrub=VALUE"),
    "no-file": ("config", "option 'config' needs a value: config=VALUE"),
    "word": ("io_uring=maybe", "option 'io_uring=maybe': must be one of auto, on, off"),
    "foreign": ("frobnicate=5", "frobnicate=5"),
}


@test(variants=OPTIONS)
def a_wrong_option(case, wrong):
    option, words = wrong
    said = refuse(case, option, code=2)
    assert words in said, said


@test
def options_that_are_taken(case):
    taken = ("seal_delay=1s", "cache_max=8", "scrub=never", "io_uring=auto")
    with case.mount(*taken, "no_io_uring", "noexec") as m:
        assert lines_of_a_slice(m) == 10
        with raises(errno.EACCES):
            os.execv(m.make("cache/shell/program", b"#!/bin/true\n"), ["program"])


@test
def help_lists_every_key(case):
    said = run(OFFLOADFS, "--help").stdout.decode()
    for key in ("seal_delay=MS", "journal_max=MIB", "cache_max=MIB", "scrub=MS", "config=FILE"):
        assert key in said, said
    assert max(map(len, said.splitlines())) <= 100, said


main()
