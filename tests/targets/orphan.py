"""Ends at once and leaves a child that works on."""

import os
import sys
import time

if os.fork() == 0:
    os.setsid()
    for fd in (0, 1, 2):
        os.dup2(os.open(os.devnull, os.O_RDWR), fd)
    end = time.thread_time() + 0.5
    while time.thread_time() < end:
        pass
    with open(sys.argv[1], "w") as f:
        f.write("alive")
