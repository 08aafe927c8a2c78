#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
What a process confined to one agent's tree can learn about other trees.

Each attempt is made three times. From outside it must yield something, which proves that it is an
attempt. From inside, aimed at what another tree has, it must yield exactly what it yields for
something that never existed.
"""
import contextlib
import ctypes
import errno
import itertools
import json
import multiprocessing
import os
import stat
import struct
import time

from clock import DAY, Clock
from harness import (
    RENAME_EXCHANGE,
    SEAL_SOON,
    Mount,
    Skip,
    eventually,
    main,
    raises,
    read,
    renameat2,
    test,
    write,
    xattr,
)

libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000


# --- The two sides --------------------------------------------------------------------------------


def outcome(work, *arguments):
    """Returns the result of a call, or the name of its error."""
    try:
        return work(*arguments)
    except OSError as e:
        return errno.errorcode[e.errno]


def call(result):
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def collect(root, how="run"):
    """Starts a garbage collection, waits for its end and returns its report."""
    os.setxattr(root, "user.offload.gc", how.encode())
    while (said := json.loads(os.getxattr(root, "user.offload.gc")))["state"] == "running":
        time.sleep(0.01)
    return said


class Inside:
    """A process that sees nothing but one directory, and runs what it is asked to run."""

    def __init__(self, directory, place):
        self.pipe, theirs = multiprocessing.Pipe()
        os.makedirs(place, exist_ok=True)
        self.pid = os.fork()
        if not self.pid:
            self.pipe.close()
            with contextlib.suppress(BaseException):
                self._serve(theirs, directory, place)
            os._exit(0)
        theirs.close()
        said = self.pipe.recv()
        if said != "ready":
            self.end()
            raise Skip(f"no namespace can be made here: {said}")

    @staticmethod
    def _serve(pipe, directory, place):
        try:
            uid, gid = os.geteuid(), os.getegid()
            call(libc.unshare(CLONE_NEWNS | CLONE_NEWUSER))
            for name, value in (("setgroups", "deny"), ("uid_map", uid), ("gid_map", gid)):
                write(f"/proc/self/{name}", (f"0 {value} 1" if name != "setgroups" else value).encode())
            call(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None))
            call(libc.mount(os.fsencode(directory), os.fsencode(place), None, MS_BIND, None))
            os.chroot(place)
            os.chdir("/")
        except OSError as e:
            pipe.send(str(e))
            return
        pipe.send("ready")
        while True:
            work, arguments = pipe.recv()
            try:
                pipe.send(outcome(work, *arguments))
            except Exception as e:  # reported to the caller
                pipe.send(e)

    def __call__(self, work, *arguments):
        self.pipe.send((work, arguments))
        result = self.pipe.recv()
        if isinstance(result, Exception):
            raise result
        return result

    def end(self):
        self.pipe.close()
        os.waitpid(self.pid, 0)

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.end()


@contextlib.contextmanager
def inside(m, tree, case):
    with Inside(m(tree), case.path("in-" + tree.replace("/", "-"))) as process:
        yield process


# --- Content of the trees -------------------------------------------------------------------------

SHARED = b"what several have written\n" * 3000
STEP = {"tool": "bash", "args": {"command": "make"}, "result": "zebrafish of a step"}
LEDGER = b"put\tzebrafish\tsecret-task\t1\t100\t10\t5"


class Place:
    """A file of a tree, with everything that could lead to it."""

    def __init__(self, m, tree, word):
        self.tree, self.word = tree, word
        path = m(tree, "tasks", f"task-{word}", f"kind-{word}", f"name-{word}")
        os.makedirs(os.path.dirname(path))
        write(path, f"the {word} is in here\n".encode() * 50 + b"others say this\n")
        os.setxattr(path, "user.offload.tags", f"tag-{word}".encode())
        os.setxattr(path, "user.offload.title", f"title of {word}".encode())
        self.path = path
        self.ref = xattr(path, "ref")
        history = m(tree, "tasks", f"task-{word}", "history")
        os.makedirs(history)
        write(os.path.join(history, "step_0001.json"), json.dumps(STEP).encode())

    def has(self, key):
        return {
            "ref": self.ref,
            "entry": f"{self.ref}-name-{self.word}",
            "word": self.word,
            "word of an agent": self.word,
            "phrase": f'"the {self.word} is"',
            "begin": self.word[:-2] + "*",
            "task": f"task-{self.word}",
            "category": f"kind-{self.word}",
            "tag": f"tag-{self.word}",
            "agent": self.tree.rpartition("/")[2],
        }[key]


def never(m, place, key):
    """
    Returns the counterpart of place.has(key) for something that never existed. The ref is one that
    this store has given out.
    """
    ref = xattr(m("cache/never"), "ref")
    return {
        "ref": ref,
        "entry": f"{ref}-name-{place.word}",
        "word": "qqxxzzvv",
        "word of an agent": "qqxxzzvv",
        "phrase": '"qqxxzzvv is"',
        "begin": "qqxxzzv*",
    }.get(key, f"{key}-qqxxzzvv")


# --- Attempts -------------------------------------------------------------------------------------

_tries = []
OF_AGENTS = ("agent", "word of an agent")  # attempted from the tree above


def attempt(key, *suffixes):
    """
    Registers an attempt: f(root, thing, suffix) for each suffix. `thing` is something that another
    tree has.
    """

    def register(f):
        for suffix in suffixes or ("",):
            _tries.append((f"{f.__name__}({key}{suffix})", f, key, suffix))
        return f

    return register


def facts(path):
    st = os.lstat(path)
    return [stat.S_IFMT(st.st_mode), st.st_mode, st.st_nlink, st.st_size, st.st_blocks]


@attempt("ref", "", ":info", ":summary", ":1-2", ":b0-9", ":-1", "#L1-L2")
def read_ref(root, thing, suffix):
    return read(os.path.join(root, "refs", thing + suffix))


@attempt("ref", "", ":info", ":1-2")
def stat_ref(root, thing, suffix):
    return facts(os.path.join(root, "refs", thing + suffix))


@attempt("ref")
def open_ref_to_write(root, thing, suffix):
    os.close(os.open(os.path.join(root, "refs", thing), os.O_WRONLY))
    return "open"


@attempt("ref", "ref", "sha256", "path", "task", "lifecycle", "tags", "title", "used")
def attribute_of_ref(root, thing, suffix):
    return os.getxattr(os.path.join(root, "refs", thing), "user.offload." + suffix)


@attempt("ref")
def attributes_of_ref(root, thing, suffix):
    return os.listxattr(os.path.join(root, "refs", thing))


@attempt("ref")
def label_ref(root, thing, suffix):
    return os.setxattr(os.path.join(root, "refs", thing), "user.offload.important", b"0") or "set"


@attempt("ref")
def link_ref(root, thing, suffix):
    new = os.path.join(root, "cache", "linked")
    os.link(os.path.join(root, "refs", thing), new)
    os.unlink(new)
    return "linked"


@attempt("ref")
def utimes_of_ref(root, thing, suffix):
    return os.utime(os.path.join(root, "refs", thing)) or "set"


@attempt("word", "")
@attempt("phrase", "")
@attempt("begin", "")
def search(root, thing, suffix):
    found = read(os.path.join(root, "search", thing))
    return found.decode() or "nothing"


@attempt("task", "task:")
@attempt("tag", "tag:")
@attempt("category", "category:")
def search_filter(root, thing, suffix):
    alone = read(os.path.join(root, "search", suffix + thing))
    worded = read(os.path.join(root, "search", f"{suffix}{thing} others say this"))
    return (alone + worded).decode() or "nothing"


@attempt("agent", "agent:")
def search_agent(root, thing, suffix):
    alone = read(os.path.join(root, "search", suffix + thing))
    worded = read(os.path.join(root, "search", f"{suffix}{thing} others say this"))
    return (alone + worded).decode() or "nothing"


@attempt("word of an agent", "agent:* ", "agent:* tier:working +")
@attempt("word", "tier:working ", "after:7d ", "-nothing ", "+")
def search_with_filter(root, thing, suffix):
    return read(os.path.join(root, "search", suffix + thing)).decode() or "nothing"


@attempt("entry", "recent", "expiring", "by-tier/working")
def entry_of_view(root, thing, suffix):
    return os.readlink(os.path.join(root, "views", suffix, thing))


@attempt("task", "by-task/")
@attempt("tag", "by-tag/")
@attempt("category", "by-category/")
def folder_of_view(root, thing, suffix):
    path = os.path.join(root, "views", suffix + thing)
    return facts(path)[0], [name.split("-", 1)[1] for name in sorted(os.listdir(path))]


@attempt("entry", "recent", "by-tier/working", "expiring")
def attributes_of_entry(root, thing, suffix):
    return facts(os.path.join(root, "views", suffix, thing))


@attempt("entry", "recent:1-2", "by-tier/working:1-2")
def slice_of_entry(root, thing, suffix):
    view, lines = suffix.split(":")
    return read(os.path.join(root, "views", view, thing) + ":" + lines)


@attempt("task", "context.md")
def context_of_task(root, thing, suffix):
    return read(os.path.join(root, "tasks", thing, suffix))


@attempt("task", "")
def dry_run_of_task(root, thing, suffix):
    """Counts what a collection of another tree's task would look at."""
    return collect(root, f"dry-run task {thing}")["looked"]


