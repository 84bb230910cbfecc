"""What the kernel says a thread does."""

from __future__ import annotations

import os
import subprocess
import sys

from attaching import until
from sonde.record.system.thread_states import RUNS, thread_states
from sonde.record.targets.candidates import candidates

PROGRAM = """
import os, sys, threading, time
def read(): os.read(os.pipe()[0], 1)
def doze(): time.sleep(60)
def spin():
    while True: pass
other = threading.Lock()
other.acquire()
tids = {}
def named(target):
    tids[target.__name__] = threading.get_native_id()
    target()
def wait(): other.acquire()
for target in (read, doze, wait, spin):
    threading.Thread(target=named, args=(target,), daemon=True).start()
while len(tids) < 4: time.sleep(0.01)
print(*(tids[name] for name in ("read", "doze", "wait", "spin")), flush=True)
sys.stdin.read()
"""


def test_what_threads_wait_for() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            read, doze, wait, spin = map(int, process.stdout.readline().split())

            def told() -> bool:
                states = thread_states(process.pid)
                found = [states[tid].waits_for for tid in (read, doze, wait)]
                return found == ["I/O", "sleep", "futex"] and states[process.pid].waits_for == "I/O"

            until(told, "all threads in their waits", process)
            until(lambda: thread_states(process.pid)[spin].state == RUNS, "spinning", process)
            assert process.pid in {c.pid for c in candidates()}
        finally:
            process.kill()
    assert thread_states(process.pid) == {}
    assert os.getpid() not in {c.pid for c in candidates()}
