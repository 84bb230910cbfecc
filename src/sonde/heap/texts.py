"""Many texts as one column of bytes."""

from __future__ import annotations

import numpy as np

from sonde.heap.snapshot import MAX_STORED_TEXT, Texts

_ELLIPSIS = "…".encode()


def shortened(text: bytes) -> bytes:
    """UTF-8 cut to as many bytes as a snapshot file keeps, with an ellipsis at the end."""
    if len(text) <= MAX_STORED_TEXT:
        return text
    cut = text[: MAX_STORED_TEXT - len(_ELLIPSIS)]
    return cut.decode("utf-8", "ignore").encode() + _ELLIPSIS


def merged(few: Texts, many: Texts) -> Texts:
    """The texts of both, of different objects, in the order of the objects."""
    at = np.searchsorted(many.object, few.object)
    begins = np.concatenate([np.zeros(1, np.uint64), many.end])
    pieces, done = [], 0
    for one, place in enumerate(begins[at].tolist()):
        begin = int(few.end[one - 1]) if one else 0
        pieces += [many.bytes[done:place], few.bytes[begin : int(few.end[one])]]
        done = place
    lengths = np.insert(
        np.diff(many.end, prepend=np.uint64(0)), at, np.diff(few.end, prepend=np.uint64(0))
    )
    return Texts(
        np.insert(many.object, at, few.object),
        np.cumsum(lengths, dtype=np.uint64),
        np.concatenate([*pieces, many.bytes[done:]]),
    )
