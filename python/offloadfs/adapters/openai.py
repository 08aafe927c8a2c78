# SPDX-License-Identifier: MIT
"""
For clients of the package `openai`.

    context = Context([{"role": "user", "content": "Why does it fail?"}], chat="fix-123")
    answer = complete(client, context, model="gpt-4o", tools=TOOLS)
    for call in answer.choices[0].message.tool_calls or []:
        context.append({"role": "tool", "tool_call_id": call.id, "content": run(call)})

With streaming, call context.prepare() before and context.append() after the stream yourself.
"""
from __future__ import annotations

import asyncio
from typing import Any

from ..context import Context


def complete(client: Any, context: Context, **request: Any) -> Any:
    """Calls chat.completions.create with the managed messages, and appends the answer's message."""
    answer = client.chat.completions.create(messages=context.prepare(), **request)
    context.append(answer.choices[0].message)
    return answer


async def acomplete(client: Any, context: Context, **request: Any) -> Any:
    """complete() for an asynchronous client."""
    messages = await asyncio.to_thread(context.prepare)
    answer = await client.chat.completions.create(messages=messages, **request)
    context.append(answer.choices[0].message)
    return answer


def respond(client: Any, context: Context, **request: Any) -> Any:
    """Calls responses.create with the managed items, and appends the items of the answer."""
    answer = client.responses.create(input=context.prepare(), **request)
    context.extend(answer.output)
    return answer


async def arespond(client: Any, context: Context, **request: Any) -> Any:
    """respond() for an asynchronous client."""
    items = await asyncio.to_thread(context.prepare)
    answer = await client.responses.create(input=items, **request)
    context.extend(answer.output)
    return answer
