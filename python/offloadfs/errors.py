# SPDX-License-Identifier: MIT
"""What a call can fail with. Each error has the sentence that the tree or the server said."""
from __future__ import annotations

from typing import Dict, Type


class OffloadError(Exception):
    """A call failed; str() is one line for a person, `code` a word for programs."""

    code = "failed"

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code or type(self).code


class Invalid(OffloadError, ValueError):
    """An argument is not what the call takes."""

    code = "invalid"


class NotFound(OffloadError, LookupError):
    """There is no such file, task or agent, or nothing was offloaded here yet."""

    code = "not_found"


class Expired(NotFound):
    """The file was there and is gone; the sentence says what it was."""

    code = "expired"


class OutOfRange(OffloadError, IndexError):
    """The slice starts past the end of the content."""

    code = "range"


class NotAllowed(OffloadError):
    """This user may not do it, or it lies outside of the tree."""

    code = "forbidden"


class Exists(OffloadError):
    """The name is taken by another content."""

    code = "exists"


class NoRoom(OffloadError):
    """Nothing can be stored: the disk or a quota is full."""

    code = "no_space"


class Unreachable(OffloadError):
    """The tree, its server or the tool cannot be reached now."""

    code = "unavailable"


class NotServed(Unreachable):
    """Nobody listens where the server should be; nothing was asked."""


class TimedOut(Unreachable):
    """No answer within the time that the caller allows."""

    code = "timeout"


_KINDS = (Invalid, NotFound, Expired, OutOfRange, NotAllowed, Exists, NoRoom, Unreachable, TimedOut)
_BY_CODE: Dict[str, Type[OffloadError]] = {
    "unauthorized": NotAllowed,
    **{kind.code: kind for kind in _KINDS},
}


def error_of(code: str, message: str) -> OffloadError:
    """The exception for an answer {"error": {"code", "message"}}."""
    return _BY_CODE.get(code, OffloadError)(message, code)
