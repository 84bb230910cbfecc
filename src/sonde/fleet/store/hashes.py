"""Ids made of what a thing is, so that writers who know nothing of each other agree on them."""

from __future__ import annotations

from hashlib import blake2b
from struct import pack
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.views.selecting.profile import Function

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sonde.model.trees.context_tree import Ints
    from sonde.recording.tables import Contexts

NONE = 0
"""No function, no context, no thread."""


def hashed(data: bytes) -> int:
    """64 bits with a sign, never 0. Of 40 million stores with a million different things each, one
    has two that collide."""
    number = int.from_bytes(blake2b(data, digest_size=8).digest(), "little", signed=True)
    return number or 1


def of_function(function: Function) -> int:
    name, file, line, runtime = function
    return hashed(
        b"\0".join(
            part.encode("utf-8", "surrogatepass") for part in (name, file, str(line), runtime)
        )
    )


def of_contexts(contexts: Contexts, function: Ints) -> Ints:
    """By row, and last for none: the hash of the whole chain; `function` has those of functions."""
    found: list[int] = []
    rows = zip(
        contexts.parent.tolist(),
        function.tolist(),
        np.maximum(contexts.line, 0).tolist(),
        strict=True,
    )
    for parent, called, line in rows:
        above = found[parent] if parent >= 0 else NONE
        found.append(hashed(pack("<qqq", above, called, line)))
    return np.array([*found, NONE], dtype=np.int64)


def numbered(base: int, numbers: NDArray[Any]) -> Ints:
    """Ids of a recording's rows, one after the other: Parquet packs these into nothing."""
    return np.int64(base >> 1) + numbers.astype(np.int64)
