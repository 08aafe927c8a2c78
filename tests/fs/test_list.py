#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`offload list` with a mount and without, and the pages in .offload/list/ that it reads."""
import datetime
import errno
import json
import os
import re

from claude import chat
from files import log_text
from harness import OFFLOAD, main, raises, read, same, test, write, xattr

ORDERS = ["used", "modified", "size", "tokens", "stored", "expires", "path"]
ODD = os.fsdecode(b"odd\nname\x01\xff \"%2F\"*")


def fill(w):
    """Creates files in all tiers; returns {path in the tree: size}."""
    made = {}

    def make(path, data, **attributes):
        full = os.path.join(w.mnt, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        write(full, data)
        for name, value in attributes.items():
            os.setxattr(full, f"user.offload.{name}", value)
        made[path] = len(data)

    make("cache/shell/a.log", log_text(5000, 1), title=b"the build")
    make("cache/web/b.html", b"<html>" + b"x" * 3000, tags=b"red,blue")
    make("tasks/T/shell/c.log", log_text(9000, 2))
    make("tasks/T/d.txt", b"d\n", tags=b"red")
    make("tasks/U/web/e.txt", b"", ttl=b"never")
    make("persistent/notes/f.md", b"# notes\n" * 20, tags=b"blue", important=b"1")
    make("archive/reports/2026/g.txt", b"report\n" * 100)
    make("root.txt", b"at the root\n")
    make(f"cache/{ODD}/{ODD}", b"odd\n")
    for i, path in enumerate(made):
        os.utime(os.path.join(w.mnt, path), (10**9 + i, 10**9 + (i * 7) % 5))
    return made


def listed(w, *words):
    return json.loads(w.offload("list", "--json", *words).stdout)


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def is_same(one, other):
    """
    Compares two answers. Times on the age clock may differ slightly, as another process may round
    differently.
    """
    for f, g in zip(one["files"], other["files"]):
        for name in ("used", "expires"):
            if f[name] and g[name] and abs(seconds(f[name]) - seconds(g[name])) <= 2:
                g[name] = f[name]
    return one == other


def paths(answer):
    return [f["path"] for f in answer["files"]]


FILTERS = {
    "all": [],
    "a tier": ["--tier", "working"],
    "two tiers": ["--tier", "long-term", "--tier", "archive"],
    "a category": ["-c", "shell"],
    "a task": ["-t", "T"],
    "two tasks": ["-t", "T", "-t", "U"],
    "a tag": ["--tag", "red"],
    "two tags": ["--tag", "red", "--tag", "blue"],
    "an age": ["--older", "1h"],
    "a young age": ["--newer", "1h"],
    "several": ["--tier", "working", "-c", "shell", "-t", "T"],
    "a folder": ["tasks/T"],
    "a file": ["tasks/T/d.txt"],
    "a pattern": ["persistent/no*/*", "tasks/?"],
    "a pattern of folders": ["cache/*"],
    "at most": ["-n", "3", "--sort", "size"],
}


@test
def the_mount_and_the_store_say_the_same(case):
    with chat(case, True) as w:
        made = fill(w)
        w.offload("down")
        w.offload("list")  # seals everything, which nothing else would
        w.offload("up")
        before = {name: listed(w, "-s", "path", *words) for name, words in FILTERS.items()}
        orders = {(o, r): paths(listed(w, "--sort", o, *r)) for o in ORDERS for r in ((), ("-r",))}
        w.offload("down")
        for name, words in FILTERS.items():
            there = listed(w, "-s", "path", *words)
            assert is_same(there, before[name]), (name, there, before[name])
        for (order, turned), there in orders.items():
            assert paths(listed(w, "-s", order, *turned)) == there, order
        known = before["all"]
        assert {f["path"]: f["size"] for f in known["files"] if "odd" not in f["path"]} == {
            path: size for path, size in made.items() if "odd" not in path
        }
        assert known["total"]["files"] == len(made) == len(known["files"])
        assert known["total"]["bytes"] == sum(made.values())
        for total, each in (("tokens", "tokens"), ("stored_bytes", "stored_bytes")):
            assert known["total"][total] == sum(f[each] for f in known["files"])
        assert known["total"]["uncounted"] == 0
        assert paths(before["two tiers"]) == ["archive/reports/2026/g.txt", "persistent/notes/f.md"]
        assert paths(before["a category"]) == ["cache/shell/a.log", "tasks/T/shell/c.log"]
        assert paths(before["a task"]) == ["tasks/T/d.txt", "tasks/T/shell/c.log"]
        assert len(before["two tasks"]["files"]) == 3
        assert paths(before["a tag"]) == ["cache/web/b.html", "tasks/T/d.txt"]
        assert paths(before["two tags"]) == ["cache/web/b.html"]
        assert not before["an age"]["files"] and len(before["a young age"]["files"]) == len(made)
        assert paths(before["several"]) == ["tasks/T/shell/c.log"]
        assert paths(before["a folder"]) == paths(before["a task"])
        assert paths(before["a file"]) == ["tasks/T/d.txt"]
        assert len(before["a pattern"]["files"]) == 4
        assert before["a pattern"]["total"]["bytes"] == sum(
            f["size"] for f in before["a pattern"]["files"]
        )
        assert len(before["a pattern of folders"]["files"]) == 3
        assert paths(before["at most"])[0] == "tasks/T/shell/c.log"
        assert len(before["at most"]["files"]) == 3
        assert before["at most"]["total"]["files"] == len(made)


@test
def a_backslash_is_no_escape_in_a_path(case):
    with chat(case, True) as w:
        wanted = ["cache/a\\b", "cache/c"]
        for path in wanted:
            write(os.path.join(w.mnt, path), b"x")
        assert paths(listed(w, "-s", "path", *wanted)) == wanted


@test
def each_order_is_one(case):
    with chat(case, True) as w:
        fill(w)
        keys = {
            "used": lambda f: f["used"],
            "modified": lambda f: f["modified"],
            "size": lambda f: f["size"],
            "tokens": lambda f: f["tokens"],
            "stored": lambda f: f["stored_bytes"],
            "expires": lambda f: f["expires"] or "9",
            "path": lambda f: f["path"].split("/"),
        }
        for order, key in keys.items():
            found = listed(w, "-s", order, "--tier", "working")["files"]
            turned = listed(w, "-s", order, "-r", "--tier", "working")["files"]
            assert sorted(paths({"files": found})) == sorted(paths({"files": turned})), order
            if order == "path":  # shown in another form than sorted by
                continue
            for files, upwards in ((found, order == "expires"), (turned, order != "expires")):
                # Check each listing by itself: a use is shown as "now" until its second is over.
                shown = [key(f) for f in files]
                assert shown == sorted(shown, reverse=not upwards), (order, upwards, shown)


@test
def a_person_reads_it(case):
    with chat(case, True) as w:
        made = fill(w)
        text = w.offload("list").stdout.decode()
        lines = text.splitlines()
        assert len(lines) == len(made) + 1, text
        for line in lines[:-1]:
            assert re.fullmatch(
                r"[0-9a-z]{8} +[\d.]+ (bytes?|KB) +[\d,]+ +\d+[smhd]  "
                r"(kept     |evictable|live     | *\d+[smhd] left)  \S.*",
                line,
            ), line
        assert re.fullmatch(r"9 files, 17.9 KB, [\d,]+ tokens \(\S+ \S+ on disk\)", lines[-1]), lines[-1]
        (built,) = [line for line in lines if "a.log" in line]
        ref = xattr(os.path.join(w.mnt, "cache/shell/a.log"), "ref")
        assert built.startswith(ref) and built.endswith('  cache/shell/a.log  "the build"'), built
        assert "odd^Jname^A\\xff" in text
        assert "[red,blue]" in w.offload("list", "--long", "cache/web").stdout.decode()
        one = w.offload("list", "-n", "1", "-s", "size").stdout.decode()
        assert one.splitlines()[1].startswith("1 of 9 files, "), one
        inside = w.sh(f"cd .offload/cache && {OFFLOAD} list shell")
        outside = w.offload("list", ".offload/cache/shell").stdout
        same(*(re.sub(rb"\d+[smhd]", b"AGE", text) for text in (inside, outside)))
        same(w.offload("list", "--tag", "green").stdout, b"0 files, 0 bytes, 0 tokens (0 bytes on disk)\n")
        w.env["OFFLOAD_TASK"] = "T"
        assert len(listed(w)["files"]) == len(made), "what is read is not narrowed"


@test
def what_is_wrong_is_said(case):
    with chat(case, True) as w:
        for words, code, said in (
            (["nothing/here"], 1, "no such file or folder: 'nothing/here'"),
            (["views"], 1, "'views' has no files"),
            (["--tier", "wrong"], 2, "there is no tier 'wrong'"),
            (["--older", "soon"], 2, "'older:soon' is not a time"),
            (["--sort", "colour"], 2, "'colour' is not a known order"),
            (["-n", "0"], 2, "'0' is not a count of files"),
            (["--tag", "x" * 300], 2, "too long together"),
            (["../.."], 1, "leads out of the tree"),
            (["/etc"], 1, "is not in the tree"),
        ):
            done = w.offload("list", *words, check=False)
            assert done.returncode == code and said in done.stderr.decode(), (words, done.stderr)
            assert not done.stdout and done.stderr.count(b"\n") == 1, done


def pages(m, request):
    """Reads all pages; returns their files, and the sums of the first page."""
    found, sums, position = [], None, ""
    while True:
        name = request + (f" from:{position}" if position else "")
        head, *files = read(m(".offload/list", name)).splitlines()
        head = json.loads(head)
        if "files" in head:
            sums = sums or head
        found += [json.loads(f) for f in files]
        position = head["next"]
        if not position:
            return found, sums


@test(timeout=120)
def pages_hold_each_file_once_while_files_come_and_go(case):
    with case.mount() as m:
        count = 5000
        for folder in range(10):
            os.makedirs(m(f"cache/c{folder}"))
        for i in range(count):
            write(m(f"cache/c{i % 10}/{i:05}"), b"x" * (i % 97 + 1))
        for order in ("size", "path", "used"):
            found, sums = pages(m, f"sort:{order} page:700")
            assert len(found) == sums["files"] == count
            assert len({f["ref"] for f in found}) == count
        whole, _ = pages(m, "sort:path")
        assert [f["path"] for f in whole] == sorted(f["path"] for f in whole)

        def interrupted(order, forget):
            """Changes much during a listing. With `forget`, also drops the gathered list."""
            head, *files = read(m(".offload/list", f"sort:{order} page:1000")).splitlines()
            position = json.loads(head)["next"]
            shown = [json.loads(f)["ref"] for f in files]
            last = json.loads(files[-1])["path"]
            for f in whole[::9]:
                if f["path"] != last and os.path.exists(m(f["path"])):
                    os.unlink(m(f["path"]))
            for f in whole[1::9]:
                write(m(f["path"]), b"y" * 200)
            for i in range(200):
                write(m(f"cache/c3/new-{order}-{forget}-{i}"), b"z" * i)
            if forget:
                for i in range(9):
                    read(m(".offload/list", f"sort:{order} page:{i + 1}"))
            while position:
                name = f"sort:{order} page:1000 from:{position}"
                head, *files = read(m(".offload/list", name)).splitlines()
                position = json.loads(head)["next"]
                shown += [json.loads(f)["ref"] for f in files]
            assert len(shown) == len(set(shown)), order
            return set(shown)

        for forget in (False, True):
            for order in ("size", "path"):
                quiet = {f["ref"] for f in whole[2::9]}
                assert quiet <= interrupted(order, forget), "what does not change is all there"


@test
def names_in_the_folder_are_requests(case):
    with case.mount() as m:
        m.make("cache/web/a", b"a\n")
        assert os.listdir(m(".offload/list")) == []
        for name in ("word", "sort:x", "max:0", "from:1.2", "tier:x", "below:%00", "below:%zz",
                     "sort:size -word", "from:zz.1.1", "older:x", "tag:"):  # fmt: skip
            with raises(errno.EINVAL):
                read(m(".offload/list", name))
        with raises(errno.ENOENT):
            read(m(".offload/list", "below:no%2Fsuch"))
        with raises(errno.EACCES, errno.EROFS):
            write(m(".offload/list", "sort:size"), b"x")
        assert json.loads(read(m(".offload/list", "below:cache%2Fweb")).splitlines()[1])["path"] == "cache/web/a"


@test
def tokens_are_those_of_the_attribute(case):
    with chat(case, True) as w:
        made = fill(w)
        big = os.path.join(w.mnt, "cache/shell/big")
        write(big, log_text(400_000, 3))
        shown = {f["ref"]: f["tokens"] for f in listed(w)["files"]}
        drafts = {f: xattr(os.path.join(w.mnt, f), "tokens") for f in made}
        for path in made:
            full = os.path.join(w.mnt, path)
            assert shown[xattr(full, "ref")] == int(drafts[path]), path
        w.offload("down")
        w.offload("up")
        for path in made:
            assert xattr(os.path.join(w.mnt, path), "tokens") == drafts[path], path
        assert {f["ref"]: f["tokens"] for f in listed(w)["files"]} == shown


main()
