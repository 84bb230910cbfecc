"""Keeps some of what it allocates for as long as it runs, some until half of its time is over, and
the rest not at all; says how many bytes of each are alive in the end."""

import collections
import json
import sys
import time

SIZE = 20_000
LENGTH = 4_000

kept = []
cache = {}
recent = collections.deque(maxlen=500)


class Page:
    __slots__ = ("body",)

    def __init__(self, body):
        self.body = body


def leak():
    kept.append(Page(bytes(SIZE)))


def fill_cache(key):
    cache[key] = bytes(SIZE)


def replace():
    recent.append(bytes(SIZE))


def drop():
    for _ in range(20):
        bytes(SIZE)


rounds = int(LENGTH * float(sys.argv[1] if len(sys.argv) > 1 else 1))
for number in range(rounds):
    leak()
    if number < rounds / 2:
        fill_cache(number)
    else:
        cache.clear()
    replace()
    drop()
    if number % 4 == 0:
        time.sleep(0.001)
print(
    json.dumps(
        {
            "leak": len(kept) * SIZE,
            "fill_cache": len(cache) * SIZE,
            "replace": len(recent) * SIZE,
            "drop": 0,
        }
    )
)
