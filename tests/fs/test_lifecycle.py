#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Used files stay, valuable ones are kept, others are removed and can be asked about."""
import calendar
import errno
import json
import mmap
import os
import time

from clock import DAY, HOUR, MINUTE, YEAR, Clock
from files import KIB, noise
from harness import (
    OFFLOAD,
    SEAL_SOON,
    Mount,
    as_nobody,
    eventually,
    main,
    raises,
    read,
    run,
    same,
    test,
    write,
    xattr,
)

# Collects as often as the clock is moved.
EAGER = "gc_interval=1"


# Removes evictable files at once; tasks become idle soon.
AT_ONCE = ("grace=0", "task_idle=60")


def roomy(case, clock, *options):
    """Starts a mount with the default grace: evictable files stay for a week."""
    return clock.start(Mount(case, case.store, case.mnt, (EAGER, SEAL_SOON) + options))


def served(case, clock, *options):
    return roomy(case, clock, *AT_ONCE, *options)


def gc(m, how="run", tree=""):
    """Requests a collection of a tree, waits for its end and returns its report."""

    def begun():
        try:
            os.setxattr(m(tree), "user.offload.gc", how.encode())
        except OSError as e:
            assert e.errno == errno.EBUSY
            return False
        return True

    def state():
        said = json.loads(os.getxattr(m(tree), "user.offload.gc"))
        return said if said["state"] != "running" else None

    eventually(begun, "a collection begins")
    said = eventually(state, "a collection ends", 60)
    assert said["state"] == "done", said
    return said


def is_there(path):
    return os.path.lexists(path)


def pass_and_collect(m, clock, seconds, step=MINUTE):
    """Lets time pass, with a collection after each step."""
    while seconds > 0:
        clock.pass_time(min(step, seconds))
        seconds -= step
        gc(m)


def use(clock, path, content, file=None):
    """
    Reads the file until that counts as a use of it. The kernel may drop its cache more slowly than
    the test moves the clock.
    """

    def is_known():
        same(read(path), content)
        used = calendar.timegm(time.strptime(xattr(file or path, "used"), "%Y-%m-%dT%H:%M:%SZ"))
        # A use within a minute of a recorded one need not be recorded.
        return used > clock.now() - MINUTE - 15

    eventually(is_known, f"{path} is used")


def reads(m):
    """Returns how many reads the daemon has received, without that of the status itself."""
    with open(m(".offload/status.json")) as f:
        return json.load(f)["calls"]["read"]


# --- Use ------------------------------------------------------------------------------------------


@test
def test_what_is_read_once_a_minute_outlives_its_two_minutes(case):
    clock = Clock(case)
    with served(case, clock) as m:
        path = m.make("cache/shell/x", b"content\n" * 100)
        other = m.make("cache/shell/other", b"content\n")
        for p in (path, other):
            os.setxattr(p, "user.offload.ttl", b"2m")
        before = reads(m)
        for _ in range(100):
            read(path)
        assert reads(m) - before < 20, "the kernel answers these"
        ref = xattr(path, "ref")
        for _ in range(20):
            pass_and_collect(m, clock, MINUTE, 30)
            use(clock, path, b"content\n" * 100)
        assert not is_there(other)
        pass_and_collect(m, clock, 6 * MINUTE, 30)
        assert not is_there(path)
        with raises(errno.EKEYEXPIRED):
            read(m("refs", ref))


@test
def test_to_look_at_names_and_attributes_is_no_use(case):
    clock = Clock(case)
    with served(case, clock) as m:
        path = m.make("cache/shell/x", b"content\n")
        for _ in range(8):
            pass_and_collect(m, clock, 10 * MINUTE)
            os.listdir(m("cache/shell"))
            if is_there(path):
                os.stat(path)
                run("ls", "-l", m("cache/shell"))
                xattr(path, "lifecycle")
                os.listdir(m("views/expiring"))
        assert not is_there(path)


def used(path):
    return calendar.timegm(time.strptime(xattr(path, "used"), "%Y-%m-%dT%H:%M:%SZ"))


