#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The log records what happened to every file, however it is read and by whom."""
import contextlib
import errno
import json
import os
import signal
import subprocess
import time

from clock import DAY, HOUR, MINUTE, Clock
from files import KIB, noise
from harness import (
    OFFLOAD,
    SEAL_SOON,
    Mount,
    eventually,
    main,
    raises,
    read,
    run,
    test,
    write,
    xattr,
)

SECRET = "ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"


def log(where, *words):
    """Returns the lines that the tool prints, as objects."""
    return [
        json.loads(line)
        for line in run(OFFLOAD, "log", *where, "--json", *words, cwd="/").stdout.splitlines()
    ]


def lines(m):
    return [json.loads(line) for line in read(m(".offload/log")).splitlines()]


def told(m, event, **members):
    """Waits for a line of this event with these members; returns it."""

    def find():
        for line in lines(m):
            if line["event"] == event and all(line.get(k) == v for k, v in members.items()):
                return line
        return None

    return eventually(find, f"{event} {members} is in the log")


def promote(m, name):
    """Creates a file, moves it to persistent/, which is logged, and removes it, which is not."""
    os.mknod(m(name))
    to = m("persistent", os.path.basename(name))
    os.rename(m(name), to)
    os.unlink(to)


def collect(m, how="run"):
    os.setxattr(m.mnt, "user.offload.gc", how.encode())
    done = lambda: json.loads(os.getxattr(m.mnt, "user.offload.gc"))["state"] != "running"
    eventually(done, "a collection ends", 60)


@test
def each_event_has_its_line(case):
    with case.mount(SEAL_SOON) as m:
        path = m.make("tasks/T/notes/a", noise(5 * KIB, 1))
        os.setxattr(path, "user.offload.title", b"what I noted")
        ref = xattr(path, "ref")
        line = told(m, "offload", path="tasks/T/notes/a")
        assert line["ref"] == ref and line["task"] == "T" and line["category"] == "notes", line
        assert line["size"] == 5 * KIB and 0 < line["stored"] <= 6 * KIB, line
        assert time.strptime(line["time"], "%Y-%m-%dT%H:%M:%SZ")
        write(path, b"another content")
        told(m, "rewrite", ref=ref, size=15, title="what I noted")
        os.makedirs(m("persistent/notes"))
        os.rename(path, m("persistent/notes/a"))
        told(m, "promote", ref=ref, **{"from": "tasks/T/notes/a"}, path="persistent/notes/a", task="T")
        os.rename(m("persistent/notes"), m("archive/notes"))
        line = told(m, "archive", **{"from": "persistent/notes"}, path="archive/notes")
        assert "ref" not in line and "size" not in line, line
        os.rename(m("archive/notes"), m("cache/notes"))
        told(m, "demote", path="cache/notes")
        os.rename(m("cache/notes/a"), m("cache/notes/b"))  # within a tier: not logged
        os.unlink(m("cache/notes/b"))
        for state in ("done", "live", "live"):
            os.setxattr(m("tasks/T"), "user.offload.state", state.encode())
        told(m, "task-end", path="tasks/T", task="T")
        told(m, "task-reopen", path="tasks/T", task="T")
        events = [line["event"] for line in lines(m)]
        assert events.count("task-reopen") == 1, events
        assert events.count("demote") == events.count("promote") == events.count("archive") == 1


@test
def what_moves_between_packs_is_no_event(case):
    with case.mount(SEAL_SOON) as m:
        paths = [m.make(f"cache/web/{i}", noise(3 * KIB, i)) for i in range(20)]
        m.wait_sealed(*paths)
        os.makedirs(m("archive/x"))
        for i, path in enumerate(paths[:10]):
            os.rename(path, m(f"archive/x/{i}"))
        time.sleep(2.5)  # longer than REPACK_DELAY
        m.tidy()
        told(m, "offload", path="cache/tidy")
        count = [line["event"] for line in lines(m)]
        assert count.count("offload") == 21 and not count.count("rewrite"), count
        # A copy that shares content is reported as a file with new content.
        with open(paths[10], "rb") as a, open(m("cache/copy"), "wb") as b:
            os.copy_file_range(a.fileno(), b.fileno(), 3 * KIB)
        assert told(m, "offload", path="cache/copy")["size"] == 3 * KIB


