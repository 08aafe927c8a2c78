# SPDX-License-Identifier: MIT
"""The results of calls. Members that only a newer server sends are ignored."""
from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Dict, List, Mapping, Optional, Type, TypeVar

T = TypeVar("T")


def make(kind: Type[T], answer: Mapping[str, Any]) -> T:
    """Makes a dataclass from the members of a JSON object that have the names of its fields."""
    return kind(**{f.name: answer.get(f.name) for f in fields(kind)})


@dataclass(frozen=True)
class Memory:
    """Offloaded content. str() is the pointer that stands for it in a prompt."""

    pointer: str
    id: str  # the ref, which stays valid wherever the file moves
    uri: str
    path: str
    title: Optional[str]
    category: str
    task: Optional[str]
    mime: str
    bytes: int
    lines: int
    tokens: int  # estimate for the whole content
    sha256: str
    new: bool  # False: the same content was already there

    def __str__(self) -> str:
        return self.pointer

    @property
    def ref(self) -> str:
        return self.id


@dataclass(frozen=True)
class Slice:
    """A part of some content. str() is its text."""

    text: str
    path: str
    encoding: str  # "lossy": bytes that are not UTF-8 appear as U+FFFD
    line_start: Optional[int]
    line_end: Optional[int]
    byte_offset: Optional[int]
    byte_len: int
    lines: Optional[int]  # of the whole content, as is `bytes`
    bytes: int
    next: Optional[Dict[str, Any]]  # arguments for fetching the rest; None at the end

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Hit:
    """A passage found by a search."""

    at: str  # PATH:FROM-TO, accepted by fetch()
    path: str
    line_start: Optional[int]
    line_end: Optional[int]
    snippet: str


@dataclass(frozen=True)
class Grep:
    """The result of a grep."""

    lines: List[str]  # PATH:LINE:TEXT for matches, PATH-LINE-TEXT for context, -- between groups
    matches: int
    files_searched: int
    complete: bool  # False: a limit of number, size or time was reached


@dataclass(frozen=True)
class File:
    """An entry of a list of files."""

    id: str
    path: str
    title: Optional[str]
    tags: List[str]
    tier: str
    category: Optional[str]
    task: Optional[str]
    mime: Optional[str]
    bytes: int
    stored_bytes: Optional[int]
    lines: Optional[int]
    tokens: Optional[int]
    age_seconds: int
    expires: Optional[str]
    lifecycle: str


@dataclass(frozen=True)
class Promotion:
    memory_id: Optional[str]  # None for a folder
    path: str
    was: str
    category: Optional[str]
    tags: List[str]
    moved: bool  # False: it was already there


@dataclass(frozen=True)
class Usage:
    """Totals for a tier and category."""

    tier: str
    category: Optional[str]
    files: int
    bytes: int
    stored_bytes: int
    tokens: int


@dataclass(frozen=True)
class Stats:
    """Tokens kept out of prompts, and the status of the tree."""

    since: Optional[str]
    rows: List[Dict[str, Any]]
    total: Dict[str, Any]
    status: Dict[str, Any]


@dataclass(frozen=True)
class Task:
    name: str
    state: Optional[str]
    files: int
    bytes: int


@dataclass(frozen=True)
class Agent:
    name: str
    state: Optional[str]
    files: int
    bytes: int
    used: Optional[str]


@dataclass(frozen=True)
class Ending:
    """What happened to the files of a finished task."""

    task: str
    state: str
    promoted: int
    removed: int
    removed_bytes: int
    kept: int
