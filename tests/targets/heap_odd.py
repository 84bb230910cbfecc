"""Objects of unusual make, for a walk over the heap to get over; prints its pid in a generator."""

import asyncio
import collections
import contextvars
import ctypes
import dataclasses
import datetime
import decimal
import enum
import functools
import gc
import itertools
import os
import sqlite3
import sys
import types
import weakref
import xml.etree.ElementTree as ET

deep = ()
for _ in range(100_000):
    deep = (deep,)
gc.collect()  # which no longer tracks what cannot be part of a cycle


class Many:
    pass


many = Many()
for number in range(2000):
    setattr(many, f"attribute {number}", [number])
classes = [type(f"Class{number}", (), {"number": number}) for number in range(1000)]
instances = [class_() for class_ in classes]
by_tuple = {(number, str(number)): {number} for number in range(1000)}
references = [weakref.ref(instance) for instance in instances]
by_reference = weakref.WeakKeyDictionary(dict.fromkeys(instances[:100], 1))
ordered = collections.OrderedDict((number, number) for number in range(1000))
chained = collections.ChainMap({}, collections.Counter("hello"))


class Structure(ctypes.Structure):
    _fields_ = (("number", ctypes.c_int), ("object", ctypes.py_object))


structure = Structure(1, [1, 2])


class Colour(enum.Enum):
    RED = 1


@dataclasses.dataclass(slots=True)
class Point:
    x: int
    y: str


points = [Point(number, str(number)) for number in range(100)]


class Text(str):
    pass


class Number(int):
    pass


class Pair(tuple):
    pass


class Items(list):
    pass


class Meta(type):
    def __getattribute__(cls, name):
        raise AssertionError("code of the program ran")


class Guarded(metaclass=Meta):
    def __sizeof__(self):
        raise AssertionError("code of the program ran")

    __len__ = __hash__ = __repr__ = __sizeof__


class Mixed:
    __slots__ = ("__dict__", "__weakref__", "slot")


guarded, mixed = Guarded(), Mixed()
mixed.slot, mixed.late = [1], [2]
subclassed = [Text("text" * 100), Number(5), Pair((1, [2])), Items([1, [2]])]
for one in subclassed:
    one.attribute = [one]
try:
    try:
        raise ValueError(1)
    except ValueError as first:
        raise KeyError(2) from first
except KeyError as second:
    group = ExceptionGroup("group", [second])
variable = contextvars.ContextVar("variable", default=[1])
others = [
    contextvars.copy_context(), memoryview(bytearray(100)), iter([1]), zip([1], [2]),
    itertools.chain([1], [2]), types.SimpleNamespace(a=[1]), functools.partial(print, 1, end=""),
    decimal.Decimal("1.5"), datetime.datetime(2026, 1, 1), sqlite3.connect(":memory:"),
    compile("x = 1", "file", "exec"), ET.fromstring("<a><b c='1'>t</b></a>"), asyncio.Event(),
    "x" * 5_000_000, b"y" * 1_000_000, 10**5000, "\ud800", float("nan"), ..., NotImplemented,
]  # fmt: skip
kept = many.__dict__
many.__dict__ = {"replaced": [1]}
globals()["ключ"] = ["of a name that is not ASCII"]
gc.freeze()
young = [Many() for _ in range(10)]


def outer():
    waiting = ["outer"]
    yield from inner()
    yield waiting


def inner():
    waiting = ["inner"]
    print(os.getpid(), flush=True)
    sys.stdin.read()
    yield waiting


list(outer())
