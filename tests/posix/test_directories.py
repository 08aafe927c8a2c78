#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reading a directory and appending to a file while others do the same."""
import contextlib
import ctypes
import multiprocessing
import os
import random

from programs import sh

from harness import SEAL_SOON, in_processes, main, read, run, same, test, write

libc = ctypes.CDLL(None, use_errno=True)
libc.opendir.restype = ctypes.c_void_p
libc.readdir.restype = ctypes.c_void_p
libc.readdir.argtypes = libc.closedir.argtypes = libc.telldir.argtypes = [ctypes.c_void_p]
libc.telldir.restype = ctypes.c_long
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
NAME_AT = 19  # offset of d_name in struct dirent


class Stream:
    """A directory stream of the C library, with positions."""

    def __init__(self, path):
        self.stream = libc.opendir(os.fsencode(path))
        assert self.stream, os.strerror(ctypes.get_errno())

    def next(self):
        entry = libc.readdir(self.stream)
        return os.fsdecode(ctypes.string_at(entry + NAME_AT)) if entry else None

    def rest(self):
        return list(iter(self.next, None))

    def tell(self):
        return libc.telldir(self.stream)

    def seek(self, position):
        libc.seekdir(self.stream, position)

    def close(self):
        libc.closedir(self.stream)


@contextlib.contextmanager
def meanwhile(*works):
    """Runs each work(number, stopped) in a process until the block is left."""
    fork = multiprocessing.get_context("fork")
    stop = fork.Event()
    processes = [
        fork.Process(target=work, args=(number, stop.is_set))
        for number, work in enumerate(works)
    ]
    for p in processes:
        p.start()
    try:
        yield
    finally:
        stop.set()
        for p in processes:
            p.join()
    codes = [p.exitcode for p in processes]
    assert not any(codes), f"processes ended with {codes}"


STEADY = 2000


def populated(m, name):
    folder = m(name)
    os.makedirs(folder)
    steady = {f"steady-{i:04d}-{'n' * (i % 40)}" for i in range(STEADY)}
    for i, entry in enumerate(sorted(steady)):
        if i % 50:
            write(os.path.join(folder, entry), b"")
        else:
            os.mkdir(os.path.join(folder, entry))
    return folder, steady


def churn(folder):
    """Returns work that adds, renames and removes entries of its own, few or many at a time."""

    def work(number, stopped):
        rng = random.Random(number)
        while not stopped():
            paths = [os.path.join(folder, f"{number}-{i}") for i in range(rng.choice([3, 400]))]
            for path in paths:
                write(path, b"")
            for path in paths:
                os.rename(path, path + "-renamed")
            for path in paths:
                os.unlink(path + "-renamed")

    return work


def by_find(folder):
    return run("find", folder, "-mindepth", "1", "-printf", "%f\\n").stdout.decode().splitlines()


def by_ls(folder):
    return run("ls", "-U1", folder).stdout.decode().splitlines()


def by_scandir(folder):
    with os.scandir(folder) as entries:
        return [e.name for e in entries]


def by_stream(folder):
    stream = Stream(folder)
    names = stream.rest()
    stream.close()
    return [n for n in names if n not in (".", "..")]


READERS = {"find": by_find, "ls": by_ls, "scandir": by_scandir, "stream": by_stream}


@test(timeout=120, variants=READERS)
def what_stays_is_listed_once_while_other_entries_come_and_go(case, reader):
    with case.mount("seal_delay=0") as m:
        folder, steady = populated(m, "cache/many")
        for _ in range(2):
            met = set()
            with meanwhile(churn(folder), churn(folder)):
                while len(met) < 1000:
                    names = reader(folder)
                    met.update(set(names) - steady)
                    listed = [n for n in names if n in steady]
                    assert len(listed) == len(set(listed)), "a name is listed twice"
                    assert len(listed) == STEADY, f"{STEADY - len(listed)} names are missing"
            assert sorted(reader(folder)) == sorted(steady)
            m.crash()


@test(timeout=120)
def what_is_replaced_is_always_listed_once(case):
    """A name that is replaced by rename exists at every moment."""
    with case.mount("seal_delay=0") as m:
        folder, steady = populated(m, "cache/many")
        names = sorted(steady)[1::50]

        def replace(number, stopped):
            rng = random.Random(number)
            while not stopped():
                beside = os.path.join(folder, f".tmp-{number}")
                write(beside, b"new")
                os.rename(beside, os.path.join(folder, rng.choice(names)))

        with meanwhile(replace, replace):
            for _ in range(40):
                listed = [n for n in by_scandir(folder) if n in steady]
                assert len(listed) == len(set(listed)), "a name is listed twice"
                assert len(listed) == STEADY, f"{STEADY - len(listed)} names are missing"


