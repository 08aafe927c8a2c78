# SPDX-License-Identifier: MIT
"""A headless Chromium, driven by WebDriver (chromedriver) with the standard library only."""
import base64
import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.request

from harness import SLOW, Skip, eventually

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "Shift": "\ue008", "Space": " ",
        "End": "\ue010", "Home": "\ue011", "PageDown": "\ue00f", "Down": "\ue015"}


class WebDriverError(Exception):
    pass


class Browser:
    """One window. Elements are identified by CSS selectors."""

    def __init__(self, base):
        self.base = base
        # Bypasses any proxy that the environment sets.
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.requests = []  # the URLs of everything requested

    def ask(self, method, path, body=None):
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(self.base + path, data, method=method)
        try:
            with self.opener.open(request, timeout=60 * SLOW) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as e:
            value = json.load(e)["value"]
            raise WebDriverError(f"{value['error']}: {value['message'].splitlines()[0]}") from None

    def open(self, address):
        self.ask("POST", "/url", {"url": address})

    def run(self, script, *args):
        """Runs the body of a function in the page. Returns its value."""
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(args)})

    def go(self, fragment):
        """Goes to a place in the page without reloading it. Returns once the page knows."""
        script = (
            "const [to, done] = arguments, before = location.hash; location.hash = to;"
            "if (location.hash === before) done();"
            "else addEventListener('hashchange', () => done(), {once: true})"
        )
        self.ask("POST", "/execute/async", {"script": script, "args": [fragment]})

    def wait(self, script, what, seconds=20):
        """Waits until an expression is true. Returns its value."""
        return eventually(lambda: self.run(f"return ({script})"), what, seconds)

    def wait_for(self, selector, text=""):
        """Waits for an element with a text, even if its characters are split over others."""
        return eventually(
            lambda: self.run(
                "return [...document.querySelectorAll(arguments[0])]"
                ".some(e => e.textContent.includes(arguments[1]))", selector, text),
            f"'{selector}' with {text!r}",
        )

    def text(self, selector="main"):
        return self.run("return document.querySelector(arguments[0])?.textContent", selector)

    def _element(self, selector):
        found = self.ask("POST", "/element", {"using": "css selector", "value": selector})
        return "/element/" + found[ELEMENT]

    def click(self, selector):
        self.ask("POST", self._element(selector) + "/click")

    def type(self, selector, text):
        element = self._element(selector)
        self.ask("POST", element + "/clear")
        self.ask("POST", element + "/value", {"text": text})

    def choose(self, selector, value):
        self.run(
            "const s = document.querySelector(arguments[0]); s.value = arguments[1];"
            "s.dispatchEvent(new Event('change', {bubbles: true}))", selector, value)

    def press(self, *keys):
        """Presses keys, given by name or as text, wherever the focus is."""
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            for each in value:
                actions += [{"type": "keyDown", "value": each}, {"type": "keyUp", "value": each}]
        keyboard = {"type": "key", "id": "keys", "actions": actions}
        self.ask("POST", "/actions", {"actions": [keyboard]})

    def tab_to(self, selector, limit=200):
        """Presses Tab until the element has the focus, which shows that no mouse is needed."""
        for _ in range(limit):
            if self.run("return document.activeElement.matches(arguments[0])", selector):
                return
            self.press("Tab")
        raise AssertionError(f"Tab does not reach '{selector}'")

    def command(self, name, **params):
        """Runs a command of the DevTools protocol."""
        return self.ask("POST", "/goog/cdp/execute", {"cmd": name, "params": params})

    def resize(self, width, height):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height,
                     deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme):
        """Sets the colour scheme of the user's system: "light" or "dark"."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.command("Emulation.setEmulatedMedia", features=[feature])

    def screenshot(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.ask("GET", "/screenshot")))

    def complaints(self):
        """
        Returns what the console has said since the last call, which includes violations of the
        content security policy. Also records the requests.
        """
        for entry in self.ask("POST", "/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
        return [e["message"] for e in self.ask("POST", "/se/log", {"type": "browser"})]


def _session(base, profile):
    options = {
        "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--no-first-run", "--disable-background-networking", "--disable-component-update",
                 "--disable-extensions", "--no-proxy-server", "--force-color-profile=srgb",
                 "--window-size=1280,900", f"--user-data-dir={profile}"],
        "perfLoggingPrefs": {"enableNetwork": True},
    }
    capabilities = {"browserName": "chrome", "goog:chromeOptions": options,
                    "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
    made = Browser(base).ask("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
    return Browser(f"{base}/session/{made['sessionId']}")


@contextlib.contextmanager
def browser():
    """Yields a browser with a new profile. Skips the test if there is no browser."""
    if not shutil.which("chromedriver") or not shutil.which("chromium"):
        raise Skip("needs chromium and chromedriver (tools/bootstrap --test)")
    with tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True) as home:
        driver = subprocess.Popen(
            ["chromedriver", "--port=0", "--log-level=SEVERE"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, "HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home})
        try:
            for line in driver.stdout:
                if port := re.search(r"started successfully on port (\d+)", line):
                    break
            b = _session(f"http://127.0.0.1:{port[1]}", home + "/profile")
            try:
                b.resize(1280, 900)
                yield b
            finally:
                b.ask("DELETE", "")
        finally:
            driver.terminate()
            driver.wait()
            driver.stdout.close()
