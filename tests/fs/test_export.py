#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""offload export and import: memory in an archive returns with its names, origin and refs."""
import errno
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile

from harness import OFFLOAD, SEAL_SOON, Skip, eventually, main, raises, read, run, test, write, xattr
from tool import MOUNTED, Tool, tool

MANIFEST = ".offload-export.json"
ODD = "odd \u00fc\n\x1b[31mname"
RAW = b"raw\xff"


def fill(m):
    """Creates a task with every kind of entry; returns {path: ref} of its files."""
    m.make("tasks/T/shell/log", b"ran\n" * 100)
    m.make("tasks/T/notes/n", b"a note\n")
    m.make("tasks/T/" + ODD, b"odd\n")
    with open(os.path.join(os.fsencode(m("tasks/T")), RAW), "wb") as f:
        f.write(b"raw\n")
    m.make("tasks/T/history/step_1.json", b'{"step": 1, "outcome_ref": "tasks/T/notes/n"}\n')
    os.makedirs(m("tasks/T/empty"))
    os.symlink("notes/n", m("tasks/T/link"))
    os.link(m("tasks/T/notes/n"), m("tasks/T/twin"))
    m.make("tasks/T/void")
    with open(m("tasks/T/sparse"), "wb") as f:
        f.truncate(40 << 20)
        os.pwrite(f.fileno(), b"island", 20 << 20)
    os.setxattr(m("tasks/T/notes/n"), "user.offload.tags", b"one,two")
    os.setxattr(m("tasks/T/notes/n"), "user.offload.title", b"What it is")
    os.setxattr(m("tasks/T/shell/log"), "user.offload.ttl", b"3d")
    os.setxattr(m("tasks/T/shell/log"), "user.own", b"\x00\xff")
    os.chmod(m("tasks/T/shell/log"), 0o640)
    os.utime(m("tasks/T/notes/n"), ns=(0, 1234567890123456789))
    for kept in ("persistent/found/p", "archive/old/a"):
        m.make("tasks/T/web/" + os.path.basename(kept), os.fsencode(kept))
        os.makedirs(m(os.path.dirname(kept)))
        os.rename(m("tasks/T/web", os.path.basename(kept)), m(kept))
    m.make("persistent/found/other", b"of no task\n")


def described(top):
    """Describes the memory of a tree: {path: content, mode, time, ref and attributes}."""
    result = {}
    for start in ("cache", "tasks", "persistent", "archive"):
        for place, dirs, files in os.walk(os.path.join(top, start)):
            for name in dirs + files:
                path = os.path.join(place, name)
                st = os.lstat(path)
                entry = [oct(st.st_mode)]
                if os.path.islink(path):
                    entry += [os.readlink(path)]
                elif os.path.isfile(path):
                    entry += [st.st_size, hashlib.sha256(read(path)).hexdigest(), st.st_mtime_ns]
                    entry += [st.st_nlink] + [
                        xattr(path, a)
                        for a in ("ref", "ttl", "important", "tags", "title", "category")
                        + ("origin_task", "origin_category", "task")
                    ]
                result[os.path.relpath(path, top)] = entry
    return result


def differences(a, b):
    return {k: (a.get(k), b.get(k)) for k in a.keys() | b.keys() if a.get(k) != b.get(k)}


def second(case, mounted=True, *options):
    """Returns (mount or None, tool) of a second store, which is mounted beside the first or not."""
    os.makedirs(case.path("mnt2"), exist_ok=True)
    t = Tool(case, True)
    if mounted:
        m = case.mount(SEAL_SOON, *options, store=case.path("store2"), mnt=case.path("mnt2"))
        t.where = ["-d", case.path("mnt2")]
        return m, t
    t.where = ["--store", case.path("store2")]
    return None, t


# --- Round trips ----------------------------------------------------------------------------------


