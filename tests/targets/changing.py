"""A program that never is the same for long: functions and threads come and go, a lock is fought for.

changing.py SECONDS [END]: END is a signal's number, by which it dies; else it prints what it did.
"""

import json
import os
import sys
import threading
import time

lock = threading.Lock()
made = 0
waited = 0.0


def generated(number):
    """A function nobody had before, run until it has used a few milliseconds."""
    space = {}
    source = (
        f"def made_{number}(end, now):\n    n = 0\n    while now() < end:\n        n += {number}\n"
    )
    exec(compile(source, f"<generated {number}>", "exec"), space)
    space[f"made_{number}"](time.thread_time() + 0.004, time.thread_time)


def hold(seconds):
    with lock:
        held.set()
        time.sleep(seconds)


def wait_for_it(stop):
    global waited
    while time.monotonic() < stop:
        held.wait(0.2)
        before = time.monotonic()
        with lock:
            waited += time.monotonic() - before
            held.clear()


held = threading.Event()
stop = time.monotonic() + float(sys.argv[1])
waiter = threading.Thread(target=wait_for_it, args=(stop,), name="waiter")
waiter.start()
print(os.getpid(), flush=True)
while time.monotonic() < stop:
    owner = threading.Thread(target=hold, args=(0.03,), name=f"owner-{made}")
    owner.start()
    for _ in range(5):
        generated(made)
        made += 1
    owner.join()
waiter.join()
if len(sys.argv) > 2:
    os.kill(os.getpid(), int(sys.argv[2]))
    time.sleep(10)
print(json.dumps({"made": made, "waited_ns": int(waited * 1e9)}))