# From outside, these paths lead above the other tree, where its file is found. Inside, nowhere.
@attempt("word", "..", "../..", "agents/../..")
def up(root, thing, suffix):
    found = []
    for folder, _, names in os.walk(os.path.join(root, suffix)):
        found += [n for n in names if thing in n]
    return found or "nothing"


# --- What changes in other trees must not affect --------------------------------------------------

_sights = []
_calls = itertools.count(1)


def ask(root, query):
    """Searches. Blanks make each name unique, since answers are kept by name for a moment."""
    return read(os.path.join(root, "search", query + " " * (next(_calls) % 99))).decode()


def sight(f):
    """Registers a function that returns something a tree shows about its own content."""
    _sights.append(f)
    return f


@sight
def status(root):
    return read(os.path.join(root, ".offload/status.json"))


@sight
def metrics(root):
    return read(os.path.join(root, ".offload/metrics"))


@sight
def ledger(root):
    return read(os.path.join(root, ".offload/ledger"))


@sight
def log(root):
    return read(os.path.join(root, ".offload/log"))


@sight
def log_bounds(root):
    return outcome(os.getxattr, root, "user.offload.log")


@sight
def room(root):
    v = os.statvfs(root)
    return [v.f_blocks, v.f_bfree, v.f_bavail, v.f_files, v.f_ffree, v.f_favail, v.f_frsize]


