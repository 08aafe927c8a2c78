# SPDX-License-Identifier: MIT
from __future__ import annotations

import asyncio
import base64
import codecs
import datetime
import functools
import inspect
import logging
import math
import os
import re
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple
from typing import TypeVar, Union, cast, overload

from .answers import Agent, Ending, File, Grep, Hit, Memory, Promotion, Slice, Stats, Task
from .answers import Usage, make
from .errors import OffloadError
from .transport import Answer, Server, Transport, find

log = logging.getLogger("offloadfs")

F = TypeVar("F", bound=Callable[..., Any])
# Bytes that a tool may return unchanged (the limit of `offload run`), and that it may read back.
SHORT, READ_BACK = 4096, 65536
_READS_BACK = re.compile(
    r"\.offload/|\brefs/[0-9a-z]{1,8}(?![0-9a-z/])|offload://|\boffload\s+(slice|show|search)\b"
)
_NOT_IN_TITLES = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


class Store:
    """
    A tree of offloaded content. It keeps nothing open and may be shared by threads.

    `path` is a workspace, a mounted tree or a store. By default the tree is found as `offload`
    finds it: by OFFLOAD_DIR or OFFLOAD_STORE, otherwise from the current directory. `server` is the
    socket or URL of `offload serve` (default: OFFLOAD_SERVER, unless `path` is given), and `token`
    its token (OFFLOAD_TOKEN). Without a server, calls go to the tree's server if that runs at its
    default socket, and otherwise each call runs the tool. `task` (OFFLOAD_TASK) owns what is
    stored, and `agent` (OFFLOAD_AGENT) chooses an agent's tree.

    Calls raise OffloadError; after `timeout` seconds its subclass TimedOut.
    """

    def __init__(
        self,
        path: Union[str, "os.PathLike[str]", None] = None,
        *,
        task: Optional[str] = None,
        agent: Optional[str] = None,
        server: Optional[str] = None,
        token: Optional[str] = None,
        timeout: float = 60,
    ) -> None:
        self.task = os.environ.get("OFFLOAD_TASK") if task is None else task
        self.agent = os.environ.get("OFFLOAD_AGENT") if agent is None else agent
        self.timeout = timeout
        if server is None and path is None:
            server = os.environ.get("OFFLOAD_SERVER")
        if server:
            token = os.environ.get("OFFLOAD_TOKEN") if token is None else token
            self._transport: Transport = Server(server, token, self.agent)
        else:
            self._transport = find(None if path is None else os.fspath(path), self.agent)

    def call(self, name: str, /, **arguments: Any) -> Answer:
        """Makes any call of `offload call` by its name; arguments that are None are omitted."""
        given = {key: value for key, value in arguments.items() if value is not None}
        return self._transport.call(name, given, self.timeout)

    # --- storing

    def offload(
        self,
        content: Union[str, bytes],
        *,
        title: Optional[str] = None,
        category: Optional[str] = None,
        task: Optional[str] = None,
        name: Optional[str] = None,
        ttl: Union[int, datetime.timedelta, None] = None,
    ) -> Memory:
        """
        Stores content and returns its Memory. `ttl` is its lifetime while unused, in seconds; 0
        means for good. If this raises, the caller still has the content.
        """
        encoding = None
        if not isinstance(content, str):
            data = bytes(content)
            try:
                content = data.decode()
            except UnicodeDecodeError:
                content, encoding = base64.b64encode(data).decode(), "base64"
        if isinstance(ttl, datetime.timedelta):
            ttl = math.ceil(ttl.total_seconds())  # 0 would mean for good
        answer = self.call(
            "memory_offload",
            content=content,
            encoding=encoding,
            title=title,
            category=category,
            task=(self.task if task is None else task) or None,
            name=name,
            ttl_seconds=ttl,
        )
        return make(Memory, {**answer["memory_refs"][0], "pointer": answer["pointer"]})

    def shorten(
        self, text: str, *, max_bytes: int = SHORT, arguments: Any = (), **options: Any
    ) -> str:
        """
        Returns the text itself, or a pointer if the text is longer than `max_bytes` and the pointer
        at most half as long. If `arguments` show that a tool read stored content back, the text
        stays as it is up to 64 KiB. If storing fails, logs that and returns the text.
        """
        size = len(text.encode(errors="replace"))
        if size <= READ_BACK and _READS_BACK.search(repr(arguments)):
            return text
        if size <= max_bytes:
            return text
        try:
            memory = self.offload(text, **options)
        except OffloadError as e:
            log.warning("offloadfs: a result stays in full: %s", e)
            return text
        return memory.pointer if 2 * len(memory.pointer.encode()) <= size else text

    @overload
    def tool(self, function: F) -> F: ...

    @overload
    def tool(self, *, max_bytes: int = ..., **options: Any) -> Callable[[F], F]: ...

    def tool(self, function: Optional[F] = None, *, max_bytes: int = SHORT, **options: Any) -> Any:
        """
        Decorates a tool's function so that long texts it returns are shortened. The title is the
        function's name with its arguments, unless `options` (those of offload()) give another.
        """
        if function is None:
            return functools.partial(self.tool, max_bytes=max_bytes, **options)
        called: Callable[..., Any] = function
        name = getattr(called, "__name__", "tool")

        def short(result: Any, *args: Any, **kwargs: Any) -> Any:
            if not isinstance(result, str):
                return result
            given = [*args, *kwargs.values()]
            title = " ".join([name, *(str(a) for a in given if isinstance(a, (str, int, float)))])
            more = {"title": _NOT_IN_TITLES.sub(" ", title)[:100], **options}
            return self.shorten(result, max_bytes=max_bytes, arguments=given, **more)

        @functools.wraps(called)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return short(called(*args, **kwargs), *args, **kwargs)

        @functools.wraps(called)
        async def awrapper(*args: Any, **kwargs: Any) -> Any:
            result = await called(*args, **kwargs)
            return await asyncio.to_thread(short, result, *args, **kwargs)

        return awrapper if inspect.iscoroutinefunction(called) else wrapper

    # --- reading

    def fetch(
        self,
        id: str,
        lines: Union[int, Tuple[int, Optional[int]], None] = None,
        *,
        bytes: Optional[Tuple[int, int]] = None,
    ) -> Slice:
        """
        Returns lines of some content: one, or (from, to), counted from 1 and inclusive (to=None: to
        the end); or `bytes` as (offset, length). At most 2,000 lines and 65,536 bytes; `next` of
        the result says how to continue.
        """
        first, last = (lines, lines) if isinstance(lines, int) else lines or (None, None)
        offset, length = bytes or (None, None)
        return make(
            Slice,
            self.call(
                "memory_fetch",
                memory_id=id,
                line_start=first,
                line_end=last,
                byte_offset=offset,
                byte_len=length,
            ),
        )

    def slices(self, id: str) -> Iterator[Slice]:
        """Yields a whole text in slices, which consist of whole lines unless those are too long."""
        args: Optional[Dict[str, Any]] = {"memory_id": id}
        while args:
            part = make(Slice, self.call("memory_fetch", **args))
            yield part
            args = part.next

    def chunks(self, id: str) -> Iterator[bytes]:
        """Yields the exact content in pieces of at most 65,536 bytes."""
        return self._transport.chunks(id, self.timeout)

    def text(self, id: str) -> Iterator[str]:
        """Like chunks(), but yields text; bytes that are not UTF-8 become U+FFFD."""
        return codecs.iterdecode(self.chunks(id), "utf-8", "replace")

    def read(self, id: str) -> bytes:
        """Returns the whole content, in memory."""
        return b"".join(self.chunks(id))

    # --- finding

    def search(self, query: str, **filters: Any) -> List[Hit]:
        """
        Returns passages by rank. Filters: path, tier, category, task, tag, after, before, limit.
        """
        return [make(Hit, hit) for hit in self.call("memory_search", query=query, **filters)["hits"]]

    def grep(
        self,
        pattern: str,
        *,
        path: Optional[str] = None,
        glob: Optional[str] = None,
        context: Optional[int] = None,
        ignore_case: Optional[bool] = None,
        limit: Optional[int] = None,
    ) -> Grep:
        """
        Finds lines matching a regular expression, in a ref, file or folder (None: everywhere).
        """
        return make(
            Grep,
            self.call(
                "memory_grep",
                pattern=pattern,
                path=path,
                glob=glob,
                context=context,
                ignore_case=ignore_case,
                limit=limit,
            ),
        )

    def list(self, *, limit: Optional[int] = None, **filters: Any) -> Iterator[File]:
        """
        Yields files, most recently used first, all of them or `limit`. Filters: path, tier,
        category, task, tag, sort, reverse.
        """
        cursor, left = None, limit
        while left is None or left > 0:
            page = 1000 if left is None else min(left, 1000)
            answer = self.call("memory_list", limit=page, cursor=cursor, **filters)
            for file in answer["files"]:
                yield make(File, file)
            cursor = answer.get("next_cursor")
            if cursor is None:
                return
            left = None if left is None else left - len(answer["files"])

    def info(self, id: str) -> Answer:
        """Returns everything known about a file."""
        return self.call("memory_info", memory_id=id)

    # --- keeping

    def promote(
        self,
        id: str,
        tier: str = "long-term",
        *,
        category: Optional[str] = None,
        tags: Iterable[str] = (),
    ) -> Promotion:
        """Moves a file or folder to where it does not expire. Its ref stays valid."""
        answer = self.call(
            "memory_promote", memory_id=id, tier=tier, category=category, tags=[*tags] or None
        )
        return make(Promotion, answer)

    def pin(self, id: str, important: bool = True) -> None:
        """Keeps a file from expiring where it is, or (False) lets it expire again."""
        self.call("memory_pin", memory_id=id, important=important)

    # --- the whole

    def stats(self, since: Optional[str] = None, by: Sequence[str] = ()) -> Stats:
        """Returns what was kept out of prompts, since a date or age, by day, way, agent or task."""
        return make(Stats, self.call("memory_stats", since=since, by=[*by] or None))

    def usage(self) -> List[Usage]:
        return [make(Usage, group) for group in self.call("memory_usage")["groups"]]

    def tasks(self) -> List[Task]:
        return [make(Task, task) for task in self.call("tasks")["tasks"]]

    def agents(self) -> List[Agent]:
        return [make(Agent, agent) for agent in self.call("agents")["agents"]]

    def done(
        self, task: Optional[str] = None, *, keep: Iterable[str] = (), drop_all: bool = False
    ) -> Ending:
        """
        Ends a task (None: the store's). Its files in the working tier are removed, except for
        reports and pinned files (`drop_all` removes these, too). Files matching a pattern in `keep`
        are promoted.
        """
        task = task or self.task
        if not task:
            raise ValueError("no task given: name one here or when the Store is made")
        return make(Ending, self._transport.done(task, [*keep], drop_all, self.timeout))

    @property
    def root(self) -> Optional[str]:
        """The tree's directory, or None if it is not mounted."""
        point = self.stats().status.get("mountpoint")
        if not point or not self.agent:
            return cast(Optional[str], point)
        return "/agents/".join([point, *self.agent.split("/")])

    # --- steps

    def reduce(self, tool: str, result: Any, args: Any = None, *, task: Optional[str] = None) -> Answer:
        """Turns a tool call and its result into a step. A long result is stored."""
        task = (self.task if task is None else task) or None
        return self.call("reduce", tool=tool, args=args, result=result, task=task)

    def compact(self, steps: Sequence[Any], **options: Any) -> str:
        """Turns steps into the history section of a prompt."""
        return cast(str, self.call("compact", steps=[*steps], **options)["text"])
