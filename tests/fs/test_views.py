#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The virtual parts of a mount, views/ and .offload/, and their use by ordinary programs."""
import ctypes
import errno
import json
import os
import platform
import re
import shutil
import stat
import struct
import subprocess
import threading

from files import log_text, same_tree, snapshot
from harness import (
    SEAL_NEVER,
    SEAL_SOON,
    Skip,
    as_nobody,
    main,
    raises,
    read,
    run,
    same,
    test,
    write,
    xattr,
)

LIBC = ctypes.CDLL(None)
GETDENTS64 = 217

MADE_UP = ["refs", "search", "views", ".offload", "README.md"]
TOPS = ["cache", "tasks", "persistent", "archive"]
VIEWS = ["by-category", "by-task", "by-tier", "by-tag", "recent", "expiring"]
REPORTS = ["status.json", "metrics", "config.ini", "ledger", "log"]


def setattr_of(path, name, value):
    os.setxattr(path, "user.offload." + name, value.encode())


def link(m, view, path):
    """Returns the path of the link to a file in a view."""
    return m("views", view, f"{xattr(path, 'ref')}-{os.path.basename(path)}")


def links_in(m, view):
    """Returns the files that the links of a view lead to, relative to the mountpoint."""
    folder = m("views", view)
    links = [os.path.join(folder, name) for name in os.listdir(folder)]
    found = [os.fsdecode(os.getxattr(link, "user.offload.path")) for link in links]
    assert len(set(found)) == len(found), f"{view}: a file is there twice: {found}"
    return sorted(found)


def quietly(*command, **options):
    """Runs a program that must not complain; returns its output."""
    done = run(*command, **options)
    assert done.stderr == b"", f"{command}: {done.stderr.decode(errors='replace')}"
    return done.stdout


def fill(m):
    """Creates files of every kind; returns their names."""
    names = [
        "at-the-root",
        "cache/in-cache",
        "cache/shell/out.txt",
        "cache/web/deep/er/page.html",
        "tasks/t 1/direct",
        "tasks/t 1/search/hits",
        "persistent/notes/caf\u00e9",
        "persistent/notes/with space",
        "persistent/notes/" + os.fsdecode(b"\xff\xfe"),
        "archive/reports/" + "n" * 255,
        "cache/.hidden/a:12",
    ]
    for i, name in enumerate(names):
        m.make(name, log_text(100 + 3000 * (i % 3), i))
    setattr_of(m("cache/shell/out.txt"), "tags", "red,two words")
    setattr_of(m("persistent/notes/caf\u00e9"), "tags", "red")
    setattr_of(m("cache/in-cache"), "category", "web")
    os.link(m("cache/shell/out.txt"), m("persistent/notes/second name"))
    os.symlink("out.txt", m("cache/shell/link"))
    return names


# --- Views ----------------------------------------------------------------------------------------


@test
def the_root_lists_what_is_there(case):
    with case.mount() as m:
        assert sorted(os.listdir(m.mnt)) == sorted(MADE_UP + TOPS + ["agents"])
        assert sorted(os.listdir(m("views"))) == sorted(VIEWS)
        assert sorted(os.listdir(m(".offload"))) == sorted(REPORTS)
        assert os.listdir(m("views/by-tag")) == os.listdir(m("views/recent")) == []


@test
def views_have_links_to_the_files(case):
    with case.mount() as m:
        fill(m)
        for _ in range(2):
            assert sorted(os.listdir(m("views/by-category"))) == [
                ".hidden", "general", "notes", "reports", "search", "shell", "web",
            ]
            assert links_in(m, "by-category/web") == [
                "cache/in-cache",
                "cache/web/deep/er/page.html",
            ]
            assert links_in(m, "by-task/t 1") == ["tasks/t 1/direct", "tasks/t 1/search/hits"]
            assert links_in(m, "by-tier/archive") == ["archive/reports/" + "n" * 255]
            assert links_in(m, "by-tag/two words") in (
                ["cache/shell/out.txt"],
                ["persistent/notes/second name"],
            )
            assert len(links_in(m, "by-tag/red")) == 2
            assert len(links_in(m, "recent")) == 11
            m.remount()