@test
def what_a_collection_removes_is_told_with_its_cause(case):
    clock = Clock(case)
    with clock.start(Mount(case, case.store, case.mnt, ("gc_interval=1", "grace=0", SEAL_SOON))) as m:
        path = m.make("cache/shell/x", b"content\n")
        ref = xattr(path, "ref")
        m.make("tasks/T/shell/y", b"content of a task\n")
        os.setxattr(m("tasks/T"), "user.offload.state", b"done")
        collect(m)
        told(m, "expire", path="tasks/T/shell/y", task="T", cause="its task has ended")
        for _ in range(12):
            clock.pass_time(30 * MINUTE)
            collect(m)
        line = told(m, "expire", ref=ref, path="cache/shell/x")
        gone = json.loads(read(m("refs", ref + ":info")))
        assert line["cause"] == gone["why"] and line["cause"].startswith("unused for "), line
        assert line["size"] == 8, line
        before = len(lines(m))
        m.make("cache/shell/z", b"content\n")
        clock.pass_time(DAY)
        collect(m, "dry-run")
        assert not [each for each in lines(m)[before:] if each["event"] == "expire"]
    with clock.start(Mount(case, case.store, case.mnt, ("working_max=1", SEAL_SOON))) as m:
        m.wait_sealed(*(m.make(f"cache/web/{i}", noise(400 * KIB, i)) for i in range(6)))

        def evicted():
            clock.pass_time(MINUTE)
            collect(m)
            return [each for each in lines(m) if each["event"] == "evict"]

        line = eventually(evicted, "something is evicted")[0]
        assert "larger than working_max" in line["cause"], line


