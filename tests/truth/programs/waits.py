"""Waits of every kind for known times, by the program's own clock, and some work between them."""

import json
import os
import queue
import select
import socket
import subprocess
import sys
import threading
import time

now = time.monotonic_ns
spent = {}
lives = {}


def part(function):
    start = now()
    function()
    name = function.__name__
    spent[name] = spent.get(name, 0) + now() - start


def living(function):
    """A thread's function that notes how long its thread lived, nearly."""

    def run():
        start = now()
        function()
        lives[threading.current_thread().name] = now() - start

    return run


def sleeps():
    for ms in (1, 5, 20, 30):
        time.sleep(ms / 1000)


def reads_a_socket():
    a, b = socket.socketpair()
    with a, b:
        sender = threading.Timer(0.05, b.send, (b"x",))
        sender.start()
        a.recv(1)
        sender.join()


def reads_a_pipe():
    child = subprocess.Popen(["sleep", "0.05"], stdout=subprocess.PIPE)
    child.stdout.read()
    child.stdout.close()
    child.wait()


def polls():
    select.select([], [], [], 0.02)
    poll = select.poll()
    poll.poll(20)
    with select.epoll() as epoll:
        epoll.poll(0.02)


def joins():
    thread = threading.Thread(target=living(lambda: time.sleep(0.06)), name="joined")
    thread.start()
    thread.join()


def waits_for_a_lock():
    lock = threading.Lock()
    lock.acquire()
    threading.Timer(0.05, lock.release).start()
    lock.acquire()


def waits_for_an_event():
    event = threading.Event()
    threading.Timer(0.03, event.set).start()
    event.wait()
    threading.Event().wait(0.03)


def waits_for_a_queue():
    items = queue.Queue()
    threading.Timer(0.05, items.put, (1,)).start()
    items.get()


def works():
    end = time.thread_time_ns() + 60_000_000
    while time.thread_time_ns() < end:
        pass


PARTS = [
    sleeps,
    reads_a_socket,
    reads_a_pipe,
    polls,
    joins,
    waits_for_a_lock,
    waits_for_an_event,
    waits_for_a_queue,
    works,
]


@living
def worker():
    """Works and sleeps beside the others, so that there is a fight for the GIL."""
    end = now() + 300_000_000
    while now() < end:
        for _ in range(20_000):
            pass
        time.sleep(0.002)


def main():
    thread = threading.Thread(target=worker, name="worker")
    # Waits when the recording ends: no wake-up ever tells of that wait.
    waiting = threading.Thread(target=threading.Event().wait, name="endless", daemon=True)
    thread.start()
    waiting.start()
    start = now()
    for function in PARTS:
        part(function)
    thread.join()
    lives["endless"] = now() - start
    print(json.dumps({"spent": spent, "lives": lives}))
    sys.stdout.flush()


main()
