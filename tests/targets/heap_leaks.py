"""Six leaks, each held by something else, and garbage; one grows by as many as it is told."""

import asyncio
import ctypes
import gc
import os
import sys
import threading


class Cached:
    pass


class Captured:
    pass


class Listed:
    pass


class Raised:
    pass


class Awaited:
    pass


class Native:
    pass


class Uncollected:
    pass


class Catalogue:
    cache = {}

    def find(self, number):
        return self.cache.setdefault(f"product {number}", Cached())


REQUESTS = []
HANDLERS = []
last_error = None


def subscribe():
    captured = [Captured() for _ in range(20)]

    def on_event():
        return captured

    HANDLERS.append(on_event)


def parse(number):
    attempted = [Raised() for _ in range(20)]
    raise ValueError(number, len(attempted))


async def forgotten():
    batch = [Awaited() for _ in range(20)]
    await asyncio.Event().wait()
    return batch


async def serve(ready):
    tasks.append(asyncio.create_task(forgotten(), name="forgotten"))
    await asyncio.sleep(0)
    ready.set()
    await asyncio.Event().wait()


tasks = []
catalogue = Catalogue()
for number in range(20):
    catalogue.find(number)
    REQUESTS.append(Listed())
subscribe()
try:
    parse(1)
except ValueError as error:
    last_error = error
loop_ready = threading.Event()
threading.Thread(target=lambda: asyncio.run(serve(loop_ready)), name="loop", daemon=True).start()
loop_ready.wait()
# What an extension that forgets to give a reference back does.
natives = [Native() for _ in range(20)]
ctypes.pythonapi.Py_IncRef(ctypes.py_object(natives))
del natives
gc.collect()
gc.disable()
for _ in range(20):  # nothing holds these: they wait for a collection
    first, second = Uncollected(), Uncollected()
    first.other, second.other = second, first
del first, second
print(os.getpid(), flush=True)
for line in sys.stdin:
    REQUESTS += [Listed() for _ in range(int(line))]
    print("grown", flush=True)
