"""What people call the thing waited for, shown by the call stack of the wait.

To the interpreter nearly everything is one lock. That it was the lock of a queue, or the one on
which a Condition lets its waiters sleep, shows in the frames between the program and the lock: the
machinery of the standard library (CPython 3.11 to 3.15; of Java see java_locks).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sonde.model.locks import java_locks
from sonde.row_values import BUILT_IN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    # The recorder, which has no NumPy, asks with plain sequences.
    import numpy as np
    from numpy.typing import NDArray

KINDS = (
    "gil", "lock", "rlock", "semaphore", "condition", "event", "barrier", "queue", "join", "future",
    "import", "io", "process", "object", "monitor", "rwlock", "park",
)  # fmt: skip
"""`process` is a lock between processes, `object` one inside an object of a C module; `monitor` is
Java's `synchronized`, `park` what a Java thread waits for in no way that is known here."""

SIGNALS = frozenset({"condition", "event", "barrier", "queue", "join", "future", "park"})
"""Kinds that are for waiting until another thread has done something."""

FROZEN_IMPORT = "<frozen importlib._bootstrap"

_BUILT_IN = (
    ("_thread.lock.", "lock"),
    ("_thread.RLock.", "rlock"),
    ("_queue.SimpleQueue.", "queue"),
    ("_thread._ThreadHandle.join", "join"),
    ("_thread._shutdown", "join"),
    ("_multiprocessing.SemLock.", "process"),
    ("_io.", "io"),
    ("_imp.", "import"),
)

_THREADING = {
    "Condition": "condition",
    "Event": "event",
    "Semaphore": "semaphore",
    "BoundedSemaphore": "semaphore",
    "Barrier": "barrier",
    "_RLock": "rlock",
}
WRAPPERS = frozenset({"acquire", "release", "__enter__", "__exit__"})
"""Methods of a program's own that do nothing but take or release a lock: their caller counts."""
REACQUIRE = "._acquire_restore"
"""How the methods end by which a Condition acquires its lock again."""
_JOINING = ("Thread.join", "Thread._wait_for_tstate_lock", "_shutdown")
_FUTURES = ("wait", "as_completed", "_result_or_cancel", "Executor.map.<locals>.result_iterator")


class Role(NamedTuple):
    """What a function of the machinery stands for."""

    kind: str
    waits: bool = False
    """It is where a thread sleeps until it gets a signal."""
    through: bool = False
    """It leads to the lock of something else, and has no meaning of its own."""


class Site(NamedTuple):
    """What the chain of a wait or a release says."""

    kind: str
    """Empty where the chain ends in the program itself: a lock of some kind."""
    context: int
    """The innermost frame outside the machinery."""
    own: int
    """The innermost frame that is of no library either; `context` if there is none."""
    signalling: bool
    """A wait for another thread's signal, not for a lock that another thread has."""
    whole: bool
    """All of the wait is attributed to who released the waiter."""
    awaits: bool = False
    """It sleeps until a condition is notified."""
    reacquires: bool = False
    """It slept so, and acquires the condition's lock again."""


