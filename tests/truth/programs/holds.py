"""Keeps sessions with what is in their carts, prints its pid when they are all there, and drops many
other objects until its input ends. Says how many bytes the carts hold."""

import json
import os
import select
import sys

SIZE = 10_000
SESSIONS = 4_000


class Session:
    def __init__(self):
        self.cart = bytes(SIZE)


class App:
    sessions = {}


def log_in(number):
    App.sessions[f"u-{number}"] = Session()


def drop():
    for _ in range(50):
        bytes(SIZE)


for number in range(SESSIONS):
    log_in(number)
    if number % 100 == 0:
        drop()
print(os.getpid(), flush=True)
while not select.select([sys.stdin], [], [], 0.002)[0]:
    drop()
print(json.dumps({"held": SIZE * SESSIONS}))
