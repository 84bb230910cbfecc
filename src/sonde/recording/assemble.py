"""Readable blocks to a Recording: what they say, put together and checked.

A block whose checksum is right can still hold nonsense, by a writer's mistake
or by intent. Such a block counts as damaged and is skipped like any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde.recording.declared import Declared, read_declaration
from sonde.recording.decode import Damaged, Decompressor, TableDecoder, decode_json
from sonde.recording.decode_numbers import NumberBlocks
from sonde.recording.facts import Facts, check_facts
from sonde.recording.format import FACTS, MAX_ROWS, ROWS, SCHEMA, UPDATES, RecordingError
from sonde.recording.links import (
    Columns,
    RowMap,
    add_lost_row,
    keep_whole_contexts,
    translate,
)
from sonde.recording.recovery import Block, Blocks
from sonde.recording.schema import FLOAT, INTEGERS, TABLES, TEXT, TEXTS, Column, Table
from sonde.recording.tables import TABLE_CLASSES, Process, Recording

# What a file may expand to. A block's rows are limited, so an honest table of up to 17
# columns stays below this; a hostile one meets it instead of the end of the memory.
_BUDGET_FLOOR = 64 << 20
_BUDGET_A_BYTE = 512
# Parsed JSON takes this many times its text at worst (a list of empty lists).
_JSON_WEIGHT = 32
_MAX_FIRST_ROW = 2**48
_BLOCKS_AT_A_TIME = 2048
"""Blocks of numbers decoded together: what is needed besides the columns stays small."""

_DTYPES: dict[str, Any] = {
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "i32": np.int32,
    "i64": np.int64,
}
_NONE = np.zeros(0, dtype=np.int64)
# Shared by all tables without rows: nobody can write into an array of no length.
_EMPTY: dict[str, Any] = {kind: np.zeros(0, dtype) for kind, dtype in _DTYPES.items()}
_EMPTY[FLOAT] = np.zeros(0)


class _RowsBlock(NamedTuple):
    first: int
    rows: int
    raw: bytes


_DECODED = _RowsBlock(0, 0, b"")


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
        self.rows: dict[str, list[_RowsBlock]] = {table.name: [] for table in TABLES}
        self.declared: list[Declared | None] = declared or []
        self.next_row = next_row if next_row is not None else {}
        """Row numbers only grow; a block that repeats some is a copy from elsewhere."""
        self._budget = _BUDGET_FLOOR + _BUDGET_A_BYTE * size
        self._decompress = Decompressor()

    def collect(self) -> None:
        """Everything but the rows decoded, the rows decompressed and sorted by table."""
        found = self.blocks.found
        for block in found:
            if block.head.kind == SCHEMA and not self.declared:
                self._try(self._take_schema, block)
        if not self.declared and any(block.head.kind == ROWS for block in found):
            raise RecordingError(
                f"{self.path} is damaged where it declares its tables; nothing in it is readable"
            )
        # Kinds this reader does not know are additions of a later writer: not its business.
        take = {ROWS: self._take_rows, UPDATES: self._take_updates, FACTS: self._take_facts}
        for block in found:
            if block.head.kind in take:
                self._try(take[block.head.kind], block)

    def _try(self, take: Any, block: Block) -> None:
        try:
            take(block)
        except Damaged:
            self.damaged += 1

    def _spend(self, size: int) -> None:
        self._budget -= size
        if self._budget < 0:
            raise RecordingError(
                f"{self.path} expands to more than its size can honestly hold; it is not read"
            )

    def _json(self, block: Block) -> Any:
        raw = self._decompress(block)
        self._spend(len(raw) * _JSON_WEIGHT)
        return decode_json(raw)

    def _take_schema(self, block: Block) -> None:
        raw = self._decompress(block)
        self._spend(len(raw) * _JSON_WEIGHT)
        self.declared = read_declaration(raw)

    def _take_updates(self, block: Block) -> None:
        entries = self._json(block)
        if not isinstance(entries, list):
            raise Damaged
        self.updates += entries

    def _take_facts(self, block: Block) -> None:
        self.facts.append(check_facts(self._json(block)))

    def _take_rows(self, block: Block) -> None:
        head = block.head
        declared = self.declared[head.table] if head.table < len(self.declared) else None
        if declared is None or declared.problem:
            return
        name = declared.table.name
        expected = self.next_row.get(name, 0)
        if not (expected <= head.first_row < _MAX_FIRST_ROW and 0 < head.rows <= MAX_ROWS):
            raise Damaged
        raw = self._decompress(block)
        self._spend(len(raw) + head.rows * 8 * len(declared.columns))
        self.rows[name].append(_RowsBlock(head.first_row, head.rows, raw))
        self.next_row[name] = head.first_row + head.rows

    def decode(self, table: Table) -> tuple[Columns, list[tuple[int, int]]]:
        """A table's columns, and the first row and number of rows of each block they are of.

        Blocks with a value that its column cannot hold are left out.
        """
        blocks = self.rows[table.name]
        if not blocks:  # most tables of most recordings
            return _without_rows(table), []
        declared = next(
            (entry for entry in self.declared if entry is not None and entry.table is table), None
        )
        self.rows[table.name] = []  # the columns take their place
        if declared is not None and _only_integers([*declared.columns, *table.columns]):
            return self._decode_numbers(table, declared.columns, blocks)
        while True:
            present = {column.name for column in declared.columns} if declared else set()
            decoder = TableDecoder(declared.columns if declared else [], present)
            read: list[_RowsBlock] = []
            for block in blocks:
                try:
                    decoder.add(block.raw, block.rows)
                except Damaged:
                    self.damaged += 1
                else:
                    read.append(block)
            rows = sum(block.rows for block in read)
            columns: Columns = {}
            bad: set[int] = set()
            for column in table.columns:
                values, wrong = _column(column, decoder, column.name in present, rows)
                columns[column.name] = values
                if len(wrong):
                    ends = np.cumsum([block.rows for block in read])
                    bad |= set(np.searchsorted(ends, wrong, side="right").tolist())
            if not bad:
                return columns, [(block.first, block.rows) for block in read]
            self.damaged += len(bad)
            blocks = [block for number, block in enumerate(read) if number not in bad]

    def _decode_numbers(
        self, table: Table, declared: list[Column], blocks: list[_RowsBlock]
    ) -> tuple[Columns, list[tuple[int, int]]]:
        """The same for tables without text, many blocks at a time."""
        place = {column.name: number for number, column in enumerate(declared)}
        pieces: dict[str, list[Any]] = {column.name: [] for column in table.columns}
        ranges: list[tuple[int, int]] = []
        for start in range(0, len(blocks), _BLOCKS_AT_A_TIME):
            some = blocks[start : start + _BLOCKS_AT_A_TIME]
            found = NumberBlocks([b.raw for b in some], [b.rows for b in some], len(declared))
            good = found.good.copy()
            found.keep(good)
            rows = int(found.rows.sum())
            fits = np.ones(len(found.rows), dtype=bool)
            columns: Columns = {}
            for column in table.columns:
                raw = found.decode(place[column.name]) if column.name in place else None
                columns[column.name], wrong = _bounded(column, raw, rows)
                fits[np.searchsorted(np.cumsum(found.rows), wrong, side="right")] = False
            if not fits.all():
                kept = np.repeat(fits, found.rows)
                columns = {name: values[kept] for name, values in columns.items()}
                good[np.flatnonzero(good)[~fits]] = False
            self.damaged += int((~good).sum())
            for name, values in columns.items():
                pieces[name].append(values)
            ranges += [
                (block.first, block.rows)
                for block, whole in zip(some, good.tolist(), strict=True)
                if whole
            ]
            # The last reference: what is decoded is not needed any more.
            blocks[start : start + _BLOCKS_AT_A_TIME] = [_DECODED] * len(some)
        return {name: _joined(values) for name, values in pieces.items()}, ranges


def _only_integers(columns: list[Column]) -> bool:
    return all(column.type in INTEGERS for column in columns)


def _joined(pieces: list[Any]) -> Any:
    """One column of its pieces, which are forgotten."""
    joined = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
    pieces.clear()
    return joined


def apply_updates(updates: list[Any], tables: dict[str, Columns], maps: dict[str, RowMap]) -> None:
    """Writes later facts about rows into their columns."""
    known = {table.name: {c.name: c for c in table.columns} for table in TABLES}
    for entry in updates:
        match entry:
            case [str(name), int(row), dict(facts)] if name in known:
                place = int(maps[name](np.array([row], dtype=np.int64))[0])
                for key, value in facts.items():
                    column = known[name].get(key)
                    if place >= 0 and column is not None and _fits(column, value):
                        tables[name][key][place] = column.default if value is None else value


def _without_rows(table: Table) -> Columns:
    return {
        column.name: [] if column.type in (TEXT, TEXTS) else _EMPTY[column.type]
        for column in table.columns
    }


def _column(
    column: Column, decoder: TableDecoder, present: bool, rows: int
) -> tuple[Any, NDArray[np.int64]]:
    """The values of a column, and the places of those out of bounds."""
    if column.type in (TEXT, TEXTS):
        return (decoder.texts(column.name) if present else [column.default] * rows), _NONE
    if column.type == FLOAT:
        return (decoder.floats(column.name) if present else np.full(rows, column.default)), _NONE
    return _bounded(column, decoder.integers(column.name) if present and rows else None, rows)


def _bounded(
    column: Column, raw: NDArray[np.uint64] | None, rows: int
) -> tuple[Any, NDArray[np.int64]]:
    """Values of a column of integers, and the places of those out of bounds; None: not there."""
    dtype = _DTYPES[column.type]
    if not rows:
        return np.zeros(0, dtype), _NONE
    if raw is None:
        return np.full(rows, column.default, dtype), _NONE
    low, high = column.bounds
    values: Any = raw.view(np.int64) if INTEGERS[column.type][0] < 0 else raw
    wrong = _NONE
    if values.min() < low or values.max() > high:
        wrong = np.flatnonzero((values < low) | (values > high))
    return values.astype(dtype, copy=False), wrong


def _fits(column: Column, value: Any) -> bool:
    if column.refers:
        return False
    if value is None:
        return column.default is not None
    if column.type == TEXT:
        return isinstance(value, str)
    if column.type == TEXTS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if isinstance(value, bool):
        return False
    if column.type == FLOAT:
        return isinstance(value, (int, float))
    return isinstance(value, int) and column.bounds[0] <= value <= column.bounds[1]


def assemble(blocks: Blocks, size: int, path: str) -> Recording:
    reader = BlockReader(blocks, size, path)
    reader.collect()
    # Their rows are decompressed, and of a long recording they are many.
    blocks.found.clear()
    tables: dict[str, Columns] = {}
    maps: dict[str, RowMap] = {}
    for table in TABLES:
        tables[table.name], ranges = reader.decode(table)
        maps[table.name] = RowMap(ranges)
    apply_updates(reader.updates, tables, maps)
    facts = Facts()
    for told in reader.facts:
        facts.merge(told)
    recording = put_together(path, tables, maps, facts, reader.damaged, reader.declared)
    if not blocks.ended:
        readable_ns = recording.target["duration_ns"]
        recording.warnings.insert(0, _cut_off_sentence(path, blocks.torn, readable_ns))
    return recording


def put_together(
    path: str,
    tables: dict[str, Columns],
    maps: dict[str, RowMap],
    facts: Facts,
    damaged: int,
    declared: list[Declared | None],
) -> Recording:
    """The tables with every row number translated, and what the file says about them.

    Columns are replaced in `tables`, and never changed themselves but for lists that get a row for
    what was lost.
    """
    quality, target = facts.quality, facts.target
    samples = tables["samples"]
    undecodable = int((samples["context"] == -1).sum())
    keep_whole_contexts(tables["contexts"], maps["contexts"], maps["functions"])
    missing = {
        table.name: translate(table, tables[table.name], maps)
        for table in TABLES
        if table.name != "contexts"
    }
    for table in reversed(TABLES):
        if maps[table.name].lost_row_needed:
            add_lost_row(table, tables[table.name], maps)

    stackless = missing["samples"]["context"]
    refused = quality.get("refused", {})
    gaps = {name: max(0, rows.missing - refused.get(name, 0)) for name, rows in maps.items()}
    # Rows can be missing without a trace in the bytes: a whole block cut out.
    damaged = max(damaged, int(any(gaps.values())))
    quality.setdefault("taken", len(samples["time"]))
    quality["undecodable"] = quality.get("undecodable", undecodable) + stackless
    quality["damaged_blocks"] = damaged
    quality["missing_samples"] = gaps["samples"]
    target["duration_ns"] = max(int(target.get("duration_ns", 0)), _last_moment(tables))
    warnings = [f"{path}: {entry.problem}" for entry in declared if entry and entry.problem]
    if damaged:
        warnings.append(_damage_sentence(path, damaged, gaps["samples"], stackless))
    columns = {**tables, "spans": _spans(tables["spans"], tables["span_ends"])}
    made: dict[str, Any] = {name: table(**columns[name]) for name, table in TABLE_CLASSES.items()}
    return Recording(
        path=path,
        target=target,
        processes=_processes(tables["processes"]),
        quality=quality,
        warnings=warnings,
        **made,
    )


def _processes(columns: Columns) -> list[Process]:
    names = list(columns)
    rows: Iterable[tuple[Any, ...]] = zip(
        *(c.tolist() if isinstance(c, np.ndarray) else c for c in columns.values()), strict=True
    )
    processes = []
    for row in rows:
        values = dict(zip(names, row, strict=True))
        values["end_ns"] = values["end_ns"] if values["end_ns"] >= 0 else None
        values["exit"] = values["exit"] or None
        processes.append(Process(**values))
    return processes


def _spans(begun: Columns, ended: Columns) -> Columns:
    rows = len(begun["name"])
    end = np.full(rows, -1, dtype=np.int64)
    known = ended["span"] >= 0
    end[ended["span"][known]] = ended["time"][known]
    # One is entered in an earlier one; anything else would be a circle.
    parent = np.where(begun["parent"] < np.arange(rows), begun["parent"], -1).astype(np.int32)
    return {**begun, "end_ns": end, "parent": parent}


def _last_moment(tables: dict[str, Columns]) -> int:
    """The latest time that any row speaks of."""
    times = (
        tables[name][column]
        for name, column in (
            ("samples", "time"),
            ("marks", "time"),
            ("spans", "start_ns"),
            ("span_ends", "time"),
            ("lock_events", "time"),
            ("objects", "time"),
            ("windows", "time"),
            ("event_samples", "time"),
            ("chained", "time"),
            ("threads", "start_ns"),
            ("threads", "end_ns"),
            ("processes", "start_ns"),
            ("processes", "end_ns"),
            ("pauses", "end_ns"),
        )
    )
    return max(0, 0, *(int(values.max()) for values in times if len(values)))


def _cut_off_sentence(path: str, torn: int, readable_ns: int) -> str:
    why = (
        f"its last block is torn ({torn:,} bytes left out)"
        if torn
        else "the recorder did not finish it, or is still writing"
    )
    return f"{path} is cut off after {readable_ns / 1e9:.1f} s: {why}"


def _damage_sentence(path: str, blocks: int, lost_samples: int, stackless: int) -> str:
    places = "1 place, which is" if blocks == 1 else f"{blocks:,} places, which are"
    return (
        f"{path} is damaged in {places} left out: "
        f"{lost_samples:,} samples are missing and {stackless:,} have lost their stack"
    )
