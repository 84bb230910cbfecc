"""What others took from threads that could have run: who, how much, and from which calls.

Three causes: the *queue* (other threads had the processor), the *quota* of the control group, and
the *hypervisor* (steal). Steal time of a processor is divided among the threads that ran on it, in
proportion to the CPU time each used there. A thread whose processor is not known has its share of
the whole machine's (Hofer 5.2). A thread's share of the time its group was throttled is in
proportion to the time it stood in the queue, where the kernel counts that time as well; what is
left of the queue is other threads' doing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

CpuLossCause = Literal["queue", "quota", "hypervisor"]
CPU_LOSS_CAUSES: tuple[CpuLossCause, ...] = get_args(CpuLossCause)


@dataclass(frozen=True)
class Steps:
    """What threads used, step by step: one row per thread that ran or stood in the queue."""

    thread: Ints
    process: Ints
    time: Ints
    cpu_ns: Ints
    run_delay_ns: Ints


@dataclass(frozen=True)
class RunningSamples:
    """Samples of running threads whose processor is known."""

    thread: Ints
    time: Ints
    processor: Ints
    weight: Ints


@dataclass(frozen=True)
class ProcessorSteps:
    """What single processors did since their row before, as each process saw it."""

    process: Ints
    time: Ints
    processor: Ints
    busy_ns: Ints
    steal_ns: Ints


@dataclass(frozen=True)
class Intervals:
    """The same steps of the machine, as each process saw it; in the order of time.

    Busy times are by the clock of the threads' CPU times: with the stolen time if those have it.
    """

    process: Ints
    time: Ints
    busy_ns: Ints
    steal_ns: Ints
    throttled_ns: Ints


def taken(
    steps: Steps,
    intervals: Intervals,
    ran: RunningSamples | None = None,
    by: ProcessorSteps | None = None,
) -> dict[CpuLossCause, Ints]:
    """Nanoseconds each cause took in each step."""
    count = len(intervals.time)
    if not count or not len(steps.time):
        nothing = np.zeros(len(steps.time), np.int64)
        return {"queue": steps.run_delay_ns.copy(), "quota": nothing, "hypervisor": nothing.copy()}
    place = _interval_of(steps, intervals)
    known = place >= 0
    at = np.where(known, place, 0)

    used = _sums(at[known], steps.cpu_ns[known], count)
    # The machine's figures come in ticks: less than our own threads used cannot be meant.
    busy = np.maximum(intervals.busy_ns.astype(np.float64), used)
    steal = intervals.steal_ns.astype(np.float64)
    stolen = np.zeros(len(steps.time))
    unplaced = known
    if ran is not None and by is not None and len(ran.time) and len(by.time):
        parts = placed(steps, ran)
        stolen = stolen_by_processor(steps, parts, by)
        unplaced = known & ~parts.known
        # What is left for the others are the other processors.
        steal = np.maximum(steal - _sums(at[known], stolen[known], count), 0)
        busy = busy - _sums(at[known], np.where(parts.known, steps.cpu_ns, 0)[known], count)
    stolen = np.where(unplaced, _share(steal[at], steps.cpu_ns, busy[at]), stolen)

    queued = _sums(at[known], steps.run_delay_ns[known], count)
    throttled = _share(intervals.throttled_ns[at], steps.run_delay_ns, queued[at])
    quota = np.where(known, np.minimum(throttled, steps.run_delay_ns), 0)
    return {
        "queue": steps.run_delay_ns - quota,
        "quota": quota,
        "hypervisor": np.where(known, np.rint(stolen), 0).astype(np.int64),
    }


@dataclass(frozen=True)
class StepsByProcessor:
    """The CPU time of steps by processor: one row per step and processor."""

    step: Ints
    processor: Ints
    cpu_ns: NDArray[np.float64]
    known: NDArray[np.bool_]
    """Of each step, whether it has a row."""


def placed(steps: Steps, ran: RunningSamples) -> StepsByProcessor:
    """Where each step's CPU time was used, as far as samples of the same thread show.

    A step without a sample was used where the thread had its sample before, or else the next.
    """
    order = np.lexsort((steps.time, steps.thread))
    by_time = np.lexsort((ran.time, ran.thread))
    its_step, its_processor, its_weight = [], [], []
    for one in np.unique(steps.thread).tolist():
        mine = order[slice(*np.searchsorted(steps.thread[order], [one, one + 1]))]
        rows = by_time[slice(*np.searchsorted(ran.thread[by_time], [one, one + 1]))]
        if not len(rows):
            continue
        found = np.searchsorted(steps.time[mine], ran.time[rows])
        inside = found < len(mine)
        its_step.append(mine[found[inside]])
        its_processor.append(ran.processor[rows[inside]])
        its_weight.append(np.maximum(ran.weight[rows[inside]], 1))
        empty = np.ones(len(mine), bool)
        empty[found[inside]] = False
        before = np.searchsorted(ran.time[rows], steps.time[mine[empty]], side="right") - 1
        its_step.append(mine[empty])
        its_processor.append(ran.processor[rows[np.maximum(before, 0)]])
        its_weight.append(np.ones(int(empty.sum()), np.int64))
    if not its_step:
        nothing = np.zeros(0, np.int64)
        return StepsByProcessor(nothing, nothing, np.zeros(0), np.zeros(len(steps.time), bool))
    step, processor = np.concatenate(its_step), np.concatenate(its_processor)
    weight = np.concatenate(its_weight)
    pairs, place = np.unique(np.stack((step, processor)), axis=1, return_inverse=True)
    weights = _sums(place.reshape(-1), weight, pairs.shape[1])
    whole = _sums(step, weight, len(steps.time))
    cpu = steps.cpu_ns[pairs[0]] * weights / whole[pairs[0]]
    return StepsByProcessor(pairs[0], pairs[1], cpu, whole > 0)


ROUNDING_NS = 20_000_000
"""How much less than was used a processor may seem to have been busy: two ticks."""


def stolen_by_processor(
    steps: Steps, parts: StepsByProcessor, by: ProcessorSteps
) -> NDArray[np.float64]:
    """Of each step, what was stolen from the processors it used, in proportion."""
    stolen = np.zeros(len(steps.time))
    process = steps.process[parts.step]
    for its, number in np.unique(np.stack((by.process, by.processor)), axis=1).T.tolist():
        rows = np.flatnonzero((by.process == its) & (by.processor == number))
        mine = np.flatnonzero((process == its) & (parts.processor == number))
        row = np.searchsorted(by.time[rows], steps.time[parts.step[mine]])
        mine, row = mine[row < len(rows)], row[row < len(rows)]
        used = _sums(row, parts.cpu_ns[mine], len(rows))
        whole = used + _others(by.busy_ns[rows] - used)
        share = parts.cpu_ns[mine] / np.where(whole > 0, whole, 1)[row]
        np.add.at(stolen, parts.step[mine], by.steal_ns[rows][row] * share)
    return stolen


def _others(more: NDArray[np.float64]) -> NDArray[np.float64]:
    """What others used of a processor, from how much more it was busy than we used.

    Its figures come in ticks: what a row has too little is made up for in its next row, or each
    rounding up would count as somebody's and none down.
    """
    others, owed = np.zeros(len(more)), 0.0
    for row, extra in enumerate(more.tolist()):
        owed += extra
        others[row] = max(owed, 0.0)
        owed = max(min(owed, 0.0), -ROUNDING_NS)
    return others


def spread(
    thread: Ints,
    time: Ints,
    weight: Ints,
    step_thread: Ints,
    step_time: Ints,
    step_taken: Ints,
) -> Ints:
    """What was taken from the calls that samples stand for.

    Each step's loss goes to its thread's samples of that step, in proportion to the time they stand
    for; a step without samples gives it to the next one that has some, or else to the last.
    """
    lost = np.zeros(len(time), np.int64)
    for one in np.unique(step_thread):
        mine = np.flatnonzero(thread == one)
        steps = np.flatnonzero(step_thread == one)
        if not len(mine):
            continue
        mine = mine[np.argsort(time[mine], kind="stable")]
        steps = steps[np.argsort(step_time[steps], kind="stable")]
        last = len(steps) - 1
        step = np.minimum(np.searchsorted(step_time[steps], time[mine]), last)
        total = _sums(step, weight[mine], len(steps))
        sampled = np.flatnonzero(total > 0)
        if not len(sampled):
            continue
        heir = np.minimum(np.searchsorted(sampled, np.arange(len(steps))), len(sampled) - 1)
        inherited = np.bincount(
            sampled[heir], step_taken[steps].astype(float), minlength=len(steps)
        )
        share = inherited[step] * weight[mine] / np.maximum(total[step], 1)
        # Rounded so that the sum stays what was taken.
        lost[mine] = np.diff(np.rint(np.cumsum(share)), prepend=0.0).astype(np.int64)
    return lost


def _interval_of(steps: Steps, intervals: Intervals) -> Ints:
    """The interval each step belongs to; -1 if there is none."""
    place = np.full(len(steps.time), -1, np.int64)
    for process in np.unique(intervals.process):
        rows = np.flatnonzero(intervals.process == process)
        mine = np.flatnonzero(steps.process == process)
        found = np.searchsorted(intervals.time[rows], steps.time[mine])
        inside = found < len(rows)
        place[mine[inside]] = rows[found[inside]]
    return place


def _sums(
    place: NDArray[np.int64], values: Ints | NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    return np.asarray(np.bincount(place, values.astype(np.float64), count), np.float64)


def _share(amount: Ints | NDArray[np.float64], part: Ints, whole: NDArray[np.float64]) -> Ints:
    of = np.where(whole > 0, whole, 1)
    return np.rint(amount * (part / of)).astype(np.int64)
