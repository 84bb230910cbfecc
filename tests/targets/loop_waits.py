"""Tasks that wait for everything that asyncio has, in loops that are closed and made anew, in two
threads and in a second interpreter; every result is checked.

Prints what was wrong. The argument is the number of rounds.
"""

import asyncio
import functools
import importlib
import sys
import threading
import time
from typing import Any

SHORT_S = 0.002
wrong: list[str] = []


class OwnFuture(asyncio.Future):  # type: ignore[type-arg]
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.myself = self


class Call:
    """A callback that is no function, and refers to much."""

    def __init__(self, future: Any) -> None:
        self.names = {f"name{i}": self for i in range(100)}
        self.future = future

    def __call__(self, *_: Any) -> None:
        if not self.future.done():
            self.future.set_result(3)


async def locked(lock: asyncio.Lock, semaphore: asyncio.Semaphore) -> int:
    async with lock, semaphore:
        await asyncio.sleep(SHORT_S)
    return 1


async def one(value: int) -> int:
    await asyncio.sleep(SHORT_S)
    return value


async def grouped() -> int:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(i)) for i in range(3)]
        waiting = group.create_task(asyncio.wait_for(asyncio.shield(tasks[0]), 5))
    return sum(task.result() for task in tasks) + waiting.result()


async def cut_short() -> str:
    lock = asyncio.Lock()
    await lock.acquire()
    try:
        await asyncio.wait_for(lock.acquire(), SHORT_S)
    except asyncio.TimeoutError:
        return "cut"
    return "acquired"


async def sent() -> list[int]:
    condition, barrier, queue = asyncio.Condition(), asyncio.Barrier(2), asyncio.Queue[int](1)

    async def send() -> None:
        await asyncio.sleep(SHORT_S)
        await barrier.wait()
        async with condition:
            condition.notify_all()
        for i in range(3):
            await queue.put(i)
            await asyncio.sleep(SHORT_S)

    sender = asyncio.create_task(send())
    async with condition:
        asyncio.get_running_loop().call_later(0, lambda: None)
        arrived = asyncio.create_task(barrier.wait())
        await condition.wait()
    found = [await queue.get() for _ in range(3)]
    await asyncio.gather(sender, arrived)
    return found


async def futures() -> int:
    loop = asyncio.get_running_loop()
    own: Any = OwnFuture(loop=loop)
    loop.call_later(SHORT_S, functools.partial(own.set_result, 3))
    called: Any = loop.create_future()
    asyncio.create_task(one(0)).add_done_callback(Call(called))
    outside: Any = loop.create_future()
    thread = threading.Timer(SHORT_S, loop.call_soon_threadsafe, [outside.set_result, 3])
    thread.start()
    first = [await done for done in asyncio.as_completed([one(1), one(2)])]
    nested = asyncio.gather(asyncio.gather(one(1), one(2)), asyncio.to_thread(time.sleep, SHORT_S))
    inner, _ = await asyncio.wait_for(nested, 5)
    worked = await loop.run_in_executor(None, sum, [1, 2])
    result = int(await own) + int(await called) + int(await outside)
    thread.join()
    return result + sum(first) + sum(inner) + worked


async def all_of_it() -> None:
    lock, semaphore = asyncio.Lock(), asyncio.BoundedSemaphore(2)
    found = await asyncio.gather(
        *(locked(lock, semaphore) for _ in range(4)), grouped(), cut_short(), sent(), futures()
    )
    if found != [1, 1, 1, 1, 3, "cut", [0, 1, 2], 18]:
        wrong.append(str(found))
    if [await one(i) async for i in numbers()] != [0, 1]:
        wrong.append("generator")


async def numbers() -> Any:
    for i in range(2):
        await asyncio.sleep(SHORT_S)
        yield i


def run(rounds: int, factory: Any = None) -> None:
    for i in range(rounds):
        with asyncio.Runner(debug=i % 2 == 1) as runner:
            runner.get_loop().slow_callback_duration = 60
            if factory is not None and i % 2:
                runner.get_loop().set_task_factory(factory)
            runner.run(all_of_it())


def interpreters() -> Any:
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


IN_ANOTHER = """
import asyncio
async def main():
    lock = asyncio.Lock()
    async def hold():
        async with lock:
            await asyncio.sleep(0.002)
    await asyncio.gather(*(hold() for _ in range(3)))
asyncio.run(main())
"""

if __name__ == "__main__":
    rounds = int(sys.argv[1])
    eager = getattr(asyncio, "eager_task_factory", None)
    threads = [threading.Thread(target=run, args=(rounds, eager)) for _ in range(2)]
    for thread in threads:
        thread.start()
    if (another := interpreters()) is not None:
        identity = another.create()
        another.run_string(identity, IN_ANOTHER)
        another.destroy(identity)
    for thread in threads:
        thread.join()
    print(wrong)
