#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Slices: virtual read-only files with exactly some lines or bytes of a real file."""
import errno
import os
import random
import re
import stat

from files import MIB, STATES, lines, log_text, noise, split_lines
from harness import ROOT, SEAL_SOON, main, raises, read, run, same, test, write

NO_CAPS = ("slice_max_lines=0", "slice_max_bytes=0")
READ_ONLY = (errno.EROFS, errno.EEXIST) + (() if ROOT else (errno.EACCES,))


def sed(path, first, last="$"):
    return run(
        "sed", "-n", f"{first},{last}p", path, env={"LC_ALL": "C", "PATH": os.environ["PATH"]}
    ).stdout


def check(path, suffix, want):
    """Checks the exact bytes of a slice, and that stat() knew its size."""
    size = os.stat(path + suffix).st_size
    same(read(path + suffix), want, suffix)
    assert size == len(want), f"{suffix}: st_size {size}, {len(want)} bytes"


# --- The bytes ------------------------------------------------------------------------------------

CONTENTS = {
    "final-newline": b"".join(b"line %d\n" % i for i in range(1, 41)),
    "no-final-newline": b"".join(b"line %d\n" % i for i in range(1, 40)) + b"the last",
    "crlf": b"".join(b"line %d\r\n" % i for i in range(1, 41)),
    "carriage-returns": b"progress 1\rprogress 2\rprogress 3\n" * 30,
    "nul-bytes": b"".join(b"\0line\0%d\0\n" % i for i in range(1, 41)) + b"\0",
    "empty-lines": b"\n" * 40,
    "no-newline": b"x" * 500,
    "utf-8": "z\u00fcrich \u2028 \u0085 \U0001f600\n".encode() * 30,
    "vertical-tabs": b"a\vb\fc\x1cd\x1ee\n" * 30,
    "noise": noise(200000, 1),
    "megabytes": log_text(5 * MIB, 2),
}


@test(
    variants={
        f"{content}-{state}": (CONTENTS[content], STATES[state])
        for content in CONTENTS
        for state in STATES
        if content in ("no-final-newline", "nul-bytes", "noise", "megabytes")
        or state in ("draft", "stored")
    }
)
def line_slices_equal_sed(case, variant):
    data, state = variant
    total = len(split_lines(data))
    with state.mount(case, *NO_CAPS) as m:
        path = m.make("cache/shell/F", data)
        state.settle(m, path)
        for first, last in [
            (10, 20),
            (1, 1),
            (1, total),
            (total, total),
            (max(total - 3, 1), total + 50),
            (2, 2),
        ]:
            if first > total:
                continue
            want = sed(path, first, last)
            same(lines(data, first, last), want, "the test's own idea of lines")
            check(path, f":{first}-{last}", want)
            same(run("cat", f"{path}:{first}-{last}").stdout, want)


@test(variants=STATES)
def every_form_of_a_slice(case, state):
    data = b"".join(b"this is line %d\n" % i for i in range(1, 301))
    with state.mount(case) as m:
        path = m.make("cache/shell/F", data)
        state.settle(m, path)
        check(path, ":120", lines(data, 120, 120))
        check(path, ":120-180", lines(data, 120, 180))
        check(path, ":120-", lines(data, 120))
        check(path, ":-50", lines(data, 251))
        check(path, ":-1", lines(data, 300))
        check(path, ":-300", data)
        check(path, ":-5000", data)
        check(path, "#L120-L180", lines(data, 120, 180))
        check(path, "#L120", lines(data, 120, 120))
        check(path, "@L120-180", lines(data, 120, 180))
        check(path, ":b0-99", data[:100])
        check(path, ":b100-100", data[100:101])
        check(path, ":290-900", lines(data, 290))
        check(path, ":300-301", lines(data, 300))


@test(variants=STATES)
def byte_slices_clamp_at_the_end(case, state):
    data = noise(50000, 3)
    with state.mount(case) as m:
        path = m.make("cache/shell/F", data)
        state.settle(m, path)
        check(path, ":b0-0", data[:1])
        check(path, ":b0-49999", data)
        check(path, ":b0-50000", data)
        check(path, ":b49999-49999", data[-1:])
        check(path, ":b40000-99999999", data[40000:])
        check(path, ":b12345-23456", data[12345:23457])
        with raises(errno.ERANGE):
            read(path + ":b50000-50001")


