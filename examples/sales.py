#!/usr/bin/env python3
"""A report of sales from a log, with three problems, each of which runs once for every row.

    sonde run -o sales.sonde examples/sales.py
    sonde run -o fixed.sonde examples/sales.py --fixed

- `rates` reads the table of exchange rates again for each row;
- `AMOUNT` is a regular expression that tries many ways to split a number before it gives up;
- `day` parses each row's date with `strptime`, although few dates occur.

Both variants print the same totals.
"""

from __future__ import annotations

import argparse
import functools
import random
import re
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import date

ROWS = 16_000
CURRENCIES = 40
AMOUNT = re.compile(r"total=((?:\d+\.?)+) (\w+)$")
FIXED_AMOUNT = re.compile(r"total=(\d+\.\d\d) (\w+)$")
TABLE = "\n".join(f"C{number:02};{1 + number / 7:.6f}" for number in range(CURRENCIES))


def log() -> list[str]:
    draw = random.Random(7)
    rows = []
    for number in range(ROWS):
        when = f"2026-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}"
        amount = f"{draw.randrange(100_000) / 100:.2f} C{draw.randrange(CURRENCIES):02}"
        # The number of an order looks like an amount until its last letter.
        order = f"total={draw.randrange(10**7, 10**8)}x"
        rows.append(f"{when} customer={number} {order} total={amount}")
    return rows


def rates() -> dict[str, float]:
    """What one unit of each currency is worth."""
    table = {}
    for line in TABLE.splitlines():
        currency, rate = line.split(";")
        table[currency] = float(rate)
    return table


def day(text: str) -> date:
    return date(*time.strptime(text, "%Y-%m-%d")[:3])


def summarize(
    rows: list[str],
    pattern: re.Pattern[str],
    rates: Callable[[], dict[str, float]],
    day: Callable[[str], date],
) -> dict[int, float]:
    """The sales of each month."""
    months: defaultdict[int, float] = defaultdict(float)
    for row in rows:
        amount = pattern.search(row)
        if amount is None:
            raise SystemExit(f"no amount in {row!r}")
        months[day(row[:10]).month] += float(amount[1]) * rates()[amount[2]]
    return months


def main() -> None:
    parser = argparse.ArgumentParser(description="A report of sales, with three problems.")
    parser.add_argument("--fixed", action="store_true", help="without the problems")
    if parser.parse_args().fixed:
        months = summarize(log(), FIXED_AMOUNT, functools.cache(rates), functools.cache(day))
    else:
        months = summarize(log(), AMOUNT, rates, day)
    for month, total in sorted(months.items()):
        print(f"{month:2} {total:12,.2f}")


if __name__ == "__main__":
    main()
