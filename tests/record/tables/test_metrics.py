"""What `--what threads` counts: the threads of the program, not those of the agent."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from attaching import until
from sonde.record.system import procfs
from sonde.record.tables.metrics import Metrics
from sonde.record.tables.segment import ProcessSegment
from sonde.recording.reader import read

PROGRAM = """
import ctypes, sys, threading
libc = ctypes.CDLL(None)
def named(name):
    libc.prctl(15, name, 0, 0, 0)
    print(flush=True)
    threading.Event().wait()
def late():
    print(flush=True)
    sys.stdin.readline()
    named(b"sonde-late")
for target, args in ((named, (b"sonde-reader",)), (named, (b"worker",)), (late, ())):
    threading.Thread(target=target, args=args, daemon=True).start()
threading.Event().wait()
"""

ENDS = """
import sys, threading
def ends():
    print(threading.get_native_id(), flush=True)
    sys.stdin.readline()
threading.Thread(target=ends).start()
threading.Event().wait()
"""

PAUSES = """
import sys, time
import sonde
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
with sonde.record(sys.argv[1], what=["cpu", "threads"]) as session:
    began = time.thread_time()
    burn(0.25)  # not whole steps
    session.pause()
    paused = time.thread_time()
    burn(0.5)
    resumed = time.thread_time()
    session.resume()
    burn(0.25)
    print(paused - began + time.thread_time() - resumed)
"""


def metrics_of(pid: int, asked: list[int], append: Callable[..., None]) -> Metrics:
    """Of a process whose threads' rows are their ids; `asked`: who was asked for one."""
    threads = SimpleNamespace(
        row=lambda tid, _: asked.append(tid) or tid, ended_unseen=lambda *_: None
    )
    writer = SimpleNamespace(append=append, target=lambda _: None)
    segment = ProcessSegment(pid, "cpython", cast("Any", writer), 0, row=0)
    return Metrics(segment, cast("Any", threads))


def test_a_pause_is_in_no_step(tmp_path: Path) -> None:
    path = tmp_path / "pauses.sonde"
    done = subprocess.run(
        [sys.executable, "-c", PAUSES, path], capture_output=True, text=True, check=True
    )
    recording = read(path)
    metrics = recording.metrics
    main = recording.threads.name.index("MainThread")
    used = int(metrics.cpu_ns[metrics.thread == main].sum())
    # Half of the pause, if it began or ended within a step that is told.
    assert abs(used / 1e9 - float(done.stdout)) < 0.05
    assert metrics.time.tolist() == sorted(metrics.time.tolist())


def test_a_thread_that_has_ended_is_told_of_for_the_last_time_while_it_has_a_row() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ENDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        tid = int(process.stdout.readline())
        asked: list[int] = []
        told: list[tuple[Any, ...]] = []
        metrics = metrics_of(process.pid, asked, lambda *row: told.append(row))
        try:
            print(file=process.stdin, flush=True)
            until(lambda: tid not in procfs.threads_of(process.pid), "its end", process)
            metrics.ended(tid, reported=True)
            assert [row[1] for row in told if row[0] == "metrics"] == [tid]
            asked.clear()
            metrics.step()
            metrics.ended(tid, reported=True)  # nothing is left to tell
            assert process.pid in asked
            assert tid not in asked
        finally:
            metrics.close()
            process.kill()


def test_threads_of_the_agent_are_not_told() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        for _ in range(3):
            process.stdout.readline()
        told: list[int] = []
        metrics = metrics_of(process.pid, told, lambda *_: None)
        try:
            # It is seen before it has its name, as a thread that has just begun.
            print(file=process.stdin, flush=True)

            def names() -> set[str]:
                tids = procfs.threads_of(process.pid)
                return {procfs.name_of(process.pid, tid) for tid in tids}

            until(lambda: "sonde-late" in names(), "all names", process)
            metrics.step()
            metrics.step()
            seen = {procfs.name_of(process.pid, tid) for tid in told}
            assert "worker" in seen
            assert not [name for name in seen if name.startswith("sonde-")]
            assert process.pid in told
        finally:
            metrics.close()
            process.kill()
