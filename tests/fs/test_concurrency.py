#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Concurrent writers, readers and renamers. The result must be what each of them did, even if the
daemon is killed meanwhile.
"""
import contextlib
import os
import random
import threading
import time

from files import noise, same_tree, snapshot, split_lines
from harness import (
    RENAME_EXCHANGE,
    RENAME_NOREPLACE,
    SEAL_NEVER,
    eventually,
    in_processes,
    main,
    read,
    renameat2,
    same,
    test,
    write,
)

DELAYS = {"drafts": SEAL_NEVER, "sealing": "seal_delay=1"}


def in_threads(count, work):
    """Runs work(0) to work(count - 1) in threads; raises the first exception of any."""
    failures = []

    def guarded(i):
        try:
            work(i)
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failures:
        raise failures[0]


IN = {"threads": in_threads, "processes": in_processes}


@contextlib.contextmanager
def meanwhile(work):
    """Repeats work() in a thread during the block; raises its exception, if any, at the end."""
    stop = threading.Event()
    failures = []

    def loop():
        try:
            while not stop.is_set():
                work()
        except BaseException as e:
            failures.append(e)

    runner = threading.Thread(target=loop)
    runner.start()
    try:
        yield
    finally:
        stop.set()
        runner.join()
    if failures:
        raise failures[0]


# --- Appending ------------------------------------------------------------------------------------


def line_of(writer, number):
    return f"writer {writer} line {number} {'x' * ((writer * 31 + number * 17) % 150)}\n".encode()


@test(
    variants={f"{how}-{delay}": (IN[how], DELAYS[delay]) for how in IN for delay in DELAYS},
    timeout=120,
)
def appended_lines_stay_whole_and_in_order(case, variant):
    run_all, delay = variant
    with case.mount(delay) as m:
        path = m.make("cache/shell/log", b"")

        def work(writer):
            with open(path, "ab", buffering=0) as f:
                for number in range(250):
                    f.write(line_of(writer, number))

        run_all(6, work)
        for again in (lambda: None, m.crash, m.remount):
            again()
            rows = split_lines(read(path))
            assert len(rows) == 6 * 250
            for writer in range(6):
                mine = [row for row in rows if row.startswith(b"writer %d " % writer)]
                assert mine == [line_of(writer, n) for n in range(250)], f"lines of writer {writer}"


@test(variants=DELAYS, timeout=120)
def acknowledged_appends_survive_a_kill(case, delay):
    with case.mount(delay) as m:
        path = m.make("cache/shell/log", b"")
        for turn in range(4):
            acknowledged = [0] * 4
            start = len(read(path))

            def work(writer):
                with contextlib.suppress(OSError), open(path, "ab", buffering=0) as f:
                    while f.write(line := line_of(writer, acknowledged[writer])) == len(line):
                        acknowledged[writer] += 1

            runner = threading.Thread(target=in_threads, args=(4, work))
            runner.start()
            eventually(lambda: min(acknowledged) > 20, "everybody has written")
            time.sleep(0.1 * turn)
            m.kill9()
            runner.join()
            m.start()
            rows = split_lines(read(path)[start:])
            for writer in range(4):
                mine = b"".join(row for row in rows if row.startswith(b"writer %d " % writer))
                want = b"".join(line_of(writer, n) for n in range(acknowledged[writer]))
                same(mine[: len(want)], want, f"acknowledged lines of writer {writer}")
                # The kernel may have sent part of the unacknowledged line.
                assert line_of(writer, acknowledged[writer]).startswith(mine[len(want) :]), mine[
                    len(want) :
                ]


# --- Reading while it changes ---------------------------------------------------------------------


@test(timeout=120)
def readers_see_a_growing_file_whole_while_it_is_sealed(case):
    data = noise(3 << 20, 1)
    with case.mount("seal_delay=1") as m:
        path = m.make("cache/shell/growing", b"")

        def look():
            got = read(path)
            same(got, data[: len(got)])
            assert os.path.getsize(path) >= len(got)

        with meanwhile(look), meanwhile(look), open(path, "ab", buffering=0) as f:
            for at in range(0, len(data), 30000):
                f.write(data[at : at + 30000])
                time.sleep(0.005)  # long enough for the sealer to find it quiet
        same(read(path), data)
        m.crash()
        same(read(path), data)


@test(timeout=120)
def readers_of_sealed_files_are_not_disturbed(case):
    contents = [noise(150000, i) for i in range(12)]
    with case.mount("seal_delay=1") as m:
        paths = [m.make(f"cache/shell/{i}", data) for i, data in enumerate(contents)]
        m.wait_sealed(*paths)
        m.remount()
        rng = random.Random(2)

        def look():
            i, at = rng.randrange(12), rng.randrange(150000)
            with open(paths[i], "rb") as f:
                same(os.pread(f.fileno(), 20000, at), contents[i][at : at + 20000])

        def churn(number):
            for i in range(40):
                path = m(f"cache/shell/churn-{number}-{i % 5}")
                write(path, contents[(number + i) % 12] + b"%d" % i)
                if i % 3 == 0:
                    os.unlink(path)

        with meanwhile(look), meanwhile(look):
            in_threads(3, churn)
        for path, data in zip(paths, contents):
            same(read(path), data)


@test(timeout=120)
def slices_are_exact_while_the_file_grows(case):
    row = lambda i: b"line %d %s\n" % (i, b"y" * (i % 60))
    with case.mount("seal_delay=1") as m:
        path = m.make("cache/shell/log", b"".join(row(i) for i in range(1, 101)))
        count = [100]
        rng = random.Random(3)

        def look():
            first = rng.randrange(1, count[0] - 5)
            same(
                read(f"{path}:{first}-{first + 4}"),
                b"".join(row(i) for i in range(first, first + 5)),
            )

        with meanwhile(look), open(path, "ab", buffering=0) as f:
            for i in range(101, 1500):
                f.write(row(i))
                count[0] = i
                if i % 100 == 0:
                    time.sleep(0.02)


# --- Names ----------------------------------------------------------------------------------------


@test(
    variants={f"{how}-{delay}": (IN[how], DELAYS[delay]) for how in IN for delay in DELAYS},
    timeout=120,
)
def rename_storms_lose_and_double_nothing(case, variant):
    run_all, delay = variant
    folders = ["cache/a", "cache/b", "persistent/c", "tasks/t/d"]
    with case.mount(delay) as m:
        for i in range(40):
            m.make(f"{folders[i % 4]}/{i}", b"content %d" % i)
        inodes = identities(m, folders)
        assert len(inodes) == 40

        def work(number):
            rng = random.Random(number)
            for _ in range(250):
                old = m(rng.choice(folders), str(rng.randrange(40)))
                new = m(rng.choice(folders), str(rng.randrange(40)))
                with contextlib.suppress(FileNotFoundError, FileExistsError):
                    renameat2(old, new, rng.choice([RENAME_EXCHANGE, RENAME_NOREPLACE]))

        run_all(5, work)
        assert identities(m, folders) == inodes
        m.crash()
        assert identities(m, folders) == inodes
        m.remount()
        assert identities(m, folders) == inodes


def identities(m, folders):
    """Maps inode numbers to the content of the files in these directories, one name for each."""
    found = {}
    for folder in folders:
        for name in os.listdir(m(folder)):
            ino = os.stat(m(folder, name)).st_ino
            assert ino not in found, f"{folder}/{name} is there twice"
            found[ino] = read(m(folder, name))
    return found


@test(timeout=120)
def directories_moved_across_each_other_never_make_a_loop(case):
    with case.mount() as m:
        for name in "abcd":
            m.make(f"cache/{name}/in/leaf", name.encode())

        def work(number):
            rng = random.Random(number)
            for _ in range(150):
                one, two = rng.sample("abcd", 2)
                for old, new in (
                    (f"cache/{one}", f"cache/{two}/in/{one}"),
                    (f"cache/{two}/in/{one}", f"cache/{one}"),
                ):
                    with contextlib.suppress(OSError):
                        os.rename(m(old), m(new))

        in_threads(4, work)
        for again in (lambda: None, m.crash):
            again()
            leaves = [
                read(os.path.join(f, "leaf"))
                for f, _, names in os.walk(m("cache"))
                if "leaf" in names
            ]
            assert sorted(leaves) == [b"a", b"b", b"c", b"d"], leaves


@test(
    variants={f"{how}-{delay}": (IN[how], DELAYS[delay]) for how in IN for delay in DELAYS},
    timeout=120,
)
def everybody_finds_what_they_left(case, variant):
    """
    Each process works in its own tree on the mount, and repeats the same on a plain directory; both
    must be equal at the end.
    """
    run_all, delay = variant
    os.mkdir(case.path("model"))
    with case.mount(delay) as m:

        def work(number):
            rng = random.Random(number)
            roots = [m("cache", str(number)), case.path("model", str(number))]
            for root in roots:
                os.mkdir(root)
            names = []
            for i in range(120):
                action = (
                    rng.choice(["new", "new", "append", "cut", "rename", "unlink"])
                    if names
                    else "new"
                )
                name = rng.choice(names) if names else None
                data = rng.randbytes(rng.choice([0, 10, 5000, 60000]))
                new = f"f{i}"
                for root in roots:
                    if action == "new":
                        write(os.path.join(root, new), data)
                    elif action == "append":
                        with open(os.path.join(root, name), "ab") as f:
                            f.write(data)
                    elif action == "cut":
                        os.truncate(os.path.join(root, name), len(data) // 2)
                    elif action == "rename":
                        os.rename(os.path.join(root, name), os.path.join(root, new))
                    else:
                        os.unlink(os.path.join(root, name))
                if action in ("rename", "unlink"):
                    names.remove(name)
                if action in ("new", "rename"):
                    names.append(new)

        run_all(5, work)
        for again in (lambda: None, m.crash, m.remount):
            again()
            same_tree(snapshot(m("cache")), snapshot(case.path("model")))


@test(timeout=120)
def one_name_is_made_once(case):
    """When several create or remove the same name at once, exactly one succeeds."""
    with case.mount() as m:
        os.makedirs(m("cache/shell"))
        won = {"create": [], "mkdir": [], "link": [], "unlink": []}
        source = m.make("cache/source", b"")
        barrier = threading.Barrier(6)

        def attempt(what, function, *arguments):
            try:
                function(*arguments)
                won[what].append(arguments)
            except (FileExistsError, FileNotFoundError):
                pass

        def work(_):
            for i in range(40):
                barrier.wait()
                attempt(
                    "create",
                    lambda p: os.close(os.open(p, os.O_CREAT | os.O_EXCL)),
                    m(f"cache/shell/f{i}"),
                )
                attempt("mkdir", os.mkdir, m(f"cache/shell/d{i}"))
                attempt("link", os.link, source, m(f"cache/shell/l{i}"))
                barrier.wait()
                attempt("unlink", os.unlink, m(f"cache/shell/f{i}"))

        in_threads(6, work)
        assert {what: len(winners) for what, winners in won.items()} == dict.fromkeys(won, 40)
        assert os.stat(source).st_nlink == 41
        assert len(os.listdir(m("cache/shell"))) == 80


@test(timeout=120)
def listing_goes_on_while_names_come_and_go(case):
    with case.mount() as m:
        steady = {f"steady-{i}" for i in range(300)}
        for name in steady:
            m.make("cache/shell/" + name)

        def look():
            listed = os.listdir(m("cache/shell"))
            assert len(listed) == len(set(listed)), "a name is listed twice"
            assert steady <= set(listed), "a name that was always there is not listed"

        def churn(number):
            for i in range(200):
                # Use each name once: a name that came back could be listed in both of its places.
                path = m(f"cache/shell/churn-{number}-{i}")
                write(path, b"")
                os.unlink(path)

        with meanwhile(look), meanwhile(look):
            in_threads(3, churn)


@test(timeout=120)
def refs_follow_files_that_move(case):
    with case.mount("seal_delay=1") as m:
        path = m.make("cache/a/x", b"content")
        ref = m("refs", os.getxattr(path, "user.offload.ref").decode())
        for folder in ("persistent/b", "tasks/t/c", "cache/d"):
            os.makedirs(m(folder))
        places = [m(folder, "x") for folder in ("cache/a", "persistent/b", "tasks/t/c", "cache/d")]
        with meanwhile(lambda: same(read(ref), b"content")):
            for i in range(300):
                os.rename(places[i % 4], places[(i + 1) % 4])


@test(timeout=120)
def removal_during_use_harms_nobody(case):
    """Files are unlinked while others read them through open descriptors."""
    with case.mount("seal_delay=1") as m:
        os.makedirs(m("cache/shell"))

        def work(number):
            for i in range(25):
                data = noise(40000, number * 1000 + i)
                path = m(f"cache/shell/{number}-{i}")
                write(path, data)
                with open(path, "r+b", buffering=0) as f:
                    os.unlink(path)
                    time.sleep(0.004)
                    same(f.read(), data)
                    os.pwrite(f.fileno(), b"end", 40000)
                    same(os.pread(f.fileno(), 10, 39995), data[39995:] + b"end")

        in_threads(6, work)
        assert os.listdir(m("cache/shell")) == []


main()
