#!/usr/bin/env python3
"""A shop that looks at its own profile while it runs, and remembers the answers that are worth it.

    python examples/adapts.py
    python examples/adapts.py --stubborn    the same without adapting

Some of its functions give the same answer to the same question, and could remember it. Remembering
takes memory, so nobody wants it everywhere, and who knows beforehand what customers will ask?
Every half second the program asks its session what was hot. A function that takes much of the time
*because it is called often* is exchanged for one that remembers. One that takes as much because a
single call lasts so long is left alone: it would be asked once and never again. A profile that
counts samples only cannot tell the two apart; this one counts activations, too.
"""

from __future__ import annotations

import functools
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import sonde

COLOURS = ("red", "green", "blue", "black", "white", "golden", "purple", "orange")
THINGS = ("kettle", "teapot", "saucer", "candle", "basket", "blanket", "pillow", "mirror")
ARTICLES = [f"{colour} {thing}" for colour in COLOURS for thing in THINGS]

SECONDS = 4.0
LOOK_S = 0.5
WORTH_IT = 0.2
"""Of the CPU time: a function below this is not worth the memory."""
OFTEN = 20
"""Activations that samples must have found between two looks."""

may_remember: dict[str, Remembering] = {}


class Remembering:
    """A function that may begin to remember its answers at any time."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = self.now = function
        may_remember[function.__qualname__] = self

    def __call__(self, *question: Any) -> Any:
        return self.now(*question)

    def begin(self) -> None:
        self.now = functools.lru_cache(maxsize=1000)(self.function)


def distance(a: str, b: str) -> int:
    """How many letters have to change: the textbook's way, in pure Python."""
    above = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        row = [i]
        for j, right in enumerate(b):
            change = above[j] + (left != right)
            row.append(min(change, row[j] + 1, above[j + 1] + 1))
        above = row
    return above[-1]


@Remembering
def meant(typed: str) -> str:
    """The article that somebody meant who typed this."""
    return min(ARTICLES, key=lambda article: distance(typed, article))


@Remembering
def price(article: str) -> float:
    return sum(map(ord, article)) % 97 + 0.99


@Remembering
def yearly(seed: int) -> float:
    """One call that takes long: the same share of the time, and nothing to be gained."""
    total = 0.0
    for n in range(6_000_000):
        total += (n ^ seed) & 7
    return total


def customers() -> list[str]:
    """What they type: few things, and not quite right."""
    chance = random.Random(7)
    typed = []
    for article in chance.sample(ARTICLES, 20):
        letters = list(article)
        letters[chance.randrange(len(letters))] = chance.choice("aeiou")
        typed.append("".join(letters))
    return typed


class Shop:
    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.orders = self.looked_at = 0

    def serve(self, seconds: float) -> None:
        chance, typed = random.Random(1), customers()
        summed_up = 0.0
        while (now := time.perf_counter() - self.began) < seconds:
            if now - summed_up > 1.5:
                yearly(self.orders)
                summed_up = time.perf_counter() - self.began
            price(meant(chance.choice(typed)))
            self.orders += 1

    def look(self, profile: Any) -> None:
        """What to do about the last half second."""
        served = (self.orders - self.looked_at) / (profile.for_ns / 1e9)
        self.looked_at = self.orders
        done = []
        for name, known in may_remember.items():
            if known.now is not known.function:
                continue
            # All that was spent in it or in what it called, by the chains of the hot contexts.
            spent = sum(
                row.own_ns
                for row in profile.hot
                if any(frame.function.name == name for frame in row.chain)
            )
            calls = sum(e.activations for e in profile.hot_edges if e.callee.name == name)
            share = spent / profile.total_ns if profile.total_ns else 0.0
            if share < WORTH_IT:
                continue
            if calls >= OFTEN and "--stubborn" not in sys.argv:
                known.begin()
                done.append(f"{name} remembers from now on")
            else:
                done.append(f"{name} is left alone")
            done[-1] += f" ({share:.0%} of the time, {calls} calls seen)"
        at = time.perf_counter() - self.began
        print(f"{at:4.1f} s {served:9,.0f} orders/s   {'; '.join(done)}".rstrip(), flush=True)


def main() -> None:
    shop = Shop()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "shop.sonde")
        with sonde.record(path, what="cpu", online=True) as session:
            session.every(LOOK_S, shop.look, top=100, purge=True)
            shop.serve(SECONDS)
    print(f"{shop.orders:,} orders in {SECONDS:g} seconds")


if __name__ == "__main__":
    main()
