"""Calls whose numbers are known: functions, generators, coroutines, recursion, exceptions, C."""

import json
import sys
import threading


def leaf():
    pass


def numbers(n):
    for i in range(n):
        yield i


def nested(n):
    yield from numbers(n)


def echo():
    given = None
    while True:
        try:
            given = yield given
        except KeyError:
            given = "caught"


async def step(n):
    return n


async def steps(n):
    for i in range(n):
        await step(i)


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def fails():
    raise ValueError


def passes_on():
    fails()


class Thing:
    def __init__(self):
        leaf()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


def key(value):
    return -value


def natives(n):
    for i in range(n):
        hash(i)


def body():
    for _ in range(500):
        leaf()
    for _ in range(20):
        list(nested(10))
    talk = echo()
    next(talk)
    talk.send(1)
    talk.throw(KeyError)
    talk.close()
    numbers(3)  # never begun
    begun = numbers(3)
    next(begun)
    del begun  # closed half-way
    try:
        steps(30).send(None)
    except StopIteration:
        pass
    fib(12)
    for _ in range(40):
        try:
            passes_on()
        except ValueError:
            pass
    for _ in range(25):
        with Thing():
            fails()
    sorted(range(60), key=key)
    natives(70)


THREADS = 3
# Of one body: calls, resumptions, exits by exceptions.
TRUE = {
    "leaf": (525, 0, 0),
    "numbers": (21, 201, 1),
    "nested": (20, 200, 0),
    "echo": (1, 3, 1),
    "step": (30, 0, 0),
    "steps": (1, 0, 0),
    "fib": (465, 0, 0),
    "fails": (65, 0, 65),
    "passes_on": (40, 0, 40),
    "Thing.__init__": (25, 0, 0),
    "Thing.__enter__": (25, 0, 0),
    "Thing.__exit__": (25, 0, 0),
    "key": (60, 0, 0),
    "natives": (1, 0, 0),
    "body": (1, 0, 0),
}
if sys.version_info[:2] == (3, 13):  # closes a generator without running it where that is the same
    TRUE["numbers"] = (21, 200, 0)


def main():
    threads = [threading.Thread(target=body) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    body()


if __name__ == "__main__":
    main()
    print(json.dumps({"bodies": THREADS + 1, "true": TRUE}))
