"""Calls of many kinds, dense and sparse, in rounds that are all alike.

    windows.py CPU_SECONDS

The dense part makes about as many calls in a twentieth of the time of the sparse one: counting as
many calls from each would take them for equals by time.
"""

import math
import sys
import time


class Shape:
    def __init__(self, size):
        self.size = size

    def area(self):
        return self.size

    @property
    def double(self):
        return 2 * self.size


class Square(Shape):
    def area(self):
        return super().area() * self.size


class Disk(Shape):
    def area(self):
        return math.floor(self.size * self.size * 3.14)


SHAPES = [Square(2), Square(3), Square(4), Disk(5)]


def tiny(n):
    return n + 1


def dense():
    total = 0
    for n in range(400):
        total = tiny(total)
        total = tiny(total)
        if n % 8 == 0:
            total += len(SHAPES)
    return total


def areas():
    total = 0
    for _ in range(20):
        for shape in SHAPES:
            total += shape.area()
            total += shape.double
    return total


def slow_one(n):
    total = 0
    for i in range(40):
        total += i * n
    return total


def slow_two(n):
    total = 1
    for i in range(20):
        total ^= i * n
    return total


def sparse():
    out = []
    for n in range(60):
        out.append(slow_one(n))
        slow_two(n)
    return out


def by_key(n):
    return -n


def countdown(n):
    while n:
        yield n
        n -= 1


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def others():
    sorted(range(20), key=by_key)
    for _ in range(5):
        for _ in countdown(4):
            pass
    fibonacci(7)
    return [Shape(n) for n in range(10)]


def round_():
    dense()
    areas()
    sparse()
    others()


def main(seconds):
    end = time.thread_time() + seconds
    rounds = 0
    while True:
        round_()
        rounds += 1
        if rounds % 8 == 0 or not seconds:
            if time.thread_time() >= end:
                return


main(float(sys.argv[1]))
