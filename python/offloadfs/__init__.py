# SPDX-License-Identifier: MIT
"""
Memory that an agent keeps outside its prompt, on offloadfs.

    store = offloadfs.Store(task="fix-123")
    memory = store.offload(long_text, title="test log", category="shell")
    prompt += memory.pointer
    store.fetch(memory.id, (120, 180)).text
"""
from .answers import (
    Agent,
    Ending,
    File,
    Grep,
    Hit,
    Memory,
    Promotion,
    Slice,
    Stats,
    Task,
    Usage,
)
from .context import Context
from .errors import (
    Exists,
    Expired,
    Invalid,
    NoRoom,
    NotAllowed,
    NotFound,
    NotServed,
    OffloadError,
    OutOfRange,
    TimedOut,
    Unreachable,
)
from .store import Store
from .tools import reading_tools

__version__ = "0.2.0"

__all__ = [
    "Agent",
    "Context",
    "Ending",
    "Exists",
    "Expired",
    "File",
    "Grep",
    "Hit",
    "Invalid",
    "Memory",
    "NoRoom",
    "NotAllowed",
    "NotFound",
    "NotServed",
    "OffloadError",
    "OutOfRange",
    "Promotion",
    "Slice",
    "Stats",
    "Store",
    "Task",
    "TimedOut",
    "Unreachable",
    "Usage",
    "reading_tools",
]
