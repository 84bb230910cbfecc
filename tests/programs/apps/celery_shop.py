"""A Celery application without a server: messages and results are files in the folder.

As a program it is the client: sends every kind of task, and prints what became of each.
"""

import json
import os
import pathlib
import signal
import sys
import threading
import time
import uuid

from celery import Celery, chain, group
from celery.exceptions import SoftTimeLimitExceeded
from kombu.transport import filesystem
from kombu.utils.json import dumps


def put_whole(self, queue, payload, **_):
    """As kombu's own, which lets a worker read a message before it is written: that ends it."""
    name = f"{self.data_folder_out}/{time.monotonic_ns():020}_{uuid.uuid4()}"
    pathlib.Path(f"{name}.part").write_text(dumps(payload))
    os.rename(f"{name}.part", f"{name}.{queue}.msg")


filesystem.Channel._put = put_whole
for folder in ("queue", "control", "results"):
    pathlib.Path(folder).mkdir(exist_ok=True)
app = Celery("shop", broker="filesystem://", backend=f"file://{pathlib.Path('results').resolve()}")
app.conf.broker_transport_options = {
    "data_folder_in": "queue",
    "data_folder_out": "queue",
    "control_folder": "control",
    "polling_interval": 0.02,
}
app.conf.broker_connection_retry_on_startup = True
app.conf.worker_lost_wait = 1
till = threading.Lock()
TIMEOUT_S = 60


def price_basket(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


@app.task
def basket(n):
    return {"total": price_basket(n), "pid": os.getpid()}


@app.task
def pay(n):
    with till:
        total = price_basket(n)
        time.sleep(0.002)
    return total


@app.task
def fail(n):
    price_basket(n)
    raise ValueError(f"of the shop: {n}")


@app.task(bind=True, max_retries=2, default_retry_delay=0)
def fails_twice(self):
    if self.request.retries < 2:
        raise self.retry()
    return self.request.retries


@app.task
def slow(seconds):
    pathlib.Path("slow-begins").touch()
    time.sleep(seconds)
    return "slow"


@app.task(soft_time_limit=1)
def endless():
    try:
        while True:
            price_basket(1000)
    except SoftTimeLimitExceeded:
        return "interrupted"


@app.task
def dies():
    os.kill(os.getpid(), signal.SIGKILL)


def become(result):
    """What became of it, without the process id."""
    value = result.get(timeout=TIMEOUT_S, propagate=False, interval=0.02)
    if isinstance(value, dict):
        value = value["total"]
    return [result.state, value if isinstance(value, (int, str)) else type(value).__name__]


def main(asked):
    sent = []
    for name in asked:
        if name == "work":
            sent += [basket.delay(20000 + n) for n in range(40)]
            sent += [pay.delay(5000 + n) for n in range(10)]
            sent += [fail.delay(n) for n in range(3)]
            sent.append(fails_twice.delay())
            sent.append(chain(pay.s(100), basket.s())())
            sent += group(pay.s(n) for n in (10, 20)).delay().results
        elif name == "slow":
            sent.append(slow.delay(1))
        else:
            sent.append({"endless": endless, "dies": dies}[name].delay())
    found = [become(result) for result in sent]
    pids = [result.get()["pid"] for result in sent if isinstance(result.result, dict)]
    print(json.dumps({"became": found, "pids": sorted(set(pids))}))


if __name__ == "__main__":
    import celery_shop  # tasks are named after their module

    celery_shop.main(sys.argv[1:])
