"""Runs for itself, knows its own profile, and tells its state whenever it is asked.

attached.py SECONDS: until then or, if that is 0, until its input ends. A line of input "state" is
answered with a line of JSON.
"""

import json
import os
import random
import select
import sys
import threading
import time

seconds = float(sys.argv[1])
done, nobody_takes = threading.Event(), threading.Event()
die = random.Random(1)
spent = {"long_part": 0, "short_part": 0}
visits = {"long_part": 0, "short_part": 0}


def long_part(n):
    for _ in range(3 * n):
        pass


def short_part(n):
    for _ in range(n):
        pass


def turn(part, n):
    start = time.thread_time_ns()
    part(n)
    spent[part.__name__] += time.thread_time_ns() - start
    visits[part.__name__] += 1


def work():
    start = time.thread_time_ns()
    short_part(100_000)
    unit = int(100_000 * 400_000 / (time.thread_time_ns() - start)) + 1
    while not done.is_set():
        # Lengths vary, so that no turn keeps step with the sampler's period.
        turn(long_part, int(unit * die.uniform(0.5, 1.5)))
        turn(short_part, int(unit * die.uniform(0.5, 1.5)))
        time.sleep(0.002)


class Held:
    """A lock that is held for a known time whenever somebody is about to wait for it."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.lock = threading.Lock()
        self.asked, self.held = threading.Event(), threading.Event()

    def hold(self):
        while not nobody_takes.is_set():
            if not self.asked.wait(0.05):
                continue
            self.asked.clear()
            with self.lock:
                self.held.set()
                time.sleep(self.seconds)

    def take(self):
        self.asked.set()
        self.held.wait()
        self.held.clear()
        with self.lock:
            pass


longer, shorter = Held(0.012), Held(0.006)


def hold():
    longer.hold()


def hold_less():
    shorter.hold()


def take():
    while not done.is_set():
        longer.take()
        shorter.take()
    nobody_takes.set()


def doze():
    while not done.is_set():
        time.sleep(0.02)


def status(name):
    with open(f"/proc/self/task/{name}/status") as f:
        facts = dict(line.rstrip("\n").split(":", 1) for line in f)
    return {key: facts[key].strip() for key in ("SigBlk", "SigIgn", "SigCgt")}


def state():
    names = {t.native_id: t.name for t in threading.enumerate()}
    threads = sorted(os.listdir("/proc/self/task"), key=int)
    with open("/proc/self/maps") as f:
        maps = f.read().splitlines()
    with open("/proc/self/statm") as f:
        resident = int(f.read().split()[1]) * 4
    return {
        "descriptors": sorted(os.listdir("/proc/self/fd"), key=int),
        "threads": [names.get(int(tid), "?") for tid in threads],
        "signals": [status(tid) for tid in threads],
        "maps": maps,
        "resident_kb": resident,
        "spent": spent,
        "visits": visits,
    }


def main():
    threads = [
        threading.Thread(target=target, name=name)
        for target, name in (
            (work, "worker"),
            (hold, "holder"),
            (hold_less, "second"),
            (take, "taker"),
            (doze, "dozer"),
        )
    ]
    for thread in threads:
        thread.start()
    print(os.getpid(), flush=True)
    end = time.monotonic() + seconds if seconds else None
    text = b""
    while end is None or time.monotonic() < end:
        ready, _, _ = select.select([0], [], [], 0.05 if end else None)
        if not ready:
            continue
        got = os.read(0, 4096)
        if not got:
            if end is None:
                break
            time.sleep(0.05)
        text += got
        while b"\n" in text:
            _, text = text.split(b"\n", 1)
            print(json.dumps(state()), flush=True)
    done.set()
    for thread in threads:
        thread.join()
    print("over")
    sys.exit(7)


main()