@test(variants=MOUNTED)
def a_task_comes_back_in_another_store(case, mounted):
    archive = case.path("T.tar.zst")
    with case.mount(SEAL_SOON) as m:
        fill(m)
        before = {k: v for k, v in described(case.mnt).items() if k != "persistent/found/other"}
        with tool(m, mounted) as t:
            done = t.json("export", "--task", "T", archive)
            assert done["files"] == 9 and done["links"] == 2, done
    m2, t2 = second(case, True)
    with m2:
        if not mounted:
            m2.unmount()
            _, t2 = second(case, False)
        done = t2.json("import", archive)
        assert done["imported"] == 11 and not done["refs"], done
        if not mounted:
            m2.start()
            _, t2 = None, Tool(case)
            t2.where = ["-d", case.path("mnt2")]
        after = described(case.path("mnt2"))
        unequal = differences(before, after)
        assert not {k: v for k, v in unequal.items() if k not in ("persistent/found", "archive/old")}, unequal
        assert os.stat(m2("tasks/T/sparse")).st_blocks < 4096
        ref = xattr(m2("tasks/T/notes/n"), "ref")
        assert read(m2("refs", ref)) == b"a note\n"
        shown = t2.json("show", ref)
        assert shown["path"].endswith(("/tasks/T/notes/n", "/tasks/T/twin")), shown
        assert not [n for n in os.listdir(m2("cache")) if n.startswith(".")]
        m2.crash()
        assert not differences(after, described(case.path("mnt2")))
        m2.remount()
        assert not differences(after, described(case.path("mnt2")))
        t2("verify")
        assert t2.json("import", archive)["there"] == 11


@test(variants=MOUNTED)
def refs_live_again_after_the_task_has_ended(case, mounted):
    archive = case.path("T.tar.zst")
    with case.mount(SEAL_SOON) as m:
        fill(m)
        before = described(case.mnt)
        ref = xattr(m("tasks/T/shell/log"), "ref")
        t = Tool(case)
        t("export", "--task", "T", archive)
        # A tombstone records the SHA-256 of sealed content.
        m.wait_sealed(m("tasks/T/sparse"))
        t("task", "done", "--drop-all", "T")
        with raises(errno.EKEYEXPIRED):
            os.stat(m("refs", ref))
        with tool(m, mounted) as t:
            done = t.json("import", archive)
        changed = set(done["refs"])
        # The file with two names leaves no tombstone, so its ref cannot be verified.
        assert changed <= {before["tasks/T/notes/n"][5]}, (done["refs"], changed)
        assert read(m("refs", ref)) == b"ran\n" * 100
        for _ in range(2):
            unequal = differences(before, described(case.mnt))
            assert not [k for k, v in unequal.items() if len(v[0]) > 5 and v[0][5] not in changed], unequal
            m.crash()
        Tool(case)("verify")
        # Once more: the file is removed and gets a tombstone again.
        Tool(case)("task", "done", "--drop-all", "T")
        with raises(errno.EKEYEXPIRED):
            os.stat(m("refs", ref))
        Tool(case)("import", archive)
        assert read(m("refs", ref)) == b"ran\n" * 100
        Tool(case)("verify")


@test
def a_ref_never_shows_another_content(case):
    with case.mount(SEAL_SOON) as m:
        t, archive = Tool(case), case.path("x.tar")
        gone, lives = m.make("tasks/T/shell/a", b"true\n"), m.make("tasks/U/shell/b", b"lives\n")
        refs = xattr(gone, "ref"), xattr(lives, "ref")
        t("task", "done", "--drop-all", "T")
        forge(archive, [("cache/web/a", b"false\n", {"ref": refs[0]}), ("cache/web/b", b"false\n", {"ref": refs[1]})])
        done = t.json("import", archive)
        assert set(done["refs"]) == set(refs) and done["imported"] == 2, done
        with raises(errno.EKEYEXPIRED):
            os.stat(m("refs", refs[0]))
        assert read(m("refs", refs[1])) == b"lives\n"
        # An unchanged file that still exists is kept, wherever it is now.
        forge(archive, [("cache/web/elsewhere", b"lives\n", {"ref": refs[1]})])
        done = t.json("import", archive)
        assert done["there"] == 1 and done["items"][0]["path"] == "tasks/U/shell/b", done
        # A ref new to this store is unknown before the import, and then refers to the file.
        with raises(errno.ENOENT):
            os.stat(m("refs/zzzzzzz1"))
        forge(archive, [("persistent/web/new", b"new\n", {"ref": "zzzzzzz1", "origin_task": "V", "origin_category": "web"})])
        t("import", archive)
        assert read(m("refs/zzzzzzz1")) == b"new\n" and xattr(m("refs/zzzzzzz1"), "origin_task") == "V"
        assert not os.path.exists(m("tasks/V"))
        os.unlink(m("persistent/web/new"))
        t("import", archive)
        assert read(m("refs/zzzzzzz1")) == b"new\n"
        t("verify")


