#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tool's commands for a file's lifecycle: promote, archive, pin, unpin, task, gc, stats, show.
"""
import contextlib
import os
import re

from clock import DAY, HOUR, Clock
from files import log_text, same_tree, snapshot
from harness import (
    OFFLOAD,
    SEAL_NEVER,
    SEAL_SOON,
    Mount,
    eventually,
    main,
    read,
    run,
    same,
    test,
    write,
    xattr,
)
from tool import MOUNTED, Tool, tool

GONE = 3  # exit code of show


def text(size, seed):
    """Returns exactly `size` bytes of lines."""
    return log_text(size + 1000, seed)[: size - 1] + b"\n"


def ref_of(path):
    return xattr(path, "ref")


# --- promote and archive --------------------------------------------------------------------------


@test(variants=MOUNTED)
def promote_moves_files_and_refs_follow(case, mounted):
    with case.mount(SEAL_SOON) as m:
        one = ref_of(m.make("cache/web/page", text(5000, 1)))
        two = ref_of(m.make("tasks/t/shell/out", text(5000, 2)))
        three = ref_of(m.make("note", b"note\n"))
        with tool(m, mounted) as offload:
            assert offload("promote", one, "tasks/t/shell/out", "note") == [
                f"{one}  persistent/web/page  (was cache/web/page)",
                f"{two}  persistent/shell/out  (was tasks/t/shell/out)",
                f"{three}  persistent/general/note  (was note)",
            ]
            assert offload("promote", one) == [f"{one}  persistent/web/page  (was there already)"]
            assert offload("promote", "-c", "notes", "-n", "new", f"refs/{one}") == [
                f"{one}  persistent/notes/new  (was persistent/web/page)"
            ]
            assert offload("archive", two) == [
                f"{two}  archive/shell/out  (was persistent/shell/out)"
            ]
        same(read(m("refs", one)), text(5000, 1))
        same(read(m("persistent/notes/new")), text(5000, 1))
        same(read(m("archive/shell/out")), text(5000, 2))
        assert not os.path.exists(m("cache/web/page"))
        assert xattr(m("persistent/notes/new"), "category") == "notes"


@test(variants=MOUNTED)
def promote_tells_in_json(case, mounted):
    with case.mount(SEAL_SOON) as m:
        ref = ref_of(m.make("cache/web/page", b"page\n"))
        with tool(m, mounted) as offload:
            got = offload.json("promote", "--tag", "a,b", "cache/web/page", "cache/web/no", code=1)
        assert got == {
            "files": [
                {
                    "ref": ref,
                    "path": "persistent/web/page",
                    "was": "cache/web/page",
                    "category": "web",
                    "tags": "a,b",
                    "moved": True,
                }
            ],
            "failed": 1,
        }, got


@test
def paths_are_understood_as_in_a_shell(case):
    with case.mount(SEAL_SOON) as m:
        for name in "abc":
            m.make(f"cache/web/{name}", b"x\n")
        folder = m("cache/web")
        done = run(OFFLOAD, "promote", "a", "./b", m("cache/web/c"), cwd=folder)
        assert len(done.stdout.splitlines()) == 3, done.stdout
        assert sorted(os.listdir(m("persistent/web"))) == ["a", "b", "c"]
        link = os.path.join(m("views/by-category/web"), os.listdir(m("views/by-category/web"))[0])
        assert len(run(OFFLOAD, "archive", link).stdout.splitlines()) == 1
        assert len(os.listdir(m("archive/web"))) == 1


@test(variants=MOUNTED)
def directories_move_whole(case, mounted):
    with case.mount(SEAL_SOON) as m:
        for i in range(20):
            m.make(f"cache/shell/run/{i % 3}/{i}", text(500, i))
        before = snapshot(m("cache/shell/run"))
        m.make("cache/web/page", b"page\n")
        with tool(m, mounted) as offload:
            assert offload("promote", "--tag", "kept", "cache/shell/run") == [
                "-  persistent/shell/run  (was cache/shell/run)"
            ]
            assert offload("archive", "cache/web") == ["-  archive/web/web  (was cache/web)"]
        same_tree(snapshot(m("persistent/shell/run")), before)
        assert xattr(m("persistent/shell/run/1/1"), "tags") == "kept"
        assert xattr(m("archive/web/web/page"), "category") == "web"


@test(variants=MOUNTED)
def nothing_is_replaced(case, mounted):
    with case.mount(SEAL_SOON) as m:
        m.make("persistent/web/same", b"same\n")
        m.make("persistent/web/other", b"one\n")
        m.make("cache/web/same", b"same\n")
        m.make("cache/web/other", b"two\n")
        before = snapshot(m("cache")), snapshot(m("persistent"))
        with tool(m, mounted) as offload:
            offload.refuses("promote", "cache/web/same", saying="with the same content")
            assert "-n" in offload.said
            offload.refuses("promote", "--tag", "t", "cache/web/other", saying="other content")
        assert (snapshot(m("cache")), snapshot(m("persistent"))) == before
        assert xattr(m("cache/web/other"), "tags") is None
        with tool(m, mounted) as offload:
            offload("promote", "-n", "second", "cache/web/other")
        same(read(m("persistent/web/second")), b"two\n")


@test
def drafts_are_compared_by_their_bytes(case):
    with case.mount(SEAL_NEVER) as m:
        m.make("persistent/web/x", text(200000, 1))
        m.make("cache/web/x", text(200000, 1))
        offload = Tool(case, True)
        offload.refuses("promote", "cache/web/x", saying="with the same content")
        with open(m("cache/web/x"), "r+b") as f:
            f.seek(199000)
            f.write(b"#")
        offload.refuses("promote", "cache/web/x", saying="with other content")


@test(variants=MOUNTED)
def tags_add_up(case, mounted):
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/web/x", b"x\n")
        os.setxattr(path, "user.offload.tags", b"a,b")
        with tool(m, mounted) as offload:
            offload("archive", "--tag", "b, c", "cache/web/x")
            offload("archive", "--tag", "d", "archive/web/x")
            offload.refuses("promote", "--tag", "e/f", "archive/web/x", saying="e/f")
            offload.refuses(
                "promote", "--tag", "x" * 200 + "," + "y" * 4000, "archive/web/x", code=2
            )
        assert xattr(m("archive/web/x"), "tags") == "a,b,c,d"
        assert os.listdir(m("views/by-tag/c"))


@test(variants=MOUNTED)
def what_cannot_be_moved_stays(case, mounted):
    with case.mount(SEAL_SOON) as m:
        ref = ref_of(m.make("cache/web/x", b"x\n"))
        write(case.path("outside"), b"mine\n")
        os.symlink(case.path("outside"), m("cache/web/link"))
        with tool(m, mounted) as offload:
            for what in ("cache", "tasks", "persistent", "refs", "views", "README.md"):
                offload.refuses("promote", what)
            for what in (".offload/status.json", f"refs/{ref}:1-1", "cache/web/x:info"):
                offload.refuses("promote", what)
            for what in ("000000", "cache/web/none", "", "../store", "cache/../../outside"):
                offload.refuses("promote", what)
            offload.refuses("pin", "cache/web/link")
            offload.refuses("promote", code=2)
            offload.refuses("promote", "-c", "a/b", ref, code=2)
            offload.refuses("promote", "-n", "a/b", ref, code=2)
            offload.refuses("promote", "-n", "a", ref, "cache/web/y", code=2)
            offload.refuses("promote", "--tag", "", ref, code=2)
            # A failing one does not prevent the others.
            assert offload("promote", "cache/web/none", ref, code=1) == [
                f"{ref}  persistent/web/x  (was cache/web/x)"
            ]
        assert os.listxattr(case.path("outside")) == []


# --- pin and unpin --------------------------------------------------------------------------------


@test(variants=MOUNTED)
def pin_marks_files_as_important(case, mounted):
    with case.mount(SEAL_SOON) as m:
        one = ref_of(m.make("cache/shell/one", b"1\n"))
        two = ref_of(m.make("cache/shell/dir/two", b"2\n"))
        os.symlink("two", m("cache/shell/dir/link"))
        os.mkdir(m("cache/empty"))
        with tool(m, mounted) as offload:
            assert offload("pin", one) == [f"{one}  cache/shell/one  pinned"]
            assert offload("pin", "cache/shell") == [
                f"{two}  cache/shell/dir/two  pinned",
                f"{one}  cache/shell/one  pinned",
            ]
            got = offload.json("unpin", two, "000000", code=1)
            assert got == {
                "files": [{"ref": two, "path": "cache/shell/dir/two", "important": False}],
                "failed": 1,
            }, got
            offload.refuses("pin", code=2)
            offload.refuses("pin", "README.md")
            offload.refuses("pin", "cache/empty", saying="no file")
        assert xattr(m("cache/shell/one"), "important") == "1"
        assert xattr(m("cache/shell/dir/two"), "important") == "0"


@test
def the_whole_tree_is_not_pinned_at_once(case):
    with case.mount(SEAL_SOON) as m:
        m.make("cache/shell/one", b"1\n")
        Tool(case, True).refuses("pin", case.mnt, saying="whole tree")
        assert xattr(m("cache/shell/one"), "important") == "0"


# --- stats ----------------------------------------------------------------------------------------


@test(variants=MOUNTED)
def stats_are_those_of_the_status(case, mounted):
    with case.mount(SEAL_SOON) as m:
        m.wait_sealed(m.make("cache/web/x", text(40000, 1)), m.make("persistent/y", b"y\n"))
        with tool(m, mounted) as offload:
            status = offload.json("stats")
            assert status["content"]["files"] == 2
            assert status["content"]["bytes"] == 40002
            assert (status["mountpoint"] == case.mnt) == mounted
            lines = offload("stats")
            labels = [line.split()[0] for line in lines]
            for label in ("store", "mounted", "state", "files", "stored", "saved"):
                assert label in labels, lines
            assert any(re.search(r"2 files, 40\.0 KB", line) for line in lines), lines
            # Only a collection counts the working tier.
            assert not any("0 files" in line for line in lines if "working" in line), lines
            offload("gc")
            if mounted:
                found = "  working   1 file, 40.0 KB"
                eventually(lambda: found in "\n".join(offload("stats")), "it is counted")
                assert any("  others    1 file, 2 bytes" in line for line in offload("stats"))
            offload.refuses("stats", "x", code=2)


@test
def stats_of_nothing(case):
    Tool(case, False).refuses("stats", saying="nothing was offloaded here yet")
    assert not os.path.exists(case.store)


# --- Tasks, collections and removed files ---------------------------------------------------------


# The longest interval, so that all removals happen in requested collections and are reported there.
SELDOM = f"gc_interval={DAY * 1000}"


@contextlib.contextmanager
def living(case, *options):
    """Yields a mount on a Clock, which collects only on request for the first day, and its Tool."""
    clock = Clock(case)
    with Mount(case, case.store, case.mnt, (SELDOM, "grace=0") + options) as m:
        clock.start(m)
        yield m, clock, Tool(case, True)


def collect_until(offload, clock, paths, seconds=20):
    """
    Lets time pass and collects until these files are gone; returns {path: item} of all removed.
    """
    told = {}

    def step():
        clock.pass_time(HOUR)
        for item in offload.json("gc")["items"]:
            if item["action"] == "remove":
                told[item["path"]] = item
        return set(paths) <= set(told)

    eventually(step, f"{paths} are removed", seconds)
    return told


@test(variants=MOUNTED)
def tasks_are_listed_and_shown(case, mounted):
    with living(case, SEAL_SOON) as (m, _, _):
        ref = ref_of(m.make("tasks/beta/shell/x", text(1000, 1)))
        m.make("tasks/beta/y", b"y\n")
        m.make("tasks/alpha/z", b"z\n")
        m.make("tasks/no-task", b"")
        with tool(m, mounted) as offload:
            assert offload("task") == offload("task", "list") == [
                "alpha  live  1 file  2 bytes",
                "beta  live  2 files  1,002 bytes",
            ]
            assert offload.json("task")["tasks"][1] == {
                "name": "beta",
                "state": "live",
                "files": 2,
                "bytes": 1002,
            }
            lines = offload("task", "show", "beta")
            assert lines[0].startswith(f"tasks/beta/shell/x  {ref}  1,000 bytes  "), lines
            assert len(lines) == 2
            shown = offload.json("task", "show", "beta")
            assert [f["path"] for f in shown["files"]] == ["tasks/beta/shell/x", "tasks/beta/y"]
            assert shown["state"] == "live" and all(f["lifecycle"] for f in shown["files"])
            for words in (["done", "gamma"], ["show", "no-task"], ["reopen", "../cache"]):
                offload.refuses("task", *words, saying="there are: alpha, beta")
            for words in (["what"], ["show"], ["list", "x"], ["show", "beta", "x"]):
                offload.refuses("task", *words, code=2)
            offload.refuses("task", "show", "--dry-run", "beta", code=2)


@test
def without_tasks_that_is_said(case):
    with living(case) as (_, _, offload):
        assert offload("task") == []
        offload.refuses("task", "done", "t", saying="nor any other")


@test(timeout=120)
def task_done_drops_what_was_not_kept(case):
    with living(case, SEAL_SOON) as (m, clock, offload):
        m.make("tasks/t/shell/goes", text(1000, 1))
        m.make("tasks/t/shell/pinned", text(1000, 2))
        kept = ref_of(m.make("tasks/t/shell/promoted", text(1000, 3)))
        m.make("tasks/u/shell/other", text(1000, 4))
        offload("pin", "tasks/t/shell/pinned")
        offload("promote", kept)
        lines = offload("task", "done", "--dry-run", "t")
        assert any(line.startswith("would ") and "goes (1.0 KB)" in line for line in lines), lines
        assert any(line.startswith("would promote tasks/t/shell/pinned (") for line in lines), lines
        assert not any("other" in line or "shell/promoted" in line for line in lines), lines
        assert xattr(m("tasks/t"), "state") == "live"
        lines = offload("task", "done", "t")
        assert lines[-1].startswith("offload: task 't' is done: "), lines
        assert any("tasks/t/shell/pinned (1.0 KB) to persistent/shell/pinned" in x for x in lines)
        if not any(line.startswith("removed tasks/t/shell/goes") for line in lines):
            collect_until(offload, clock, ["tasks/t/shell/goes"])
        assert not os.path.exists(m("tasks/t"))
        assert sorted(os.listdir(m("persistent/shell"))) == ["pinned", "promoted"]
        same(read(m("refs", kept)), text(1000, 3))
        offload("task", "done", "u")


@test
def a_task_that_was_used_again_is_reopened(case):
    with living(case, SEAL_SOON) as (m, clock, offload):
        m.make("tasks/t/reports/used", text(1000, 1))
        os.setxattr(m("tasks/t"), "user.offload.state", b"done")
        clock.pass_time(HOUR)
        read(m("tasks/t/reports/used"))
        offload("gc")
        assert xattr(m("tasks/t"), "state") == "done"
        offload("task", "reopen", "t")
        assert xattr(m("tasks/t"), "state") == "live"


@test(timeout=120)
def gc_tells_what_goes_and_why(case):
    with living(case, SEAL_SOON) as (m, clock, offload):
        ref = ref_of(m.make("cache/shell/x", text(4200, 1)))
        m.make("cache/shell/pinned", text(100, 2))
        m.make("persistent/notes/kept", text(100, 3))
        offload("pin", "cache/shell/pinned")
        lines = offload("gc")
        assert len(lines) == 1 and "nothing to remove" in lines[0], lines
        assert re.search(r"the next file can go at \d{4}-\d\d-\d\dT", lines[0]), lines
        clock.pass_time(HOUR)
        dry = offload("gc", "--dry-run")
        assert any("cache/shell/x (4.2 KB): " in line for line in dry), dry
        assert os.path.exists(m("persistent/notes/kept"))
        told = collect_until(offload, clock, ["cache/shell/x"])
        assert told["cache/shell/x"]["ref"] == ref and told["cache/shell/x"]["size"] == 4200
        assert os.listdir(m("cache/shell")) == ["pinned"]
        assert offload.json("stats")["lifecycle"]["expired"] >= 1
        lines = offload("stats")
        assert any(line.startswith("expired") for line in lines), lines
        assert any(line.startswith("  working") for line in lines), lines
        for words in (["x"], ["--what"]):
            offload.refuses("gc", *words, code=2)


@test(variants=MOUNTED, timeout=120)
def what_is_gone_is_told(case, mounted):
    with living(case, SEAL_SOON) as (m, clock, offload):
        path = m.make("cache/shell/x", text(4200, 1))
        m.wait_sealed(path)
        ref, sha = ref_of(path), xattr(path, "sha256")
        os.setxattr(path, "user.offload.title", b"the title")
        collect_until(offload, clock, ["cache/shell/x"])
        with tool(m, mounted) as offload:
            for name in (ref, f"refs/{ref}"):
                lines = offload("show", name, code=GONE)
                assert lines[0].startswith(f"{ref} was cache/shell/x, 4,200 bytes, "), lines
                assert "it was removed at 20" in lines[0] and "(expired)" in lines[0], lines
                assert any(sha in line for line in lines), lines
                assert any(line.endswith("the title") for line in lines), lines
            got = offload.json("show", ref, code=GONE)
            assert got["gone"] is True and got["ref"] == ref and got["size"] == 4200, got
            assert got["sha256"] == sha and got["reason"] == "expired" and got["why"], got
            offload.refuses("slice", ref, "1-2", saying="was cache/shell/x, 4,200 bytes")
            offload.refuses("promote", ref, saying="was cache/shell/x, 4,200 bytes")


@test(variants=MOUNTED)
def what_is_evictable_is_told(case, mounted):
    clock = Clock(case)
    with clock.start(Mount(case, case.store, case.mnt, (SELDOM, SEAL_SOON))) as m:
        m.make("cache/shell/x", text(4200, 1))
        m.make("tasks/t/shell/y", text(4200, 2))
        m.make("cache/web/z", text(100, 3))
        clock.pass_time(HOUR)
        offload = Tool(case, True)
        offload("gc")
        life = {p: xattr(m(p), "lifecycle") for p in ("cache/shell/x", "tasks/t/shell/y")}
        time_form = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"
        assert re.fullmatch(
            f"evictable since {time_form}: stays while there is room, goes after {time_form} "
            "unless it is used",
            life["cache/shell/x"],
        ), life
        assert re.fullmatch(
            f"kept: its task is live, until {time_form} at least", life["tasks/t/shell/y"]
        ), life
        assert f"lifecycle  {life['cache/shell/x']}" in offload("show", "cache/shell/x")
        assert re.search(
            r"pressure    begins at .*: .* now, .* of it evictable \(1 file\)",
            "\n".join(offload("stats")),
        )
        with tool(m, mounted) as offload:
            plain, full = offload("gc", "--dry-run"), offload("gc", "--dry-run", "-v")
            said = "offload: nothing to remove; 1 evictable (4.2 KB, while there is room), 2 kept; "
            assert len(plain) == 1 and plain[0].startswith(said), plain
            # The removal time may differ by a second.
            assert full[1].startswith(said), full
            assert re.fullmatch(
                r"evictable cache/shell/x \(4\.2 KB\): unused for .*, its lifetime is 30m; "
                f"goes after {time_form} unless it is used",
                full[0],
            ), full
            told = offload.json("gc", "--dry-run")
            assert told["evictable"] == 1 and told["evictable_bytes"] == 4200, told
            assert [i["action"] for i in told["items"]] == ["evictable"], told


@test(variants=MOUNTED)
def show_says_what_becomes_of_a_file(case, mounted):
    with living(case, SEAL_SOON) as (m, _, _):
        m.make("cache/shell/x", b"x\n")
        m.make("persistent/y", b"y\n")
        with tool(m, mounted) as offload:
            for name in ("cache/shell/x", "persistent/y"):
                lines = offload("show", name)
                got = offload.json("show", name)
                assert got["lifecycle"] and got["used"].startswith("20"), got
                assert f"lifecycle  {got['lifecycle']}" in lines, lines
                # The time of use is "now" until a second after a change.
                assert any(line.startswith("used       20") for line in lines), lines


if __name__ == "__main__":
    main()
