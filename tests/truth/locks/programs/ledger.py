"""What every program here has: clocks around its own waits and holds, and the telling of them.

A wait is measured inside a function of its own (`take_...`), so whatever sonde says about that
function lies between the two readings of the clock. How much of that time the thread really slept
is known from the kernel: what is neither processor time nor time in the run queue, nor taken from
the whole machine by its host. So

    slept <= what a profiler can have seen <= wall

whatever else the machine does meanwhile.
"""

import json
import threading
import time

now = time.monotonic_ns
HOLD_S = 0.025
ROUNDS = 4

_waits = []
_holds = []


def _run_delay():
    """Nanoseconds this thread was ready to run and did not."""
    with open(f"/proc/self/task/{threading.get_native_id()}/schedstat", "rb", 0) as file:
        return int(file.read().split()[1])


def _steal():
    """Nanoseconds the machine was not there at all, on all processors."""
    with open("/proc/stat", "rb", 0) as file:
        return int(file.readline().split()[8]) * 10_000_000


class Waiting:
    """The readings at the beginning of a wait; `over` takes those at its end.

    `since` are readings by somebody else (clock, processor time, run queue) where Python itself
    cannot take them.
    """

    def __init__(self, scenario):
        self.scenario = scenario
        self.steal = _steal()
        self.delay = _run_delay()
        self.cpu = time.thread_time_ns()
        self.start = now()

    def over(self, since=None):
        end = now()
        start, cpu, delay = since or (self.start, self.cpu, self.delay)
        cpu = time.thread_time_ns() - cpu
        lost = _run_delay() - delay + _steal() - self.steal
        slept = max(0, end - start - cpu - lost)
        _waits.append([self.scenario, start, end, slept])


class Holding:
    """Around the time a function holds what others wait for."""

    def __init__(self, scenario, function):
        self.about = [scenario, function]

    def __enter__(self):
        self.start = now()

    def __exit__(self, *error):
        _holds.append([*self.about, self.start, now()])


def hold(scenario, function, seconds=HOLD_S):
    with Holding(scenario, function):
        time.sleep(seconds)


def against(holder, waiter, rounds=ROUNDS):
    """`waiter()` in this thread while another one is in `holder(ready)`, again and again."""
    for _ in range(rounds):
        ready = threading.Event()
        thread = threading.Thread(target=holder, args=(ready,), name=holder.__name__)
        thread.start()
        ready.wait()
        waiter()
        thread.join()


def books():
    """What this process measured, for another one that tells it."""
    return {"waits": _waits, "holds": _holds}


def add(other):
    _waits.extend(other["waits"])
    _holds.extend(other["holds"])


def tell(scenarios, **more):
    """Prints the truth; `scenarios`: name to kind, waiter's function, owners' functions, ..."""
    print(json.dumps({"scenarios": scenarios, **books(), **more}), flush=True)
