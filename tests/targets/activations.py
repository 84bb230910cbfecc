"""Frames that come and go where others have just been, by every way there is in Python.

Prints what it computed: whoever looks at its frames must not change it.
"""

import asyncio
import builtins
import json
import sys
import threading
import time

UNTIL = time.process_time() + float(sys.argv[1])
told = {}


def works():
    return time.process_time() < UNTIL


def leaf(n):
    total = 0
    for i in range(n):
        total += i
    return total


# The same function at the same place, called from other lines, and by others.
def recursive(depth, turn):
    if not depth:
        return leaf(30 + turn % 40)
    if turn & 1:
        return recursive(depth - 1, turn >> 1) + 1
    return recursive(depth - 1, turn >> 1) + 2


def even(n):
    return leaf(20) if n <= 0 else odd(n - 1)


def odd(n):
    return leaf(10) if n <= 0 else even(n - 1)


# Stacks that are torn down by exceptions, from varying depths.
def raises(depth):
    if depth == 0:
        raise KeyError(leaf(20))
    try:
        raises(depth - 1)
    finally:
        leaf(5)


def catches(depth):
    try:
        raises(depth)
    except KeyError as error:
        frames, at = 0, error.__traceback__
        while at:
            frames, at = frames + 1, at.tb_next
        return frames


# One generator resumed by several functions, and at several depths.
def numbers():
    n = 0
    while True:
        n += leaf(15) > 0
        yield n


def nested(inner):
    yield from inner


def resumes(generator, depth):
    if depth:
        return resumes(generator, depth - 1)
    return next(generator)


def other_resumes(generator, depth):
    if depth:
        return other_resumes(generator, depth - 1)
    value = next(generator)
    return value


def sorts(n):
    return sorted(range(n), key=lambda i: leaf(10 + i % 3))


class Tree:
    def __init__(self, depth):
        self.children = [Tree(depth - 1) for _ in range(2)] if depth else []

    def __iter__(self):
        yield self
        for child in self.children:
            yield from child

    def __del__(self):
        leaf(3)


async def awaits(depth):
    if depth:
        return await awaits(depth - 1) + 1
    await asyncio.sleep(0)
    return leaf(20) and 1


async def tasks():
    while works():
        done = await asyncio.gather(*(awaits(depth) for depth in (0, 3, 7)))
        told["awaited"] = done


def worker(depth):
    return worker(depth - 1) if depth else leaf(2000)


# What programs see of their frames.
def sees(a, b=2):
    c = a + b
    first = dict(locals())
    first.pop("c")
    frame = sys._getframe()
    d = 4
    return (
        sorted(first),
        sorted(frame.f_locals),
        frame.f_locals["d"] == d,
        frame.f_back.f_lineno > 0,
    )


def imports_here():
    import this_one_is_not_there  # noqa: F401


def imported_with():
    seen = []
    before = builtins.__import__

    def importing(name, globals=None, locals=None, fromlist=(), level=0):
        if name == "this_one_is_not_there":
            seen.append(repr(locals))
            return sys
        return before(name, globals, locals, fromlist, level)

    builtins.__import__ = importing
    try:
        for _ in range(3):
            leaf(3000)
            imports_here()
    finally:
        builtins.__import__ = before
    return seen


def executes():
    space = {"leaf": leaf}
    exec(
        "def made(n):\n    return leaf(n)\nclass C:\n    x = [made(i) for i in range(20)]\n", space
    )
    exec(executed.__code__, {"leaf": leaf}, space)
    return space["C"].x[:3]


def executed():
    return leaf(100)


def traced():
    lines = []

    def tracer(frame, event, arg):
        if frame.f_code is leaf.__code__:
            lines.append(event)
            frame.f_locals.get("total")
        return tracer

    sys.settrace(tracer)
    try:
        leaf(20)
    finally:
        sys.settrace(None)
    return len(lines)


def cleared(depth):
    if depth:
        return cleared(depth - 1)
    try:
        raise ValueError
    except ValueError as error:
        frame = error.__traceback__.tb_frame
    try:
        frame.clear()
    except RuntimeError as error:
        return str(error)


def at_depth(depth, *arguments):
    return at_depth(depth - 1, *arguments) if depth else turn(*arguments)


def turn(number, generator):
    for depth in (3, 40, 200, 7):
        told["recursive"] = [recursive(depth, n) - leaf(30 + (n >> depth) % 40) for n in (5, 6)]
    told["mutual"] = even(60)
    told["caught"] = [catches(depth) for depth in (1, 5, 30)]
    values = [resumes(generator, 3), other_resumes(generator, 3), next(generator)]
    told["generated"] = [value - values[0] for value in values]
    told["sorted"] = sorts(30)[-1]
    told["tree"] = sum(1 for _ in Tree(5))
    told["sees"] = sees(1)
    told["imported"] = imported_with()
    told["executed"] = executes()
    told["traced"] = traced()
    told["cleared"] = cleared(5)
    if number % 8 == 0:
        threads = [threading.Thread(target=worker, args=(depth,)) for depth in (2, 50, 120)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def main():
    generator = nested(nested(numbers()))
    number = 0
    while works():
        at_depth((0, 90, 300)[number % 3], number, generator)
        number += 1
    # and a last part that is all tasks
    global UNTIL
    UNTIL += float(sys.argv[1]) / 4
    asyncio.run(tasks())
    print(json.dumps(told, sort_keys=True))


main()
