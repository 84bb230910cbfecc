"""Every kind of thing a thread can wait for, each held or signalled after a known time."""

import _thread
import concurrent.futures
import ctypes
import io
import os
import pathlib
import queue
import sys
import tempfile
import threading
import time

from ledger import HOLD_S, Holding, Waiting, against, hold, tell

scenarios = {}


def scenario(name, kind, owner, signal=False, by=None):
    scenarios[name] = {
        "kind": kind,
        "waiter": f"take_{name}",
        "owners": [owner],
        "signal": signal,
        "by": by or "chain",
    }


# ---- locks that somebody holds

scenario("lock", "lock", "hold_lock")
lock = threading.Lock()


def hold_lock(ready):
    with lock:
        ready.set()
        hold("lock", "hold_lock")


def take_lock():
    lock.acquire()


def wait_lock():
    waiting = Waiting("lock")
    take_lock()
    waiting.over()
    lock.release()


scenario("rlock", "rlock", "hold_rlock")
rlock = threading.RLock()


def hold_rlock(ready):
    with rlock, rlock:
        ready.set()
        hold("rlock", "hold_rlock")


def take_rlock():
    with rlock:
        pass


def wait_rlock():
    waiting = Waiting("rlock")
    take_rlock()
    waiting.over()


scenario("semaphore", "semaphore", "hold_semaphore")
semaphore = threading.Semaphore(1)


def hold_semaphore(ready):
    with semaphore:
        ready.set()
        hold("semaphore", "hold_semaphore")


def take_semaphore():
    semaphore.acquire()


def wait_semaphore():
    waiting = Waiting("semaphore")
    take_semaphore()
    waiting.over()
    semaphore.release()


# The interpreter's lock for C code, taken by C code that has let the GIL go.
scenario("native", "lock", "hold_native")
anyone = ctypes.CDLL(None)
anyone.PyThread_allocate_lock.restype = ctypes.c_void_p
native_lock = ctypes.c_void_p(anyone.PyThread_allocate_lock())


def hold_native(ready):
    anyone.PyThread_acquire_lock(native_lock, 1)
    ready.set()
    hold("native", "hold_native")
    anyone.PyThread_release_lock(native_lock)


def take_native():
    anyone.PyThread_acquire_lock(native_lock, 1)


def wait_native():
    waiting = Waiting("native")
    take_native()
    waiting.over()
    anyone.PyThread_release_lock(native_lock)


# A writer that fills a pipe keeps its file's buffer until somebody empties the pipe.
scenario("io", "io", "hold_io")
CHUNK = 1 << 20


class Announced(io.FileIO):
    """Says when the first bytes are on their way: then the buffer's lock is held."""

    def write(self, data):
        if self.ready:
            self.ready.set()
            self.ready = None
        return super().write(data)


def drain(read_end, size):
    time.sleep(HOLD_S)
    while size > 0:
        size -= len(os.read(read_end, 1 << 16))


def hold_io(ready):
    raw.ready = ready
    with Holding("io", "hold_io"):
        shared.write(b"x" * CHUNK)


def take_io():
    shared.write(b"y")


def wait_io():
    waiting = Waiting("io")
    take_io()
    waiting.over()


def run_io():
    global raw, shared
    for _ in range(4):
        read_end, write_end = os.pipe()
        raw = Announced(write_end, "w")
        shared = io.BufferedWriter(raw)
        drainer = threading.Thread(target=drain, args=(read_end, CHUNK))
        drainer.start()
        against(hold_io, wait_io, rounds=1)
        drainer.join()
        shared.flush()
        os.close(read_end)
        raw.close()


# The second to import a module waits for the first.
scenario("import", "import", "hold_import", signal=True)
folder = tempfile.TemporaryDirectory()
sys.path.insert(0, folder.name)


def hold_import(ready):
    sys.slow_ready = ready
    __import__(name)


def take_import():
    __import__(name)


def wait_import():
    waiting = Waiting("import")
    take_import()
    waiting.over()


def run_import():
    global name
    for number in range(4):
        name = f"slow_{number}"
        text = f"import sys, time\nsys.slow_ready.set()\ntime.sleep({HOLD_S})\n"
        pathlib.Path(folder.name, f"{name}.py").write_text(text)
        against(hold_import, wait_import, rounds=1)


# ---- signals that somebody gives

scenario("condition", "condition", "signal_condition", signal=True)
condition = threading.Condition()
# A notification before anybody waits is lost, and who comes late waits for ever. Set with the
# condition's lock held, which only waiting lets go.
expected = threading.Event()


def signal_condition(ready):
    ready.set()
    expected.wait()
    time.sleep(HOLD_S)
    with condition:
        condition.notify()


def take_condition():
    condition.wait()


def wait_condition():
    with condition:
        expected.set()
        waiting = Waiting("condition")
        take_condition()
        waiting.over()
        expected.clear()


scenario("event", "event", "signal_event", signal=True)


def signal_event(ready):
    ready.set()
    time.sleep(HOLD_S)
    event.set()


def take_event():
    event.wait()


def wait_event():
    waiting = Waiting("event")
    take_event()
    waiting.over()
    event.clear()


event = threading.Event()

scenario("barrier", "barrier", "signal_barrier", signal=True)
barrier = threading.Barrier(2)


def signal_barrier(ready):
    ready.set()
    time.sleep(HOLD_S)
    barrier.wait()


def take_barrier():
    barrier.wait()


def wait_barrier():
    waiting = Waiting("barrier")
    take_barrier()
    waiting.over()


scenario("queue", "queue", "signal_queue", signal=True)
things = queue.Queue()


def signal_queue(ready):
    ready.set()
    time.sleep(HOLD_S)
    things.put(1)


def take_queue():
    things.get()


def wait_queue():
    waiting = Waiting("queue")
    take_queue()
    waiting.over()


scenario("simple_queue", "queue", "signal_simple_queue", signal=True)
simple = queue.SimpleQueue()


def signal_simple_queue(ready):
    ready.set()
    time.sleep(HOLD_S)
    simple.put(1)


def take_simple_queue():
    simple.get()


def wait_simple_queue():
    waiting = Waiting("simple_queue")
    take_simple_queue()
    waiting.over()


# The thread that ends has no frames any more, but its name is known.
scenario("join", "join", "ends", signal=True, by="thread")


def ends():
    gate.wait()
    time.sleep(HOLD_S)


def take_join():
    ending.join()


def run_join():
    global ending, gate
    for _ in range(4):
        gate = threading.Event()
        ending = threading.Thread(target=ends, name="ends")
        ending.start()
        time.sleep(HOLD_S / 5)  # it waits: a thread that never did may have no name in a recording
        gate.set()
        waiting = Waiting("join")
        take_join()
        waiting.over()


# What was asked for has returned when its future is set.
scenario("future", "future", "_WorkItem.run", signal=True)


def take_future():
    future.result()


def run_future():
    global future
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        for _ in range(4):
            future = pool.submit(time.sleep, HOLD_S)
            waiting = Waiting("future")
            take_future()
            waiting.over()


against(hold_lock, wait_lock)
against(hold_rlock, wait_rlock)
against(hold_semaphore, wait_semaphore)
against(hold_native, wait_native)
run_io()
run_import()
against(signal_condition, wait_condition)
against(signal_event, wait_event)
against(signal_barrier, wait_barrier)
against(signal_queue, wait_queue)
against(signal_simple_queue, wait_simple_queue)
run_join()
run_future()
folder.cleanup()
tell(scenarios)
