#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Agents' trees with the tool: --agent and OFFLOAD_AGENT with every command; list, show, done."""
import contextlib
import errno
import json
import os

from harness import OFFLOAD, SLOW, Skip, main, read, run, test, xattr

MOUNTED = {"mounted": True, "unmounted": False}
LONG = b"".join(b"line %d of the output\n" % n for n in range(3000))


class Tool:
    """`offload` on one store, mounted or not."""

    def __init__(self, case, mounted):
        self.store, self.mnt, self.mounted = case.store, case.mnt, mounted
        self.env = {**os.environ, "OFFLOAD_STORE": case.store}
        for name in ("OFFLOAD_DIR", "OFFLOAD_AGENT", "OFFLOAD_TASK"):
            self.env.pop(name, None)
        self.cwd = case.dir

    def __call__(self, *words, agent=None, check=True, **options):
        env = {**self.env, "OFFLOAD_AGENT": agent} if agent is not None else self.env
        options = {"cwd": self.cwd, "env": env, "timeout": 45 * SLOW, **options}
        return run(OFFLOAD, *words, check=check, **options)

    def text(self, *words, **options):
        return self(*words, **options).stdout.decode()

    def json(self, *words, **options):
        return json.loads(self(*words, "--json", **options).stdout)


@contextlib.contextmanager
def tool(case, mounted):
    with case.mount() if mounted else contextlib.nullcontext():
        if not mounted:
            case.mount().unmount()
        yield Tool(case, mounted)


def said(done, *words):
    text = done.stderr.decode()
    for word in words:
        assert word in text, (word, text)
    assert text.count("\n") == 1, text


# --- Each command ---------------------------------------------------------------------------------


@test(variants=MOUNTED)
def commands_work_on_the_agent_s_tree(case, mounted):
    with tool(case, mounted) as offload:
        top = offload.json("put", input=LONG)
        mine = offload.json("put", "-c", "shell", "--agent", "a", input=LONG + b"zebra\n")
        deep = offload.json("put", "-t", "t", agent="a/b", input=LONG + b"lion\n")
        refs = [top["ref"], mine["ref"], deep["ref"]]
        root = offload.mnt + "/agents/a/" if mounted else ""
        assert mine["path"].startswith(root + "cache/shell/"), mine
        for agent, name in ((None, "a"), ("a", None)):
            words = ("--agent", name) if name else ()
            assert "cache/shell/" in offload.text("show", mine["ref"], *words, agent=agent)
            assert offload.text("slice", mine["ref"], "3001", *words, agent=agent) == "zebra\n"
            found = offload.text("search", "zebra", *words, agent=agent)
            assert found.startswith("cache/shell/"), found
            done = offload("show", refs[0], *words, agent=agent, check=False)
            assert done.returncode == 1 and not done.stdout, done
            said(done, "no file has the ref")
            # An agent learns where a file of its own sub-agent is.
            inner = offload.json("show", deep["ref"], *words, agent=agent)
            assert deep["path"].endswith(inner["path"]), inner
        for query, agent in (("zebra", "a/b"), ("lion", "c")):
            nothing = offload("search", query, agent=agent, check=False)
            assert nothing.returncode in (1, 2) and not nothing.stdout, nothing
        assert offload.text("slice", deep["ref"], "3001") == "lion\n"
        assert offload.json("task", "list", agent="a/b")["tasks"][0]["name"] == "t"
        assert offload.json("task", "list", agent="a")["tasks"] == []
        offload("promote", "-c", "notes", mine["ref"], agent="a")
        moved = offload.json("show", mine["ref"], agent="a")
        assert moved["tier"] == "long-term", moved
        # Archived from above, by its path, it stays in its tree.
        offload("archive", "agents/a/agents/b/" + deep["path"].split("agents/b/")[-1])
        kept = offload.json("show", deep["ref"], agent="a/b")
        assert kept["tier"] == "archive", kept
        assert offload.json("stats", agent="a/b")["content"]["files"] == 1


