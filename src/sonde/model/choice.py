"""Which samples count, and with how much of their time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Time = Literal["running", "waiting", "wall", "taken"]
"""The time a view counts: on a processor, off it, both, or what others took of the first."""

RUNNING_STATE = 0
"""Any other state of a sample is a kind of waiting."""


@dataclass(frozen=True)
class Choice:
    """What of a recording to look at; everything by default."""

    time: Time = "running"
    threads: NDArray[np.bool_] | None = None
    """By thread row: looked at or not."""
    start_ns: int | None = None
    end_ns: int | None = None


class Chosen(NamedTuple):
    """Row numbers of the chosen samples, and the time each one stands for."""

    rows: NDArray[np.int64]
    weight: NDArray[np.int64]


def choose(
    choice: Choice,
    thread: NDArray[np.uint32],
    time: NDArray[np.int64],
    weight: NDArray[np.int64],
    state: NDArray[np.uint8],
) -> Chosen:
    """Apply a choice to the columns of the samples.

    A sample stands for the `weight` nanoseconds that end at its `time`. A running one
    is in the range or out of it as a whole, since its stack is that of the moment; a
    wait may be longer than the range, so only the part inside it counts.
    """
    keep = np.ones(len(thread), dtype=bool)
    waiting = state != RUNNING_STATE
    if choice.time in ("running", "taken"):
        keep &= ~waiting
    elif choice.time == "waiting":
        keep &= waiting
    if choice.threads is not None:
        keep &= choice.threads[thread]
    if choice.start_ns is None and choice.end_ns is None:
        rows = np.flatnonzero(keep)
        return Chosen(rows, weight[rows])

    start = choice.start_ns if choice.start_ns is not None else np.iinfo(np.int64).min
    end = choice.end_ns if choice.end_ns is not None else np.iinfo(np.int64).max
    inside = np.minimum(time, end) - np.maximum(time - weight, start)
    keep &= np.where(waiting, inside > 0, (time >= start) & (time < end))
    rows = np.flatnonzero(keep)
    return Chosen(rows, np.where(waiting[rows], inside[rows], weight[rows]))
