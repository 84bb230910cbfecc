"""The tables of probes: values that were read at lines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Probes:
    """What was read where, in each process."""

    process: NDArray[np.uint32]
    file: list[str]
    line: NDArray[np.uint32]
    expression: list[str]
    every: NDArray[np.uint32]
    added_ns: NDArray[np.int64]
    removed_ns: NDArray[np.int64]
    """-1: it was there until the end."""
    hits: NDArray[np.uint64]
    sampled: NDArray[np.uint64]
    lost: NDArray[np.uint64]
    places: NDArray[np.uint32]
    """Code objects that were watched at last."""
    trouble: list[str]
    """Why it does not work; "": it does."""
    failures: list[list[str]]
    """How often values could not be read, and why: "count<tab>reason"."""

    def __len__(self) -> int:
        return len(self.file)


@dataclass(frozen=True)
class ProbeValues:
    probe: NDArray[np.uint32]
    thread: NDArray[np.uint32]
    time: NDArray[np.int64]
    context: NDArray[np.int32]
    """-1: its stack could not be decoded."""
    span: NDArray[np.int32]
    kind: NDArray[np.uint8]
    """Of sonde.row_values.VALUE_*."""
    type: NDArray[np.int32]
    number: NDArray[np.int64]
    """Of integers and booleans."""
    real: NDArray[np.float64]
    text: list[str]

    def __len__(self) -> int:
        return len(self.time)