@test
def pointers_name_what_works_for_who_reads_them(case):
    with tool(case, True) as offload:
        pointer = offload.text("put", "-c", "shell", agent="a/b", input=LONG)
        (path,) = [w.split(":")[0] for w in pointer.split() if "/refs/" in w]
        assert path.startswith(offload.mnt + "/agents/a/agents/b/refs/"), pointer
        assert read(path) == LONG
        keep = pointer.split("keep it: offload ")[1].splitlines()[0].split()
        offload(*keep)
        assert xattr(path, "tier") == "long-term"
        done = offload("run", "--agent", "a", "--", "seq", "5000")
        assert offload.mnt + "/agents/a/refs/" in done.stdout.decode(), done


@test
def pointers_inside_are_those_of_the_mount(case):
    with tool(case, True) as offload:
        done = offload("agent", "run", "a", "--", OFFLOAD, "put", input=LONG)
        (path,) = [w.split(":")[0] for w in done.stdout.decode().split() if "/refs/" in w]
        assert path.startswith(offload.mnt + "/refs/"), done
        assert offload("agent", "run", "a", "--", "cat", path).stdout == LONG
        ref = os.path.basename(path)
        assert read(f"{offload.mnt}/agents/a/refs/{ref}") == LONG


@test(variants=MOUNTED)
def an_agent_is_made_by_what_stores_and_missed_by_what_reads(case, mounted):
    with tool(case, mounted) as offload:
        for words in (("show", "k3f9x2"), ("search", "word"), ("stats",), ("task", "list")):
            done = offload(*words, agent="new", check=False)
            assert done.returncode and not done.stdout, done
            said(done, "no agent 'new'")
        assert offload.json("agent", "list")["agents"] == []
        offload("put", input=LONG, agent="new")
        assert [a["name"] for a in offload.json("agent", "list")["agents"]] == ["new"]


@test(variants=MOUNTED)
def names_that_are_none(case, mounted):
    with tool(case, mounted) as offload:
        for name in (".", "..", "a/..", "a//b", "/a", "a/", "a\nb", "x" * 256):
            done = offload("put", "--agent", name, input=LONG, check=False)
            assert done.returncode == 1 and done.stdout == LONG, (name, done)
            said(done, "--agent", "names no agent")
            said(offload("stats", agent=name, check=False), "OFFLOAD_AGENT", "names no agent")
        done = offload("stats", "--agent", "", check=False)
        assert done.returncode == 1, done
        assert offload("stats", agent="").returncode == 0


@test
def links_in_the_place_of_an_agent_are_not_followed(case):
    with tool(case, True) as offload:
        os.makedirs(case.path("elsewhere/cache"))
        offload("put", input=LONG, agent="a")
        try:
            os.symlink(case.path("elsewhere"), offload.mnt + "/agents/a/agents/evil")
        except OSError as e:
            assert e.errno in (errno.EPERM, errno.EACCES, errno.EINVAL), e
            return
        done = offload("put", agent="a/evil", input=LONG, check=False)
        assert done.returncode == 1 and done.stdout == LONG, done
        assert os.listdir(case.path("elsewhere/cache")) == []


@test
def the_hook_works_in_the_agent_s_tree(case):
    event = {
        "session_id": "s",
        "cwd": case.dir,
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "make"},
        "tool_response": {"stdout": LONG.decode(), "stderr": "", "interrupted": False},
    }
    with tool(case, True) as offload:
        done = offload("hook", "claude-code", agent="a", input=json.dumps(event).encode())
        assert offload.mnt + "/agents/a/refs/" in done.stdout.decode(), done
        done = offload("hook", "claude-code", agent="../a", input=json.dumps(event).encode())
        assert not done.stdout and done.returncode == 0, done
        said(done, "OFFLOAD_AGENT")


@test
def what_is_of_the_whole_store_takes_no_notice(case):
    with tool(case, True) as offload:
        offload("verify", agent="nobody-there")
        offload("doctor", agent="nobody-there", check=False)


# --- list, show, done -----------------------------------------------------------------------------


