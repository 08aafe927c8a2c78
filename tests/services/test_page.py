#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The page of offload serve and of offload report in a browser: what it shows and does, with only the
keyboard, on small screens, and with hostile names and contents.

With OFFLOADFS_PAGE_PICTURE=FILE, `test_page.py picture` writes the picture for the README.
"""
import json
import os
import pathlib
import random
import re
import time

import paths  # noqa: F401
from browser import WebDriverError, browser
from clock import DAY, Clock
from files import MIB, log_text
from harness import (
    OFFLOAD, SEAL_SOON, Mount, Skip, eventually, main, read, run, stopped, test, xattr
)
from pages import VIEWS, Page, check_files, page_of, put, serving, shot, tree
from serve import Server

FITS = "document.documentElement.scrollWidth <= 400"
POINTER = "return document.querySelector('#pointer').value"
HTML = "<img src=x onerror=window.harmed=1><script>window.harmed=1</script>"
ACTING = "\x1b[31mred\x1b]0;title\x07 \u202egpj.exe\u2069 \u200bzero\ufeff \U000e0041"
MARK = "javascript:window.harmed=1//'\"><svg onload=window.harmed=1>"


@test(timeout=120)
def files_are_shown(case):
    with case.mount() as m:
        tree(m, 10)
        put(m, log_text(50_000, 1), "-c", "shell", "-t", "T", "--title", "a build")
        with page_of(m) as page:
            check_files(page, 11)


@test(timeout=120)
def names_and_contents_stay_text(case):
    with case.mount() as m:
        for text in (HTML, ACTING, MARK):
            name = text.replace("/", "∕")
            title = re.sub("[\x00-\x1f]", "", text)  # titles cannot contain these
            path = m.make(f"tasks/{name}/{name}/{name}.txt", (text + "\n").encode() * 50)
            os.setxattr(path, "user.offload.title", title.encode())
            os.setxattr(path, "user.offload.tags", title.replace("/", "∕").encode())
            put(m, (text + "\n").encode() * 900, "-c", "shell", "-t", "T", "--title", title)
        os.makedirs(m("agents", "<b>agent"), exist_ok=True)
        raw = os.path.join(os.fsencode(m("cache/web")), b"not \xff\xfe utf-8")
        os.makedirs(m("cache/web"), exist_ok=True)
        with open(raw, "wb") as f:
            f.write(b"\xff\xfe\x80 line\n" * 100 + bytes(range(256)))
        with page_of(m) as page:
            b = page.b
            for view in VIEWS + ["?group=task", "files?task=" + HTML.replace("/", "∕"),
                                 "search?q=window.harmed", "search?way=grep&q=harmed|red"]:
                page.go(view)
                page.check()
            page.go("files")
            shot(b, "hostile")
            assert "\\u202e" in b.text() and "\u202e" not in b.text(), "a mark acts"
            assert "\\x1b" in b.text() and "\x1b" not in b.text(), "an escape acts"
            names = b.run("return [...document.querySelectorAll('[id^=file-]')].map(a => a.hash)")
            assert len(names) == 7, names
            for name in names:
                page.go(name[2:])
                b.wait("document.querySelector('.line bdi, .passage bdi')", "its content")
                page.check()
                assert "\u202e" not in b.text() and "\x1b" not in b.text()
            # The policy also keeps the page's own scripts from making markup of it.
            try:
                b.run("document.body.innerHTML += arguments[0]", HTML)
                raise AssertionError("a text became markup")
            except WebDriverError as e:
                assert "TrustedHTML" in str(e), e
            assert b.complaints(), "a violation of the policy is not told"


@test(timeout=120)
def long_content_stays_usable(case):
    million = b"".join(b"%d of a million\n" % n for n in range(1, 1_000_001))
    with case.mount() as m:
        lines = xattr(m.make("cache/web/lines", million), "ref")
        long = xattr(m.make("cache/web/long", b"first\n" + b"x" * (5 * MIB) + b"\nlast\n"), "ref")
        raw = xattr(m.make("cache/web/raw", b"\x00\xff\xfe" * 100_000), "ref")
        with page_of(m) as page:
            b = page.b
            page.go(f"file/{lines}:499990-500000")
            b.wait_for(".line.selected", "500000 of a million")
            shot(b, "file")
            assert b.run("return document.querySelectorAll('.line.selected').length") == 11
            b.tab_to("#lines")
            b.press("End")
            b.wait_for(".line", "1000000 of a million")
            b.press("Home")
            b.wait_for(".line", "1 of a million")
            assert b.run("return document.querySelectorAll('.line').length") < 200
            page.go(f"file/{long}")
            b.wait_for(".line", "last")
            assert b.run("return document.body.textContent.length") < 20_000
            b.click(".more")
            b.wait_for(".passage", "xxxx")
            b.click("#next")
            b.wait_for("main", "Bytes 65,542 to")
            page.go(f"file/{raw}")
            b.wait("document.querySelector('.passage, .line')", "raw bytes")
            page.check()


@test(timeout=120)
def long_lines_are_opened_by_keyboard(case):
    with case.mount() as m:
        ref = xattr(m.make("cache/web/long", (b"x" * 3000 + b"\n") * 300), "ref")
        with page_of(m) as page:
            b = page.b
            page.go(f"file/{ref}")
            b.tab_to("#lines")
            b.press("PageDown")
            b.wait_for(".line:nth-child(30)", "the whole line")
            b.press("Tab")
            time.sleep(0.5)  # focus may scroll, which draws the lines again
            b.press("Enter")
            b.wait_for(".passage", "xxxx")


@test(timeout=120)
def nothing_is_wider_than_a_phone(case):
    with case.mount() as m:
        tree(m)
        m.make("tasks/" + "t" * 200 + "/" + "c" * 200 + "/" + "n" * 200, b"w" * 5000 + b"\n")
        ref = xattr(m("tasks", "t" * 200, "c" * 200, "n" * 200), "ref")
        with page_of(m) as page:
            b = page.b
            b.resize(400, 800)
            for view in VIEWS + [f"file/{ref}", "nothing"]:
                b.go("#/" + view)
                time.sleep(0.1)
                b.wait("!document.querySelector('main').ariaBusy", view)
                b.wait(FITS, f"'{view}' is as wide as a phone")
                shot(b, "narrow-" + (view.split("?")[0].split("/")[0] or "overview"))


@test(timeout=120)
def pins_and_promotes_by_keyboard(case):
    with case.mount() as m:
        path = m.make("cache/shell/one.txt", b"some text\n")
        ref = xattr(path, "ref")
        with page_of(m) as page:
            b = page.b
            page.go("expiring")
            b.tab_to(f"#pin-{ref}")
            b.press("Enter")
            b.wait_for("#notice", "Pinned")
            assert xattr(path, "important") in ("1", "true", "yes"), xattr(path, "important")
            b.wait_for(f"#pin-{ref}", "Unpin")
            assert b.run("return document.activeElement.id") == f"pin-{ref}", "the focus is lost"
            b.tab_to("#notice button")
            b.press("Enter")  # undoes it
            b.wait_for("#notice", "Unpinned")
            assert xattr(path, "important") not in ("1", "true", "yes")
            b.run("document.activeElement.blur()")
            b.tab_to(f"#promote-{ref}")
            b.press("Enter")
            b.wait_for("dialog", "Keep a file")
            b.press("Escape")
            b.wait("!document.querySelector('dialog')", "the dialog is gone")
            assert os.path.exists(path)
            b.press("Enter")
            b.tab_to("#promote-category")
            b.press("Tab", "kept, seen", "Enter")
            b.wait_for("#notice", "Kept as persistent/shell/one.txt")
            assert xattr(m("persistent/shell/one.txt"), "ref") == ref
            assert "kept" in xattr(m("persistent/shell/one.txt"), "tags")
            page.check()


@test(timeout=120)
def every_function_is_reached_by_keyboard(case):
    with case.mount() as m:
        tree(m)
        ref = xattr(m("cache/web/000000.txt"), "ref")
        with page_of(m) as page:
            b = page.b
            for control in ("#range", "#group", "#measure", "#stored", "#theme", "#find-query"):
                b.tab_to(control)
            page.go("files")
            for control in ("#tier", "#reverse", "#filter", "#file-", "#pin-", "#promote-"):
                b.tab_to(control + ref if control.endswith("-") else control)
            page.go(f"file/{ref}")
            for control in ("#copy", "#slice", "#go", "#lines"):
                b.tab_to(control)
            page.go("log")
            for control in ("#pause", "#event"):
                b.tab_to(control)
            b.run("document.activeElement.blur()")
            b.press("/")
            assert b.run("return document.activeElement.id") == "find-query"
            b.press("needle4", "Enter")
            b.wait_for("#hit-0", "000004.txt")
            b.tab_to("#hit-0")
            b.press("Enter")
            b.wait_for(".line.selected", "needle4")
            unnamed = b.run(
                "return [...document.querySelectorAll('button, input, select, a, [tabindex]')]"
                ".filter(e => !e.hidden)"
                ".filter(e => !(e.ariaLabel || e.textContent.trim() || e.closest('label')))"
                ".map(e => e.outerHTML)")
            assert unnamed in ([], None), unnamed
            page.check()


@test(timeout=120)
def hits_and_slices_open_at_their_lines(case):
    with case.mount() as m:
        text = b"".join(b"line %d\n" % n for n in range(1, 3001))
        text = text.replace(b"line 2222\n", b"the zebra crosses\n")
        ref = xattr(m.make("tasks/T/web/page.txt", text), "ref")
        with page_of(m) as page:
            b = page.b
            page.go("search?q=zebra")
            b.click("#hit-0")
            b.wait_for(".line.selected", "zebra")
            page.go("search?way=grep&q=zeb.a")
            b.click("#hit-0-0")
            b.wait_for(".line.selected", "zebra")
            assert b.text(".line.selected").startswith("2222")
            page.check()
            page.go("search?way=grep&q=(")
            b.wait_for(".wrong")
            assert "400" in b.complaints()[0]
            page.go(f"file/{ref}:120-180")
            b.wait_for(".line.selected", "line 120")
            assert b.run(POINTER) == f"{m.mnt}/refs/{ref}:120-180"
            page.go(f"file/{ref}:-50")
            b.wait_for(".line.selected", "line 2951")
            page.go(f"file/{ref}:b0-6")
            b.wait_for(".passage", "line 1")
            assert b.text(".passage") == "line 1"
            b.go(f"#/file/{ref}:120-180")
            b.wait_for(".line.selected", "line 120")
            b.type("#slice", "7-8")
            b.press("Enter")
            first = "document.querySelector('.line.selected')?.textContent"
            b.wait(first + "?.startsWith('7')", "line 7")
            page.check()
        told = json.loads(run(OFFLOAD, "stats", "-d", m.mnt, "--json", cwd="/").stdout)["tokens"]
        assert told["read"] == 0, "what a person reads counts as read back into a prompt"


@test(timeout=120)
def the_log_lives(case):
    with case.mount(SEAL_SOON) as m:
        m.make("cache/web/before.txt", b"zero\n")
        eventually(lambda: b"before.txt" in read(m(".offload/log")), "it is in the log")
        with page_of(m) as page:
            b = page.b
            page.go("log")
            b.wait_for("td", "cache/web/before.txt")
            m.make("cache/web/first.txt", b"one\n")
            b.wait_for("td", "cache/web/first.txt")
            b.click("#pause")
            m.make("cache/web/second.txt", b"two\n")
            b.wait_for("#log-state", "1 new")
            assert "second.txt" not in b.text("tbody")
            shot(b, "log")
            b.click("#pause")
            b.wait_for("td", "cache/web/second.txt")
            page.check()


@test(timeout=120)
def the_log_says_whether_it_is_live(case):
    with case.mount(), Server(case, "--listen", "127.0.0.1:0") as server, browser() as b:
        b.open(server.urls[0].rstrip("/") + "/#token=" + server.token)
        b.wait_for("main", "Tokens saved")
        with stopped(server.process.pid):
            b.go("#/log")
            b.wait_for("#log-state", "Waiting for the server")
            b.click("#pause")
            b.click("#pause")
            assert "Waiting" in b.text("#log-state"), b.text("#log-state")
        b.wait_for("#log-state", "Live.")
        server.words = ("--listen", "%s:%d" % server.address)
        server.stop()
        b.wait_for("#log-state", "does not answer")
        b.wait_for("#problem", "does not answer")
        server.start()
        b.wait_for("#log-state", "Live.")
        b.wait("document.querySelector('#problem').hidden", "the problem is over")


@test(timeout=120)
def light_and_dark(case):
    with case.mount() as m:
        tree(m)
        back = "return getComputedStyle(document.documentElement).backgroundColor"
        with page_of(m) as page:
            b = page.b
            for scheme, first in (("light", "rgb(255"), ("dark", "rgb(20")):
                b.prefer(scheme)
                assert b.run(back).startswith(first), b.run(back)
                page.go("")
                shot(b, f"overview-{scheme}")
            b.click("#theme")  # from the system's scheme to light
            assert b.run(back).startswith("rgb(255")
            b.click("#theme")
            b.prefer("light")
            assert b.run(back).startswith("rgb(20")
            page.settle()
            page.check()


@test(timeout=120)
def agents_have_their_own_pages(case):
    with case.mount() as m:
        tree(m)
        os.makedirs(m("agents/helper"))
        path = m.make("agents/helper/cache/web/its.txt", b"of the helper\n")
        with page_of(m) as page:
            b = page.b
            page.go("tasks")
            b.wait_for("#agent option", "helper")
            b.choose("#agent", "helper")
            b.wait("location.hash.includes('agent=helper')", "its address")
            page.go("files?agent=helper")
            b.wait_for("#totals", "1 file,")
            assert "its.txt" in b.text() and "000001.txt" not in b.text()
            b.click("[id^=file-]")
            b.wait_for(".line", "of the helper")
            assert b.run(POINTER).startswith(m("agents/helper/refs/"))
            assert xattr(path, "ref")
            page.check()


@test(timeout=120)
def trouble_is_said_in_words(case):
    with case.mount() as m:
        tree(m)
        with browser() as b:
            with serving(m) as (base, token):
                b.open(base + "/#token=wrong")
                b.wait_for("#problem", "offload serve")
                shot(b, "token")
                assert "token" not in b.run("return location.href"), "the token is in the address"
                b.type("#token", token)
                b.press("Enter")
                b.wait_for("main", "Tokens saved")
                b.go("#/file/zzzzzzzz")
                b.wait_for("#problem p")
                b.go("#/files")
                b.wait_for("#totals", "10 files")
            b.go("#/tasks")
            b.wait_for("#problem", "The server does not answer")
            assert b.run("return window.harmed") is None


@test(timeout=120)
def report_is_one_file(case):
    with case.mount() as m:
        tree(m)
        put(m, log_text(50_000, 1), "-c", "shell", "-t", "T", "--title", "</script>" + HTML)
        out = case.path("report.html")
        run(OFFLOAD, "report", "-d", m.mnt, "-o", out, cwd="/")
        again = run(OFFLOAD, "report", "-d", m.mnt, cwd="/").stdout
        assert len(again) > 10_000 and read(out)[:15] == again[:15] == b"<!doctype html>"
        with browser() as b:
            b.prefer("light")
            address = pathlib.Path(out).as_uri()
            b.open(address)
            b.wait_for("main h2", "Files used last")
            page = Page(b, address)
            text = b.text()
            for words in ("Tokens saved", "What is stored", "What will expire", "Tasks", "Agents",
                          "000001.txt", "</script><img"):
                assert words in text, words
            assert not b.run("return document.querySelector('main a, .actions button')")
            b.choose("#group", "task")
            b.wait_for("thead th", "Task")
            shot(b, "report")
            b.resize(400, 800)
            b.wait(FITS, "it is as wide as a phone")
            page.check()
            m.unmount()
            b.open(address)  # needs no tree
            b.wait_for("main h2", "Files used last")
            fetched = [r for r in b.requests if not r.startswith(("data:", "chrome", "file:"))]
            assert not fetched, fetched
        assert read(out)[:15] == run(OFFLOAD, "report", "--store", case.store, cwd="/").stdout[:15]
        m.start()


@test(timeout=300)
def picture(case):
    """Shows a month of work. Daemon and browser agree on today's date."""
    out = os.environ.get("OFFLOADFS_PAGE_PICTURE")
    if not out:
        raise Skip("OFFLOADFS_PAGE_PICTURE names no file")
    clock, rng, days = Clock(case), random.Random(7), 30
    tasks = ["fix-parser", "bench-io", "review-frames", "release-notes", "flaky-tests"]
    clock.step(-days * DAY)
    m = Mount(case, case.store, case.mnt, [])
    with clock.start(m):
        for day in range(days):
            clock.pass_time(DAY)
            for i in range(rng.randrange(2, 9) if day % 7 < 5 else 1):
                task = tasks[min(rng.randrange(5), day // 5)]
                category = rng.choice(["shell", "shell", "search", "web", "file_read"])
                text = log_text(int(rng.lognormvariate(10.5, 0.9)), day * 100 + i)
                name = f"{day}-{i}.txt"
                put(m, text, "-c", category, "-t", task, "-n", name, "--title", f"make check {day}")
                kept = m("tasks", task, category, name)
                if i % 3 == 0:
                    run(OFFLOAD, "slice", "-d", m.mnt, kept, "1-120", cwd="/")
                if i % 4 == 1:
                    verb = rng.choice(["promote", "promote", "archive"])
                    run(OFFLOAD, verb, "-d", m.mnt, kept, cwd="/")
        with page_of(m) as page:
            b = page.b
            b.resize(1000, 740)
            b.command("Emulation.setScrollbarsHidden", hidden=True)
            b.prefer("light")
            page.go("?group=task&measure=offloaded")
            b.wait("document.querySelector('canvas')", "the plot")
            b.screenshot(out)


main()
