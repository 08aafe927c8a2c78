#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""offload top: the view on an 80x24 terminal imitated by the test, and the output for scripts."""
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unicodedata

from files import noise
from harness import (
    OFFLOAD, SEAL_SOON, Skip, children_of, eventually, main, read, run, stop, test,
)

SEQUENCE = re.compile(rb"\x1b(?:\[([?>!]?)([0-9;]*)([@-~])|[()][A-Z0-9]|[=>78M])|\x1b\[?[?>!]?[0-9;]*$")


class Screen:
    """What an xterm shows for the sequences that ncurses sends. Any other sequence is an error."""

    def __init__(self, rows, cols):
        self.rows, self.cols = rows, cols
        self.cells = [[" "] * cols for _ in range(rows)]
        self.at = [0, 0]
        self.rest = b""
        self.alternate = False
        self.last = " "
        self.region = (0, rows - 1)

    def put(self, c):
        row, col = self.at
        wide = unicodedata.east_asian_width(c) in "WF"
        if col + wide < self.cols:
            self.cells[row][col : col + 1 + wide] = [c] + [""] * wide
        self.at[1] = col + 1 + wide
        self.last = c

    def scroll(self, n):
        first, last = self.region
        lines = self.cells[first : last + 1]
        blank = [[" "] * self.cols for _ in range(min(abs(n), len(lines)))]
        self.cells[first : last + 1] = lines[n:] + blank if n > 0 else blank + lines[:n]

    def control(self, private, numbers, final):
        n = [int(x or 0) for x in numbers.split(b";")]
        one = max(n[0], 1)
        row, col = self.at
        line = self.cells[row]
        if final == b"H":
            self.at = [one - 1, max(n[1] if len(n) > 1 else 1, 1) - 1]
        elif final in b"ABCD":
            step = {b"A": (-one, 0), b"B": (one, 0), b"C": (0, one), b"D": (0, -one)}[final]
            self.at = [row + step[0], col + step[1]]
        elif final == b"d":
            self.at[0] = one - 1
        elif final == b"G":
            self.at[1] = one - 1
        elif final == b"J":
            assert n[0] in (0, 2), n
            first = 0 if n[0] == 2 else row + 1
            if n[0] == 0:
                line[col:] = [" "] * (self.cols - col)
            for i in range(first, self.rows):
                self.cells[i] = [" "] * self.cols
        elif final == b"K":
            if n[0] == 1:
                line[: col + 1] = [" "] * (col + 1)
            else:
                line[col:] = [" "] * (self.cols - col)
        elif final == b"X":
            line[col : col + one] = [" "] * min(one, self.cols - col)
        elif final == b"P":
            self.cells[row] = (line[:col] + line[col + one :] + [" "] * one)[: self.cols]
        elif final == b"@":
            self.cells[row] = (line[:col] + [" "] * one + line[col:])[: self.cols]
        elif final == b"L":
            self.cells[row:] = ([[" "] * self.cols for _ in range(one)] + self.cells[row:])[: self.rows - row]
        elif final == b"M":
            self.cells[row:] = (self.cells[row + one :] + [[" "] * self.cols for _ in range(one)])[: self.rows - row]
        elif final == b"b":
            for _ in range(one):
                self.put(self.last)
        elif private == b"?" and final in b"hl":
            if n[0] == 1049:
                self.alternate = final == b"h"
        elif final == b"r":
            self.region = (one - 1, (n[1] if len(n) > 1 and n[1] else self.rows) - 1)
            self.at = [0, 0]
        elif final in b"ST":
            self.scroll(one if final == b"S" else -one)
        else:
            # Colours, end of insert mode, saving the title.
            known = final == b"m" or numbers + final in (b"4l", b"22;0;0t", b"23;0;0t")
            assert known, (private, numbers, final)

    def feed(self, data):
        data = self.rest + data
        while data:
            if data[:1] == b"\x1b":
                found = SEQUENCE.match(data)
                assert found, f"a sequence that is not ours: {data[:20]!r}"
                if found.end() == len(data) and found[3] is None and data[1:2] in (b"", b"["):
                    break
                if found[3]:
                    self.control(found[1], found[2], found[3])
                elif found[0] == b"\x1bM":
                    assert self.at[0] == self.region[0], "a reverse index elsewhere"
                    self.scroll(-1)
                data = data[found.end() :]
            elif data[:1] in b"\r\n\b\x0f":
                row, col = self.at
                if data[:1] == b"\n" and row == self.region[1]:
                    self.scroll(1)
                elif data[:1] == b"\n":
                    self.at = [min(row + 1, self.rows - 1), col]
                elif data[:1] != b"\x0f":
                    self.at = [row, 0 if data[:1] == b"\r" else col - 1]
                data = data[1:]
            else:
                assert data[0] >= 0x20, f"a control character: {data[:20]!r}"
                length = 1 if data[0] < 0x80 else 2 if data[0] < 0xE0 else 3 if data[0] < 0xF0 else 4
                if len(data) < length:
                    break
                self.put(data[:length].decode())
                data = data[length:]
        self.rest = data

    def lines(self):
        return ["".join(line).rstrip() for line in self.cells]