@test
def links_lead_to_their_files(case):
    with case.mount() as m:
        path = m.make("cache/shell/out.txt", b"one\ntwo\nthree\n")
        for view in ("by-category/shell", "by-tier/working", "recent", "expiring"):
            name = link(m, view, path)
            assert os.path.islink(name) and os.path.samefile(name, path)
            assert os.lstat(name).st_size == len(os.readlink(name))
            assert quietly("readlink", "-f", name).decode().rstrip("\n") == m(
                "refs", xattr(path, "ref")
            )
            same(quietly("cat", name), b"one\ntwo\nthree\n")
            same(read(name + ":2-3"), b"two\nthree\n")
            same(read(name + "#L2"), b"two\n")
        with open(link(m, "recent", path), "ab") as f:
            f.write(b"four\n")
        same(read(path + ":-1"), b"four\n")


@test
def a_link_follows_its_file(case):
    with case.mount() as m:
        path = m.make("cache/shell/x", b"content")
        recent = link(m, "recent", path)
        for target in ("persistent/x", "archive/x", "tasks/t/x", "x", "cache/shell/x"):
            os.makedirs(os.path.dirname(m(target)), exist_ok=True)
            os.rename(path, m(target))
            path = m(target)
            assert os.path.samefile(recent, path), os.readlink(recent)
            same(read(recent), b"content")
        os.unlink(path)
        assert not os.path.exists(recent)
        assert os.path.basename(recent) not in os.listdir(m("views/recent"))


@test
def who_stands_in_a_view_sees_what_is_new(case):
    with case.mount() as m:
        m.make("cache/shell/first", b"x")
        setattr_of(m("cache/shell/first"), "tags", "t")
        for view in ("recent", "by-category/shell", "by-tier/working", "by-tag/t", "expiring"):
            os.chdir(m("views", view))
            for i in range(20):
                before = len(os.listdir("."))
                path = m.make(f"cache/shell/{i}", b"x")
                setattr_of(path, "tags", "t")
                assert len(os.listdir(".")) == before + 1
                assert len(quietly("ls").split()) == before + 1
                assert any(os.path.samefile(name, path) for name in os.listdir("."))
            for i in range(20):
                os.unlink(m(f"cache/shell/{i}"))
            assert len(os.listdir(".")) == 1
            os.chdir("/")


def entries_by_hand(folder):
    """Lists a directory by getdents64 alone."""
    found, buffer = [], ctypes.create_string_buffer(1 << 16)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    while (size := LIBC.syscall(GETDENTS64, handle, buffer, len(buffer))) > 0:
        at = 0
        while at < size:
            length = struct.unpack_from("H", buffer, at + 16)[0]
            found.append(buffer[at + 19 : at + length].split(b"\0", 1)[0].decode())
            at += length
    os.close(handle)
    return found


@test(timeout=120)
def what_was_looked_up_during_a_change_does_not_stay(case):
    if platform.machine() != "x86_64":
        raise Skip("the number of getdents64 is known here for x86_64 alone")
    with case.mount() as m:
        folders = [m("views/by-category", f"c{i}") for i in range(60)]
        for i in range(60):
            os.mkdir(m(f"cache/c{i}"))
        done = threading.Event()

        def change():
            while not done.is_set():
                write(m("cache/busy"), b"x")

        changer = threading.Thread(target=change)
        changer.start()
        try:
            for folder in folders:
                assert len(entries_by_hand(folder)) == 2
        finally:
            done.set()
            changer.join()
        for i in range(60):
            m.make(f"cache/c{i}/new", b"")
        assert [len(entries_by_hand(folder)) for folder in folders] == [3] * 60


@test
def tags_and_categories_show_at_once(case):
    with case.mount() as m:
        path = m.make("cache/shell/x", b"x")
        assert os.listdir(m("views/by-tag")) == []
        run("setfattr", "-n", "user.offload.tags", "-v", " red , blue ", path)
        assert sorted(os.listdir(m("views/by-tag"))) == ["blue", "red"]
        assert links_in(m, "by-tag/red") == ["cache/shell/x"]
        run("setfattr", "-n", "user.offload.tags", "-v", "blue", path)
        assert os.listdir(m("views/by-tag")) == ["blue"]
        with raises(errno.ENOENT):
            os.listdir(m("views/by-tag/red"))
        run("setfattr", "-n", "user.offload.category", "-v", "my own", path)
        assert links_in(m, "by-category/my own") == ["cache/shell/x"]
        assert links_in(m, "by-category/shell") == []
        run("setfattr", "-x", "user.offload.category", path)
        assert links_in(m, "by-category/shell") == ["cache/shell/x"]
        os.unlink(path)
        assert os.listdir(m("views/by-tag")) == []


