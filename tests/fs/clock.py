# SPDX-License-Identifier: MIT
"""Moves the clocks of a daemon by hand."""
import os
import struct
import time

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR
YEAR = 365 * DAY


class Clock:
    """A clock for mounts started with `start`. All times are in seconds."""

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
        """Returns the daemon's wall-clock time, in seconds."""
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
        """Moves the wall clock alone."""
        self._wall += seconds
        self._save()