@sight
def room_of_a_file(root):
    v = os.statvfs(os.path.join(root, "cache"))
    return [v.f_bfree, v.f_ffree]


@sight
def room_of_what_is_made(root):
    tags = os.path.join(root, "views/by-tag")
    made = ("README.md:1-2", ".offload/status.json", "search/others", "views/recent")
    paths = [os.path.join(root, path) for path in made]
    paths += [os.path.join(tags, name) for name in os.listdir(tags)]
    return sorted({(v.f_blocks, v.f_bfree, v.f_files, v.f_ffree) for v in map(os.statvfs, paths)})


@sight
def times_of_views(root):
    views = os.path.join(root, "views")
    return [os.stat(os.path.join(views, name)).st_mtime_ns for name in sorted(os.listdir(views))]


@sight
def lists_of_views(root):
    found = []
    for folder, folders, names in os.walk(os.path.join(root, "views")):
        found += sorted(os.path.relpath(os.path.join(folder, n), root) for n in folders + names)
    return sorted(found)


@sight
def answer_of_words(root):
    return ask(root, "others say zebrafish in the shared text")


@sight
def answer_of_filter(root):
    return ask(root, "after:7d")


@sight
def names_of_root(root):
    return sorted(os.listdir(root)), os.stat(os.path.join(root, "agents")).st_nlink


