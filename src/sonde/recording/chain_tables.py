"""The tables of samples that know a function and its caller only, as tables.py has the others."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ChainNodes:
    """Functions at their depths, where samples have no whole stacks."""

    function: NDArray[np.int32]
    depth: NDArray[np.int64]
    """Bytes from the bottom of the thread's stack."""

    def __len__(self) -> int:
        return len(self.depth)


@dataclass(frozen=True)
class Links:
    """Who was seen to call whom."""

    node: NDArray[np.int32]
    caller: NDArray[np.int32]
    """-1: nobody, it is the outermost."""
    line: NDArray[np.int32]
    """Of the caller."""

    def __len__(self) -> int:
        return len(self.node)


@dataclass(frozen=True)
class Chained:
    """Samples of a function and its caller."""

    thread: NDArray[np.uint32]
    time: NDArray[np.int64]
    link: NDArray[np.int32]
    """-1: its stack could not be decoded."""
    line: NDArray[np.int32]
    weight: NDArray[np.int64]
    event: NDArray[np.int32]
    """-1: it counts time."""
    processor: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    """As of a sample."""

    def __post_init__(self) -> None:
        if not len(self.processor):
            object.__setattr__(self, "processor", np.full(len(self.time), -1, np.int32))

    def __len__(self) -> int:
        return len(self.time)
