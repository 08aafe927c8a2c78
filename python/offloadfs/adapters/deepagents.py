# SPDX-License-Identifier: MIT
"""
For agents of the package `deepagents`.

    agent = create_deep_agent(model, backend=backend(Store(task="fix-123")))
"""
from __future__ import annotations

import os
from typing import Any, Optional

from deepagents.backends import CompositeBackend, FilesystemBackend

from ..errors import Unreachable
from ..store import Store


def backend(store: Store, task: Optional[str] = None) -> Any:
    """
    Returns a backend that keeps the agent's files in the task's folder, including the long results
    and histories that deepagents takes out of the prompt. They are deduplicated, compressed and
    searched, and expire some time after the task. Files written to /memories/ are kept.
    /refs/REF:120-180 reads from any pointer of the tree. Raises ValueError if there is no task, and
    Unreachable if the tree is not mounted.
    """
    task = task or store.task
    if not task:
        raise ValueError("no task given: name one here or when the Store is made")
    root = store.root or ""
    if not root:
        raise Unreachable("the tree is not mounted; 'offload up' mounts it")

    def folder(*names: str) -> Any:
        return FilesystemBackend(root_dir=os.path.join(root, *names), virtual_mode=True)

    for path in (("tasks", task), ("persistent", "memories")):
        os.makedirs(os.path.join(root, *path), exist_ok=True)
    routes = {"/memories/": folder("persistent", "memories"), "/refs/": folder("refs")}
    return CompositeBackend(default=folder("tasks", task), routes=routes)