class LockKinds:
    """Finds sites by contexts, each context once."""

    def __init__(
        self,
        parent: NDArray[np.int32] | Sequence[int],
        function: NDArray[np.int32] | Sequence[int],
        names: Sequence[str],
        files: Sequence[str],
        runtimes: Sequence[str] | None = None,
    ) -> None:
        self._runtimes = runtimes
        self._parent = parent
        self._function = function
        self._names = names
        self._files = files
        self._roles: dict[int, Role | None] = {}
        self._sites: dict[int, Site] = {}

    def site(self, context: int) -> Site:
        found = self._sites.get(context)
        if found is None:
            found = self._sites[context] = self._site(context)
        return found

    def whole(self, contexts: Iterable[int]) -> list[bool]:
        """By row of the table of contexts, and last for none; only the given ones are looked at."""
        return self._flags(contexts, lambda site: site.whole)

    def awaits(self, contexts: Iterable[int]) -> list[bool]:
        """The same: where a thread sleeps until a condition is notified."""
        return self._flags(contexts, lambda site: site.awaits)

    def reacquires(self, contexts: Iterable[int]) -> list[bool]:
        """The same: where it acquires the condition's lock again."""
        return self._flags(contexts, lambda site: site.reacquires)

    def _flags(self, contexts: Iterable[int], asked: Callable[[Site], bool]) -> list[bool]:
        flags = [False] * (len(self._parent) + 1)
        for context in contexts:
            flags[context] = asked(self.site(context))
        return flags

    def role(self, function: int) -> Role | None:
        if function not in self._roles:
            self._roles[function] = role(self._names[function], self._files[function])
        return self._roles[function]

    def _is_wrapper(self, function: int) -> bool:
        owner, _, method = self._names[function].rpartition(".")
        return bool(owner) and method in WRAPPERS

    def _site(self, context: int) -> Site:
        if context < 0:
            return Site("", -1, -1, False, False)
        if self._is_java(int(self._function[context])):
            return self._java_site(context)
        kind, sleeps, taken_back = "", False, False
        node = context
        # First the C function that waits, where it shows ...
        function = int(self._function[node])
        if self._files[function] == BUILT_IN:
            found = self.role(function)
            kind, sleeps = (found.kind, found.waits) if found else ("object", False)
            taken_back = self._names[function].endswith(REACQUIRE)
            node = int(self._parent[node])
        # ... then the machinery above it, whose outermost function has the name people know.
        innermost, site, awaits = True, context, False
        while node >= 0:
            function = int(self._function[node])
            if self._files[function] != BUILT_IN:
                site = node
                found = self.role(function)
                if found is None:
                    if innermost and not sleeps and self._is_wrapper(function):
                        node = int(self._parent[node])
                        continue
                    break
                # A lock that is taken back after the sleep is waited for as any other is.
                if innermost:
                    taken_back |= found.through and self._names[function].endswith(REACQUIRE)
                    if found.waits and not taken_back:
                        sleeps, awaits = True, found.through
                if not found.through or (found.waits and sleeps):
                    kind = found.kind
                innermost = False
            node = int(self._parent[node])
        # Who gives a semaphore back held it: an owner, though the waiter sleeps for a signal.
        signalling = sleeps and kind != "semaphore"
        return Site(kind, site, self._own(site), signalling, sleeps, awaits, taken_back)

    def _is_java(self, function: int) -> bool:
        return self._runtimes is not None and self._runtimes[function] == "hotspot"

    def _java_site(self, context: int) -> Site:
        kind, sleeps, inner = "", False, ""
        awaits = taken_back = False
        node = site = context
        while node >= 0:
            name = self._names[int(self._function[node])]
            found = java_locks.role(name)
            site = node
            if found is None:
                break
            if found.kind:
                # What is innermost says whether it sleeps; whose lock it is the outermost.
                if not kind:
                    taken_back = java_locks.is_taken_back(inner, name)
                    sleeps = found.waits and not taken_back
                    awaits = sleeps and found.kind == "condition"
                kind = found.kind
            inner = name
            node = int(self._parent[node])
        if not kind and inner:
            kind, sleeps = "park", True
        signalling = sleeps and kind != "semaphore"
        return Site(kind, site, self._own(site), signalling, sleeps, awaits, taken_back)

    def _own(self, context: int) -> int:
        node = context
        while node >= 0:
            if not is_library(self._files[int(self._function[node])]):
                return node
            node = int(self._parent[node])
        return context


def is_library(file: str) -> bool:
    """Whether a file is of the standard library or of an installed package, not of the program."""
    if not file or file.startswith("<") or java_locks.is_library(file):
        return True
    folders = file.split("/")[:-1]
    return any(
        folder in ("site-packages", "dist-packages") or _is_python(folder) for folder in folders
    )


def is_machinery(name: str, file: str) -> bool:
    """Whether a function lies between a program and what it waits for or releases."""
    if file == BUILT_IN:
        return True
    found = java_locks.role(name) if java_locks.is_library(file) else role(name, file)
    return found is not None


def role(name: str, file: str) -> Role | None:
    """What a function stands for, None for one of the program itself."""
    if file == BUILT_IN:
        for prefix, kind in _BUILT_IN:
            if name.startswith(prefix):
                return Role(kind, kind == "join" or name == "_queue.SimpleQueue.get")
        return None
    if file.startswith(FROZEN_IMPORT):
        return Role("import")
    folder, _, base = file.rpartition("/")
    if base == "threading.py" and _is_library(folder):
        if name in _JOINING:
            return Role("join", waits=True)
        kind = _THREADING.get(name.partition(".")[0], "")
        if kind == "condition":
            return Role(kind, name == "Condition.wait", through=True)
        return Role(kind) if kind else None
    if base == "queue.py" and _is_library(folder):
        return Role("queue")
    if base == "_base.py" and folder.endswith("/concurrent/futures"):
        known = name.startswith("Future.") or name in _FUTURES
        return Role("future") if known else None
    if base == "synchronize.py" and folder.endswith("/multiprocessing"):
        return Role("process", name == "Condition.wait")
    return None


def _is_python(folder: str) -> bool:
    """The standard library lives in a folder such as lib/python3.12."""
    return folder.startswith("python3.")


def _is_library(folder: str) -> bool:
    return _is_python(folder.rpartition("/")[2])