@test(variants=STATES, timeout=120)
def ranges_all_over_a_file_of_many_chunks(case, state):
    data = log_text(12 * MIB, 4)
    parts = split_lines(data)
    rng = random.Random(5)
    with state.mount(case, *NO_CAPS) as m:
        path = m.make("cache/shell/F", data)
        state.settle(m, path)
        for _ in range(60):
            first = rng.randrange(1, len(parts) + 1)
            last = first + rng.choice([0, 1, 10, 500, 30000])
            check(path, f":{first}-{last}", b"".join(parts[first - 1 : last]))
        for near in range(MIB, 12 * MIB, MIB):  # likely chunk boundaries
            line = data.count(b"\n", 0, near) + 1
            check(path, f":{line - 1}-{line + 1}", b"".join(parts[line - 2 : line + 1]))
            check(path, f":b{near - 2}-{near + 2}", data[near - 2 : near + 3])
        check(path, ":-100", b"".join(parts[-100:]))
        check(path, f":{len(parts)}", parts[-1])


@test(variants=STATES)
def slices_around_an_empty_file(case, state):
    with state.mount(case) as m:
        path = m.make("cache/shell/F", b"")
        other = m.make("cache/shell/other", b"x")
        state.settle(m, other)
        for suffix in (":1", ":1-10", ":2-", "#L1", "@L1-5", ":b0-99"):
            with raises(errno.ERANGE):
                read(path + suffix)
        try:
            same(read(path + ":-50"), b"")
        except OSError as e:
            assert e.errno == errno.ERANGE, e


@test(variants=STATES)
def wrong_ranges(case, state):
    with state.mount(case) as m:
        path = m.make("cache/shell/F", b"line\n" * 30)
        state.settle(m, path)
        for suffix in (
            ":31",
            ":31-40",
            ":31-",
            ":1000000",
            "#L31",
            "#L31-L32",
            "@L31-32",
            ":b150-160",
            ":99999999999999999",
        ):
            with raises(errno.ERANGE):
                os.stat(path + suffix)
        for suffix in (
            ":20-10",
            ":0",
            ":0-5",
            ":1-0",
            "#L5-L3",
            "#L0",
            "@L5-3",
            "@L0-2",
            ":b9-3",
            ":-0",
            ":1-2-3",
        ):
            with raises(errno.EINVAL):
                os.stat(path + suffix)
        for suffix in (
            ":",
            ":-",
            ":x",
            ":1x",
            ":b",
            ":b-",
            ":bx-3",
            ":+1",
            ": 1",
            ":1,5",
            "#",
            "#L",
            "#Lx",
            "@",
            "@L",
            ":99999999999999999999999999",
            ":1-99999999999999999999999999999x",
        ):
            with raises(errno.EINVAL, errno.ENOENT, errno.ERANGE):
                os.stat(path + suffix)
        for base in ("cache/shell/missing", "cache/shell", "cache"):
            with raises(errno.ENOENT, errno.EISDIR):
                read(m(base) + ":1-5")


# --- The cap --------------------------------------------------------------------------------------


def cut_notice(got, want):
    """Splits a capped slice into content and the path in its notice (None: it was not capped)."""
    if got == want:
        return got, None
    at = got.rfind(b"[offloadfs:")
    assert at >= 0, f"neither the range nor a notice: {got[-200:]!r}"
    content, notice = got[:at], got[at:]
    assert b"\n" not in notice.rstrip(b"\n"), "the notice is one line"
    assert not content or content.endswith(b"\n"), "the notice has a line of its own"
    if not want.startswith(content):
        content = content[:-1]  # cut inside a line, which the notice terminated
    same(content, want[: len(content)], "the part before the notice")
    paths = re.findall(
        rb"[^\s\[\]()<>'\"`]+[:#@][bL]?\d+(?:-L?\d*)?", notice[len(b"[offloadfs:") :]
    )
    assert paths, f"the notice names no path: {notice!r}"
    return content, os.fsdecode(paths[-1])


def resolve(m, sliced, named):
    """Returns the file that a notice names: absolute, below the mountpoint, or beside the slice."""
    tries = [named, m(named.lstrip("/")), os.path.join(os.path.dirname(sliced), named)]
    base = re.compile("[:#@][^:#@]*$")
    return next(t for t in tries if os.path.isabs(t) and os.path.isfile(base.sub("", t)))


def follow(m, path, want):
    """Reads a slice and its continuations to the end; returns the pieces, in all `want`."""
    pieces = []
    whole = want
    while path:
        content, named = cut_notice(read(path), want)
        assert os.stat(path).st_size == len(read(path))
        path = named and resolve(m, path, named)
        if path and want[len(content) - 1 :].startswith(read(path)[:64]):
            content = content[
                :-1
            ]  # the line feed belongs to the notice, although the content has one here too
        assert content, "each piece brings something"
        pieces.append(content)
        want = want[len(content) :]
    same(b"".join(pieces), whole, "the pieces together")
    return pieces


