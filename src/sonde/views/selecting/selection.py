"""What of a recording a view looks at, in the words of the person who asks."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

import numpy as np

from sonde.errors import UsageError, did_you_mean, invalid
from sonde.model.choice import Choice, Chosen, Time, choose
from sonde.model.cpu_loss import CPU_LOSS_CAUSES, CpuLossCause
from sonde.recording.format.schema import TIME_LIMIT
from sonde.views.selecting.formatting import some
from sonde.views.selecting.span_filter import SpanChoice, within
from sonde.views.selecting.task_filter import in_task

if TYPE_CHECKING:
    from sonde.model.trees.context_tree import Flags
    from sonde.recording.tables import Recording


ALLOCATED, ALIVE = MEMORY = ("allocated", "alive")


@dataclass(frozen=True)
class Selection:
    """Everything of the running time by default."""

    time: Time = "running"
    thread: str | int | None = None
    """A thread's name or its tid; several threads may bear one name."""
    process: int | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    span: SpanChoice | None = None
    """Only what happened inside spans of this name, or with this attribute."""
    cause: CpuLossCause | None = None
    """Of the time taken: by whom; None means all of them."""
    event: str | None = None
    """Not time is counted but events of this name."""
    task: str | None = None
    """Only what ran in tasks of event loops with this name, id or coroutine function."""
    memory: str | None = None
    """Not time is counted but bytes of objects: one of MEMORY."""

    @property
    def narrowed(self) -> bool:
        """Whether it leaves out anything but a kind of time."""
        return replace(self, time="running", cause=None, event=None, memory=None) != Selection()

    def with_time(self, time: Time) -> Selection:
        return replace(self, time=time)


def select(
    time: Time = "running",
    thread: str | int | None = None,
    process: int | None = None,
    start: float | None = None,
    end: float | None = None,
    span: SpanChoice | None = None,
    cause: str | None = None,
    event: str | None = None,
    task: str | None = None,
) -> Selection:
    """A selection in seconds since the recording's start, checked as far as it can be alone."""
    if time not in get_args(Time):
        raise UsageError(
            f"invalid time {time!r}; valid values: 'running', 'waiting', 'wall', 'taken'"
        )
    by = next((known for known in CPU_LOSS_CAUSES if known == cause), None)
    if cause is not None and by is None:
        raise UsageError(invalid("--taken", cause, ("queue", "quota", "steal", "all"), "values"))
    for seconds in (start, end):
        if seconds is not None and not math.isfinite(seconds):
            raise UsageError(f"invalid time {seconds}; give a time range in seconds")
    if start is not None and end is not None and end <= start:
        raise UsageError(
            f"the time range is empty: its end, {end:g} s, must be after its start, {start:g} s"
        )
    return Selection(
        time, thread, process, _nanoseconds(start), _nanoseconds(end), span, by, event, task
    )


def _nanoseconds(seconds: float | None) -> int | None:
    # No recording is longer; what is asked for must fit the columns it is compared with.
    return None if seconds is None else round(max(-TIME_LIMIT, min(seconds * 1e9, TIME_LIMIT)))


def threads_of(recording: Recording, selection: Selection) -> Flags:
    """Which thread rows the selection means; a usage error if it means none."""
    threads = recording.threads
    keep = np.ones(len(threads), dtype=bool)
    if selection.process is not None:
        pids = [process.pid for process in recording.processes]
        if selection.process not in pids:
            raise UsageError(
                f"no process {selection.process} in {recording.path}; "
                f"it has {some([str(pid) for pid in pids])}"
            )
        index = [i for i, pid in enumerate(pids) if pid == selection.process]
        keep &= np.isin(threads.process, index)
    if selection.thread is not None:
        wanted = str(selection.thread)
        named = np.fromiter((name == wanted for name in threads.name), bool, len(threads))
        if wanted.isdecimal():
            named |= threads.tid == int(wanted)
        if not (keep & named).any():
            names = [threads.name[i] or str(threads.tid[i]) for i in np.flatnonzero(keep)]
            hint = did_you_mean(wanted, set(names))
            raise UsageError(
                f"no thread {wanted!r}{hint} in {recording.path}; it has {some(names)}"
            )
        keep &= named
    return keep


def chosen(recording: Recording, selection: Selection) -> Chosen:
    """The samples the selection means."""
    mask = None
    if selection.thread is not None or selection.process is not None:
        mask = threads_of(recording, selection)
    samples = recording.samples
    found = choose(
        Choice(selection.time, mask, selection.start_ns, selection.end_ns),
        samples.thread,
        samples.time,
        samples.weight,
        samples.state,
    )
    if selection.span is not None:
        inside = within(recording, selection.span)[samples.span[found.rows]]
        found = Chosen(found.rows[inside], found.weight[inside])
    if selection.task is not None:
        inside = in_task(recording, found.rows, selection.task)
        found = Chosen(found.rows[inside], found.weight[inside])
    if selection.time != "taken":
        return found
    from sonde.views.selecting.stolen_time import weights

    lost = weights(recording, selection.cause)[found.rows]
    return Chosen(found.rows[lost > 0], lost[lost > 0])
