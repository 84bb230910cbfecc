#!/usr/bin/env python3
"""A web shop with two problems: requests wait in line for a lock, and one page is slow.

    sonde run -o shop.sonde examples/webshop.py
    sonde run -o fixed.sonde examples/webshop.py --fixed

- `Stock.reserve` holds the stock's lock while it asks the warehouse over the network, so that all
  orders wait in line for the answers;
- `related` searches a list for each article that it adds to the list: quadratic.

The program starts its own load: a second process is the warehouse and the customers, on loopback.
Both variants answer the same requests, so that two recordings can be compared.
"""

from __future__ import annotations

import argparse
import http.client
import random
import socket
import socketserver
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOOPBACK = "127.0.0.1"
CUSTOMERS = 6
VISITS = 40
WAREHOUSE_S = 0.008
ARTICLES = 800
ORDERS = 40


class Stock:
    """How many of each article are left; the warehouse knows."""

    def __init__(self, fixed: bool) -> None:
        self.lock = threading.Lock()
        self.left: dict[str, int] = {}
        self.fixed = fixed

    def reserve(self, article: str, warehouse: socket.socket) -> int:
        if self.fixed:
            left = ask(warehouse, article)
            with self.lock:
                self.left[article] = left
            return left
        with self.lock:
            self.left[article] = ask(warehouse, article)
            return self.left[article]


def ask(warehouse: socket.socket, article: str) -> int:
    warehouse.sendall(article.encode() + b"\n")
    return int(warehouse.recv(64))


class Catalogue:
    """What was bought together."""

    def __init__(self, fixed: bool) -> None:
        draw = random.Random(7)
        self.orders = [
            [f"article {draw.randrange(ARTICLES)}" for _ in range(ORDERS)] for _ in range(ORDERS)
        ]
        self.fixed = fixed

    def related(self) -> list[str]:
        """Each article of the last orders once, in their order."""
        bought = [article for order in self.orders for article in order]
        return unique_by_hash(bought) if self.fixed else unique(bought)


def unique(articles: list[str]) -> list[str]:
    found: list[str] = []
    for article in articles:
        if article not in found:
            found.append(article)
    return found


def unique_by_hash(articles: list[str]) -> list[str]:
    return list(dict.fromkeys(articles))


class Shop(ThreadingHTTPServer):
    """One thread for each connection."""

    request_queue_size = CUSTOMERS

    def __init__(self, warehouse: int, fixed: bool) -> None:
        super().__init__((LOOPBACK, 0), Page)
        self.warehouse = warehouse
        self.stock = Stock(fixed)
        self.catalogue = Catalogue(fixed)


class Page(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Shop

    def setup(self) -> None:
        super().setup()
        self.warehouse = socket.create_connection((LOOPBACK, self.server.warehouse))

    def finish(self) -> None:
        self.warehouse.close()
        super().finish()

    def do_GET(self) -> None:
        self.answer("\n".join(self.server.catalogue.related()))

    def do_POST(self) -> None:
        article = self.path.removeprefix("/order/")
        self.answer(str(self.server.stock.reserve(article, self.warehouse)))

    def answer(self, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


class Warehouse(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        for article in self.rfile:
            time.sleep(WAREHOUSE_S)
            self.wfile.write(b"%d\n" % len(article))


def visit(port: int) -> None:
    """One customer, who looks at related articles now and then and orders each time."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=60)
    for number in range(VISITS):
        if number % 3 == 0:
            connection.request("GET", "/related")
            connection.getresponse().read()
        connection.request("POST", f"/order/article-{number}")
        connection.getresponse().read()
    connection.close()


def outside() -> None:
    """The second process: prints the warehouse's port, reads the shop's, sends customers there."""
    with socketserver.ThreadingTCPServer((LOOPBACK, 0), Warehouse) as warehouse:
        threading.Thread(target=warehouse.serve_forever, args=(0.02,), daemon=True).start()
        print(warehouse.server_address[1], flush=True)
        port = int(sys.stdin.readline())
        with ThreadPoolExecutor(CUSTOMERS) as customers:
            list(customers.map(visit, [port] * CUSTOMERS))
        warehouse.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description="A web shop with two problems.")
    parser.add_argument("--fixed", action="store_true", help="without the problems")
    parser.add_argument("--outside", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.outside:
        outside()
        return
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, __file__, "--outside"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as others:
        assert others.stdin
        assert others.stdout
        with Shop(int(others.stdout.readline()), chosen.fixed) as shop:
            server = threading.Thread(target=shop.serve_forever, args=(0.02,), name="server")
            server.start()
            others.stdin.write(f"{shop.server_port}\n")
            others.stdin.close()
            failed = others.wait()
            shop.shutdown()
            server.join()
    if failed:
        sys.exit("a customer got no answer")
    print(f"{CUSTOMERS * VISITS} orders in {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