def fixed(root):
    """Returns what no tree takes from another, and what never changes."""
    return [
        read(os.path.join(root, "README.md")),
        read(os.path.join(root, ".offload/config.ini")),
        sorted(os.listdir(os.path.join(root, ".offload"))),
        [outcome(os.getxattr, root, "user.offload." + n) for n in ("verify", "gc", "key", "state")],
        [outcome(os.setxattr, root, "user.offload.verify", b"start")],
        sorted(os.listxattr(root)),
        facts(root),
    ]


def own(root):
    """Returns what the files of a tree say about themselves."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f not in ("views", "refs", "search", ".offload")]
        for name in names:
            path = os.path.join(folder, name)
            attributes = {n: outcome(os.getxattr, path, n) for n in os.listxattr(path)}
            for each in ("agent", "stored_bytes", "lifecycle"):
                attributes[each] = outcome(os.getxattr, path, "user.offload." + each)
            info = json.loads(read(path + ":info"))
            found.append((os.path.relpath(path, root), facts(path), attributes, info))
    return sorted(found, key=lambda f: f[0])


# --- The tests ------------------------------------------------------------------------------------

TREES = {"": "aardvark", "agents/a": "buffalo", "agents/a/agents/c": "chinchilla",
         "agents/b": "dromedary"}  # fmt: skip


def settle(m, *paths):
    m.wait_sealed(*paths)


def wait_told(root):
    """Waits until the log covers all files of a tree, which happens soon after they are sealed."""
    files = [
        os.path.join(folder, name)
        for top in ("cache", "tasks", "agents")
        for folder, _, names in os.walk(os.path.join(root, top))
        for name in names
        if not {"refs", "views", "search", ".offload"} & set(folder.split("/")) and name != "README.md"
    ]
    paths = [f'"path":"{os.path.relpath(f, root)}"'.encode() for f in files]
    assert paths
    eventually(lambda: all(p in log(root) for p in paths), "all is in the log")


@contextlib.contextmanager
def forest(case, *options, start=None):
    """Yields a mount with files in its root tree and in three agents' trees, and {tree: Place}."""
    with case.mount(SEAL_SOON, *options) if not start else start() as m:
        for tree in TREES:
            os.makedirs(m(tree, "agents"), exist_ok=True) if not tree else os.mkdir(m(tree))
        m.make("cache/never")
        places = [Place(m, tree, word) for tree, word in TREES.items()]
        yield m, {p.tree: p for p in places}


def foreign(tree):
    return [other for other in TREES if other != tree and not other.startswith(tree + "/")]


@test(timeout=120, variants={t.replace("agents/", ""): t for t in TREES if t})
def what_others_have_never_was(case, tree):
    made = leaks = 0
    with forest(case) as (m, places), inside(m, tree, case) as agent:
        settle(m, *(p.path for p in places.values()))
        for other in foreign(tree):
            place = places[other]
            for name, work, key, suffix in _tries:
                root = m(other)
                if key in OF_AGENTS:
                    if not other:
                        continue
                    root = m(other, "../..")
                known = outcome(work, root, place.has(key), suffix)
                assert known != "nothing" and known not in errno.errorcode.values(), (name, known)
                got = agent(work, "/", place.has(key), suffix)
                nothing = agent(work, "/", never(m, place, key), suffix)
                made += 1
                if got != nothing:
                    leaks += 1
                    print(f"{name} for {other or 'the root'}: {got!r}, and not {nothing!r}")
        # It finds everything of its own.
        for name, work, key, suffix in _tries:
            if key not in OF_AGENTS:
                found = agent(work, "/", places[tree].has(key), suffix)
                assert found not in errno.errorcode.values(), (name, found)
    print(f"{made} tries, {leaks} leaks")
    assert made > 100 and not leaks, f"{leaks} leaks"


