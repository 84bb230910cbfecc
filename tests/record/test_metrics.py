"""What `--what threads` counts: the threads of the program, not those of the agent."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any, cast

from attaching import until
from sonde.record import procfs
from sonde.record.metrics import Metrics

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


def test_threads_of_the_agent_are_not_told() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        for _ in range(3):
            process.stdout.readline()
        told: list[int] = []
        threads = SimpleNamespace(row=lambda tid, _: told.append(tid), ended_unseen=lambda *_: None)
        writer = SimpleNamespace(append=lambda *_: None)
        target: Any = SimpleNamespace(
            pid=process.pid, threads=threads, writer=writer, origin=0, row=0
        )
        metrics = Metrics(cast("Any", target))
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
