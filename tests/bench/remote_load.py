# SPDX-License-Identifier: MIT
"""Files such as agents leave, and an agent that keeps leaving them."""
import json
import os
import random
import time

from corpus import soup
from measure import KIB, MIB, Failure, Progress

FOLDERS = ("cache/shell", "cache/web", "cache/search", "tasks/fix", "tasks/read", "persistent")
DIRECTORY = 500  # files per directory


class Texts:
    """Texts of many sizes, a few of them large. The same number always gives the same text."""

    def __init__(self, mean, pool=64 * MIB):
        self._pool = soup(pool, 2)
        self._mean = mean

    def text(self, number, size=None):
        rng = random.Random(number)
        size = size or min(int(rng.expovariate(1 / self._mean)) + 200, len(self._pool) // 2)
        at = rng.randrange(len(self._pool) - size)
        return f"result {number} of {rng.getrandbits(64):016x}\n".encode() + self._pool[at : at + size]


def path_of(number):
    folder = FOLDERS[number // DIRECTORY % len(FOLDERS)]
    return f"{folder}/part-{number // DIRECTORY:05d}/{number:07d}.txt"


def fill(m, files, size):
    """Writes this many files with `size` bytes in total. Returns the actual total."""
    texts, written = Texts(size // files), 0
    with Progress("writing", files, "files") as progress:
        for i in range(files):
            path = m(path_of(i))
            if i % DIRECTORY == 0:
                os.makedirs(os.path.dirname(path))
            text = texts.text(i)
            with open(path, "wb") as f:
                f.write(text)
            written += len(text)
            progress.show(i)
    return written


def in_one_folder(name, number):
    """Returns where an agent of this name stores a result."""
    return f"cache/shell/{name}/{number:07d}.txt"


def in_small_folders(name, number):
    """The same for long runs: directories stay small, so listing them takes a constant time."""
    return f"cache/shell/{name}/{number // DIRECTORY:05d}/{number:07d}.txt"


class Agent:
    """
    A process that stores a result of `size` bytes on average each `pause` seconds, until it is
    stopped or the mount fails. Each tenth one is synced, and some of the older ones are removed. It
    notes what was acknowledged in a file elsewhere: when, how long it took, name, kind.
    """

    def __init__(self, m, log, name, pause, size=4 * KIB, place=in_one_folder):
        self._log, self._place = log, place
        self.pid = os.fork()
        if self.pid:
            return
        try:
            self._work(m, name, pause, size)
        except OSError:
            pass
        finally:
            os._exit(0)

    def _work(self, m, name, pause, size):
        texts = Texts(size, 4 * MIB)
        made, following = 0, time.monotonic()
        with open(self._log, "w") as log:
            while True:
                path = self._place(name, made)
                if made % DIRECTORY == 0:
                    os.makedirs(os.path.dirname(m(path)), exist_ok=True)
                text = texts.text(made)
                begin = time.perf_counter()
                with open(m(path), "xb") as f:
                    f.write(text)
                    f.flush()
                    kind = "store"
                    if made % 10 == 9:
                        kind = "store, fsync"
                        os.fsync(f.fileno())
                took = time.perf_counter() - begin
                log.write(json.dumps([time.time(), took, made, kind]) + "\n")
                if made % 7 == 6:
                    begin = time.perf_counter()
                    os.listdir(os.path.dirname(m(path)))
                    with open(m(self._place(name, made - 5)), "rb") as f:
                        f.read()
                    log.write(json.dumps([time.time(), time.perf_counter() - begin, made, "read"]))
                    log.write("\n")
                if made % 20 == 19:
                    os.unlink(m(self._place(name, made - 15)))
                log.flush()
                made += 1
                following = max(following + pause, time.monotonic() - 10 * pause)
                time.sleep(max(following - time.monotonic(), 0))

    def stop(self):
        """Ends the agent. Returns what it noted."""
        try:
            os.kill(self.pid, 15)
        finally:
            os.waitpid(self.pid, 0)
        with open(self._log) as f:
            lines = f.read().splitlines()
        noted = []
        for line in lines:
            try:
                noted.append(json.loads(line))
            except ValueError:
                break  # it was ended in the middle of this line
        if not noted:
            raise Failure("nothing was written")
        return noted


def removed(number, made):
    """Returns True if this file of an agent is gone once `made` files have been made."""
    return number % 20 == 4 and number + 15 < made
