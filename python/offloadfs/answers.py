# SPDX-License-Identifier: MIT
"""What calls answer. Members that a newer server adds are left out."""
from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Dict, List, Mapping, Optional, Type, TypeVar

T = TypeVar("T")


def make(kind: Type[T], answer: Mapping[str, Any]) -> T:
    """A dataclass from the members of a JSON object that have its names."""
    return kind(**{f.name: answer.get(f.name) for f in fields(kind)})


@dataclass(frozen=True)
class Memory:
    """A content that was offloaded. str() is the pointer, which stands for it in a prompt."""

    pointer: str
    id: str  # the ref, which stays valid wherever the file is moved
    uri: str
    path: str
    title: Optional[str]
    category: str
    task: Optional[str]
    mime: str
    bytes: int
    lines: int
    tokens: int  # of the content, estimated
    sha256: str
    new: bool  # False: the same content was there already

    def __str__(self) -> str:
        return self.pointer

    @property
    def ref(self) -> str:
        return self.id


@dataclass(frozen=True)
class Slice:
    """A part of a content. str() is its text."""

    text: str
    path: str
    encoding: str  # "lossy": bytes that are not UTF-8 are shown as U+FFFD
    line_start: Optional[int]
    line_end: Optional[int]
    byte_offset: Optional[int]
    byte_len: int
    lines: Optional[int]  # of the whole content, as is the next one
    bytes: int
    next: Optional[Dict[str, Any]]  # arguments that continue it; None: that was the end

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Hit:
    """A passage that a search found."""

    at: str  # PATH:FROM-TO, which fetch() takes
    path: str
    line_start: Optional[int]
    line_end: Optional[int]
    snippet: str


@dataclass(frozen=True)
class Grep:
    """What a grep found."""

    lines: List[str]  # PATH:LINE:TEXT; PATH-LINE-TEXT is context, and -- parts groups
    matches: int
    files_searched: int
    complete: bool  # False: there may be more, beyond the limit, the size or the time


@dataclass(frozen=True)
class File:
    """A file of a list."""

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
    memory_id: Optional[str]  # None: a folder
    path: str
    was: str
    category: Optional[str]
    tags: List[str]
    moved: bool  # False: it was there already


@dataclass(frozen=True)
class Usage:
    """Sums for a tier and a category."""

    tier: str
    category: Optional[str]
    files: int
    bytes: int
    stored_bytes: int
    tokens: int


@dataclass(frozen=True)
class Stats:
    """Tokens that were kept out of prompts, and the status of the tree."""

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
    """What became of the files of a task that ended."""

    task: str
    state: str
    promoted: int
    removed: int
    removed_bytes: int
    kept: int
