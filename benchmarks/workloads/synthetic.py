"""Large recordings made by hand, written the way a recorder writes them: a flush every 100 ms.

    synthetic.py PATH SAMPLES CONTEXTS

The tree is grown like real ones: 2,000 functions, stacks of 10 to 40 frames, most of the time in
few contexts. A thread stays near where it was, so samples in a row share most of their stack.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

FUNCTIONS = 2000
LINES_A_FUNCTION = 8
MAX_DEPTH = 40
FLUSH_NS = 100_000_000
PERIOD_NS = 1_000_000


def write(path: Path, samples: int, contexts: int, seed: int = 1) -> None:
    from sonde.recording.write.writer import Writer

    draw = random.Random(seed)
    target = {"program": "synthetic.py", "argv": ["synthetic.py"], "pid": 100, "rate": 1000}
    writer = Writer(path, target)
    writer.append(
        "processes", 100, 1, "cpython", "3.12.1", "/usr/bin/python3", ["synthetic.py"], 0, -1, ""
    )
    writer.append("threads", 0, 100, "MainThread", 0, 0, -1, -1)
    for number in range(FUNCTIONS):
        module = f"/app/package_{number % 40}/module_{number % 200}.py"
        writer.append("functions", f"Class{number % 300}.method_{number}", module, 7, "cpython")
    depth: list[int] = []
    known = 0
    weights = 0
    now = flushed = 0
    context = 0
    for taken in range(samples):
        # New contexts come fast at first and then ever more rarely, as in a program that warms up.
        due = (
            contexts if taken == samples - 1 else int(contexts * min(1.0, (taken / samples) ** 0.3))
        )
        while known < max(due, 1):
            parent = _parent(draw, depth)
            line = 7 + draw.randrange(LINES_A_FUNCTION)
            writer.append("contexts", parent, draw.randrange(FUNCTIONS), line)
            depth.append(0 if parent < 0 else depth[parent] + 1)
            known += 1
        if draw.random() < 0.8:
            # Few are hot: the square of a uniform number falls low most of the time.
            context = int(known * draw.random() ** 3)
        now += PERIOD_NS
        weight = PERIOD_NS + draw.randrange(-20_000, 20_000)
        weights += weight
        writer.append("samples", 0, now + draw.randrange(20_000), context, weight, 0)
        if now - flushed >= FLUSH_NS:
            writer.quality({"taken": taken + 1, "lost": 0})
            writer.flush()
            flushed = now
    writer.update("threads", 0, end_ns=now, cpu_ns=weights)
    writer.update("processes", 0, end_ns=now)
    writer.quality({"sampler": "perf", "rate_asked": 1000, "taken": samples, "lost": 0})
    writer.close({"duration_ns": now})


def _parent(draw: random.Random, depth: list[int]) -> int:
    if not depth:
        return -1
    for _ in range(4):
        parent = draw.randrange(max(0, len(depth) - 400), len(depth))
        if depth[parent] < MAX_DEPTH:
            return parent
    return draw.randrange(min(len(depth), 10))


def main() -> None:
    path, samples, contexts = sys.argv[1:]
    write(Path(path), int(samples), int(contexts))


if __name__ == "__main__":
    main()