@test(variants=STATES)
def the_cap_of_lines(case, state):
    data = b"".join(b"%d\n" % i for i in range(1, 5001))
    with state.mount(case) as m:
        path = m.make("cache/shell/F", data)
        state.settle(m, path)
        check(path, ":1-2000", lines(data, 1, 2000))
        check(path, ":3001-5000", lines(data, 3001, 5000))
        pieces = follow(m, path + ":1-5000", data)
        assert [p.count(b"\n") for p in pieces] == [2000, 2000, 1000]
        follow(m, path + ":1-2001", lines(data, 1, 2001))
        follow(m, path + ":100-", lines(data, 100))
        follow(m, path + ":-4500", lines(data, 501))
        follow(m, path + "#L10-L4000", lines(data, 10, 4000))


@test(variants=STATES)
def the_cap_of_bytes(case, state):
    data = log_text(400000, 6)
    with state.mount(case) as m:
        path = m.make("cache/shell/F", data)
        state.settle(m, path)
        for suffix, want in (
            (":1-1500", lines(data, 1, 1500)),
            (":100-", lines(data, 100)),
            (":b1000-300000", data[1000:300001]),
        ):
            pieces = follow(m, path + suffix, want)
            assert len(pieces) > 1 and all(len(p) <= 65536 for p in pieces)
            assert all(len(p) > 30000 for p in pieces[:-1]), [len(p) for p in pieces]


@test(variants=STATES)
def caps_are_options(case, state):
    data = log_text(20000, 7)
    with state.mount(case, "slice_max_lines=7", "slice_max_bytes=300") as m:
        path = m.make("cache/shell/F", data)
        state.settle(m, path)
        pieces = follow(m, path + ":1-60", lines(data, 1, 60))
        assert len(pieces) > 8 and all(len(p) <= 300 and p.count(b"\n") <= 7 for p in pieces)


