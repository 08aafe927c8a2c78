#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
grep and rg over a whole mount find each file once. The `path:line` that they print, also extended
to `path:line-LINE2`, can be read as a path.
"""
import os
import random
import shutil

from files import log_text, split_lines, tool_results
from harness import SEAL_NEVER, SEAL_SOON, Skip, main, run, same, test, xattr

WORDS = [b"error", b"result", b"file"]
SLICE_MAX = 60000  # bytes; slices are cut beyond this

# Names that could be misread. A name that reads as a slice of another precedes it.
NAMES = [
    "cache/odd/a:12:7",
    "cache/odd/a:12",
    "cache/odd/a",
    "cache/odd/with space",
    "cache/odd/two: colons: here",
    "cache/odd/x#L3",
    "cache/odd/x@L3-7",
    "cache/odd/ends-5",
    "cache/odd/ends:-5",
    "cache/odd/7",
    "cache/odd/b0-99",
    "cache/odd/info",
    "cache/odd/-dash",
    "cache/odd/caf\u00e9 \U0001f600",
    "cache/odd/trailing ",
    "cache/odd/quote'\"s",
    "cache/odd/back\\slash",
    "cache/odd/[glob]*?",
    "cache/od:3/in a dir",
    "tasks/t:1/web/x",
    "at the root:5",
]


def fill(case, m):
    """Creates tool results in every tier and under all kinds of names; returns {name: content}."""
    rng = random.Random(11)
    results = case.path("results")
    tool_results(results)
    found = [
        os.path.join(folder, name) for folder, _, names in os.walk(results) for name in names
    ]
    tops = ["cache", "tasks/t1", "tasks/t2/deep", "persistent", "archive", "own/nested/dirs"]
    want = {}
    for i, path in enumerate(rng.sample(sorted(found), 300)):
        with open(path, "rb") as f:
            data = f.read()
        if b"\0" not in data:
            want[f"{tops[i % len(tops)]}/{os.path.basename(os.path.dirname(path))}/{i:03d}"] = data
    for i, name in enumerate(NAMES):
        want[name] = b"before\n" * (i % 4) + b"an error, a result and a file\n" + log_text(900, i)
    for name, data in want.items():
        m.make(name, data)
    # A second name counts as a file; tags and promotion change nothing.
    for old, new in (("cache/odd/a", "persistent/second"), ("cache/odd/x#L3", "cache/odd/other")):
        os.link(m(old), m(new))
        want[new] = want[old]
    for i, name in enumerate(sorted(want)):
        if i % 5 == 0:
            os.setxattr(m(name), "user.offload.tags", b"red,blue")
            os.setxattr(m(name), "user.offload.category", b"another")
    for i, name in enumerate(sorted(n for n in want if n.startswith("cache/") and "odd" not in n)):
        if i % 4 == 0:
            os.makedirs(m("archive/kept"), exist_ok=True)
            os.rename(m(name), m(f"archive/kept/{i}"))
            want[f"archive/kept/{i}"] = want.pop(name)
    return want


def hits(want, word, prefix=""):
    """Returns the expected hits in order: (name, line number, line)."""
    return sorted(
        (os.fsencode(prefix + name), number, line.rstrip(b"\n"))
        for name, data in want.items()
        for number, line in enumerate(split_lines(data), 1)
        if word in line
    )


def parse(out):
    """Returns the hits in the output of a search that ends names with NUL."""
    found = []
    for line in out.split(b"\n")[:-1]:
        name, _, rest = line.partition(b"\0")
        number, _, text = rest.partition(b":")
        found.append((name, int(number), text))
    return sorted(found)


def search(*command, cwd=None):
    """Returns the output of a search, which may find nothing but must not complain."""
    env = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = run(*command, check=False, cwd=cwd, env=env)
    assert done.returncode in (0, 1) and done.stderr == b"", f"{command}: {done.stderr!r}"
    return done.stdout


def same_hits(got, want):
    twice = sorted({h[:2] for h in got if got.count(h) > 1})[:5] if len(got) < 5000 else []
    assert not twice, f"found twice: {twice}"
    missing, extra = sorted(set(want) - set(got)), sorted(set(got) - set(want))
    assert not missing and not extra and len(got) == len(want), (
        f"{len(got)} hits, expected {len(want)}; missing {missing[:3]}, too many {extra[:3]}"
    )


def in_files(found, prefix):
    """Drops hits in README.md and .offload/, which contain such words themselves."""
    own = tuple(os.fsencode(prefix + name) for name in ("README.md", ".offload/"))
    return [h for h in found if not h[0].startswith(own)]


# --- Each file once -------------------------------------------------------------------------------


@test(variants={"drafts": SEAL_NEVER, "sealed": SEAL_SOON}, timeout=180)
def grep_meets_each_file_once(case, delay):
    with case.mount(delay) as m:
        want = fill(case, m)
        if delay == SEAL_SOON:
            m.wait_sealed(*[m(n) for n in want if os.path.getsize(m(n))])
            m.remount()
        for word in WORDS:
            out = search("grep", "-rnaZ", word, m.mnt)
            same_hits(in_files(parse(out), m.mnt + "/"), hits(want, word, m.mnt + "/"))
            out = search("grep", "-rnaZ", word, ".", cwd=m.mnt)
            same_hits(in_files(parse(out), "./"), hits(want, word, "./"))
        # As a model would call it, without helpful options; only the lines are counted.
        out = search("grep", "-rn", "an error, a result and a file", m.mnt)
        assert out.count(b"\n") == len(hits(want, b"an error, a result and a file"))


@test(timeout=180)
def rg_meets_each_file_once(case):
    if not shutil.which("rg"):
        raise Skip("there is no rg")
    with case.mount() as m:
        want = fill(case, m)
        for word in WORDS:
            for options in (("-a",), ("-uuu", "-a")):
                out = search("rg", "-n0", "--no-heading", *options, word, m.mnt)
                same_hits(in_files(parse(out), m.mnt + "/"), hits(want, word, m.mnt + "/"))
        out = search("rg", "-n", "an error, a result and a file", m.mnt)
        assert out.count(b"\n") == len(hits(want, b"an error, a result and a file"))
        out = search("rg", "-uuu", "-l", "HELP offloadfs_calls_total", m.mnt)
        assert out == os.fsencode(m(".offload/metrics\n")), out


# --- Reading around a hit -------------------------------------------------------------------------


def read_around(out, cwd):
    """
    Reads, with cat, each `path:line` that grep printed and two more lines. Each line of output must
    begin with path and number. Returns the number of lines read.
    """
    count = 0
    for raw, (name, number, text) in out:
        printed = name + b":%d" % number
        assert raw.startswith(printed + b":"), (raw[:200], printed)
        if len(text) > SLICE_MAX:
            continue
        got = run("cat", "--", os.fsdecode(printed + b"-%d" % (number + 2)), cwd=cwd).stdout
        assert got.split(b"\n")[0] == text, f"{printed}: {got[:200]!r}, expected {text[:200]!r}"
        count += 1
    return count


def printed_hits(word, *places, cwd, most=None, made_up=True):
    """
    Returns each line that grep prints for a reader, with its parsed parts; at most `most`, chosen
    at random.
    """
    options = ("-rnaH",) if made_up else ("-rnaH", "--exclude-dir=.offload")
    raw = search("grep", *options, word, *places, cwd=cwd).split(b"\n")[:-1]
    parts = search("grep", "-Z", *options, word, *places, cwd=cwd).split(b"\n")[:-1]
    assert len(raw) == len(parts)
    found = [(line, parse(part + b"\n")[0]) for line, part in zip(raw, parts)]
    if most and len(found) > most:
        found = random.Random(3).sample(found, most)
    return found


@test(variants={"drafts": SEAL_NEVER, "sealed": SEAL_SOON}, timeout=240)
def a_hit_is_a_path_that_can_be_read_around(case, delay):
    with case.mount(delay) as m:
        want = fill(case, m)
        if delay == SEAL_SOON:
            m.wait_sealed(*[m(n) for n in want if os.path.getsize(m(n))])
        word = "an error, a result and a file"
        for places, cwd in (((m.mnt,), "/"), ((".",), m.mnt), (("cache/odd",), m.mnt)):
            found = printed_hits(word, *places, cwd=cwd)
            assert read_around(found, cwd) >= 16
        for place, cwd in ((m.mnt, "/"), (".", m.mnt), ("./cache/../persistent/.", m.mnt)):
            for each in WORDS:
                # Counters in .offload/ may change between search and reading.
                read_around(printed_hits(each, place, cwd=cwd, most=60, made_up=False), cwd)


@test
def hits_in_what_is_made_up_can_be_read_around(case):
    with case.mount() as m:
        m.make("cache/shell/x", b"refs\n")
        for word, name in (
            ("Offloaded content", "README.md"),
            ("refs", "README.md"),
            ("version", ".offload/status.json"),
            ("mountpoint", ".offload/status.json"),
            ("TYPE offloadfs_", ".offload/metrics"),
        ):
            for place, cwd in ((m.mnt, "/"), (".", m.mnt), (m(name), "/"), (name, m.mnt)):
                found = printed_hits(word, place, cwd=cwd)
                there = [f for f in found if f[1][0].endswith(os.fsencode(name))]
                assert there, f"{word} was not found in {name}"
                assert read_around(found, cwd) == len(found)


@test
def hits_through_a_ref_or_a_view_can_be_read_around(case):
    with case.mount() as m:
        data = log_text(4000, 1) + b"the needle\nbehind it\n"
        path = m.make("cache/shell/a:12", data)
        ref = m("refs", xattr(path, "ref"))
        view = m("views/recent", f"{xattr(path, 'ref')}-a:12")
        number = data.count(b"\n") - 1
        for name in (ref, view):
            out = search("grep", "-nH", "needle", name)
            same(out, b"%s:%d:the needle\n" % (os.fsencode(name), number))
            same(run("cat", f"{name}:{number}-{number + 5}").stdout, b"the needle\nbehind it\n")


main()
