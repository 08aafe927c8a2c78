#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""search/<query> and `offload search`."""
import collections
import errno
import itertools
import json
import os
import pathlib
import re
import stat
import time

from files import MIB, log_text, tool_results
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

NOTE = "offloadfs: "

# `first` and `last` are line numbers, or None for a slice of bytes and for no slice.
Hit = collections.namedtuple("Hit", "path slice first last snippet")

_SLICE = re.compile(r"(.*?)(?::(?:(\d+)(?:-(\d+))?|b\d+-\d+))?")
_calls = itertools.count(1)



def search(m, query):
    """
    Returns the lines of a fresh answer. Answers are kept by name for a moment, so blanks are added
    to make the name unique, unless it gets too long.
    """
    blanks = f"{next(_calls):b}".replace("0", " ").replace("1", "\t")
    name = query.replace("/", "%2F")
    name += blanks if len(os.fsencode(name + blanks)) <= 255 else ""
    return os.fsdecode(read(m("search", name))).splitlines()


def as_hit(line):
    shown, snippet = line.split(": ", 1)
    path, first, last = _SLICE.fullmatch(shown).groups()
    return Hit(path, shown, first and int(first), first and int(last or first), snippet)


def hits(m, query):
    return [as_hit(line) for line in search(m, query) if not line.startswith(NOTE)]


def has(hit, want):
    """Tells whether a hit matches PATH or PATH:LINE."""
    path, _, line = want.partition(":")
    return hit.path == path and (not line or hit.first and hit.first <= int(line) <= hit.last)


def finds(m, query, *want):
    """Waits until exactly these files are found, with these lines; each is PATH or PATH:LINE."""

    def done():
        found = hits(m, query)
        return {h.path for h in found} == {w.partition(":")[0] for w in want} and all(
            any(has(h, w) for h in found) for w in want
        )

    eventually(done, lambda: f"'{query}' finds {want}; it finds {search(m, query)}")


def files_of(found):
    """Returns the files in the order of their best hits."""
    return list(dict.fromkeys(h.path for h in found))


def finds_in_order(m, query, *want):
    eventually(
        lambda: files_of(hits(m, query)) == list(want),
        lambda: f"'{query}' finds {want}; it finds {search(m, query)}",
    )


def finds_first(m, query, want):
    """Waits until this is the first hit (PATH or PATH:LINE)."""
    eventually(
        lambda: any(has(h, want) for h in hits(m, query)[:1]),
        lambda: f"'{query}' finds {want} first; it finds {search(m, query)}",
    )


def set_label(path, name, value):
    os.setxattr(path, "user.offload." + name, value.encode())


def numbered(count, **lines):
    """Returns `count` lines; line_7="x" sets the text of line 7."""
    texts = [lines.get(f"line_{i}", f"this is nothing {i}") for i in range(1, count + 1)]
    return "".join(t + "\n" for t in texts).encode()


# --- The directory --------------------------------------------------------------------------------


@test
def it_is_a_directory_that_lists_nothing(case):
    with case.mount(SEAL_SOON) as m:
        assert "search" in os.listdir(m.mnt)
        assert os.listdir(m("search")) == []
        st = os.stat(m("search"))
        assert stat.S_IMODE(st.st_mode) == 0o500 and stat.S_ISDIR(st.st_mode)
        # Every name exists.
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
        assert text == b"archive/notes/a.txt:9-11: the needle is here\n", text
        assert (st.st_size, stat.S_IMODE(st.st_mode)) == (len(text), 0o400), st
        assert os.stat(m("search/needle")).st_ino == st.st_ino
        assert run("cat", m("search/needle")).stdout == text
        with raises(errno.EACCES, errno.EROFS):
            with open(m("search/needle"), "r+b", buffering=0) as f:
                f.write(b"x")
        run("cp", m("search/needle"), case.path("copy"))
        assert read(case.path("copy")) == text
        m.make("archive/notes/b.txt", "caf\u00e9 \u7528\u6237\n".encode() * 500)
        m.make("cache/\u7528", b"needle " * 1000)
        for query in ("nothing", "caf\u00e9", "\u7528\u6237", "needle the is", '"no such" needle',
                      "n" * 255, "tier:working", "+needle -here", "???"):
            assert os.stat(m("search", query)).st_size == len(read(m("search", query))), query


