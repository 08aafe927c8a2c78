# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Callable, List, Optional

from .errors import OffloadError
from .store import Store


def reading_tools(store: Store) -> List[Callable[..., str]]:
    """
    Returns functions with which a model without a shell can read pointers back. Frameworks take
    names, arguments and descriptions from them. Errors are returned as text, so that the model can
    correct itself.
    """

    def read_memory(memory_id: str, line_start: int = 1, line_end: Optional[int] = None) -> str:
        """Read lines of an offloaded content by its ref or path, at most 2,000 at once."""
        try:
            part = store.fetch(memory_id, (line_start, line_end))
        except OffloadError as e:
            return f"Error: {e}"
        if part.next is None:
            return part.text
        end = "" if part.text.endswith("\n") else "\n"
        if "byte_offset" in part.next:
            return f"{part.text}{end}[the line is too long to be shown whole: use grep_memory]"
        return f"{part.text}{end}[{part.lines} lines in all; go on at line {part.next['line_start']}]"

    def search_memory(query: str) -> str:
        """Find passages in all that is offloaded; ask as you would ask a person."""
        try:
            hits = store.search(query)
        except OffloadError as e:
            return f"Error: {e}"
        return "\n".join(f"{hit.at}: {hit.snippet}" for hit in hits)

    def grep_memory(pattern: str, memory_id: Optional[str] = None) -> str:
        """Find lines that match a regular expression, in a ref, a file or a folder, or in all."""
        try:
            found = store.grep(pattern, path=memory_id)
        except OffloadError as e:
            return f"Error: {e}"
        return "\n".join([*found.lines, *([] if found.complete else ["[there may be more]"])])

    return [read_memory, search_memory, grep_memory]