def disturb(m, tree):
    """Causes many changes in a tree, different ones each time."""
    place = f"cache/kind{time.monotonic_ns()}"
    for n in range(5):
        path = m.make(os.path.join(tree, place, f"zebrafish-{n}"), SHARED + os.urandom(2 << 20))
        os.setxattr(path, "user.offload.tags", b"tag-of-zebrafish")
        os.setxattr(path, "user.offload.title", b"others say zebrafish in the shared text")
    os.makedirs(m(tree, "tasks", f"secret{time.monotonic_ns()}"))
    shown = os.listdir(m(tree, "views/recent")), read(m(tree, "search/zebrafish"))
    assert shown[0] and shown[1]
    os.rename(m(tree, place, "zebrafish-0"), m(tree, "persistent/zebrafish"))
    os.unlink(m(tree, place, "zebrafish-1"))
    os.setxattr(m(tree), "user.offload.ledger", LEDGER)
    collect(m(tree))


@test(timeout=120, variants={t.replace("agents/", ""): t for t in TREES if t})
def nothing_changes_by_what_others_do(case, tree):
    looks = leaks = 0
    with forest(case) as (m, places), inside(m, tree, case) as agent:
        mine = m.make(os.path.join(tree, "cache/mine"), SHARED)
        settle(m, mine, *(p.path for p in places.values()))
        wait_told(m(tree))
        agent(ledger, "/")
        for other in foreign(tree):
            before = [(f, agent(f, "/"), outcome(f, m(other))) for f in _sights + [fixed, own]]
            disturb(m, other)
            for f, was, outside in before:
                now = agent(f, "/")
                looks += 1
                if now != was:
                    leaks += 1
                    print(f"{f.__name__} for {other or 'the root'}: {now!r}, and not {was!r}")
                # Whoever may see the other tree sees the change, except in values that are kept.
                if f not in (fixed, own, metrics, status, names_of_root, log_bounds) and other:
                    changed = outcome(f, m(other))
                    assert changed != outside, (f.__name__, changed)
    print(f"{looks} looks, {leaks} leaks")
    assert looks > 20 and not leaks, f"{leaks} leaks"


@test
def an_agent_that_is_called_as_one_before_is_not_told_of_its_ledger(case):
    with case.mount() as m:
        for _ in range(2):
            os.mkdir(m("agents/b"))
            assert b"zebrafish" not in ledger(m("agents/b")), ledger(m("agents/b"))
            os.setxattr(m("agents/b"), "user.offload.ledger", LEDGER)
            assert b"zebrafish" in ledger(m("agents/b")), ledger(m("agents/b"))
            assert b"\tagents/b/" in ledger(m()), ledger(m())
            os.rmdir(m("agents/b"))
        assert ledger(m()).count(b"\tagents/(removed)/") == 2, ledger(m())


@test
def trees_have_keys_of_their_own(case):
    with forest(case) as (m, _):
        keys = [os.getxattr(m(tree), "user.offload.key") for tree in TREES]
        assert len(set(keys)) == len(TREES), keys
        m.remount()
        assert [os.getxattr(m(tree), "user.offload.key") for tree in TREES] == keys


class Dirent(ctypes.Structure):
    _fields_ = [("ino", ctypes.c_uint64), ("off", ctypes.c_int64), ("len", ctypes.c_uint16),
                ("type", ctypes.c_uint8), ("name", ctypes.c_char * 256)]  # fmt: skip


libc.opendir.restype = ctypes.c_void_p
libc.readdir64.restype = ctypes.POINTER(Dirent)
for function in (libc.readdir64, libc.closedir):
    function.argtypes = [ctypes.c_void_p]
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]


def positions(path, after=0):
    """Lists (name, position after it) of a directory, starting after position `after`."""
    found, stream = [], libc.opendir(os.fsencode(path))
    libc.seekdir(stream, after)
    while entry := libc.readdir64(stream):
        found.append((entry.contents.name.decode(), entry.contents.off))
    libc.closedir(stream)
    return found


def handle(path):
    """Returns the kernel's number of a file, which anybody can obtain."""
    buf = ctypes.create_string_buffer(136)
    struct.pack_into("I", buf, 0, 128)
    call(libc.name_to_handle_at(-100, os.fsencode(path), buf, ctypes.byref(ctypes.c_int()), 0))
    high, low = struct.unpack_from("II", buf, 8)
    return high << 32 | low