@test
def nothing_found_is_an_empty_file(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/a", b"x\n")
        # The last ones are queries without terms.
        for query in ("no such animal", "+none", '"no such phrase"', "none*", "tag:none", " ",
                      "?!", '"', '""', "*", "-x", "->", '-"x y"', "+", "+ - *", "\u3002\u2026"):
            assert read(m("search", query)) == b"", query
            assert os.stat(m("search", query)).st_size == 0


@test
def only_a_malformed_filter_is_an_error(case):
    with case.mount(SEAL_NEVER) as m:
        for query in ("tier:", "tier:cache", "after:soon", "before:2026-02-30", "x after:2026",
                      "after:-1d", "after:99999999999999d", "tag: x", "-tier:working", "-tag:x"):
            with raises(errno.EINVAL):
                os.stat(m("search", query))
        with raises(errno.EINVAL):
            os.stat(os.fsencode(m("search/x ")) + b"\xff")
        with raises(errno.ENAMETOOLONG):
            os.stat(m("search", "x" * 256))
        for query in ("x" * 255, "a:summary", "x:1-5", "std::x", "http:%2F%2Fe.org", "key:value",
                      '"open', "tag::x", "tiers:x", "TIER:x"):
            assert read(m("search", query)) == b""


@test
def every_name_is_a_query_and_none_a_slice(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/a", b"see F:1-5 and F:summary\n")
        for query in ("F:1-5", "F:summary", "F:summa*", "+F:1-5", "a:1", "see:b0-5", "F#L1"):
            finds(m, query, "archive/a:1")


@test(root=True)
def others_may_not_search(case):
    case.open_to_others()
    with case.mount(SEAL_SOON, "allow_other") as m:
        m.make("archive/a", b"needle\n")
        finds(m, "needle", "archive/a:1")
        done = run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "cat",
                   m("search/needle"), check=False)
        assert done.returncode == 1 and b"Permission denied" in done.stderr, done


# --- Words ----------------------------------------------------------------------------------------

FACTS = {
    "deploy": "The release train leaves on Thursdays; hot fixes are deployed at any hour.",
    "retry": "The scheduler gives up on a job after seven attempts, ten seconds apart.",
    "market": "On May 14 the bitcoin price was 61,000 dollars, in April 58,500.",
    "dog": "Melanie: Our puppy Rex swallowed a sock, so we drove to the vet on Sunday.",
    "race": "Caroline ran a charity race for mental health and raised 1,200 euros.",
    "policy": "Refunds: the policy allows cancellations within 24 hours of the booking.",
    "crash": "Segmentation fault in parse_frame() when the header's length is zero.",
    "disk": "The nightly backups failed because /var had no space left.",
}

QUESTIONS = {
    "When does the release train leave?": "deploy",
    "how often does the scheduler attempt a job": "retry",
    "what was the price of bitcoin in May?": "market",
    "What did the puppy swallow?": "dog",
    "How much did Caroline raise at the charity race?": "race",
    "can a booking be cancelled and what is the policy": "policy",
    "why does parse_frame crash with a segmentation fault": "crash",
    "Why did the backup fail last night?": "disk",
}


@test(variants={"kept": "persistent/notes", "working": "cache/notes"})
def questions_are_answered(case, folder):
    with case.mount(SEAL_SOON) as m:
        for i, (name, text) in enumerate(FACTS.items()):
            noise = log_text(40000, i).decode().splitlines()
            noise[300] = text
            m.make(f"{folder}/{name}", "\n".join(noise).encode())
        for query, name in QUESTIONS.items():
            finds_first(m, query, f"{folder}/{name}:301")


@test
def words_are_found_in_their_other_forms(case):
    pairs = [("run", "running"), ("policy", "policies"), ("connect", "connections"),
             ("argue", "arguing"), ("happy", "happiness"), ("fix", "fixed"), ("cache", "caches"),
             ("retry", "retries"), ("compile", "compiler"), ("try", "tried"),
             ("sky", "skies"), ("hope", "hoping"), ("stop", "stopped"), ("use", "using"), ("cafe", "CAF\u00c9S")]
    with case.mount(SEAL_SOON) as m:
        for tier in ("archive", "cache"):
            for pair in pairs:
                for word in pair:
                    m.make(f"{tier}/{pair[0]}/{word.lower()[::-1]}", f"the {word} of it\n".encode())
        for pair in pairs:
            want = [f"{tier}/{pair[0]}/{word.lower()[::-1]}:1"
                    for tier in ("archive", "cache") for word in pair]
            for word in pair:
                for query in (word, word.upper(), f"What about a {word}?"):
                    finds(m, query + " category:" + pair[0], *want)


@test
def common_words_count_little(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/a", b"what is it that is where the who of it was: to be or not to be\n" * 9)
        m.make("archive/b", b"zebra\n")
        m.make("cache/c", b"where is the what of the who\n" * 9)
        finds_first(m, "where is the zebra?", "archive/b:1")
        # Very common words count if there are no others.
        finds(m, "to be or not to be", "archive/a:1")
        finds_first(m, '"not to be"', "archive/a")


@test
def the_rare_words_decide(case):
    with case.mount(SEAL_SOON) as m:
        for i in range(40):
            m.make(f"archive/{i}", f"error: the test of module {i} failed with an error\n".encode())
        m.make("archive/rare", b"frobnication\n")
        m.make("archive/both", b"error in frobnication\n")
        finds_first(m, "test failed error frobnication module", "archive/both:1")
        eventually(
            lambda: set(files_of(hits(m, "error frobnication"))[:2])
            == {"archive/both", "archive/rare"},
            "both rare ones come first",
        )


@test
def what_stands_together_comes_first(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/far", numbered(60, line_3="alpha", line_50="beta"))
        m.make("archive/near", numbered(60, line_3="alpha", line_5="beta"))
        m.make("archive/beside", numbered(60, line_4="alpha beta"))
        for query in ("alpha beta", "beta alpha", "what about alpha and beta?"):
            finds_in_order(m, query, "archive/beside", "archive/near", "archive/far")
        finds(m, "alpha beta", "archive/beside:4", "archive/near:3", "archive/near:5",
              "archive/far:3", "archive/far:50")  # fmt: skip


@test
def no_hit_is_without_a_word(case):
    with case.mount(SEAL_SOON) as m:
        for tier in ("archive", "cache"):
            m.make(f"{tier}/a", numbered(100, line_20="needle", line_24="needle", line_90="needle"))
            m.make(f"{tier}/b", b"\xc3\xa9" * 3000 + b" needle " + b"\xc3\xa9" * 3000)
        finds(m, "needle", *[f"{t}/{f}" for t in ("archive", "cache") for f in "ab"])
        for hit in hits(m, "needle"):
            assert "needle" in hit.snippet and b"needle" in read(m(hit.slice)), hit


@test
def a_part_of_a_word_is_no_word(case):
    with case.mount(SEAL_SOON) as m:
        for tier in ("archive", "cache"):
            m.make(f"{tier}/a", b"the terrorist imports\n")
            m.make(f"{tier}/b", b"error port\n")
        finds(m, "error", "archive/b:1", "cache/b:1")
        finds(m, "port", "archive/b:1", "cache/b:1")
        finds(m, "errorist")
        finds(m, "rror port", "archive/b:1", "cache/b:1")


@test(variants={"kept": "archive", "working": "cache"})
def identifiers_are_found_in_each_spelling(case, tier):
    spellings = ["getUserId", "get_user_id", "GetUserID", "GET_USER_ID", "get_UserId"]
    with case.mount(SEAL_SOON) as m:
        for i, name in enumerate(spellings):
            m.make(f"{tier}/{i}", numbered(50, line_30=f"  x = {name}(request);"))
        for i in range(30):
            near = f"get_user_{i} user_id{i} getId{i} id_user get\n"
            m.make(f"{tier}/near/{i}", near.encode() * 5)
        want = {f"{tier}/{i}" for i in range(len(spellings))}
        for query in (*spellings, "where is getUserId called?"):
            eventually(
                lambda q=query: set(files_of(hits(m, q))[: len(want)]) == want,
                lambda q=query: f"{q} finds all spellings first: {search(m, q)}",
            )
        eventually(
            lambda: want <= set(files_of(hits(m, "get user id"))),
            "its parts find the name",
        )


@test(variants={"kept": "archive", "working": "cache"})
def the_exact_name_is_the_first_hit(case, tier):
    names = ["HttpRequestParser", "parse_frame_header", "ERR-4711", "v1.12.3", "10.0.17.4",
             "src/pack/reader.c", "550e8400-e29b-41d4-a716-446655440000", "std::vector<int>",
             "credit_card_4421486", "--no-verify", "mia.li3818@example.com", "0xdeadbeef",
             "user#4711", "x86_64-linux-gnu"]
    near = ["HttpRequest Parser", "HttpResponseParser", "HttpRequestParsers", "parse_frame",
            "frame_header", "parse_frame_headers", "ERR-4712", "ERR-471", "ERR 4713", "v1.12.4",
            "v1.2.3", "10.0.17.41", "10.0.4.17", "110.0.17.4", "src/pack/writer.c", "pack/read.c",
            "550e8400-e29b-41d4-a716-446655440001", "std::vector<char>", "std::list<int>",
            "credit_card_4421487", "credit_card", "--verify", "no-ssl-verify",
            "mia.li@example.com", "li3819@example.com", "0xdeadbee", "0xdeadbeef0", "user#4712",
            "x86_64-linux-musl", "x86-64"]
    with case.mount(SEAL_SOON) as m:
        for i, name in enumerate(names):
            m.make(f"{tier}/exact/{i}", numbered(50, line_40=f"it says {name} here"))
        for i, name in enumerate(near):
            m.make(f"{tier}/near/{i}", numbered(50, line_20=f"{name} and {name}, {name}"))
        for i, name in enumerate(names):
            for query in (name, f'"{name}"', f"what about {name}?"):
                finds_first(m, query, f"{tier}/exact/{i}:40")


@test(variants={"kept": "archive", "working": "cache"})
def an_exact_phrase_is_the_first_hit(case, tier):
    with case.mount(SEAL_SOON) as m:
        m.make(f"{tier}/exact", numbered(400, line_200="connection refused by the remote host"))
        m.make(f"{tier}/lines", numbered(400, line_200="a fully", line_201="qualified domain name"))
        for i in range(30):
            near = (f"remote host {i}: by the connection that was reset, not refused;\n"
                    f"the host refused a connection by remote\nname of domain {i}, fully\n")
            m.make(f"{tier}/{i}", near.encode())
        for query in ("connection refused by the remote host", "Connection refused by",
                      '"refused by the remote host"', '"REFUSED  by" host',
                      "why is the connection refused by the remote host?"):
            finds_first(m, query, f"{tier}/exact:200")
        finds(m, '"refused by the remote"', f"{tier}/exact:200")
        finds(m, '"refused, by the: remote"', f"{tier}/exact:200")
        finds(m, '"fully qualified domain"', f"{tier}/lines:200")
        finds(m, '"remote the by refused"')


@test
def colours_part_no_words(case):
    line = "\x1b[1;31merror\x1b[0m: \x1b[Kno \x1b[33mtargets\x1b[m spe\x1b[0mcified"
    with case.mount(SEAL_SOON) as m:
        for tier in ("archive", "cache"):
            m.make(f"{tier}/a", numbered(60, line_30=line, line_31="\x1b[32mpassed\x1b[39m"))
        for query in ("error", "target", "passes", "+error", "+targets", '"error: no targets"',
                      "err*", "erorr"):
            line = 31 if query == "passes" else 30
            finds(m, query, f"archive/a:{line}", f"cache/a:{line}")
        assert all("error: no targets specified" in h.snippet
                   for h in hits(m, "error"))  # fmt: skip


@test
def other_scripts(case):
    texts = {
        "chinese": ("系统管理员说用户的重试次数上限是七次", ["重试次数是多少", "用户重试", "次数"]),
        "japanese": ("サーバーの再起動は毎週木曜日の夜に行われます", ["再起動はいつですか", "木曜日"]),
        "korean": ("데이터베이스 백업은 매일 밤에 실행됩니다", ["백업은 언제", "데이터베이스"]),
        "russian": ("Предел повторов планировщика равен семи", ["какой предел повторов",
                                                                "планировщик", "ПРЕДЕЛЫ"]),
        "greek": ("Ο διακομιστής επανεκκινεί κάθε Πέμπτη", ["διακομιστης", "ΠΈΜΠΤΗ"]),
        "thai": ("เซิร์ฟเวอร์จะรีสตาร์ททุกวันพฤหัสบดี", ["รีสตาร์ท", "วันพฤหัสบดี"]),
        "arabic": ("يعاد تشغيل الخادم كل يوم خميس", ["تشغيل الخادم"]),
        "hindi": ("सर्वर हर गुरुवार को पुनः आरंभ होता है", ["गुरुवार", "सर्वर कब आरंभ"]),
        "german": ("Die Übergröße fällt auf", ["übergröße", "ÜBERGRÖßE", "ubergroße", "fallt auf"]),
        "vietnamese": ("Máy chủ khởi động lại", ["khoi dong", "khởi động"]),
    }
    with case.mount(SEAL_SOON) as m:
        for tier in ("archive", "cache"):
            for name, (text, _) in texts.items():
                m.make(f"{tier}/{name}", numbered(60, line_30=text))
        for name, (text, queries) in texts.items():
            for tier, told in (("archive", "archive"), ("cache", "working")):
                for query in queries:
                    finds_first(m, f"{query} tier:{told}", f"{tier}/{name}:30")
            finds(m, f'"{text}"', f"archive/{name}:30", f"cache/{name}:30")


@test(variants={"kept": "archive", "working": "cache"})
def a_letter_may_be_wrong(case, tier):
    with case.mount(SEAL_SOON) as m:
        m.make(f"{tier}/a", numbered(60, line_30="the kubernetes deployment of the scheduler"))
        m.make(f"{tier}/b", numbered(60, line_30="an accommodation in Reykjavik"))
        for query, name in (
            ("kuberentes", "a"),  # two letters swapped
            ("kubernets", "a"),  # one missing
            ("kubernnetes", "a"),  # one too many
            ("kuvernetes", "a"),  # one wrong
            ("kuber", "a"),  # the start of the word
            ("acommodation", "b"),
            ("reykjavk", "b"),
            ("accommodatoin", "b"),  # in the ending, so that it has no stem
            ("deploymnets", "a"),
            ("what about the sheduler?", "a"),
        ):
            finds(m, query, f"{tier}/{name}:30")
        finds(m, "kvbernats")
        finds(m, "xubernetes")  # the first letter is assumed to be right
        word = "kubernetes"
        for i in range(1, len(word) - 2):
            for wrong in (word[:i] + word[i + 1] + word[i] + word[i + 2 :],
                          word[:i] + word[i + 1 :], word[:i] + "x" + word[i:],
                          word[:i] + "x" + word[i + 1 :]):
                finds(m, wrong, f"{tier}/a:30")
        # The correct words are enough.
        finds(m, "deployment scheduler kubernets", f"{tier}/a:30")


# --- Required terms -------------------------------------------------------------------------------


@test
def operators_are_exact(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/a", b"The Caf\xc3\xa9 opens\nat nine\n")
        m.make("archive/b", b"import port\n")
        m.make("archive/c", b"get_user_id(x)\nforget user id\n")
        for query, *want in (
            ("+cafe", "a:1"),
            ("+CAF\u00c9 +nine", "a:1", "a:2"),
            ("+cafe +nine +port",),
            ("+opens", "a:1"),
            ("+open",),
            ("open*", "a:1"),
            ("OPEN* at*", "a:1"),
            ("pens*",),
            ('"opens at nine"', "a:1"),
            ('"opens AT" +nine', "a:1"),
            ('"nine opens"',),
            ('"open at nine"',),
            ("port -import",),
            ("port -imp", "b:1"),
            ('port -"import port"',),
            ('port -"port import"', "b:1"),
            ("port -imp*",),
            ("+get_user_id", "c:1"),
            ("+user", "c:1"),
            ('"user id"', "c:1"),
            ("user -cafe", "c:1"),
            ("user -get_user_id",),
            ("ge*", "c:1"),
            ("get_u*", "c:1"),
            ("get_x*",),
            ("forget-us*",),
            ("forget* us*", "c:1"),
            ("_*",),
            ("__g*",),
            ('x"y*',),
            ("id -for", "c:1"),
            ('+"user id"', "c:1"),
        ):
            finds(m, query, *["archive/" + w for w in want])


@test(variants={"archive": "archive", "working": "cache"})
def what_must_hold_does_for_the_whole_file(case, tier):
    with case.mount(SEAL_SOON) as m:
        text = numbered(20000, line_10="first alpha", line_19990="last omega")
        m.make(f"{tier}/long", text)
        m.make(f"{tier}/alpha", numbered(100, line_50="alpha only"))
        m.make(f"{tier}/omega", numbered(100, line_50="omega only"))
        finds(m, "+alpha +omega", f"{tier}/long:10", f"{tier}/long:19990")
        finds(m, "+omega first", f"{tier}/long:19990", f"{tier}/omega:50")
        finds(m, '"last omega" alpha*', f"{tier}/long:10", f"{tier}/long:19990")
        finds(m, "+alpha -omega", f"{tier}/alpha:50")
        finds(m, "omega -alpha", f"{tier}/omega:50")
        finds(m, "only -first -last", f"{tier}/alpha:50", f"{tier}/omega:50")
        finds(m, 'alpha -"last omega"', f"{tier}/alpha:50")
        finds(m, "alpha -ome*", f"{tier}/alpha:50")
        finds(m, "+alpha +omega +zeta")


@test
def names_hold_what_must_be_there_too(case):
    with case.mount(SEAL_SOON) as m:
        for tier in ("archive", "cache"):
            path = m.make(f"{tier}/zebra.txt", b"an animal with stripes\n")
            set_label(path, "title", "Equus quagga")
            m.make(f"{tier}/other.txt", b"an animal with stripes\n\n")
        want = ["archive/zebra.txt:1", "cache/zebra.txt:1"]
        for query in ("+zebra stripes", "+quagga +stripes", '"equus quagga" animal', "zeb* animal",
                      "stripes -other"):
            finds(m, query, *want)
        finds(m, "stripes -zebra", "archive/other.txt:1", "cache/other.txt:1")


@test
def a_phrase_that_nothing_has_is_a_wish(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/one", b"the needle is here\n")
        finds(m, 'needle "in a haystack"', "archive/one:1")
        lines = search(m, 'needle "in a haystack"')
        assert len(lines) == 2 and lines[1].startswith(NOTE) and "quotes" in lines[1], lines
        for query in ('"in a haystack"', 'the "in a haystack"', '+needle "in a haystack"',
                      '"needle here"', 'zebra "in a haystack"'):
            assert search(m, query) == [], query
        m.make("archive/two", b"lost in a haystack\n")
        finds(m, 'needle "in a haystack"', "archive/two:1")
        assert len(search(m, 'needle "in a haystack"')) == 1


# --- Hits -----------------------------------------------------------------------------------------


@test
def every_hit_can_be_read_as_it_stands(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/deep/er/a", numbered(100, line_20="needle", line_24="needle",
                                                line_90="needle"))  # fmt: skip
        m.make("archive/b", b"x\n" * 5 + b"no newline but a needle")
        m.make("cache/c", b"needle\n" * 30)
        finds(m, "needle", "archive/deep/er/a:20", "archive/deep/er/a:24", "archive/deep/er/a:90",
              "archive/b:6", "cache/c")  # fmt: skip
        for hit in hits(m, "needle"):
            text = read(m(hit.slice))
            assert b"needle" in text and text.count(b"\n") <= 12, hit
            assert text == b"".join(read(m(hit.path)).splitlines(True)[hit.first - 1 : hit.last])


@test(variants={"archive": "archive", "working": "cache"})
def hits_of_a_file_do_not_overlap(case, tier):
    with case.mount(SEAL_SOON) as m:
        body = "".join(f"{'needle and thread' if i * 7 % 11 < 4 else 'hay'} {i}\n"
                       for i in range(1500))  # fmt: skip
        m.make(f"{tier}/a", body.encode())
        found = eventually(lambda: hits(m, "needle thread"), "found")
        lines = [i for h in found for i in range(h.first, h.last + 1)]
        assert len(found) > 3 and len(lines) == len(set(lines)), sorted(lines)


@test
def copies_of_a_content_are_told_of_three_times(case):
    with case.mount(SEAL_SOON) as m:
        for i in range(6):
            m.make(f"archive/{i}/same", b"the needle\n")
        m.make("archive/other", b"the needle, too\n")
        finds(m, "needle", "archive/5/same:1", "archive/4/same:1", "archive/3/same:1",
              "archive/other:1")  # fmt: skip
        assert files_of(hits(m, "needle"))[2:] == ["archive/4/same", "archive/3/same"]
        finds(m, "needle category:1", "archive/1/same:1")
        finds(m, "same", *[f"archive/{i}/same" for i in (3, 4, 5)])


@test
def fifty_hits_are_enough(case):
    with case.mount(SEAL_SOON) as m:
        for i in range(60):
            m.make(f"archive/{i}", f"needle {i}\n".encode())
        eventually(lambda: len(search(m, "needle")) == 50, "fifty hits")
        assert len(search(m, "tier:archive")) == 50


@test
def long_lines_and_long_files(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/line", b"x y " * 50000 + b"the needle " + b"z w " * 50000)
        m.make("archive/word", b"x" * 100000 + b"pin" + b"x" * 100000 + b" pin " + b"y" * 100000)
        text = numbered(80000, line_10="first alpha", line_79990="last omega")
        assert len(text) > MIB
        m.make("archive/text", text)
        finds(m, "alpha omega", "archive/text:10", "archive/text:79990")
        finds(m, '"last omega"', "archive/text:79990")
        finds(m, "omega -alpha")
        for word, path in (("needle", "archive/line"), ("pin", "archive/word")):
            (hit,) = eventually(lambda w=word: hits(m, w), f"the long line has {word}")
            assert re.fullmatch(rf"{path}:b\d+-\d+", hit.slice), hit
            found = read(m(hit.slice))
            assert len(found) < 4096 and word.encode() in found, found
            assert word in hit.snippet and len(hit.snippet) < 200, hit


@test
def snippets_are_one_line_of_text(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/a", b"  \t\x1b[31mneedle\xff\tand\rmore  \n")
        m.make("archive/b", b"\xc3\xa9" * 1000 + b" needle " + b"\xc3\xa9" * 1000)
        finds(m, "needle", "archive/a:1", "archive/b")
        assert "archive/a:1: needle? and more" in search(m, "needle and")
        (line,) = [s for s in search(m, "needle") if "archive/b" in s]
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
        # A real file has the name of the slice.
        m.make("archive/taken", b"")
        os.unlink(m("archive/taken"))
        m.make("archive/taken:1", b"something else\n")
        ref = xattr(m.make("archive/taken", b"needle 4\n"), "ref")
        want[4] = f"refs/{ref}:1"
        finds(m, "needle", *want)
        for hit in hits(m, "needle"):
            assert b"needle" in read(m(hit.slice)), hit


# --- Changes --------------------------------------------------------------------------------------


@test
def what_was_just_written_is_found(case):
    with case.mount(SEAL_NEVER) as m:
        for i, tier in enumerate(("cache", "tasks/t/web", "persistent", "archive/web") * 5):
            m.make(f"{tier}/f{i}", numbered(60, line_30=f"needle{i}x"))
            found = hits(m, f"needle{i}x")
            assert len(found) == 1 and has(found[0], f"{tier}/f{i}:30"), search(m, f"needle{i}x")
    with case.mount(SEAL_NEVER) as m:
        with open(m("cache/open"), "wb", buffering=0) as f:
            f.write(b"haystack\n")
            assert has(hits(m, "haystack")[0], "cache/open:1")
            f.write(b"pitchfork\n")
            assert has(hits(m, "pitchfork")[0], "cache/open:2")
        os.unlink(m("cache/open"))
        assert search(m, "haystack") == []


@test
def files_come_and_go(case):
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/web/a", numbered(60, line_30="needle"))
        finds(m, "needle", "cache/web/a:30")
        os.makedirs(m("archive/web"))
        os.rename(path, m("archive/web/a"))
        finds(m, "needle", "archive/web/a:30")
        os.rename(m("archive/web"), m("persistent/pages"))
        finds(m, "needle", "persistent/pages/a:30")
        os.rename(m("persistent/pages"), m("cache/back"))
        finds(m, "needle", "cache/back/a:30")
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


def index_files(case):
    names = [n for n in os.listdir(case.store) if n.startswith("search.db")]
    return [os.path.join(case.store, n) for n in names]


def scribble(path):
    with open(path, "r+b") as f:
        f.seek(4096)
        f.write(b"\xa5" * max(0, os.path.getsize(path) - 4096))


@test(variants={"missing": os.unlink, "damaged": scribble, "empty": lambda p: os.truncate(p, 0)})
def the_index_may_be_lost(case, harm):
    with case.mount(SEAL_SOON) as m:
        for i in range(30):
            m.make(f"archive/{i}", numbered(60, line_30=f"needle number{i}"))
        eventually(lambda: len(hits(m, "needle")) == 30, "all are found")
        m.unmount()
        for again in ("tool", "daemon"):
            for path in index_files(case):
                harm(path)
            if again == "tool":
                done = run(OFFLOAD, "search", "--store", case.store, "number7 needle")
                assert done.stdout.startswith(b"archive/7:30"), done
        m.start()
        finds_first(m, "number7 needle", "archive/7:30")
        eventually(lambda: len(hits(m, "needle")) == 30, "all are found again")


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
                    hit = as_hit(line)
                    assert re.fullmatch(r"(archive/web|persistent)/\d+", hit.path), line
                    assert hit.first <= 20 <= hit.last, line
                    assert hit.snippet.startswith("needle"), line

        in_processes(4, work)
        eventually(lambda: len(search(m, "needle tier:long-term")) == 40, "all are found again")


@test
def a_search_is_no_use_of_a_file(case):
    with case.mount(SEAL_SOON) as m:
        made = [m.make(f"{tier}/a", b"needle " + tier.encode() + b"\n")
                for tier in ("cache", "persistent", "archive")]
        m.wait_sealed(*made)
        for path in made[:2]:
            os.utime(path, (1000, os.stat(path).st_mtime))
        before = [xattr(path, "expires") for path in made]
        finds(m, "needle", "cache/a:1", "persistent/a:1", "archive/a:1")
        finds(m, "+needle -haystack", "cache/a:1", "persistent/a:1", "archive/a:1")
        finds(m, "tier:working", "cache/a:1")
        for path in made[:2]:
            assert os.stat(path).st_atime == 1000
        assert [xattr(path, "expires") for path in made] == before


# --- The working tier -----------------------------------------------------------------------------


@test
def all_of_the_working_tier_is_searched(case):
    with case.mount(SEAL_NEVER) as m:
        m.make("cache/web/a", numbered(40, line_2="apple", line_20="pear", line_38="plum"))
        m.make("tasks/t/web/b",
               numbered(4000, line_2="grape", line_1999="lemon", line_3999="melon"))
        m.make("top", b"kiwi fruit\n")
        for word, want in (("apple", "cache/web/a:2"), ("pear", "cache/web/a:20"),
                           ("plum", "cache/web/a:38"), ("grape", "tasks/t/web/b:2"),
                           ("lemon", "tasks/t/web/b:1999"), ("melon", "tasks/t/web/b:3999"),
                           ("kiwi", "top:1")):
            finds(m, word, want)
        finds(m, "apple plum", "cache/web/a:2", "cache/web/a:38")


@test(variants={"sealed": SEAL_SOON, "draft": SEAL_NEVER})
def a_fact_deep_in_a_long_working_file_is_found(case, seal):
    body = log_text(8 * MIB, 3).splitlines(True)
    facts = {1: "a", len(body) // 2: "b", len(body) - 1: "c"}
    # Also at the boundaries of the blocks that are read at once.
    size = 0
    for i, line in enumerate(body):
        size += len(line)
        if size % (256 * 1024) < len(line) and len(facts) < 12:
            facts[i] = "d" + chr(ord("a") + len(facts))
    for i, name in facts.items():
        body[i] = f"zebra{name} says that the answer is {i}\n".encode()
    with case.mount(seal) as m:
        path = m.make("cache/shell/log", b"".join(body))
        if seal == SEAL_SOON:
            m.wait_sealed(path)
        for i, name in facts.items():
            (hit,) = hits(m, f"what does zebra{name} say?")[:1]
            assert has(hit, f"cache/shell/log:{i + 1}") and f"answer is {i}" in hit.snippet, hit
            assert f"answer is {i}\n".encode() in read(m(hit.slice))


@test
def a_word_across_what_is_read_at_once_is_found(case):
    with case.mount(SEAL_NEVER) as m:
        for i in range(-20, 4):
            start = b"x y\n" * (64 * 1024)
            m.make(f"cache/f{i + 20}", start[: 256 * 1024 + i] + b" frobnicator \n" + start)
        found = files_of(hits(m, "frobnicators"))
        assert len(found) == 24, sorted(found)


@test
def a_scan_that_is_cut_says_so(case):
    with case.mount(SEAL_NEVER, "search_time=20") as m:
        m.make("cache/old/a", b"the needle\n")
        os.utime(m("cache/old/a"), (1, 1))
        body = log_text(MIB, 5) * 100
        for i in range(3):
            m.make(f"cache/new/{i}", body)
        m.make("cache/newest/b", b"a needle\n")
        # The newest file is always found, and so is one that is named.
        lines = search(m, "needle")
        assert lines[0].startswith("cache/newest/b:1: "), lines
        assert lines[-1].startswith(NOTE) and "not searched" in lines[-1], lines
        done = tool(m, "needle")
        assert done.stdout.startswith(b"cache/newest/b:1: ") and NOTE.encode() not in done.stdout
        assert b"not searched" in done.stderr, done
        done = tool(m, "--json", "needle")
        assert all(h["path"].startswith("cache/") for h in json.loads(done.stdout)), done
        finds(m, "needle category:old", "cache/old/a:1")
        finds(m, "needle before:2000-01-01", "cache/old/a:1")
        assert not any(s.startswith(NOTE) for s in search(m, "needle category:old"))


@test
def a_scan_that_meets_no_text_is_cut_as_well(case):
    with case.mount(SEAL_NEVER, "search_time=1") as m:
        m.make("cache/old/a", b"the needle\n")
        os.utime(m("cache/old/a"), (1, 1))
        for i in range(100):
            m.make(f"cache/new/{i}", bytes(MIB // 4))
        assert "not searched" in search(m, "needle")[-1]


# --- Names ----------------------------------------------------------------------------------------


@test
def names_titles_and_tags_are_found_everywhere(case):
    with case.mount(SEAL_SOON) as m:
        tops = ("cache", "persistent", "archive")
        for top in tops:
            m.make(f"{top}/notes/zebra_{top}.txt", f"{top} 1\n2\n3\n4\n5\n6\n7\n".encode())
        paths = [f"{top}/notes/zebra_{top}.txt" for top in tops]
        want = [f"{path}:1" for path in paths]
        finds(m, "zebra", *want)
        finds_first(m, "zebra_cache", want[0])
        finds(m, "+zebra_archive", want[2])
        for path in paths:
            set_label(m(path), "title", "A Striped Horse")
            set_label(m(path), "tags", "quagga,other")
        for query in ('"striped horse"', "quagga", "zebra stri* quagga", "horses with stripes"):
            finds(m, query, *want)
        assert all(h.snippet == "A Striped Horse" for h in hits(m, "quagga"))
        # One term is in the names, the other in the content.
        finds_first(m, "quagga persistent", want[1])
        finds(m, "quagga -horse")
        os.removexattr(m(paths[2]), "user.offload.title")
        finds(m, "horse", *want[:2])


@test(variants={"kept": "archive", "working": "cache"})
def names_weigh(case, tier):
    with case.mount(SEAL_SOON) as m:
        for i in range(20):
            m.make(f"{tier}/{i}", numbered(50, line_20="the invoices of the customer"))
        m.make(f"{tier}/invoices.txt", numbered(50, line_20="the invoices of the customer, too"))
        titled = m.make(f"{tier}/titled", numbered(50, line_20="the list of payments"))
        tagged = m.make(f"{tier}/tagged", numbered(50, line_20="a list of shipments"))
        set_label(titled, "title", "Quarterly report")
        set_label(tagged, "tags", "logistics,harbour")
        finds_first(m, "invoices of the customer", f"{tier}/invoices.txt:20")
        finds_first(m, "payments in the quarterly report", f"{tier}/titled:20")
        finds_first(m, "quarterly reports", f"{tier}/titled")
        finds_first(m, "shipments harbour", f"{tier}/tagged:20")
        finds_first(m, "logistics", f"{tier}/tagged")


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
        for hit in hits(m, "zebra"):
            read(m(hit.slice))


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
        found = {p[-1]: p for p in places}

        def expect(query, files):
            finds(m, query, *[found[f] + ":1" for f in files])

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
            ('tag:x tag:"y z"', "g"),
            ("tag:x tag:nothing", ""),
            ("tag:x tier:archive", "g"),
            ("tag:nothing", ""),
            ("after:2023-11-18", "efg"),
            ("before:2023-11-16", "ab"),
            ("after:2023-11-16T22:13:20Z before:2023-11-18T22:13:20Z", "cd"),
            ("after:1d", ""),
            ("before:1d category:web", "acef"),
        ):
            expect("needle " + query, files)
            expect(query + " what about the needles?", files)
            expect("+needle -haystack " + query, files)
            expect("haystack " + query, "")
            # Filters alone list the newest file first.
            newest = [found[f] for f in sorted(files, reverse=True)]
            finds_in_order(m, query, *newest)
            finds_in_order(m, query + " -haystack", *newest)
        finds_in_order(m, 'tier:archive -"needle 5"', "archive/g")


@test
def a_filter_leaves_what_it_admits_where_others_are_better(case):
    with case.mount(SEAL_SOON) as m:
        for i in range(300):
            m.make(f"archive/many/{i}", f"needle needle needles {i} needle\n".encode())
        m.make("archive/few/a", numbered(50, line_20="a needle"))
        m.make("cache/few/b", numbered(50, line_20="a needle, too"))
        finds(m, "needle category:few", "archive/few/a:20", "cache/few/b:20")


# --- Any query ------------------------------------------------------------------------------------


@test(timeout=180)
def any_text_is_a_query(case):
    with case.mount(SEAL_SOON) as m:
        for tier in ("archive", "cache"):
            m.make(f"{tier}/a", numbered(60, line_30="the needle NEAR AND OR NOT near and rowid"))
        finds(m, "needle", "archive/a:30", "cache/a:30")
        for query in ("needle AND", "AND needle", "needle AND near", "NOT needle", "needle NOT x",
                      "NEAR(needle x, 2)", "needle^2", "^needle", "{a b}: needle", "words:needle",
                      "needle NEAR", "(needle", "needle)", "needle;", "needle\\", "needle'",
                      "'needle'", "' OR 1=1 -- needle", "needle\x01\x1b[31m\x7f", "needle\n\r\v",
                      "needle %s %n", "needle %2F", "needle\u202e", "\ufeffneedle", "ne\u0301edle",
                      "\u00a0needle", "needle\u3000haystack", "+needle*", "needle**", '"needle',
                      'needle"', '""needle""', '"" needle', "needle -", "- needle", "+ needle",
                      "needle | grep", "needle && x", "<needle>", "needle?", "needle" + "!" * 240,
                      "needle " * 36, "a b c d e f g h i j k l m n o p q r s t u v w x y z needle",
                      "needle " + " ".join(f"w{i}" for i in range(60))):
            eventually(lambda q=query: any(h.path == "archive/a" for h in hits(m, q)),
                       lambda q=query: f"{q!r} finds it; {search(m, q)}")  # fmt: skip
        for query in ("the of and", "is", "a", "?", "*", "**", "^", "()", "{}", "%", "\\", "'",
                      "\x01", "\x1b\x7f", "\U0001f600", "\u200b", "\u0301", "n" * 255,
                      "\u7528" * 85, "*" * 255, '"' * 255, "-" * 255, "+ " * 127, "a " * 127):
            for hit in hits(m, query):
                read(m(hit.slice))
            assert len(read(m("search", query))) == os.stat(m("search", query)).st_size
        with raises(errno.EINVAL):
            os.stat(m("search", "+a " * 33))


# --- The tool -------------------------------------------------------------------------------------


def tool(m, *arguments, check=True):
    return run(OFFLOAD, "search", "--dir", m.mnt, *arguments, check=check)


@test
def the_tool_prints_what_is_found(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/a", numbered(20, line_3="a needle", line_4="https://e.org/needle"))
        m.make("archive/empty_needle", b"")
        finds(m, "needle", "archive/a:3", "archive/empty_needle")
        (line,) = tool(m, "a", "+needle").stdout.decode().splitlines()[:1]
        assert has(as_hit(line), "archive/a:3") and line.endswith(": a needle"), line
        line = tool(m, "https://e.org/needle").stdout.decode().splitlines()[0]
        assert has(as_hit(line), "archive/a:4") and line.endswith(": https://e.org/needle"), line
        assert tool(m, "-n", "1", "needle").stdout.count(b"\n") == 1
        first, second = json.loads(tool(m, "--json", "needle -thing").stdout)
        assert first["path"] == "archive/a" and first["from"] <= 3 <= first["to"], first
        assert "needle" in first["snippet"]
        assert second == {"path": "archive/empty_needle", "from": None, "to": None,
                          "snippet": "empty_needle"}, second  # fmt: skip
        for words in ("no such animal", "-needle needle"), ("zebra",):
            done = tool(m, "--", *words, check=False)
            assert (done.returncode, done.stdout, done.stderr) == (1, b"", b""), done
        done = tool(m, "--json", "no such animal", check=False)
        assert (done.returncode, json.loads(done.stdout)) == (1, []), done
        for words, why in (
            (["tier:cache", "x"], b"no tier 'cache'"),
            (["x", "tag:"], b"needs a value"),
            ([""], b"no word to look for"),
            (["?!", "*"], b"no word to look for"),
            (["--", "-x"], b"no word to look for"),
            ([b"x\xff"], b"UTF-8"),
            ([], b"say what to look for"),
            (["-n", "0", "x"], b"'0'"),
        ):
            done = tool(m, *words, check=False)
            assert done.returncode == 2 and not done.stdout, done
            assert done.stderr.startswith(b"offload: search: ") and why in done.stderr, done
            assert done.stderr.count(b"\n") == 1, done


@test
def a_long_query_is_cut_by_the_tool(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/a", b"the needle\n")
        finds(m, "needle", "archive/a:1")
        for query in ("needle " * 9000, "needle " + "/" * 65536, "needle " + "\u7528" * 20000,
                      "needle " + "x y/z " * 10000):
            done = tool(m, query)
            assert done.stdout == b"archive/a:1: the needle\n", done
            assert b"the query is long" in done.stderr and done.stderr.count(b"\n") == 1, done
        for query in ("x" * 65536, "/" * 300 + "x", "\u7528" * 20000):
            done = tool(m, query, check=False)
            assert (done.returncode, done.stdout) == (1, b""), done
        assert tool(m, "needle " + "y" * 248).stderr == b""


@test
def the_tool_says_what_is_no_hit(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/a", b"the needle\n")
        m.make("archive/offloadfs: b", b"a needle in a name like a note\n")
        finds_first(m, "+the needle", "archive/a:1")
        done = tool(m, 'needle "of a zebra"')
        assert done.stdout.count(b"\n") == 2 and b"quotes" in done.stderr, done
        done = tool(m, "--json", "-n", "1", 'needle "of a zebra"')
        assert len(json.loads(done.stdout)) == 1 and b"quotes" in done.stderr, done


@test
def the_tool_searches_a_store_that_is_not_mounted(case):
    with case.mount(SEAL_SOON) as m:
        m.make("archive/a", numbered(60, line_30="needle"))
        m.make("cache/web/b", b"a needle\n")
        m.make("persistent/c", b"several needles\n")
        m.wait_sealed(m("archive/a"))
    done = run(OFFLOAD, "search", "--store", case.store, "needle")
    found = {(h.path, h.snippet) for h in map(as_hit, done.stdout.decode().splitlines())}
    assert found == {("archive/a", "needle"), ("cache/web/b", "a needle"),
                     ("persistent/c", "several needles")}, done.stdout  # fmt: skip
    for words, code in ((["zebra"], 1), (["tier:x"], 2), (["+needle -a", "tier:working"], 1)):
        done = run(OFFLOAD, "search", "--store", case.store, *words, check=False)
        assert done.returncode == code and not done.stdout, done
    done = run(OFFLOAD, "search", "--store", case.path("nowhere"), "needle", check=False)
    assert done.returncode == 2, done


# --- Real results ---------------------------------------------------------------------------------

# (query, text that the file contains, text that the named lines contain)
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
    ("has_close_elements", "threshold", "has_close_elements("),
    ("_convert_pixel_data_without_handler", "Traceback", "_convert_pixel_data_without_handler"),
    ("base_unit.total_seconds()", "marshmallow", "/ base_unit.total_seconds()"),
    ("dt.timedelta(**{self.precision:", "marshmallow", "dt.timedelta(**{self.precision: 1})"),
    ("mypy==0.910", "mypy", '"mypy==0.910"'),
    ("credit_card_4421486", "mia", "credit_card_4421486"),
    ("missing_colon.py", "division", "missing_colon.py"),
    # starts of words
    ("PixelRepresent*", "PixelData", "PixelRepresentation"),
    ("flake8-bugbear==21", "flake8", "flake8-bugbear==21.9.2"),
    ("HATHA* mia_li_3668", "mia_li_3668", '"reservation_id": "HATHA'),
    ("mia.li3818@exam*", "Mia", "mia.li3818@example.com"),
    # questions
    ("why are there not enough seats on the flight?", "Error", "not enough seats on flight"),
    ("which required elements are missing?", "missing", "elements are missing"),
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
