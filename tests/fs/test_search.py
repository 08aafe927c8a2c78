#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""search/<query> and `offload search`."""
import errno
import itertools
import json
import os
import pathlib
import re
import stat
import time

from files import MIB, tool_results
from harness import (
    OFFLOAD,
    SEAL_NEVER,
    SEAL_SOON,
    SOURCE_ROOT,
    Skip,
    eventually,
    in_processes,
    main,
    raises,
    read,
    run,
    test,
    xattr,
)

_calls = itertools.count(1)


def search(m, query):
    """
    The lines of the answer. Answers are kept by name for a moment, and blanks make another name of
    the same query.
    """
    blanks = f"{next(_calls):b}".replace("0", " ").replace("1", "\t")
    name = query.replace("/", "%2F") + blanks
    return os.fsdecode(read(m("search", name))).splitlines()


def paths(m, query):
    """The paths of the answer, with their slices."""
    return [line.split(": ")[0] for line in search(m, query)]


def finds(m, query, *want):
    """Waits until the answer has these paths, in any order."""
    eventually(
        lambda: sorted(paths(m, query)) == sorted(want),
        f"'{query}' finds {want}; it finds {search(m, query)}",
    )


def finds_in_order(m, query, *want):
    eventually(
        lambda: paths(m, query) == list(want),
        f"'{query}' finds {want}; it finds {search(m, query)}",
    )


def set_label(path, name, value):
    os.setxattr(path, "user.offload." + name, value.encode())


def numbered(count, **lines):
    """So many lines; line_7="x" gives line 7 another text."""
    texts = [lines.get(f"line_{i}", f"this is nothing {i}") for i in range(1, count + 1)]
    return "".join(t + "\n" for t in texts).encode()


# --- The node -------------------------------------------------------------------------------------


@test
def it_is_a_directory_that_lists_nothing(case):
    with case.mount(SEAL_SOON) as m:
        assert "search" in os.listdir(m.mnt)
        assert os.listdir(m("search")) == []
        st = os.stat(m("search"))
        assert stat.S_IMODE(st.st_mode) == 0o500 and stat.S_ISDIR(st.st_mode)
        # Whatever is asked for is there.
        with raises(errno.EEXIST):
            os.mkdir(m("search/x"))
        for work in (
            lambda: os.unlink(m("search/x")),
            lambda: os.rmdir(m("search")),
            lambda: os.rename(m("search"), m("elsewhere")),
            lambda: os.rename(m.make("cache/x"), m("search/x")),
        ):
            with raises(errno.EROFS, errno.EBUSY, errno.ENOTEMPTY):
                work()


