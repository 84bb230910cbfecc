"""What a Java thread waits for, shown by the call stack of the wait.

Between the program and the place where its thread sleeps lies the machinery of java.util.concurrent
and java.lang (JDK 17 to 25): its outermost class has the name people know.
"""

from __future__ import annotations

from typing import NamedTuple


class JavaRole(NamedTuple):
    """What a method of the machinery stands for."""

    kind: str
    """Empty: it leads to something else, and has no meaning of its own."""
    waits: bool = False
    """Who calls it waits for another thread to do something, not for what one has."""


THROUGH = JavaRole("")

_CONCURRENT = "java.util.concurrent."
_LOCKS = _CONCURRENT + "locks."
CONDITION = tuple(
    f"{_LOCKS}AbstractQueued{long}Synchronizer$ConditionObject." for long in ("", "Long")
)
QUEUED = tuple(f"{_LOCKS}AbstractQueued{long}Synchronizer." for long in ("", "Long"))

_ROLES: tuple[tuple[str, JavaRole], ...] = (
    # The first that a name begins with counts.
    ("jdk.internal.misc.Unsafe.park", THROUGH),
    ("jdk.internal.misc.Unsafe.unpark", THROUGH),
    ("java.lang.VirtualThread.", THROUGH),
    ("java.lang.System$", THROUGH),
    ("jdk.internal.misc.VirtualThreads.", THROUGH),
    (_LOCKS + "LockSupport.", THROUGH),
    *((name, JavaRole("condition", waits=True)) for name in CONDITION),
    (_LOCKS + "AbstractQueued", THROUGH),
    (_LOCKS + "ReentrantLock", JavaRole("rlock")),
    (_LOCKS + "ReentrantReadWriteLock", JavaRole("rwlock")),
    (_LOCKS + "StampedLock", JavaRole("rwlock")),
    (_CONCURRENT + "Semaphore", JavaRole("semaphore", waits=True)),
    (_CONCURRENT + "CountDownLatch", JavaRole("event", waits=True)),
    (_CONCURRENT + "CyclicBarrier", JavaRole("barrier", waits=True)),
    (_CONCURRENT + "Phaser", JavaRole("barrier", waits=True)),
    (_CONCURRENT + "Exchanger", JavaRole("barrier", waits=True)),
    (_CONCURRENT + "ForkJoinPool.managedBlock", THROUGH),
    (_CONCURRENT + "ForkJoinPool.unmanagedBlock", THROUGH),
    (_CONCURRENT + "ForkJoinPool.compensatedBlock", THROUGH),
    (_CONCURRENT + "ForkJoinPool", JavaRole("queue", waits=True)),
    (_CONCURRENT + "ForkJoinWorkerThread", JavaRole("queue", waits=True)),
    (_CONCURRENT + "ForkJoinTask", JavaRole("future", waits=True)),
    (_CONCURRENT + "FutureTask", JavaRole("future", waits=True)),
    (_CONCURRENT + "CompletableFuture", JavaRole("future", waits=True)),
    (_CONCURRENT + "SynchronousQueue", JavaRole("queue", waits=True)),
    (_CONCURRENT + "LinkedTransferQueue", JavaRole("queue", waits=True)),
    ("java.lang.Object.wait", JavaRole("condition", waits=True)),
    ("java.lang.Object.notify", THROUGH),
    ("java.lang.Thread.join", JavaRole("join", waits=True)),
)
# Those that wait for an item do so on a condition of their own.
_QUEUE = JavaRole("queue")
_POOL = _CONCURRENT + "ThreadPoolExecutor.getTask"

_LIBRARY = ("java/", "javax/", "jdk/", "sun/", "com/sun/")


def role(name: str) -> JavaRole | None:
    """What a method stands for, None for one of the program itself."""
    for prefix, found in _ROLES:
        if name.startswith(prefix):
            return found
    if name.startswith(_CONCURRENT):
        class_ = name[len(_CONCURRENT) :].partition(".")[0]
        if "Queue" in class_ or "Deque" in class_ or name == _POOL:
            return _QUEUE
    return None


def is_taken_back(inner: str, outer: str) -> bool:
    """After the signal came, a condition takes its lock back: a wait for that lock."""
    return outer.startswith(CONDITION) and inner.startswith(QUEUED)


def is_library(file: str) -> bool:
    """Whether a file is of the platform; a class file states its package, but no folder."""
    return file.endswith(".java") and file.startswith(_LIBRARY)


def is_lock_of_condition(made_of: str, type_: str) -> bool:
    """Whether a lock is one that a condition may belong to, and not the condition itself: who was
    notified waits for it where it slept."""
    if made_of != "park":
        return made_of == "monitor"
    return bool(type_) and not f"{type_}.".startswith(CONDITION)


def kind_of_class(type_: str) -> str:
    """What a class of locks is known as."""
    found = role(f"{type_}.") if type_ else None
    return found.kind if found is not None and found.kind else "lock"
