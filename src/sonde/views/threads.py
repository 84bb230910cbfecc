"""What did each thread do with its life?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sonde.model.trees.context_tree import Ints, sums
from sonde.recording.tables import Recording
from sonde.views.locks.contentions import contended
from sonde.views.locks.wait_totals import waiting
from sonde.views.selecting.duration import duration_ns, pauses
from sonde.views.selecting.selection import Selection, chosen, threads_of
from sonde.views.selecting.span_filter import covered, named
from sonde.views.selecting.stolen_time import by_thread, is_counted, split_by_processor, within


@dataclass(slots=True)
class ThreadRow:
    """A thread's times in nanoseconds; None is what the recording does not state."""

    tid: int
    name: str
    process: int
    interpreter: int
    start_ns: int
    wall_ns: int
    cpu_ns: int
    wait_ns: dict[str, int]
    run_delay_ns: int | None = None
    steal_ns: int | None = None
    voluntary_switches: int | None = None
    involuntary_switches: int | None = None
    page_faults: int | None = None
    taken_ns: dict[str, int] | None = None
    """By whom: other threads in the queue, the group's quota, the hypervisor."""
    corrected_cpu_ns: int | None = None
    """Without steal time, where the kernel's CPU clock counts that in."""
    metrics: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "tid": self.tid,
            "name": self.name,
            "process": self.process,
            "interpreter": self.interpreter,
            "start_ns": self.start_ns,
            "wall_ns": self.wall_ns,
            "cpu_ns": self.cpu_ns,
            "corrected_cpu_ns": self.corrected_cpu_ns,
            "taken_ns": self.taken_ns,
            "run_delay_ns": self.run_delay_ns,
            "steal_ns": self.steal_ns,
            "wait_ns": self.wait_ns,
            "switches": {
                "voluntary": self.voluntary_switches,
                "involuntary": self.involuntary_switches,
            },
            "page_faults": self.page_faults,
            "metrics": self.metrics,
        }


@dataclass(frozen=True)
class Threads:
    """Threads by CPU time, descending."""

    rows: list[ThreadRow]
    steal_by_processor: float | None = None
    """The share of the counted CPU time whose processor is known: its steal is a share of that
    processor's, of the rest of the whole machine's. None: nothing was counted."""

    def to_json(self) -> dict[str, Any]:
        return {"rows": [row.to_json() for row in self.rows]}


def lives(recording: Recording) -> tuple[Ints, Ints]:
    """From when to when each thread lived, as far as is known.

    Samples show it; and a thread that was seen to wait for a lock lived then, too.
    """
    table, waits = recording.threads, contended(recording).found
    start = table.start_ns.astype(np.int64)
    end = np.where(table.end_ns < 0, duration_ns(recording), table.end_ns)
    np.minimum.at(start, waits.thread, waits.start)
    np.maximum.at(end, waits.thread, waits.end)
    return start, end


def threads(
    recording: Recording, selection: Selection | None = None, *, top: int | None = None
) -> Threads:
    """Life, CPU and waiting time of the selected threads, within the selected range of time.

    CPU time is the kernel's count where the recording has it and the whole life is asked
    for, else the sum of the thread's running samples.
    """
    selection = selection or Selection()
    table, samples = recording.threads, recording.samples
    rows, weight = chosen(recording, selection.with_time("running"))
    ran = sums(samples.thread[rows], weight, len(table))
    waited = waiting(recording, selection)
    start, end = lives(recording)
    cpu = np.where(table.cpu_ns < 0, ran, table.cpu_ns)
    if selection.start_ns is not None:
        start = np.maximum(start, selection.start_ns)
    if selection.end_ns is not None:
        end = np.minimum(end, selection.end_ns)
    if selection.start_ns is not None or selection.end_ns is not None:
        cpu = ran

    wall = np.maximum(end - start, 0)
    for begin, over in pauses(recording):
        wall -= np.maximum(np.minimum(end, over) - np.maximum(start, begin), 0)

    meant = threads_of(recording, selection)
    if selection.span is not None:
        cpu = ran
        wall = _in_spans(recording, selection)
        meant &= (wall > 0) | (ran > 0)

    wanted = np.flatnonzero(meant)
    order = wanted[np.argsort(-cpu[wanted], kind="stable")][:top]
    used = _Used(recording, selection)
    return Threads(
        [
            ThreadRow(
                tid=int(table.tid[i]),
                name=table.name[i],
                process=recording.processes[int(table.process[i])].pid,
                interpreter=int(table.interpreter[i]),
                start_ns=int(start[i]),
                wall_ns=max(0, int(wall[i])),
                cpu_ns=int(cpu[i]),
                wait_ns={kind: int(ns[i]) for kind, ns in waited.items() if ns[i]},
                **used.of(i, int(cpu[i])),
            )
            for i in order.tolist()
        ],
        split_by_processor(recording),
    )


