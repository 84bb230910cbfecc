"""Work at the end of 200 calls, now near it, now further up."""

import sys
import time

UNTIL = time.process_time() + float(sys.argv[1])


def work(n):
    total = 0
    for i in range(n):
        total += small(i)
    return total


def small(i):
    return i * 2


def down(depth):
    if depth == 0:
        while time.process_time() < UNTIL:
            work(300)
            up_and_down(8)
        return 0
    return down(depth - 1)


def up_and_down(depth):
    return up_and_down(depth - 1) if depth else work(100)


down(200)