@test(timeout=120)
def thousands_of_files(case):
    with case.mount(SEAL_NEVER) as m:
        for i in range(3000):
            m.make(f"cache/shell/{i}", b"")
        assert len(os.listdir(m("views/by-tier/working"))) == 3000
        assert len(os.listdir(m("views/by-category/shell"))) == 3000
        assert len(os.listdir(m("views/recent"))) == 100
        done = quietly("ls", "-l", m("views/by-category/shell"))
        assert done.count(b" -> ../../../refs/") == 3000


# --- Attributes that can be set -------------------------------------------------------------------


@test
def attributes_are_set_with_the_usual_programs(case):
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/shell/x", b"x\n")
        for name, value in (
            ("ttl", "7d"), ("important", "1"), ("title", "A title"), ("tags", "a,b"),
        ):
            run("setfattr", "-n", "user.offload." + name, "-v", value, path)
            assert xattr(path, name) == value
        run("setfattr", "-n", "user.mine", "-v", "kept", path)
        for name, value in (("ttl", "soon"), ("important", "yes"), ("category", "a/b")):
            with raises(errno.EINVAL):
                setattr_of(path, name, value)
        m.wait_sealed(path)
        m.crash()
        shown = quietly("getfattr", "-d", "--absolute-names", path).decode()
        for line in ('user.offload.ttl="7d"', 'user.offload.tags="a,b"', 'user.mine="kept"'):
            assert line in shown, shown
        os.rename(path, m("persistent/x"))
        assert xattr(m("persistent/x"), "ttl") == xattr(m("persistent/x"), "expires") == "never"
        os.rename(m("persistent/x"), path)
        assert xattr(path, "ttl") == "7d"
        os.removexattr(path, "user.offload.ttl")
        assert xattr(path, "ttl") == "30m"


@test
def info_and_summary(case):
    with case.mount(SEAL_SOON) as m:
        fill(m)
        for folder, _, names in os.walk(m.mnt):
            for name in names:
                path = os.path.join(folder, name)
                inside = os.path.relpath(path, m.mnt)
                if name == "link" or len(os.fsencode(name)) > 245:
                    continue
                if inside.startswith((".offload/", "README.md")):
                    with raises(errno.ENOENT):
                        read(path + ":info")
                    continue
                info = json.loads(read(path + ":info"))
                assert info["size"] == os.path.getsize(path) and info["ref"] == xattr(path, "ref")
                assert info["lines"] == read(path).count(b"\n")
                assert f"ref {info['ref']}".encode() in read(path + ":summary")
                with open(path + ":info", "rb") as f:
                    assert len(f.read()) == os.fstat(f.fileno()).st_size
                with raises(errno.EROFS):
                    write(path + ":summary", b"")


# --- Programs that read everything ----------------------------------------------------------------


@test
def ls_and_find_have_nothing_to_complain_of(case):
    with case.mount(SEAL_SOON) as m:
        names = fill(m)
        for command in (
            ("ls", "-laR", m.mnt),
            ("ls", "-AlRLi", m.mnt),
            ("find", m.mnt),
            ("find", "-L", m.mnt, "-type", "f"),
            ("du", "-a", m.mnt),
        ):
            out = quietly(*command)
            assert b"views" in out and b"status.json" in out
        found = quietly("find", m.mnt, "-type", "f", "-print0").split(b"\0")[:-1]
        real = [os.path.relpath(p, os.fsencode(m.mnt)) for p in found]
        want = names + ["persistent/notes/second name", "README.md"]
        want += [".offload/" + name for name in REPORTS]
        assert sorted(real) == sorted(os.fsencode(n) for n in want)


@test
def tar_takes_all_of_it(case):
    with case.mount(SEAL_SOON) as m:
        fill(m)
        archive = case.path("all.tar")
        quietly("tar", "cf", archive, "-C", m.mnt, ".")
        os.mkdir(case.path("out"))
        quietly("tar", "xf", archive, "-C", case.path("out"))
        for top in TOPS + ["views", "README.md"]:
            compare_copy(m(top), case.path("out", top))


def compare_copy(source, copy):
    if os.path.isdir(source):
        same_tree(snapshot(copy), snapshot(source))
    else:
        same(read(copy), read(source))


