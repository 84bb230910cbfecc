"""Forks as often as its input asks: on each line so many children, one after another.

Tells their pids and what was warned of; on an empty line it forks until the next one comes.
"""

import json
import os
import select
import sys
import warnings

warned = []
warnings.simplefilter("always")
warnings.showwarning = lambda message, category, *_: warned.append(category.__name__)


def fork():
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child


print(os.getpid(), flush=True)
while line := sys.stdin.readline():
    if line.strip():
        children = [fork() for _ in range(int(line))]
    else:
        children = [fork()]
        print("forks", flush=True)
        while not select.select([sys.stdin], [], [], 0)[0]:
            children.append(fork())
        sys.stdin.readline()
    print(json.dumps({"children": children, "warned": warned}), flush=True)
    warned.clear()
