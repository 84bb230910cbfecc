"""Events of the kernel and the processor in the place of time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sonde.errors import UsageError
from sonde.recording.tables import Samples
from sonde.row_values import RUNNING
from sonde.views.selecting.formatting import some

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sonde.recording.tables import Recording


def rows_of(recording: Recording, name: str) -> NDArray[np.int64]:
    """Which event samples are of the event with that name; a usage error if there is none."""
    numbers = [i for i, known in enumerate(recording.events.name) if known == name]
    if not numbers:
        if not len(recording.events):
            raise UsageError(
                f"{recording.path} has no events; record them with: "
                "sonde run --what +event:page-faults …"
            )
        known = some(list(dict.fromkeys(recording.events.name)))
        raise UsageError(f"no event {name!r} in {recording.path}; it has {known}")
    return np.flatnonzero(np.isin(recording.event_samples.event, numbers))


def counting(recording: Recording, name: str) -> Recording:
    """The same recording with one event's samples in the place of those of time."""
    rows, events = rows_of(recording, name), recording.event_samples
    samples = Samples(
        thread=events.thread[rows],
        time=events.time[rows],
        context=events.context[rows],
        weight=events.weight[rows],
        state=np.full(len(rows), RUNNING, dtype=np.uint8),
        span=events.span[rows],
    )
    return replace(recording, samples=samples)
