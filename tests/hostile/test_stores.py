#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The attacker has made the store, or can write to it."""
import json
import os
import struct

import paths  # noqa: F401
from chats import generated
from claude import chat
from files import same_tree, snapshot
from harness import NOBODY, OFFLOAD, OFFLOADFS, SLOW, main, read, run, same, test, write

CHAT = json.dumps({"messages": generated(1, size=20_000)}).encode()
STEP = json.dumps({"tool": "bash", "args": {}, "result": "line\n" * 5000}).encode()


def store(c, *settings):
    """Makes a store with content and settings. Returns it and the file its command would make."""
    path, mark = os.path.join(c.home, "store"), os.path.join(c.home, "ran")
    c.offload("put", "--store", path, "-c", "web", "-n", "x", input=b"text\n")
    for name, text in settings:
        write(os.path.join(path, name), text.replace("MARK", mark).encode())
    return path, mark


def uses(c, path):
    """Yields the results of run() for everything that opens a store."""
    for words, given in (
        (["put", "--store", path, "-c", "web"], b"more\n"),
        (["show", "--store", path, "cache/web/x"], b""),
        (["context", "--store", path], CHAT),
        (["reduce", "--store", path], STEP),
        (["search", "--store", path, "text"], b""),
        (["gc", "--store", path], b""),
        (["verify", path], b""),
        (["up", "--store", path], b""),
    ):
        yield c.offload(*words, input=given, check=False)
    mnt = os.path.join(c.home, "mnt")
    os.makedirs(mnt, exist_ok=True)
    yield run(
        OFFLOADFS, "-f", path, mnt, cwd=c.path, env=c.env, check=False, timeout=45 * SLOW
    )


def refused(c, path, mark, *words):
    before = snapshot(path)
    for done in uses(c, path):
        said = done.stderr.decode()
        assert done.returncode != 0, done
        assert said.count("\n") == 1 and all(word in said for word in words), said
    same_tree(snapshot(path), before)
    assert not os.path.exists(mark)


@test(root=True)
def a_store_of_another_user_is_not_used(case):
    with chat(case, False) as c:
        path, mark = store(c, ("config.ini", "redact = off\n"))
        os.chown(path, NOBODY, NOBODY)
        refused(c, path, mark, f"belongs to user {NOBODY}", "trusted_stores")


@test
def a_store_that_others_may_write_to_is_not_used(case):
    with chat(case, False) as c:
        path, mark = store(c)
        for mode in (0o777, 0o770, 0o702):
            os.chmod(path, mode)
            refused(c, path, mark, "others may write", "chmod go-rwx")


PARTS = {
    "journal": 0o777, "packs": 0o770, "index.db": 0o666, "search.db": 0o666, "lock": 0o620,
    "config.ini": 0o666, "remote": 0o775,
}


@test(variants={name: name for name in PARTS})
def a_store_whose_parts_others_may_write_to_is_not_used(case, name):
    with chat(case, False) as c:
        path, mark = store(c, ("config.ini", "redact = on\n"))
        c.offload("search", "--store", path, "text")
        os.mkdir(os.path.join(path, "remote"))
        os.chmod(os.path.join(path, name), PARTS[name])
        c.offload("show", "--store", path, "cache/web/x")  # the directory is closed to others
        os.chmod(path, 0o755)
        refused(c, path, mark, "others may write", "chmod go-rwx", name)


@test(root=True)
def a_store_with_a_part_of_another_user_is_not_used(case):
    with chat(case, False) as c:
        path, mark = store(c)
        os.chmod(path, 0o755)
        os.chown(os.path.join(path, "journal"), NOBODY, NOBODY)
        refused(c, path, mark, "journal", f"belongs to user {NOBODY}", "trusted_stores")


@test(root=True)
def a_store_can_be_trusted(case):
    with chat(case, False) as c:
        path, _ = store(c)
        os.chown(path, NOBODY, NOBODY)
        own = os.path.join(c.home, ".config/offloadfs")
        os.makedirs(own)
        write(os.path.join(own, "trusted_stores"), f"/elsewhere\n{path}\n".encode())
        done = c.offload("slice", "--store", path, "cache/web/x", "1-")
        same(done.stdout, b"text\n")
        os.chmod(os.path.join(own, "trusted_stores"), 0o666)
        done = c.offload("slice", "--store", path, "cache/web/x", "1-", check=False)
        assert done.returncode != 0, "a list that others may write to is none"


@test
def a_command_of_a_store_is_not_run(case):
    with chat(case, False) as c:
        path, mark = store(c, ("context.ini", "[context]\nsummarizer = touch 'MARK'; cat\n"))
        text = json.dumps({"messages": generated(1, size=9000)}).encode()
        for words in (["context", "--mode", "compress"], ["context"]):
            done = c.offload(*words, "--store", path, input=text, check=False)
            said = done.stderr.decode()
            assert done.returncode != 0 and "'summarizer' is not taken from a store" in said, said
        assert not os.path.exists(mark)


@test
def a_command_of_the_user_is_run(case):
    with chat(case, False) as c:
        path, mark = store(c)
        own = os.path.join(c.home, ".config/offloadfs")
        os.makedirs(own)
        setting = f"[context]\nsummarizer = touch '{mark}'; echo all was well\n"
        write(os.path.join(own, "context.ini"), setting.encode())
        text = json.dumps({"messages": generated(1, size=9000)}).encode()
        done = c.offload("context", "--mode", "compress", "--store", path, input=text)
        assert os.path.exists(mark) and b"all was well" in done.stdout


