"""Threads that take locks in every way until a line comes, and forks; says whether all is as it was.

The C functions of the methods are compared by address: `sonde attach` is to leave none of its own.
"""

import ctypes
import os
import sys
import threading
import time


class Method(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p)]


DEFINITION_AT = 40
"""Of a method descriptor: its PyMethodDef."""


def functions():
    found = {}
    for lock in (threading.Lock(), threading.RLock()):
        for name, method in vars(type(lock)).items():
            if type(method).__name__ == "method_descriptor":
                at = ctypes.c_void_p.from_address(id(method) + DEFINITION_AT).value
                found[type(lock).__name__, name] = Method.from_address(at).function
    return found


before = functions()
over = threading.Event()
lock, again, changed = threading.Lock(), threading.RLock(), threading.Condition()
turns = [0]
wrong = []


def work(number):
    while not over.is_set():
        with lock:
            turns[0] += 1
        with again, again:
            pass
        if lock.acquire(timeout=0.001):
            lock.release()
        with changed:
            changed.notify()
            changed.wait(0.0005)
        own = threading.Lock()
        own.acquire()
        del own  # freed while it is held
        try:
            again.release()
            wrong.append(number)
        except RuntimeError:
            pass


def fork():
    child = os.fork()
    if child == 0:
        for _ in range(100):
            with threading.Lock():
                pass
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        wrong.append("fork")


threads = [threading.Thread(target=work, args=(number,)) for number in range(int(sys.argv[1]))]
for thread in threads:
    thread.start()
print(os.getpid(), flush=True)
forking = threading.Thread(
    target=lambda: [(fork(), time.sleep(0.05)) for _ in iter(over.is_set, True)]
)
forking.start()
sys.stdin.readline()
over.set()
for thread in (*threads, forking):
    thread.join()
if functions() != before:
    wrong.append("hooks are left")
print("right" if not wrong else wrong)