@test
def test_a_use_is_known_to_the_second_and_no_look_is_one(case):
    clock = Clock(case)
    with served(case, clock) as m:
        step = json.dumps({"tool": "bash", "args": {"command": "x"}, "result": "content\n" * 900})
        run(OFFLOAD, "reduce", "-d", case.mnt, "-t", "T", input=step.encode())
        path = m.make("tasks/T/shell/x", b"content of the file\n" * 400)
        os.setxattr(path, "user.offload.tags", b"tag")
        m.wait_sealed(path)
        ref = xattr(path, "ref")
        tool = lambda *words: run(OFFLOAD, *words, "-d", case.mnt, check=False).stdout
        walked = ("tasks", "views", ".offload")
        looks = {
            "offload show": lambda: tool("show", ref),
            "offload show, by path": lambda: tool("show", path, "--json"),
            "F:info": lambda: read(f"{path}:info"),
            "REF:info": lambda: read(m("refs", f"{ref}:info")),
            "getfattr": lambda: [os.getxattr(path, name) for name in os.listxattr(path)],
            "getfattr, by ref": lambda: xattr(m("refs", ref), "mime"),
            "ls": lambda: run("ls", "-lR", *map(m, walked)),
            "find": lambda: run("find", *map(m, walked), "-size", "+1", "-newer", m.mnt),
            "stat": lambda: [os.stat(p) for p in (path, m("refs", ref), m(f"views/recent/{ref}-x"))],
            "stat of a link": lambda: run("ls", "-lL", m("views/by-tag/tag")),
            "du": lambda: run("du", m("tasks")),
            "a search": lambda: read(m("search/content file")),
            "offload search": lambda: tool("search", "content", "file"),
            "verification": lambda: tool("verify"),
            "doctor": lambda: tool("doctor"),
            "offload task": lambda: (tool("task", "list"), tool("task", "show", "T")),
            "offload gc": lambda: (tool("gc", "--dry-run"), tool("gc")),
            "offload stats": lambda: tool("stats"),
            "the log": lambda: tool("log"),
        }
        uses = {
            "a slice": lambda: read(f"{path}:3-5"),
            "a slice, by ref": lambda: read(m("refs", f"{ref}:b7-100")),
            "F:summary": lambda: read(f"{path}:summary"),
            "offload slice": lambda: tool("slice", ref, "9-11"),
            "a copy": lambda: copy(path, m("cache/copy")),
            "a write": lambda: write(path, b"content of the file, anew\n" * 400),
            "a label": lambda: os.setxattr(path, "user.offload.title", b"what it is"),
            "chmod": lambda: os.chmod(path, 0o600),
            "a move": lambda: os.rename(path, m("tasks/T/x")),
            "a move back": lambda: os.rename(m("tasks/T/x"), path),
        }
        for name, use_it in uses.items():
            clock.pass_time(20 * MINUTE)
            before = clock.now()
            use_it()
            now = used(m("tasks/T/x") if name == "a move" else path)
            assert before - 2 < now < clock.now() + 2, f"{name} is a use"
        # A read that is not served from the kernel's cache.
        pass_and_collect(m, clock, 10 * MINUTE)
        before = clock.now()
        use(clock, path, b"content of the file, anew\n" * 400)
        assert used(path) > before - 2
        os.setxattr(path, "user.offload.ttl", b"7d")
        for seconds in (5, 10 * MINUTE):
            clock.pass_time(2 * MINUTE)
            read(f"{path}:{seconds % 7 + 1}")
            now = used(path)
            for name, look in looks.items():
                clock.pass_time(seconds)
                look()
                assert used(path) == used(m("refs", ref)) == now, f"{name} is no use"


@test
def test_no_look_is_a_use_without_a_daemon_either(case):
    with case.mount() as m:
        ref = xattr(m.make("cache/shell/x", b"content\n" * 500), "ref")
        m.unmount()
    tool = lambda *words: run(OFFLOAD, *words, "--store", case.store).stdout
    tool("slice", ref, "1-3")
    was = json.loads(tool("show", ref, "--json"))["used"]
    for words in (["show", ref], ["search", "content"], ["verify"], ["gc", "--dry-run"], ["stats"]):
        time.sleep(0.3)
        tool(*words)
    assert json.loads(tool("show", ref, "--json"))["used"] == was
    time.sleep(1.1)
    tool("slice", ref, "1-3")
    assert json.loads(tool("show", ref, "--json"))["used"] > was


