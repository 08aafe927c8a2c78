# SPDX-License-Identifier: MIT
"""The states of a tree that is being written. One of them must be there in the end."""
import random


class Ended(Exception):
    """The host accepts nothing more: it died, or another host has the store."""


class Lost(AssertionError):
    """Something acknowledged is missing."""


class WrongBytes(AssertionError):
    """The content never existed."""


class Model:
    """The states after each system call. Up to `required` they were acknowledged."""

    def __init__(self):
        self.states, self.times = [{}], [0]
        self.required = 0
        self.tokens = 0

    @property
    def last(self):
        return self.states[-1]

    def content(self, size):
        """Returns content that is never repeated."""
        self.tokens += 1
        token = b"%08d " % self.tokens
        if self.tokens % 2:
            return (token * (size // 9 + 1))[:size]
        return token + random.Random(self.tokens).randbytes(max(size - 9, 0))

    def add(self, state, now):
        self.states.append(state)
        self.times.append(now)

    def require_before(self, when):
        """Requires everything that was acknowledged before that time."""
        known = [i for i, at in enumerate(self.times) if at < when]
        self.required = max(self.required, known[-1])

    def goes_on_from(self, found, least, where):
        """The found tree must be one of the states from `least` on. Later states are dropped."""
        at = next((i for i in reversed(range(len(self.states))) if self.states[i] == found), None)
        if at is None:
            self._explain(found, where)
        if at < least:
            raise Lost(f"{where} has state {at} of {len(self.states) - 1}, acknowledged: {least}")
        del self.states[at + 1 :], self.times[at + 1 :]

    def _explain(self, found, where):
        for name, data in found.items():
            if not any(state.get(name) == data for state in self.states):
                raise WrongBytes(f"{where}: {name} has {len(data)} bytes that it never had")
        last = self.states[-1]
        differ = [n for n in {*found, *last} if found.get(n) != last.get(n)]
        raise WrongBytes(f"{where} is no state that there was: {differ} differ from the last one")
