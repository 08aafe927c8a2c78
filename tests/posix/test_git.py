#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A git repository in the mount: commits, garbage collection, clones, remounts and kills."""
import os

from programs import program, source_tree

from harness import SEAL_NEVER, main, run, same, test, write

AT_ONCE = "seal_delay=0"
NAME = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]


class Repository:
    def __init__(self, path, *clone):
        self.path = path
        program("git")
        if clone:
            run("git", *NAME, "clone", "-q", *clone, path)
        else:
            run("git", "init", "-q", "-b", "main", path)

    def __call__(self, *words):
        return run("git", "-C", self.path, *NAME, *words).stdout

    def commit(self, message):
        self("add", "-A")
        self("commit", "-q", "-m", message)

    def head(self):
        return self("rev-parse", "HEAD")

    def check_clean(self):
        """What git recorded of each file (inode, times, size) holds, and objects are sound."""
        self("diff-files", "--quiet")
        same(self("status", "--porcelain"), b"")
        self("fsck", "--strict", "--full", "--no-dangling")


def merged(repo):
    """Commits, branches and merges. Returns the head."""
    repo.commit("first")
    repo("switch", "-q", "-c", "topic")
    for name in ("src/store/ops.c", "docs/TESTING.md"):
        with open(os.path.join(repo.path, name), "ab") as f:
            f.write(b"one more line\n")
    repo("mv", "src/tree", "src/wood")
    repo.commit("on a branch")
    repo("switch", "-q", "main")
    os.unlink(os.path.join(repo.path, "src/offloadfs.c"))
    write(os.path.join(repo.path, "new.txt"), b"new\n")
    repo.commit("on main")
    repo("merge", "-q", "--no-edit", "topic")
    assert os.path.isdir(os.path.join(repo.path, "src/wood"))
    assert not os.path.exists(os.path.join(repo.path, "src/offloadfs.c"))
    return repo.head()


@test(timeout=180, variants={"sealed_at_once": AT_ONCE, "never_sealed": SEAL_NEVER})
def a_repository_is_worked_on(case, delay):
    with case.mount(delay) as m:
        path = m("persistent/work/repo")
        source_tree(path)
        repo = Repository(path)
        head = merged(repo)
        repo.check_clean()
        write(os.path.join(path, "new.txt"), b"not yet\n")
        repo("stash", "-q")
        repo("stash", "pop", "-q")
        same(repo("diff", "--name-only"), b"new.txt\n")
        repo("restore", "new.txt")
        m.remount()
        repo.check_clean()
        repo("gc", "-q", "--prune=now")
        m.crash()
        repo.check_clean()
        same(repo.head(), head)


@test(timeout=180)
def a_repository_is_cloned_within_the_mount_and_out_of_it(case):
    with case.mount(AT_ONCE) as m:
        path = m("persistent/work/repo")
        source_tree(path)
        repo = Repository(path)
        head = merged(repo)
        linked = Repository(m("cache/clones/linked"), path)  # its objects are hard links
        objects = [p for p in _objects(linked.path) if os.stat(p).st_nlink > 1]
        assert objects, "no object of a local clone is a hard link"
        copied = Repository(m("tasks/t1/clone"), "--no-local", path)
        outside = Repository(case.path("outside"), path)
        for clone in (linked, copied, outside):
            clone.check_clean()
            same(clone.head(), head)
        write(os.path.join(outside.path, "back.txt"), b"and back\n")
        outside.commit("outside")
        outside("push", "-q", "origin", "HEAD:refs/heads/outside")
        repo("merge", "-q", "--ff-only", "outside")
        repo("worktree", "add", "-q", m("cache/clones/tree"), "topic")
        m.remount()
        repo.check_clean()
        same(repo.head(), outside.head())
        repo("worktree", "remove", m("cache/clones/tree"))


def _objects(path):
    for folder, _, names in os.walk(os.path.join(path, ".git/objects")):
        yield from (os.path.join(folder, name) for name in names)


main()
