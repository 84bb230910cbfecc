"""From readable blocks to columns, table by table.

A block whose checksum is right can still hold nonsense, by a writer's mistake
or by intent. Such a block counts as damaged and is skipped like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonde.recording.format.framing import (
    FACTS,
    MAX_RAW,
    MAX_ROWS,
    ROWS,
    SCHEMA,
    UPDATES,
    RecordingError,
)
from sonde.recording.format.schema import TABLES, Column, Table
from sonde.recording.read.column_values import (
    NO_ROWS,
    FilledColumn,
    Numbers,
    bounded,
    constant,
    decoded,
    only_integers,
    without_rows,
)
from sonde.recording.read.declared import Declared, read_declaration
from sonde.recording.read.decode import Damaged, Decompressor, TableDecoder, decode_json
from sonde.recording.read.decode_numbers import NumberBlocks
from sonde.recording.read.facts import Facts, check_facts
from sonde.recording.read.recovery import Blocks
from sonde.recording.read.row_refs import NO_RANGES, Columns, Ranges

# What a file may expand to. A block's rows are limited, so an honest table of up to 17
# columns stays below this; a hostile one meets it instead of the end of the memory.
_BUDGET_FLOOR = 64 << 20
_BUDGET_A_BYTE = 512
# Parsed JSON takes this many times its text at worst (a list of empty lists).
_JSON_WEIGHT = 32
_MAX_FIRST_ROW = 2**48
_BLOCKS_AT_A_TIME = 2048
_BYTES_AT_A_TIME = 4 << 20
"""What is decompressed together: what is needed besides the columns stays small."""
_DIGITS_TO_ZEROS = bytes.maketrans(b"123456789", b"000000000")


class BlockReader:
    """Makes columns of blocks: those of a file, or those that came to it since the last time."""

    def __init__(
        self,
        blocks: Blocks,
        size: int,
        path: str,
        declared: list[Declared | None] | None = None,
        next_row: dict[str, int] | None = None,
    ) -> None:
        """`declared` and `next_row`: what the blocks before these said, if there were any."""
        self.blocks = blocks
        self.path = path
        self.damaged = blocks.damaged
        self.facts: list[Any] = []
        self.updates: list[Any] = []
        self.rows: dict[str, Numbers] = {table.name: NO_ROWS for table in TABLES}
        """The blocks of each table, by their numbers among all."""
        self.declared: list[Declared | None] = declared or []
        self.next_row = next_row if next_row is not None else {}
        """Row numbers only grow; a block that repeats some is a copy from elsewhere."""
        self._budget = _BUDGET_FLOOR + _BUDGET_A_BYTE * size
        self._decompress = Decompressor(blocks)

    def collect(self) -> None:
        """Everything but the rows decoded, the blocks of rows sorted by table."""
        for number in self.blocks.of_kind(SCHEMA).tolist():
            if not self.declared:
                self._try(self._take_schema, number)
        rows = self.blocks.of_kind(ROWS)
        if not self.declared and len(rows):
            raise RecordingError(f"{self.path} is damaged: its table declarations cannot be read")
        # Kinds this reader does not know are additions of a later writer: not its business.
        self._take_rows(rows)
        for number in self.blocks.of_kind(UPDATES).tolist():
            self._try(self._take_updates, number)
        self._take_facts(self.blocks.of_kind(FACTS))

    def _try(self, take: Any, number: int) -> None:
        try:
            take(number)
        except Damaged:
            self.damaged += 1

    def _spend(self, size: int) -> None:
        self._budget -= size
        if self._budget < 0:
            raise RecordingError(f"{self.path} is not read: its compression ratio is implausible")

    def _take_schema(self, number: int) -> None:
        raw = self._decompress.one(number)
        self._spend(len(raw) * _JSON_WEIGHT)
        self.declared = read_declaration(raw)

    def _take_updates(self, number: int) -> None:
        raw = self._decompress.one(number)
        self._spend(len(raw) * _JSON_WEIGHT)
        entries = decode_json(raw)
        if not isinstance(entries, list):
            raise Damaged
        self.updates += entries

    def _take_facts(self, numbers: Numbers) -> None:
        """Of blocks that differ in digits only, the first and the last: it overrides the others.

        A recorder counts on with every flush, so nearly all of them do. The first gives the order.
        """
        first: dict[bytes, tuple[int, bytes]] = {}
        last: dict[bytes, tuple[int, bytes]] = {}
        for some in self._batches(numbers):
            for number, raw in zip(some.tolist(), self._decompress.many(some), strict=True):
                if raw is None:
                    self.damaged += 1
                    continue
                self._spend(len(raw) * _JSON_WEIGHT)
                form = raw.translate(_DIGITS_TO_ZEROS)
                last[form] = number, raw
                first.setdefault(form, last[form])
        for _, raw in sorted({*first.values(), *last.values()}):
            try:
                self.facts.append(check_facts(decode_json(raw)))
            except Damaged:
                self.damaged += 1

    def _batches(self, numbers: Numbers) -> Iterator[Numbers]:
        """Blocks in portions whose decompressed bytes stay few, whatever the blocks are."""
        sizes = np.minimum(self.blocks.heads["raw_size"][numbers], MAX_RAW).astype(np.int64)
        taken = np.cumsum(sizes)
        start = 0
        while start < len(numbers):
            room = taken[start] - sizes[start] + _BYTES_AT_A_TIME
            end = int(np.searchsorted(taken, room, side="right"))
            end = max(start + 1, min(end, start + _BLOCKS_AT_A_TIME))
            yield numbers[start:end]
            start = end

    def _take_rows(self, numbers: Numbers) -> None:
        tables = self.blocks.heads["table"][numbers]
        for table in np.unique(tables).tolist():
            declared = self.declared[table] if table < len(self.declared) else None
            if declared is None or declared.problem:
                continue
            name = declared.table.name
            self.rows[name] = self._in_order(numbers[tables == table], name)

    def _in_order(self, numbers: Numbers, name: str) -> Numbers:
        """The blocks whose rows come behind those of the blocks before them."""
        heads = self.blocks.heads[numbers]
        first, rows = heads["first_row"], heads["rows"]
        good = (first < _MAX_FIRST_ROW) & (rows > 0) & (rows <= MAX_ROWS)
        ends = np.where(good, first, 0).astype(np.int64) + rows
        expected = self.next_row.get(name, 0)
        if good.all() and first[0] >= expected and (first[1:] >= ends[:-1]).all():
            expected = int(ends[-1])
        else:
            for place in np.flatnonzero(good).tolist():
                good[place] = first[place] >= expected
                if good[place]:
                    expected = int(ends[place])
        self.next_row[name] = expected
        self.damaged += int((~good).sum())
        return numbers[good]

    @property
    def merged(self) -> Facts:
        facts = Facts()
        for entry in self.facts:
            facts.merge(entry)
        return facts

    def ranges(self, name: str) -> Ranges:
        """First row and number of rows of a table's blocks, as their heads say."""
        heads = self.blocks.heads[self.rows[name]]
        return np.column_stack((heads["first_row"], heads["rows"])).astype(np.int64)

    def _decompressed(
        self, numbers: Numbers, columns: int
    ) -> tuple[list[bytes], NDArray[np.int64], NDArray[np.int64]]:
        """Of the blocks that can be decompressed their bytes, first rows and numbers of rows."""
        raws = self._decompress.many(numbers)
        good = np.array([raw is not None for raw in raws], dtype=bool)
        self.damaged += int((~good).sum())
        heads = self.blocks.heads[numbers[good]]
        found = [raw for raw in raws if raw is not None]
        rows = heads["rows"].astype(np.int64)
        self._spend(sum(map(len, found)) + int(rows.sum()) * 8 * columns)
        return found, heads["first_row"].astype(np.int64), rows

    def decode(self, table: Table) -> tuple[Columns, Ranges]:
        """A table's columns, and the first row and number of rows of each block they are of.

        Blocks with a value that its column cannot hold are left out.
        """
        numbers = self.rows[table.name]
        if not len(numbers):  # most tables of most recordings
            return without_rows(table), NO_RANGES
        declared = next(
            entry.columns for entry in self.declared if entry is not None and entry.table is table
        )
        if only_integers([*declared, *table.columns]):
            return self._decode_numbers(table, declared, numbers)
        parts = [self._decompressed(some, len(declared)) for some in self._batches(numbers)]
        raws = [raw for part in parts for raw in part[0]]
        first, rows = (np.concatenate([part[place] for part in parts]) for place in (1, 2))
        present = {column.name for column in declared}
        wanted = np.ones(len(raws), dtype=bool)
        while True:
            decoder = TableDecoder(declared, present)
            for number in np.flatnonzero(wanted).tolist():
                try:
                    decoder.add(raws[number], int(rows[number]))
                except Damaged:
                    self.damaged += 1
                    wanted[number] = False
            columns: Columns = {}
            ends = np.cumsum(rows[wanted])
            bad = np.zeros(len(ends), dtype=bool)
            for column in table.columns:
                values, wrong = decoded(
                    column, decoder, column.name in present, int(rows[wanted].sum())
                )
                columns[column.name] = values
                bad[np.searchsorted(ends, wrong, side="right")] = True
            if not bad.any():
                return columns, np.column_stack((first[wanted], rows[wanted]))
            self.damaged += int(bad.sum())
            wanted[np.flatnonzero(wanted)[bad]] = False

    def _decode_numbers(
        self, table: Table, declared: list[Column], numbers: Numbers
    ) -> tuple[Columns, Ranges]:
        """The same for tables without text, many blocks at a time."""
        place = {column.name: number for number, column in enumerate(declared)}
        most = int(self.blocks.heads["rows"][numbers].sum())
        filled = {column.name: FilledColumn(column, most) for column in table.columns}
        done = 0
        ranges: list[Ranges] = []
        for some in self._batches(numbers):
            raws, first, counts = self._decompressed(some, len(declared))
            found = NumberBlocks(raws, counts, len(declared))
            good = found.good.copy()
            found.keep(good)
            rows = int(found.rows.sum())
            fits = np.ones(len(found.rows), dtype=bool)
            columns: Columns = {}
            for column in table.columns:
                at = place.get(column.name)
                same = constant(column, found, at)
                if same is not None:
                    columns[column.name] = same
                    continue
                raw = found.decode(at) if at is not None else None
                columns[column.name], wrong = bounded(column, raw, rows)
                fits[np.searchsorted(np.cumsum(found.rows), wrong, side="right")] = False
            if not fits.all():
                kept = np.repeat(fits, found.rows)
                columns = {
                    name: values if isinstance(values, int) else values[kept]
                    for name, values in columns.items()
                }
                good[np.flatnonzero(good)[~fits]] = False
            self.damaged += int((~good).sum())
            ranges.append(np.column_stack((first[good], counts[good])))
            end = done + int(ranges[-1][:, 1].sum())
            for name, values in columns.items():
                filled[name].put(done, end, values)
            done = end
        return {name: column.first(done) for name, column in filled.items()}, np.concatenate(ranges)
