# SPDX-License-Identifier: MIT
from __future__ import annotations

import logging
from typing import Any, Dict, Iterable, List, Optional

from .errors import OffloadError
from .store import Store

log = logging.getLogger("offloadfs")


def plain(value: Any) -> Any:
    """Returns a value's JSON equivalent. Objects of SDKs (Pydantic models) become dictionaries."""
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(member) for member in value]
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return value


class Context:
    """
    The messages of a chat, kept short enough for a model without losing anything: long tool results
    become pointers, and older messages a summary. The messages are in the form of OpenAI (chat
    completions or responses) or of Anthropic, whose system prompt is `system`.

    Continue with `messages` as manage() leaves them, and append to them. Earlier decisions stay as
    they are, so each prompt begins with the previous one and the provider's cache remains valid.

    `chat` names the chat, and also the task that owns what is taken out; by default it is the
    store's task. The last `keep` messages are never summarized (None: six). `options` are those of
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
        self.metadata: Dict[str, Any] = {}  # of the last manage(): tokens_before, ...

    def append(self, message: Any) -> None:
        """Adds a message, given as a dictionary or as an SDK's object."""
        self.messages.append(plain(message))

    def extend(self, messages: Iterable[Any]) -> None:
        self.messages += plain([*messages])

    def manage(self) -> List[Any]:
        """Returns the messages to send to the model. If it raises, they are unchanged."""
        self.metadata = {}
        self.metadata = self._ask(chat_id=self.chat, **self.options).get("metadata") or {}
        return self.messages

    def prepare(self) -> List[Any]:
        """Like manage(), but logs failures: the chat continues without the store."""
        try:
            self.manage()
        except OffloadError as e:
            log.warning("offloadfs: the messages stay as they are: %s", e)
        return self.messages

    def restore(self) -> List[Any]:
        """Puts everything that was taken out back into the messages, and returns them."""
        self._ask(mode="restore")
        return self.messages

    def _ask(self, **options: Any) -> Dict[str, Any]:
        answer = self.store.call("context", messages=self.messages, system=self.system, **options)
        self.messages = answer["messages"]
        self.system = answer.get("system", self.system)
        return answer
