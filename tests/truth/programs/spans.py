"""Spans of known CPU, wait and lock time; what they took is told by the program's own clocks."""

import asyncio
import contextlib
import json
import sys
import threading
import time

import sonde

spent = {}
"""CPU time by span, without those inside."""


def burn(name, ms):
    start = time.thread_time_ns()
    while time.thread_time_ns() < start + ms * 1_000_000:
        pass
    spent[name] = spent.get(name, 0) + time.thread_time_ns() - start


def plain():
    with sonde.span("plain"):
        burn("plain", 150)
    burn("outside", 80)


@sonde.span("outer")
def nested():
    burn("outer", 80)
    with sonde.span("inner"):
        burn("inner", 60)
    with contextlib.ExitStack() as stack:
        stack.enter_context(sonde.span("stacked"))
        burn("stacked", 50)
    burn("outer", 40)


def recursive(n):
    with sonde.span("recursive"):
        burn("recursive", 20)
        if n:
            recursive(n - 1)


@sonde.span("numbers")
def numbers():
    for i in range(5):
        burn("numbers", 10)
        yield i


def consume():
    for _ in numbers():
        burn("consumer", 15)


async def task(name, ms, rounds):
    """The same function for both: only the frame tells whose work it is."""
    with sonde.span(name):
        for _ in range(rounds):
            burn(name, ms)
            await asyncio.sleep(0)


@sonde.span("decorated")
async def decorated():
    for _ in range(10):
        burn("decorated", 4)
        await asyncio.sleep(0)


async def free():
    for _ in range(15):
        burn("free", 5)
        await asyncio.sleep(0)


async def loop():
    await asyncio.gather(task("red", 8, 15), task("blue", 4, 15), decorated(), free())


lock = threading.Lock()
has_it = threading.Event()


def holder():
    with lock:
        has_it.set()
        time.sleep(0.2)


def waits():
    other = threading.Thread(target=holder, name="holder")
    other.start()
    has_it.wait()
    with sonde.span("locked"):
        began = time.monotonic_ns()
        with lock:
            told["locked"] = time.monotonic_ns() - began
    with sonde.span("asleep"):
        began = time.monotonic_ns()
        time.sleep(0.15)
        told["asleep"] = time.monotonic_ns() - began
    other.join()


shared = sonde.span("shared")


def sharing(name):
    with shared, shared:
        burn(name, 60)


told = {}
sonde.mark("begun")
plain()
nested()
recursive(3)
consume()
asyncio.run(loop())
waits()
threads = [threading.Thread(target=sharing, args=(f"shared{i}",)) for i in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sonde.mark("still here")
sonde.pause()
with sonde.span("paused"):
    burn("paused", 50)
sonde.resume()
with sonde.span("resumed"):
    burn("resumed", 50)
print(json.dumps({"spent": spent, **told}))