@test(variants=STATES, timeout=120)
def one_line_of_five_megabytes(case, state):
    data = (
        b"".join(b"before %d\n" % i for i in range(1, 11))
        + b"0123456789" * (MIB // 2)
        + b"\n"
        + b"".join(b"after %d\n" % i for i in range(1, 11))
    )
    with state.mount(case) as m:
        path = m.make("cache/shell/F", data)
        state.settle(m, path)
        check(path, ":1-10", lines(data, 1, 10))
        check(path, ":12-21", lines(data, 12, 21))
        check(path, ":-10", lines(data, 12))
        content, named = cut_notice(read(path + ":9-13"), lines(data, 9, 13))
        assert named and 0 < len(content) <= 65536
        pieces = follow(m, path + ":11", lines(data, 11, 11))
        assert len(pieces) >= 80
        m.remount(*m.options, *NO_CAPS)
        for first, last in ((9, 13), (11, 11), (1, 21), (11, 12)):
            check(path, f":{first}-{last}", lines(data, first, last))


@test
def a_capped_slice_can_be_continued_through_its_ref(case):
    data = log_text(200000, 8)
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/shell/F", data)
        ref = os.getxattr(path, "user.offload.ref").decode()
        m.wait_sealed(path)
        follow(m, m("refs", ref) + ":1-", data)


# --- Names ----------------------------------------------------------------------------------------


@test
def a_literal_name_wins(case):
    with case.mount() as m:
        literal = m.make("cache/shell/log:1-2", b"the literal file\n")
        base = m.make("cache/shell/log", b"one\ntwo\nthree\n")
        for _ in range(2):
            same(read(literal), b"the literal file\n")
            check(base, ":1-1", b"one\n")
            m.remount()
        check(literal, ":1", b"the literal file\n")
        os.unlink(literal)
        check(base, ":1-2", b"one\ntwo\n")


@test
def a_slice_comes_and_goes_with_its_base(case):
    with case.mount() as m:
        os.makedirs(m("cache/shell"))
        path = m("cache/shell/late")
        with raises(errno.ENOENT):
            read(path + ":1")
        write(path, b"now\n")
        check(path, ":1", b"now\n")
        os.rename(path, m("cache/shell/moved"))
        with raises(errno.ENOENT):
            read(path + ":1")
        check(m("cache/shell/moved"), ":1", b"now\n")
        os.unlink(m("cache/shell/moved"))
        with raises(errno.ENOENT):
            read(m("cache/shell/moved:1"))


@test
def slices_are_not_listed(case):
    with case.mount() as m:
        path = m.make("cache/shell/F", b"a\nb\n")
        read(path + ":1")
        read(path + ":b0-1")
        assert os.listdir(m("cache/shell")) == ["F"]
        assert run("grep", "-rc", "", m("cache/shell")).stdout.count(b"\n") == 1


@test(variants=STATES)
def slices_cannot_be_written_made_or_removed(case, state):
    with state.mount(case) as m:
        path = m.make("cache/shell/F", b"a\nb\nc\n")
        other = m.make("cache/shell/other", b"other")
        state.settle(m, path, other)
        taken = path + ":1-2"
        st = os.stat(taken)
        assert stat.S_ISREG(st.st_mode) and not st.st_mode & 0o222
        for how in ("r+b", "ab", "wb", "xb"):
            with raises(*READ_ONLY):
                with open(taken, how, buffering=0) as f:
                    f.write(b"no")
        for function, *arguments in (
            (os.truncate, taken, 0),
            (os.mkdir, taken),
            (os.symlink, "x", taken),
            (os.link, other, taken),
            (os.rename, other, taken),
            (os.mkfifo, taken),
        ):
            with raises(*READ_ONLY):
                function(*arguments)
        for function, *arguments in (
            (os.unlink, taken),
            (os.rename, taken, m("cache/shell/new")),
            (os.chmod, taken, 0o644),
            (os.link, taken, m("cache/shell/new")),
            (os.utime, taken),
        ):
            with raises(errno.EROFS, errno.EPERM, errno.EACCES, errno.ENOENT, errno.EXDEV):
                function(*arguments)
        same(read(path), b"a\nb\nc\n")
        same(read(taken), b"a\nb\n")
        assert sorted(os.listdir(m("cache/shell"))) == ["F", "other"]


@test
def slices_work_in_every_tier_and_under_any_name(case):
    data = b"1\n2\n3\n"
    names = [
        "cache/shell/F",
        "tasks/t/web/F",
        "persistent/notes/F",
        "archive/notes/F",
        "at-the-root",
        "cache/shell/with space",
        "cache/shell/a:b",
        "cache/shell/C#",
        "cache/shell/me@home",
        "cache/shell/9:5-3",
        "cache/shell/caf\u00e9",
        "cache/shell/" + "n" * 240,
    ]
    with case.mount(SEAL_SOON) as m:
        for name in names:
            path = m.make(name, data)
            check(path, ":2-3", b"2\n3\n")
            check(path, "#L2", b"2\n")
            check(path, "@L1-2", b"1\n2\n")
            check(path, ":b2-3", b"2\n")


# --- Changes --------------------------------------------------------------------------------------


@test(variants=STATES)
def slices_show_what_the_file_is_now(case, state):
    with state.mount(case) as m:
        path = m.make("cache/shell/F", b"one\ntwo\nthree\n")
        state.settle(m, path)
        check(path, ":1-2", b"one\ntwo\n")
        check(path, ":-1", b"three\n")
        with open(path, "ab") as f:
            f.write(b"four\n")
        check(path, ":-1", b"four\n")
        check(path, ":3-9", b"three\nfour\n")
        with open(path, "r+b") as f:
            f.write(b"ONE")
        check(path, ":1-2", b"ONE\ntwo\n")
        state.settle(m, path)
        check(path, ":1-2", b"ONE\ntwo\n")
        os.truncate(path, 5)
        check(path, ":1-2", b"ONE\nt")
        with raises(errno.ERANGE):
            read(path + ":3")
        os.rename(m.make("cache/shell/new", b"replaced\n"), path)
        check(path, ":1-2", b"replaced\n")


@test
def slices_grow_with_a_log(case):
    with case.mount(SEAL_SOON, *NO_CAPS) as m:
        path = m.make("cache/shell/log", b"")
        data = b""
        for i in range(1, 201):
            line = b"line %d of the log\n" % i
            with open(path, "ab") as f:
                f.write(line)
            data += line
            check(path, f":{i}", line)
            check(path, ":-3", b"".join(split_lines(data)[-3:]))
            if i % 50 == 0:
                m.wait_sealed(path)
        check(path, ":1-", data)


@test(variants=STATES)
def slices_of_a_sparse_file(case, state):
    with state.mount(case, *NO_CAPS) as m:
        path = m.make("cache/shell/F", b"head\n")
        with open(path, "r+b") as f:
            f.seek(3 * MIB)
            f.write(b"middle\ntail\n")
        data = b"head\n".ljust(3 * MIB, b"\0") + b"middle\ntail\n"
        state.settle(m, path)
        check(path, ":1", b"head\n")
        check(path, ":3", b"tail\n")
        check(path, ":2", lines(data, 2, 2))
        check(path, ":-1", b"tail\n")


main()
