"""What did threads wait for? Lock events show it for locks, samples for the rest.

Both may have seen the same wait: a thread that waits for a lock is off the processor. What the lock
events show is exact and says more, so it is taken out of the samples' time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sonde.model.locks.lock_kinds import KINDS
from sonde.model.locks.pressure import Pressure
from sonde.model.trees.context_tree import sums
from sonde.row_values import PREEMPTED, WAITING
from sonde.views.locks.contentions import contended
from sonde.views.selecting.selection import chosen

if TYPE_CHECKING:
    from sonde.model.locks.contention import Contentions, Ints
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection

OTHERWISE = {WAITING: "waiting", PREEMPTED: "preempted"}
"""What waits are called that no lock event explains."""


def waiting(recording: Recording, selection: Selection) -> dict[str, Ints]:
    """Nanoseconds by kind of wait, for each thread row."""
    size = len(recording.threads)
    of_wait, of_sample = contended(recording).found.thread, recording.samples.thread
    return _waiting(recording, selection, of_wait, of_sample.astype(np.int64), size)


def waiting_in_spans(recording: Recording, selection: Selection) -> dict[str, Ints]:
    """The same for each span, without those entered in it."""
    # Waits outside of spans go to one place more, which nobody asks for.
    size = len(recording.spans) + 1
    of_wait, of_sample = contended(recording).span % size, recording.samples.span % size
    found = _waiting(recording, selection, of_wait, of_sample.astype(np.int64), size)
    return {kind: ns[:-1] for kind, ns in found.items()}


def explained(found: Contentions, rows: Ints, thread: Ints, end: Ints, weight: Ints) -> Ints:
    """What lock events show of the waits that samples saw: of each its `weight` up to its `end`."""
    if not len(rows):
        return np.zeros_like(weight)
    known = Pressure(found.thread[rows], found.start[rows], found.end[rows])
    return np.minimum(known.between(thread, end - weight, end), weight)


def _waiting(
    recording: Recording, selection: Selection, of_wait: Ints, of_sample: Ints, size: int
) -> dict[str, Ints]:
    """`of_wait`, `of_sample`: where a wait for a lock and a sample belong, of `size` places."""
    everything = contended(recording)
    found, rows = everything.rows(selection)
    place = of_wait[rows] * len(KINDS) + everything.kind[rows]
    by_kind = sums(place, found.length[rows], size * len(KINDS)).reshape(size, len(KINDS))
    totals = {kind: by_kind[:, i] for i, kind in enumerate(KINDS) if by_kind[:, i].any()}

    samples = recording.samples
    picked, weight = chosen(recording, selection.with_time("waiting"))
    thread, state = samples.thread[picked].astype(np.int64), samples.state[picked]
    end = samples.time[picked]
    if selection.end_ns is not None:
        end = np.minimum(end, selection.end_ns)
    weight = weight - explained(found, rows, thread, end, weight)
    for number, kind in OTHERWISE.items():
        mine = state == number
        totals[kind] = sums(of_sample[picked][mine], weight[mine], size)
    return totals
