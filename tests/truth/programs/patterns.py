"""Six threads that use the processor in patterns of their own, and some that never do.

After Hofer's Figure 5.2: four alternate between work and rest in different rhythms, one works all
the time, one at random. Each tells how much CPU time it used, by its own clock.
"""

import json
import random
import sys
import threading
import time

SECONDS = float(sys.argv[1])
PATTERNS = {"short": (2, 6), "longer": (8, 12), "long": (40, 40), "late": (70, 30)}
used = {}


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(50))


def pattern(name, work_ms, rest_ms):
    while time.thread_time() < SECONDS / 6:
        burn(work_ms / 1000)
        time.sleep(rest_ms / 1000)
    used[name] = time.thread_time()


def steady():
    burn(SECONDS / 3)
    used["steady"] = time.thread_time()


def chance():
    lots = random.Random(1)
    while time.thread_time() < SECONDS / 6:
        burn(lots.uniform(0, 0.05))
        time.sleep(lots.uniform(0, 0.05))
    used["chance"] = time.thread_time()


def rest():
    done.wait()


done = threading.Event()
threads = [
    threading.Thread(target=pattern, args=(name, *times), name=name)
    for name, times in PATTERNS.items()
]
threads += [threading.Thread(target=steady, name="steady")]
threads += [threading.Thread(target=chance, name="chance")]
idle = [threading.Thread(target=rest, name=f"idle-{i}") for i in range(10)]
for thread in threads + idle:
    thread.start()
for thread in threads:
    thread.join()
done.set()
for thread in idle:
    thread.join()
print(json.dumps(used))
