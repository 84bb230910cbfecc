"""Holds many objects; says on request how long a walk over its own heap keeps it from going on.

heap_objects.py N: N instances, each with a number, a string and a list: five objects a piece.
"""

import gc
import json
import os
import sys
import time


class Node:
    def __init__(self, i):
        self.id = i + 100000
        self.name = f"node-{i}"
        self.tags = [i, None]


def collector():
    """Every object that the collector knows, with its size and what it refers to."""
    began = time.perf_counter()
    size = 0
    for found in gc.get_objects():
        size += sys.getsizeof(found)
        gc.get_referents(found)
    return time.perf_counter() - began


def guppy():
    """None where it is not installed."""
    try:
        import guppy
    except ImportError:
        return None
    began = time.perf_counter()
    guppy.hpy().heap()
    return time.perf_counter() - began


gc.disable()
heap = [Node(i) for i in range(int(sys.argv[1]))]
gc.enable()
print(os.getpid(), flush=True)
for line in sys.stdin:
    print(json.dumps(globals()[line.strip()]()), flush=True)
