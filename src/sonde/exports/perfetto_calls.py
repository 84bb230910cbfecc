"""Calls as slices of Perfetto's: a begin and an end each, made without a message object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sonde.exports import wire

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from sonde.model.call_slices import CallSlices

AT_ONCE = 1 << 16
"""Begins and ends."""


class FieldOf(Protocol):
    def __call__(self, message: str, field: str, /) -> int:
        """The number of a field of a message."""


def packets(
    slices: CallSlices,
    function: NDArray[np.int64],
    track: Mapping[int, int],
    field: FieldOf,
    sequence: Mapping[str, int],
) -> Iterator[bytes]:
    """All begins and ends, in order; `function`: the number of each slice's name, `track`: of
    each thread, `sequence`: what every packet has."""
    rows, begins = slices.ordered()
    tracks = np.zeros(max(track, default=0) + 1, dtype=np.int64)
    tracks[list(track)] = list(track.values())
    for at in range(0, len(rows), AT_ONCE):
        some, begin = rows[at : at + AT_ONCE], begins[at : at + AT_ONCE]
        # The name of an end is that of its begin; 0 is not written.
        name = np.where(begin, function[some], 0)
        event = wire.joined(
            *_numbers(
                field,
                "TrackEvent",
                category_iids=np.where(begin, 1, 0),
                type=np.where(begin, 1, 2),
                name_iid=name,
                track_uuid=tracks[slices.thread[some]],
                source_location_iid=name,
            )
        )
        time = np.where(begin, slices.start[some], slices.end[some])
        same = {key: np.full(len(some), value) for key, value in sequence.items()}
        packet = wire.joined(
            *_numbers(field, "TracePacket", timestamp=np.maximum(time, 0), **same),
            wire.message(field("TracePacket", "track_event"), event),
        )
        yield wire.message(field("Trace", "packet"), packet).to_bytes()


def _numbers(field: FieldOf, message: str, **columns: NDArray[Any]) -> list[wire.Rows]:
    return [wire.number(field(message, name), column) for name, column in columns.items()]
