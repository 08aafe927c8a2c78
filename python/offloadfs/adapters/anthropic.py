# SPDX-License-Identifier: MIT
"""
For clients of the package `anthropic`.

    context = Context([{"role": "user", "content": "Why does it fail?"}], system=SYSTEM, chat="fix-123")
    answer = create(client, context, model="claude-sonnet-4-5", max_tokens=8000, tools=TOOLS)
    results = [result_of(block) for block in answer.content if block.type == "tool_use"]
    context.append({"role": "user", "content": results})

The summary of older messages is at the end of `context.system`. Blocks keep their ids and order.
"""
from __future__ import annotations

import asyncio
from typing import Any, Dict

from ..context import Context


def _prepared(context: Context) -> Dict[str, Any]:
    messages = context.prepare()
    system = {} if context.system is None else {"system": context.system}
    return {"messages": messages, **system}


def create(client: Any, context: Context, **request: Any) -> Any:
    """Calls messages.create with the managed system prompt and messages, and appends the answer."""
    answer = client.messages.create(**_prepared(context), **request)
    context.append({"role": "assistant", "content": answer.content})
    return answer


async def acreate(client: Any, context: Context, **request: Any) -> Any:
    """create() for an asynchronous client."""
    prepared = await asyncio.to_thread(_prepared, context)
    answer = await client.messages.create(**prepared, **request)
    context.append({"role": "assistant", "content": answer.content})
    return answer
