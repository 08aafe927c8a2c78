# SPDX-License-Identifier: MIT
"""
For agents of the package `langchain` (1.0 or later).

    agent = create_agent(model, tools=TOOLS, middleware=[OffloadMiddleware(Store(task="fix-123"))])
"""
from __future__ import annotations

import asyncio
from typing import Any, Container, Dict

from langchain.agents.middleware import AgentMiddleware
from langchain.tools import tool

from ..store import SHORT, Store
from ..tools import reading_tools


class OffloadMiddleware(AgentMiddleware):
    """
    Replaces long tool results by pointers, and gives the agent tools to read them back. Results of
    the tools named in `skip`, such as tools that read offloaded content, stay as they are.
    """

    def __init__(
        self, store: Store, *, max_bytes: int = SHORT, skip: Container[str] = (), **options: Any
    ) -> None:
        super().__init__()
        self.store, self.skip = store, skip
        self.options: Dict[str, Any] = {"max_bytes": max_bytes, **options}
        self.tools = [tool(function) for function in reading_tools(store)]

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        return self._shorten(request.tool_call, handler(request))

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        result = await handler(request)
        return await asyncio.to_thread(self._shorten, request.tool_call, result)

    def _shorten(self, call: Any, result: Any) -> Any:
        name, content = call["name"], getattr(result, "content", None)  # a Command has none
        if not content or name in self.skip or name in [t.name for t in self.tools]:
            return result

        options: Dict[str, Any] = {"title": name, "arguments": call["args"], **self.options}

        def short(part: Any) -> Any:
            if isinstance(part, str):
                return self.store.shorten(part, **options)
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                return {**part, "text": short(part["text"])}
            return part

        content = short(content) if isinstance(content, str) else [short(part) for part in content]
        return result.model_copy(update={"content": content})
