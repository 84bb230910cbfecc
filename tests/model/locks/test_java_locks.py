"""What a Java chain says about the wait at its end, as JDK 17 and 25 show it."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.model.locks.lock_kinds import LockKinds, Site, is_library, is_machinery

SHORT = {
    "park": "jdk.internal.misc.Unsafe.park",
    "support": "java.util.concurrent.locks.LockSupport.park",
    "acquire": "java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire",
    "long": "java.util.concurrent.locks.AbstractQueuedLongSynchronizer.acquire",
    "block": "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionNode.block",
    "managed": "java.util.concurrent.ForkJoinPool.managedBlock",
    "await": "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await",
    "lock": "java.util.concurrent.locks.ReentrantLock.lock",
    "sync": "java.util.concurrent.locks.ReentrantLock$Sync.lock",
    "read": "java.util.concurrent.locks.ReentrantReadWriteLock$ReadLock.lock",
    "semaphore": "java.util.concurrent.Semaphore.acquire",
    "latch": "java.util.concurrent.CountDownLatch.await",
    "take": "java.util.concurrent.LinkedBlockingQueue.take",
    "task": "java.util.concurrent.FutureTask.get",
    "worker": "java.util.concurrent.ForkJoinPool.awaitWork",
    "executor": "java.util.concurrent.ThreadPoolExecutor.getTask",
    "wait": "java.lang.Object.wait",
    "wait0": "java.lang.Object.wait0",
    "join": "java.lang.Thread.join",
}


def site(chain: str) -> tuple[Site, str]:
    """The site of a chain such as "app.Main.run > lock > acquire > park", outermost first."""
    names = [SHORT.get(name, name) for name in chain.split(" > ")]
    files = [
        "java/x.java" if name.startswith(("java.", "jdk.")) else "app/x.java" for name in names
    ]
    size = len(names)
    kinds = LockKinds(
        np.arange(-1, size - 1, dtype=np.int32),
        np.arange(size, dtype=np.int32),
        names,
        files,
        ["hotspot"] * size,
    )
    found = kinds.site(size - 1)
    return found, names[found.context]


@pytest.mark.parametrize(
    ("chain", "kind"),
    [
        ("app.Main.run > lock > sync > acquire > support > park", "rlock"),
        ("app.Main.run > read > long > support > park", "rwlock"),
        # The lock of a queue, of a condition when the signal has come.
        ("app.Main.run > take > lock > acquire > support > park", "queue"),
        ("app.Main.run > await > acquire > support > park", "condition"),
        ("app.Main.run > take > await > acquire > support > park", "queue"),
    ],
)
def test_owned(chain: str, kind: str) -> None:
    found, where = site(chain)
    assert (found.kind, found.signalling, found.whole, where) == (
        kind,
        False,
        False,
        "app.Main.run",
    )


@pytest.mark.parametrize(
    ("chain", "kind"),
    [
        ("app.Main.run > await > managed > block > support > park", "condition"),
        ("app.Main.run > take > await > managed > block > support > park", "queue"),
        ("app.Main.run > executor > take > await > support > park", "queue"),
        ("app.Main.run > latch > acquire > support > park", "event"),
        ("app.Main.run > task > support > park", "future"),
        ("app.Main.run > worker > support > park", "queue"),
        ("app.Main.run > wait", "condition"),
        ("app.Main.run > join > wait > wait0", "join"),
        ("app.Main.run > support > park", "park"),
    ],
)
def test_signals(chain: str, kind: str) -> None:
    found, where = site(chain)
    assert (found.kind, found.signalling, found.whole, where) == (kind, True, True, "app.Main.run")


def test_who_gives_a_semaphore_back_held_it() -> None:
    found, _ = site("app.Main.run > semaphore > acquire > support > park")
    assert (found.kind, found.signalling, found.whole) == ("semaphore", False, True)


def test_a_monitor_is_where_the_program_enters_it() -> None:
    found, where = site("app.Main.run > app.Cache.get")
    assert (found.kind, where) == ("", "app.Cache.get")


def test_the_platform_is_a_library() -> None:
    assert is_library("java/util/HashMap.java")
    assert not is_library("org/app/Main.java")
    assert not is_library("java/mine.py")
    assert is_machinery(SHORT["park"], "jdk/internal/misc/Unsafe.java")
    assert not is_machinery("java.util.HashMap.put", "java/util/HashMap.java")
