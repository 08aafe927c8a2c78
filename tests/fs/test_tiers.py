#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The top-level directory determines the tier; a ref names its file in any tier."""
import errno
import os
import re

from files import STATES, lines, log_text, noise
from harness import SEAL_SOON, main, raises, read, run, same, test, write, xattr

REFUSED = (
    errno.EPERM,
    errno.EACCES,
    errno.EROFS,
    errno.EXDEV,
    errno.EINVAL,
    errno.EBUSY,
    errno.EEXIST,
)
GONE = (errno.ENOENT, errno.EKEYEXPIRED)


def place(path):
    return tuple(xattr(path, name) for name in ("tier", "category", "task"))


def by_ref(m, path):
    return m("refs", xattr(path, "ref"))


# --- Tiers ----------------------------------------------------------------------------------------


@test
def tier_category_and_task_follow_from_the_path(case):
    with case.mount() as m:
        want = {
            "cache/search/x": ("working", "search", None),
            "cache/search/deep/er/x": ("working", "search", None),
            "persistent/reports/x": ("long-term", "reports", None),
            "tasks/t-42/web/x": ("working", "web", "t-42"),
            "tasks/t-42/web/deep/x": ("working", "web", "t-42"),
        }
        paths = {m.make(name, b"x"): expected for name, expected in want.items()}
        for _ in range(2):
            for path, expected in paths.items():
                assert place(path) == expected, f"{path}: {place(path)}"
            m.remount()
        direct = m.make("tasks/t-43/x", b"x")
        assert (xattr(direct, "tier"), xattr(direct, "task")) == ("working", "t-43")
        archived = m.make("archive/web/x", b"x")
        assert place(archived) == ("archive", "web", None)


@test(variants=STATES)
def promotion_keeps_inode_ref_and_content(case, state):
    with state.mount(case) as m:
        data = log_text(30000, 1)
        path = m.make("cache/search/x", data)
        state.settle(m, path)
        ino, ref = os.stat(path).st_ino, xattr(path, "ref")
        same(read(m("refs", ref)), data)
        os.makedirs(m("persistent/reports"))
        run("mv", path, m("persistent/reports/"))
        moved = m("persistent/reports/x")
        for _ in range(2):
            assert (os.stat(moved).st_ino, xattr(moved, "ref")) == (ino, ref)
            assert place(moved) == ("long-term", "reports", None)
            same(read(moved), data)
            same(run("cat", m("refs", ref)).stdout, data)
            assert os.stat(m("refs", ref)).st_ino == ino
            state.settle(m, moved)
        os.rename(moved, m("cache/search/back"))
        assert place(m("cache/search/back")) == ("working", "search", None)
        same(read(m("refs", ref)), data)


@test
def a_whole_directory_is_promoted_by_one_rename(case):
    with case.mount(SEAL_SOON) as m:
        names = [f"d{i % 3}/f{i}" for i in range(30)]
        for name in names:
            m.make(f"cache/search/run/{name}", name.encode())
        before = {
            name: (
                os.stat(m("cache/search/run", name)).st_ino,
                xattr(m("cache/search/run", name), "ref"),
            )
            for name in names
        }
        os.makedirs(m("persistent/reports"))
        os.rename(m("cache/search/run"), m("persistent/reports/run"))
        for _ in range(2):
            for name, (ino, ref) in before.items():
                path = m("persistent/reports/run", name)
                assert (os.stat(path).st_ino, xattr(path, "ref")) == (ino, ref)
                assert place(path) == ("long-term", "reports", None)
                same(read(m("refs", ref)), name.encode())
            m.crash()
        os.rename(m("persistent/reports"), m("persistent/papers"))
        assert place(m("persistent/papers/run/d0/f0")) == ("long-term", "papers", None)


