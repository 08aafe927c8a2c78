# SPDX-License-Identifier: MIT
"""The clocks of a daemon, moved by hand."""
import os
import struct
import time

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR
YEAR = 365 * DAY


class Clock:
    """Times are in seconds. A mount goes by it when it is started with `start`."""

    def __init__(self, case, name="clock"):
        self.path = case.path(name)
        self._wall = self._boot = 0
        with open(self.path, "wb") as f:
            f.write(self._bytes())

    def _bytes(self):
        return struct.pack("<qqq", self._wall * 10**9, self._boot * 10**9, 1)

    def _save(self):
        with open(self.path, "r+b") as f:
            f.write(self._bytes())

    def now(self):
        """The wall clock of the daemon, in seconds."""
        return time.time() + self._wall

    def start(self, m):
        m.launch(OFFLOADFS_CLOCK=self.path)
        assert m.comes_up()
        return m

    def pass_time(self, seconds):
        self._wall += seconds
        self._boot += seconds
        self._save()

    def step(self, seconds):
        """The wall clock alone."""
        self._wall += seconds
        self._save()
