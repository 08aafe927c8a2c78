#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The attacker is a symbolic link that content or a workspace has put in the way."""
import os

import paths  # noqa: F401
from claude import chat
from files import log_text
from harness import main, read, run, test, write

TEXT = log_text(9000, 1)


def outside(case):
    folder = case.path("outside")
    os.mkdir(folder)
    return folder


def refused(done, *words):
    said = done.stderr.decode()
    assert done.returncode != 0 and said.startswith("offload: "), (done.returncode, said)
    assert said.count("\n") == 1 and all(word in said for word in words), said
    assert b"ref" not in done.stdout, done.stdout


@test
def nothing_is_stored_through_a_link_out_of_the_tree(case):
    with chat(case, True) as c:
        away = outside(case)
        write(os.path.join(away, "there"), TEXT)
        os.symlink(away, os.path.join(c.mnt, "cache/web"))
        os.symlink(away, os.path.join(c.mnt, "tasks/t"))
        for words in (
            ["put", "-c", "web"],
            ["put", "-c", "web", "-n", "named"],
            ["put", "-c", "web", "-n", "there"],
            ["put", "--task", "t"],
        ):
            done = c.offload(*words, input=TEXT, check=False)
            refused(done, "symbolic link")
        done = c.offload("run", "-c", "web", "--", "cat", os.path.join(away, "there"), check=False)
        assert b"[offloaded]" not in done.stdout, done.stdout
        fetched = c.event("WebFetch", {"url": "http://x"}, {"result": TEXT.decode()}, session_id="t")
        answer, said = c.hook(fetched)
        assert answer is None and "symbolic link" in said, said
        assert os.listdir(away) == ["there"]


@test
def a_link_to_a_file_is_not_taken_for_a_deposit(case):
    with chat(case, True) as c:
        away = outside(case)
        write(os.path.join(away, "there"), TEXT)
        os.mkdir(os.path.join(c.mnt, "cache/web"))
        os.symlink(os.path.join(away, "there"), os.path.join(c.mnt, "cache/web/named"))
        refused(c.offload("put", "-c", "web", "-n", "named", input=TEXT, check=False))
        assert os.listdir(away) == ["there"]


@test
def steps_and_histories_do_not_lead_out_of_the_tree(case):
    with chat(case, True) as c:
        away = outside(case)
        task = os.path.join(c.mnt, "tasks/t")
        os.mkdir(task)
        os.symlink(away, os.path.join(task, "history"))
        step = b'{"tool": "bash", "args": {"command": "x"}, "result": "y"}'
        refused(c.offload("reduce", "-t", "t", input=step, check=False), "history")
        assert os.listdir(away) == []


@test
def an_operand_may_be_a_link_within_the_tree_and_not_out_of_it(case):
    with chat(case, True) as c:
        away = outside(case)
        write(os.path.join(away, "there"), TEXT)
        c.offload("put", "-c", "web", "-n", "in", input=TEXT)
        path = "cache/web/in"
        os.symlink("in", os.path.join(c.mnt, "cache/web/near"))
        os.symlink(os.path.join(away, "there"), os.path.join(c.mnt, "cache/web/far"))
        for name in ("cache/web/near", os.path.join(c.mnt, "cache/web/near"), "views/recent"):
            if name == "views/recent":
                found = os.listdir(os.path.join(c.mnt, name))
                name = os.path.join(name, found[0])
            assert path.encode() in c.offload("show", name).stdout, name
        for name in ("cache/web/far", os.path.join(c.mnt, "cache/web/far")):
            refused(c.offload("show", name, check=False), "far")
            refused(c.offload("promote", name, check=False), "far")
        assert read(os.path.join(away, "there")) == TEXT


@test
def a_mountpoint_that_is_a_link_is_not_followed(case):
    with chat(case, False) as c:
        away = outside(case)
        os.symlink(away, c.mnt)
        for words in (["up"], ["put", "-c", "x"], ["search", "x"], ["down"]):
            refused(c.offload(*words, input=TEXT, check=False), "symbolic link", "--dir")
        os.unlink(c.mnt)
        assert os.listdir(away) == []


@test
def the_exclude_file_of_git_is_not_reached_through_a_link(case):
    with chat(case, False) as c:
        away = outside(case)
        victim = os.path.join(away, "exclude")
        write(victim, b"kept\n")
        git = os.path.join(c.path, ".git")
        write(os.path.join(git, "HEAD"), b"ref: refs/heads/main\n")
        os.mkdir(os.path.join(git, "objects"))
        os.mkdir(os.path.join(git, "refs"))
        info = os.path.join(git, "info")
        for link, target in ((info, away), (os.path.join(info, "exclude"), victim)):
            if link != info:
                os.unlink(info)
                os.mkdir(info)
            os.symlink(target, link)
            said = c.offload("up").stderr.decode()
            assert "git will show" in said and said.count("\n") == 1, said
            c.offload("down")
            assert read(victim) == b"kept\n" and os.listdir(away) == ["exclude"]
        os.unlink(os.path.join(info, "exclude"))
        os.mkfifo(os.path.join(info, "exclude"))
        c.offload("up")
        c.offload("down")


@test
def a_workspace_cannot_write_lines_of_its_own_into_the_exclude_file(case):
    with chat(case, False) as c:
        run("git", "init", "-q", c.path)
        exclude = os.path.join(c.path, ".git/info/exclude")
        before = read(exclude)
        for name in ("a\n*\nb", "a\r*"):
            inner = os.path.join(c.path, name)
            os.makedirs(os.path.join(inner, ".offload"))
            said = c.offload("up", inner).stderr.decode()
            assert "git will show" in said and said.count("\n") == 1, said
            c.offload("down", inner)
            assert read(exclude) == before
        for name in ("#a", "!b", " c ", "d*[e]?\\"):
            inner = os.path.join(c.path, name)
            os.makedirs(os.path.join(inner, ".offload"))
            c.offload("up", inner)
            write(os.path.join(inner, "kept"), b"")
            shown = run("git", "status", "--porcelain", "-uall", "-z", cwd=c.path).stdout.decode()
            c.offload("down", inner)
            assert f"?? {name}/kept\0" in shown and "/.offload" not in shown, shown


@test
def settings_of_a_workspace_are_not_written_through_a_link(case):
    with chat(case, False) as c:
        away = outside(case)
        victim = os.path.join(away, "settings.json")
        write(victim, b"{}\n")
        folder = os.path.join(c.path, ".claude")
        for link, target in ((folder, away), (os.path.join(folder, "settings.json"), victim)):
            if link != folder:
                os.unlink(folder)
                os.mkdir(folder)
            os.symlink(target, link)
            done = c.offload("hook", "install", "claude-code", "--yes", "--project", check=False)
            refused(done, "link out of the workspace")
            assert read(victim) == b"{}\n" and os.listdir(away) == ["settings.json"]


if __name__ == "__main__":
    main()