@test(timeout=120)
def a_reader_who_renames_what_it_meets_comes_to_an_end(case):
    with case.mount() as m:
        folder, steady = populated(m, "cache/many")
        with os.scandir(folder) as entries:
            for count, entry in enumerate(entries, 1):
                assert count <= 2 * STEADY, "the listing has no end"
                os.rename(entry.path, os.path.join(folder, "beside"))
                os.rename(os.path.join(folder, "beside"), entry.path)
        assert sorted(os.listdir(folder)) == sorted(steady)


@test(timeout=120)
def a_tree_is_removed_while_it_is_read(case):
    with case.mount("seal_delay=0") as m:
        folder, _ = populated(m, "cache/many")
        with os.scandir(folder) as entries:
            for entry in entries:
                os.rmdir(entry.path) if entry.is_dir() else os.unlink(entry.path)
        assert os.listdir(folder) == []
        os.rmdir(folder)
        folder, _ = populated(m, "cache/many")
        run("find", folder, "-mindepth", "1", "-delete")
        assert os.listdir(folder) == []
        for i in range(200):
            m.make(f"cache/many/d{i % 9}/e{i % 5}/f{i}")

        def remove(_):
            run("rm", "-rf", folder)

        in_processes(3, remove)
        assert not os.path.exists(folder)


@test(timeout=120, variants={"uncached": False, "cached": True})
def positions_stay_good_while_the_directory_changes(case, cached):
    """telldir() and seekdir(), which user-space NFS servers and file managers depend on."""
    with case.mount(SEAL_SOON) as m:
        folder, _ = populated(m, "cache/many")
        if cached:
            os.listdir(folder)
        stream = Stream(folder)
        order, after = [], {}
        while name := stream.next():
            order.append(name)
            after[name] = stream.tell()
        removed = set(order[5::3])
        for name in removed:
            path = os.path.join(folder, name)
            os.rmdir(path) if os.path.isdir(path) else os.unlink(path)
        for i in range(300):
            write(os.path.join(folder, f"added-{i}"), b"")
        kept = [n for n in order if n not in removed]
        for i, name in enumerate(order[::97]):
            if cached and i % 3 == 0:
                os.listdir(folder)  # another reader, for whom the kernel lists the directory again
            stream.seek(after[name])
            rest = [n for n in stream.rest() if n not in removed and not n.startswith("added")]
            want = [n for n in order[order.index(name) + 1 :] if n not in removed]
            assert rest == want, f"after {name}: {len(rest)} names, expected {len(want)}"
        stream.seek(0)
        again = [n for n in stream.rest() if not n.startswith("added")]
        assert again == kept, f"{len(again)} names, expected {len(kept)}"
        stream.close()


@test(timeout=120, variants={"kept": 1, "removed": 0})
def a_reader_goes_on_where_an_entry_was(case, there):
    """Reads in small steps. The entry before the next step is removed while others list all."""
    with case.mount(SEAL_SOON) as m:
        folder, steady = populated(m, "cache/many")
        with os.scandir(folder) as entries:
            seen = []
            for entry in entries:
                seen.append(entry.name)
                if len(seen) % 100 == 50:
                    path = entry.path
                    if not there:
                        os.rmdir(path) if entry.is_dir() else os.unlink(path)
                    assert len(os.listdir(folder)) >= STEADY - STEADY // 100
        assert sorted(seen) == sorted(steady)


@test(timeout=120, variants={"sealed_at_once": "seal_delay=0", "drafts": "seal_delay=3600000"})
def lines_of_many_writers_stay_whole(case, delay):
    """Each line, short or long, is one write to a file opened for appending."""
    writers, count = 4, 150
    sizes = (10, 300, 5000, 70000)
    with case.mount(delay) as m:
        log = m.make("cache/shell/log")

        def line(number, i):
            head = b"%d %d " % (number, i)
            return head + b"abcdefghij"[number : number + 1] * sizes[i % 4] + b"\n"

        def work(number):
            fd = os.open(log, os.O_WRONLY | os.O_APPEND)
            for i in range(count):
                data = line(number, i)
                assert os.write(fd, data) == len(data)
            os.close(fd)

        in_processes(writers, work)
        for _ in range(2):
            got = read(log).splitlines(keepends=True)
            for number in range(writers):
                mine = b"".join(x for x in got if x.startswith(b"%d " % number))
                same(mine, b"".join(line(number, i) for i in range(count)), f"of writer {number}")
            assert len(got) == writers * count
            m.crash()


@test(timeout=120)
def programs_append_through_pipes(case):
    with case.mount("seal_delay=0") as m:
        os.makedirs(m("cache/shell"))
        command = "for i in 1 2 3 4; do seq -f $i.%g 500 | tee -a log >/dev/null & done; wait"
        sh(command, m("cache/shell"))
        got = read(m("cache/shell/log")).split()
        want = [f"{i}.{n}".encode() for i in range(1, 5) for n in range(1, 501)]
        assert sorted(got) == sorted(want)


main()
