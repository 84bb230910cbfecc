"""Keeps some of what it allocates, and drops the rest."""

import sys
import time

END = time.monotonic() + float(sys.argv[1] if len(sys.argv) > 1 else 1.5)
kept = []


def keep():
    kept.append(bytearray(60_000))


def drop():
    return sum(len(bytearray(60_000)) for _ in range(10))


while time.monotonic() < END:
    keep()
    drop()
    time.sleep(0.001)
