"""Burns CPU time in the main interpreter and in two sub-interpreters, on one thread and on another."""

import json
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
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        pass


TEXT = """
import time

def in_sub_{0}(ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        pass

in_sub_{0}({1})
"""

# The objects are kept: up to 3.12 an interpreter goes with the last one that names it.
first, second = interpreters.create(), interpreters.create()
in_main(80_000_000)
run(first, TEXT.format("a", 120_000_000))
thread = threading.Thread(target=run, args=(second, TEXT.format("b", 160_000_000)), name="other")
thread.start()
thread.join()
in_main(40_000_000)
print(json.dumps({"first": int(first), "second": int(second)}))
interpreters.destroy(first)
interpreters.destroy(second)