@test
def a_task_is_promoted_out_of_its_directory(case):
    with case.mount() as m:
        path = m.make("tasks/t1/search/x", b"found")
        ref = xattr(path, "ref")
        os.rename(path, m("persistent/x"))
        assert (xattr(m("persistent/x"), "tier"), xattr(m("persistent/x"), "task")) == (
            "long-term",
            None,
        )
        same(read(m("refs", ref)), b"found")
        os.makedirs(m("tasks/t2/web"))
        os.rename(m("persistent/x"), m("tasks/t2/web/x"))
        assert place(m("tasks/t2/web/x")) == ("working", "web", "t2")


@test
def what_the_store_knows_cannot_be_set(case):
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/search/x", b"one\ntwo\n")
        m.wait_sealed(path)
        for name in ("ref", "sha256", "tier", "task", "created", "lines", "stored_bytes"):
            before = xattr(path, name)
            with raises(*REFUSED, errno.EOPNOTSUPP):
                os.setxattr(path, "user.offload." + name, b"7")
            assert xattr(path, name) == before
        assert xattr(path, "lines") == "2"
        listed = os.listxattr(path)
        assert {f"user.offload.{n}" for n in ("ref", "sha256", "tier", "category")} <= set(
            listed
        ), listed
        shown = run("getfattr", "-d", "--absolute-names", path).stdout.decode()
        assert (
            f'user.offload.ref="{xattr(path, "ref")}"' in shown
            and 'user.offload.tier="working"' in shown
        )


# --- The archive ----------------------------------------------------------------------------------


def assert_read_only(path, data):
    for how in ("r+b", "ab", "wb"):
        with raises(errno.EROFS):
            with open(path, how, buffering=0) as f:
                f.write(b"no")
    with raises(errno.EROFS):
        os.truncate(path, 1)
    same(read(path), data)


@test(variants=STATES)
def what_is_sealed_in_the_archive_is_read_only(case, state):
    with state.mount(case) as m:
        data = log_text(30000, 2)
        path = m.make("cache/web/x", data)
        state.settle(m, path)
        ref = xattr(path, "ref")
        os.makedirs(m("archive/web"))
        os.rename(path, m("archive/web/x"))
        path = m("archive/web/x")
        if not state.seals:
            m.remount(SEAL_SOON)
        for _ in range(2):
            m.wait_sealed(path)
            assert place(path) == ("archive", "web", None)
            assert_read_only(path, data)
            assert_read_only(m("refs", ref), data)
            m.crash()
        os.rename(path, m("cache/web/y"))
        with open(m("cache/web/y"), "ab") as f:
            f.write(b"writable again\n")
        same(read(m("refs", ref)), data + b"writable again\n")


@test
def files_can_be_copied_into_the_archive(case):
    data = noise(300000, 3)
    write(case.path("source"), data)
    os.utime(case.path("source"), ns=(10**18, 10**18))
    with case.mount(SEAL_SOON) as m:
        os.makedirs(m("archive/web"))
        run("cp", "-p", case.path("source"), m("archive/web/x"))
        m.wait_sealed(m("archive/web/x"))
        assert_read_only(m("archive/web/x"), data)
        m.remount()
        same(read(m("archive/web/x")), data)
        os.unlink(m("archive/web/x"))
        assert os.listdir(m("archive/web")) == []


# --- Refs -----------------------------------------------------------------------------------------


@test
def refs_are_short_different_and_stable(case):
    with case.mount(SEAL_SOON) as m:
        refs = {}
        for i in range(300):
            path = m.make(f"cache/search/{i}", b"content of %d" % i)
            refs[path] = xattr(path, "ref")
            assert re.fullmatch("[0-9a-z]{1,8}", refs[path]), refs[path]
        assert len(set(refs.values())) == 300
        for again in (m.crash, m.remount):
            again()
            for i, (path, ref) in enumerate(refs.items()):
                assert xattr(path, "ref") == ref
                same(read(m("refs", ref)), b"content of %d" % i)
                assert os.path.samefile(path, m("refs", ref))


