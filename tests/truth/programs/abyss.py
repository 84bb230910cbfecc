"""More frames than a sample holds: the innermost are kept, and the sample says that it was cut."""

import sys

import told
from told import clock, rounds, tell

FRAMES = 6000

sys.setrecursionlimit(2 * FRAMES)


def bottom():
    end = clock() + 20_000_000
    while clock() < end:
        pass


def abyss(n):
    if n > 1:
        abyss(n - 1)
    else:
        bottom()


def main():
    for _ in rounds():
        abyss(FRAMES)
    return dict(seconds=told.seconds)


tell(main)
