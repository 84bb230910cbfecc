"""Calls of every kind, made as densely as they can be: inlined ones and those through C code.

Each part is a list of calls of one kind; who calls whom from which line is found out by an
exhaustive trace of the same program.
"""

import contextlib
import ctypes
import functools
import itertools
import json
import operator
import re

import told
from told import clock, rounds, tell

parts = []


def part(function):
    parts.append(function)
    return function


def small(x):
    return x + 1


# ---- decorators, partial, closures


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


def repeated(times):
    def decorate(function):
        def many(*args):
            for _ in range(times):
                function(*args)

        return many

    return decorate


@logged
@repeated(3)
@logged
def decorated(x):
    return small(x)


@part
def decorators():
    for i in range(40):
        decorated(i)


@part
def partials():
    add = functools.partial(small)
    for i in range(150):
        add(i)
    for f in map(functools.partial(functools.partial, small), range(100)):
        f()


@part
def cached():
    @functools.lru_cache(maxsize=32)
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    for _ in range(8):
        fib.cache_clear()
        fib(30)


# ---- built-in functions that call back


def by_last_digit(x):
    return x % 10


def compare(a, b):
    return (a > b) - (a < b)


@part
def sorting():
    data = list(range(60, 0, -1))
    sorted(data, key=by_last_digit)
    data.sort(key=lambda x: -x)
    sorted(data, key=functools.cmp_to_key(compare))
    min(data, key=by_last_digit)
    max(data, key=by_last_digit)


@part
def mapping():
    for _ in map(small, range(100)):
        pass
    list(filter(by_last_digit, range(100)))
    functools.reduce(lambda a, b: small(a) + b, range(100))
    list(itertools.accumulate(range(60), lambda a, b: a + b))
    list(itertools.starmap(compare, [(1, 2)] * 60))
    list(itertools.takewhile(by_last_digit, range(1, 9)))
    sum(small(x) for x in range(60))
    any(x < 0 for x in map(small, range(60)))


def replacement(match):
    return match.group().upper()


def unknown_to_json(thing):
    return list(thing)


def pairs_seen(pairs):
    return dict(pairs)


@part
def library_callbacks():
    re.sub("[aeiou]", replacement, "a long sentence full of vowels in every word of it" * 2)
    for _ in range(5):
        json.dumps([{1, 2}, {3}, {4, 5}], default=unknown_to_json)
        json.loads('{"a": {"b": 1}, "c": {}}', object_pairs_hook=pairs_seen)


COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


@COMPARE
def compare_ints(a, b):
    return a[0] - b[0]


libc = ctypes.CDLL(None)


@part
def foreign_callbacks():
    numbers = (ctypes.c_int * 24)(*range(24, 0, -1))
    libc.qsort(numbers, 24, 4, compare_ints)


# ---- objects


class Point:
    def __init__(self, x, y):
        self.x = self.shifted(x)
        self.y = y

    def shifted(self, x):
        return small(x)

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    def __lt__(self, other):
        return self.x < other.x

    def __eq__(self, other):
        return self.x == other.x and self.y == other.y

    def __hash__(self):
        return hash(self.x)

    def __repr__(self):
        return f"Point({self.x}, {self.y})"

    @property
    def length(self):
        return small(self.x) + self.y

    @length.setter
    def length(self, value):
        self.x = small(value)

    @functools.cached_property
    def once(self):
        return small(self.x)

    @classmethod
    def origin(cls):
        return cls(0, 0)

    @staticmethod
    def nothing():
        return small(0)

    def __getattr__(self, name):
        if name.startswith("any_"):
            return small(len(name))
        raise AttributeError(name)


class Point3(Point):
    def __init__(self, x, y, z):
        super().__init__(x, y)
        self.z = small(z)


class Made:
    def __new__(cls, *args):
        self = super().__new__(cls)
        small(1)
        return self

    def __init__(self, a):
        self.a = small(a)

    def __del__(self):
        small(self.a)


class Meta(type):
    def __call__(cls, *args):
        small(0)
        return super().__call__(*args)


class ByMeta(metaclass=Meta):
    def __init__(self):
        small(2)


@part
def initialisers():
    for i in range(40):
        Point(i, i)
        Point3(i, i, i)
        Made(i)
        ByMeta()
        Point.origin()


@part
def operators():
    p, q = Point(1, 2), Point(3, 4)
    for _ in range(30):
        p + q
        p < q
        p == q
        hash(p)
        {p: 1, q: 2}[p]
        repr(p)
        [p, q].index(q)
        Point.nothing()
    sorted([p, q, p, q])
    max(p, q)
    operator.add(p, q)


@part
def attributes():
    for i in range(50):
        p = Point(i, i)
        p.length
        p.length = 3
        p.once
        p.once
        p.any_thing
        getattr(p, "any_more")
        getattr(p, "missing", None)
        hasattr(p, "absent")


class Table(dict):
    def __missing__(self, key):
        return small(key)

    def __contains__(self, key):
        return small(key) > 0

    def __getitem__(self, key):
        return super().__getitem__(key)

    def __len__(self):
        return small(0)

    def __call__(self, x):
        return small(x)


class Count:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        self.n -= 1
        if self.n < 0:
            raise StopIteration
        return small(self.n)


@part
def containers():
    t = Table()
    for i in range(40):
        t[i]
        i in t
        len(t)
        t(i)
        bool(t)
    for _ in Count(30):
        pass
    list(Count(30))
    a, b, *c = Count(5)
    dict(zip(Count(20), Count(20)))


# ---- context managers and exceptions


class Managed:
    def __enter__(self):
        return small(1)

    def __exit__(self, *args):
        return small(0) > 0


@contextlib.contextmanager
def managed():
    small(1)
    try:
        yield
    finally:
        small(2)


def fails(depth):
    if depth:
        fails(depth - 1)
    raise KeyError(depth)


@part
def contexts():
    for _ in range(25):
        with Managed(), managed():
            small(3)
        with contextlib.suppress(KeyError):
            fails(4)
        try:
            with Managed():
                fails(2)
        except KeyError:
            small(4)


# ---- comprehensions and lambdas


@part
def comprehensions():
    for _ in range(6):
        [small(x) for x in range(20)]
        {small(x) for x in range(20)}
        {small(x): small(x) for x in range(20)}
        list(small(x) for x in range(20))
        [[small(x) for x in range(y)] for y in range(5)]
        (lambda: [(lambda: small(x))() for x in range(10)])()


# ---- mutual recursion


def even(n):
    return True if n == 0 else odd(n - 1)


def odd(n):
    return False if n == 0 else even(n - 1)


def hanoi(n, a, b, c):
    if n:
        hanoi(n - 1, a, c, b)
        hanoi(n - 1, c, b, a)


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def through_c(n):
    return 0 if n == 0 else max([n], key=lambda m: through_c(m - 1))


@part
def recursion():
    even(90)
    odd(90)
    hanoi(6, "a", "b", "c")
    ackermann(2, 3)
    through_c(25)


taken = told.Parts()


def one(function):
    start = clock()
    for _ in range(5):
        function()
    taken.add(function.__name__, clock() - start)


def main():
    for _ in rounds():
        for function in parts:
            one(function)
    return dict(parts=taken.as_dict())


tell(main)