@test
def refs_are_not_listed(case):
    with case.mount() as m:
        path = m.make("cache/search/x", b"x")
        assert os.listdir(m("refs")) == []
        read(by_ref(m, path))
        assert os.listdir(m("refs")) == []
        assert run("find", m("refs"), "-mindepth", "1").stdout == b""


@test
def unknown_refs_do_not_exist(case):
    with case.mount() as m:
        m.make("cache/search/x", b"x")
        for ref in (
            "zzzzzzzz",
            "zzzzzz",
            "0",
            "no-ref",
            "UPPER",
            "toolongforaref",
            "k3:1-2",
            ".hidden",
        ):
            with raises(errno.ENOENT):
                os.stat(m("refs", ref))


@test(variants=STATES)
def the_ref_of_a_removed_file_is_not_readable(case, state):
    with state.mount(case) as m:
        path, other = m.make("cache/search/x", b"content"), m.make(
            "cache/search/other", b"replaced"
        )
        state.settle(m, path, other)
        ref, other_ref = by_ref(m, path), by_ref(m, other)
        same(read(ref), b"content")
        same(read(other_ref), b"replaced")
        os.unlink(path)
        os.rename(m.make("cache/search/new", b"new"), other)
        for _ in range(2):
            for gone in (ref, other_ref):
                with raises(*GONE):
                    read(gone)
                with raises(*GONE):
                    os.stat(gone)
            state.settle(m)
        path = m.make("cache/search/x", b"another file")
        with raises(*GONE):
            read(ref)
        same(read(by_ref(m, path)), b"another file")


@test
def a_ref_lives_while_any_name_does(case):
    with case.mount() as m:
        path = m.make("cache/search/x", b"content")
        ref = by_ref(m, path)
        os.link(path, m("cache/search/y"))
        os.unlink(path)
        same(read(ref), b"content")
        assert os.path.samefile(ref, m("cache/search/y"))
        os.unlink(m("cache/search/y"))
        with raises(*GONE):
            read(ref)


@test
def a_ref_is_the_same_file(case):
    with case.mount() as m:
        path = m.make("cache/search/x", b"first\n")
        ref = by_ref(m, path)
        for i in range(5):
            with open(path if i % 2 else ref, "ab") as f:
                f.write(b"%d\n" % i)
            same(read(path), read(ref))
        same(read(path), b"first\n0\n1\n2\n3\n4\n")
        os.truncate(ref, 5)
        assert os.stat(path).st_size == 5


@test
def names_in_refs_cannot_be_made_moved_or_removed(case):
    with case.mount() as m:
        path = m.make("cache/search/x", b"content")
        ref = by_ref(m, path)
        with raises(*REFUSED):
            write(m("refs/mine"), b"")
        with raises(*REFUSED):
            os.mkdir(m("refs/mine"))
        with raises(*REFUSED):
            os.unlink(ref)
        with raises(*REFUSED):
            os.rename(ref, m("cache/search/y"))
        with raises(*REFUSED):
            os.rename(path, m("refs/y"))
        same(read(path), b"content")
        same(read(ref), b"content")


@test(variants=STATES)
def refs_are_sliced_like_their_files(case, state):
    with state.mount(case, "slice_max_lines=0", "slice_max_bytes=0") as m:
        data = log_text(100000, 4)
        path = m.make("cache/search/x", data)
        state.settle(m, path)
        ref = by_ref(m, path)
        for _ in range(2):
            same(read(ref + ":1-5"), lines(data, 1, 5))
            same(run("cat", ref + ":700-").stdout, lines(data, 700))
            same(read(ref + "#L3"), lines(data, 3, 3))
            same(read(ref + ":b10-19"), data[10:20])
            os.makedirs(m("persistent/reports"), exist_ok=True)
            if os.path.exists(path):
                os.rename(path, m("persistent/reports/x"))
        with raises(errno.ERANGE):
            read(ref + ":999999")
        assert os.listdir(m("refs")) == []


main()
