"""Tasks that wait for locks, queues and other things of asyncio, and for executors.

Prints, by its own clock, how long each task waited for each, and who ended its wait. Everything
that ends a wait is done by a function of its own, called from `settle`.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from typing import Any

HOLD_S = 0.02
waits: list[tuple[str, str, int]] = []
"""Kind, task, and how long."""


def name() -> str:
    task = asyncio.current_task()
    assert task is not None
    return task.get_name()


def spin(ns: int) -> None:
    until = time.monotonic_ns() + ns
    while time.monotonic_ns() < until:
        pass


async def waited(kind: str, awaitable: Any) -> Any:
    began = time.monotonic_ns()
    result = await awaitable
    waits.append((kind, name(), time.monotonic_ns() - began))
    return result


def settle(act: Any, *arguments: Any) -> None:
    act(*arguments)


# ---- locks and semaphores, which one task after another has


async def hold(lock: asyncio.Lock | asyncio.Semaphore, kind: str) -> None:
    await waited(kind, lock.acquire())
    await asyncio.sleep(HOLD_S)
    settle(lock.release)


async def owned(kind: str, lock: asyncio.Lock | asyncio.Semaphore) -> None:
    await asyncio.gather(
        *(asyncio.create_task(hold(lock, kind), name=f"{kind}-{i}") for i in range(4))
    )


# ---- what one task sends and another waits for


async def one_after(act: Any, *arguments: Any) -> None:
    await asyncio.sleep(HOLD_S)
    settle(act, *arguments)


async def sent(kind: str, awaitable: Any, act: Any, *arguments: Any) -> None:
    waiter = asyncio.create_task(waited(kind, awaitable), name=f"{kind}-waiter")
    sender = asyncio.create_task(one_after(act, *arguments), name=f"{kind}-sender")
    await asyncio.wait([waiter, sender])


async def conditioned() -> None:
    condition = asyncio.Condition()

    async def wait() -> None:
        async with condition:
            await waited("condition", condition.wait())

    async def notify() -> None:
        await asyncio.sleep(HOLD_S)
        async with condition:
            settle(condition.notify_all)

    await asyncio.gather(
        asyncio.create_task(wait(), name="condition-waiter"),
        asyncio.create_task(notify(), name="condition-sender"),
    )


async def barred() -> None:
    barrier = asyncio.Barrier(2)

    async def late() -> None:
        await asyncio.sleep(HOLD_S)
        await barrier.wait()

    first = asyncio.create_task(waited("barrier", barrier.wait()), name="barrier-waiter")
    await asyncio.gather(first, asyncio.create_task(late(), name="barrier-sender"))


# ---- executors


def work(begin: threading.Event) -> None:
    begin.wait()
    spin(30_000_000)


def begin_when_suspended() -> threading.Event:
    """It is set by the loop's next callback, which comes when the calling task is suspended."""
    begin = threading.Event()
    asyncio.get_running_loop().call_soon(begin.set)
    return begin


async def offload() -> None:
    loop = asyncio.get_running_loop()
    await waited("executor", loop.run_in_executor(None, work, begin_when_suspended()))


async def to_thread() -> None:
    await waited("thread", asyncio.to_thread(work, begin_when_suspended()))


async def main(rounds: int) -> None:
    loop = asyncio.get_running_loop()
    for _ in range(rounds):
        await owned("lock", asyncio.Lock())
        await owned("semaphore", asyncio.Semaphore(1))
        event: asyncio.Event = asyncio.Event()
        await sent("event", event.wait(), event.set)
        queue: asyncio.Queue[int] = asyncio.Queue()
        await sent("queue", queue.get(), queue.put_nowait, 1)
        future = loop.create_future()
        await sent("future", future, future.set_result, None)
        await conditioned()
        await barred()
        await asyncio.create_task(offload(), name="offload")
        await asyncio.create_task(to_thread(), name="to-thread")


async def start(rounds: int) -> None:
    await asyncio.create_task(main(rounds), name="main")


kind, rounds = sys.argv[1], int(sys.argv[2])
if kind == "uvloop":
    import uvloop  # type: ignore[import-not-found]

    uvloop.install()
asyncio.run(start(rounds))
spent: dict[str, dict[str, int]] = {}
for what, who, ns in waits:
    mine = spent.setdefault(what, {})
    mine[who] = mine.get(who, 0) + ns
print(json.dumps({"waited": spent}))
