"""Makes calls all the time and tells, whenever it is asked, what its interpreter has been set to.

called.py [THREADS]: until its input ends. A line of input is answered with a line of JSON.
"""

import json
import os
import sys
import threading

done = threading.Event()


def leaf(n):
    return n + 1


def branch(n):
    return leaf(leaf(n)) + len("four")


def work():
    n = 0
    while not done.is_set():
        for _ in range(1000):
            n = branch(n) % 1000


def tools():
    if sys.version_info < (3, 12):
        return [sys.getprofile() is not None]
    return [sys.monitoring.get_tool(number) for number in range(6)]


def main():
    threads = [threading.Thread(target=work) for _ in range(int(sys.argv[1]))]
    for thread in threads:
        thread.start()
    print(os.getpid(), flush=True)
    for _ in sys.stdin:
        print(json.dumps({"tools": tools()}), flush=True)
    done.set()
    for thread in threads:
        thread.join()
    print("over")


main()