def copy(a, b):
    with open(a, "rb") as f, open(b, "wb") as g:
        assert os.copy_file_range(f.fileno(), g.fileno(), 1 << 20) > 0


@test
def test_open_and_mapped_files_stay(case):
    clock = Clock(case)
    with served(case, clock) as m:
        opened, mapped, closed = (m.make(f"cache/shell/{n}", n.encode() * 5000) for n in "omc")
        fd = os.open(opened, os.O_RDONLY)
        with open(mapped, "rb") as f:
            pages = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
        assert pages[0] == ord("m")
        read(closed)
        pass_and_collect(m, clock, 2 * HOUR, 5 * MINUTE)
        assert not is_there(closed)
        assert is_there(opened) and is_there(mapped)
        said = gc(m)
        assert said["open"] == 2, said
        same(os.pread(fd, 5, 0), b"ooooo")
        same(pages[100:105], b"mmmmm")
        # Those reads were uses.
        os.close(fd)
        pages.close()
        gc(m)
        assert is_there(opened) and is_there(mapped)
        pass_and_collect(m, clock, HOUR, 5 * MINUTE)
        assert not is_there(opened) and not is_there(mapped)


@test
def test_content_read_by_ref_and_by_slice_is_used(case):
    clock = Clock(case)
    with served(case, clock) as m:
        by_ref, by_slice = m.make("cache/shell/r", b"a\nb\n"), m.make("cache/shell/s", b"a\nb\n")
        ref = xattr(by_ref, "ref")
        for _ in range(8):
            pass_and_collect(m, clock, 20 * MINUTE, 5 * MINUTE)
            use(clock, m("refs", ref), b"a\nb\n", by_ref)
            use(clock, by_slice + ":2", b"b\n", by_slice)
        assert is_there(by_ref) and is_there(by_slice)
        pass_and_collect(m, clock, HOUR, 5 * MINUTE)
        assert not is_there(by_ref) and not is_there(by_slice)


# --- What is kept ---------------------------------------------------------------------------------


@test
def test_promotion_archival_and_importance(case):
    clock = Clock(case)
    with served(case, clock) as m:
        for name in "abcd":
            m.make(f"cache/shell/{name}", name.encode())
        os.makedirs(m("persistent/shell"))
        os.makedirs(m("archive/shell"))
        os.rename(m("cache/shell/a"), m("persistent/shell/a"))
        os.rename(m("cache/shell/b"), m("archive/shell/b"))
        os.setxattr(m("cache/shell/c"), "user.offload.important", b"1")
        assert xattr(m("persistent/shell/a"), "ttl") == "never"
        pass_and_collect(m, clock, 2 * HOUR, 10 * MINUTE)
        assert [is_there(m(p)) for p in ("persistent/shell/a", "archive/shell/b", "cache/shell/c")]
        assert os.listdir(m("cache/shell")) == ["c"]
        os.rename(m("persistent/shell/a"), m("cache/shell/a"))
        os.setxattr(m("cache/shell/c"), "user.offload.important", b"0")
        pass_and_collect(m, clock, 20 * MINUTE, 5 * MINUTE)
        assert is_there(m("cache/shell/a")) and is_there(m("cache/shell/c"))
        pass_and_collect(m, clock, 40 * MINUTE, 5 * MINUTE)
        assert os.listdir(m("cache/shell")) == []


@test
def test_steps_of_live_tasks_keep_what_they_name(case):
    clock = Clock(case)
    with roomy(case, clock, "grace=0") as m:
        a, b, c = (m.make(f"cache/shell/{n}", n.encode()) for n in "abc")
        history = m("tasks/trip/history")
        os.makedirs(history)
        write(f"{history}/step_1.json", json.dumps({"outcome_ref": xattr(a, "ref")}).encode())
        write(f"{history}/step_2.json", json.dumps({"outcome_ref": b}).encode())
        pass_and_collect(m, clock, 2 * HOUR, 10 * MINUTE)
        assert sorted(os.listdir(m("cache/shell"))) == ["a", "b"]
        assert "tasks/trip/history/step_1.json" in xattr(a, "lifecycle")
        os.setxattr(m("tasks/trip"), "user.offload.state", b"done")
        pass_and_collect(m, clock, HOUR, 10 * MINUTE)
        assert os.listdir(m("cache/shell")) == []
        assert not is_there(c)


