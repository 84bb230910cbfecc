"""Deep stacks whose depth is known: counted frame by frame, in plain and in mutual recursion."""

import sys

import told
from told import clock, rounds, tell

DEPTH = 1200

sys.setrecursionlimit(5_000)


def spin(ns):
    end = clock() + ns
    while clock() < end:
        pass


def bottom():
    start = clock()
    spin(6_000_000)
    taken.add("bottom", clock() - start)


def down(n):
    if n > 1:
        down(n - 1)  # line: down
    else:
        bottom()


def tick_bottom():
    start = clock()
    spin(6_000_000)
    taken.add("tick_bottom", clock() - start)


def tick(n):
    if n == 0:
        tick_bottom()
    else:
        tock(n - 1)


def tock(n):
    if n == 0:
        raise AssertionError("the number of ticks and tocks is even")
    tick(n - 1)


taken = told.Parts()


def main():
    for _ in rounds():
        down(DEPTH)
        tick(DEPTH)
    return dict(parts=taken.as_dict(), depth=DEPTH)


tell(main)