@test
def the_kernel_lets_the_owner_ask_alone(case):
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/web/f", b"x")

        def bring(value, where="cache/web"):
            os.setxattr(m(where), "user.offload.bring", value)

        bring(b"zzzzzzz1/new")
        assert xattr(m("cache/web/new"), "ref") == "zzzzzzz1"
        for value in (b"", b"zzzzzzz2", b"zzzzzzz2/", b"zzzzzzz2/..", b"zzzzzzz2/a/b", b"zzzzzzz2/a\0b"):
            with raises(errno.EINVAL):
                bring(value)
        for value in (b"zzzzzzz1/other", b"zzzzzzz2/new", xattr(path, "ref").encode() + b"/g", b"2short/g", b"/g", b"00000000/h/"[:9] + b"f"):
            with raises(errno.EEXIST):
                bring(value)
        with raises(errno.EOPNOTSUPP, errno.ENOTDIR):
            bring(b"zzzzzzz2/x", "cache/web/f")


@test
def agents_have_the_refs_of_their_trees_alone(case):
    with case.mount(SEAL_SOON) as m:
        archive, t = case.path("x.tar"), Tool(case)
        os.makedirs(m("agents/a"))
        a = Tool(case)
        a.where = ["-d", case.mnt, "--agent", "a"]
        ref = xattr(m.make("tasks/T/shell/x", b"gone\n"), "ref")
        t("task", "done", "--drop-all", "T")
        forge(archive, [("tasks/T/shell/x", b"gone\n", {"ref": ref}), ("cache/web/n", b"new\n", {"ref": "zzzzzzz1"})])
        done = a.json("import", archive)
        assert set(done["refs"]) == {ref}, done
        assert read(m("agents/a/refs/zzzzzzz1")) == b"new\n"
        # The agent's tree can be exported, and is imported into that tree alone.
        inside = case.path("a.tar.zst")
        assert a.json("export", inside)["files"] == 2
        assert t.json("export", "agents/a", case.path("b.tar.zst"))["files"] == 2
        names = tarfile_names(case.path("b.tar.zst"))
        assert "agents/a/cache/web/n" in names and not [n for n in names if "README" in n], names
        shutil.rmtree(m("agents/a/cache/web"))
        assert a.json("import", inside)["there"] == 1
        t.json("import", case.path("b.tar.zst"))
        assert read(m("agents/a/cache/web/n")) == b"new\n"


# --- The archive ----------------------------------------------------------------------------------


def tarfile_names(path):
    return run("tar", "--zstd", "-tf", path).stdout.decode().splitlines()


@test
def tar_unpacks_it_and_the_same_memory_makes_the_same_bytes(case):
    with case.mount(SEAL_SOON) as m:
        fill(m)
        t, first = Tool(case), case.path("1.tar.zst")
        t("export", first)
        t.refuses("export", first, saying="exists")
        m.wait_sealed(m("tasks/T/shell/log"), m("tasks/T/sparse"))
        m.remount()
        t("export", "--force", case.path("2.tar.zst"))
        t("export", "cache", "tasks/T/", "persistent/found", "archive", case.path("3.tar.zst"))
        assert read(first) == read(case.path("2.tar.zst"))
        with open(case.path("piped"), "wb") as out:
            run(OFFLOAD, "export", *t.where, "-", stdout=out)
        assert read(first) == read(case.path("piped"))
        assert not [n for n in os.listdir(case.dir) if n.endswith(".part")]
        into = case.path("unpacked")
        os.makedirs(into)
        done = run("tar", "--zstd", "--xattrs", "-xf", first, "-C", into)
        before, after = described(case.mnt), described(into)
        for path, entry in before.items():
            if path not in ("persistent/found", "archive/old"):
                assert entry[:5] == after[path][:5], (path, entry, after[path])
        manifest = json.loads(read(os.path.join(into, MANIFEST)))
        assert manifest["offload_export"] == 1, manifest
        assert xattr(os.path.join(into, "tasks/T/notes/n"), "ref") == before["tasks/T/notes/n"][5]
        if shutil.which("bsdtar"):
            run("bsdtar", "-tvf", first)
        t.refuses("export", "refs", case.path("x"), saying="only what is in cache")
        t.refuses("export", "cache/none", case.path("x"), saying="cache/none")
        t.refuses("export", "--task", "none", case.path("x"), saying="no task")
        assert not os.path.exists(case.path("x"))