@test
def test_the_end_of_a_task(case):
    clock = Clock(case)
    with served(case, clock) as m:
        kept = m.make("tasks/trip/reports/kept", b"kept")
        m.make("tasks/trip/reports/more/report", b"report")
        m.make("tasks/trip/notes/note", b"note")
        m.make("tasks/other/shell/x", b"x")
        read(m("tasks/trip/notes/note"))
        with open(m("tasks/trip/notes/open"), "wb") as held:
            held.write(b"open")
            held.flush()
            os.makedirs(m("persistent/reports"))
            os.rename(kept, m("persistent/reports/kept"))
            os.setxattr(m("tasks/trip"), "user.offload.state", b"done")
            said = gc(m)
            assert os.listdir(m("tasks/trip/notes")) == ["open"]
            assert not is_there(m("tasks/trip/reports")), said
        eventually(lambda: gc(m) and not is_there(m("tasks/trip")), "the task is gone")
        assert os.listdir(m("tasks")) == ["other"]
        same(read(m("persistent/reports/kept")), b"kept")
        # A new task of the same name is unrelated.
        m.make("tasks/trip/shell/x", b"x")
        gc(m)
        assert xattr(m("tasks/trip"), "state") == "live"
        assert is_there(m("tasks/trip/shell/x"))


@test
def test_the_pointers_of_a_resting_conversation_hold(case):
    clock = Clock(case)
    with roomy(case, clock) as m:
        path = m.make("cache/shell/x", b"content\n")
        ref = xattr(path, "ref")
        read(path)
        for _ in range(3):
            pass_and_collect(m, clock, 40 * HOUR, 4 * HOUR)
            assert xattr(path, "lifecycle").startswith("evictable since "), xattr(path, "lifecycle")
        use(clock, m("refs", ref), b"content\n", path)
        assert xattr(path, "lifecycle").startswith("in use until ")
        pass_and_collect(m, clock, 6 * DAY, 12 * HOUR)
        assert is_there(path)
        pass_and_collect(m, clock, 2 * DAY, 6 * HOUR)
        assert not is_there(path)


@test
def test_a_live_task_keeps_its_files(case):
    clock = Clock(case)
    with roomy(case, clock, "grace=0") as m:
        # Uses of files that never expire are noticed, too.
        for name in ("shell/x", "reports/y"):
            m.make(f"tasks/t/{name}", b"content\n")
        m.make("tasks/other/shell/x", b"content\n")
        for _ in range(4):
            pass_and_collect(m, clock, 20 * HOUR, 2 * HOUR)
            use(clock, m("tasks/t/reports/y"), b"content\n")
            assert xattr(m("tasks/t"), "state") == "live"
        assert xattr(m("tasks/t/shell/x"), "lifecycle").startswith("kept: its task is live")
        assert not is_there(m("tasks/other/shell/x"))
        assert xattr(m("tasks/other"), "state") == "idle"
        pass_and_collect(m, clock, 40 * HOUR, 2 * HOUR)
        assert xattr(m("tasks/t"), "state") == "idle"
        assert not is_there(m("tasks/t/shell/x"))


# --- Lack of room ---------------------------------------------------------------------------------


def until(m, clock, condition, what):
    """Lets time pass in small steps until the condition holds."""

    def holds():
        clock.pass_time(10)
        gc(m)
        return condition()

    eventually(holds, what)


def lifecycle(m):
    with open(m(".offload/status.json")) as f:
        return json.load(f)["lifecycle"]


def says(m, **wanted):
    """Waits until the status, which may be some seconds old, has these numbers; returns it."""
    told = {}

    def does():
        told.update(lifecycle(m))
        return all(told[k] == v for k, v in wanted.items())

    try:
        eventually(does, "said")
    except AssertionError:
        raise AssertionError(f"{told}, not {wanted}") from None
    return told