def _in_spans(recording: Recording, selection: Selection) -> Ints:
    """How long each thread was in spans of the chosen name."""
    spans = recording.spans
    low = 0 if selection.start_ns is None else selection.start_ns
    high = duration_ns(recording) if selection.end_ns is None else selection.end_ns
    chosen_ = named(recording, selection.span or "")
    start = np.maximum(spans.start_ns, low)
    end = np.minimum(np.where(spans.end_ns < 0, high, spans.end_ns), high)
    wall = covered(recording, chosen_, start, end)
    for begin, over in pauses(recording):
        wall -= covered(recording, chosen_, np.maximum(start, begin), np.minimum(end, over))
    return wall


# What threads are asked for apart from what has a column of its own.
METRICS = ("migrations", "cycles", "instructions", "cache_misses", "branch_misses")


class _Used:
    """What the metrics say of each thread in the selected range of time."""

    def __init__(self, recording: Recording, selection: Selection) -> None:
        # A step of the metrics knows no spans.
        self._counted = is_counted(recording) and selection.span is None
        if not self._counted:
            return
        metrics, count = recording.metrics, len(recording.threads)
        inside = within(recording, selection.start_ns, selection.end_ns)
        self._taken = by_thread(recording, selection.start_ns, selection.end_ns)
        self._sums: dict[str, Any] = {}
        for name in (
            "run_delay_ns", "voluntary", "involuntary", "minor_faults", "major_faults", *METRICS,
        ):  # fmt: skip
            values = getattr(metrics, name)
            known = inside & (values >= 0)
            if not len(values) or known.any():
                self._sums[name] = sums(metrics.thread[known], values[known], count)
        self._steal_in_cpu = bool(recording.target.get("cpu_includes_steal"))

    def of(self, thread: int, cpu_ns: int) -> dict[str, Any]:
        if not self._counted:
            return {}
        found = {name: int(values[thread]) for name, values in self._sums.items()}
        lost = {cause: int(values[thread]) for cause, values in self._taken.items()}
        return used(found, lost, cpu_ns, self._steal_in_cpu)


def used(
    found: Mapping[str, int], lost: Mapping[Any, int], cpu_ns: int, steal_in_cpu: bool
) -> dict[str, Any]:
    """What a row has of a thread's metrics, those that were counted, and of what others took."""
    faults = [found[name] for name in ("minor_faults", "major_faults") if name in found]
    stolen = lost["hypervisor"]
    return {
        "run_delay_ns": found.get("run_delay_ns"),
        "steal_ns": stolen,
        "voluntary_switches": found.get("voluntary"),
        "involuntary_switches": found.get("involuntary"),
        "page_faults": sum(faults) if faults else None,
        "taken_ns": dict(lost),
        "corrected_cpu_ns": max(cpu_ns - stolen, 0) if steal_in_cpu else cpu_ns,
        "metrics": {name: found[name] for name in METRICS if name in found},
    }
