"""A program of many threads, one of which beats: it sleeps a millisecond at a time and notes gaps.

heartbeat.py THREADS     (prints its pid, and for each line of input the longest gap since the last)
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

BEAT_S = 0.001

longest = [0.0]


def beat() -> None:
    last = time.monotonic()
    while True:
        time.sleep(BEAT_S)
        now = time.monotonic()
        longest[0] = max(longest[0], now - last - BEAT_S)
        last = now


def rest() -> None:
    while True:
        time.sleep(0.5)
        sum(range(1000))


for body in [beat] + [rest] * (int(sys.argv[1]) - 2):
    threading.Thread(target=body, daemon=True).start()
print(json.dumps(os.getpid()), flush=True)
for _ in sys.stdin:
    gap, longest[0] = longest[0], 0.0
    print(json.dumps(gap), flush=True)
