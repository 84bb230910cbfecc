"""A shop: threads that compute, share a lock and a queue, and sleep. For stores of recordings.

shop.py [HEAVY [SECONDS]]       HEAVY times the work of `price`, for so many seconds of CPU
"""

import queue
import sys
import threading
import time

HEAVY = int(sys.argv[1]) if len(sys.argv) > 1 else 1
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 0.3
stock = threading.Lock()
orders = queue.Queue()


def price(n):
    return sum(i * i for i in range(300 * HEAVY * n))


def pack(depth):
    if depth:
        return pack(depth - 1) + 1
    return len(sorted(str(i) for i in range(600)))


def checkout():
    with stock:
        price(4)
        time.sleep(0.001)


def serve(until):
    while time.process_time() < until:
        checkout()
        pack(6)
        orders.put(1)


def ship():
    while orders.get() is not None:
        pack(2)


until = time.process_time() + SECONDS
servers = [threading.Thread(target=serve, args=(until,), name=f"server-{i}") for i in range(3)]
shipper = threading.Thread(target=ship, name="shipper")
shipper.start()
for server in servers:
    server.start()
for server in servers:
    server.join()
orders.put(None)
shipper.join()
