#!/usr/bin/env python3
"""A catalogue of books whose memory grows with every visitor.

    sonde run -o catalogue.sonde --what +objects examples/catalogue.py
    sonde run -o fixed.sonde --what +objects examples/catalogue.py --fixed

Pages are kept once they are rendered. The key of a page has the visitor's session in it, although
all visitors see the same page: so nearly each request renders a page and keeps it. Baskets are
kept, too, but each visitor leaves some time.
"""

from __future__ import annotations

import argparse
import collections
import random
from dataclasses import dataclass

REQUESTS = 8_000
BOOKS = 60
VISITORS = 200
LINES = 450


@dataclass(frozen=True)
class Request:
    book: int
    session: int


class Catalogue:
    def __init__(self, fixed: bool) -> None:
        self.fixed = fixed
        self.pages: dict[object, bytes] = {}

    def page(self, request: Request) -> bytes:
        key = request.book if self.fixed else (request.book, request.session)
        if key not in self.pages:
            self.pages[key] = self.render(request.book)
        return self.pages[key]

    def render(self, book: int) -> bytes:
        lines = [f"<p>{book}: what the {line}th reader wrote</p>" for line in range(LINES)]
        return "\n".join(lines).encode()


class Shop:
    def __init__(self, fixed: bool) -> None:
        self.catalogue = Catalogue(fixed)
        self.baskets: collections.OrderedDict[int, bytearray] = collections.OrderedDict()

    def handle(self, request: Request) -> int:
        page = self.catalogue.page(request)
        basket = self.baskets.setdefault(request.session, bytearray(20_000))
        if len(self.baskets) > VISITORS:
            self.baskets.popitem(last=False)
        return len(page) + len(basket)


def serve(shop: Shop) -> int:
    draw = random.Random(7)
    return sum(
        shop.handle(Request(draw.randrange(BOOKS), number // 3)) for number in range(REQUESTS)
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="leave the session out of the key")
    shop = Shop(parser.parse_args().fixed)
    sent = serve(shop)
    print(f"{REQUESTS:,} requests, {sent / 1e6:,.0f} MB sent")
