"""Burns CPU time in the main interpreter and in two sub-interpreters, on one thread and on another."""

import json
import os
import sys
import threading
import time

if sys.version_info >= (3, 13):
    import _interpreters as interpreters

    def run(number, text):
        failed = interpreters.exec(number, text)
        assert failed is None, failed

else:
    import _xxsubinterpreters as interpreters

    run = interpreters.run_string


def in_main(ns):
    began = now = time.thread_time_ns()
    while now < began + ns:
        now = time.thread_time_ns()
    return now - began


# What it spent goes through a pipe: a clock that jumps takes it further than it was to go.
TEXT = """
import os
import time

def in_sub_{0}(ns):
    began = now = time.thread_time_ns()
    while now < began + ns:
        now = time.thread_time_ns()
    return now - began

os.write({2}, b"%20d" % in_sub_{0}({1}))
"""

read, write = os.pipe()
# The objects are kept: up to 3.12 an interpreter goes with the last one that names it.
first, second = interpreters.create(), interpreters.create()
spent = {"in_main": in_main(80_000_000)}
run(first, TEXT.format("a", 120_000_000, write))
spent["in_sub_a"] = int(os.read(read, 20))
text = TEXT.format("b", 160_000_000, write)
thread = threading.Thread(target=run, args=(second, text), name="other")
thread.start()
thread.join()
spent["in_sub_b"] = int(os.read(read, 20))
spent["in_main"] += in_main(40_000_000)
print(json.dumps({"first": int(first), "second": int(second), "spent": spent}))
interpreters.destroy(first)
interpreters.destroy(second)
