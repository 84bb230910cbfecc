"""Writes a recording: rows are buffered, and every flush appends whole blocks.

The recorder process uses it beside the running target, so it is light (no
NumPy) and never goes back in the file: whatever a flush wrote stays readable,
whenever the recorder dies.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sonde.errors import SondeError
from sonde.recording.format import zstd
from sonde.recording.format.encode import encode_column, shorten
from sonde.recording.format.framing import (
    END,
    FACTS,
    MAX_RAW,
    MAX_ROWS,
    MAX_TEXT,
    RAW,
    ROWS,
    SCHEMA,
    UPDATES,
    ZSTD,
    pack_block,
    pack_file_head,
    pack_json,
)
from sonde.recording.format.schema import TABLES, Column, Table, declare
from sonde.recording.write.sink import FileSink, Sink

# On blocks of a hundred samples levels 1 to 19 give the same size within 1 %; 19 takes longer.
_LEVEL = 3
# Updates are JSON, about 50 bytes each; this many stay far below the size of a block.
_UPDATES_A_BLOCK = 256


# Rows that are encoded already: how many, and their bytes; at most so many at a time.
Source = Callable[[int], Iterator[tuple[int, bytes]]]


class _Buffer:
    """Rows of one table that wait for the next flush."""

    __slots__ = ("columns", "flushed", "name", "number", "rows", "width")

    def __init__(self, number: int, table: Table) -> None:
        self.number = number
        self.name = table.name
        self.columns: tuple[Column, ...] = table.columns
        self.width = len(table.columns)
        self.flushed = 0
        self.rows: list[tuple[Any, ...]] = []

    def complete(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The row with its last columns filled by their defaults."""
        missing = self.columns[len(values) :]
        if len(values) > self.width or any(column.default is None for column in missing):
            names = ", ".join(column.name for column in self.columns)
            raise TypeError(f"table {self.name} takes ({names}), not {len(values)} values")
        return values + tuple(column.default for column in missing)


class _SampleTotals:
    """Of the samples written so far what a reader needs that only judges the recording."""

    def __init__(self, table: Table) -> None:
        self._time, self._context, self._weight, self._state = (
            [column.name for column in table.columns].index(name)
            for name in ("time", "context", "weight", "state")
        )
        self.rows = self.running_ns = self.without_stack = self.last_ns = 0

    def add(self, columns: list[tuple[Any, ...]]) -> None:
        weights, states = columns[self._weight], columns[self._state]
        self.rows += len(weights)
        self.without_stack += columns[self._context].count(-1)
        self.last_ns = max(self.last_ns, *columns[self._time])
        if any(states):
            weights = tuple(ns for ns, state in zip(weights, states, strict=True) if not state)
        self.running_ns += sum(weights)


