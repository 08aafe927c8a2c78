# SPDX-License-Identifier: MIT
from __future__ import annotations

import logging
from typing import Any, Dict, Iterable, List, Optional

from .errors import OffloadError
from .store import Store

log = logging.getLogger("offloadfs")


def plain(value: Any) -> Any:
    """The same as JSON has it: objects of SDKs (Pydantic's) become dictionaries."""
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(member) for member in value]
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return value


class Context:
    """
    The messages of a chat, kept short enough for a model so that nothing of them is lost: long
    results of tools become pointers, older messages a summary. They are in the form of OpenAI
    (chat completions or responses) or Anthropic, whose system prompt is `system`.

    Go on with `messages` as manage() leaves them, and append to them: what was decided once stays
    as it is, so that each prompt begins as the one before it and a provider's cache holds.

    `chat` names the chat, and the task that what is taken out of it belongs to; else it is the task
    of the store. `keep` messages at the end are never summed up (None: six). `options` are those of
    the call `context`, such as max_total_tokens.
    """

    def __init__(
        self,
        messages: Iterable[Any] = (),
        *,
        store: Optional[Store] = None,
        system: Any = None,
        chat: Optional[str] = None,
        mode: str = "auto",
        keep: Optional[int] = None,
        **options: Any,
    ) -> None:
        self.store = Store() if store is None else store
        self.messages: List[Any] = plain([*messages])
        self.system = plain(system)
        self.chat = chat or self.store.task or None
        self.options: Dict[str, Any] = {"mode": mode, "keep_recent_count": keep, **options}
        self.metadata: Dict[str, Any] = {}  # tokens_before, tokens_after, ... of the last manage()

    def append(self, message: Any) -> None:
        """Adds a message, as a dictionary or as an SDK's object."""
        self.messages.append(plain(message))

    def extend(self, messages: Iterable[Any]) -> None:
        self.messages += plain([*messages])

    def manage(self) -> List[Any]:
        """The messages as the model is to get them. When this raises they are as they were."""
        self.metadata = {}
        self.metadata = self._ask(chat_id=self.chat, **self.options).get("metadata") or {}
        return self.messages

    def prepare(self) -> List[Any]:
        """The same, but a failure is logged: a chat goes on without the store."""
        try:
            self.manage()
        except OffloadError as e:
            log.warning("offloadfs: the messages stay as they are: %s", e)
        return self.messages

    def restore(self) -> List[Any]:
        """Puts back all that was taken out of the messages."""
        self._ask(mode="restore")
        return self.messages

    def _ask(self, **options: Any) -> Dict[str, Any]:
        answer = self.store.call("context", messages=self.messages, system=self.system, **options)
        self.messages = answer["messages"]
        self.system = answer.get("system", self.system)
        return answer
