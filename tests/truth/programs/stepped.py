"""A span whose instructions are known: traced by sonde, or by the program itself.

With an argument the program counts them by sys.settrace, and prints what sonde is to find.
"""

import collections
import json
import sys


def leaf(number):
    return number * 2 if number % 3 else -number


def generated(count):
    for number in range(count):
        yield number


def recursive(depth):
    return 0 if not depth else recursive(depth - 1) + 1


def caught(number):
    try:
        if number % 2:
            raise ValueError(number)
        return int("x" * number)
    except ValueError:
        return 0


class Made:
    def __init__(self, size):
        self.items = [size] * size

    def __len__(self):
        return len(self.items)


async def awaited(number):
    return number


def looped(count):
    total = 0
    while count:
        count -= 1
        for step in range(3):
            if step == count % 5:
                continue
            total += leaf(step)
    return total


def work():
    total = looped(20) + sum(generated(7)) + recursive(6)
    total += sum(caught(number) for number in range(5))
    total += sum(len(Made(size)) for size in [1, 2, 3])
    try:
        awaited(1).send(None)
    except StopIteration as done:
        total += done.value
    return sorted([3, 1, 2], key=lambda number: -number), total


def traced():
    counts = collections.Counter()

    def on_event(frame, event, arg):
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event == "opcode":
            counts[frame.f_code.co_qualname, frame.f_lineno or 0] += 1
        return on_event

    sys._getframe().f_trace_opcodes = True  # else 3.12 does not ask for opcodes at all
    sys.settrace(on_event)
    work()
    counts.clear()  # code has its opcode events only after its first call
    work()
    sys.settrace(None)
    lines = [[name, line, number] for (name, line), number in counts.items() if name != "traced"]
    print(json.dumps(lines))


if len(sys.argv) > 1:
    traced()
else:
    import sonde

    with sonde.span("work"):
        work()
