#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Promoted files remember their origin; promotion at the end of a task and by rules."""
import contextlib
import errno
import os

from clock import DAY, MINUTE, Clock
from harness import (
    OFFLOAD,
    SEAL_SOON,
    Mount,
    eventually,
    main,
    raises,
    read,
    run,
    test,
    write,
    xattr,
)
from tool import MOUNTED, Tool, tool

SELDOM = f"gc_interval={DAY * 1000}"  # only on request


def configured(case, text):
    os.makedirs(case.store, mode=0o700, exist_ok=True)
    write(os.path.join(case.store, "config.ini"), text.encode())
    os.chmod(case.store, 0o700)


def origin(path):
    return xattr(path, "origin_task"), xattr(path, "origin_category")


def actions(done):
    return {i["path"]: (i["action"], i["to"]) for i in done["items"]}


# --- Origin ---------------------------------------------------------------------------------------


@test
def mv_keeps_what_a_file_was_made_as(case):
    with case.mount(SEAL_SOON) as m:
        m.make("tasks/t/shell/log", b"made in a task\n")
        m.make("tasks/whole/web/page", b"of a whole one\n")
        m.make("cache/web/other", b"made in none\n")
        assert os.listdir(m("views/by-task")) and origin(m("tasks/t/shell/log")) == (None, None)
        os.rename(m("tasks/t/shell/log"), m("persistent/log"))
        os.rename(m("tasks/whole"), m("archive/whole"))
        os.rename(m("cache/web/other"), m("persistent/other"))
        for _ in range(2):
            assert origin(m("persistent/log")) == ("t", "shell")
            assert origin(m("archive/whole/web/page")) == ("whole", "web")
            assert origin(m("persistent/other")) == (None, "web")
            assert xattr(m("persistent/log"), "category") == "shell"
            assert xattr(m("archive/whole/web/page"), "category") == "web"
            assert b'"origin_task": "t"' in read(m("persistent/log:info"))
            [link] = os.listdir(m("views/by-task/t"))
            assert read(m("views/by-task/t", link)) == b"made in a task\n"
            assert len(os.listdir(m("views/by-task/whole"))) == 1
            assert len(os.listdir(m("views/by-category/web"))) == 2
            found = read(m("search/made task:t")).decode()
            assert found.startswith("persistent/log:") and len(found.splitlines()) == 1, found
            assert "archive/whole" in read(m("search/whole task:whole category:web")).decode()
            names = os.listxattr(m("persistent/log"))
            assert "user.offload.origin_task" in names and "user.offload.origin" not in names
            for name in ("origin", "origin_task"):
                with raises(errno.EOPNOTSUPP):
                    os.setxattr(m("persistent/log"), "user.offload." + name, b"x")
            os.path.exists(m("tasks/t/shell")) and os.removedirs(m("tasks/t/shell"))
            m.remount(SEAL_SOON)
        m.unmount()
        shown = Tool(case, False).json("show", "persistent/log")
        assert (shown["origin_task"], shown["origin_category"]) == ("t", "shell")


@test(variants=MOUNTED)
def promote_marks(case, mounted):
    with case.mount(SEAL_SOON) as m:
        m.make("tasks/t/shell/log", b"x\n")
        with tool(m, mounted) as offload:
            offload("promote", "-c", "notes", "tasks/t/shell/log")
        assert origin(m("persistent/notes/log")) == ("t", "shell")


# --- The end of a task ----------------------------------------------------------------------------


def make_task(m):
    m.make("tasks/t/reports/final.md", b"a report\n")
    m.make("tasks/t/shell/a.log", b"a\n")
    m.make("tasks/t/shell/deep/b.log", b"b\n")
    m.make("tasks/t/web/page", b"w\n")
    m.make("tasks/t/web/pinned", b"p\n")
    os.setxattr(m("tasks/t/web/pinned"), "user.offload.important", b"1")


FOREVER = {
    "tasks/t/reports/final.md": ("promote", "persistent/reports/final.md"),
    "tasks/t/web/pinned": ("promote", "persistent/web/pinned"),
}
LEFT = ["tasks/t/shell/a.log", "tasks/t/shell/deep/b.log", "tasks/t/web/page"]


@test(variants=MOUNTED)
def what_never_expires_is_promoted(case, mounted):
    with case.mount(SEAL_SOON, SELDOM) as m:
        make_task(m)
        want = FOREVER | {p: ("remove", None) for p in LEFT}
        with tool(m, mounted) as offload:
            for words in (["--dry-run"], []):
                done = offload.json("task", "done", "t", *words)
                assert actions(done) == want, done
                assert (done["promoted"], done["removed"], done["kept"]) == (2, 3, 0)
        assert not os.path.exists(m("tasks/t"))
        assert origin(m("persistent/web/pinned")) == ("t", "web")


@test(variants=MOUNTED)
def keep_names_more(case, mounted):
    with case.mount(SEAL_SOON, SELDOM) as m:
        make_task(m)
        m.make("persistent/shell/a.log", b"older\n")
        want = FOREVER | {
            "tasks/t/shell/a.log": ("promote", "persistent/shell/a-2.log"),
            "tasks/t/shell/deep/b.log": ("promote", "persistent/shell/b.log"),
            "tasks/t/web/page": ("remove", None),
        }
        keep = ["--keep", "*.log", "--keep", "web/pinned"]
        with tool(m, mounted) as offload:
            offload("task", "done", "t", *keep, "--keep", "shell/*.txt", code=1)
            assert "--keep 'shell/*.txt' matches nothing in 'tasks/t'; there are: reports/final" in (
                offload.said
            )
            for words in (["--dry-run"], []):
                done = offload.json("task", "done", "t", *keep, *words)
                assert actions(done) == want, done
                assert done["items"][0]["why"] == "it matches --keep '*.log'"
        assert read(m("persistent/shell/a.log")) == b"older\n"
        assert read(m("persistent/shell/a-2.log")) == b"a\n"
        assert origin(m("persistent/shell/b.log")) == ("t", "shell")
        assert not os.path.exists(m("tasks/t"))


