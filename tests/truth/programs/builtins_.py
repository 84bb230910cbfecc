"""Time inside C functions, which have no frame of their own: known by function and by line."""

import hashlib
import re
import zlib

import told
from told import clock, die, repeat_for, rounds, tell

BLOCK = b"0123456789abcdef" * 4096
NUMBERS = [die.random() for _ in range(4096)]
WORDS = [str(n) for n in range(2000)]
TEXT = " ".join(WORDS)


def digest(n):
    for _ in range(n):
        hashlib.sha256(BLOCK)


def checksum(n):
    for _ in range(n):
        zlib.crc32(BLOCK)


def ordered(n):
    for _ in range(n):
        sorted(NUMBERS)


def joined(n):
    for _ in range(n):
        " ".join(WORDS)


def replaced(n):
    for _ in range(n):
        TEXT.replace("1", "one")


def summed(n):
    for _ in range(n):
        sum(NUMBERS)


def counted(n):
    for _ in range(n):
        NUMBERS.count(2)


def found(n):
    find = re.compile("19+8").findall
    for _ in range(n):
        find(TEXT)


def unpacked(n):
    # The call is made with an argument list: another instruction, in some versions.
    arguments = (NUMBERS,)
    for _ in range(n):
        max(*arguments, **{"default": 0})


def powered(n):
    for _ in range(n):
        pow(3, 20_000)


# Each function and what it is really in, by the last part of that name.
FUNCTIONS = {
    digest: "sha256",
    checksum: "crc32",
    ordered: "sorted",
    joined: "join",
    replaced: "replace",
    summed: "sum",
    counted: "count",
    found: "findall",
    unpacked: "max",
    powered: "pow",
}


def turn(function, n):
    start = clock()
    function(n)
    taken.add(function.__name__, clock() - start)


taken = told.Parts()


def main():
    size = {function: repeat_for(function, 500_000) for function in FUNCTIONS}
    for _ in rounds():
        turns = list(FUNCTIONS)
        die.shuffle(turns)
        for function in turns:
            turn(function, 1 + int(size[function] * die.uniform(1, 3)))
    names = {function.__name__: name for function, name in FUNCTIONS.items()}
    return dict(parts=taken.as_dict(), names=names)


tell(main)
