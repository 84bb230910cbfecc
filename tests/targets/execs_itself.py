"""Becomes another program of its own, with the same process id, twice.

execs_itself.py STEP [NS]: told how long to burn, it prints its pid first and waits for input.
"""

import os
import sys
import time


def burn(ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        # A thread that does nothing but system calls is hardly ever found anywhere else.
        for _ in range(2000):
            pass


def first():
    burn(length)


def second():
    burn(length)


def third():
    burn(length)


length = int(sys.argv[2]) if len(sys.argv) > 2 else 60_000_000
STEPS = {"1": first, "2": second, "3": third}
step = sys.argv[1]
if step == "1" and len(sys.argv) > 2:
    print(os.getpid(), flush=True)
    sys.stdin.readline()
STEPS[step]()
if step != "3":
    os.execv(sys.executable, [sys.executable, __file__, str(int(step) + 1), *sys.argv[2:]])
print("done", os.getpid())