def fill(offload):
    """
    Creates three agents, one inside another, each with a kept file, a pinned one and one of the
    working tier.
    """
    for agent in ("a", "a/b", "c"):
        for n, name in enumerate(("goes", "pinned", "kept")):
            offload("put", "-c", "shell", "-n", name, agent=agent, input=LONG + b"%d" % n)
        offload("pin", "cache/shell/pinned", agent=agent)
        offload("promote", "cache/shell/kept", agent=agent)


@test(variants=MOUNTED)
def each_has_its_log(case, mounted):
    def log(event, agent=None):
        lines = offload.text("log", "--json", "--event", event, agent=agent).splitlines()
        return [json.loads(line)["path"] for line in lines]

    with tool(case, mounted) as offload:
        fill(offload)
        assert log("promote", "a/b") == ["persistent/shell/kept"]
        assert log("promote", "a") == ["persistent/shell/kept", "agents/b/persistent/shell/kept"]
        assert log("promote")[2:] == ["agents/c/persistent/shell/kept"]
        said(offload("log", agent="nobody-there", check=False), "nobody-there")
        offload("agent", "done", "a/b", "--drop-all")
        assert log("agent-end", "a") == log("agent-remove", "a") == ["agents/b"]
        assert log("agent-end") == log("agent-remove") == ["agents/a/agents/b"]
        assert not log("agent-end", "c")


@test(variants=MOUNTED)
def listing_and_showing(case, mounted):
    with tool(case, mounted) as offload:
        assert offload.text("agent") == ""
        fill(offload)
        listed = offload.json("agent", "list")["agents"]
        assert [a["name"] for a in listed] == ["a", "a/b", "c"], listed
        for each in listed:
            assert each["files"] == 3 and each["bytes"] == 3 * len(LONG) + 3, each
            assert each["used"].endswith("Z"), each
        assert [a["name"] for a in offload.json("agent", "list", agent="a")["agents"]] == ["b"]
        lines = offload.text("agent").splitlines()
        assert lines[1].startswith("a/b  ") and "3 files" in lines[1], lines
        shown = offload.json("agent", "show", "a/b")
        paths = [f["path"] for f in shown["files"]]
        tree = "agents/a/agents/b/"
        assert paths == [tree + "cache/shell/goes", tree + "cache/shell/pinned",
                         tree + "persistent/shell/kept"], paths
        said(offload("agent", "show", "x", check=False), "no agent 'x'")
        assert offload("agent", "show", check=False).returncode == 2
        assert offload("agent", "end", "a", check=False).returncode == 2
        assert offload("agent", "show", "a", "--dry-run", check=False).returncode == 2


def need_states(offload):
    if offload.json("agent", "list")["agents"][0]["state"] is None:
        raise Skip("agents have no state here")


@test(variants=MOUNTED)
def the_end_of_an_agent(case, mounted):
    with tool(case, mounted) as offload:
        fill(offload)
        would = offload.json("agent", "done", "a", "--dry-run")
        actions = {i["path"].split("/")[-1]: i["action"] for i in would["items"]}
        assert actions == {"goes": "remove", "pinned": "promote", "kept": "keep"}, would
        assert offload.json("agent", "list")["agents"][0]["files"] == 3
        need_states(offload)
        done = offload.json("agent", "done", "a")
        actions = {i["path"].split("/")[-1]: i["action"] for i in done["items"]}
        assert actions["goes"] == "remove" and actions["kept"] != "remove", done
        assert "goes" not in str(offload.json("agent", "show", "a"))
        assert "persistent/shell/kept" in str(offload.json("agent", "show", "a"))
        assert offload.json("agent", "show", "c")["state"] == "live"


@test(variants=MOUNTED)
def the_end_of_an_agent_with_all_that_it_has(case, mounted):
    with tool(case, mounted) as offload:
        fill(offload)
        would = offload.json("agent", "done", "a", "--drop-all", "--dry-run")
        assert would["removed"] == 6 and would["kept"] == 0, would
        need_states(offload)
        done = offload.json("agent", "done", "a", "--drop-all")
        assert done["removed"] == 6 and done["kept"] == 0, done
        assert [a["name"] for a in offload.json("agent", "list")["agents"]] == ["c"]


if __name__ == "__main__":
    main()