def numbers(root):
    """
    Returns lists of numbers, each for 20 files in order of age, whose gaps could reveal what was
    created in between.
    """
    paths = [os.path.join(root, f"cache/{n}") for n in range(20)]
    listed = dict(positions(os.path.join(root, "cache")))
    viewed = dict(positions(os.path.join(root, "views/by-category/general")))
    return {
        "ino": [os.stat(p).st_ino for p in paths],
        "handle": [handle(p) for p in paths],
        "position": [listed[os.path.basename(p)] for p in paths],
        "position in a view": list(viewed.values())[2:],
        "ino of a slice": [os.stat(p + ":1").st_ino for p in paths],
        "handle of a slice": [handle(p + ":1") for p in paths],
    }


@test
def numbers_tell_nothing_of_what_is_made_elsewhere(case):
    with case.mount(SEAL_SOON) as m:
        os.mkdir(m("agents/a"))
        with inside(m, "agents/a", case) as agent:
            for n in range(20):
                agent(write, f"/cache/{n}", b"x\n")
            for name, found in agent(numbers, "/").items():
                assert len(set(found)) == 20 and found != sorted(found), (name, found)
                assert max(found) > 1 << 32, (name, found)
                assert all(0 < n < 1 << 63 for n in found), (name, found)
        # A position stays valid while a directory changes and after a restart.
        before = positions(m("agents/a/cache"))
        os.unlink(m("agents/a/cache/12"))
        os.unlink(m("agents/a/cache/15"))
        m.make("agents/a/cache/new")
        m.remount()
        rest = positions(m("agents/a/cache"), dict(before)["12"])
        assert [name for name, _ in rest] == ["13", "14", *map(str, range(16, 20)), "new"], rest
        assert dict(rest)["13"] == dict(before)["13"]


def room_by_descriptor(fd):
    v = os.fstatvfs(fd)
    return v.f_bfree, v.f_files


@test
def a_tree_that_is_gone_shows_nothing_of_those_left(case):
    with case.mount(SEAL_SOON) as m:
        os.mkdir(m("agents/a"))
        m.wait_sealed(m.make("known", SHARED * 30), m.make("agents/a/cache/x", SHARED * 30))
        fds = [os.open(m("agents/a", p), os.O_RDONLY) for p in ("cache/x", "", "views", "cache")]
        os.unlink(m("agents/a/cache/x"))
        os.rmdir(m("agents/a"))
        with raises(errno.ENODATA):
            os.getxattr(fds[0], "user.offload.stored_bytes")
        before = [outcome(room_by_descriptor, fd) for fd in fds]
        disturb(m, "")
        assert [outcome(room_by_descriptor, fd) for fd in fds] == before
        for fd in fds:
            os.close(fd)


def blocks(path):
    return os.stat(path).st_blocks


@test
def what_a_file_takes_tells_nothing_of_others(case):
    with forest(case) as (m, _), inside(m, "agents/a", case) as agent:
        known, unknown = os.urandom(1 << 20), os.urandom(1 << 20)
        m.wait_sealed(m.make("agents/b/cache/known", known))
        for sealed in (False, True):
            for name, content in (("known", known), ("unknown", unknown)):
                path = m.make("agents/a/cache/" + name, content)
                if sealed:
                    m.wait_sealed(path)
            sizes = [agent(blocks, "/cache/" + name) for name in ("known", "unknown")]
            assert sizes[0] == sizes[1] >= 2048, sizes
            for name in ("known", "unknown"):
                got = agent(os.getxattr, "/cache/" + name, "user.offload.stored_bytes")
                assert got == "ENODATA", got
        m.make("agents/b/cache/known", b"")
        m.tidy()
        assert agent(blocks, "/cache/known") == sizes[0]


# --- Moves ----------------------------------------------------------------------------------------


