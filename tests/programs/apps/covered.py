"""Branches, threads, generators, a C extension's callbacks and a child, for coverage to look at."""

import functools
import os
import subprocess
import sys
import threading


def classify(n):
    if n % 15 == 0:
        return "both"
    if n % 3 == 0:
        return "three"
    if n % 5 == 0:
        return "five"
    return "none"


def never(n):
    return n + 1


def squares(n):
    for i in range(n):
        if i == n:
            yield never(i)
        yield i * i


def compute(n):
    total = 0
    for i in range(n):
        total += len(classify(i))
    return total


@functools.cache
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


class Job(threading.Thread):
    def run(self):
        try:
            self.total = compute(int(sys.argv[1]))
            raise KeyError(self.total)
        except KeyError as error:
            self.caught = error


def main():
    jobs = [Job() for _ in range(3)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    print([job.total for job in jobs], sum(squares(1000)), fibonacci(60))
    print(sorted(range(20), key=lambda i: -i)[:3])
    subprocess.run([sys.executable, "-c", "print('child')"], check=True)
    if os.fork() == 0:
        compute(100)
        os._exit(0)
    os.wait()


main()
