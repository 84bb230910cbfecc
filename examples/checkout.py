#!/usr/bin/env python3
"""A shop's checkout with three things wrong, each of a kind that every program knows.

    sonde run --what cpu,waits,locks examples/checkout.py
    sonde run --what cpu,waits,locks examples/checkout.py --repaired

- a hot spot: what a customer typed is compared with every article, letter by letter, each time;
- a lock convoy: the stock's lock is held while the warehouse is asked, so all wait in line;
- a GIL hog: statistics sort everything anew in one long C call, and nobody else runs meanwhile.

It needs nothing but Python and works through the same orders either way, so that two recordings
can be compared.
"""

from __future__ import annotations

import functools
import queue
import random
import sys
import threading
import time

COLOURS = ("red", "green", "blue", "black", "white", "golden", "purple", "orange", "silver", "grey")
THINGS = (
    "kettle",
    "teapot",
    "saucer",
    "candle",
    "basket",
    "blanket",
    "pillow",
    "mirror",
    "curtain",
)
ARTICLES = [f"{colour} {thing}" for colour in COLOURS for thing in THINGS]
ORDERS = 320
CLERKS = 4
WAREHOUSE_S = 0.006
HISTORY = 180_000


def distance(a: str, b: str) -> int:
    """How many letters have to change: the textbook's way, in pure Python."""
    above = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        row = [i]
        for j, right in enumerate(b):
            change = above[j] + (left != right)
            insert, drop = row[j] + 1, above[j + 1] + 1
            cheapest = change if change < insert else insert
            row.append(cheapest if cheapest < drop else drop)
        above = row
    return above[-1]


def meant(typed: str) -> str:
    return min(ARTICLES, key=lambda article: distance(typed, article))


class Stock:
    """How many of each article there are; the warehouse knows, and is far away."""

    def __init__(self, repaired: bool) -> None:
        self.lock = threading.Lock()
        self.known: dict[str, int] = {}
        self.repaired = repaired

    def ask_warehouse(self, article: str) -> int:
        time.sleep(WAREHOUSE_S)
        return len(article)

    def take(self, article: str) -> int:
        if self.repaired:
            left = self.ask_warehouse(article)
            with self.lock:
                self.known[article] = left
            return left
        with self.lock:
            self.known[article] = self.ask_warehouse(article)
            return self.known[article]


class Statistics(threading.Thread):
    """Keeps an eye on prices beside the work."""

    def __init__(self, repaired: bool) -> None:
        super().__init__(name="statistics", daemon=True)
        draw = random.Random(1)
        self.history = [draw.random() for _ in range(HISTORY)]
        self.done = threading.Event()
        self.repaired = repaired
        self.median = 0.0

    def run(self) -> None:
        while not self.done.wait(0.1):
            self.look()

    def look(self) -> None:
        """Of a sample, where all of it would not tell more."""
        prices = self.history[:2000] if self.repaired else self.history
        self.median = sorted(prices)[len(prices) // 2]


def price(article: str, left: int) -> float:
    total = 0.0
    for day in range(300):
        total += (len(article) * 31 + left * day) % 17 / 300
    return total


def clerk(orders: queue.Queue[str | None], stock: Stock, understand: object) -> None:
    while (typed := orders.get()) is not None:
        article = understand(typed)  # type: ignore[operator]
        price(article, stock.take(article))


def main() -> None:
    repaired = "--repaired" in sys.argv[1:]
    draw = random.Random(7)
    mistyped = [article.replace(draw.choice(article), "", 1) for article in ARTICLES]
    typed = (mistyped * ORDERS)[:ORDERS]
    stock, statistics = Stock(repaired), Statistics(repaired)
    understand = functools.cache(meant) if repaired else meant
    orders: queue.Queue[str | None] = queue.Queue()
    clerks = [
        threading.Thread(target=clerk, args=(orders, stock, understand), name=f"clerk-{number}")
        for number in range(1, CLERKS + 1)
    ]
    for thread in (statistics, *clerks):
        thread.start()
    for text in typed:
        orders.put(text)
    for _ in clerks:
        orders.put(None)
    for thread in clerks:
        thread.join()
    statistics.done.set()
    statistics.join()


if __name__ == "__main__":
    main()
