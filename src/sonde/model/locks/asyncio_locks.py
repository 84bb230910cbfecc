"""What a suspended task waits for, shown by the coroutines that it is suspended in.

asyncio's locks, queues and events are Python code: which one it is shows in the functions between
the program's coroutine and the future that it awaits (CPython 3.11 to 3.15, and anyio on asyncio).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

OWNED = frozenset({"lock", "semaphore"})
"""Kinds that other tasks hold meanwhile, and release."""

_CLASSES = {
    "Lock": "lock",
    "Semaphore": "semaphore",
    "BoundedSemaphore": "semaphore",
    "Event": "event",
    "Condition": "condition",
    "Barrier": "barrier",
}
_ANYIO = {**_CLASSES, "CapacityLimiter": "semaphore"}
_MODULES = {
    "asyncio/locks.py": _CLASSES,
    "anyio/_core/_synchronization.py": _ANYIO,
    "anyio/_backends/_asyncio.py": _ANYIO,
}
_PASSED = frozenset(
    {"asyncio/tasks.py", "asyncio/timeouts.py", "asyncio/taskgroups.py", "asyncio/threads.py",
     "asyncio/futures.py", "asyncio/runners.py", "asyncio/base_events.py"}
)  # fmt: skip
"""Modules whose coroutines lead to whatever is awaited."""


class Place(NamedTuple):
    """What is waited for, and where the program waits for it."""

    kind: str
    context: int
    """The innermost coroutine outside of the machinery."""
    reacquires: bool
    """It waited for a condition, was notified, and acquires the lock again."""


class AwaitedKinds:
    """Finds places by contexts, each context once."""

    def __init__(
        self,
        parent: NDArray[np.int32] | Sequence[int],
        function: NDArray[np.int32] | Sequence[int],
        names: Sequence[str],
        files: Sequence[str],
    ) -> None:
        self._parent = parent
        self._function = function
        self._names = names
        self._files = files
        self._roles: dict[int, str | None] = {}
        self._places: dict[int, Place] = {}

    def place(self, context: int) -> Place:
        found = self._places.get(context)
        if found is None:
            found = self._places[context] = self._place(context)
        return found

    def outside(self, context: int) -> int:
        """The innermost frame of a stack that is none of the machinery; itself if all are."""
        node = context
        while node >= 0:
            if self._role(int(self._function[node])) is None:
                return node
            node = int(self._parent[node])
        return context

    def _place(self, context: int) -> Place:
        kind, innermost, node = "", "", context
        while node >= 0:
            role = self._role(int(self._function[node]))
            if role is None:
                break
            innermost = innermost or role
            kind = role or kind
            node = int(self._parent[node])
        again = innermost == "lock" and kind == "condition"
        site = node if node >= 0 else context
        return Place("lock" if again else kind or "future", site, again)

    def _role(self, function: int) -> str | None:
        if function not in self._roles:
            self._roles[function] = role(self._names[function], self._files[function])
        return self._roles[function]


def role(name: str, file: str) -> str | None:
    """The kind that a coroutine function stands for, "" if it leads to another one; None: it is
    none of the machinery."""
    module = "/".join(file.rsplit("/", 3)[-3:])
    for known, classes in _MODULES.items():
        if module.endswith(known):
            return classes.get(name.partition(".")[0], "")
    if module.endswith("asyncio/queues.py"):
        return "queue"
    if module.endswith("anyio/streams/memory.py"):
        return "queue"
    return "" if module.partition("/")[2] in _PASSED or module in _PASSED else None