@test
def a_repair_is_told(case):
    with case.mount(SEAL_SOON) as m:
        path = m.make("persistent/x", noise(100 * KIB, 1))
        m.wait_sealed(path)
        m.unmount()
        packs = os.path.join(case.store, "packs")
        name = os.path.join(packs, sorted(os.listdir(packs))[0])
        with open(name, "r+b") as f:
            f.seek(os.path.getsize(name) // 2)
            f.write(b"damage")
        where = ["--store", case.store]
        run(OFFLOAD, "verify", *where, check=False)
        assert not log(where, "--event", "repair")
        run(OFFLOAD, "verify", "--repair", *where, check=False)
        repairs = log(where, "--event", "repair")
        assert len(repairs) == 1 and "is damaged; not repaired" in repairs[0]["cause"], repairs
        assert repairs[0]["path"] == "persistent/x", repairs


@test
def an_agents_log_tells_of_its_tree_alone(case):
    def its(name):
        return [json.loads(line) for line in read(m("agents", name, ".offload/log")).splitlines()]

    def bounds(name):
        return os.getxattr(m("agents", name), "user.offload.log")

    with case.mount(SEAL_SOON) as m:
        for name in ("a", "b"):
            os.mkdir(m("agents", name))
        assert not its("a") and bounds("a") == b"0 0"
        content = noise(5 * KIB, 1)
        m.make("cache/web/x", content)
        m.make("agents/a/cache/web/x", content)
        told(m, "offload", path="agents/a/cache/web/x")
        line, = its("a")
        assert line["event"] == "offload" and line["path"] == "cache/web/x", line
        assert line["size"] == 5 * KIB and "stored" not in line, line
        before = bounds("a")
        for i in range(300):
            os.mknod(m(f"agents/b/cache/{i}"))
            os.rename(m(f"agents/b/cache/{i}"), m(f"agents/b/persistent/{i}"))
        assert bounds("a") == before and len(its("b")) == 300 and len(its("a")) == 1
        part = read(m("agents/b/.offload/log.0-1"))
        assert json.loads(part)["from"] == "cache/0", part
        assert read(m("agents/a/.offload/log.0-1000000")) == read(m("agents/a/.offload/log"))
        # The log of a tree omits the end of a move that lies in the tree above.
        os.rename(m("agents/a/cache/web/x"), m("persistent/x"))
        line = told(m, "promote", **{"from": "agents/a/cache/web/x"}, path="persistent/x")
        line = its("a")[-1]
        assert line["from"] == "cache/web/x" and "path" not in line, line
        assert "category" not in line, line
        m.crash()
        assert len(its("a")) == 2 and len(its("b")) == 300
        used = len(os.listdir(f"/proc/{m.process.pid}/fd"))
        for i in range(40):
            os.mkdir(m(f"agents/c{i}"))
            os.mknod(m(f"agents/c{i}/x"))
            os.rename(m(f"agents/c{i}/x"), m(f"agents/c{i}/persistent/x"))
            assert len(its(f"c{i}")) == 1
        assert len(os.listdir(f"/proc/{m.process.pid}/fd")) < used + 20
        kept = os.path.join(case.store, "log/agents")
        assert len(os.listdir(kept)) == 42 and os.stat(kept).st_mode & 0o777 == 0o700
        os.rmdir(m("agents/a/cache/web"))
        os.rmdir(m("agents/a"))
        told(m, "agent-remove", path="agents/a")
        assert len(os.listdir(kept)) == 41
        done = run(OFFLOAD, "doctor", "-d", case.mnt, "--json", check=False)
        assert b"modes" not in done.stdout, done


@test
def secrets_are_not_in_it(case):
    with case.mount(SEAL_SOON) as m:
        path = m.make(f"cache/web/{SECRET}", b"content")
        os.setxattr(path, "user.offload.title", f"with {SECRET}".encode())
        ref = xattr(path, "ref")
        told(m, "offload", ref=ref, path="cache/web/[redacted: github-token]")
        os.rename(path, m("persistent/x"))
        told(m, "promote", ref=ref, title="with [redacted: github-token]")
        m.unmount()
    kept = os.path.join(case.store, "log")
    assert os.stat(kept).st_mode & 0o777 == 0o700
    for name in os.listdir(kept):
        assert SECRET.encode() not in read(os.path.join(kept, name))
        assert os.stat(os.path.join(kept, name)).st_mode & 0o777 == 0o600


@test
def it_is_a_file_for_its_owner_with_an_exact_size(case):
    with case.mount(SEAL_SOON) as m:
        promote(m, "cache/a")
        assert "log" in os.listdir(m(".offload"))
        fd = os.open(m(".offload/log"), os.O_RDONLY)
        st = os.fstat(fd)
        assert st.st_mode & 0o7777 == 0o400 and st.st_size == len(os.read(fd, 1 << 20)) > 0
        os.close(fd)
        for name in ("log", "log.0-5", "log.x"):
            with raises(errno.EROFS, errno.EACCES, errno.EPERM):
                write(m(".offload", name), b"mine")
        with raises(errno.ENOENT):
            read(m(".offload/log.x"))


@test
def a_long_one_is_read_at_any_place(case):
    """A long log is held compressed."""
    with case.mount(SEAL_SOON) as m:
        for i in range(400):
            promote(m, f"cache/{i:04d}")
        eventually(lambda: len(lines(m)) == 400, "all are told")
        with open(m(".offload/log"), "rb") as f:
            whole = f.read()
            assert len(whole) == os.fstat(f.fileno()).st_size, len(whole)
            assert len(whole) > 40_000
            for at in (0, 1, 40_000, len(whole) - 1, len(whole), len(whole) + 1):
                assert os.pread(f.fileno(), 5000, at) == whole[at : at + 5000], at
        assert read(m(".offload/log:100-101")) == b"".join(whole.splitlines(True)[99:101])


@test
def mounted_and_unmounted_it_says_the_same(case):
    """Covers several segments and every filter."""
    clock = Clock(case)
    clock.step(-2 * HOUR)  # puts the tool's clock ahead
    store, mounted = ["--store", case.store], ["-d", case.mnt]
    filters = (
        [], ["-n", "7"], ["-n", "100000"], ["--task", "T"], ["--event", "promote", "-n", "9"],
        ["--since", "90m"], ["--since", "30m"], ["--task", "T", "--event", "promote", "-n", "2000"],
        ["--since", "30m", "-n", "3"], ["--task", "none"], ["-n", "0"],
    )
    with clock.start(Mount(case, case.store, case.mnt, ("log_max=8", SEAL_SOON))) as m:
        os.makedirs(m("tasks/T"))
        for i in range(9000):
            where = "tasks/T" if i % 3 == 0 else "cache"
            promote(m, f"{where}/a file with a name of some length {i}")
            if i == 4000 or i == 8000:
                clock.pass_time(HOUR)
        want = [log(mounted, *words) for words in filters]
        start, end = map(int, os.getxattr(m.mnt, "user.offload.log").split())
        assert start == 0 and end > 1 << 20
        tail = read(m(".offload/log"))
        assert (1 << 20) - 500 < len(tail) <= 1 << 20 and tail[:1] == b"{" and tail[-1:] == b"\n"
        m.unmount()
    names = sorted(os.listdir(os.path.join(case.store, "log")))
    assert len(names) > 1 and names[0].endswith(".jsonl.zst") and names[-1].endswith(".jsonl"), names
    for words, each in zip(filters, want):
        assert log(store, *words) == each, words
    number = dict(zip(map(" ".join, filters), map(len, want)))
    assert number[""] == 100 and number["-n 7"] == 7 and number["-n 100000"] == 9000, number
    assert number["--task T"] == 100 and number["--task T --event promote -n 2000"] == 2000, number
    assert number["--since 30m"] == 999 and number["--since 90m"] == 4999, number
    assert not number["--task none"] and not number["-n 0"], number
    assert [e["path"].split()[-1] for e in want[1]] == [str(i) for i in range(8993, 9000)], want[1]
    with clock.start(Mount(case, case.store, case.mnt, (SEAL_SOON,))) as m:
        for words, each in zip(filters[:5], want):
            assert log(mounted, *words) == each, words


@test
def its_size_is_bounded_and_it_can_be_off(case):
    def size():
        total = 0
        for entry in os.scandir(os.path.join(case.store, "log")):
            with contextlib.suppress(FileNotFoundError):  # it was just compressed
                total += os.path.getsize(entry.path)
        return total

    with case.mount("log_max=1") as m:
        for _ in range(3000):  # incompressible names
            promote(m, "cache/é" + os.urandom(120).hex())
        eventually(lambda: size() > 400 * KIB, "it is written")
        assert size() < 1300 * KIB, size()
        m.remount("log_max=off")
        was = read(m(".offload/log"))
        promote(m, "cache/a")
        assert read(m(".offload/log")) == was


@contextlib.contextmanager
def following(*words):
    process = subprocess.Popen(
        [OFFLOAD, "log", "--follow", *words], stdout=subprocess.PIPE, cwd="/"
    )
    os.set_blocking(process.stdout.fileno(), False)
    seen = bytearray()

    def more():
        seen.extend(process.stdout.read() or b"")
        return seen.decode().split("\n")[:-1]

    try:
        yield process, more
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@test
def it_can_be_followed(case):
    with case.mount() as m:
        def one(name):
            promote(m, f"cache/{name}")

        one("before")
        words = ["-d", case.mnt, "--json"]
        with following(*words) as (_, more), following(*words, "--task", "T") as (_, of_task):
            eventually(lambda: any('"cache/before"' in line for line in more()), "the last lines")
            one("a")
            eventually(lambda: any('"cache/a"' in line for line in more()), "a new line")
            m.crash()
            one("b")
            eventually(lambda: any('"cache/b"' in line for line in more()), "after a restart")
            m.remount("log_max=1")  # segments of 128 KiB
            os.makedirs(m("tasks/T"))
            for i in range(1500):
                one(f"number {i}")
            promote(m, "tasks/T/x")
            eventually(lambda: any('"tasks/T/x"' in line for line in more()), "over segments")
            paths = [json.loads(line)["from"] for line in more()]
            assert paths == ["cache/before", "cache/a", "cache/b"] + [
                f"cache/number {i}" for i in range(1500)
            ] + ["tasks/T/x"], paths
            eventually(lambda: len(of_task()) == 1, "the line of the task alone")
        # The reader of a pipe may leave; the tool then ends quietly even if nothing more is logged.
        process = subprocess.Popen(
            f"'{OFFLOAD}' log -d '{case.mnt}' -f | head -n 1", shell=True, stderr=subprocess.PIPE
        )
        assert process.wait(20) == 0 and not process.stderr.read()
        process.stderr.close()


@test
def people_read_it_line_by_line(case):
    with case.mount() as m:
        os.makedirs(m("persistent/notes"))
        path = m.make("tasks/T/notes/a\n\x1b[31m", b"12345")
        ref = xattr(path, "ref")
        os.rename(path, m("persistent/notes/a"))
        os.rename(m("persistent/notes/a"), m("archive/a"))
        said = run(OFFLOAD, "log", "-d", case.mnt).stdout.decode().splitlines()
        line = said[1].split("  ")
        assert said[0] == time.strftime("%Y-%m-%d UTC", time.gmtime()), said
        assert len(line[0]) == 8 and line[1] == "promote" and ref in said[1], said
        assert "tasks/T/notes/a^J -> persistent/notes/a  5 bytes" in said[1], said
        assert f"archive       {ref}  persistent/notes/a -> archive/a" in said[2], said
        for words in (["--since", "monday"], ["--event", "none"], ["-n", "x"], ["--nothing"]):
            done = run(OFFLOAD, "log", "-d", case.mnt, *words, check=False)
            assert done.returncode == 2 and done.stderr.startswith(b"offload: log: "), done


@test
def a_killed_daemon_loses_the_last_moment_alone(case):
    with case.mount(SEAL_SOON) as m:
        for turn in range(5):
            names = []
            began = time.monotonic()
            while time.monotonic() - began < 0.5:
                names.append((f"cache/{turn}-{len(names)}", time.monotonic()))
                promote(m, names[-1][0])
            time.sleep(0.02 * turn)
            m.kill9()
            kept = os.path.join(case.store, "log")
            for name in filter(lambda n: n.endswith(".jsonl"), os.listdir(kept)):
                # The kernel may have written part of what the process wrote when it was killed.
                for line in read(os.path.join(kept, name)).split(b"\n")[:-1]:
                    json.loads(line)
            m.start()
            there = [line["from"] for line in log(["-d", case.mnt], "-n", "1000000")]
            mine = [name for name in there if name.startswith(f"cache/{turn}-")]
            assert mine == [name for name, _ in names[: len(mine)]], "none is missing in between"
            # At most a second may be lost; leave some of it for a busy machine.
            assert len(mine) == len(names) or names[len(mine)][1] > began - 0.5, len(mine)
        # Whatever was acknowledged before that is in the log.
        os.mknod(m("cache/x"))
        os.rename(m("cache/x"), m("persistent/x"))
        time.sleep(1)
        m.crash()
        assert [line["path"] for line in log(["-d", case.mnt], "-n", "1")] == ["persistent/x"]


@test
def what_a_daemon_left_unsealed_is_told_by_the_next(case):
    with case.mount("seal_delay=600000") as m:
        ref = xattr(m.make("cache/a", b"content of a\n"), "ref")
        for ends in (m.remount, m.crash):
            ends("seal_delay=600000")
            assert not [line for line in lines(m) if line["event"] == "offload"]
        m.crash(SEAL_SOON)
        told(m, "offload", ref=ref, path="cache/a")
        m.crash()
        assert len([line for line in lines(m) if line["event"] == "offload"]) == 1


@test
def a_store_that_is_copied_takes_its_log_along(case):
    where = ["--store", case.store]
    run(OFFLOAD, "put", *where, "-c", "web", input=b"text\n" * 500, cwd="/")
    other = case.path("other")
    run("cp", "-a", case.store, other)
    there = log(["--store", other])
    assert there == log(where) and there[0]["event"] == "offload", there
    done = run(OFFLOAD, "doctor", "--store", other, "--json", check=False)
    assert b"foreign" not in done.stdout and done.returncode in (0, 1)
    os.chmod(os.path.join(other, "log"), 0o777)
    os.chmod(other, 0o755)
    done = run(OFFLOAD, "log", "--store", other, check=False)
    assert done.returncode == 1 and b"others may write to" in done.stderr, done


if __name__ == "__main__":
    main()
