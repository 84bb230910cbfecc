"""Tasks that wait for timers and for a loop that others keep busy.

Prints, by its own clock, how long each task ran, was suspended and was ready, and which task kept
the loop busy meanwhile. The argument says which kind of task it uses: c, python, eager or uvloop.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any

WORKERS = 4
PAUSE_S = 0.004
steps: list[tuple[str, int, int]] = []
waits: list[tuple[str, int, int]] = []
lives: dict[str, list[int]] = {}
suspended: dict[str, int] = {}


def spin(name: str, ns: int) -> None:
    began = time.monotonic_ns()
    while time.monotonic_ns() < began + ns:
        pass
    steps.append((name, began, time.monotonic_ns()))


def render(name: str) -> None:
    spin(name, 12_000_000)


def answer(name: str) -> None:
    spin(name, 500_000)


async def pause(name: str) -> None:
    began = time.monotonic_ns()
    await asyncio.sleep(PAUSE_S)
    due = began + int(PAUSE_S * 1e9)
    waits.append((name, due, time.monotonic_ns()))
    suspended[name] = suspended.get(name, 0) + due - began


async def live(name: str, rounds: int, work: Callable[[str], None]) -> None:
    lives[name] = [time.monotonic_ns()]
    for _ in range(rounds):
        work(name)
        await pause(name)
    lives[name].append(time.monotonic_ns())


async def main(rounds: int) -> None:
    tasks = [
        asyncio.create_task(live(f"worker-{i}", 2 * rounds, answer), name=f"worker-{i}")
        for i in range(WORKERS)
    ]
    tasks.append(asyncio.create_task(live("blocker", rounds, render), name="blocker"))
    await asyncio.gather(*tasks)


def blamed() -> dict[str, dict[str, int]]:
    """Of each waiter's time, by who ran."""
    found: dict[str, dict[str, int]] = {}
    for waiter, since, until in waits:
        mine = found.setdefault(waiter, {})
        for owner, began, ended in steps:
            ns = min(ended, until) - max(began, since)
            if ns > 0:
                mine[owner] = mine.get(owner, 0) + ns
    return found


def python_task(
    loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any], **more: Any
) -> Any:
    return asyncio.tasks._PyTask(coro, loop=loop, **more)  # type: ignore[attr-defined]


async def start(kind: str, rounds: int) -> None:
    if kind == "python":
        asyncio.get_running_loop().set_task_factory(python_task)
    elif kind == "eager":
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined]
    await asyncio.create_task(main(rounds), name="main")


kind, rounds = sys.argv[1], int(sys.argv[2])
if kind == "uvloop":
    import uvloop  # type: ignore[import-not-found]

    uvloop.install()
asyncio.run(start(kind, rounds))
spent: dict[str, int] = {}
for owner, began, ended in steps:
    spent[owner] = spent.get(owner, 0) + ended - began
print(
    json.dumps(
        {
            "spent": spent,
            "suspended": suspended,
            "lives": {name: life[1] - life[0] for name, life in lives.items()},
            "blamed": blamed(),
            "ready": {
                name: sum(until - since for who, since, until in waits if who == name)
                for name in lives
            },
        }
    )
)
