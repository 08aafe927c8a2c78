#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
File content written, overwritten, truncated, extended and mapped, in every state of files.STATES.
"""
import errno
import hashlib
import mmap
import os
import random
import sqlite3
import threading

from files import KIB, MIB, STATES, log_text, noise
from harness import SEAL_NEVER, SEAL_SOON, main, raises, read, run, same, test, write, xattr

ODD_SIZES = [0, 1, 511, 4095, 4096, 4097, 65535, 65536, 131073, MIB - 1, MIB, MIB + 1, 3 * MIB + 7]


@test(variants=STATES)
def files_of_every_size_read_back(case, state):
    with state.mount(case) as m:
        wanted = {
            m.make(f"cache/shell/{size}", noise(size, size)): noise(size, size)
            for size in ODD_SIZES
        }
        state.settle(m, *wanted)
        for path, data in wanted.items():
            assert os.path.getsize(path) == len(data)
            same(read(path), data, path)
            with open(path, "rb") as f:
                for at in (0, 1, len(data) // 2, len(data) - 5000, len(data)):
                    same(
                        os.pread(f.fileno(), 5000, max(at, 0)),
                        data[max(at, 0) :][:5000],
                        f"{path} at {at}",
                    )


@test(variants=STATES)
def empty_files_stay_empty(case, state):
    with state.mount(case) as m:
        path = m.make("cache/shell/empty", b"")
        emptied = m.make("cache/shell/emptied", log_text(20000, 1))
        state.settle(m, emptied)
        os.truncate(emptied, 0)
        state.settle(m)
        for each in (path, emptied):
            same(read(each), b"")
            assert os.stat(each).st_size == 0 and os.stat(each).st_blocks == 0
        write(path, b"no more")
        state.settle(m, path)
        same(read(path), b"no more")


@test(variants=STATES)
def shrinking_and_extending_reads_zeros(case, state):
    with state.mount(case) as m:
        data = noise(300000, 2)
        for cut in (0, 1, 4095, 65536, 100001, 299999):
            path = m.make(f"cache/shell/cut-{cut}", data)
            state.settle(m, path)
            os.truncate(path, cut)
            assert os.path.getsize(path) == cut
            os.truncate(path, 250000)
            state.settle(m, path)
            same(read(path), data[:cut].ljust(250000, b"\0")[:250000], path)


@test(variants=STATES)
def shrinking_alone_keeps_the_rest(case, state):
    with state.mount(case) as m:
        data = noise(2 * MIB, 3)
        path = m.make("cache/shell/f", data)
        for cut in (2 * MIB - 1, MIB + 77, MIB, 100, 1):
            state.settle(m, path)
            os.truncate(path, cut)
            state.settle(m, path)
            same(read(path), data[:cut], f"cut to {cut}")


@test(variants=STATES)
def holes_read_zeros(case, state):
    with state.mount(case) as m:
        path = m.make("cache/shell/sparse", b"head")
        state.settle(m, path)
        with open(path, "r+b") as f:
            f.seek(5 * MIB)
            f.write(b"middle")
            f.truncate(8 * MIB)
        want = b"head".ljust(5 * MIB, b"\0") + b"middle"
        state.settle(m, path)
        same(read(path), want.ljust(8 * MIB, b"\0"))
        assert os.stat(path).st_size == 8 * MIB


@test
def a_hole_costs_nothing(case):
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/shell/hole", b"")
        os.truncate(path, 64 * MIB)
        assert os.stat(path).st_blocks * 512 < MIB
        m.wait_sealed(path)
        m.remount()
        assert os.stat(path).st_size == 64 * MIB and os.stat(path).st_blocks * 512 < MIB
        assert read(path).count(0) == 64 * MIB


@test(variants=STATES)
def o_trunc_starts_anew(case, state):
    with state.mount(case) as m:
        path = m.make("cache/shell/f", noise(200000, 4))
        state.settle(m, path)
        write(path, b"short")
        state.settle(m, path)
        same(read(path), b"short")
        run("sh", "-c", f"echo shell > '{path}'")
        same(read(path), b"shell\n")


@test(variants=STATES)
def appending(case, state):
    with state.mount(case) as m:
        want = log_text(70000, 5)
        path = m.make("cache/shell/log", want)
        for turn in range(3):
            state.settle(m, path)
            with open(path, "ab", buffering=0) as one, open(path, "ab", buffering=0) as two:
                for i in range(20):
                    line = b"turn %d line %d\n" % (turn, i)
                    (one if i % 2 else two).write(line)
                    want += line
            run("sh", "-c", f"echo by the shell >> '{path}'")
            want += b"by the shell\n"
            same(read(path), want)
        state.settle(m, path)
        same(read(path), want)


@test(variants=STATES)
def overwriting_in_the_middle_of_megabytes(case, state):
    with state.mount(case) as m:
        want = bytearray(noise(6 * MIB + 1234, 6))
        path = m.make("cache/shell/big", want)
        rng = random.Random(7)
        for turn in range(3):
            state.settle(m, path)
            with open(path, "r+b", buffering=0) as f:
                for at in (0, MIB - 3, 3 * MIB + rng.randrange(MIB), len(want) - 10):
                    patch = rng.randbytes(rng.choice([1, 10, 4096, 150000]))[: len(want) - at]
                    os.pwrite(f.fileno(), patch, at)
                    want[at : at + len(patch)] = patch
            same(read(path), want, f"turn {turn}")
        state.settle(m, path)
        same(read(path), want)


@test
def small_writes_add_up(case):
    with case.mount(SEAL_SOON) as m:
        data = log_text(150000, 8)
        path = m.make("cache/shell/f", b"")
        with open(path, "wb", buffering=0) as f:
            for at in range(0, len(data), 97):
                f.write(data[at : at + 97])
        same(read(path), data)
        m.wait_sealed(path)
        m.remount()
        same(read(path), data)


@test
def the_hash_answers_only_for_the_present_content(case):
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/shell/f", b"first")
        m.wait_sealed(path)
        for i in range(30):
            data = b"version %d" % i
            write(path, data)
            assert xattr(path, "sha256") in (None, hashlib.sha256(data).hexdigest())
        m.wait_sealed(path)


@test
def a_quiet_file_is_sealed_only_after_the_delay(case):
    with case.mount(SEAL_NEVER) as m:
        path = m.make("cache/shell/f", noise(10000, 9))
        assert xattr(path, "sha256") is None
        m.remount(SEAL_SOON)
        m.wait_sealed(path)
        assert os.stat(path).st_blocks * 512 > 9000


@test(variants=STATES)
def an_unlinked_open_file_lives_on(case, state):
    with state.mount(case) as m:
        data = noise(400000, 10)
        path = m.make("cache/shell/f", data)
        state.settle(m, path)
        with open(path, "r+b", buffering=0) as f:
            os.unlink(path)
            if state.seals:  # gives the sealer a chance to run
                m.wait_sealed(m.make("cache/shell/other", b"sealed after it"))
            same(f.read(), data)
            os.pwrite(f.fileno(), b"still written", 1000)
            os.ftruncate(f.fileno(), 300000)
            st = os.fstat(f.fileno())
            assert (st.st_nlink, st.st_size) == (0, 300000)
            same(
                os.pread(f.fileno(), MIB, 0),
                (data[:1000] + b"still written" + data[1013:])[:300000],
            )
        assert not os.path.exists(path)
        m.crash()
        assert not os.path.exists(path)


@test
def an_unlinked_open_file_does_not_outlive_its_daemon(case):
    with case.mount(SEAL_NEVER) as m:
        path = m.make("cache/shell/f", noise(100000, 11))
        held = open(path, "rb")
        os.unlink(path)
        m.crash()
        held.close()
        assert os.listdir(m("cache/shell")) == []
        write(path, b"the name is free")
        m.remount()
        same(read(path), b"the name is free")


@test(variants=STATES)
def shared_mappings_are_written_back(case, state):
    with state.mount(case) as m:
        want = bytearray(noise(500000, 12))
        path = m.make("cache/shell/mapped", want)
        state.settle(m, path)
        with open(path, "r+b") as f, mmap.mmap(f.fileno(), 0) as mapped:
            same(mapped[:], want)
            mapped[100:110] = want[100:110] = b"0123456789"
            mapped[499990:] = want[499990:] = b"0123456789"
            mapped.flush()
        same(read(path), want)
        state.settle(m, path)
        same(read(path), want)
        with open(path, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            same(mapped[:], want)


@test
def one_reader_sees_what_another_descriptor_writes(case):
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/shell/f", b"a" * 10000)
        with open(path, "rb", buffering=0) as reader, open(path, "r+b", buffering=0) as writer:
            for i in range(20):
                os.pwrite(writer.fileno(), b"%04d" % i, 5000)
                same(os.pread(reader.fileno(), 4, 5000), b"%04d" % i)
                if i == 10:
                    m.wait_sealed(path)


@test(timeout=120)
def many_threads_write_many_files(case):
    with case.mount(SEAL_SOON) as m:
        os.makedirs(m("cache/shell"))
        failures = []

        def work(number):
            try:
                for i in range(12):
                    data = noise(5000 + 13 * i, number * 100 + i)
                    with open(m(f"cache/shell/{number}-{i}"), "wb", buffering=0) as f:
                        for at in range(0, len(data), 1000):
                            f.write(data[at : at + 1000])
                    same(read(m(f"cache/shell/{number}-{i}")), data)
            except BaseException as e:
                failures.append(repr(e))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not failures, failures
        m.crash()
        for number in range(16):
            for i in range(12):
                same(read(m(f"cache/shell/{number}-{i}")), noise(5000 + 13 * i, number * 100 + i))


@test
def threads_write_parts_of_one_file(case):
    with case.mount(SEAL_SOON) as m:
        path = m.make("cache/shell/shared", b"")
        data = noise(4 * MIB, 13)
        fd = os.open(path, os.O_RDWR)

        def work(first):
            for at in range(first * 16 * KIB, len(data), 8 * 16 * KIB):
                assert os.pwrite(fd, data[at : at + 16 * KIB], at) == 16 * KIB

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        os.close(fd)
        same(read(path), data)
        m.wait_sealed(path)
        m.remount()
        same(read(path), data)


@test
def every_kind_of_sync_works(case):
    with case.mount() as m:
        path = m.make("cache/shell/f", b"x" * 5000)
        with open(path, "r+b") as f:
            f.write(b"y")
            f.flush()
            os.fsync(f.fileno())
            os.fdatasync(f.fileno())
        folder = os.open(m("cache/shell"), os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
        run("sync", "-f", path)
        m.crash()
        same(read(path), b"y" + b"x" * 4999)


@test
def a_failed_change_changes_nothing(case):
    with case.mount() as m:
        path = m.make("cache/shell/f", b"kept")
        with raises(errno.EINVAL, errno.EFBIG):
            os.truncate(path, -1)
        with raises(errno.EISDIR):
            write(m("cache/shell"), b"")
        with raises(errno.EBADF):
            with open(path, "rb") as f:
                os.write(f.fileno(), b"no")
        same(read(path), b"kept")


@test(timeout=120)
def sqlite_keeps_a_database_in_a_tier(case):
    with case.mount(SEAL_SOON) as m:
        os.makedirs(m("persistent/notes"))
        for turn in range(3):
            db = sqlite3.connect(m("persistent/notes/memory.db"))
            db.execute("create table if not exists t (turn, i, text)")
            for i in range(20):
                with db:
                    db.execute("insert into t values (?, ?, ?)", (turn, i, "x" * 500))
            assert db.execute("pragma integrity_check").fetchone() == ("ok",)
            assert db.execute("select count(*) from t").fetchone() == (20 * (turn + 1),)
            db.close()
            m.crash()


main()