@test
def settings_in_a_folder_that_others_may_write_to_are_not_used(case):
    """Such a folder could contain a link to a file of the user's with content from outside."""
    with chat(case, False) as c:
        path, mark = store(c)
        own, came = os.path.join(c.home, ".config/offloadfs"), os.path.join(c.home, "download")
        os.makedirs(own)
        write(came, f"[context]\nsummarizer = touch '{mark}'; cat\n".encode())
        os.symlink(came, os.path.join(own, "context.ini"))
        words = ("context", "--mode", "compress", "--store", path)
        text = json.dumps({"messages": generated(1, size=9000)}).encode()
        for mode in (0o777, 0o775, 0o1777):
            os.chmod(own, mode)
            done = c.offload(*words, input=text, check=False)
            said = done.stderr.decode()
            assert done.returncode != 0 and f"others may write to '{own}'" in said, said
            assert not os.path.exists(mark)
        os.chmod(own, 0o755)
        c.offload(*words, input=text, check=False)
        assert os.path.exists(mark), "a link that the user made is followed"


@test(root=True, variants={"mount": ".offload", "repository": ".git"})
def a_workspace_is_not_what_another_user_made_above(case, name):
    with chat(case, False) as c:
        shared = os.path.join(c.home, "tmp")
        work = os.path.join(shared, "mine")
        os.makedirs(work)
        os.chmod(shared, 0o1777)
        os.mkdir(os.path.join(shared, name))
        if name == ".git":
            write(os.path.join(shared, ".git/HEAD"), b"ref: refs/heads/main\n")
        for uid, env, workspace in (
            (NOBODY, {}, "mine"), (NOBODY, {"SUDO_UID": str(NOBODY)}, "tmp"), (0, {}, "tmp")
        ):
            os.chown(os.path.join(shared, name), uid, uid)
            data = os.path.join(c.home, f"data-{uid}-{len(env)}")
            run(OFFLOAD, "put", "-c", "web", cwd=work, input=b"text\n",
                env={**c.env, **env, "XDG_DATA_HOME": data})
            (found,) = os.listdir(os.path.join(data, "offloadfs"))
            same(found.rpartition("-")[0], workspace)


# --- Crafted stores -------------------------------------------------------------------------------


def reads(c, path):
    """Yields the results of what one would do to a store from an archive. All of it must end."""
    for words, given in (
        (["doctor", path], b""),
        (["verify", path], b""),
        (["show", "--store", path, "cache/web/x"], b""),
        (["search", "--store", path, "text"], b""),
        (["put", "--store", path, "-c", "web"], b"more\n"),
        (["context", "--store", path], CHAT),
        (["verify", "--repair", path], b""),
    ):
        yield c.offload(*words, input=given, check=False)


NAMES = ["lock", "reserve", "config.ini", "context.ini", "index.db", "index.db-wal",
         "index.db-journal", "search.db", "search.db-wal", "journal/@", "packs/@"]


def replaced(path, name):
    """Removes a file of a store and returns its path. "@" stands for the first file in a folder."""
    if name.endswith("@"):
        folder = os.path.join(path, name[:-2])
        name = os.path.join(name[:-2], os.listdir(folder)[0])
    name = os.path.join(path, name)
    if os.path.lexists(name):
        os.unlink(name)
    return name


@test(variants={name: name for name in NAMES})
def a_link_in_a_store_leads_nowhere(case, name):
    with chat(case, False) as c:
        path, _ = store(c)
        victim = os.path.join(c.home, "victim")
        text = b"diary = mine\nand more\n"
        write(victim, text)
        os.symlink(victim, replaced(path, name))
        for done in reads(c, path):
            said = done.stdout + done.stderr
            assert b"diary" not in said and b"and more" not in said, said
            same(read(victim), text)
        os.unlink(victim)
        for _ in reads(c, path):
            assert not os.path.exists(victim), name


@test(variants={name: name for name in ("journal", "packs", "quarantine")})
def a_folder_of_a_store_is_not_elsewhere(case, name):
    with chat(case, False) as c:
        path, _ = store(c)
        folder, away = os.path.join(path, name), os.path.join(c.home, "away")
        if os.path.exists(folder):
            os.rename(folder, away)
        else:
            os.mkdir(away)
        os.symlink(away, folder)
        before = snapshot(away)
        for _ in reads(c, path):
            same_tree(snapshot(away), before)


@test(variants={name: name for name in NAMES})
def a_pipe_in_a_store_holds_nobody_up(case, name):
    with chat(case, False) as c:
        path, _ = store(c)
        os.mkfifo(replaced(path, name))
        for _ in reads(c, path):
            pass


@test(variants={name: name for name in ("index.db", "search.db")})
def a_journal_of_sqlite_cannot_name_a_file_to_remove(case, name):
    """SQLite would remove the super-journal that a journal names."""
    with chat(case, False) as c:
        path, _ = store(c)
        victim = os.path.join(c.home, "victim")
        write(victim, b"kept\n")
        named, magic = victim.encode(), bytes.fromhex("d9d505f920a163d7")
        head = magic + struct.pack(">IIIII", 0, 0, 1, 512, 4096)
        tail = struct.pack(">I", 0) + named + struct.pack(">II", len(named), sum(named)) + magic
        for words in (["show", "cache/web/x"], ["search", "text"]):
            write(os.path.join(path, f"{name}-journal"), head.ljust(512, b"\0") + tail)
            c.offload(words[0], "--store", path, *words[1:], check=False)
            same(read(victim), b"kept\n")


@test
def a_file_of_nothing_is_not_copied_as_zeros(case):
    with chat(case, False) as c:
        path, _ = store(c)
        os.truncate(os.path.join(path, "index.db"), 1 << 40)
        c.offload("verify", path)


if __name__ == "__main__":
    main()
