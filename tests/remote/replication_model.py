# SPDX-License-Identifier: MIT
"""The states of a tree that is written, of which one must be there in the end."""
import random


class Ended(Exception):
    """The host takes no more: it died, or another one has the store."""


class Lost(AssertionError):
    """What was acknowledged is not there."""


class WrongBytes(AssertionError):
    """What is there never was."""


class Model:
    """
    The states that the operations lead to, one after each system call. Those up to `required` were
    acknowledged as being in the remote.
    """

    def __init__(self):
        self.states, self.times = [{}], [0]
        self.required = 0
        self.tokens = 0

    @property
    def last(self):
        return self.states[-1]

    def content(self, size):
        """Never the same twice."""
        self.tokens += 1
        token = b"%08d " % self.tokens
        if self.tokens % 2:
            return (token * (size // 9 + 1))[:size]
        return token + random.Random(self.tokens).randbytes(max(size - 9, 0))

    def add(self, state, now):
        self.states.append(state)
        self.times.append(now)

    def require_before(self, when):
        """All that was acknowledged before that time is in the remote."""
        known = [i for i, at in enumerate(self.times) if at < when]
        self.required = max(self.required, known[-1])

    def goes_on_from(self, found, least, where):
        """The tree that was found is one of the states, from `least` on; later ones are no more."""
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