def make_aged(m, clock, count):
    """Creates evictable files of 200 KiB, the first unused for longest, and others."""
    for i in range(count):
        m.make(f"cache/shell/{i:02d}", noise(200 * KIB, i))
        clock.pass_time(10)
    os.setxattr(m("cache/shell/00"), "user.offload.important", b"1")
    m.make("tasks/t/shell/x", noise(200 * KIB, 100))
    clock.pass_time(HOUR)
    m.make("cache/web/new", noise(200 * KIB, 101))
    m.wait_sealed(m("cache/web/new"))


@test
def test_want_of_room_takes_what_is_evictable(case):
    clock = Clock(case)
    with roomy(case, clock) as m:
        make_aged(m, clock, 10)
        gc(m)
        told = says(m, evictable_files=9)
        assert told["evictable_stored"] >= 9 * 200 * KIB, told
        assert told["working_keep"] <= 1 << 30, told
    with roomy(case, clock, "working_keep=1") as m:
        until(m, clock, lambda: lifecycle(m)["working_stored"] <= 1 << 20, "it fits")
        assert sorted(os.listdir(m("cache/shell"))) == ["00", "08", "09"]
        assert is_there(m("cache/web/new")) and is_there(m("tasks/t/shell/x"))
        says(m, pressed=7, expired=0, evictable_files=2, working_keep=1 << 20)
        # Files that are not evictable stay even when there is no room.
        for i in range(6):
            m.make(f"cache/web/{i}", noise(200 * KIB, 200 + i))
        until(m, clock, lambda: os.listdir(m("cache/shell")) == ["00"], "the rest makes room")
        for _ in range(10):
            clock.pass_time(20)
            gc(m)
        assert len(os.listdir(m("cache/web"))) == 7
        told = says(m, pressed=9, working_files=9)
        assert told["working_stored"] > 1 << 20, told