class Terminal:
    """The view on a terminal of its own."""

    def __init__(self, *words, rows=24, cols=80, term="xterm", **environment):
        self.screen = Screen(rows, cols)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
            os.environ.update(TERM=term, LC_ALL="C.UTF-8", **environment)
            os.execv(OFFLOAD, [OFFLOAD, "top", *words])
        self.modes = None
        self.code = None

    def look(self):
        """Processes the pending output; returns False if the tool has ended."""
        try:
            while select.select([self.fd], [], [], 0)[0]:
                data = os.read(self.fd, 65536)
                if not data:
                    return False
                self.screen.feed(data)
        except OSError:
            return False
        return True

    def shows(self, text, absent=False):
        def there():
            self.look()
            return (text in "\n".join(self.screen.lines())) != absent

        try:
            eventually(there, f"{text!r} is {'not ' if absent else ''}shown", 20)
        except AssertionError as e:
            raise AssertionError("\n".join([str(e), *self.screen.lines()])) from None
        return self.screen.lines()

    def type(self, text):
        os.write(self.fd, text.encode())

    def resize(self, rows, cols):
        self.screen = Screen(rows, cols)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def ends(self):
        def ended():
            self.look()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
            return pid

        if self.code is None:
            eventually(ended, "the tool ends", 20)
            self.look()
        return self.code

    def close(self):
        if self.code is None:
            os.kill(self.pid, signal.SIGTERM)
            self.ends()
        os.close(self.fd)


@contextlib.contextmanager
def top(*words, **options):
    if "has no view" in subprocess.run([OFFLOAD, "top"], capture_output=True, text=True).stderr:
        raise Skip("built without ncurses")
    t = Terminal(*words, **options)
    try:
        yield t
    finally:
        t.close()


def samples(where, *words):
    """Returns the objects that --json prints."""
    return [json.loads(line) for line in run(OFFLOAD, "top", "--dir", where, "--json", *words).stdout.splitlines()]


@test
def the_view_shows_and_gives_the_terminal_back(case):
    with case.mount(SEAL_SOON) as m:
        run(OFFLOAD, "put", "--dir", m.mnt, "-c", "shell", "-t", "early", input=noise(30000, 1))
        m.make("tasks/late/web/page", b"one line\n" * 5000)
        with top("--dir", m.mnt) as t:
            lines = t.shows("tasks/late/web/page")
            assert lines[0].startswith("offload top") and "every 1s" in lines[0], lines
            assert t.screen.alternate
            assert {len(line) <= 80 for line in lines} == {True}
            for name in ("Requests", "Caches", "Journal", "Sealing", "Storage", "Tokens"):
                assert any(line.startswith(name) for line in lines), (name, lines)
            read(m("tasks/late/web/page:10-20"))
            t.shows("tasks/late/web/page:10-20")
            t.type("\t")
            t.shows("OFFLOADED")
            t.shows("early")
            t.type("\n")  # opens its files
            t.shows('only with "early"')
            t.shows("tasks/late", absent=True)
            t.type("\x1b")
            t.shows("tasks/late")
            t.type("/late\n\n")
            t.shows("5000 lines")
            t.type("q?")
            t.shows("a longer, a shorter time")
            t.type("q+")
            t.shows("every 2s")
            t.type("p")
            t.shows("paused")
            t.type("q")
            assert t.ends() == 0 and not t.screen.alternate


