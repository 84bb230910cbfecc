"""Readable blocks to a Recording: what they say, put together and checked.

A block whose checksum is right can still hold nonsense, by a writer's mistake
or by intent. Such a block counts as damaged and is skipped like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
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
from sonde.recording.format.schema import FLOAT, INTEGERS, TABLES, TEXT, TEXTS, Column, Table
from sonde.recording.read.declared import Declared, read_declaration
from sonde.recording.read.decode import (
    Damaged,
    Decompressor,
    TableDecoder,
    decode_json,
)
from sonde.recording.read.decode_numbers import NumberBlocks
from sonde.recording.read.facts import Facts, check_facts, read_totals
from sonde.recording.read.recovery import Blocks
from sonde.recording.read.row_refs import (
    NO_RANGES,
    Columns,
    Ranges,
    RowMap,
    add_lost_row,
    keep_whole_contexts,
    translate,
)
from sonde.recording.tables import TABLE_CLASSES, Process, Recording

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

_DTYPES: dict[str, Any] = {
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "i32": np.int32,
    "i64": np.int64,
}
Numbers = NDArray[np.int64]

_NONE: Numbers = np.zeros(0, dtype=np.int64)
# Shared by all tables without rows: nobody can write into an array of no length.
_EMPTY: dict[str, Any] = {kind: np.zeros(0, dtype) for kind, dtype in _DTYPES.items()}
_EMPTY[FLOAT] = np.zeros(0)


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
        self.rows: dict[str, Numbers] = {table.name: _NONE for table in TABLES}
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
            return _without_rows(table), NO_RANGES
        declared = next(
            entry.columns for entry in self.declared if entry is not None and entry.table is table
        )
        if _only_integers([*declared, *table.columns]):
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
                values, wrong = _column(
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
        filled = {column.name: _Filled(column, most) for column in table.columns}
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
                same = _constant(column, found, at)
                if same is not None:
                    columns[column.name] = same
                    continue
                raw = found.decode(at) if at is not None else None
                columns[column.name], wrong = _bounded(column, raw, rows)
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


class _Filled:
    """A column being filled from its start on; while all its values are equal it takes no memory.

    Of most samples no span is known, and memory that is touched first is most of what reading
    takes.
    """

    def __init__(self, column: Column, rows: int) -> None:
        self._dtype = np.dtype(_DTYPES[column.type])
        self._rows = rows
        self._same: int | None = None
        self._values: NDArray[Any] | None = None

    def put(self, start: int, end: int, values: NDArray[Any] | int) -> None:
        if start == end:
            return
        if self._values is None:
            if isinstance(values, int) and self._same in (None, values):
                self._same = values
                return
            self._values = np.empty(self._rows, self._dtype)
            if self._same is not None:
                self._values[:start] = self._same
        self._values[start:end] = values

    def first(self, rows: int) -> NDArray[Any]:
        """Read-only where all are equal."""
        if self._values is not None:
            return self._values if rows == self._rows else self._values[:rows].copy()
        return np.broadcast_to(self._dtype.type(self._same or 0), (rows,))


def _constant(column: Column, found: NumberBlocks, place: int | None) -> int | None:
    """The value that a column has in every row of some blocks; None: there is not only one.

    None as well where it is out of bounds, which is the business of those who look at each block.
    """
    if place is None:
        return int(column.default)
    raw = found.constant(place)
    if raw is None:
        return None
    low, high = column.bounds
    value = int(raw.astype(np.int64) if INTEGERS[column.type][0] < 0 else raw)
    return value if low <= value <= high else None


def _only_integers(columns: list[Column]) -> bool:
    return all(column.type in INTEGERS for column in columns)


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
                        values = tables[name][key]
                        if isinstance(values, np.ndarray) and not values.flags.writeable:
                            values = tables[name][key] = values.copy()
                        values[place] = column.default if value is None else value


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


def assemble(blocks: Blocks, size: int, path: str, samples: bool = True) -> Recording:
    """`samples` False: without them, if nothing is damaged and the file states their totals."""
    if not samples and (found := _without_samples(blocks, size, path)) is not None:
        return found
    reader = BlockReader(blocks, size, path)
    reader.collect()
    tables, maps = _decoded(reader)
    recording = put_together(path, tables, maps, reader.merged, reader.damaged, reader.declared)
    if not blocks.ended:
        readable_ns = recording.target["duration_ns"]
        recording.warnings.insert(0, _cut_off_sentence(path, blocks.torn, readable_ns))
    return recording


def _without_samples(blocks: Blocks, size: int, path: str) -> Recording | None:
    reader = BlockReader(blocks, size, path)
    reader.collect()
    written = reader.ranges("samples")
    totals = read_totals(reader.facts)
    if totals is None or not blocks.ended or totals.rows != int(written[:, 1].sum()):
        return None
    reader.rows["samples"] = _NONE
    tables, maps = _decoded(reader)
    maps["samples"] = RowMap(written)
    facts = reader.merged
    facts.quality.setdefault("taken", totals.rows)
    facts.quality.setdefault("undecodable", totals.without_stack)
    facts.target["duration_ns"] = max(int(facts.target.get("duration_ns", 0)), totals.last_ns)
    recording = put_together(path, tables, maps, facts, reader.damaged, reader.declared)
    whole = not recording.warnings and all(rows.keeps_all for rows in maps.values())
    return replace(recording, cpu_ns=totals.running_ns) if whole else None


def _decoded(reader: BlockReader) -> tuple[dict[str, Columns], dict[str, RowMap]]:
    tables: dict[str, Columns] = {}
    maps: dict[str, RowMap] = {}
    for table in TABLES:
        tables[table.name], ranges = reader.decode(table)
        maps[table.name] = RowMap(ranges)
    apply_updates(reader.updates, tables, maps)
    return tables, maps


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
        f"its last block is incomplete ({torn:,} bytes skipped)"
        if torn
        else "the recorder crashed or is still writing"
    )
    return f"{path} is cut off after {readable_ns / 1e9:.1f} s: {why}"


def _damage_sentence(path: str, blocks: int, lost_samples: int, stackless: int) -> str:
    places = "1 place" if blocks == 1 else f"{blocks:,} places"
    return (
        f"{path} is damaged in {places}: "
        f"{lost_samples:,} samples are missing, and {stackless:,} have no stack"
    )
