"""Fifty threads, each with a function and an amount of CPU time of its own."""

import threading

import told
from told import clock, die, seconds, tell

COUNT = 50

BODY = """
def work_{n}(end):
    count = 0
    while True:
        count = leaf_{n}(count)
        count = leaf_{n}(count)
        if clock() >= end:
            return count

def leaf_{n}(count):
    return count + 1
"""

space = {"clock": clock}
exec(compile("".join(BODY.format(n=n) for n in range(COUNT)), "<workers>", "exec"), space)

spent = {}
lock = threading.Lock()


def start(n, ns):
    begin = clock()
    space[f"work_{n}"](begin + ns)  # line: work
    took = clock() - begin
    with lock:
        spent[n] = took


def main():
    mean = seconds * 1e9 / COUNT
    threads = [
        threading.Thread(target=start, args=(n, int(mean * die.uniform(0.2, 1.8))), name=f"w-{n}")
        for n in range(COUNT)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return dict(spent=spent)


tell(main)