@test
def other_sizes(case):
    with case.mount(SEAL_SOON) as m:
        m.make("cache/web/page", b"x" * 5000)
        with top("--dir", m.mnt) as t:
            t.shows("cache/web/page")
            for rows, cols in ((50, 200), (10, 40), (3, 10), (1, 1), (24, 80)):
                t.resize(rows, cols)
                if rows > 3:
                    t.shows("page")
                    assert t.shows("q quit")[rows - 1].startswith("q quit")
                else:
                    time.sleep(0.1)


@test
def names_do_nothing_to_the_terminal(case):
    """Any sequence that ncurses does not send is an error on the screen of this test."""
    hostile = "tasks/\x1b[31mred\x07\x1b]0;title\x07/web/\x1b[2J\u202e\x9b5A-end"
    wide = "tasks/宽字符任务名称很长很长/web/" + "漢字" * 20 + "-wide"
    with case.mount(SEAL_SOON) as m:
        m.make(wide, b"x" * 5000)
        m.make(hostile, b"\x1b[2Jcontent\n" * 500)
        with top("--dir", m.mnt) as t:
            t.shows("-end")
            lines = t.shows("-wide")
            row = next(line for line in lines if "-wide" in line)
            other = next(line for line in lines if "-end" in line)
            columns = lambda line: sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)
            assert columns(row) == 80 and columns(other) <= 80, (row, other)
            t.type("/-end\n\n")
            t.shows("500 lines")
            assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202e]", "".join(t.screen.lines()))
            t.type("q")
        text = run(OFFLOAD, "top", "--dir", m.mnt, "--once").stdout.decode()
        assert "-end" in text and not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text), text


