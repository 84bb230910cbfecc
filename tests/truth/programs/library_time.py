"""Functions of a program that have a library do their work, for known times."""

import sys
from pathlib import Path

import told
from told import clock, die, repeat_for, rounds, tell

sys.path.append(str(Path(__file__).parent / "site-packages"))
import ledger_library  # noqa: E402


def in_library(n):
    return ledger_library.total(n)


def called_back(n):
    return ledger_library.each(key, n)


def key(n):
    start = clock()
    while n:
        n -= 1
    inside.append(clock() - start)


def alone(n):
    while n:
        n -= 1


def turn(function, n):
    inside.clear()
    start = clock()
    function(n)
    spent = clock() - start
    for part in inside:
        by_function.add("key", part)
        spent -= part
    by_function.add(function.__name__, spent)


FUNCTIONS = [(in_library, 4), (called_back, 4), (alone, 2)]
UNIT = 400_000
by_function = told.Parts()
inside = []


def main():
    size = {function: repeat_for(function, UNIT) for function, _ in FUNCTIONS}
    for _ in rounds():
        turns = list(FUNCTIONS)
        die.shuffle(turns)
        for function, share in turns:
            turn(function, 1 + int(size[function] * share * die.uniform(0.5, 1.5)))
    return dict(by_function=by_function.as_dict())


tell(main)
