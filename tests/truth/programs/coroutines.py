"""Generators, coroutines and asynchronous generators: frames that come and go and come again."""

import asyncio

import told
from told import clock, rounds, tell


def small(x):
    return x + 1


# ---- generators


def count(n):
    for i in range(n):
        yield small(i)


def outer(n):
    yield from count(n)
    yield from middle(n)


def middle(n):
    got = yield from inner(n)
    yield got


def inner(n):
    total = 0
    for i in range(n):
        total += yield small(i)
    return total


class Tree:
    def __init__(self, depth):
        self.kids = [Tree(depth - 1), Tree(depth - 1)] if depth else []

    def walk(self):
        for kid in self.kids:
            yield from kid.walk()
        yield small(0)


def guarded():
    while True:
        try:
            yield small(1)
        except ValueError:
            small(2)
        except GeneratorExit:
            small(3)
            return


TREE = Tree(6)


def plain_generators():
    for _ in count(60):
        pass
    sum(count(60))
    sent_to()
    for _ in outer(0):
        pass
    sum(TREE.walk())
    sum(small(x) for x in count(40))
    sorted(count(30), key=small)


def sent_to():
    generator = middle(20)
    next(generator)
    try:
        while True:
            generator.send(1)
    except StopIteration:
        pass


def thrown_into():
    for _ in range(10):
        generator = guarded()
        next(generator)
        for _ in range(5):
            generator.throw(ValueError)
        generator.close()


# ---- coroutines without a loop


class Pause:
    def __await__(self):
        got = yield small(7)
        return got


async def bottom(n):
    for _ in range(n):
        await Pause()
    return small(n)


async def nested(depth, n):
    if depth:
        return await nested(depth - 1, n)
    return await bottom(n)


def driven():
    coroutine = nested(15, 40)
    try:
        while True:
            coroutine.send(None)
    except StopIteration:
        pass


# ---- a loop


async def ticker(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield small(i)


async def consumer(queue):
    total = 0
    while (item := await queue.get()) is not None:
        total += small(item)
    return total


async def producer(queue):
    async for item in ticker(15):
        await queue.put(item)
    await queue.put(None)


class Entered:
    async def __aenter__(self):
        await asyncio.sleep(0)
        return small(1)

    async def __aexit__(self, *args):
        await asyncio.sleep(0)
        small(2)


async def spinning(n):
    for _ in range(n):
        for i in range(30):
            small(i)
        await asyncio.sleep(0)


async def looped():
    queue = asyncio.Queue()
    async with Entered():
        await asyncio.gather(producer(queue), consumer(queue), spinning(20), nested_sleep(5))
    [x async for x in ticker(10)]


async def nested_sleep(n):
    if n:
        await nested_sleep(n - 1)
        await asyncio.sleep(0)


def part(function, arguments=tuple):
    start = clock()
    for _ in range(5):
        function(*arguments())
    taken.add(function.__name__, clock() - start)


taken = told.Parts()


def main():
    loop = asyncio.new_event_loop()
    for _ in rounds():
        part(plain_generators)
        part(thrown_into)
        part(driven)
        part(loop.run_until_complete, lambda: (looped(),))
    loop.close()
    return dict(parts=taken.as_dict())


tell(main)
