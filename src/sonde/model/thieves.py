"""What others took from threads that could have run: who, how much, and from which calls.

Three thieves: the *queue* (other threads had the processor), the *quota* of the control group, and
the *hypervisor* (steal). A thread's steal is its share of the machine's, in proportion to the CPU
time it used in the same interval (Hofer 5.2); its share of the time its group was throttled is in
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

Thief = Literal["queue", "quota", "hypervisor"]
THIEVES: tuple[Thief, ...] = get_args(Thief)


@dataclass(frozen=True)
class Steps:
    """What threads used, step by step: one row per thread that ran or stood in the queue."""

    thread: Ints
    process: Ints
    time: Ints
    cpu_ns: Ints
    run_delay_ns: Ints


@dataclass(frozen=True)
class Intervals:
    """The same steps of the machine, as each process saw it; in the order of time."""

    process: Ints
    time: Ints
    busy_ns: Ints
    steal_ns: Ints
    throttled_ns: Ints


def taken(steps: Steps, intervals: Intervals) -> dict[Thief, Ints]:
    """Nanoseconds each thief took in each step."""
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
    stolen = _share(intervals.steal_ns[at], steps.cpu_ns, busy[at])

    queued = _sums(at[known], steps.run_delay_ns[known], count)
    throttled = _share(intervals.throttled_ns[at], steps.run_delay_ns, queued[at])
    quota = np.where(known, np.minimum(throttled, steps.run_delay_ns), 0)
    return {
        "queue": steps.run_delay_ns - quota,
        "quota": quota,
        "hypervisor": np.where(known, stolen, 0),
    }


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


def _sums(place: NDArray[np.int64], values: Ints, count: int) -> NDArray[np.float64]:
    return np.asarray(np.bincount(place, values.astype(np.float64), count), np.float64)


def _share(amount: Ints, part: Ints, whole: NDArray[np.float64]) -> Ints:
    of = np.where(whole > 0, whole, 1)
    return np.rint(amount * (part / of)).astype(np.int64)
