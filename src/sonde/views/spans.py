"""What did each named part of the work take: wall, CPU and waiting time?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.errors import UsageError, invalid
from sonde.model.trees.context_tree import ContextTree, sums
from sonde.row_values import RUNNING
from sonde.views.locks.contentions import contended
from sonde.views.locks.wait_totals import waiting_in_spans
from sonde.views.selecting.duration import duration_ns, pauses
from sonde.views.selecting.selection import Selection, chosen, threads_of
from sonde.views.selecting.span_filter import within
from sonde.views.selecting.stolen_time import by_sample, is_counted
from sonde.views.selecting.task_filter import keys, of_task, rows_of_tasks

if TYPE_CHECKING:
    from sonde.model.trees.context_tree import Ints
    from sonde.recording.tables import Recording

BY = ("name", "task")
NO_TASK = "[no task]"


@dataclass(frozen=True)
class SpanRow:
    """All spans of one name; times in nanoseconds.

    CPU and waiting time include those of spans entered inside. Recursion counts once.
    """

    name: str
    count: int
    """How often it was entered and left."""
    open: int
    """Not left before the recording ended; in no sum of wall time."""
    wall_ns: int
    mean_ns: int
    p50_ns: int
    p99_ns: int
    max_ns: int
    cpu_ns: int
    wait_ns: dict[str, int]
    """By kind, as in the view of threads."""
    lock_wait_ns: int
    """For locks and the GIL, while another thread had them."""
    run_delay_ns: int | None = None
    """Run-queue latency, with `throttled_ns`; None, as the next two, where it was not counted."""
    throttled_ns: int | None = None
    """The part of it in which the control group had used up its quota."""
    steal_ns: int | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Spans:
    """Names by wall time, descending."""

    rows: list[SpanRow]

    def to_json(self) -> dict[str, Any]:
        return {"rows": [row.to_json() for row in self.rows]}


def spans(
    recording: Recording,
    selection: Selection | None = None,
    *,
    by: str = "name",
    top: int | None = None,
) -> Spans:
    """`by` is "name" or "task": the names of the tasks that entered them."""
    selection = selection or Selection()
    if by not in BY:
        raise UsageError(invalid("--by", by, BY, "values for spans"))
    table = recording.spans
    if not len(table):
        return Spans([])
    start, end, keep = _life(recording, selection)
    names: dict[str, int] = {}
    called = table.name if by == "name" else _tasks_of(recording)
    code = np.array([names.setdefault(name, len(names)) for name in called], dtype=np.int64)
    tree = ContextTree(table.parent)
    outer = tree.outermost(code)

    def by_name(own: Ints) -> list[int]:
        total = tree.totals(own)
        summed_up: list[int] = sums(code[outer], total[outer], len(names)).tolist()
        return summed_up

    samples = recording.samples
    picked, weight = chosen(recording, selection.with_time("running"))
    mine = (samples.span[picked] >= 0) & (samples.state[picked] == RUNNING)
    cpu = by_name(sums(samples.span[picked][mine], weight[mine], len(table)))
    waits = {
        kind: by_name(ns) for kind, ns in waiting_in_spans(recording, selection).items() if ns.any()
    }
    lock_wait = by_name(_lock_wait(recording, selection))
    taken = {}
    if is_counted(recording):
        taken = {
            cause: by_name(sums(samples.span[picked][mine], lost[picked][mine], len(table)))
            for cause, lost in by_sample(recording).items()
        }
    left = keep & (table.end_ns >= 0)
    length = np.maximum(end - start, 0)
    for begin, over in pauses(recording):
        length -= np.maximum(np.minimum(end, over) - np.maximum(start, begin), 0)
    rows = []
    by_code = np.argsort(code, kind="stable")
    ends = np.cumsum(np.bincount(code, minlength=len(names)))
    for (name, i), mine in zip(names.items(), np.split(by_code, ends[:-1]), strict=True):
        of_name = mine[keep[mine]]
        if not len(of_name):
            continue
        lengths = np.sort(length[of_name[left[of_name]]])
        rows.append(
            SpanRow(
                name=name,
                count=len(lengths),
                open=len(of_name) - len(lengths),
                wall_ns=int(lengths.sum()),
                mean_ns=int(lengths.mean()) if len(lengths) else 0,
                p50_ns=_quantile(lengths, 0.5),
                p99_ns=_quantile(lengths, 0.99),
                max_ns=_quantile(lengths, 1.0),
                cpu_ns=cpu[i],
                wait_ns={kind: ns[i] for kind, ns in waits.items() if ns[i]},
                lock_wait_ns=lock_wait[i],
                run_delay_ns=taken["queue"][i] + taken["quota"][i] if taken else None,
                throttled_ns=taken["quota"][i] if taken else None,
                steal_ns=taken["hypervisor"][i] if taken else None,
            )
        )
    rows.sort(key=lambda row: (-row.wall_ns, -row.cpu_ns))
    return Spans(rows[:top])


def _tasks_of(recording: Recording) -> list[str]:
    """The name of the task that entered each span."""
    table, tasks = recording.spans, recording.tasks
    process = recording.threads.process[table.thread]
    rows = rows_of_tasks(recording, keys(process, table.task)).tolist()
    return [
        (tasks.name[row] or str(number)) if row >= 0 else NO_TASK
        for row, number in zip(rows, table.task.tolist(), strict=True)
    ]


def _life(recording: Recording, selection: Selection) -> tuple[Ints, Ints, Any]:
    """When each span began and ended within the selected time, and which are meant."""
    table = recording.spans
    start = table.start_ns
    end = np.where(table.end_ns < 0, duration_ns(recording), table.end_ns)
    keep = threads_of(recording, selection)[table.thread]
    if selection.span is not None:
        keep &= within(recording, selection.span)[:-1]
    if selection.task is not None:
        keep &= of_task(recording, table.thread, table.task, selection.task)
    if selection.start_ns is not None:
        keep &= end > selection.start_ns
        start = np.maximum(start, selection.start_ns)
    if selection.end_ns is not None:
        keep &= start < selection.end_ns
        end = np.minimum(end, selection.end_ns)
    return start, end, keep


def _lock_wait(recording: Recording, selection: Selection) -> Ints:
    everything = contended(recording)
    found, rows = everything.rows(selection)
    rows = rows[(everything.span[rows] >= 0) & ~everything.signalling[rows]]
    return sums(everything.span[rows], found.length[rows], len(recording.spans))


def _quantile(ordered: Ints, share: float) -> int:
    """The smallest one that at least this share of all does not exceed."""
    if not len(ordered):
        return 0
    return int(ordered[max(int(np.ceil(share * len(ordered))) - 1, 0)])
