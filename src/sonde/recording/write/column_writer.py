"""Writes a heap snapshot: long columns of numbers, block by block."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from sonde.recording.format import zstd
from sonde.recording.format.column_blocks import TYPES, ColumnSpec, encode_values
from sonde.recording.format.framing import (
    CATALOG,
    END,
    HEAP_VERSION,
    RAW,
    VALUES,
    ZSTD,
    pack_block,
    pack_file_head,
    pack_json,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sonde.recording.write.sink import FileSink

# Millions of values: higher levels take longer than what they save is worth.
_LEVEL = 1


class ColumnWriter:
    """A file is complete when `close` has returned; before, a reader refuses it."""

    def __init__(self, sink: FileSink, columns: Sequence[ColumnSpec], facts: dict[str, Any]):
        self._sink, self._columns = sink, list(columns)
        self._numbers = {spec.name: number for number, spec in enumerate(columns)}
        self._rows = [0] * len(columns)
        self._facts = facts
        self._compress = zstd.compressor(_LEVEL)
        self._nonce = int.from_bytes(os.urandom(4), "little") or 1
        sink.write(pack_file_head(self._nonce, HEAP_VERSION))

    def append(self, name: str, values: NDArray[Any]) -> None:
        """Adds values to a column."""
        number = self._numbers[name]
        spec = self._columns[number]
        values = values.astype(TYPES[spec.type], copy=False)
        step = spec.values_per_block
        for start in range(0, len(values), step):
            some = values[start : start + step]
            self._block(
                VALUES, encode_values(some, spec), table=number, first_row=self._rows[number],
                rows=len(some),
            )  # fmt: skip
            self._rows[number] += len(some)

    def close(self) -> None:
        columns = [
            {"name": spec.name, "type": spec.type, "rows": rows}
            for spec, rows in zip(self._columns, self._rows, strict=True)
        ]
        self._block(CATALOG, pack_json({"columns": columns, "facts": self._facts}))
        self._block(END, b"{}")
        self._sink.close()

    def _block(self, kind: int, raw: bytes, **place: int) -> None:
        packed = self._compress(raw)
        codec, payload = (ZSTD, packed) if len(packed) < len(raw) else (RAW, raw)
        self._sink.write(pack_block(self._nonce, kind, codec, payload, len(raw), **place))
