"""How often each function is really called, beside what its own session says of it.

Every call lasts for several sampling periods, so that samples find each of them, and most of them
more than once. Calls come from Python, from C, by recursion, out of exceptions, into generators and
coroutines, and by threads. Prints {case: [true number of activations, what samples found]}.
"""

from __future__ import annotations

import asyncio
import functools
import json
import sys
import threading
import time

import sonde

RATE = 2000
CALL_S = 0.004
CALLS = 12

clock = time.thread_time
# Between two looks at the clock, lest all samples find the clock on top and none the function.
SPIN = range(100)


def once():
    end = clock() + 0.06
    while clock() < end:
        for _ in SPIN:
            pass


def tiny(n):
    return n + 1


def calls_tiny():
    end, n = clock() + 0.15, 0
    while clock() < end:
        for _ in range(100):
            n = tiny(n)


def often():
    end = clock() + CALL_S
    while clock() < end:
        for _ in SPIN:
            pass


def calls_often():
    for _ in range(CALLS):
        often()


def nested(_):
    end = clock() + CALL_S
    while clock() < end:
        for _ in SPIN:
            pass
    return 1


def calls_nested():
    return [sum([1, nested(0) + nested(1)]) for _ in range(CALLS // 2)]


def by_map(_):
    end = clock() + CALL_S
    while clock() < end:
        for _ in SPIN:
            pass


def calls_by_map():
    list(map(by_map, range(CALLS)))


def by_reduce(a, _):
    end = clock() + CALL_S
    while clock() < end:
        for _ in SPIN:
            pass
    return a


def calls_by_reduce():
    for _ in range(2):
        functools.reduce(by_reduce, range(CALLS // 2 + 1))


def deep(depth):
    if depth:
        return deep(depth - 1)
    end = clock() + CALL_S
    while clock() < end:
        for _ in SPIN:
            pass
    return 0


def calls_deep():
    for _ in range(CALLS):
        deep(9)


def raises():
    end = clock() + CALL_S
    while clock() < end:
        for _ in SPIN:
            pass
    raise ValueError


def calls_raises():
    for _ in range(CALLS):
        try:
            raises()
        except ValueError:
            pass


def raises_in_c(_):
    end = clock() + CALL_S
    while clock() < end:
        for _ in SPIN:
            pass
    raise ValueError


def calls_raises_in_c():
    for _ in range(CALLS):
        try:
            list(map(raises_in_c, (1,)))
        except ValueError:
            pass


def raises_nested(*_):
    end = clock() + CALL_S
    while clock() < end:
        for _ in SPIN:
            pass
    raise ValueError


def calls_raises_nested():
    for _ in range(CALLS):
        try:
            print(1, 2, [3, raises_nested(4)], file=None)
        except ValueError:
            pass


class Refuses:
    def __init__(self):
        end = clock() + CALL_S
        while clock() < end:
            for _ in SPIN:
                pass
        raise ValueError


def calls_refuses():
    for _ in range(CALLS):
        try:
            Refuses()
        except ValueError:
            pass


class Made:
    def __init__(self):
        end = clock() + CALL_S
        while clock() < end:
            for _ in SPIN:
                pass

    @property
    def asked(self):
        end = clock() + CALL_S
        while clock() < end:
            for _ in SPIN:
                pass
        return 1

    def __getitem__(self, _):
        end = clock() + CALL_S
        while clock() < end:
            for _ in SPIN:
                pass
        return 1

    def __add__(self, _):
        end = clock() + CALL_S
        while clock() < end:
            for _ in SPIN:
                pass
        return 1


def calls_made():
    for _ in range(CALLS):
        Made()


def calls_asked():
    made = Made()
    for _ in range(CALLS):
        made.asked  # noqa: B018


def calls_item():
    made = Made()
    for n in range(CALLS):
        made[n]


def calls_add():
    made = Made()
    for n in range(CALLS):
        made + n  # noqa: B018


def yields():
    for n in range(CALLS):
        end = clock() + CALL_S
        while clock() < end:
            for _ in SPIN:
                pass
        yield n


def calls_yields():
    for _ in yields():
        pass


def yields_to_c():
    for n in range(CALLS):
        end = clock() + CALL_S
        while clock() < end:
            for _ in SPIN:
                pass
        yield n


def calls_yields_to_c():
    sum(yields_to_c())


async def awaited():
    end = clock() + CALL_S
    while clock() < end:
        for _ in SPIN:
            pass
    await asyncio.sleep(0)


async def awaits():
    for _ in range(CALLS):
        await awaited()


def calls_awaited():
    asyncio.run(awaits())


def in_thread():
    end = clock() + CALL_S
    while clock() < end:
        for _ in SPIN:
            pass


def thread_body():
    # Those who wait for the GIL meanwhile tell of it with their stacks, too.
    end = clock() + CALL_S
    while clock() < end:
        for _ in SPIN:
            pass
    for _ in range(CALLS // 2):
        in_thread()


def calls_in_threads():
    threads = [threading.Thread(target=thread_body) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


TRUTH = {
    "once": (once, 1),
    "calls_tiny": (calls_tiny, 1),
    "often": (calls_often, CALLS),
    "nested": (calls_nested, CALLS),
    "by_map": (calls_by_map, CALLS),
    "by_reduce": (calls_by_reduce, CALLS),
    "deep": (calls_deep, CALLS * 10),
    "raises": (calls_raises, CALLS),
    "raises_in_c": (calls_raises_in_c, CALLS),
    "raises_nested": (calls_raises_nested, CALLS),
    "Refuses.__init__": (calls_refuses, CALLS),
    "Made.__init__": (calls_made, CALLS + 3),
    "Made.asked": (calls_asked, CALLS),
    "Made.__getitem__": (calls_item, CALLS),
    "Made.__add__": (calls_add, CALLS),
    "yields": (calls_yields, CALLS),
    "yields_to_c": (calls_yields_to_c, CALLS),
    "in_thread": (calls_in_threads, CALLS // 2 * 3),
    "thread_body": (calls_in_threads, 3),
}


def main() -> None:
    with sonde.record(sys.argv[1], rate=RATE, online=True) as session:
        for work in dict.fromkeys(work for work, _ in TRUTH.values()):
            work()
        calls_awaited()
        profile = session.profile(100, by="function")
    found = {row.function.name: row for row in profile.hot}
    told = {
        name: [true, found[name].activations if name in found else 0]
        for name, (_, true) in TRUTH.items()
    }
    short = found["tiny"]
    print(
        json.dumps(
            {
                "exact": profile.exact,
                "told": told,
                "awaited": found["awaited"].activations,
                "tiny": [short.samples, short.activations],
                "lost": session.quality["lost"],
                "memory": [profile.memory, profile.bound],
            }
        )
    )


main()
