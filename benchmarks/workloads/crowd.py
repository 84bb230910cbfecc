"""A large recording of many threads that run, wait and queue for locks, for what the page can take.

    crowd.py PATH SAMPLES CONTEXTS THREADS CONTENTIONS

Eight threads run at a time. One that comes back brings the sample of its wait. Now and then some
threads queue for a lock and get it one after the other, so that every wait has several owners.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

# Started as a script, too, in a folder of benchmarks/.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from sonde.row_values import ACQUIRED, PREEMPTED, RELEASED, RUNNING, WAIT_BEGIN, WAITING
from workloads.synthetic import FLUSH_NS, FUNCTIONS, LINES_A_FUNCTION, PERIOD_NS, _parent

CORES = 8
LOCKS = 40
MAX_QUEUE_LENGTH = 8
SITES = 2000
SWITCH = 0.02


class Crowd:
    """What is being written, and how far."""

    def __init__(self, path: Path, threads: int, seed: int) -> None:
        from sonde.recording.write.writer import Writer

        self.draw = random.Random(seed)
        self.threads = threads
        facts = {"program": "crowd.py", "argv": ["crowd.py"], "pid": 100, "rate": 1000}
        self.writer = Writer(path, {**facts, "what": ["cpu", "waits", "locks"]})
        process = (100, 1, "cpython", "3.12.1", "/usr/bin/python3", ["crowd.py"], 0, -1, "")
        self.writer.append("processes", *process)
        for number in range(threads):
            self.writer.append("threads", 0, 100 + number, f"worker-{number}", 0, 0, -1, -1)
        for number in range(FUNCTIONS):
            module = f"/app/package_{number % 40}/module_{number % 200}.py"
            name = f"Class{number % 300}.method_{number}"
            self.writer.append("functions", name, module, 7, "cpython")
        for number in range(LOCKS):
            made_of = "gil" if number == 0 else "semaphore"
            self.writer.append("locks", 0, 0x7F00_0000 + 64 * number, made_of)
        self.depth: list[int] = []
        self.sequence = [0] * LOCKS
        self.seen = [0] * threads
        self.context = [0] * threads
        self.busy_until = [0] * threads
        self.taken_until = [0] * LOCKS
        self.now = 0

    def grow(self, contexts: int) -> None:
        while len(self.depth) < contexts:
            parent = _parent(self.draw, self.depth)
            line = 7 + self.draw.randrange(LINES_A_FUNCTION)
            self.writer.append("contexts", parent, self.draw.randrange(FUNCTIONS), line)
            self.depth.append(0 if parent < 0 else self.depth[parent] + 1)

    def some_context(self) -> int:
        # Few are hot: the third power of a uniform number falls low most of the time.
        return int(len(self.depth) * self.draw.random() ** 3)

    def some_site(self) -> int:
        """A place that takes locks; a program has many stacks, but few of these."""
        return int(min(len(self.depth), SITES) * self.draw.random() ** 2)

    def sample(self, thread: int) -> None:
        if self.draw.random() < 0.8:
            self.context[thread] = self.some_context()
        at = self.now + self.draw.randrange(20_000)
        at = max(at, self.seen[thread] + 1)
        weight = min(PERIOD_NS + self.draw.randrange(-20_000, 20_000), at - self.seen[thread])
        self.writer.append("samples", thread, at, self.context[thread], weight, RUNNING)
        self.seen[thread] = at

    def back(self, thread: int) -> None:
        """A thread that was away tells how long it waited."""
        waited = self.now - self.seen[thread]
        if waited > PERIOD_NS:
            state = PREEMPTED if self.draw.random() < 0.2 else WAITING
            self.writer.append("samples", thread, self.now, self.context[thread], waited, state)
            self.seen[thread] = self.now

    def queue(self, most: int) -> int:
        """Threads that line up for a lock; how many waits that were, none if all are busy."""
        # A thread waits for one lock at a time, and a lock has one queue.
        locks = [int(LOCKS * self.draw.random() ** 2) for _ in range(4)]
        lock = min(locks, key=lambda lock: self.taken_until[lock] > self.now)
        free = [thread for thread in range(self.threads) if self.busy_until[thread] <= self.now]
        size = min(self.draw.randrange(1, MAX_QUEUE_LENGTH + 1), most, len(free) - 1)
        if self.taken_until[lock] > self.now or size < 1:
            return 0
        owner, *waiters = self.draw.sample(free, size + 1)
        at = self.now
        for waiter in waiters:
            at += self.draw.randrange(50_000)
            self.event(waiter, at, lock, WAIT_BEGIN, self.some_site())
        for waiter in waiters:
            at += self.draw.randrange(1_000_000)
            self.event(owner, at, lock, RELEASED, self.some_site())
            self.event(waiter, at + 3000, lock, ACQUIRED, -1)
            self.busy_until[owner] = at
            owner = waiter
        self.busy_until[owner] = self.taken_until[lock] = at + 3000
        return size

    def event(self, thread: int, at: int, lock: int, kind: int, context: int) -> None:
        self.sequence[lock] += 1
        self.writer.append("lock_events", thread, at, lock, self.sequence[lock], kind, context)


def write(
    path: Path, samples: int, contexts: int, threads: int, contentions: int, seed: int = 1
) -> None:
    crowd = Crowd(path, threads, seed)
    draw = crowd.draw
    running = list(range(min(CORES, threads)))
    flushed = waits = 0
    for taken in range(samples):
        # New contexts come fast at first and then ever more rarely, as in a program that warms up.
        share = 1.0 if taken == samples - 1 else (taken / samples) ** 0.3
        crowd.grow(max(int(contexts * share), 1))
        place = taken % len(running)
        crowd.now += PERIOD_NS // len(running)
        if draw.random() < SWITCH:
            others = [thread for thread in draw.sample(range(threads), 20) if thread not in running]
            if others:
                running[place] = others[0]
                crowd.back(others[0])
        crowd.sample(running[place])
        while waits < contentions * (taken + 1) // samples:
            queued = crowd.queue(contentions - waits)
            if not queued:
                break
            waits += queued
        if crowd.now - flushed >= FLUSH_NS:
            crowd.writer.quality({"taken": taken + 1, "lost": 0})
            crowd.writer.flush()
            flushed = crowd.now
    crowd.writer.quality({"sampler": "perf", "rate_asked": 1000, "lost": 0})
    crowd.writer.append("marks", crowd.now // 2, -1, "half of it")
    crowd.writer.close({"duration_ns": crowd.now + PERIOD_NS})


def main() -> None:
    path, *numbers = sys.argv[1:]
    write(Path(path), *map(int, numbers))


if __name__ == "__main__":
    main()
