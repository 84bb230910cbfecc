"""Keeps some of the objects that it makes, and says how many bytes those have.

keeps.py MEGABYTES: all that it allocates; a quarter of it is alive in the end. With `tracemalloc` as
second argument that starts and stops meanwhile, in all orders.
"""

import json
import sys
import tracemalloc

STEPS = 8


class Held:
    __slots__ = ("content",)

    def __init__(self, size):
        self.content = bytes(size)


def make(count, kept):
    for i in range(count):
        held = Held(200 + i % 300)
        if i % 4 == 0:
            kept.append(held)
        else:
            Held(300)


kept = []
count = int(sys.argv[1]) * 2000 // STEPS
for step in range(STEPS):
    if "tracemalloc" in sys.argv:
        tracemalloc.start() if step % 2 else tracemalloc.stop()
    make(count, kept)
alive = sum(sys.getsizeof(held.content) for held in kept)
print(json.dumps({"alive_bytes": alive}), flush=True)
sys.stdin.read()