@test
def refs_and_paths_name_what_is_exported(case):
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/web/f", b"x")
        Tool(case)("export", xattr(path, "ref"), case.path("1"))
        Tool(case)("export", path, case.path("2"))
        assert [n for n in tarfile_names(case.path("1"))] == [MANIFEST, "cache/web/f"]
        assert tarfile_names(case.path("1")) == tarfile_names(case.path("2"))


# --- Conflicts ------------------------------------------------------------------------------------


@test(variants=MOUNTED)
def a_name_that_is_taken_is_never_lost(case, mounted):
    archive = case.path("x.tar")
    forge(archive, [("cache/web/f", b"theirs\n", {}), ("cache/web/g", b"same\n", {}), ("cache/web/h", b"new\n", {})])
    with case.mount(SEAL_SOON) as m:
        m.make("cache/web/f", b"ours\n")
        m.make("cache/web/g", b"same\n")
        with tool(m, mounted) as t:
            t.refuses("import", archive, saying="'cache/web/f' exists with other content")
            told = t("import", "--dry-run", "--skip", archive)
            assert told[-1] == "would import 1 file, 1 already there, 1 skipped", told
        assert sorted(os.listdir(m("cache/web"))) == ["f", "g"]
        with tool(m, mounted) as t:
            t("import", "--skip", archive)
        assert read(m("cache/web/f")) == b"ours\n" and read(m("cache/web/h")) == b"new\n"
        with tool(m, mounted) as t:
            t("import", "--rename", archive)
        assert read(m("cache/web/f")) == b"ours\n" and read(m("cache/web/f-2")) == b"theirs\n"
        with tool(m, mounted) as t:
            t("import", "--replace", archive)
        assert read(m("cache/web/f")) == b"theirs\n"
        with tool(m, mounted) as t:
            t("import", archive, "persistent/kept")
            t.refuses("import", archive, "refs", saying="holds no memory")
        assert read(m("persistent/kept/cache/web/h")) == b"new\n"
        assert xattr(m("persistent/kept/cache/web/h"), "origin_category") == "web"
        with open(archive, "rb") as f:
            run(OFFLOAD, "import", "-d", case.mnt, "-", stdin=f)
        piped = subprocess.Popen(["cat", archive], stdout=subprocess.PIPE)
        assert b"3 already there" in run(OFFLOAD, "import", "-d", case.mnt, "-", stdin=piped.stdout).stdout
        piped.stdout.close()
        assert piped.wait() == 0


@test(variants=MOUNTED)
def a_second_name_replaces_what_is_there(case, mounted):
    archive = case.path("x.tar")
    twin = member("cache/web/twin", type=tarfile.LNKTYPE, linkname="cache/web/f")
    forge(archive, [("cache/web/f", b"theirs\n", {})], [twin])
    with case.mount(SEAL_SOON) as m:
        m.make("cache/web/f", b"ours\n")
        m.make("cache/web/twin", b"of the same name\n")
        os.link(m("cache/web/twin"), m("cache/web/third"))
        with tool(m, mounted) as t:
            t.refuses("import", archive, saying="exists with other content")
            items = t.json("import", "--replace", archive)["items"]
        assert [i["action"] for i in items] == ["replaced", "replaced"], items
        assert read(m("cache/web/f")) == b"theirs\n"
        assert os.path.samefile(m("cache/web/f"), m("cache/web/twin"))
        assert read(m("cache/web/third")) == b"of the same name\n"
        assert sorted(os.listdir(m("cache/web"))) == ["f", "third", "twin"]


# --- Hostile archives -----------------------------------------------------------------------------


