"""Samples of long recordings merged until a browser can hold them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.model.order import stable_order

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
    thread: NDArray[np.integer],
    time: Ints,
    state: NDArray[np.integer],
    what: Ints,
    weight: Ints,
    limit: int = MAX_SAMPLES,
) -> CoarseSamples:
    """Samples of one thread that agree in `what` become one within a bucket of time.

    `what` distinguishes states. Sums over time, threads and `what` stay exact. Merged samples of a
    thread follow one another as its samples did, so that it is busy when it was busy. Where `limit`
    leaves room, the longest ones are several. There may be more than `limit` samples if threads
    alone have more different ones.
    """
    first, last = int(time.min(initial=0)), int(time.max(initial=0))
    length = ((last - first) >> BUCKET_BITS) + 1
    key, kinds = _numbered(what)
    key += thread.astype(np.int64) * kinds
    key <<= BUCKET_BITS
    since = time - first
    since //= length
    key += since
    del since
    order = stable_order(key)
    key = key[order]
    # Of neighbours the bits in which they differ: they are apart until buckets are that wide.
    apart = np.bitwise_xor(key[1:], key[:-1])
    for wider in range(BUCKET_BITS + 1):
        if np.count_nonzero(apart >= 1 << wider) < limit:
            break
    starts = np.append(0, np.flatnonzero(apart >= 1 << wider) + 1)[: len(key)]
    del apart
    ordered = weight[order]
    starts = _split(starts, ordered, limit)
    row = order[np.append(starts[1:], len(order)) - 1]
    weights = np.add.reduceat(ordered, starts)
    del order, ordered
    # One behind the other: by thread and state, then by bucket, then as they were last seen.
    group = thread.astype(np.int64)
    group *= int(state.max(initial=0)) + 1
    group += state
    group, _ = _numbered(group)
    bucket = (key[starts] & ((1 << BUCKET_BITS) - 1)) >> wider
    del key
    in_turn = np.lexsort((time[row], bucket, group[row]))
    row, weights = row[in_turn], weights[in_turn]
    times = _when_spent(np.cumsum(weights), group, time, weight)
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
    new = np.ones(len(spent), dtype=bool)
    np.not_equal(spent[1:], spent[:-1], out=new[1:])
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


def _when_spent(spent: Ints, group: Ints, time: Ints, weight: Ints) -> Ints:
    """When so much time of all groups, one behind the other, had been spent."""
    order = stable_order(group)
    so_far = np.cumsum(weight[order])
    place = np.minimum(np.searchsorted(so_far, spent), len(order) - 1)
    found: Ints = time[order[place]]
    return found
