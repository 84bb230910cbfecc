"""Many threads that compute a little and sleep in turns; prints what that took.

    many_threads.py THREADS TURNS START

START is `sleep`: all begin at one moment and contend for the GIL, or `event`: all wait for an event
first, each for a lock of its own.
"""

from __future__ import annotations

import json
import resource
import sys
import threading
import time

LOOPS = 4000
SLEEP_S = 0.01
# Starting a thousand threads takes less; those that wait for longer than a second are looked at.
BEGIN_S = 3.0


def used() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def compute() -> None:
    total = 0
    for number in range(LOOPS):
        total += number


def main() -> None:
    threads, turns, event = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "event"
    gate = threading.Event()
    begin = time.monotonic() + BEGIN_S

    def run() -> None:
        if event:
            gate.wait()
        else:
            time.sleep(max(begin - time.monotonic(), 0))
        for _ in range(turns):
            compute()
            time.sleep(SLEEP_S)

    crew = [threading.Thread(target=run) for _ in range(threads)]
    for thread in crew:
        thread.start()
    time.sleep(max(begin - time.monotonic(), 0))
    wall, cpu = time.monotonic(), used()
    gate.set()
    for thread in crew:
        thread.join()
    print(json.dumps({"wall": time.monotonic() - wall, "cpu": used() - cpu}))


if __name__ == "__main__":
    main()
