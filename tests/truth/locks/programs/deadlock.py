"""Two threads that wait for each other for ever, each in a `with` of its own."""

import os
import sys
import threading
import time

from ledger import now, tell

first, second = threading.Lock(), threading.Lock()
both = threading.Barrier(2)
since = {}


def take_second():
    since["take_second"] = now()
    with second:
        pass


def take_first():
    since["take_first"] = now()
    with first:
        pass


def hold_first():
    with first:
        both.wait()
        take_second()


def hold_second():
    with second:
        both.wait()
        take_first()


threads = [
    threading.Thread(target=f, daemon=True, name=f.__name__) for f in (hold_first, hold_second)
]
for thread in threads:
    thread.start()
time.sleep(float(sys.argv[1]))
end = now()
tell({}, waited={name: end - start for name, start in since.items()})
os._exit(0)
