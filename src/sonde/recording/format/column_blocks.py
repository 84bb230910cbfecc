"""How the values of a long column become blocks: planes of bytes, as values or as differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sonde.recording.format.framing import MAX_RAW

if TYPE_CHECKING:
    from numpy.typing import NDArray

AS_VALUES, AS_DIFFERENCES = 0, 1
TYPES = {"u1": np.uint8, "u4": np.uint32, "u8": np.uint64}
"""By the name that the catalog has for them."""


class ColumnSpec(NamedTuple):
    name: str
    type: str
    ascends: bool = False
    """Whether differences are smaller than values."""

    @property
    def width(self) -> int:
        return int(self.type[1:])

    @property
    def values_per_block(self) -> int:
        return (MAX_RAW - 1) // self.width


def encode_values(values: NDArray[Any], spec: ColumnSpec) -> bytes:
    """The payload of a block: one byte for the order, then the lowest byte of all values, …"""
    if spec.ascends:
        values = np.diff(values, prepend=values.dtype.type(0))
    planes = np.ascontiguousarray(values).view(np.uint8).reshape(-1, spec.width).T
    return bytes([AS_DIFFERENCES if spec.ascends else AS_VALUES]) + planes.tobytes()


def decode_values(raw: bytes, into: NDArray[Any]) -> bool:
    """Whether the payload holds exactly as many values as there is room for."""
    width = into.dtype.itemsize
    if len(raw) != 1 + len(into) * width or raw[0] not in (AS_VALUES, AS_DIFFERENCES):
        return False
    planes = np.frombuffer(raw, np.uint8, offset=1).reshape(width, len(into))
    into.view(np.uint8).reshape(-1, width)[:] = planes.T
    if raw[0] == AS_DIFFERENCES:
        np.cumsum(into, out=into, dtype=into.dtype)
    return True
