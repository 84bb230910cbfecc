"""Starts children in each way that forks: on each line of input the one that it names.

Tells their pids and what was warned of.
"""

import json
import multiprocessing
import os
import pty
import subprocess
import sys
import warnings

warned = []
warnings.simplefilter("always")
warnings.showwarning = lambda message, category, *_: warned.append(
    f"{category.__name__}: {message}"
)


def compute():
    total = 0
    for i in range(2_000_000):
        total += i * i % 7
    return total


def job(queue):
    compute()
    queue.put(os.getpid())


def by_forkpty():
    child, terminal = pty.fork()
    if child == 0:
        compute()
        os._exit(0)
    os.waitpid(child, 0)
    os.close(terminal)
    return child


def by_multiprocessing(method):
    context = multiprocessing.get_context(method)
    queue = context.SimpleQueue()
    process = context.Process(target=job, args=(queue,))
    process.start()
    child = queue.get()
    process.join()
    return child


def by_subprocess():
    # With a function to call first it forks; else it may use vfork.
    child = subprocess.Popen(
        [sys.executable, "-c", "sum(range(3_000_000))"], preexec_fn=lambda: None
    )
    child.wait()
    return child.pid


if __name__ == "__main__":
    print(os.getpid(), flush=True)
    while line := sys.stdin.readline():
        way = line.strip()
        if way == "forkpty":
            child = by_forkpty()
        elif way == "subprocess":
            child = by_subprocess()
        else:
            child = by_multiprocessing(way)
        print(json.dumps({"child": child, "warned": warned}), flush=True)
        warned.clear()