@test(variants=MOUNTED)
def drop_all_keeps_what_is_named_alone(case, mounted):
    with case.mount(SEAL_SOON, SELDOM) as m:
        make_task(m)
        with tool(m, mounted) as offload:
            for words in (["--dry-run"], []):
                done = offload.json("task", "done", "t", "--drop-all", "--keep", "shell/", *words)
                assert {p for p, (a, _) in actions(done).items() if a == "promote"} == {
                    "tasks/t/shell/a.log",
                    "tasks/t/shell/deep/b.log",
                }, done
                assert (done["promoted"], done["removed"], done["kept"]) == (2, 3, 0)
        assert os.listdir(m("persistent")) == ["shell"] and not os.path.exists(m("tasks/t"))


@test
def it_says_what_became_of_each(case):
    with case.mount(SEAL_SOON, SELDOM) as m:
        make_task(m)
        offload = Tool(case)
        for words in (["show", "t"], ["list"], ["reopen", "t"]):
            for option in (["--drop-all"], ["--keep", "x"], ["--dry-run"]):
                offload("task", *words, *option, code=2)
        lines = offload("task", "done", "t")
        assert (
            "promoted tasks/t/reports/final.md (9 bytes) to persistent/reports/final.md: "
            "its task has ended, and it never expires"
        ) in lines, lines
        assert lines[-1] == (
            "offload: task 't' is done: 2 files promoted, 3 files removed, 6 bytes; 0 kept"
        ), lines


@test
def the_kernel_is_told_of_both_names(case):
    """The kernel had cached that the new name is absent and that the old one exists."""
    with case.mount(SEAL_SOON, SELDOM) as m:
        make_task(m)
        for path in ("persistent/reports", "persistent/reports/final.md", "persistent/web"):
            assert not os.path.exists(m(path))
        with open(m("tasks/t/web/pinned"), "rb") as held:
            assert os.listdir(m("persistent")) == []
            Tool(case)("task", "done", "t")
            eventually(lambda: os.path.exists(m("persistent/reports/final.md")), "the new name")
            eventually(lambda: os.path.exists(m("persistent/web/pinned")), "the new name")
            eventually(lambda: not os.path.exists(m("tasks/t/web/pinned")), "the old name went")
            assert sorted(os.listdir(m("persistent"))) == ["reports", "web"]
            assert held.read() == b"p\n"


# --- Rules ----------------------------------------------------------------------------------------


@test
def a_rule_at_the_end_of_a_task(case):
    configured(case, "[promote]\nmatch = shell/*.log, tag:decision\n")
    with case.mount(SEAL_SOON, SELDOM) as m:
        make_task(m)
        os.setxattr(m("tasks/t/web/page"), "user.offload.tags", b"decision")
        config = read(m(".offload/config.ini")).decode()
        assert "[promote]\n" in config and "match = shell/*.log, tag:decision\n" in config
        done = Tool(case).json("task", "done", "t")
        assert done["promoted"] == 5 and done["removed"] == 0, done
        assert os.path.exists(m("persistent/web/page"))


@test(timeout=120)
def a_rule_by_reads(case):
    configured(case, "[promote]\nmatch = notes/*\nwhen = after 3 reads\n")
    clock = Clock(case)
    with Mount(case, case.store, case.mnt, (SEAL_SOON,)) as m:
        clock.start(m)
        m.make("cache/notes/plan", b"a plan\n")
        m.make("cache/web/page", b"a page\n")

        def occasion():
            clock.pass_time(2 * MINUTE)
            read(m("cache/web/page"))
            with contextlib.suppress(FileNotFoundError):
                read(m("cache/notes/plan"))
            return os.path.exists(m("persistent/notes/plan"))

        m.wait_sealed(m("cache/notes/plan"))
        for _ in range(2):
            assert not occasion()
        # The kernel drops what was read a moment later; until then further reads are not seen.
        eventually(occasion, "it is promoted")
        # The kernel is told of the old name a moment later.
        eventually(lambda: not os.path.exists(m("cache/notes/plan")), "the old name is gone")
        assert origin(m("persistent/notes/plan")) == (None, "notes")
        assert os.path.exists(m("cache/web/page"))


WRONG = {
    "match": ("match = reports", "match = 'reports': must be patterns separated by commas, each "),
    "when": ("when = later", "when = 'later': must be 'task done', or 'after N reads' with N from"),
    "key": ("mach = a/b", "unknown key 'mach': did you mean 'match'?"),
    "twice": ("match = a/b\nmatch = c/d", "'match' is set twice, first in line 2: keep one"),
}


@test(variants=WRONG)
def a_wrong_rule_is_refused(case, wrong):
    text, words = wrong
    configured(case, f"[promote]\n{text}\n")
    done = run(OFFLOAD, "stats", "--store", case.store, check=False, cwd="/")
    line = 1 + len(text.splitlines())
    said = done.stderr.decode()
    assert done.returncode and f"config.ini:{line}: {words}" in said, said


main()
