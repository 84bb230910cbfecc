"""Waits once for everything there is to wait for; each function is named after what it waits for."""

import builtins
import concurrent.futures
import io
import logging
import os
import queue
import sys
import threading
import time

HOLD = 0.1
KEPT = []  # or the next lock would lie where the last one lay


def beside(function, *args):
    thread = threading.Thread(target=function, args=args, name=function.__name__)
    thread.start()
    return thread


def held(lock, take):
    def hold():
        with lock:
            taken.set()
            time.sleep(HOLD)

    KEPT.append(lock)
    taken = threading.Event()
    thread = beside(hold)
    taken.wait()
    take(lock)
    thread.join()


def wait_lock():
    def take(lock):
        with lock:
            pass

    held(threading.Lock(), take)


def wait_lock_timeout():
    def take(lock):
        lock.acquire(timeout=HOLD / 4)

    held(threading.Lock(), take)


def wait_rlock():
    def take(rlock):
        with rlock:
            pass

    held(threading.RLock(), take)


def wait_semaphore():
    def take(semaphore):
        semaphore.acquire()

    held(threading.Semaphore(1), take)


def later(function, *args):
    def do_later():
        time.sleep(HOLD)
        function(*args)

    return beside(do_later)


def wait_condition():
    condition = threading.Condition()

    def signal():
        with condition:
            condition.notify()

    with condition:
        thread = later(signal)
        condition.wait()
    thread.join()


def wait_event():
    event = threading.Event()
    thread = later(event.set)
    event.wait()
    thread.join()


def wait_event_timeout():
    threading.Event().wait(HOLD / 4)


def wait_barrier():
    barrier = threading.Barrier(2)
    thread = later(barrier.wait)
    barrier.wait()
    thread.join()


def wait_queue():
    items = queue.Queue()
    thread = later(items.put, 1)
    items.get()
    thread.join()


def wait_full_queue():
    items = queue.Queue(1)
    items.put(0)
    thread = later(items.get)
    items.put(1)
    thread.join()


def wait_simple_queue():
    items = queue.SimpleQueue()
    KEPT.append(items)
    thread = later(items.put, 1)
    items.get()
    thread.join()


def wait_join():
    def ends_later():
        time.sleep(HOLD)

    beside(ends_later).join()


def wait_future():
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        KEPT.append(pool)
        future = pool.submit(time.sleep, HOLD)
        future.result()


def wait_futures():
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        KEPT.append(pool)
        futures = [pool.submit(time.sleep, HOLD)]
        concurrent.futures.wait(futures)


def wait_import():
    def imports():
        import slow_to_import

    builtins.being_imported = threading.Event()
    thread = beside(imports)
    builtins.being_imported.wait()
    import slow_to_import

    thread.join()


def wait_io():
    class Slow(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, buffer):
            being_read.set()
            time.sleep(HOLD)
            buffer[:2] = b"ab"
            return 2

    def reads():
        stream.read(1)

    being_read = threading.Event()
    stream = io.BufferedReader(Slow())
    thread = beside(reads)
    being_read.wait()
    stream.read(1)
    thread.join()


def wait_logging():
    class Slow(logging.Handler):
        def emit(self, record):
            being_logged.set()
            time.sleep(HOLD)

    being_logged = threading.Event()
    logger = logging.getLogger("slow")
    logger.propagate = False
    logger.addHandler(Slow())

    def logs():
        logger.warning("first")

    thread = beside(logs)
    being_logged.wait()
    logger.warning("second")
    thread.join()


def wait_gil():
    waits = []

    def burns():
        while not waits:  # else starting the thread may be what waits for the GIL all the time
            time.sleep(0.001)
        end = time.perf_counter() + 2 * HOLD
        while time.perf_counter() < end:
            pass

    thread = beside(burns)
    waits.append(True)
    while thread.is_alive():
        time.sleep(0.001)


if __name__ == "__main__":
    folder = sys.argv[1]
    with open(os.path.join(folder, "slow_to_import.py"), "w") as module:
        module.write(f"import builtins, time\nbuiltins.being_imported.set()\ntime.sleep({HOLD})\n")
    sys.path.insert(0, folder)
    for name, function in list(globals().items()):
        if name.startswith("wait_"):
            function()
