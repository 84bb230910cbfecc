"""What tracemalloc says of a program's own lines: blocks, bytes and the stack of one block."""

import gc
import os
import sys
import threading
import tracemalloc


def compute(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def keep(n):
    return [bytearray(1000 + i) for i in range(n)]


def work(kept, n):
    for _ in range(n):
        compute(2000)
        kept.append(keep(100))


def main():
    if not tracemalloc.is_tracing():
        tracemalloc.start(10)
    before = tracemalloc.get_traced_memory()[0]
    kept = []
    threads = [threading.Thread(target=work, args=(kept, 5)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    snapshot = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, __file__)])
    for row in snapshot.statistics("lineno"):
        if row.size > 10000:
            print(row.traceback[0].lineno, row.count, row.size)
    print([frame.lineno for frame in tracemalloc.get_object_traceback(kept[0][0])])
    # Nothing else is charged to the program: 15 lists of 100, their objects and their bytes.
    print("grown", round(grown / 1e6, 1), len(kept))
    # A child goes on with what was traced.
    if os.fork() == 0:
        print("child", tracemalloc.is_tracing(), len(keep(3)), flush=True)
        os._exit(0)
    os.wait()
    tracemalloc.stop()
    print("stopped", tracemalloc.get_traced_memory(), sys.flags.dev_mode)


main()
