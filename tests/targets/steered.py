"""Does what it is told, line by line: `burn NAME MS`, `fight MS`, `open`, `end`.

When it is done it says so, and how many nanoseconds that took: of a burn by its thread's CPU clock,
of a fight how long this thread wanted the lock. `fight 0` lasts until the next line comes. `clock`
says how much CPU time this thread has used in its whole life.
"""

import os
import sys
import threading
import time

if len(sys.argv) > 1:  # it records itself
    import sonde

    session = sonde.record(sys.argv[1], what=sys.argv[2])
    session.start()


def spend(ms):
    """Where the machine is taken away in the middle, the clock may be far past the end after it."""
    start = now = time.thread_time_ns()
    while now < start + ms * 1_000_000:
        now = time.thread_time_ns()
    return now - start


for name in ("first", "second", "third", "fourth", "paused"):
    exec(f"def {name}(ms):\n    return spend(ms)")

lock = threading.Lock()


def hold(ms):
    with lock:
        held.set()
        wanted.wait()
        if ms:
            time.sleep(ms / 1000)
        else:
            sys.stdin.readline()


def fight(ms):
    """This thread waits so long for a lock that another one has."""
    global held, wanted
    held, wanted = threading.Event(), threading.Event()
    other = threading.Thread(target=hold, args=(ms,), name="holder")
    other.start()
    held.wait()
    start = time.monotonic_ns()
    wanted.set()
    with lock:
        took = time.monotonic_ns() - start
    other.join()
    return took


print(os.getpid(), flush=True)
for line in sys.stdin:
    word, *rest = line.split()
    took = 0
    if word == "burn":
        took = globals()[rest[0]](int(rest[1]))
    elif word == "fight":
        took = fight(int(rest[0]))
    elif word == "clock":
        took = time.thread_time_ns()
    elif word == "open":
        open("/dev/null").close()
    elif word == "end":
        session.stop()
    print("done", took, flush=True)