def member(name, content=b"", attributes=None, **fields):
    info = tarfile.TarInfo(name)
    info.size = len(content) if fields.get("type", tarfile.REGTYPE) == tarfile.REGTYPE else 0
    info.mode = 0o644
    sha = {"sha256": hashlib.sha256(content).hexdigest()}
    info.pax_headers = {"SCHILY.xattr.user.offload." + k: v for k, v in {**sha, **(attributes or {})}.items()}
    for k, v in fields.items():
        setattr(info, k, v)
    return info, content


def forge(path, files, members=(), count=None):
    """
    Writes an archive with (path, content, attributes) for each of `files`, and with members made by
    member().
    """
    everything = [member(*f) for f in files] + list(members)
    total = len(everything) if count is None else count
    text = json.dumps({"offload_export": 1, "members": total}).encode()
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as out:
        for info, content in [member(MANIFEST, text)] + everything:
            out.addfile(info, io.BytesIO(content))


GOOD = ("cache/web/good", b"good\n", {"ref": "zzzzzzz9"})


@test(timeout=120)
def nothing_of_a_hostile_archive_comes_in(case):
    archive, t = case.path("x.tar"), Tool(case)
    link = dict(type=tarfile.SYMTYPE)
    hostile = [
        ([member("../x", b"x")], "lies outside"),
        ([member("cache/../../x", b"x")], "lies outside"),
        ([member("/cache/web/x", b"x")], "lies outside"),
        ([member("README.md", b"x")], "lies outside"),
        ([member("refs/zzzzzzz1", b"x")], "lies outside"),
        ([member(".offload/config.ini", b"x")], "lies outside"),
        ([member("agents/a/.offload/x", b"x")], "lies outside"),
        ([member("cache/" + "x" * 300, b"x")], "lies outside"),
        ([member("cache/l", linkname="web", **link), member("cache/l/x", b"x")], "not a directory"),
        ([member("cache/good", b"x"), member("cache/good/x", b"x")], "not a directory"),
        ([member("cache/dev", type=tarfile.CHRTYPE)], "a device"),
        ([member("cache/pipe", type=tarfile.FIFOTYPE)], "a device"),
        ([member("cache/h", type=tarfile.LNKTYPE, linkname="../../etc/passwd")], "another name"),
        ([member("cache/h", type=tarfile.LNKTYPE, linkname="cache/none")], "another name"),
        ([member("cache/web/x", b"x", {"sha256": "0" * 64})], "its sha256 does not match"),
        ([member("cache/web/x", b"x", {"sha256": "0"})], "no sha256"),
        ([member("cache/web/x", b"x", {"ref": "no ref!"})], "a malformed ref"),
        ([member("cache/web/x", b"x", {"ttl": "soon"})], "user.offload.ttl"),
        ([member("cache/web/x", b"x"), member("cache/web/x", b"y")], "there twice"),
        ([member("cache/web/x", b"x"), member("cache//web/./x", b"y")], "there twice"),
        ([member(MANIFEST, b'{"offload_export": 1, "members": 7}')], "says that it has 7"),
        ([member(MANIFEST, b'{"offload_export": 1, "members": 2}'), member("cache/web/x", b"x")], "after the end"),
    ]
    with case.mount(SEAL_SOON) as m:
        for members, saying in hostile:
            forge(archive, [GOOD], members)
            t.refuses("import", archive, saying=saying)
            assert not os.path.exists(m("cache/web")) and not os.listdir(m("cache")), saying
        forge(archive, [GOOD], count=5)
        t.refuses("import", archive, saying="says that it has 5")
        write(archive, b"no archive\n")
        t.refuses("import", archive, saying="")
        with tarfile.open(archive, "w") as out:
            out.addfile(member("cache/web/x", b"x")[0], io.BytesIO(b"x"))
        t.refuses("import", archive, saying="it is not an export")
        # Links that lead out are skipped. Set-id bits and owners are not restored.
        forge(archive, [], [member("cache/out", linkname="../../etc/passwd", **link), member("cache/abs", linkname="/etc/passwd", **link), member("cache/in", linkname="../tasks", **link), member("cache/by", linkname="in/../../etc/passwd", **link), member("cache/" + ODD, b"x", mode=0o6755, uid=12)])
        assert t.json("import", archive)["left_out"] == 3
        assert sorted(os.listdir(m("cache"))) == sorted(["in", ODD])
        assert os.readlink(m("cache/in")) == "../tasks"
        st = os.stat(m("cache", ODD))
        assert st.st_mode & 0o7777 == 0o755 and st.st_uid == os.getuid()
        os.makedirs(m("agents/a"))
        forge(archive, [], [member("cache/up", linkname="../../../persistent", **link), member("cache/in", linkname="../tasks", **link)])
        assert t.json("import", archive, "agents/a")["left_out"] == 1
        assert os.listdir(m("agents/a/cache")) == ["in"]
        # Nothing is written through an existing link.
        os.makedirs(m("cache/web"))
        outside = case.path("outside")
        os.mkdir(outside)
        os.symlink(outside, m("cache/web/out"))
        forge(archive, [("cache/web/out/x", b"x", {})])
        t.refuses("import", archive)
        assert not os.listdir(outside)