@test
def copies_of_all_of_it(case):
    with case.mount(SEAL_SOON) as m:
        fill(m)
        quietly("cp", "-a", m.mnt, case.path("by-cp"))
        shutil.copytree(m.mnt, case.path("by-python"), symlinks=True)
        copies = ["by-cp", "by-python"]
        if shutil.which("rsync"):
            quietly("rsync", "-a", m.mnt + "/", case.path("by-rsync"))
            copies.append("by-rsync")
        for copy in copies:
            for top in TOPS + ["views", "README.md"]:
                compare_copy(m(top), case.path(copy, top))
            json.loads(read(case.path(copy, ".offload/status.json")))
        quietly("cp", "-a", m("cache"), m("persistent/copy"))
        same_tree(snapshot(m("persistent/copy")), snapshot(m("cache")))
        assert xattr(m("persistent/copy/shell/out.txt"), "tags") == "red,two words"


@test
def what_is_made_up_can_be_copied(case):
    with case.mount(SEAL_SOON) as m:
        data = b"".join(b"line %d\n" % i for i in range(1, 101))
        path = m.make("cache/shell/x", data)
        out = case.path("out")
        for name, want in (
            (path + ":1-10", b"".join(data.splitlines(True)[:10])),
            (path + ":b0-9", data[:10]),
            (m("README.md"), read(m("README.md"))),
            (m("README.md:1"), b"# Offloaded content\n"),
        ):
            quietly("cp", name, out)
            same(read(out), want)
            quietly("cp", "-p", name, out)
            same(read(out), want)
        for name in (m(".offload/status.json"), m(".offload/metrics"), path + ":info"):
            for _ in range(20):
                quietly("cp", name, out)
                assert os.path.getsize(out) > 100


# --- Refusals -------------------------------------------------------------------------------------


@test
def nothing_that_is_made_up_can_be_changed(case):
    with case.mount() as m:
        path = m.make("cache/shell/x", b"content")
        m.make("tasks/t/y", b"y")
        setattr_of(path, "tags", "red")
        view = link(m, "recent", path)
        dirs = ["views", "views/recent", "views/by-tag", "views/by-tag/red", "views/by-task/t"]
        for folder in [*dirs, ".offload", "refs"]:
            for make in (
                lambda p: write(p, b""), os.mkdir, os.mkfifo,
                lambda p: os.symlink("x", p), lambda p: os.link(path, p),
                lambda p: os.rename(path, p),
            ):
                with raises(errno.EROFS):
                    make(m(folder, "new"))
        for name in (view, m("views/recent"), m("views/by-tag/red"), m(".offload/status.json")):
            with raises(errno.EROFS, errno.EBUSY):
                os.rename(name, m("cache/moved"))
            with raises(errno.EROFS):
                os.utime(name, ns=(1, 1), follow_symlinks=False)
        for name in (view, *(m(".offload", report) for report in REPORTS)):
            with raises(errno.EROFS):
                os.unlink(name)
        for name in ("status.json", "metrics", "config.ini", "status.json:1"):
            for how in ("r+b", "ab", "wb"):
                with raises(errno.EROFS):
                    with open(m(".offload", name), how, buffering=0) as f:
                        f.write(b"no")
            with raises(errno.EROFS):
                os.setxattr(m(".offload", name), "user.x", b"1")
        for folder in dirs[1:]:
            with raises(errno.EROFS):
                os.rmdir(m(folder))
        for name in ("views", ".offload", "refs"):
            with raises(errno.EBUSY):
                os.rmdir(m(name))
            with raises(errno.EBUSY):
                os.rename(m(name), m("other"))
            with raises(errno.EROFS):
                os.chmod(m(name), 0o777)
        same(read(path), b"content")
        assert links_in(m, "recent") == ["cache/shell/x", "tasks/t/y"]


