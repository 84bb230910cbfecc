"""Samples of long recordings merged until a browser can hold them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

MAX_SAMPLES = 2_000_000
"""Above it samples are merged: a browser tab holds some ten million numbers with ease."""
BUCKET_BITS = 12
"""The time of the recording is cut into 4,096 buckets, or half as many until they suffice."""


class CoarseSamples(NamedTuple):
    """Samples to be shown, by thread and time."""

    row: Ints
    """Of each one sample that it represents, ..."""
    time: Ints
    """... when the thread had spent the time of this one and all before it, ..."""
    weight: Ints
    """... and the time of all that it represents."""
    bucket_ns: int


def merged(
    thread: Ints, time: Ints, state: Ints, what: Ints, weight: Ints, limit: int = MAX_SAMPLES
) -> CoarseSamples:
    """Samples of one thread that agree in `what` become one within a bucket of time.

    `what` tells states apart. Sums over time, threads and `what` stay exact. Merged samples of a
    thread follow one another as its samples did, so that it is busy when it was busy. Where `limit`
    leaves room, the longest ones are several. There may be more than `limit` samples if threads
    alone have more different ones.
    """
    first, last = int(time.min(initial=0)), int(time.max(initial=0))
    length = ((last - first) >> BUCKET_BITS) + 1
    kind, kinds = _numbered(what)
    key = ((thread * kinds + kind) << BUCKET_BITS) + (time - first) // length
    order = np.argsort(key, kind="stable")
    key = key[order]
    for wider in range(BUCKET_BITS + 1):
        starts = np.flatnonzero(np.diff(key >> wider, prepend=-1))
        if len(starts) <= limit:
            break
    starts = _split(starts, weight[order], limit)
    row = order[np.append(starts[1:], len(order)) - 1]
    weights = np.add.reduceat(weight[order], starts)
    # One behind the other: by thread and state, then by bucket, then as they were last seen.
    group, groups = _numbered(thread * (int(state.max(initial=0)) + 1) + state)
    bucket = (key[starts] & ((1 << BUCKET_BITS) - 1)) >> wider
    in_turn = np.lexsort((time[row], bucket, group[row]))
    row, weights = row[in_turn], weights[in_turn]
    times = _when_spent(np.cumsum(weights), group, groups, time, weight)
    by_time = np.lexsort((times, thread[row]))
    return CoarseSamples(row[by_time], times[by_time], weights[by_time], length << wider)


def _split(starts: Ints, weight: Ints, limit: int) -> Ints:
    """Where merged samples begin if those that would stand for much time are split."""
    room = limit - len(starts)
    if room <= 0 or not len(weight):
        return starts
    spent = np.cumsum(weight)
    most = int(spent[-1]) // room + 1
    before = spent[starts] - weight[starts]
    spent -= np.repeat(before, np.diff(starts, append=len(weight)))
    spent -= 1
    spent //= most
    new = np.diff(spent, prepend=-1) != 0
    new[starts] = True
    return np.flatnonzero(new)


def _numbered(values: Ints) -> tuple[Ints, int]:
    """The same with numbers from 0 on, and how many there are."""
    size = int(values.max(initial=0)) + 1
    if size > 8 * len(values):
        found, number = np.unique(values, return_inverse=True)
        return number, max(len(found), 1)
    seen = np.zeros(size, dtype=bool)
    seen[values] = True
    places = np.cumsum(seen) - 1
    return places[values], int(places[-1]) + 1


def _when_spent(spent: Ints, group: Ints, groups: int, time: Ints, weight: Ints) -> Ints:
    """When so much time of all groups, one behind the other, had been spent."""
    small = group.astype(np.uint16) if groups <= 1 << 16 else group  # sorted far quicker
    order = np.argsort(small, kind="stable")
    so_far = np.cumsum(weight[order])
    place = np.minimum(np.searchsorted(so_far, spent), len(order) - 1)
    found: Ints = time[order[place]]
    return found
