"""Tasks that await all kinds of things, and two pairs of them each other; then nothing moves.

Arguments: `uvloop` for that loop, `blocked` for a function that keeps the loop. Prints its PID when
all stand where they will stay, and ends with its input.
"""

import asyncio
import os
import sys
import threading

first, second = asyncio.Lock(), asyncio.Condition()
tasks: dict[str, "asyncio.Task[None]"] = {}


async def long() -> None:
    await asyncio.sleep(1000)


async def one() -> None:
    async with first:
        await asyncio.sleep(0.01)
        async with second:
            pass


async def two() -> None:
    async with second:
        await asyncio.sleep(0.01)
        async with first:
            pass


async def ping() -> None:
    await tasks["pong"]


async def pong() -> None:
    await asyncio.sleep(0.01)
    await tasks["ping"]


async def consumer() -> None:
    await asyncio.Queue().get()


async def gatherer() -> None:
    await asyncio.gather(long(), asyncio.gather(long(), long()))


async def group() -> None:
    async with asyncio.TaskGroup() as group_:
        group_.create_task(long(), name="member")


async def shielded() -> None:
    await asyncio.shield(asyncio.create_task(long(), name="inner"))


async def any_of() -> None:
    await asyncio.wait([tasks["consumer"], tasks["sleeper"]], return_when="FIRST_COMPLETED")


async def event() -> None:
    await asyncio.Event().wait()


async def in_thread() -> None:
    await asyncio.to_thread(leave.wait)


async def nested() -> None:
    async for _ in numbers():
        pass


async def numbers():
    yield 1
    await long()


def block() -> None:
    print(os.getpid(), flush=True)
    sys.stdin.read()
    leave.set()
    os._exit(0)


async def main() -> None:
    for name, coroutine in (
        ("ping", ping()), ("pong", pong()), ("one", one()), ("two", two()), ("sleeper", long()),
        ("consumer", consumer()), ("gatherer", gatherer()), ("group", group()),
        ("shielded", shielded()), ("any_of", any_of()), ("event", event()),
        ("in_thread", in_thread()), ("nested", nested()),
    ):  # fmt: skip
        tasks[name] = asyncio.create_task(coroutine, name=name)
    await asyncio.sleep(0.2)
    asyncio.create_task(long(), name="not begun")
    if "blocked" in sys.argv:
        block()
    threading.Thread(target=block, daemon=True).start()
    await asyncio.Event().wait()


leave = threading.Event()
if "uvloop" in sys.argv:
    import uvloop

    uvloop.install()
asyncio.run(main())