def where(m, tree, place):
    """Lists the ways by which a tree leads to the file of a place."""
    entry, found = place.has("entry"), []
    ways = {
        "ref": lambda: read(m(tree, "refs", place.ref)),
        "info": lambda: read(m(tree, "refs", place.ref + ":info")),
        "lines": lambda: read(m(tree, "refs", place.ref + ":1-2")),
        "recent": lambda: os.lstat(m(tree, "views/recent", entry)),
        "recent, listed": lambda: os.listdir(m(tree, "views/recent")).index(entry),
        "tag": lambda: os.lstat(m(tree, "views/by-tag", place.has("tag"), entry)),
        "tag, listed": lambda: os.listdir(m(tree, "views/by-tag", place.has("tag"))).index(entry),
        "search": lambda: ask(m(tree), place.word).index(place.word),
        "filter": lambda: ask(m(tree), "tag:" + place.has("tag")).index("name-"),
    }
    for name, way in ways.items():
        try:
            way()
            found.append(name)
        except (OSError, ValueError):
            pass
    return found


def above(tree):
    return tree.rpartition("agents/")[0].rstrip("/")


def is_only_in(m, tree, place):
    """
    Checks that a file can be reached in every way from its own tree, only by ref from the trees
    above, and not at all from others.
    """
    for other in TREES:
        want = 9 if other == tree else 3 if tree.startswith(other) else 0
        # A thread tells the kernel to forget links.
        eventually(
            lambda: len(where(m, other, place)) == want,
            f"{other or 'the root'} has {want} ways to what is in {tree or 'the root'}",
        )


MOVES = [
    ("agents/a", "agents/b"),
    ("agents/b", ""),
    ("", "agents/a/agents/c"),
    ("agents/a/agents/c", "agents/a"),
    ("agents/a", "agents/a/agents/c"),
    ("agents/a/agents/c", "agents/b"),
]


@test(timeout=120, variants={"file": False, "directory": True})
def what_the_parent_moves_is_in_one_tree(case, directory):
    with forest(case) as (m, places):
        place = places["agents/a"]
        settle(m, place.path)
        path = "tasks/" + place.has("task")
        for old, new in MOVES:
            is_only_in(m, old, place)
            if directory:
                os.rename(m(old, path), m(new, path))
            else:
                old_path = m(old, path, place.has("category"), f"name-{place.word}")
                new_path = m(new, path, place.has("category"), f"name-{place.word}")
                os.makedirs(os.path.dirname(new_path), exist_ok=True)
                os.rename(old_path, new_path)
            is_only_in(m, new, place)
        m.crash()
        is_only_in(m, MOVES[-1][1], place)


@test
def a_file_of_several_names_is_of_one_tree(case):
    with forest(case) as (m, places):
        for one in TREES:
            for other in TREES:
                if one == other:
                    continue
                with raises(errno.EXDEV):
                    os.link(places[one].path, m(other, "cache/link"))
        for tree in TREES:
            os.link(places[tree].path, m(tree, "cache/link"))
        for one in TREES:
            for other in TREES:
                if one != other:
                    with raises(errno.EXDEV):
                        os.rename(m(one, "cache/link"), m(other, "cache/moved"))
                    m.make(os.path.join(other, "cache/plain"))
                    with raises(errno.EXDEV):
                        renameat2(m(other, "cache/plain"), m(one, "cache/link"), RENAME_EXCHANGE)
        # A directory takes all names with it, or the move is refused too.
        for tree in TREES:
            os.mkdir(m(tree, "cache/dir"))
            os.rename(m(tree, "cache/link"), m(tree, "cache/dir/link"))
        for one in TREES:
            for other in TREES:
                if one != other:
                    with raises(errno.EXDEV):
                        os.rename(m(one, "cache/dir"), m(other, "cache/moved"))


