"""The longest steps of event loops, with what they did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.errors import UsageError
from sonde.row_values import TASK
from sonde.views.loops.loop_lag import in_range
from sonde.views.loops.loop_waits import activity
from sonde.views.loops.tasks import Frames, frames, function_at, why_none
from sonde.views.selecting.selection import Selection, threads_of
from sonde.views.selecting.task_filter import keys, of_task, rows_of_tasks

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.selecting.profile import Function

MAX_STACKS = 5


@dataclass(frozen=True)
class StepStack:
    """What a step did in a part of its CPU samples; outermost first."""

    share: float
    chain: Frames

    def to_json(self) -> dict[str, Any]:
        return {"share": self.share, "chain": self.chain}


@dataclass(frozen=True)
class SlowStep:
    time_ns: int
    """When it began."""
    duration_ns: int
    caused_ns: int
    """How long others were ready meanwhile, summed over them."""
    task: int | None
    """None: it was a callback."""
    name: str | None
    coroutine: Function | None
    """The coroutine function, or the function that was called."""
    thread: str
    stacks: list[StepStack]
    """By their share, descending; none if no sample was taken."""

    def to_json(self) -> dict[str, Any]:
        return {
            "time_ns": self.time_ns,
            "duration_ns": self.duration_ns,
            "caused_ns": self.caused_ns,
            "task": self.task,
            "name": self.name,
            "coroutine": None if self.coroutine is None else self.coroutine.to_json(),
            "thread": self.thread,
            "stacks": [stack.to_json() for stack in self.stacks],
        }


@dataclass(frozen=True)
class SlowSteps:
    """By duration, descending."""

    least_ns: int
    rows: list[SlowStep]
    why_none: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"least_ns": self.least_ns, "rows": [row.to_json() for row in self.rows]}


def slow_steps(
    recording: Recording,
    selection: Selection | None = None,
    *,
    least_ns: int = 0,
    top: int | None = None,
) -> SlowSteps:
    """Steps of at least this length; those of less than 1 ms are not all recorded."""
    selection = selection or Selection()
    if selection.span is not None:
        raise UsageError("tasks are in no span; leave out --span, --attribute and --trace")
    steps, tasks = recording.task_steps, recording.tasks
    keep = (steps.duration_ns >= least_ns) & in_range(steps.time, selection)
    keep &= threads_of(recording, selection)[steps.thread]
    if selection.task is not None:
        keep &= of_task(recording, steps.thread, steps.task, selection.task)
    rows = np.flatnonzero(keep)
    rows = rows[np.argsort(-steps.duration_ns[rows], kind="stable")][:top]
    if not len(rows):
        reason = "No step took that long." if len(steps) else why_none(recording)
        return SlowSteps(least_ns, [], reason)
    process = recording.threads.process[steps.thread[rows]]
    whose = rows_of_tasks(recording, keys(process, steps.task[rows]))
    did = activity(recording, rows)
    found = []
    for step, row in zip(rows.tolist(), whose.tolist(), strict=True):
        contexts, shares = did.get(step, (np.zeros(0, np.int64), np.zeros(0)))
        order = np.argsort(-shares, kind="stable")[:MAX_STACKS]
        stacks = [
            StepStack(float(shares[i]), frames(recording, int(contexts[i])))
            for i in order.tolist()
            if contexts[i] >= 0
        ]
        is_task = row >= 0 and int(tasks.kind[row]) == TASK
        function = int(tasks.function[row]) if row >= 0 else -1
        thread = int(steps.thread[step])
        found.append(
            SlowStep(
                time_ns=int(steps.time[step]),
                duration_ns=int(steps.duration_ns[step]),
                caused_ns=int(steps.caused_ns[step]),
                task=int(steps.task[step]) if is_task else None,
                name=tasks.name[row] or None if row >= 0 else None,
                coroutine=function_at(recording, function) if function >= 0 else None,
                thread=recording.threads.name[thread] or str(int(recording.threads.tid[thread])),
                stacks=stacks,
            )
        )
    return SlowSteps(least_ns, found)
