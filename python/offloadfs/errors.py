# SPDX-License-Identifier: MIT
"""The exceptions that calls raise. Each carries the message of the tree or the server."""
from __future__ import annotations

from typing import Dict, Type


class OffloadError(Exception):
    """A call failed. str() is a one-line message for people, `code` a word for programs."""

    code = "failed"

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code or type(self).code


class Invalid(OffloadError, ValueError):
    """An argument is not valid for the call."""

    code = "invalid"


class NotFound(OffloadError, LookupError):
    """The file, task or agent does not exist, or nothing was offloaded here yet."""

    code = "not_found"


class Expired(NotFound):
    """The file existed but is gone; the message says what it was."""

    code = "expired"


class OutOfRange(OffloadError, IndexError):
    """The slice starts beyond the end of the content."""

    code = "range"


class NotAllowed(OffloadError):
    """The user may not do this, or the path is outside the tree."""

    code = "forbidden"


class Exists(OffloadError):
    """The name is taken by other content."""

    code = "exists"


class NoRoom(OffloadError):
    """Nothing can be stored: the disk or a quota is full."""

    code = "no_space"


class Unreachable(OffloadError):
    """The tree, its server or the tool cannot be reached at present."""

    code = "unavailable"


class NotServed(Unreachable):
    """No server listens at the given address, so no request was sent."""


class TimedOut(Unreachable):
    """No answer arrived within the caller's timeout."""

    code = "timeout"


_KINDS = (Invalid, NotFound, Expired, OutOfRange, NotAllowed, Exists, NoRoom, Unreachable, TimedOut)
_BY_CODE: Dict[str, Type[OffloadError]] = {
    "unauthorized": NotAllowed,
    **{kind.code: kind for kind in _KINDS},
}


def error_of(code: str, message: str) -> OffloadError:
    """Returns the exception for an answer {"error": {"code", "message"}}."""
    return _BY_CODE.get(code, OffloadError)(message, code)
