"""What every truth program has: its own clock, its amount of work, and the telling of the truth.

A program's truth is measured by itself while it runs, with the CPU clock of the very thread, so it
does not depend on how fast the machine is or what else runs on it.
"""

import json
import random
import sys
import time

clock = time.thread_time_ns
seconds = float(sys.argv[1])
die = random.Random(20111)


def rounds():
    """Yields until the thread has used the CPU time asked for; at least once."""
    end = clock() + int(seconds * 1e9)
    number = 0
    while True:
        yield number
        number += 1
        if clock() >= end:
            return


def repeat_for(function, wanted_ns):
    """How big an argument makes `function(argument)` take about `wanted_ns`."""
    n = 64
    enough = 300_000 if seconds else 0
    while True:
        took = min(timed(function, n), timed(function, n))
        if took > enough:
            n = max(1, int(n * wanted_ns / took))
            return n if seconds else 3
        n *= 4


def timed(function, n):
    start = clock()
    function(n)
    return clock() - start


class Parts:
    """How long each part really took, and how often it was entered."""

    def __init__(self):
        self.spent = {}
        self.visits = {}

    def add(self, name, ns):
        self.spent[name] = self.spent.get(name, 0) + ns
        self.visits[name] = self.visits.get(name, 0) + 1

    def as_dict(self):
        return {"spent": self.spent, "visits": self.visits}


def tell(main):
    """Runs main() and tells its truth, with the CPU time it took."""
    start = clock()
    truth = main()  # line: main
    truth["main_ns"] = clock() - start
    print(json.dumps(truth))