@test
def trees_stay_where_they_are(case):
    with forest(case) as (m, _):
        for path in ("agents", "agents/a/cache", "agents/a/agents", "agents/a/agents/c/tasks"):
            with raises(errno.EBUSY):
                os.rename(m(path), m("cache/x"))
            with raises(errno.EBUSY):
                os.rmdir(m(path))
        for new in ("cache/x", "agents/x", "agents/b/agents/x", "persistent/x"):
            with raises(errno.EPERM, errno.EBUSY):
                os.rename(m("agents/a/agents/c"), m(new))
        for old in ("cache/dir", "persistent/dir", "agents/a/cache/dir"):
            os.mkdir(m(old))
            with raises(errno.EPERM):
                os.rename(m(old), m("agents/new"))
            with raises(errno.EPERM, errno.EEXIST, errno.EBUSY):
                renameat2(m(old), m("agents/b"), RENAME_EXCHANGE)
        for make in (
            lambda p: write(p, b""),
            lambda p: os.symlink("x", p),
            lambda p: os.mkfifo(p),
            lambda p: os.link(m("cache/never"), p),
        ):
            with raises(errno.EPERM):
                make(m("agents/x"))
            with raises(errno.EPERM):
                make(m("agents/a/agents/x"))
        for tree in ("agents/a", "agents/a/agents/c"):
            with raises(errno.ENOTEMPTY):
                os.rmdir(m(tree))
        assert sorted(os.listdir(m("agents"))) == ["a", "b"]


# --- Open descriptors -----------------------------------------------------------------------------


def keep_open(path):
    """Opens a file and leaves it open; returns the descriptor, for the process that runs this."""
    return os.open(path, os.O_RDWR if not os.path.isdir(path) else os.O_RDONLY)


def by_descriptor(fd, name):
    return os.listdir(f"/proc/self/fd/{fd}/{name}")


def above_descriptor(fd):
    return os.listdir(os.open("..", os.O_RDONLY, dir_fd=fd))


def copy_to(source, fd):
    return os.copy_file_range(os.open(source, os.O_RDONLY), fd, 1 << 20, 0, 0)


def pread(fd):
    return os.pread(fd, 100, 0)


@test
def descriptors_of_what_was_moved_lead_nowhere_else(case):
    with forest(case) as (m, places), inside(m, "agents/a", case) as agent:
        mine = places["agents/a"]
        task = "/tasks/" + mine.has("task")
        file = f"{task}/{mine.has('category')}/name-{mine.word}"
        fd, folder = agent(keep_open, file), agent(keep_open, task)
        os.rename(m("agents/a" + task), m("persistent/taken"))
        # Open files stay open, as on any filesystem, but offer no way out.
        assert agent(pread, fd).startswith(b"the buffalo")
        assert agent(os.listdir, folder)
        assert agent(above_descriptor, folder) == "ENOENT"
        for name in (mine.ref, mine.ref + ":info", mine.ref + ":1-2"):
            assert agent(read, "/refs/" + name) == "ENOENT", name
        # Only a process that has access to both trees can copy between them.
        m.make("agents/a/cache/copy")
        target = agent(keep_open, "/cache/copy")
        with open(places["agents/b"].path, "rb") as source, open(m("agents/a/cache/copy"), "r+b") as f:
            assert os.copy_file_range(source.fileno(), f.fileno(), 10, 0, 0) == 10
        assert agent(pread, target) == b"the dromed"


# --- Expired files --------------------------------------------------------------------------------


@test
def expired_files_of_others_never_were(case):
    clock = Clock(case)
    m = Mount(case, case.store, case.mnt, (SEAL_SOON, "grace=0", "task_idle=60", "gc_interval=1000000"))
    with forest(case, start=lambda: clock.start(m)) as (m, places):
        settle(m, *(p.path for p in places.values()))
        while any(os.path.exists(p.path) for p in places.values()):
            clock.pass_time(DAY)
            collect(m.mnt)
        unknown = "zzzzzzzz"
        for tree in TREES:
            for other, place in places.items():
                for suffix in ("", ":info", ":summary", ":1-2"):
                    got = outcome(read, m(tree, "refs", place.ref + suffix))
                    never_was = outcome(read, m(tree, "refs", unknown + suffix))
                    if tree == other or other.startswith(tree):
                        want = b"{" if suffix == ":info" else "EKEYEXPIRED"
                        assert got[: len(want)] == want, (tree, other, suffix, got)
                    else:
                        assert got == never_was == "ENOENT", (tree, other, suffix, got)


if __name__ == "__main__":
    main()
