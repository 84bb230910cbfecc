"""Forks once for each line of input, in as many threads as that says, and tells what was warned of."""

import os
import sys
import threading
import time
import warnings

over = threading.Event()


def fork():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    print(*(warning.category.__name__ for warning in caught), flush=True)


print(os.getpid(), flush=True)
for line in sys.stdin:
    others = [threading.Thread(target=over.wait) for _ in range(int(line) - 1)]
    for thread in others:
        thread.start()
    fork()
    over.set()
    for thread in others:
        thread.join()
    over.clear()
    # A thread that was joined may only be about to end.
    while any(os.path.exists(f"/proc/self/task/{thread.native_id}") for thread in others):
        time.sleep(0.001)
