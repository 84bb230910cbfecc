"""Samples of long recordings merged until a browser can hold them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.model.context_tree import sums

Ints = NDArray[np.int64]

MAX_SAMPLES = 2_000_000
"""Above it samples are merged: a browser tab holds some ten million numbers with ease."""
BUCKETS = (4096, 512, 64, 8, 1)
"""Into how many buckets the time of the recording is cut; the first that suffices is taken."""


class CoarseSamples(NamedTuple):
    """Samples to be shown, by thread and time."""

    row: Ints
    """Of each the last sample that it stands for ..."""
    weight: Ints
    """... and the time of all of them."""
    bucket_ns: int


def merged(
    thread: Ints, time: Ints, what: Ints, weight: Ints, limit: int = MAX_SAMPLES
) -> CoarseSamples:
    """Samples of one thread that agree in `what` become one within a bucket of time.

    Sums over time, threads and `what` stay exact. There may be more than `limit` samples if
    threads alone have more different ones.
    """
    first, last = int(time.min(initial=0)), int(time.max(initial=0))
    _, kind = np.unique(what, return_inverse=True)
    kinds = int(kind.max(initial=0)) + 1
    for buckets in BUCKETS:
        length = (last - first) // buckets + 1
        key = (thread * buckets + (time - first) // length) * kinds + kind
        keys, place = np.unique(key, return_inverse=True)
        if len(keys) <= limit:
            break
    row = np.zeros(len(keys), dtype=np.int64)
    np.maximum.at(row, place, np.arange(len(place)))
    weights = sums(place, weight, len(keys))
    order = np.lexsort((time[row], thread[row]))
    return CoarseSamples(row[order], weights[order], length)
