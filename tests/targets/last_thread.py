"""Processes whose last thread ends otherwise than by returning from main: they end all the same.

Forks from a thread, whose child is over when that thread is; and children whose main thread calls
pthread_exit while another one goes on. The word in C's buffer is written by exit() alone.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable

TURNS = int(sys.argv[1])
warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
libc = ctypes.CDLL(None)

print(os.getpid(), flush=True)
sys.stdin.readline()


def returns() -> None:
    libc.printf(b"r\n")


def exits() -> None:
    libc.printf(b"e\n")
    libc.pthread_exit(None)


def leaves_another() -> None:
    """Another thread outlives the one that was forked."""
    libc.printf(b"l\n")
    threading.Thread(target=time.sleep, args=(0.02,)).start()
    libc.pthread_exit(None)


def forked(what: Callable[[], None], statuses: list[int]) -> None:
    pid = os.fork()
    if not pid:
        what()
        return
    statuses.append(os.waitpid(pid, 0)[1])


told: dict[str, list[int]] = {}
for what in (returns, exits, leaves_another):
    for _ in range(TURNS):
        thread = threading.Thread(target=forked, args=(what, told.setdefault(what.__name__, [])))
        thread.start()
        thread.join()
print(json.dumps(told), flush=True)
if sys.argv[2:]:  # so does this process itself
    libc.printf(b"m\n")
    threading.Thread(target=time.sleep, args=(0.02,)).start()
    libc.pthread_exit(None)
