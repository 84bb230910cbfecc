"""Bytes of sampled objects in the place of time, so that every view of time can show them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sonde.errors import UsageError
from sonde.recording.tables import Samples
from sonde.row_values import RUNNING
from sonde.views.objects.sampled import sampled
from sonde.views.selecting.selection import ALIVE, Selection

if TYPE_CHECKING:
    from sonde.recording.tables import Recording


def memory_samples(recording: Recording, selection: Selection) -> Recording:
    """The recording with a sample for each sampled object, weighted by the bytes it represents.

    Of those alive at the end of the selected time, if the selection is of them.
    """
    found = sampled(recording, Selection())
    if selection.memory == ALIVE:
        if not found.followed.any():
            raise UsageError(
                f"{recording.path} does not show which objects are alive: none was followed to its "
                "end"
            )
        keep = found.alive(selection.end_ns)
        if selection.start_ns is not None:
            keep &= found.begin >= selection.start_ns
        found = found.only(keep)
    else:
        found = found.only(found.allocated(selection.start_ns, selection.end_ns))
    table = recording.objects
    samples = Samples(
        thread=table.thread[found.row],
        time=found.begin,
        context=table.context[found.row],
        weight=np.rint(found.bytes).astype(np.int64),
        state=np.full(len(found), RUNNING, dtype=np.uint8),
    )
    return replace(recording, samples=samples)
