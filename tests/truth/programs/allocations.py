"""Objects of which it is known how many were made, of which class and by which function.

The classes have no free list, and come in a random order: none has a phase of its own.
"""

import json
import random
import sys
from collections import deque


class Record:
    __slots__ = tuple(f"field_{i}" for i in range(40))


class Entry:
    def __init__(self, number):
        self.number = number
        self.next = None


class Node(Record):
    __slots__ = tuple(f"more_{i}" for i in range(20))


def make_record():
    return Record()


def make_entry():
    return Entry(7)


def make_node():
    return Node()


def make_bytes():
    return bytes(die.randrange(100, 3000))


def make_text():
    return "x" * die.randrange(100, 900)


def make_set():
    return set()


def make_deque():
    return deque()


MAKERS = (
    [make_record] * 5 + [make_entry] + [make_node] * 3 + [make_bytes] * 4 + [make_text] * 4
    + [make_set] * 2 + [make_deque]
)  # fmt: skip

die = random.Random(20111)
wanted = int(float(sys.argv[1]) * 1e6)
made = {}
sizes = {}
total = 0
while total < wanted:
    make = die.choice(MAKERS)
    size = 0
    for _ in range(20):
        size += sys.getsizeof(make())
    made[make.__name__] = made.get(make.__name__, 0) + 20
    sizes[make.__name__] = sizes.get(make.__name__, 0) + size
    total += size
print(json.dumps({"made": made, "sizes": sizes}))