@test(root=True)
def test_a_full_disk_takes_what_is_evictable(case):
    clock = Clock(case)
    os.makedirs(case.store, exist_ok=True)
    run("mount", "-t", "tmpfs", "-o", "size=100m,mode=700", "none", case.store)
    try:
        with roomy(case, clock, "working_keep=1G") as m:
            make_aged(m, clock, 10)
            gc(m)
            with open(os.path.join(case.store, "ballast"), "wb") as f:

                def is_short():
                    # The journal may have freed space meanwhile.
                    disk = os.statvfs(case.store)
                    spare = (disk.f_bavail - disk.f_blocks // 20) * disk.f_frsize + 700 * KIB
                    if spare > 0:
                        os.posix_fallocate(f.fileno(), os.fstat(f.fileno()).st_size, spare)
                    return lifecycle(m)["disk_lacks"] > 500 * KIB

                eventually(is_short, "the disk is short of room")
            until(m, clock, lambda: lifecycle(m)["disk_lacks"] == 0, "there is room again")
            left = sorted(os.listdir(m("cache/shell")))
            assert left[0] == "00" and left[-1] == "09" and 4 <= len(left) <= 7, left
            assert is_there(m("cache/web/new")) and is_there(m("tasks/t/shell/x"))
            os.unlink(os.path.join(case.store, "ballast"))
    finally:
        run("umount", case.store)


@test
def test_the_size_limit_takes_what_was_used_longest_ago(case):
    clock = Clock(case)
    with served(case, clock) as m:
        for i in range(12):
            m.make(f"cache/web/{i:02d}", noise(200 * KIB, i))
            clock.pass_time(10)
        os.setxattr(m("cache/web/00"), "user.offload.important", b"1")
        m.wait_sealed(m("cache/web/11"))
        clock.pass_time(5 * MINUTE)
    with served(case, clock, "working_max=1") as m:
        # The file may be on probation by now. Reading it is a use.
        same(read(m("cache/web/01")), noise(200 * KIB, 1))

        until(m, clock, lambda: lifecycle(m)["working_stored"] <= 1 << 20, "it fits")
        left = sorted(os.listdir(m("cache/web")))
        assert left[:2] == ["00", "01"] and left[-1] == "11", left
        assert 3 <= len(left) <= 5, left


# --- The clock ------------------------------------------------------------------------------------


@test
def test_a_stepped_clock_loses_nothing_early(case):
    clock = Clock(case)
    with served(case, clock) as m:
        path = m.make("cache/shell/x", b"content\n")
        ref = xattr(path, "ref")
        for step in (HOUR, -HOUR, -HOUR, HOUR, YEAR, -YEAR, -YEAR, YEAR):
            clock.step(step)
            eventually(lambda: gc(m) is not None, "looked")
            assert is_there(path), step
        # Nor does a daemon that is killed while the clock is wrong.
        clock.step(YEAR)
        gc(m)
        m.kill9()
        clock.step(-YEAR)
        clock.start(m)
        gc(m)
        assert is_there(path)
        pass_and_collect(m, clock, HOUR, 5 * MINUTE)
        assert not is_there(path)
        with raises(errno.EKEYEXPIRED):
            os.stat(m("refs", ref))


@test
def test_ageing_survives_restarts(case):
    clock = Clock(case)
    with served(case, clock) as m:
        path = m.make("cache/shell/x", b"content\n")
        clock.pass_time(20 * MINUTE)
        gc(m)
        m.unmount()
        clock.pass_time(15 * MINUTE)
        clock.start(m)
        # The file has expired but is on probation, so a use still saves it.
        gc(m)
        assert "on probation" in xattr(path, "lifecycle")
        read(path)
        gc(m)
        assert "on probation" not in xattr(path, "lifecycle")
        m.kill9()
        clock.start(m)
        pass_and_collect(m, clock, HOUR, 5 * MINUTE)
        assert not is_there(path)


@test
def test_a_month_away_and_a_copy_elsewhere_lose_nothing(case):
    clock = Clock(case)
    with roomy(case, clock) as m:
        for name in ("cache/shell/x", "tasks/t/shell/x"):
            m.make(name, b"content\n")
        pass_and_collect(m, clock, 20 * HOUR, 2 * HOUR)
        for step in (30 * DAY, YEAR, -2 * YEAR, 5 * YEAR):
            m.unmount()
            copy = case.store + ".copy"
            run("cp", "-a", case.store, copy)
            run("rm", "-r", case.store)
            os.rename(copy, case.store)
            clock.step(step)
            clock.start(m)
            gc(m)
            pass_and_collect(m, clock, 10 * MINUTE, 5 * MINUTE)
            assert xattr(m("tasks/t"), "state") == "live"
            assert xattr(m("tasks/t/shell/x"), "lifecycle").startswith("kept: its task is live")
            told = xattr(m("cache/shell/x"), "lifecycle")
            assert told.startswith("evictable since "), told
            # Times are shown by the current wall clock.
            assert time.strftime("%Y", time.gmtime(clock.now())) in told, told
        pass_and_collect(m, clock, 9 * DAY, 12 * HOUR)
        assert not is_there(m("cache/shell/x")) and not is_there(m("tasks/t/shell/x"))


# --- What the kernel knows ------------------------------------------------------------------------


@test
def test_listings_and_names_follow(case):
    clock = Clock(case)
    with served(case, clock) as m:
        for i in range(50):
            m.make(f"cache/shell/{i}", b"x")
        m.make("cache/shell/kept", b"x")
        os.setxattr(m("cache/shell/kept"), "user.offload.ttl", b"never")
        assert len(os.listdir(m("cache/shell"))) == 51
        assert len(os.listdir(m("views/by-category/shell"))) == 51
        pass_and_collect(m, clock, HOUR, 5 * MINUTE)
        assert os.listdir(m("cache/shell")) == ["kept"]
        assert len(os.listdir(m("views/by-category/shell"))) == 1
        with raises(errno.ENOENT):
            os.stat(m("cache/shell/7"))
        write(m("cache/shell/7"), b"new")
        same(read(m("cache/shell/7")), b"new")


@test
def test_space_is_back(case):
    clock = Clock(case)
    with served(case, clock) as m:
        for i in range(40):
            m.make(f"cache/shell/{i}", noise(256 * KIB, i))
        m.wait_sealed(*(m(f"cache/shell/{i}") for i in range(40)))

        def stored():
            return sum(
                os.stat(os.path.join(case.store, "packs", n)).st_blocks * 512
                for n in os.listdir(os.path.join(case.store, "packs"))
            )

        assert stored() > 8 << 20
        pass_and_collect(m, clock, HOUR, 5 * MINUTE)
        assert os.listdir(m("cache/shell")) == []
        eventually(lambda: stored() < 1 << 20, "the space is given back", 30)


# --- Content in several tiers ---------------------------------------------------------------------


def _removals(m, clock, how):
    """Removes cache/shell/x, by `rm` or by letting it expire."""
    if how == "rm":
        os.unlink(m("cache/shell/x"))
    else:
        pass_and_collect(m, clock, HOUR, 10 * MINUTE)
    assert not is_there(m("cache/shell/x"))


@test(
    variants={
        f"{first}-{how}-{tier}": (first, how, tier)
        for first in ("working", "other")
        for how in ("rm", "gc")
        for tier in ("persistent", "archive")
    }
)
def test_the_same_content_in_two_tiers(case, variant):
    first, how, tier = variant
    clock = Clock(case)
    content = noise(300 * KIB, 7) + b"line\n" * 1000
    with served(case, clock) as m:
        paths = ["cache/shell/x", f"{tier}/shell/x"]
        for path in paths if first == "working" else reversed(paths):
            m.make(path, content)
        m.wait_sealed(*(m(p) for p in paths))
        m.kill9()
        clock.start(m)
        _removals(m, clock, how)
        m.kill9()
        clock.start(m)
        same(read(m(paths[1])), content)
        # The other way round: the kept file is removed and the working one stays.
        m.make(paths[0], content)
        m.wait_sealed(m(paths[0]))
        os.unlink(m(paths[1]))
        m.kill9()
        clock.start(m)
        same(read(m(paths[0])), content)
        assert not is_there(m(paths[1]))
    run(OFFLOAD, "verify", "--store", case.store)


@test
def test_killed_while_it_collects(case):
    clock = Clock(case)
    files = {f"cache/shell/{i:03d}": b"%d\n" % i * (i % 7 + 1) for i in range(600)}
    with served(case, clock) as m:
        refs = {}
        for name, data in files.items():
            refs[name] = xattr(m.make(name, data), "ref")
        m.make("persistent/shell/kept", files["cache/shell/005"])
        gc(m)
        clock.pass_time(HOUR)
        gc(m)
        clock.pass_time(20 * MINUTE)
        os.setxattr(m.mnt, "user.offload.gc", b"run")
        eventually(lambda: json.loads(os.getxattr(m.mnt, "user.offload.gc")), "it runs")
        m.kill9()
        clock.start(m)
        for name, data in files.items():
            if is_there(m(name)):
                same(read(m(name)), data, name)
            else:
                with raises(errno.EKEYEXPIRED):
                    os.stat(m("refs", refs[name]))
        same(read(m("persistent/shell/kept")), files["cache/shell/005"])
    run(OFFLOAD, "verify", "--store", case.store)


@test
def test_an_agent_that_collects_all_the_time_keeps_nothing_of_others(case):
    clock = Clock(case)
    with served(case, clock, "gc_interval=300000") as m:
        os.mkdir(m("agents/a"))
        path = m.make("cache/shell/x", b"x")

        def is_gone():
            clock.pass_time(MINUTE)
            gc(m, tree="agents/a")
            return not is_there(path)

        eventually(is_gone, "it goes", 40)


@test
def test_after_a_dry_run_what_is_due_still_goes(case):
    clock = Clock(case)
    with served(case, clock) as m:
        path = m.make("tasks/trip/shell/x", b"x")
        gc(m)
        os.setxattr(m("tasks/trip"), "user.offload.state", b"done")
        assert gc(m, "dry-run")["removed"] == 1
        assert is_there(path)
        clock.pass_time(MINUTE)
        # Each look makes the kernel hold the file for a while.
        eventually(lambda: time.sleep(2) or not is_there(path), "it goes")


# --- Reports --------------------------------------------------------------------------------------


@test
def test_the_ref_of_what_is_gone(case):
    clock = Clock(case)
    with served(case, clock) as m:
        path = m.make("tasks/trip/shell/log.txt", b"one\ntwo\n")
        os.setxattr(path, "user.offload.title", b"The log")
        m.wait_sealed(path)
        ref, sha = xattr(path, "ref"), xattr(path, "sha256")
        pass_and_collect(m, clock, HOUR, 5 * MINUTE)
        for name in (ref, f"{ref}:1-2", f"{ref}:summary"):
            with raises(errno.EKEYEXPIRED):
                read(m("refs", name))
        done = run("cat", m("refs", ref), check=False)
        assert b"Key has expired" in done.stderr, done.stderr
        for _ in range(2):
            told = json.loads(read(m("refs", f"{ref}:info")))
            assert told["path"] == "tasks/trip/shell/log.txt" and told["size"] == 8, told
            assert told["sha256"] == sha and told["task"] == "trip" and told["lines"] == 2, told
            assert told["title"] == "The log" and told["reason"] == "expired", told
            assert told["why"].startswith("unused for ") and told["removed"], told
            m.remount()
        with raises(errno.ENOENT):
            os.stat(m("refs/zzzzzz"))


@test
def test_why_a_file_is_kept(case):
    clock = Clock(case)
    with served(case, clock) as m:
        path = m.make("cache/shell/x", b"x")
        assert "unless it is used" in xattr(path, "lifecycle")
        assert xattr(m.make("persistent/x", b"x"), "lifecycle").startswith("kept: ")
        assert xattr(m.make("cache/reports/x", b"x"), "lifecycle").startswith("kept: ")
        pass_and_collect(m, clock, 31 * MINUTE)
        assert xattr(path, "lifecycle").startswith("on probation, goes after ")
        told = json.loads(read(path + ":info"))
        assert told["lifecycle"].startswith("on probation"), told
        said = gc(m, "dry-run")
        assert said["probation"] == 1 and said["items"] == 1, said
        item = json.loads(os.getxattr(m.mnt, "user.offload.gc.0"))
        assert item["path"] == "cache/shell/x" and item["action"] == "probation", item
        # Listing the file was not a use.
        pass_and_collect(m, clock, 20 * MINUTE)
        assert not is_there(path)


@test(root=True)
def test_what_is_told_of_files_is_for_the_owner(case):
    clock = Clock(case)
    case.open_to_others()
    with served(case, clock, "allow_other") as m:
        os.chmod(m.mnt, 0o755)
        m.make("cache/private/secret", b"x")
        os.chmod(m("cache/private"), 0o700)
        gone = xattr(m.make("cache/shell/x", b"x"), "ref")
        pass_and_collect(m, clock, HOUR, 5 * MINUTE)
        os.setxattr(m("cache/private/secret"), "user.offload.ttl", b"1s")
        pass_and_collect(m, clock, 2, 2)
        said = gc(m, "dry-run")
        assert said["items"] == 1, said
        assert b"secret" in os.getxattr(m.mnt, "user.offload.gc.0")

        def look():
            with raises(errno.EACCES):
                os.getxattr(m.mnt, "user.offload.gc.0")
            for name in (gone, gone + ":info"):
                with raises(errno.ENOENT):
                    os.stat(m("refs", name))
            with raises(errno.EACCES):
                os.stat(m("search/secret"))
            with raises(errno.EPERM, errno.EACCES):
                os.setxattr(m.mnt, "user.offload.gc", b"run")

        as_nobody(look)


@test
def test_lifetimes_are_configured(case):
    clock = Clock(case)
    with served(case, clock, "ttl_shell=2h,ttl_reports=1h,ttl_other=never") as m:
        shell, report, other = (m.make(f"cache/{c}/x", b"x") for c in ("shell", "reports", "z"))
        assert [xattr(p, "ttl") for p in (shell, report, other)] == ["2h", "1h", "never"]
        pass_and_collect(m, clock, 100 * MINUTE, 10 * MINUTE)
        assert is_there(shell) and not is_there(report)
        pass_and_collect(m, clock, 2 * HOUR, 10 * MINUTE)
        assert not is_there(shell) and is_there(other)


if __name__ == "__main__":
    main()
