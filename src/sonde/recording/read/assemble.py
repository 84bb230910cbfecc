"""Columns to a Recording: every row number translated, and what is missing said."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from sonde.recording.format.schema import TABLES
from sonde.recording.read.block_reader import BlockReader
from sonde.recording.read.column_values import NO_ROWS, fits
from sonde.recording.read.declared import Declared
from sonde.recording.read.facts import Facts, read_totals
from sonde.recording.read.recovery import Blocks
from sonde.recording.read.row_refs import (
    Columns,
    RowMap,
    add_lost_row,
    keep_whole_contexts,
    translate,
)
from sonde.recording.tables import NO_ATTRIBUTES, TABLE_CLASSES, Process, Recording
from sonde.row_values import SPAN_NAME


def apply_updates(updates: list[Any], tables: dict[str, Columns], maps: dict[str, RowMap]) -> None:
    """Writes later facts about rows into their columns."""
    known = {table.name: {c.name: c for c in table.columns} for table in TABLES}
    for entry in updates:
        match entry:
            case [str(name), int(row), dict(facts)] if name in known:
                place = int(maps[name](np.array([row], dtype=np.int64))[0])
                for key, value in facts.items():
                    column = known[name].get(key)
                    if place >= 0 and column is not None and fits(column, value):
                        values = tables[name][key]
                        if isinstance(values, np.ndarray) and not values.flags.writeable:
                            values = tables[name][key] = values.copy()
                        values[place] = column.default if value is None else value


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
    reader.rows["samples"] = NO_ROWS
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
    spans = _spans(tables["spans"], tables["span_ends"], tables["span_attributes"])
    objects = _objects(tables["objects"], tables["object_ends"])
    columns = {**tables, "spans": spans, "objects": objects}
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
        values["undercounted"] = list(values["undercounted"])
        processes.append(Process(**values))
    return processes


def _spans(begun: Columns, ended: Columns, attributes: Columns) -> Columns:
    rows = len(begun["name"])
    end = np.full(rows, -1, dtype=np.int64)
    known = ended["span"] >= 0
    end[ended["span"][known]] = ended["time"][known]
    # One is entered in an earlier one; anything else would be a circle.
    parent = np.where(begun["parent"] < np.arange(rows), begun["parent"], -1).astype(np.int32)
    found: list[dict[str, str]] = [NO_ATTRIBUTES] * rows
    names = list(begun["name"])
    for row, key, value in zip(*(attributes[c] for c in ("span", "key", "value")), strict=True):
        if row < 0:
            continue
        if key == SPAN_NAME:
            names[row] = value
        elif found[row] is NO_ATTRIBUTES:
            found[row] = {key: value}
        else:
            found[row][key] = value
    return {**begun, "name": names, "end_ns": end, "parent": parent, "attributes": found}


def _objects(allocated: Columns, ended: Columns) -> Columns:
    died = np.zeros(len(allocated["time"]), dtype=np.int64)
    known = ended["object"] >= 0
    died[ended["object"][known]] = ended["time"][known]
    return {**allocated, "died": died}


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
            ("lock_samples", "time"),
            ("objects", "time"),
            ("object_ends", "time"),
            ("probe_values", "time"),
            ("windows", "time"),
            ("event_samples", "time"),
            ("chained", "time"),
            ("flow_runs", "time"),
            ("flow_events", "time"),
            ("task_times", "time"),
            ("task_waits", "time"),
            ("task_steps", "time"),
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
