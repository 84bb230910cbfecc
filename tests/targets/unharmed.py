"""Everything that puts something where a result is awaited, over and over, and the sums of it.

Recorded or not, it prints the same.
"""

import functools
import sys
import time
import traceback


class Thing:
    def __init__(self, n):
        if n % 3 == 0:
            raise ValueError(n)
        self.n = n

    @property
    def half(self):
        return self.n // 2

    def __getitem__(self, n):
        return self.n + n

    def __add__(self, other):
        return self.n + other

    def __getattr__(self, name):
        if name == "missing":
            return 7
        raise AttributeError(name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return True

    def __del__(self):
        deleted[0] += 1

    def __eq__(self, other):
        return self.n == other.n

    def __hash__(self):
        return hash(self.n)


deleted = [0]


def counts(n):
    for i in range(n):
        got = yield i
        if got:
            yield from counts(got)


def fails(n):
    if n > 3:
        raise KeyError(n)
    return fails(n + 1)


def spread(*args, **named):
    return len(args) + len(named)


def nested(n):
    try:
        return [1, n, (spread(1, 2, n), spread(*range(n % 5), a=fails(n % 5)))]
    except KeyError as error:
        return len(traceback.extract_tb(error.__traceback__))


async def waits(n):
    return await waits(n - 1) + 1 if n else 0


def drive(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value


def round_(n):
    total = 0
    try:
        thing = Thing(n)
        total += thing.half + thing[n] + (thing + n) + thing.missing
        total += {thing: 3}[Thing(thing.n)]
        with thing:
            total += 1
            raise RuntimeError
    except ValueError as error:
        total += error.args[0]
    generator = counts(4)
    next(generator)
    total += generator.send(2) + sum(generator)
    total += sum(x for x in counts(n % 7))
    for i in counts(5):
        if i == 3:
            break
        total += i
    total += len(str(nested(n)))
    total += drive(waits(n % 9))
    total += functools.reduce(lambda a, b: a + b, map(spread, range(n % 5), range(9)), 0)
    total += sorted([3, 1, 2], key=lambda x: -x)[0]
    total += len(sys._getframe().f_locals) + len(locals())
    total += eval("spread(1, *[n])", globals(), {"n": n})
    return total


def main(rounds):
    total = 0
    for n in range(rounds):
        total = (total * 31 + round_(n)) % 1_000_000_007
    print(total, deleted[0])


if len(sys.argv) > 2:  # until so much CPU time has passed, each round like the others
    end = time.process_time() + float(sys.argv[2])
    while time.process_time() < end:
        deleted[0] = 0
        main(int(sys.argv[1]))
else:
    main(int(sys.argv[1]))
