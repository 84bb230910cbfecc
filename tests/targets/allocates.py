"""Allocates in many threads, with and without the GIL, and checks what it finds in its memory.

allocates.py THREADS [fork] [tracemalloc]: until its input ends.
"""

import os
import random
import sys
import threading
import time
import tracemalloc
import zlib

count, options = int(sys.argv[1]), sys.argv[2:]
done = threading.Event()
wrong = []


class Row:
    def __init__(self, number):
        self.number = number
        self.text = str(number)


def objects():
    kept = []
    while not done.is_set():
        rows = [Row(i) for i in range(300)]
        kept.append({row.text: row for row in rows})
        if len(kept) > 20:
            for table in kept.pop(0).items():
                if table[0] != table[1].text or str(table[1].number) != table[0]:
                    wrong.append(table[0])


def buffers():
    data = os.urandom(100_000)
    while not done.is_set():
        if zlib.decompress(zlib.compress(data, 1)) != data:
            wrong.append("zlib")
        grown = bytearray()
        numbers = []
        for i in range(400):
            grown += b"x" * 97
            numbers.append(i)
        if len(grown) != 400 * 97 or grown.count(b"x") != len(grown) or sum(numbers) != 79800:
            wrong.append("grown")


def children():
    while not done.is_set():
        pid = os.fork()
        if not pid:
            rows = [Row(i) for i in range(2000)]
            os._exit(sum(row.number for row in rows) != 1999000)
        if os.waitpid(pid, 0)[1]:
            wrong.append("child")
        time.sleep(0.01)


def tracing():
    die = random.Random(1)
    while not done.is_set():
        tracemalloc.start()
        time.sleep(die.random() / 20)
        tracemalloc.stop()
        time.sleep(die.random() / 20)


# Up to 3.13 tracemalloc is not safe against allocations without the GIL while it starts and stops.
work = (objects,) if "tracemalloc" in options else (objects, buffers)
threads = [threading.Thread(target=work[i % len(work)]) for i in range(count)]
threads += [threading.Thread(target=f) for f in (children,) if "fork" in options]
threads += [threading.Thread(target=f) for f in (tracing,) if "tracemalloc" in options]
for thread in threads:
    thread.start()
print(os.getpid(), flush=True)
sys.stdin.read()
done.set()
for thread in threads:
    thread.join()
print("wrong", wrong[:5]) if wrong else print("right")
