"""A profile of the whole machine, kept as a recording that every view can read.

A tick is a sample of its thread. Its stack is the module, as `[module]`, and the symbol in it. The
symbol's file is `<module>`, unless an agent has named a function of the program. What an idle
processor did counts as off-CPU time of the process 0.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from sonde.recording.write.writer import Writer
from sonde.row_values import BUILT_IN, RUNNING, WAITING

if TYPE_CHECKING:
    from sonde.record.system.tprof import LocatedTick, Ticks

RUNTIME = "native"
_FUNCTIONS_OF = {"PYTHON": "cpython", "JAVA": "hotspot"}
NO_PROCESS = 0xFFFFFFFF
"""What the kernel calls a thread that has ended, and one of another pid namespace."""


def write_machine_recording(path: str, ticks: Ticks, argv: list[str]) -> int:
    """Write the file; returns its number of samples."""
    ended = ticks.began_ns + ticks.duration_ns
    kernel = os.uname()
    target: dict[str, Any] = {
        "program": "tprof",
        "argv": argv,
        "pid": None,
        "host": kernel.nodename,
        "kernel": f"{kernel.sysname} {kernel.release} {kernel.machine}",
        "cpus": ticks.processors,
        "what": ["cpu"],
        "rate": ticks.rate,
        "started": time.time() - (time.monotonic_ns() - ticks.began_ns) / 1e9,
        "mode": "normal",
        "session": {"id": os.urandom(8).hex(), "part": 1, "clock_ns": ticks.began_ns},
        "tprof": {"processors": ticks.processors, "lost": ticks.lost},
    }
    writer = Writer(path, target)
    rows = _Rows(writer)
    period = round(1e9 / ticks.rate)
    idle = 0
    for tick in ticks.places:
        state = WAITING if tick.idle else RUNNING
        idle += tick.idle
        at = min(max(tick.time, ticks.began_ns), ended) - ticks.began_ns
        writer.append(
            "samples", rows.thread(tick), at, rows.context(tick), period, state, -1, tick.processor
        )
    for number, ran in rows.ran.items():
        writer.update("threads", number, cpu_ns=ran * period)
    writer.quality(
        {
            "sampler": "perf-cpu-clock",
            "why_not_better": None,
            "rate_asked": ticks.rate,
            "rate_achieved": ticks.rate,
            "running_samples": len(ticks.places) - idle,
            "clock": "CLOCK_MONOTONIC",
            "taken": len(ticks.places),
            "lost": ticks.lost,
            "undecodable": 0,
            "truncated": 0,
            "agent_cpu_ns": 0,
        }
    )
    writer.close({"duration_ns": ticks.duration_ns})
    return len(ticks.places)


class _Rows:
    """The rows that samples refer to, each written when it is first needed."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._processes: dict[tuple[int, str], int] = {}
        self._threads: dict[tuple[int, int, str], int] = {}
        self._functions: dict[tuple[str, str, int, str], int] = {}
        self._contexts: dict[tuple[int, int, int], int] = {}
        self.ran: Counter[int] = Counter()
        """Ticks on CPU, by thread."""

    def thread(self, tick: LocatedTick) -> int:
        # The kernel gives the number 0 to idle processors and to processes of other namespaces.
        key = (tick.pid & NO_PROCESS, tick.process)
        process = self._processes.get(key)
        if process is None:
            process = self._writer.append(
                "processes", key[0], 0, RUNTIME, "", "", [tick.process], 0, -1, ""
            )
            self._processes[key] = process
        named = (process, tick.tid & NO_PROCESS, tick.thread)
        row = self._threads.get(named)
        if row is None:
            row = self._writer.append("threads", *named)
            self._threads[named] = row
        self.ran[row] += not tick.idle
        return row

    def context(self, tick: LocatedTick) -> int:
        module = self._context(-1, (f"[{tick.module}]", BUILT_IN, 0, RUNTIME))
        if tick.file:
            name = tick.symbol.removesuffix(f" {tick.file}:{tick.line}")
            runtime = _FUNCTIONS_OF.get(tick.module, RUNTIME)
            return self._context(module, (name, tick.file, tick.line, runtime))
        return self._context(module, (tick.symbol, f"<{tick.module}>", 0, RUNTIME))

    def _context(self, parent: int, function: tuple[str, str, int, str]) -> int:
        number = self._functions.get(function)
        if number is None:
            number = self._functions[function] = self._writer.append("functions", *function)
        # Which line ran is not known.
        key = (parent, number, 0)
        context = self._contexts.get(key)
        if context is None:
            context = self._contexts[key] = self._writer.append("contexts", *key)
        return context
