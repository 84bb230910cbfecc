"""What a chain says about the lock at its end, as the five versions of CPython show it."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.model.locks.lock_kinds import LockKinds, Site, is_library, role

LIBRARY = "/usr/lib/python3.12"
FILES = {
    "threading": f"{LIBRARY}/threading.py",
    "queue": f"{LIBRARY}/queue.py",
    "futures": f"{LIBRARY}/concurrent/futures/_base.py",
    "import": "<frozen importlib._bootstrap>",
    "mp": f"{LIBRARY}/multiprocessing/synchronize.py",
    "logging": f"{LIBRARY}/logging/__init__.py",
    "app": "/app/app.py",
    "mine": "/app/threading.py",
    "C": "<built-in>",
}


def site(chain: str) -> tuple[Site, list[str]]:
    """The site of a chain such as "app work > threading Condition.wait > C time.sleep"."""
    frames = [frame.split(" ", 1) for frame in chain.split(" > ")]
    names = [name for _, name in frames]
    files = [FILES[file] for file, _ in frames]
    size = len(frames)
    kinds = LockKinds(
        np.arange(-1, size - 1, dtype=np.int32), np.arange(size, dtype=np.int32), names, files
    )
    return kinds.site(size - 1), names


OWNED = [
    ("app work > C _thread.lock.acquire", "lock", "work"),
    ("app work > C _thread.lock.__enter__", "lock", "work"),
    ("app work > C _thread.RLock.acquire", "rlock", "work"),
    ("app work > threading _RLock.acquire > C _thread.lock.acquire", "rlock", "work"),
    # Up to 3.13 a `with` statement leaves no C frame: a lock of either kind.
    ("app work", "", "work"),
    ("app work > threading Condition.__enter__ > C _thread.RLock.__enter__", "rlock", "work"),
    ("app work > threading Condition.__enter__ > C _thread.lock.__enter__", "lock", "work"),
    # Taking the lock back after the sleep is no sleep.
    ("app work > threading Condition.wait > C _thread.RLock._acquire_restore", "rlock", "work"),
    (
        "app work > threading Condition.wait > threading Condition._acquire_restore"
        " > C _thread.lock.acquire",
        "lock",
        "work",
    ),
    # The lock of a queue, not the wait for an item.
    (
        "app work > queue Queue.get > threading Condition.__enter__ > C _thread.lock.__enter__",
        "queue",
        "work",
    ),
    ("app work > import _find_and_load > import _ModuleLock.acquire > C _thread.lock.acquire",
     "import", "work"),
    ("app work > C _imp.acquire_lock", "import", "work"),
    ("app work > C _io.BufferedReader.read", "io", "work"),
    ("app work > C _io.TextIOWrapper.write", "io", "work"),
    ("app work > mp SemLock.__enter__ > C _multiprocessing.SemLock.__enter__", "process", "work"),
    ("app work > C _multiprocessing.SemLock.acquire", "process", "work"),
    ("app work > C _hashlib.HASH.update", "object", "work"),
    # Somebody else's file of that name.
    ("app work > mine Condition.wait > C _thread.lock.acquire", "lock", "Condition.wait"),
    # A method that only takes the lock: its caller is who waits.
    ("logging Handler.handle > logging Handler.acquire > C _thread.RLock.acquire",
     "rlock", "Handler.handle"),
    ("logging Handler.handle > logging Handler.release > C _thread.RLock.release",
     "rlock", "Handler.handle"),
]  # fmt: skip

SIGNALLED = [
    ("app work > threading Condition.wait > C _thread.lock.acquire", "condition"),
    ("app work > threading Condition.wait", "condition"),
    (
        "app work > threading Condition.wait_for > threading Condition.wait"
        " > C _thread.lock.acquire",
        "condition",
    ),
    (
        "app work > threading Event.wait > threading Condition.wait > C _thread.lock.acquire",
        "event",
    ),
    (
        "app work > threading Barrier.wait > threading Barrier._wait"
        " > threading Condition.wait_for > threading Condition.wait > C _thread.lock.acquire",
        "barrier",
    ),
    ("app work > queue Queue.get > threading Condition.wait > C _thread.lock.acquire", "queue"),
    ("app work > queue Queue.join > threading Condition.wait > C _thread.lock.acquire", "queue"),
    ("app work > C _queue.SimpleQueue.get", "queue"),
    (
        "app work > threading Thread.join > threading Thread._wait_for_tstate_lock"
        " > C _thread.lock.acquire",
        "join",
    ),
    ("app work > threading Thread.join > C _thread._ThreadHandle.join", "join"),
    ("app work > threading _shutdown > C _thread._shutdown", "join"),
    ("app work > futures Future.result > threading Condition.wait > C _thread.lock.acquire",
     "future"),
    (
        "app work > futures wait > threading Event.wait > threading Condition.wait"
        " > C _thread.lock.acquire",
        "future",
    ),
    (
        "app work > C list > futures Executor.map.<locals>.result_iterator"
        " > futures _result_or_cancel > futures Future.result > threading Condition.wait"
        " > C _thread.lock.acquire",
        "future",
    ),
    ("app work > mp Condition.wait > C _multiprocessing.SemLock.acquire", "process"),
]  # fmt: skip


@pytest.mark.parametrize(("chain", "kind", "function"), OWNED)
def test_locks_that_somebody_has(chain: str, kind: str, function: str) -> None:
    found, names = site(chain)
    assert (found.kind, found.signalling, found.whole) == (kind, False, False)
    assert names[found.context] == function


@pytest.mark.parametrize(("chain", "kind"), SIGNALLED)
def test_waits_for_a_signal(chain: str, kind: str) -> None:
    found, names = site(chain)
    assert (found.kind, found.signalling, found.whole) == (kind, True, True)
    assert names[found.context] == "work"


@pytest.mark.parametrize("method", ["Semaphore.acquire", "BoundedSemaphore.acquire"])
def test_who_gives_a_semaphore_back_had_it(method: str) -> None:
    """Its waiters sleep for a signal, but the one who gives it is an owner."""
    found, names = site(
        f"app work > threading {method} > threading Condition.wait > C _thread.lock.acquire"
    )
    assert (found.kind, found.signalling, found.whole) == ("semaphore", False, True)
    assert names[found.context] == "work"


@pytest.mark.parametrize(
    "chain",
    [
        "app work > threading Event.set > threading Condition.notify_all"
        " > threading Condition.notify > C _thread.lock.release",
        "app work > queue Queue.put > threading Condition.notify > C _thread.lock.release",
        "app work > C _queue.SimpleQueue.put",
        "app work > threading Semaphore.release > threading Condition.notify"
        " > C _thread.lock.release",
        "app work > C _thread.lock.__exit__",
    ],
)
def test_who_lets_go_is_the_program_not_the_library(chain: str) -> None:
    found, names = site(chain)
    assert names[found.context] == "work"


def test_a_pool_s_own_acquire_that_sleeps_is_where_it_waits() -> None:
    found, names = site(
        "app handler > app Pool.acquire > threading Condition.wait > C _thread.lock.acquire"
    )
    assert found.kind == "condition"
    assert names[found.context] == "Pool.acquire"


def test_a_chain_of_machinery_only() -> None:
    found, names = site("threading Thread.join > C _thread._ThreadHandle.join")
    assert names[found.context] == "Thread.join"
    found, names = site("C [no Python frames]")
    assert (found.kind, names[found.context]) == ("object", "[no Python frames]")


def test_no_chain() -> None:
    kinds = LockKinds(np.zeros(0, np.int32), np.zeros(0, np.int32), [], [])
    assert kinds.site(-1) == Site("", -1, -1, False, False)


def test_flags_by_context() -> None:
    names = ["work", "Condition.wait"]
    files = [FILES["app"], FILES["threading"]]
    kinds = LockKinds(np.array([-1, 0], np.int32), np.array([0, 1], np.int32), names, files)
    assert kinds.whole([0, 1]) == [False, True, False]


def test_the_program_behind_a_library() -> None:
    found, names = site(
        "app main > app serve > logging Logger.info > logging Handler.handle"
        " > C _thread.RLock.__enter__"
    )
    assert (names[found.context], names[found.own]) == ("Handler.handle", "serve")
    found, names = site("logging Handler.handle > C _thread.RLock.__enter__")
    assert names[found.own] == "Handler.handle"
    found, names = site("app serve > C _thread.lock.acquire")
    assert names[found.own] == "serve"


@pytest.mark.parametrize(
    ("file", "library"),
    [
        ("/usr/lib/python3.12/logging/__init__.py", True),
        ("/app/venv/lib/python3.12/site-packages/waitress/task.py", True),
        ("/usr/lib/python3/dist-packages/x.py", True),
        ("<frozen importlib._bootstrap>", True),
        ("<built-in>", True),
        ("", True),
        ("/app/shop.py", False),
        ("shop.py", False),
        ("/home/me/python3-tricks/app.py", False),
    ],
)
def test_what_is_a_library(file: str, library: bool) -> None:
    assert is_library(file) is library


def test_a_library_elsewhere() -> None:
    assert role("Event.wait", "/opt/python/lib/python3.15/threading.py") is not None
    assert role("Event.wait", "/app/threading.py") is None
    assert role("Queue.get", "/app/queue.py") is None
