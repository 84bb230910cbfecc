"""Acquires locks known numbers of times, nearly all of them without contention, and says how often
at which place, by which thread, and the median time of longer holds."""

import collections
import json
import os
import queue
import sys
import threading
import time

ROUNDS = 120
EACH = 250

acquired = collections.Counter()
by_thread = collections.Counter()
held = {}


class Account:
    def __init__(self):
        self.lock = threading.Lock()
        self.total = 0

    def deposit(self, amount):
        with self.lock:
            self.total += amount


account = Account()
bare = threading.Lock()
again = threading.RLock()
slow = threading.Lock()
items = queue.Queue()
gate = threading.Lock()
waited = [0]


def count(name, number):
    acquired[name] += number
    by_thread[threading.current_thread().name] += number


def deposits():
    for _ in range(ROUNDS):
        for _ in range(EACH):
            account.deposit(1)
        time.sleep(0.002)
    count("Account.deposit", ROUNDS * EACH)


def calls():
    for _ in range(ROUNDS):
        for _ in range(EACH):
            bare.acquire()
            bare.release()
            if bare.acquire(blocking=False):
                bare.acquire(False)  # in vain: no acquisition
                bare.release()
        time.sleep(0.002)
    count("calls", ROUNDS * EACH * 2)


def outer():
    with again:
        inner()


def inner():
    again.acquire()
    again.release()


def recursion():
    for _ in range(ROUNDS):
        for _ in range(EACH):
            outer()
        time.sleep(0.002)
    count("outer", ROUNDS * EACH)
    count("inner", ROUNDS * EACH)


def holds():
    spent = []
    for _ in range(ROUNDS):
        for _ in range(EACH // 10):
            with slow:
                since = time.perf_counter_ns()
                while time.perf_counter_ns() - since < 20_000:
                    pass
                spent.append(time.perf_counter_ns() - since)
        time.sleep(0.001)
    held["holds"] = sorted(spent)[len(spent) // 2]
    count("holds", len(spent))


def puts():
    for _ in range(ROUNDS):
        for i in range(EACH // 10):
            items.put(i)
            items.get()
        time.sleep(0.001)


def contends():
    for _ in range(ROUNDS * 2):
        if not gate.acquire(False):
            gate.acquire()
            waited[0] += 1
        time.sleep(0.0005)
        gate.release()


def main():
    print(os.getpid(), flush=True)
    if "wait" in sys.argv:
        sys.stdin.readline()
    work = [deposits, calls, recursion, holds, puts, contends, contends]
    threads = [
        threading.Thread(target=function, name=f"{function.__name__}-{i}")
        for i, function in enumerate(work)
    ]
    for thread in threads[:-1]:  # one after the other, or none of them holds for as long as it says
        thread.start()
        if thread is not threads[-2]:
            thread.join()
    threads[-1].start()
    for thread in threads[-2:]:
        thread.join()
    facts = {
        "acquired": acquired,
        "by_thread": by_thread,
        "held": held,
        "gate": ROUNDS * 4,
        "waited": waited[0],
    }
    print(json.dumps(facts), flush=True)
    if "wait" in sys.argv:
        sys.stdin.readline()


main()
