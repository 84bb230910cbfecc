"""Holds objects of many kinds, and says what the interpreter itself knows of them."""

from __future__ import annotations

import array
import collections
import gc
import json
import os
import sys
import threading


class Plain:
    shared = ["of the class"]

    def __init__(self, number):
        self.number = number
        self.name = f"plain {number}"


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self):
        self.left, self.right = ["left"], ("right", [])


class Mapping(dict):
    pass


class Sequence(list):
    pass


Pair = collections.namedtuple("Pair", "first second")


def enclosing():
    captured = ["captured"]

    def inner():
        return captured

    return inner


def generating():
    waiting = ["in a generator"]
    yield waiting
    yield None


def failing():
    lost = ["in a traceback"]
    raise ValueError(lost)


materialized = Plain(1)
materialized.__dict__["late"] = 1
stored_dict = Plain(2)
kept_dict = stored_dict.__dict__
mapping = Mapping(one=["value"])
mapping.attribute = "of a dict"
sequence = Sequence([["item"]])
generator = generating()
next(generator)
try:
    failing()
except ValueError as error:
    failed = error

PROBES = {
    "int": 2**40,
    "large int": 2**200,
    "float": 2.5,
    "ascii": "ascii" * 50,
    "latin": "größer" * 3,
    "wide": "ż\u4e2d" * 4,
    "emoji": "\U0001f600" * 5,
    "bytes": b"bytes" * 7,
    "bytearray": bytearray(b"x" * 1000),
    "list": [["a"], ["b"], None],
    "grown list": [],
    "tuple": (["a"], "b"),
    "dict": {"key": ["value"], 1: ["other"], ("t",): "x"},
    "large dict": {f"key {i}": [i] for i in range(1000)},
    "set": {"one", "two", 3},
    "large set": set(range(500)),
    "frozenset": frozenset({"x", "y"}),
    "deque": collections.deque([["a"]] * 3),
    "long deque": collections.deque(range(1000)),
    "array": array.array("d", range(100)),
    "defaultdict": collections.defaultdict(list, a=["b"]),
    "instance": Plain(0),
    "slotted": Slotted(),
    "mapping": mapping,
    "sequence": sequence,
    "pair": Pair(["first"], "second"),
    "function": enclosing(),
    "generator": generator,
    "class": Plain,
    "exception": failed,
    "with dict": materialized,
    "kept dict": kept_dict,
}
for _ in range(100):
    PROBES["grown list"].append(["grown"])
# What a size is known of exactly; of others the interpreter does not count all.
SIZED = [
    "int", "large int", "float", "ascii", "latin", "wide", "emoji", "bytes", "bytearray", "list",
    "grown list", "tuple", "dict", "large dict", "set", "large set", "frozenset", "deque",
    "long deque", "array", "defaultdict", "slotted", "pair",
]  # fmt: skip


def describe(name):
    probe = PROBES[name]
    return {
        "id": id(probe),
        "type": f"{type(probe).__module__}.{type(probe).__qualname__}".removeprefix("builtins."),
        "size": sys.getsizeof(probe) if name in SIZED else None,
        "referents": [id(referent) for referent in gc.get_referents(probe)],
        "ids": {
            "name": id(probe.name) if name in ("instance", "with dict") else None,
            "captured": id(probe()) if name == "function" else None,
        },
    }


def main(argument):
    only_local = Plain("local")
    gc.collect()
    gc.disable()
    print(os.getpid(), flush=True)
    for line in sys.stdin:
        if line == "state\n":
            answer = {name: describe(name) for name in PROBES}
            answer["tracked"] = [
                [id(o), type(o).__qualname__] for o in gc.get_objects() if type(o) is not dict
            ]
            answer["local"] = id(only_local)
            print(json.dumps(answer), flush=True)


threading.Thread(target=threading.Event().wait, name="waiter", daemon=True).start()
main("argument")
