# SPDX-License-Identifier: MIT
"""The page of offload serve in a browser. Screenshots go to OFFLOADFS_TEST_SHOTS, if set."""
import contextlib
import os

from browser import browser
from harness import OFFLOAD, run
from serve import Server

VIEWS = ["", "files", "expiring", "tasks", "log", "search?q=line"]


class Page:
    """The page of a tree, in a browser. `served` is its URL."""

    def __init__(self, b, served):
        self.b, self.served = b, served

    def go(self, view):
        """Shows a view and waits until it is complete."""
        self.b.go("#/" + view)
        self.settle()

    def settle(self):
        self.b.wait("!document.querySelector('main').ariaBusy && document.querySelector('main h1')",
                    "the view is there")

    def check(self):
        """The server's data has stayed text, and nothing foreign was loaded."""
        b = self.b
        assert b.complaints() == [], "the console is not empty"
        assert b.run("return window.harmed") is None, "a script of the content ran"
        foreign = [r for r in b.requests
                   if not r.startswith((self.served, "data:", "chrome:", "chrome-untrusted:"))]
        assert not foreign, foreign
        markup = "main :is(script, img, iframe, svg, style, b, i)"
        assert not b.run("return document.querySelector(arguments[0])", markup)


def shot(b, name):
    folder = os.environ.get("OFFLOADFS_TEST_SHOTS")
    if folder:
        os.makedirs(folder, exist_ok=True)
        b.screenshot(os.path.join(folder, name + ".png"))


def put(m, content, *words):
    run(OFFLOAD, "put", "-d", m.mnt, *words, input=content, cwd="/")


@contextlib.contextmanager
def serving(m):
    """Yields the URL of a server of this tree, and its token."""
    with Server(m.case, "--listen", "127.0.0.1:0", where=["-d", m.mnt]) as server:
        yield server.urls[0].rstrip("/"), server.token


@contextlib.contextmanager
def page_of(m):
    with serving(m) as (base, token), browser() as b:
        page = Page(b, base)
        try:
            b.open(f"{base}/#token={token}")
            page.settle()
            yield page
        except BaseException:
            shot(b, "failed")
            print(b.run("return location.href"), b.complaints(), b.text("body")[:2000])
            raise


def tree(m, count=10):
    """Makes files of several tiers, categories and tasks."""
    for i in range(count):
        top = ("cache/web", "tasks/T/shell", "tasks/U/notes", "persistent/reports")[i % 4]
        m.make(f"{top}/{i:06}.txt", b"line one of %d\nline two\nneedle%d here\n" % (i, i))


def check_files(page, count):
    """Checks that the browser holds one page of files, however many there are."""
    b = page.b
    assert "Tokens saved" in b.text() and "working" in b.text(), b.text()
    assert b.run("return document.querySelector('.tiles dd').textContent") != "0"
    for view in VIEWS:
        page.go(view)
    page.go("files?sort=path")
    assert f"{count:,} files" in b.text("#totals"), b.text("#totals")
    shown = b.run("return document.querySelectorAll('tbody tr').length")
    assert shown == min(count, 100), shown
    first = b.text("tbody .path")
    if count > 100:
        b.click("#next")
        b.wait("document.querySelector('#previous')", "the next page")
        assert b.text("tbody .path") != first
        b.click("#previous")
        b.wait("!document.querySelector('#previous')", "the first page")
        assert b.text("tbody .path") == first
    b.type("#category", "shell")
    b.type("#task", "T")
    b.press("Enter")
    all_of_them = f"document.querySelector('#totals').textContent.startsWith('{count:,} ')"
    b.wait("!" + all_of_them, "only some files")
    paths = b.run("return [...document.querySelectorAll('tbody .path')].map(p => p.textContent)")
    assert paths and all(p.startswith("tasks/T/shell/") for p in paths), paths
    page.check()