@test
def an_answer_is_a_file_of_exact_size(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/notes/a.txt", numbered(20, line_9="the needle is here"))
        finds(m, "needle", "archive/notes/a.txt:9")
        st = os.stat(m("search/needle"))
        text = read(m("search/needle"))
        assert text == b"archive/notes/a.txt:9: the needle is here\n", text
        assert (st.st_size, stat.S_IMODE(st.st_mode)) == (len(text), 0o400), st
        assert os.stat(m("search/needle")).st_ino == st.st_ino
        assert run("cat", m("search/needle")).stdout == text
        with raises(errno.EACCES, errno.EROFS):
            with open(m("search/needle"), "r+b", buffering=0) as f:
                f.write(b"x")
        run("cp", m("search/needle"), case.path("copy"))
        assert read(case.path("copy")) == text


@test
def nothing_found_is_an_empty_file(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/a", b"x\n")
        assert read(m("search/nothing of the kind")) == b""
        assert os.stat(m("search/nothing of the kind")).st_size == 0


@test
def a_malformed_query_is_einval(case):
    with case.mount(SEAL_NEVER) as m:
        for query in ('"open', "*", "-x", " ", "tier:", "tier:cache", "after:soon", "tag: x", "->"):
            with raises(errno.EINVAL):
                os.stat(m("search", query))
        with raises(errno.ENAMETOOLONG):
            os.stat(m("search", "x" * 256))
        for query in ("x" * 255, "a:summary", "x:1-5", "std::x", "http:%2F%2Fe.org", "key:value"):
            assert read(m("search", query)) == b""


@test
def every_name_is_a_query_and_none_a_slice(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/a", b"see F:1-5 and F:summary\n")
        finds(m, "F:1-5", "archive/a:1")
        finds(m, "F:summary", "archive/a:1")
        finds(m, "F:summa*", "archive/a:1")


@test(root=True)
def others_may_not_search(case):
    case.open_to_others()
    with case.mount(SEAL_SOON, "allow_other") as m:
        m.make("archive/a", b"needle\n")
        finds(m, "needle", "archive/a:1")
        done = run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "cat",
                   m("search/needle"), check=False)
        assert done.returncode == 1 and b"Permission denied" in done.stderr, done


# --- Text -----------------------------------------------------------------------------------------


@test
def terms_are_found_as_they_are_asked_for(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/a", b"The Caf\xc3\xa9 opens\nat nine\n")
        m.make("archive/b", b"import port\n")
        m.make("archive/c", b"get_user_id(x)\nforget user id\n")
        finds(m, "cafe", "archive/a:1")
        finds(m, "CAF\u00c9 nine", "archive/a:1-2")
        finds(m, '"opens at nine"', "archive/a:1-2")
        finds(m, '"nine opens"')
        finds(m, "open*", "archive/a:1")
        finds(m, "pens", "archive/a:1")
        finds(m, "pens*")
        finds(m, "get_user_id", "archive/c:1")
        finds(m, '"user id"', "archive/c:1-2")
        finds(m, "port -import")
        finds(m, "port -imp", "archive/b:1")
        finds(m, "id", "archive/c:1-2")
        finds(m, "ge")
        finds(m, "nine port")


@test
def best_hits_come_first(case):
    with case.mount(SEAL_SOON) as m:
        far = numbered(60, line_3="alpha", line_50="beta")
        m.make("archive/far", far)
        m.make("archive/near", numbered(60, line_3="alpha", line_5="beta"))
        m.make("archive/beside", numbered(60, line_4="alpha beta"))
        m.make("archive/part", numbered(60, line_4="alphas betas"))
        finds_in_order(
            m,
            "alpha beta",
            "archive/beside:4",
            "archive/near:3-5",
            "archive/far:3",
            "archive/part:4",
            "archive/far:50",
        )


@test
def every_hit_can_be_read_as_it_stands(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/deep/er/a", numbered(100, line_20="needle", line_24="needle", line_90="needle"))
        m.make("archive/b", b"x\n" * 5 + b"no newline but a needle")
        finds(m, "needle", "archive/deep/er/a:20-24", "archive/deep/er/a:90", "archive/b:6")
        for path in paths(m, "needle"):
            assert b"needle" in read(m(path)), path


@test
def a_file_has_at_most_three_hits(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/a", numbered(100, **{f"line_{i}": "needle" for i in range(1, 100, 10)}))
        eventually(lambda: len(search(m, "needle")) == 3, "three hits")


@test
def a_content_is_told_of_three_times(case):
    with case.mount(SEAL_SOON) as m:
        for i in range(6):
            m.make(f"archive/{i}/same", b"the needle\n")
        m.make("archive/other", b"the needle, too\n")
        finds(m, "needle", "archive/5/same:1", "archive/4/same:1", "archive/3/same:1",
              "archive/other:1")
        assert set(paths(m, "needle")[:2]) == {"archive/5/same:1", "archive/other:1"}


@test
def fifty_hits_are_enough(case):
    with case.mount(SEAL_SOON) as m:
        for i in range(60):
            m.make(f"archive/{i}", f"needle {i}\n".encode())
        eventually(lambda: len(search(m, "needle")) == 50, "fifty hits")


@test
def long_lines_and_long_files(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/line", b"x y " * 50000 + b"the needle " + b"z w " * 50000)
        text = numbered(80000, line_10="first alpha", line_79990="last omega")
        assert len(text) > MIB
        m.make("archive/text", text)
        finds(m, "alpha omega", "archive/text:10", "archive/text:79990")
        finds(m, '"last omega"', "archive/text:79990")
        finds(m, "omega -alpha")
        found = eventually(lambda: search(m, "needle"), "the long line")
        path, snippet = found[0].split(": ")
        assert re.fullmatch(r"archive/line:b\d+-\d+", path), path
        assert len(read(m(path))) < 4096 and b"the needle" in read(m(path))
        assert "the needle" in snippet and len(snippet) < 200, snippet


@test
def snippets_are_one_line_of_text(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/a", b"  \t\x1b[31mneedle\xff\tand\rmore  \n")
        m.make("archive/b", b"\xc3\xa9" * 1000 + b" needle " + b"\xc3\xa9" * 1000)
        finds(m, "needle and", "archive/a:1")
        assert search(m, "needle and") == ["archive/a:1: [31mneedle? and more"]
        line = eventually(lambda: [s for s in search(m, "needle") if "archive/b" in s], "b")[0]
        assert line.endswith("\u00e9...") and ": ...\u00e9" in line, line


@test
def names_that_do_not_fit_a_line_go_by_their_refs(case):
    with case.mount(SEAL_SOON) as m:
        names = ["with\nnewline", "with: colon", os.fsdecode(b"\xff"), "n" * 255, "taken"]
        refs = [xattr(m.make(f"archive/{n}", f"needle {i}\n".encode()), "ref")
                for i, n in enumerate(names)]
        want = [f"refs/{ref}:1" for ref in refs]
        want[4] = "archive/taken:1"
        finds(m, "needle", *want)
        # A file of the very name of the slice.
        m.make("archive/taken", b"")
        os.unlink(m("archive/taken"))
        m.make("archive/taken:1", b"something else\n")
        ref = xattr(m.make("archive/taken", b"needle 4\n"), "ref")
        want[4] = f"refs/{ref}:1"
        finds(m, "needle", *want)
        for path in paths(m, "needle"):
            assert b"needle" in read(m(path)), path


# --- What changes ---------------------------------------------------------------------------------


@test
def files_come_and_go(case):
    with case.mount(SEAL_SOON) as m:
        body = numbered(60, line_30="needle")
        path = m.make("cache/web/a", body)
        finds(m, "needle")
        os.makedirs(m("archive/web"))
        os.rename(path, m("archive/web/a"))
        finds(m, "needle", "archive/web/a:30")
        os.rename(m("archive/web"), m("persistent/pages"))
        finds(m, "needle", "persistent/pages/a:30")
        os.rename(m("persistent/pages"), m("cache/back"))
        finds(m, "needle")
        os.rename(m("cache/back"), m("archive/again"))
        finds(m, "needle", "archive/again/a:30")
        os.unlink(m("archive/again/a"))
        finds(m, "needle")


@test
def a_changed_file_is_found_by_what_it_has_now(case):
    with case.mount(SEAL_SOON) as m:
        path = m.make("persistent/a", numbered(60, line_30="needle"))
        finds(m, "needle", "persistent/a:30")
        with open(path, "r+b") as f:
            f.write(numbered(60, line_40="haystack"))
            f.truncate()
        finds(m, "needle")
        finds(m, "haystack", "persistent/a:40")


@test
def what_was_archived_is_found_after_a_crash(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/a", numbered(60, line_30="needle"))
        finds(m, "needle", "archive/a:30")
        m.crash()
        finds(m, "needle", "archive/a:30")
        m.unmount()
        for name in os.listdir(case.store):
            if name.startswith("search.db"):
                os.unlink(os.path.join(case.store, name))
        m.start()
        finds(m, "needle", "archive/a:30")


@test
def many_search_while_files_come_and_go(case):
    with case.mount(SEAL_SOON) as m:
        for i in range(40):
            m.make(f"archive/web/{i}", numbered(30, line_20=f"needle number{i}"))

        def work(who):
            for i in range(40):
                if who == 0:
                    os.rename(m(f"archive/web/{i}"), m(f"persistent/{i}"))
                    continue
                for line in search(m, "needle number*" + " " * 8 * who):
                    path, _, snippet = line.partition(": ")
                    assert re.fullmatch(r"(archive/web|persistent)/\d+:20", path), line
                    assert snippet.startswith("needle"), line

        in_processes(4, work)
        eventually(lambda: len(search(m, "needle tier:long-term")) == 40, "all are found again")


@test
def a_search_is_no_use_of_a_file(case):
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/a", b"needle\n")
        m.wait_sealed(path)
        before = xattr(path, "expires")
        os.utime(path, (1000, os.stat(path).st_mtime))
        finds(m, "needle", "cache/a:1")
        assert os.stat(path).st_atime == 1000
        assert before


# --- The working tier -----------------------------------------------------------------------------


@test
def of_the_working_tier_head_and_tail_are_found(case):
    with case.mount(SEAL_NEVER) as m:
        m.make("cache/web/a", numbered(40, line_2="apple", line_20="pear", line_38="plum"))
        m.make("tasks/t/web/b", numbered(4000, line_2="grape", line_3999="melon"))
        m.make("top", b"kiwi fruit\n")
        finds(m, "apple", "cache/web/a:2")
        finds(m, "pear")
        finds(m, "plum", "cache/web/a:38")
        finds(m, "apple plum", "cache/web/a:2", "cache/web/a:38")
        finds(m, "grape", "tasks/t/web/b:2")
        finds(m, "kiwi", "top:1")


@test
def the_tail_of_a_long_sealed_file_is_found(case):
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/web/a", numbered(4000, line_3999="melon", line_3000="lemon"))
        m.wait_sealed(path)
        finds(m, "melon", "cache/web/a:3999")
        finds(m, "lemon")


@test
def names_titles_and_tags_are_found_everywhere(case):
    with case.mount(SEAL_SOON) as m:
        for top in ("cache", "persistent", "archive"):
            m.make(f"{top}/notes/zebra_{top}.txt", f"{top} 1\n2\n3\n4\n5\n6\n7\n".encode())
        want = [f"{top}/notes/zebra_{top}.txt:1-5" for top in ("cache", "persistent", "archive")]
        finds(m, "zebra", *want)
        finds(m, "zebra_cache", want[0])
        finds(m, "ebra_arch", want[2])
        for path in want:
            set_label(m(path[:-4]), "title", "A Striped Horse")
            set_label(m(path[:-4]), "tags", "quagga,other")
        finds(m, '"striped horse"', *want)
        finds(m, "quagga", *want)
        finds(m, "zebra stri* quagga", *want)
        assert all(s.endswith(": A Striped Horse") for s in search(m, "quagga"))
        # One term in the names, the other in the content.
        finds(m, "quagga persistent", "persistent/notes/zebra_persistent.txt:1")
        finds(m, "quagga -horse")
        os.removexattr(m(want[2][:-4]), "user.offload.title")
        finds(m, "horse", *want[:2])


@test
def what_is_empty_or_no_text_is_found_by_name(case):
    with case.mount(SEAL_SOON) as m:
        for top in ("cache", "archive"):
            m.make(f"{top}/zebra_empty", b"")
            m.make(f"{top}/zebra_binary", b"\x00\x01zebra\n" * 100)
            m.make(f"{top}/zebra:1", b"")
        refs = [xattr(m(f"{top}/zebra:1"), "ref") for top in ("cache", "archive")]
        finds(m, "zebra", "cache/zebra_empty", "cache/zebra_binary", "archive/zebra_empty",
              "archive/zebra_binary", *[f"refs/{r}" for r in refs])
        for path in paths(m, "zebra"):
            read(m(path))


# --- Filters --------------------------------------------------------------------------------------


@test
def filters(case):
    with case.mount(SEAL_SOON) as m:
        places = ["cache/web/a", "cache/my notes/b", "tasks/t1/web/c", "tasks/t2/d",
                  "persistent/web/e", "archive/web/f", "archive/g"]
        for i, place in enumerate(places):
            path = m.make(place, f"needle {i}\n".encode())
            os.utime(path, (0, 1_700_000_000 + 86400 * i))
        set_label(m("archive/g"), "tags", "x,y z")
        set_label(m("cache/web/a"), "tags", "x")
        found = {p[-1]: p + ":1" for p in places}

        def expect(query, files):
            finds(m, query, *[found[f] for f in files])

        expect("needle", "abcdefg")
        for query, files in (
            ("tier:working", "abcd"),
            ("tier:long-term", "e"),
            ("tier:archive tier:long-term", "efg"),
            ("category:web", "acef"),
            ('category:"my notes"', "b"),
            ("category:general", "dg"),
            ("category:web category:general", "acdefg"),
            ("task:t1", "c"),
            ("task:t1 task:t2", "cd"),
            ("tag:x", "ag"),
            ('tag:"y z"', "g"),
            ("tag:x tier:archive", "g"),
            ("tag:nothing", ""),
            ("after:2023-11-18", "efg"),
            ("before:2023-11-16", "ab"),
            ("after:2023-11-16T22:13:20Z before:2023-11-18T22:13:20Z", "cd"),
            ("after:1d", ""),
            ("before:1d category:web", "acef"),
        ):
            expect("needle " + query, files)
            # The same alone, the newest first.
            finds_in_order(m, query, *[found[f] for f in sorted(files, reverse=True)])


# --- The tool -------------------------------------------------------------------------------------


def tool(m, *arguments, check=True):
    return run(OFFLOAD, "search", "--dir", m.mnt, *arguments, check=check)


@test
def the_tool_prints_what_is_found(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/a", numbered(20, line_3="a needle", line_4="https://e.org/needle"))
        m.make("archive/empty_needle", b"")
        finds(m, "needle", "archive/a:3-4", "archive/empty_needle")
        done = tool(m, "a", "needle")
        assert done.stdout == b"archive/a:3-4: a needle\n", done.stdout
        assert tool(m, "https://e.org/needle").stdout.startswith(b"archive/a:4: https")
        assert tool(m, "-n", "1", "needle").stdout.count(b"\n") == 1
        assert json.loads(tool(m, "--json", "needle -thing").stdout) == [
            {"path": "archive/a", "from": 3, "to": 4, "snippet": "a needle"},
            {"path": "archive/empty_needle", "from": None, "to": None, "snippet": "empty_needle"},
        ]
        assert json.loads(tool(m, "--json", "e.org").stdout)[0]["from"] == 4
        done = tool(m, "no such thing", check=False)
        assert (done.returncode, done.stdout, done.stderr) == (1, b"", b""), done
        done = tool(m, "--json", "no such thing", check=False)
        assert (done.returncode, json.loads(done.stdout)) == (1, []), done
        for words, why in (
            (['"open'], b"not closed"),
            (["tier:cache", "x"], b"no tier 'cache'"),
            ([""], b"empty"),
            ([], b"say what to look for"),
            (["x/" * 90], b"too long"),
            (["-n", "0", "x"], b"'0'"),
        ):
            done = tool(m, *words, check=False)
            assert done.returncode == 2 and not done.stdout, done
            assert done.stderr.startswith(b"offload: search: ") and why in done.stderr, done
            assert done.stderr.count(b"\n") == 1, done


@test
def the_tool_searches_a_store_that_is_not_mounted(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/a", numbered(60, line_30="needle"))
        m.make("cache/web/b", b"a needle\n")
        m.wait_sealed(m("archive/a"))
    done = run(OFFLOAD, "search", "--store", case.store, "needle")
    assert sorted(done.stdout.splitlines()) == [
        b"archive/a:30: needle",
        b"cache/web/b:1: a needle",
    ], done.stdout
    done = run(OFFLOAD, "search", "--store", case.path("nowhere"), "needle", check=False)
    assert done.returncode == 2, done


# --- Real results ---------------------------------------------------------------------------------

# What is asked, what the file has, and what the lines that are named have.
REAL = [
    # words
    ("round nearest int", "TimeDelta(Field)", "round to nearest int"),
    ("gift card balance", "Error: gift card", "gift card balance is not enough"),
    ("virtualenv requirement satisfied", "Obtaining file", "virtualenv>=20.10.0"),
    ("threshold distance abs", "has_close_elements", "distance = abs(elem - elem2)"),
    ("sunset drive charlotte", "794 Sunset Drive", "Charlotte"),
    # phrases
    ('"required elements are missing"', "Traceback", "following required elements are missing"),
    ('"not enough seats" HAT139', "HAT139", "not enough seats on flight HAT139"),
    ('"trailing null byte"', "numpy_handler.py", "trailing null byte for odd length data"),
    ('"payment amount does not add up" 4875', "4875", "total price is 4875"),
    # identifiers
    ("has_close_elements", "has_close_elements", "def has_close_elements("),
    ("_convert_pixel_data_without_handler", "Traceback", "_convert_pixel_data_without_handler"),
    ("base_unit.total_seconds()", "marshmallow", "/ base_unit.total_seconds()"),
    ("dt.timedelta(**{self.precision:", "marshmallow", "dt.timedelta(**{self.precision: 1})"),
    ("mypy==0.910", "mypy", '"mypy==0.910"'),
    ("credit_card_4421486", "mia", "credit_card_4421486"),
    # parts of words
    ("ixelRepresent", "PixelData", "PixelRepresentation"),
    ("ugbear==21", "flake8", "flake8-bugbear==21.9.2"),
    ("HATHA origin", "mia_li_3668", '"reservation_id": "HATHA'),
    ("li3818@exam", "Mia", "mia.li3818@example.com"),
    ("missing_col", "division", "missing_colon.py"),
]


def has_real_results():
    data = os.environ.get("OFFLOADFS_TEST_DATA") or SOURCE_ROOT.parent / "shared" / "data"
    return pathlib.Path(data, "tool-results").exists()


@test(timeout=180)
def real_results_are_found_among_the_first_three(case):
    if not has_real_results():
        raise Skip("there are no recorded results here")
    results = case.path("results")
    count = tool_results(results)
    with case.mount(SEAL_SOON) as m:
        run("sh", "-c", 'cp -r "$1"/* "$2"', "sh", results, m("archive"))

        def indexed():
            time.sleep(0.3)
            status = json.loads(read(m(".offload/status.json")))["search"]
            return status["caught_up"] and status["files"] == count

        eventually(indexed, "all results are indexed", 60)
        wrong = []
        for query, file_has, lines_have in REAL:
            start = time.monotonic()
            found = read(m("search", query)).decode().splitlines()
            spent = time.monotonic() - start
            print(f"{spent * 1000:7.1f} ms  {len(found):2} hits  {query}")
            first = [line.split(": ")[0] for line in found[:3]]
            if not any(
                lines_have in read(m(path)).decode()
                and file_has in read(m(path.rpartition(":")[0])).decode()
                for path in first
            ):
                wrong.append((query, found[:5]))
        assert not wrong, wrong


if __name__ == "__main__":
    main()
