"""Spends a third of its CPU time in one function and the rest in another; prints its pid first.

thirds.py SECONDS
"""

import os
import sys
import time


def third(end):
    n = 0
    while time.thread_time() < end:
        n += 1


def two_thirds(end):
    n = 0
    while time.thread_time() < end:
        n += 1


print(os.getpid(), flush=True)
stop = time.monotonic() + float(sys.argv[1])
while time.monotonic() < stop:
    now = time.thread_time()
    third(now + 0.003)
    now = time.thread_time()
    two_thirds(now + 0.006)
