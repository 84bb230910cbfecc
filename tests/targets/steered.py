"""Does what it is told, line by line, and says when it is done: `burn NAME MS`, `fight MS`, `open`."""

import os
import sys
import threading
import time

if len(sys.argv) > 1:  # it records itself
    import sonde

    session = sonde.record(sys.argv[1], what=sys.argv[2])
    session.start()


def spend(ms):
    end = time.thread_time_ns() + ms * 1_000_000
    while time.thread_time_ns() < end:
        pass


for name in ("first", "second", "third", "fourth", "paused"):
    exec(f"def {name}(ms):\n    spend(ms)")

lock = threading.Lock()


def hold(ms):
    with lock:
        held.set()
        time.sleep(ms / 1000)


def fight(ms):
    """This thread waits so long for a lock that another one has."""
    global held
    held = threading.Event()
    other = threading.Thread(target=hold, args=(ms,), name="holder")
    other.start()
    held.wait()
    with lock:
        pass
    other.join()


print(os.getpid(), flush=True)
for line in sys.stdin:
    word, *rest = line.split()
    if word == "burn":
        globals()[rest[0]](int(rest[1]))
    elif word == "fight":
        fight(int(rest[0]))
    elif word == "open":
        open("/dev/null").close()
    elif word == "end":
        session.stop()
    print("done", flush=True)
