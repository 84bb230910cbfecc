"""A program that records itself while it does everything the agent has to look at.

everything.py AGENTS RECORDING SAMPLER SECONDS [fork]: calls without end, C functions that call back,
generators, coroutines, classes, exceptions, deep recursion, functions that are made and die, threads
that come and go, forks. Prints the recording's quality as JSON.
"""

import functools
import json
import os
import sys
import threading
import time
import warnings
from pathlib import Path

import sonde
from sonde.record.system import native_libraries
from sonde.record.recorder.options.options import KINDS

warnings.simplefilter("ignore")  # forks of a threaded program are meant
sys.setrecursionlimit(20_000)


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    def __call__(self, k):
        return self.x * k

    @property
    def norm(self):
        return abs(self.x) + abs(self.y)


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)


def callbacks():
    def key(x):
        return -x

    data = sorted(range(40), key=key)
    data = list(map(Point(1, 2), filter(lambda x: x % 2, data)))
    return functools.reduce(lambda a, b: a + b, data) + max(data, key=key)


def numbers(n):
    if n:
        yield n
        yield from numbers(n - 1)


async def later(n):
    return n + (await later(n - 1) if n else 0)


def coroutine():
    work = later(20)
    try:
        work.send(None)
    except StopIteration as done:
        return done.value


def failing(n):
    try:
        if n == 0:
            raise ValueError(n)
        failing(n - 1)
    except ValueError as error:
        if n < 5:
            raise
        return str(error)
    finally:
        Point(n, n)


def generated(n):
    """New code objects, some at the addresses of those that just died."""
    names = {}
    exec(f"def made_{n}(x):\n    return sum(y for y in range(x)) + len([x] * {n % 7})\n", names)
    return names[f"made_{n}"](20)


def everything(n):
    fib(9)
    deep(200)
    callbacks()
    sum(numbers(20))
    coroutine()
    failing(8)
    (Point(1, 2) + Point(3, 4)).norm
    generated(n)
    "x".join(str(i) for i in range(20)).encode().decode("ascii")
    eval("fib(5) + len('abc')")


def busy(until):
    n = 0
    while time.monotonic() < until:
        everything(n)
        n += 1


def short_lived(until):
    while time.monotonic() < until:
        threads = [threading.Thread(target=everything, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def forks(until):
    while time.monotonic() < until:
        child = os.fork()
        if child == 0:
            busy(time.monotonic() + 0.05)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            os._exit(99)
        time.sleep(0.05)


def main():
    native_libraries.FOLDER = Path(sys.argv[1])
    seconds = float(sys.argv[4])
    # The call flow needs the interpreter's monitoring alone.
    what = [kind for kind in KINDS if kind != "flow"]
    if sys.argv[3] == "perf":  # by which alone events come
        what.append("event:page-faults@1000")
    with sonde.record(
        sys.argv[2], rate=10_000, sampler=sys.argv[3], what=",".join(what)
    ) as session:
        start = time.monotonic()
        work = [busy, busy, lambda until: deep(5000), time.sleep]
        times = [start + seconds, start + seconds, 0, seconds]
        threads = [threading.Thread(target=f, args=(t,)) for f, t in zip(work, times)]
        for thread in threads:
            thread.start()
        short_lived(start + seconds * 0.4)
        session.pause()
        session.resume()
        if "fork" in sys.argv:
            # Only now: AddressSanitizer's own locks do not survive a fork beside a thread that is
            # just beginning or ending.
            forks(start + seconds * 0.9)
        busy(start + seconds)
        for thread in threads:
            thread.join()
    print(json.dumps(session.quality))


main()
