"""Event loops that are never idle, in two threads and made anew; each round checks its own results.

Prints its pid, and when its input ends how many rounds there were and what was wrong.
"""

import asyncio
import contextvars
import logging
import os
import sys
import threading

number = contextvars.ContextVar("number", default=-1)
logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # debug mode names slow steps
over = threading.Event()
wrong: list[str] = []
rounds = [0, 0]


async def answer(n: int) -> int:
    number.set(n)
    await asyncio.sleep(0)
    if n % 5 == 0:
        await asyncio.sleep(0.001)
    if n % 7 == 3:
        raise ValueError(n)
    if number.get() != n:
        wrong.append("context")
    return n


async def feed(queue: asyncio.Queue[int]) -> None:
    for n in range(5):
        await queue.put(n)


async def serve() -> None:
    queue: asyncio.Queue[int] = asyncio.Queue(1)
    feeder = asyncio.create_task(feed(queue))
    found = await asyncio.gather(*(answer(n) for n in range(20)), return_exceptions=True)
    if [str(n) for n in found] != [str(n) for n in range(20)]:
        wrong.append("results")
    if [await queue.get() for _ in range(5)] != list(range(5)):
        wrong.append("queue")
    await feeder
    cut = asyncio.create_task(asyncio.sleep(60))
    await asyncio.sleep(0)
    cut.cancel()
    try:
        await cut
        wrong.append("cancelled")
    except asyncio.CancelledError:
        pass


async def several() -> None:
    for _ in range(20):
        await serve()


def run(place: int) -> None:
    while not over.is_set():
        asyncio.run(several(), debug=rounds[place] % 4 == 3)
        rounds[place] += 1


threads = [threading.Thread(target=run, args=(place,)) for place in range(2)]
for thread in threads:
    thread.start()
print(os.getpid(), flush=True)
sys.stdin.read()
over.set()
for thread in threads:
    thread.join()
print(min(rounds) > 0, wrong)
