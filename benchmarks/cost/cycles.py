"""Attached to and left 300 times while it serves requests: what fails, and what grows.

The server and its clients are those of the tests (`tests/serving.py`); a test does the same a few
times. Size is that of the server between two recordings.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness.packages import ROOT, Environment
from harness.progress import say
from publish.markdown import Section, verdict

CYCLES = 300
QUICK_CYCLES = 20
# Until everything is made that is made once.
SETTLED = 0.1
NEW_EVERY = 20

sys.path.append(str(ROOT / "tests"))


def attach_and_leave(env: Environment, cycles: int, scratch: Path) -> tuple[list[str], int]:
    """A row of figures, and how many requests or recordings failed."""
    from serving import Load, record_once, size
    from sonde.errors import SondeError

    # libc would go on giving new threads memory of their own, 64 MB of addresses each.
    server = subprocess.Popen(
        [env.python, ROOT / "tests" / "targets" / "serving.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "MALLOC_ARENA_MAX": "1"},
    )
    assert server.stdout is not None
    pid, port = map(int, server.stdout.readline().split())
    load = Load(port, NEW_EVERY)
    sizes, taken, refused, began = [], 0, 0, time.monotonic()
    try:
        for cycle in range(cycles):
            if cycle % 50 == 0:
                say(f"cycles: {env.version}, {cycle} of {cycles}, {load.answered.total()} answers")
            try:
                taken += record_once(pid, scratch / "cycle.sonde")
            except SondeError as error:
                say(f"cycles: {env.version}: {error}")
                refused += 1
            if server.poll() is not None:
                break
            sizes.append(size(pid))
    finally:
        load.end()
        server.communicate()
    seconds = time.monotonic() - began
    settled = sizes[int(cycles * SETTLED) :] or sizes
    parts = (settled[: len(settled) // 2], settled[len(settled) // 2 :])
    grown = [
        f"{max(s[key] for s in parts[0])} → {max(s[key] for s in parts[1])}"
        for key in ("threads", "descriptors", "maps", "resident_kb")
    ]
    died = int(server.returncode != 0)
    failed = len(load.failed) + refused + died
    row = [
        f"CPython {env.version}",
        f"{len(sizes)} in {seconds:.0f} s",
        f"{load.answered.total():,}",
        f"{len(load.failed)}",
        f"{died}",
        f"{taken:,}",
        *grown,
    ]
    return row, failed


def report(section: Section, envs: list[Environment], quick: bool) -> None:
    cycles = QUICK_CYCLES if quick else CYCLES
    rows, failed = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for env in envs:
            row, missed = attach_and_leave(env, cycles, Path(folder))
            rows.append(row)
            failed += missed
    head = [
        "target", "cycles", "requests", "failed", "crashes", "samples", "threads", "descriptors",
        "maps", "resident, KiB",
    ]  # fmt: skip
    title = f"{cycles} times attached to and left under load; most in the first → second half"
    section.table(title, head, rows)
    section.goals([verdict("failed requests, recordings and crashes", failed, 0, "")])
