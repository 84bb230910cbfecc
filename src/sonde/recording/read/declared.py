"""What a file says about its own tables, held against the tables this reader knows."""

from __future__ import annotations

from typing import Any, NamedTuple

from sonde.recording.format.framing import pack_json
from sonde.recording.format.schema import FLOAT, INTEGERS, TABLES, TYPES, Column, Table, declare
from sonde.recording.read.decode import Damaged, decode_json

# What a writer of the same version declares: nearly every file.
_OWN = pack_json({"tables": declare(TABLES)})


class Declared(NamedTuple):
    table: Table
    """The table as this reader knows it."""
    columns: list[Column]
    """The columns as the file has them, in the file's order."""
    problem: str
    """Why the table cannot be read, or nothing."""


def read_declaration(raw: bytes) -> list[Declared | None]:
    """One entry per table number; None for a table that this reader does not know."""
    if raw == _OWN:
        return [Declared(table, list(table.columns), "") for table in TABLES]
    match decode_json(raw):
        case {"tables": list(entries)}:
            pass
        case _:
            raise Damaged
    known = {table.name: table for table in TABLES}
    declared: list[Declared | None] = []
    for entry in entries:
        match entry:
            case {"name": str(name), "columns": list(columns)}:
                # Each name once: a second table of that name would mix its rows in.
                table = known.pop(name, None)
                declared.append(None if table is None else _declared(table, columns))
            case _:
                raise Damaged
    return declared


def _declared(table: Table, entries: list[Any]) -> Declared:
    columns: list[Column] = []
    for entry in entries:
        match entry:
            case {"name": str(name), "type": str(kind)}:
                columns.append(Column(name, kind))
            case _:
                raise Damaged
    if len({column.name for column in columns}) != len(columns):
        raise Damaged
    return Declared(table, columns, _problem(table, columns))


def _problem(table: Table, columns: list[Column]) -> str:
    found = {column.name: column.type for column in columns}
    for column in columns:
        if column.type not in TYPES:
            return f"its table {table.name} has values of an unknown type, {column.type!r}"
    for column in table.columns:
        if column.name not in found:
            if column.default is None:
                return f"its table {table.name} has no column {column.name}"
        elif _family(found[column.name]) != _family(column.type):
            return (
                f"its table {table.name} has {found[column.name]} in column {column.name}, "
                f"where {column.type} is expected"
            )
    return ""


def _family(kind: str) -> str:
    """Integers of all sizes are stored alike."""
    return "integer" if kind in INTEGERS else FLOAT if kind == FLOAT else kind
