"""Starts and stops the agent over and over while twenty threads are at work.

restarts.py TIMES: the other side is a bare recorder in a process of its own, which makes memory, arms
events and closes them at any moment, but drains nothing: a start and stop then takes milliseconds.
Prints as JSON how many samples the agent took.
"""

import itertools
import json
import mmap
import os
import random
import socket
import sys
import tempfile
import threading
import time

from sonde.record.shm import layout as shm
from sonde.record.recorder.sampling.samplers import SamplerSet
from sonde.record.session import _load_agent

SLOTS, RING_SIZE = 64, 1 << 14
PERIOD_NS = 100_000
ALL = shm.WHAT_CPU | shm.WHAT_WAITS | shm.WHAT_LOCKS | shm.WHAT_CALLS | shm.WHAT_OBJECTS
THREADS = 20


def record(listener, orders, answers, pid):
    """The bare recorder: one session after the other, until nobody gives orders any more."""
    armings = {}
    while True:
        # what and sampler of the next session
        order = os.read(orders, 64)
        if not order:
            os._exit(0)
        what, sampler = json.loads(order)
        connection, _ = listener.accept()
        connection.recv(shm.HELLO.size)
        size = shm.size_of(SLOTS, RING_SIZE)
        memfd = os.memfd_create("restarts")
        os.ftruncate(memfd, size)
        memory = mmap.mmap(memfd, size)
        shm.CALL_ORDERS.pack_into(memory, shm.CALL_ORDERS_AT, 1, 4, 2 * PERIOD_NS)
        config = shm.CONFIG.pack(
            shm.MAGIC, shm.PROTOCOL, size, PERIOD_NS, SLOTS, RING_SIZE, what, 1
        )
        socket.send_fds(connection, [config], [memfd])
        connection.recv(shm.READY.size)
        waits = bool(what & shm.WHAT_WAITS)
        arming = armings.setdefault((waits, sampler), SamplerSet(PERIOD_NS, sampler))
        arming.set_capture(["cpu", "waits"] if waits else ["cpu"])
        armed = arming.arm(pid)
        connection.send(shm.ARM.pack(shm.MAGIC, armed.code, int(armed.wait_signals), 0))
        connection.close()
        os.read(orders, 64)
        armed.close()
        taken = 0
        for slot in range(SLOTS):
            at = shm.HEADER_SIZE + slot * shm.SLOT_SIZE + shm.HEAD_AT
            _, slot_taken, slot_lost, *_ = shm.SLOT_COUNTS.unpack_from(memory, at)
            taken += slot_taken + slot_lost
        memory.close()
        os.close(memfd)
        os.write(answers, json.dumps(taken).encode())


# ---- the work of the threads

lock = threading.Lock()


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)


def work(n):
    fib(8)
    deep(100)
    sorted(range(30), key=lambda x: -x)
    names = {}
    exec(f"def made_{n}(x):\n    return sum(y for y in range(x))\n", names)
    names[f"made_{n}"](10)
    rows = {str(i): bytes(i) for i in range(100)}
    grown = bytearray()
    for _ in range(40):
        grown += b"x" * 9999
    if len(grown) != 40 * 9999 or sum(map(len, rows.values())) != 4950:
        os._exit(3)
    with lock:
        len(str(n))


def busy():
    for n in itertools.count():
        if done.is_set():
            return
        work(n)


def sleepy():
    while not done.wait(0.001):
        work(0)


def hectic():
    while not done.is_set():
        thread = threading.Thread(target=work, args=(1,))
        thread.start()
        thread.join()


done = threading.Event()


def main():
    times = int(sys.argv[1])
    draw = random.Random(4711)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "socket")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(path)
        listener.listen()
        orders_read, orders = os.pipe()
        answers, answers_write = os.pipe()
        pid = os.getpid()
        if os.fork() == 0:
            os.close(orders)
            os.close(answers)
            try:
                record(listener, orders_read, answers_write, pid)
            finally:
                os._exit(1)
        os.close(orders_read)
        os.close(answers_write)
        sys.setswitchinterval(
            0.0002
        )  # twenty threads want the GIL; the ones who start and stop too
        kinds = [hectic, sleepy] + [busy] * (THREADS - 2)
        threads = [threading.Thread(target=kind) for kind in kinds]
        for thread in threads:
            thread.start()
        agent = _load_agent()
        taken = 0
        for n in range(times):
            sampler = ("perf", "perf", "reader", "cross-core")[n % 4]
            what = draw.choice([shm.WHAT_CPU, ALL, ALL])
            os.write(orders, json.dumps([what, sampler]).encode())
            code = agent.sonde_agent_start(os.fsencode(path), shm.REASON_API)
            if code:
                raise SystemExit(f"start {n}: {os.strerror(code)}")
            time.sleep(draw.choice([0, 0.001, 0.005]))
            # Recorders close their events before the agent stops, or die and close them when they
            # like.
            late = draw.random() < 0.5
            if late:
                agent.sonde_agent_stop()
            os.write(orders, b"stop")
            taken += json.loads(os.read(answers, 64))
            if not late:
                agent.sonde_agent_stop()
        done.set()
        for thread in threads:
            thread.join()
        os.close(orders)
        os.wait()
    print(json.dumps({"taken": taken}))


main()