@test(root=True)
def others_learn_nothing_of_what_they_cannot_read(case):
    case.open_to_others()
    with case.mount("allow_other") as m:
        path = m.make("cache/shell/secret", b"the secret\n")
        readable = m.make("cache/shell/readable", b"for all\n")
        same(read(path + ":1"), b"the secret\n")
        assert b"the secret" in read(path + ":summary")
        os.chmod(path, 0o600)
        ref = xattr(path, "ref")
        view = link(m, "recent", path)

        def as_another():
            with raises(errno.EACCES):
                os.listdir(m("views/recent"))
            for name in (path, view, m("refs", ref)):
                for suffix in ("", ":1", ":info", ":summary"):
                    with raises(errno.EACCES):
                        read(name + suffix)
            with raises(errno.EACCES):
                setattr_of(path, "tags", "mine")
            with raises(errno.EACCES):
                setattr_of(readable, "tags", "mine")
            assert json.loads(read(readable + ":info"))["mode"] == "0644"
            same(read(readable), b"for all\n")

        as_nobody(as_another)
        assert os.listdir(m("views/by-tag")) == []


# --- .offload/ ------------------------------------------------------------------------------------


@test
def the_status_is_json(case):
    with case.mount() as m:
        path = m(".offload/status.json")
        status = json.loads(read(path))
        assert status["mountpoint"] == m.mnt and status["state"] == "ok"
        assert re.fullmatch(r"\d+\.\d+\.\d+", status["version"])
        assert {"content", "disk", "unsealed", "memory", "calls"} <= set(status)
        st = os.stat(path)
        assert stat.S_ISREG(st.st_mode) and not st.st_mode & 0o222
        if shutil.which("jq"):
            assert json.loads(quietly("jq", ".mountpoint", path)) == m.mnt
            quietly("jq", "-e", ".content.files, .disk.free, .calls.lookup", path)


SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-z]+="[^"\\\n]*"\})? ([0-9.e+-]+)')


@test
def the_metrics_are_prometheus_text(case):
    with case.mount() as m:
        text = read(m(".offload/metrics")).decode("ascii")
        assert text.endswith("\n")
        types, helped, samples = {}, set(), set()
        for line in text.splitlines():
            if line.startswith("# HELP "):
                name = line.split(" ", 3)[2]
                assert name not in helped and len(line.split(" ", 3)) == 4
                helped.add(name)
            elif line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                assert name not in types and kind in ("counter", "gauge")
                types[name] = kind
            else:
                name, labels, value = SAMPLE.fullmatch(line).groups()
                assert (name, labels) not in samples, f"twice: {line}"
                assert name in helped and name in types, f"before its TYPE: {line}"
                assert (types[name] == "counter") == name.endswith("_total")
                assert name.startswith("offloadfs_") and float(value) >= 0
                samples.add((name, labels))
        assert {n for n, _ in samples} == set(types) == helped
        assert ("offloadfs_calls_total", '{call="lookup"}') in samples


# --- Concurrent changes ---------------------------------------------------------------------------


@test(timeout=180)
def views_are_read_while_files_change(case):
    """An entry that exists throughout must be listed every time, exactly once."""
    with case.mount("seal_delay=1") as m:
        stay = {f"stays{i}" for i in range(150)}
        for name in stay:
            setattr_of(m.make("cache/web/" + name, b"x"), "tags", "all")
        stop, failures = threading.Event(), []

        def guarded(work):
            def loop():
                try:
                    for i in range(40):
                        work(i)
                except BaseException as e:
                    failures.append(e)

            return threading.Thread(target=loop)

        def change():
            i = 0
            while not stop.is_set():
                i += 1
                path = m.make(f"cache/web/new{i}", b"y" * (i % 50))
                setattr_of(path, "tags", f"all,t{i % 5}")
                os.rename(path, m(f"persistent/new{i}"))
                if i > 20:
                    os.unlink(m(f"persistent/new{i - 20}"))

        def listing(view):
            def look(_):
                found = [n.split("-", 1)[1] for n in os.listdir(m("views", view))]
                assert len(found) == len(set(found)), "a name is listed twice"
                missing = stay - set(found)
                assert not missing, f"{view}: {sorted(missing)[:5]} were not listed"

            return guarded(look)

        def reports(_):
            json.loads(read(m(".offload/status.json")))
            read(m(".offload/metrics:1-3"))
            for name in os.listdir(m("views/recent"))[:20]:
                try:
                    os.readlink(m("views/recent", name))
                except FileNotFoundError:
                    pass

        def everything(_):
            subprocess.run(
                ["ls", "-lR", m("views")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )

        changer = threading.Thread(target=change)
        changer.start()
        views = ["by-category/web", "by-tier/working", "by-tag/all", "by-category/web"]
        threads = [listing(v) for v in views] + [guarded(reports), guarded(everything)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        stop.set()
        changer.join()
        if failures:
            raise failures[0]


main()
