"""Blocks in system calls that a signal must interrupt, again and again, and counts how often it did.

A helper process sends each signal once the main thread sleeps in the call. A call that goes on
although its signal has arrived would last forever: the helper says so and ends the program.
With `siginterrupt(False)` calls must go on instead: the handler runs once the data has come.

interrupts.py TURNS [THREADS]: beside so many threads that compute all the time.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import select
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

TIMEOUT_S = 15
TURNS = int(sys.argv[1])
THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else 0
SIGNALS = (signal.SIGALRM, signal.SIGINT, signal.SIGTERM)
RESTART = 64  # added to the number of a signal whose handler has SA_RESTART

TARGET = os.getpid()
order_in, order_out = os.pipe()  # the signal to send
done_in, done_out = os.pipe()  # the call is over
data_in, data_out = os.pipe()
empty_in, _empty_out = os.pipe()
given = mmap.mmap(-1, 1)  # shared: whether there is data in the pipe
locked = tempfile.NamedTemporaryFile()
listener = socket.create_server(("127.0.0.1", 0))
pair = socket.socketpair()
held = threading.Lock()
held.acquire()


# A thread that waits for the GIL sleeps, too, but wakes up every 5 ms.
QUIET = 40 if THREADS else 2


def wait_until_blocked() -> None:
    quiet, last = 0, -1
    while quiet < QUIET:
        time.sleep(0.0005)
        lines = Path(f"/proc/{TARGET}/task/{TARGET}/status").read_text().splitlines()
        status = dict(line.split(":", 1) for line in lines)
        state, switches = status["State"].split()[0], int(status["voluntary_ctxt_switches"])
        if state == "Z":
            os._exit(0)
        quiet = quiet + 1 if state == "S" and (switches == last or not THREADS) else 0
        last = switches


def help_target() -> None:
    mine = open(locked.name, "r+")
    fcntl.flock(mine, fcntl.LOCK_EX)
    fcntl.lockf(mine, fcntl.LOCK_EX)
    os.write(data_out, b"l")
    while order := os.read(order_in, 1):
        wait_until_blocked()
        os.kill(TARGET, order[0] % RESTART)
        if order[0] > RESTART:
            wait_until_blocked()
            given[0] = 1
            os.write(data_out, b"x")
        if not select.select([done_in], [], [], TIMEOUT_S)[0]:
            os.write(1, b"a blocked call was not interrupted\n")
            os.kill(TARGET, signal.SIGKILL)
        os.read(done_in, 1)


helper = os.fork()
if not helper:
    os.close(order_out)
    try:
        help_target()
    finally:
        os._exit(0)
os.close(order_in)
os.read(data_in, 1)


def compute() -> None:
    while True:
        sum(range(1000))


for _ in range(THREADS):
    threading.Thread(target=compute, daemon=True).start()
print(TARGET, flush=True)
sys.stdin.readline()


class Interrupted(Exception):
    pass


def interrupt(number: int, _frame: object) -> None:
    raise KeyboardInterrupt if number == signal.SIGINT else Interrupted


def interrupted(call: Callable[[], object], number: int) -> bool:
    try:
        os.write(order_out, bytes([number]))
        call()
    except KeyboardInterrupt:
        return number == signal.SIGINT
    except Interrupted:
        return number != signal.SIGINT
    finally:
        os.write(done_out, b"d")
    return False


CALLS: dict[str, Callable[[], object]] = {
    "read": lambda: os.read(empty_in, 1),
    "accept": listener.accept,
    "recv": lambda: pair[0].recv(1),
    "waitpid": lambda: os.waitpid(helper, 0),
    "flock": lambda: fcntl.flock(locked, fcntl.LOCK_EX),
    "lockf": lambda: fcntl.lockf(locked, fcntl.LOCK_EX),
    "lock": held.acquire,
    "sleep": lambda: time.sleep(1000),
    "select": lambda: select.select([empty_in], [], []),
}
for number in SIGNALS:
    signal.signal(number, interrupt)
counts = {
    name: sum(interrupted(call, SIGNALS[turn % len(SIGNALS)]) for turn in range(TURNS))
    for name, call in CALLS.items()
}

# ---- handlers with SA_RESTART, beside others without

early = ran = 0


def count(_number: int, _frame: object) -> None:
    global early, ran
    ran += 1
    early += not given[0]


signal.signal(signal.SIGALRM, count)
signal.siginterrupt(signal.SIGALRM, False)
restarted = 0
for turn in range(TURNS):
    given[0] = 0
    os.write(order_out, bytes([RESTART + signal.SIGALRM]))
    restarted += os.read(data_in, 1) == b"x"
    os.write(done_out, b"d")
    # Those of the other kind still interrupt.
    counts["read"] += interrupted(CALLS["read"], signal.SIGTERM)

os.close(order_out)
os.waitpid(helper, 0)
print(json.dumps({"interrupted": counts, "restarted": restarted, "ran": ran, "early": early}))