@test
def a_damaged_archive_is_refused(case):
    with case.mount(SEAL_SOON) as m:
        for i in range(20):
            m.make(f"cache/web/{i}", os.urandom(3000))
        t, archive = Tool(case), case.path("x.tar.zst")
        t("export", archive)
        good = read(archive)
        shutil.rmtree(m("cache/web"))
        for bad in (good[: len(good) // 2], good[:-4], good[:5000] + b"\x55" * 40 + good[5040:], b""):
            write(archive, bad)
            t.refuses("import", archive)
            assert not os.listdir(m("cache")), os.listdir(m("cache"))
        write(archive, good)
        t("import", archive)
        assert len(os.listdir(m("cache/web"))) == 20


@test
def a_bomb_ends_before_it_fills_the_disk(case):
    archive, t = case.path("x.tar"), Tool(case)
    size = 1 << 43
    info = member("cache/web/huge", b"", {"sha256": "0" * 64})[0]
    info.size = 0
    info.pax_headers.update({"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "cache/web/huge", "GNU.sparse.realsize": str(size)})
    data = b"0\n".ljust(512, b"\0")
    info.size = len(data)
    forge(archive, [GOOD], [(info, data)])
    free = os.statvfs(case.dir)
    if free.f_bavail * free.f_frsize * 64 > size:
        raise Skip("this disk has room for it")
    with case.mount(SEAL_SOON) as m:
        t.refuses("import", archive, saying="more than 64 times")
        assert not os.listdir(m("cache"))


@test(root=True)
def a_full_disk_takes_nothing_half(case):
    disk = case.path("disk")
    os.makedirs(disk)
    run("mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", disk)
    try:
        archive, t = case.path("x.tar"), Tool(case)
        forge(archive, [GOOD] + [(f"tasks/T/web/{i}", os.urandom(4 << 20), {}) for i in range(10)])
        with case.mount(SEAL_SOON, store=os.path.join(disk, "store")) as m:
            t.refuses("import", archive, saying="No space left")
            assert not os.listdir(m("cache")) and not os.listdir(m("tasks"))
            with raises(errno.ENOENT):
                os.stat(m("refs/zzzzzzz9"))
            forge(archive, [GOOD])
            t("import", archive)
            assert read(m("refs/zzzzzzz9")) == b"good\n"
    finally:
        run("umount", "-l", disk)


@test
def killed_in_between_it_leaves_what_expires(case):
    archive = case.path("x.tar")
    forge(archive, [(f"persistent/web/{i}", os.urandom(20000), {"ref": f"zzzzz{i:03}"}) for i in range(300)])
    with case.mount(SEAL_SOON) as m:
        tool = subprocess.Popen([OFFLOAD, "import", "-d", case.mnt, archive], stdout=subprocess.DEVNULL)
        eventually(lambda: os.listdir(m("cache")) or tool.poll() is not None, "something is written")
        tool.kill()
        tool.wait()
        m.crash()
        there = Tool(case).json("import", archive)
        assert there["imported"] + there["there"] == 300 and not there["refs"], there
        assert sorted(os.listdir(m("persistent/web"))) == sorted(map(str, range(300)))
        # Every file has its ref from the archive, so nothing of the interrupted import remains.
        assert not os.listdir(m("cache")), os.listdir(m("cache"))
        for i in range(300):
            assert xattr(m("persistent/web", str(i)), "ref") == f"zzzzz{i:03}"
        Tool(case)("verify")


if __name__ == "__main__":
    main()
