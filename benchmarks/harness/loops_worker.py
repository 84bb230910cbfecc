"""Runs an event loop without and with its tasks recorded, by turns in one process.

    loops_worker.py '{"program": "echo", "loop": "asyncio", "blocks": 6, "seconds": 0.5, …}'

A block has a slice of each condition, in an order drawn anew; only slices of one block are
compared. Writes JSON: {"slices": [[block, condition, CPU ns per operation], …], "steps": callbacks
per operation}.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

CLIENTS = 20
LEAVES = 100
MESSAGE = b"x" * 64


class Echo:
    """A server and clients that ask it without a pause; an operation is one message."""

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self._clients = [await asyncio.open_connection("127.0.0.1", port) for _ in range(CLIENTS)]

    @staticmethod
    async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while message := await reader.read(len(MESSAGE)):
            writer.write(message)
            await writer.drain()
        writer.close()

    async def _ask(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, end: float
    ) -> int:
        asked = 0
        while time.monotonic() < end:
            writer.write(MESSAGE)
            await reader.readexactly(len(MESSAGE))
            asked += 1
        return asked

    async def run(self, seconds: float) -> int:
        end = time.monotonic() + seconds
        return sum(await asyncio.gather(*(self._ask(*client, end) for client in self._clients)))

    async def stop(self) -> None:
        for _, writer in self._clients:
            writer.close()
        self._server.close()


class Gather:
    """Many short tasks; an operation is one of them."""

    async def start(self) -> None: ...

    @staticmethod
    async def _leaf(number: int) -> int:
        await asyncio.sleep(0)
        return sum(range(number % 50))

    async def run(self, seconds: float) -> int:
        end, done = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            await asyncio.gather(*(self._leaf(n) for n in range(LEAVES)))
            done += LEAVES
        return done

    async def stop(self) -> None: ...


PROGRAMS = {"echo": Echo, "gather": Gather}
Stop = Callable[[], None]


def under(condition: str, job: dict[str, Any], folder: Path) -> Stop:
    if condition.startswith("sonde"):
        from sonde.record.session import Session

        path = folder / f"{time.monotonic_ns()}.sonde"
        what = "+tasks" if condition == "sonde, tasks" else "cpu,locks"
        session = Session(path, what=what, rate=1000)
        ours, sys.executable = sys.executable, job["recorder"]
        session.start()
        sys.executable = ours
        return session.stop
    if condition == "asyncio debug":
        loop = asyncio.get_running_loop()
        loop.set_debug(True)
        return lambda: loop.set_debug(False)
    if condition == "yappi":
        import yappi

        yappi.set_clock_type("wall")
        yappi.start(builtins=False)

        def stop() -> None:
            yappi.stop()
            yappi.clear_stats()

        return stop
    return lambda: None


async def slice_of(run: Callable[[float], Awaitable[int]], seconds: float) -> tuple[float, int]:
    """CPU time of one operation, and how many there were."""
    began = time.thread_time_ns()
    done = await run(seconds)
    return (time.thread_time_ns() - began) / done, done


async def measure(job: dict[str, Any]) -> dict[str, Any]:
    program = PROGRAMS[job["program"]]()
    await program.start()
    random.seed(1)
    slices: list[tuple[int, str, float]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await program.run(job["seconds"])
        for block in range(job["blocks"]):
            order = [*job["conditions"]]
            random.shuffle(order)
            for condition in order:
                stop = under(condition, job, folder)
                await program.run(job["seconds"] / 5)
                ns, _ = await slice_of(program.run, job["seconds"])
                slices.append((block, condition, ns))
                stop()
        taken = 0

        def count(handle: Any, run: Any = asyncio.Handle._run) -> None:
            nonlocal taken
            taken += 1
            run(handle)

        steps = None
        if job["loop"] == "asyncio":
            original, asyncio.Handle._run = asyncio.Handle._run, count  # type: ignore[method-assign]
            _, done = await slice_of(program.run, job["seconds"])
            asyncio.Handle._run = original  # type: ignore[method-assign]
            steps = taken / done
    await program.stop()
    return {"slices": slices, "steps": steps}


def main() -> None:
    job = json.loads(sys.argv[1])
    sys.path.insert(0, job["source"])
    if job["loop"] == "uvloop":
        import uvloop

        answer = uvloop.run(measure(job))
    else:
        answer = asyncio.run(measure(job))
    print(json.dumps(answer))


main()
