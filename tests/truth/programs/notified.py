"""Several threads wait for one notification; each that goes on keeps the lock for a while.

Prints how long they waited for the condition, and then for the lock, by its own clock.
"""

from __future__ import annotations

import json
import sys
import threading
import time

WAITERS = 4
changed = threading.Condition()
waiting = 0
generation = 0
announced = 0
waits: list[tuple[int, int, int]] = []


def keep() -> None:
    time.sleep(0.004)


def await_change(rounds: int) -> None:
    global waiting
    with changed:
        for seen in range(rounds):
            waiting += 1
            began = time.monotonic_ns()
            while generation == seen:
                changed.wait()
            waits.append((began, announced, time.monotonic_ns()))
            keep()


def announce() -> None:
    global announced, generation
    with changed:
        generation += 1
        changed.notify_all()
        announced = time.monotonic_ns()


def main() -> None:
    rounds = int(sys.argv[1])
    threads = [
        threading.Thread(target=await_change, args=(rounds,), name=f"waiter-{i}")
        for i in range(WAITERS)
    ]
    for thread in threads:
        thread.start()
    for done in range(rounds):
        while waiting < WAITERS * (done + 1):
            time.sleep(0.001)
        time.sleep(0.02)
        announce()
    for thread in threads:
        thread.join()
    spent = {
        "condition": sum(announced - began for began, announced, _ in waits),
        "after": sum(ended - announced for _, announced, ended in waits),
    }
    print(json.dumps({"spent": spent, "visits": dict.fromkeys(spent, len(waits))}))


main()
