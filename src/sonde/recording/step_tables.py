"""The tables of step traces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class StepTraces:
    process: NDArray[np.uint32]
    span: list[str]
    """Its name; "": all threads were traced."""
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    spans: NDArray[np.uint64]
    """How many of that name were traced."""
    full: NDArray[np.uint8]
    """1: it ended because its room was used."""
    trouble: list[str]
    """Why there is none; "": there is."""

    def __len__(self) -> int:
        return len(self.span)


@dataclass(frozen=True)
class StepCodes:
    """The code objects in the words of a trace, by their ids there."""

    trace: NDArray[np.uint32]
    code: NDArray[np.uint64]
    function: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.code)


@dataclass(frozen=True)
class StepLines:
    """From which instruction on a code object is at which line."""

    code: NDArray[np.uint32]
    """Row of StepCodes."""
    index: NDArray[np.uint32]
    line: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.index)


@dataclass(frozen=True)
class StepWords:
    trace: NDArray[np.uint32]
    tid: NDArray[np.uint32]
    number: NDArray[np.uint64]
    """Among those of its thread, ascending."""
    words: list[str]
    """Of 16 bits, lower byte first; each byte is a character."""

    def __len__(self) -> int:
        return len(self.words)