@test
def a_mount_that_goes_is_waited_for(case):
    with case.mount(SEAL_SOON) as m:
        m.make("cache/web/page", b"x" * 5000)
        with top("--dir", m.mnt) as t:
            t.shows("cache/web/page")
            m.unmount()  # the view does not hold the mount
            t.shows("waiting (q quits)")
            m.start()
            t.shows("waiting (q quits)", absent=True)
            t.shows("up ")
            m.kill9()
            t.shows("not mounted")  # the store still exists
            m.start()
            t.shows("up ")
            t.type("q")
            assert t.ends() == 0 and not t.screen.alternate
        with subprocess.Popen(
            [OFFLOAD, "top", "--dir", m.mnt, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as stream:
            assert json.loads(stream.stdout.readline())["mounted"] == m.mnt
            m.unmount()
            assert stream.wait() == 1
            assert stream.stderr.read().startswith("offload: top: ")
        m.start()


@test
def a_summary_that_never_comes_is_told_of(case):
    with case.mount(SEAL_SOON) as m:
        m.make("cache/web/page", b"x" * 5000)
        with top("--dir", m.mnt) as t:
            t.shows("cache/web/page")
            t.type("p")
            t.shows("paused")
            (sampler,) = children_of(t.pid)
            stop(sampler)
            t.type("\n")
            t.shows("...")
            os.kill(sampler, signal.SIGKILL)
            t.shows("a signal ended the work on it")


@test
def signals_give_the_terminal_back(case):
    with case.mount(SEAL_SOON) as m:
        for sent in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            with top("--dir", m.mnt) as t:
                t.shows("Requests")
                os.kill(t.pid, sent)
                assert t.ends() == 128 + sent and not t.screen.alternate, t.code


@test
def a_silent_daemon_is_told_of(case):
    with case.mount(SEAL_SOON) as m:
        with top("--dir", m.mnt, OFFLOAD_TIMEOUT="1") as t:
            t.shows("Requests")
            os.kill(m.process.pid, signal.SIGSTOP)
            try:
                t.shows("no answer for")
                t.type("q")
                assert t.ends() == 0
            finally:
                os.kill(m.process.pid, signal.SIGCONT)


@test
def terminals_that_cannot_be_drawn_on(case):
    with case.mount(SEAL_SOON) as m:
        for term in ("dumb", "no-such-terminal", ""):
            with top("--dir", m.mnt, term=term) as t:
                said = t.shows("--json")
                assert said[0].startswith("offload: top: ") and t.ends() == 1, said
        done = subprocess.run([OFFLOAD, "top", "--dir", m.mnt], capture_output=True, text=True)
        assert done.returncode == 1 and "--json" in done.stderr and not done.stdout, done
        with top("--dir", m.mnt, term="vt100", NO_COLOR="1") as t:
            t.shows("Requests")


@test
def json_is_a_stream_of_samples(case):
    with case.mount(SEAL_SOON) as m:
        m.make("tasks/T/web/page", b"x" * 5000)
        m.make("persistent/notes/n", noise(3000, 2))
        eventually(lambda: read(m(".offload/log")).count(b"\n") >= 2, "both are sealed")
        with subprocess.Popen(
            [OFFLOAD, "top", "--dir", m.mnt, "--json", "-n", "2"], stdout=subprocess.PIPE, text=True
        ) as stream:
            first = json.loads(stream.stdout.readline())
            with open(m("tasks/T/web/page:1-1"), "rb"):  # held open, so that the kernel keeps it
                second = json.loads(stream.stdout.readline())
            assert stream.wait() == 0
        assert first["seconds"] is None and first["rates"]["requests"] is None, first
        assert first["mounted"] == m.mnt and first["status"]["state"] == "ok"
        assert {line["path"] for line in first["log"]} >= {"tasks/T/web/page", "persistent/notes/n"}
        assert first["tiers"]["working"]["files"] == 1 and first["tiers"]["long-term"]["files"] == 1
        assert second["seconds"] > 0 and second["rates"]["requests"] > 0, second
        assert not second["log"] and second["status"]["slices"][0]["slice"] == "1", second


@test
def a_store_at_rest_is_shown_once(case):
    with case.mount(SEAL_SOON) as m:
        m.make("tasks/T/web/page", b"x" * 5000)
        m.wait_sealed(m("tasks/T/web/page"))
        m.unmount()
        lines = run(OFFLOAD, "top", "--store", m.store, "--json").stdout.splitlines()
        assert len(lines) == 1, lines
        shown = json.loads(lines[0])
        assert shown["mounted"] is None and shown["status"]["content"]["files"] == 1, shown
        assert "not mounted" in run(OFFLOAD, "top", "--store", m.store, "--once").stdout.decode()
        m.start()


@test
def an_agent_sees_its_own(case):
    with case.mount(SEAL_SOON) as m:
        os.mkdir(m("agents/one"))
        m.make("agents/one/tasks/T/web/own", b"x" * 5000)
        m.make("cache/web/secret", b"y" * 5000)
        eventually(lambda: b"secret" in read(m(".offload/log")), "it is sealed")
        eventually(lambda: b"own" in read(m(".offload/log")), "it is sealed")
        text = run(OFFLOAD, "top", "--dir", m.mnt, "--agent", "one", "--once").stdout.decode()
        assert "web/own" in text and "secret" not in text and "Journal" not in text, text
        whole = run(OFFLOAD, "top", "--dir", m.mnt, "--once").stdout.decode()
        assert "web/own" in whole and "secret" in whole and " one " in whole, whole


@test
def words_that_are_refused(case):
    for words, why in (
        (["--interval", "0s"], "it must be"),
        (["--interval", "x"], "it must be"),
        (["-n", "3"], "-n is for --json"),
        (["--once", "--json"], "--once prints text"),
        (["--dir", case.path("none"), "--json"], ""),
        (["--dir", case.path("none"), "--once"], ""),
    ):
        done = subprocess.run([OFFLOAD, "top", *words], capture_output=True, text=True)
        assert done.returncode in (1, 2) and done.stderr.startswith("offload: top: "), done
        assert why in done.stderr and not done.stdout, done


main()
