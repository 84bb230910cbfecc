"""Pools of processes of every kind: work, worker restarts, shared things, a worker that dies.

The CPU seconds of each chunk are a line of the file `chunks`.
"""

import multiprocessing
import multiprocessing.pool
import os
import signal
import sys
import time
from concurrent import futures
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import shared_memory

# A pool forks when it likes: what is still in a buffer then would be written twice.
sys.stdout.reconfigure(line_buffering=True)


def compute(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def chunk(n):
    begin = time.thread_time()
    total = compute(20000 + n)
    with open("chunks", "a") as f:
        f.write(f"{time.thread_time() - begin}\n")
    return n, total


def count(lock, total, n):
    for _ in range(n):
        with lock:
            total.value += compute(200) % 2 + 1


def square(name, i):
    memory = shared_memory.SharedMemory(name)
    memory.buf[i] = i * i
    memory.close()


def end_itself(_):
    # How a process ended is known only if the recorder has seen it alive.
    time.sleep(1)
    os.kill(os.getpid(), signal.SIGKILL)


def pools(method):
    context = multiprocessing.get_context(method)
    with context.Pool(2, maxtasksperchild=8) as pool:
        print(method, sum(total for _, total in pool.imap_unordered(chunk, range(24), 2)))
        print(pool.starmap(pow, [(2, 3), (3, 2)]), pool.apply(len, ("four",)))
        pool.close()
        pool.join()
    with futures.ProcessPoolExecutor(2, mp_context=context) as executor:
        print(sum(total for _, total in executor.map(chunk, range(8), chunksize=2)))
    try:
        with futures.ProcessPoolExecutor(1, mp_context=context) as executor:
            list(executor.map(end_itself, range(2)))
    except BrokenProcessPool:
        print("the pool is broken")


def shared():
    context = multiprocessing.get_context("fork")
    lock, total = context.Lock(), context.Value("i", 0, lock=False)
    jobs = [context.Process(target=count, args=(lock, total, 300)) for _ in range(3)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    print("counted", total.value, [job.exitcode for job in jobs])
    memory = shared_memory.SharedMemory(create=True, size=16)
    job = context.Process(target=square, args=(memory.name, 3))
    job.start()
    job.join()
    print("squared", memory.buf[3])
    memory.close()
    memory.unlink()
    with context.Manager() as manager:
        names = manager.dict()
        names["a"] = 1
        print("managed", dict(names))
    job = context.Process(target=compute, args=(10**9,))
    job.start()
    job.terminate()
    job.join()
    print("terminated", job.exitcode)
    with multiprocessing.pool.ThreadPool(3) as threads:
        print("threads", sum(threads.map(compute, [5000] * 30)))


if __name__ == "__main__":
    shared()
    for method in sys.argv[1:]:
        pools(method)