class Writer:
    """One recording being written, part by part. Not for use by several threads at once."""

    def __init__(self, to: str | os.PathLike[str] | Sink, target: dict[str, Any]) -> None:
        self._compress = zstd.compressor(_LEVEL)
        self._sources: dict[str, Source] = {}
        self.unwritten: dict[str, int] = {}
        """Rows that no file holds, by table: what a disk had no room for, in all parts."""
        sink = to if isinstance(to, FileSink) else FileSink(to)
        self.begin(sink, target)

    @property
    def path(self) -> str:
        return self.sink.path

    @property
    def size(self) -> int:
        """Bytes in the file: everything flushed so far."""
        return self.sink.size

    def begin(self, sink: Sink, target: dict[str, Any]) -> None:
        """Starts a part that stands for itself: its rows are numbered from 0 again.

        It may follow another one in the same file.
        """
        self.sink = sink
        self.began_at = sink.size
        """Where in its file the part begins."""
        self._flushed = False
        self._buffers = {table.name: _Buffer(i, table) for i, table in enumerate(TABLES)}
        self._updates: dict[tuple[str, int], dict[str, Any]] = {}
        self._facts: dict[str, dict[str, Any]] = {"target": {}, "quality": {}}
        self._new_facts: dict[str, dict[str, Any]] = {"target": {}, "quality": {}}
        self._error: SondeError | None = None
        self._totals = _SampleTotals(next(table for table in TABLES if table.name == "samples"))
        # Zero would let blocks pass whose checksum starts from nothing.
        self._nonce = int.from_bytes(os.urandom(4), "little") or 1
        self._schema = self._json_block(SCHEMA, {"tables": declare(TABLES)})
        self.target(target)
        self._write(pack_file_head(self._nonce) + self._schema + b"".join(self._facts_blocks()))

    def append(self, table: str, *values: Any) -> int:
        """Adds a row and returns its id; columns at the end may be left to their defaults."""
        buffer = self._buffers[table]
        if len(values) != buffer.width:
            values = buffer.complete(values)
        rows = buffer.rows
        row = buffer.flushed + len(rows)
        rows.append(values)
        return row

    def extend(self, table: str, rows: Iterable[tuple[Any, ...]]) -> int:
        """Adds many complete rows at once and returns the id of the first."""
        buffer = self._buffers[table]
        row = buffer.flushed + len(buffer.rows)
        buffer.rows.extend(rows)
        return row

    def take_from(self, table: str, source: Source) -> None:
        """Every flush asks it for more rows of this table. Their ids are not passed on."""
        self._sources[table] = source

    def update(self, table: str, row: int, **facts: Any) -> None:
        """Later facts about an earlier row; the last one wins. Not meant for every flush."""
        buffer = self._buffers[table]
        known = {column.name for column in buffer.columns if not column.refers}
        if not facts.keys() <= known:
            raise TypeError(f"table {table} has no {sorted(facts.keys() - known)} to update")
        if not 0 <= row < buffer.flushed + len(buffer.rows):
            raise ValueError(f"table {table} has no row {row}")
        self._updates.setdefault((table, row), {}).update(facts)

    def quality(self, facts: dict[str, Any]) -> None:
        """Merges into what the recording says about itself; the last value of a key wins."""
        self._merge("quality", facts)

    def target(self, facts: dict[str, Any]) -> None:
        """Merges into what the recording says about its target; the last value of a key wins."""
        self._merge("target", facts)

    @property
    def facts(self) -> dict[str, Any]:
        """What this part says about its target."""
        return dict(self._facts["target"])

    def flush(self) -> None:
        """Appends everything new to the file in one write; what does not fit is counted."""
        blocks: list[bytes] = []
        counts: dict[str, int] = {}
        for buffer in self._buffers.values():
            rows, buffer.rows = buffer.rows, []
            if rows:
                counts[buffer.name] = len(rows)
            for start in range(0, len(rows), MAX_ROWS):
                self._rows_blocks(buffer, rows[start : start + MAX_ROWS], blocks)
            if buffer.name in self._sources:
                for count, raw in self._sources[buffer.name](MAX_ROWS):
                    counts[buffer.name] = counts.get(buffer.name, 0) + count
                    self._rows_block(buffer, count, raw, blocks)
        blocks += self._updates_blocks()
        blocks += self._facts_blocks()
        try:
            if self._error is not None:
                raise self._error
            if blocks:
                self._write(b"".join(blocks))
                self._flushed = True
        except SondeError:
            for name, count in counts.items():
                self.unwritten[name] = self.unwritten.get(name, 0) + count
            raise

    def refuse(self, error: SondeError) -> None:
        """There is nowhere to write to: rows are counted, and forgotten at every flush."""
        self._error = error

    def close(self, end: dict[str, Any]) -> None:
        """Flushes, says that the recording is complete, and merges `end` into its target."""
        if self.sink.closed:
            return
        try:
            self.end_part(end)
        finally:
            self.sink.close()

    def end_part(self, end: dict[str, Any]) -> None:
        """The same, but the file stays open: another part may follow in it."""
        if self._error is None:
            self._merge("target", end)
            self.flush()
            self._write(self.ending())

    def ending(self) -> bytes:
        """What makes everything flushed so far a complete recording."""
        totals = {"samples": {name: n for name, n in vars(self._totals).items() if name[0] != "_"}}
        # The schema once more: with one copy, one flipped bit could cost the file.
        return (
            self._json_block(FACTS, {"totals": totals}) + self._schema + self._json_block(END, {})
        )

    def _merge(self, subject: str, facts: dict[str, Any]) -> None:
        known = self._facts[subject]
        for key, value in facts.items():
            if key not in known or known[key] != value:
                known[key] = self._new_facts[subject][key] = value

    def _rows_blocks(
        self, buffer: _Buffer, rows: list[tuple[Any, ...]], blocks: list[bytes]
    ) -> None:
        """Blocks of at most MAX_RAW bytes, without the rows that the table cannot hold.

        A refused row keeps its id and is counted: the values come from another
        process's memory, and one wild value must not cost the recording.
        """
        try:
            columns = list(zip(*rows, strict=True))
            encoded = zip(buffer.columns, columns, strict=True)
            raw = b"".join([encode_column(column, values) for column, values in encoded])
        except ValueError:
            raw = None
        if raw is not None and len(raw) <= MAX_RAW:
            if buffer.name == "samples":
                self._totals.add(columns)
            self._rows_block(buffer, len(rows), raw, blocks)
        elif len(rows) == 1:
            buffer.flushed += 1
            refused = self._facts["quality"].get("refused", {})
            self.quality({"refused": {**refused, buffer.name: refused.get(buffer.name, 0) + 1}})
        else:
            middle = len(rows) // 2
            self._rows_blocks(buffer, rows[:middle], blocks)
            self._rows_blocks(buffer, rows[middle:], blocks)

    def _rows_block(self, buffer: _Buffer, count: int, raw: bytes, blocks: list[bytes]) -> None:
        blocks.append(self._block(ROWS, raw, buffer.number, buffer.flushed, count))
        buffer.flushed += count

    def _updates_blocks(self) -> list[bytes]:
        entries = [
            [table, row, {name: shorten(value, MAX_TEXT // 16) for name, value in facts.items()}]
            for (table, row), facts in self._updates.items()
        ]
        self._updates.clear()
        return [
            self._json_block(UPDATES, entries[start : start + _UPDATES_A_BLOCK])
            for start in range(0, len(entries), _UPDATES_A_BLOCK)
        ]

    def _facts_blocks(self) -> list[bytes]:
        new = {
            subject: {key: shorten(value, MAX_TEXT) for key, value in facts.items()}
            for subject, facts in self._new_facts.items()
            if facts
        }
        for facts in self._new_facts.values():
            facts.clear()
        return [self._json_block(FACTS, new)] if new else []

    def _json_block(self, kind: int, value: Any) -> bytes:
        return self._block(kind, pack_json(value))

    def _block(
        self, kind: int, raw: bytes, table: int = 0, first_row: int = 0, rows: int = 0
    ) -> bytes:
        codec, payload = ZSTD, self._compress(raw)
        if len(payload) >= len(raw):
            codec, payload = RAW, raw
        return pack_block(
            self._nonce,
            kind,
            codec,
            payload,
            len(raw),
            table=table,
            first_row=first_row,
            rows=rows,
        )

    def _write(self, data: bytes) -> None:
        try:
            self.sink.write(data)
        except SondeError as error:
            if not self._flushed:  # a head with nothing behind it
                self.sink.cut_back(self.began_at)
            self._error = error
            raise
