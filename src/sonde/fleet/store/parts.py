"""The parts of a store: what they are called, which of them count, and how one comes to be.

    samples/service=web/day=2026-11-15/BEGIN-END-ID.v1.parquet      likewise every other table
    parts/service=web/day=2026-11-15/BEGIN-END-ID.v1.json           says that the part is whole

A part exists from the moment its file under `parts` does, which is written last and at once.
Everything that readers need to choose parts stands in names, so that choosing costs a listing.
A part made of others names them; as soon as it exists these do not count any more.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import pyarrow.parquet as pq

from sonde._version import version
from sonde.errors import SondeError
from sonde.fleet.store.location import Location, said
from sonde.fleet.store.schema import TABLES, VERSION, packing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa

PARTS = "parts"
MERGED = "merged"
_NAME = re.compile(
    r"parts/service=(?P<service>[^/]*)/day=(?P<day>[0-9-]+)/"
    r"(?P<stem>(?P<begin>-?\d+)-(?P<end>-?\d+)-(?P<id>[0-9a-f]+)\.v(?P<version>\d+)(?P<merged>\.merged)?)\.json"
)
SECOND = 1_000_000_000


@dataclass(frozen=True)
class Part:
    service: str
    day: str
    begin_s: int
    end_s: int
    """Whole seconds; all that happened lies in between."""
    id: str
    """16 digits: of a recording its id, of a merged part when it was made and another number."""
    merged: bool = False
    version: int = VERSION

    @property
    def folder(self) -> str:
        return f"service={quote(self.service, safe='')}/day={self.day}"

    @property
    def stem(self) -> str:
        merged = f".{MERGED}" if self.merged else ""
        return f"{self.begin_s}-{self.end_s}-{self.id}.v{self.version}{merged}"

    @property
    def name(self) -> str:
        return f"{PARTS}/{self.folder}/{self.stem}.json"

    def file(self, table: str) -> str:
        return f"{table}/{self.folder}/{self.stem}.parquet"

    @property
    def files(self) -> list[str]:
        return [self.file(table) for table in TABLES]


def part_of(service: str, begin_ns: int, end_ns: int, number: int, *, merged: bool = False) -> Part:
    begin, end = begin_ns // SECOND, -(-end_ns // SECOND)
    day = datetime.fromtimestamp(begin, UTC).strftime("%Y-%m-%d")
    return Part(service, day, begin, end, f"{number & (1 << 64) - 1:016x}", merged)


def parsed(name: str) -> Part | None:
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return Part(
        unquote(match["service"]),
        match["day"],
        int(match["begin"]),
        int(match["end"]),
        match["id"],
        match["merged"] is not None,
        int(match["version"]),
    )


@dataclass(frozen=True)
class Store:
    """A place with parts, as it was when it was looked at."""

    location: Location
    listed: dict[str, Any] = field(repr=False)
    """Everything under `parts`, by name."""

    @cached_property
    def all(self) -> list[Part]:
        found = [part for part in map(parsed, sorted(self.listed)) if part is not None]
        newer = next((part for part in found if part.version > VERSION), None)
        if newer is not None:
            raise SondeError(
                f"{self.location.address} was written by a newer sonde (schema {newer.version}, "
                f"this one reads up to {VERSION}); update sonde to read it"
            )
        return found

    @cached_property
    def replaced(self) -> set[str]:
        """Ids that do not count, because a part that counts holds the same."""
        gone: set[str] = set()
        live: dict[str, set[str]] = {}
        # Where two hold the same and know nothing of each other, the older one counts.
        for part in sorted((part for part in self.all if part.merged), key=lambda part: part.id):
            held = self.holds(part)
            if any(id_ not in held and not of.isdisjoint(held) for id_, of in live.items()):
                gone.add(part.id)
                continue
            gone.update(held)
            live = {id_: of for id_, of in live.items() if id_ not in held} | {part.id: held}
        return gone

    def holds(self, part: Part) -> set[str]:
        """The ids of all parts that a merged one was made of."""
        with said(self.location, "read"):
            facts = json.loads(self.location.read(part.name))
        return set(facts["replaces"])

    @cached_property
    def parts(self) -> list[Part]:
        """Those that count."""
        return [part for part in self.all if part.id not in self.replaced]

    def has(self, number: int) -> bool:
        id_ = f"{number & (1 << 64) - 1:016x}"
        return id_ in self.replaced or any(part.id == id_ for part in self.all)


def open_store(location: Location, *, must_exist: bool = True) -> Store:
    store = Store(location, location.names(PARTS))
    if must_exist and not store.listed:
        raise SondeError(
            f"{location.address} has no recordings; add some with: "
            f"sonde fleet add {location.address} FILE…"
        )
    return store


def write(
    location: Location,
    part: Part,
    tables: dict[str, pa.Table],
    *,
    replaces: Sequence[str] = (),
) -> int:
    """Writes a part, last of all that it is there; returns how many bytes it takes.

    What was begun and cannot be finished is taken away, if it can.
    """
    try:
        size = 0
        for name, table in tables.items():
            size += _write_table(location, part.file(name), name, table)
        facts = {
            "schema": VERSION,
            "sonde": version(),
            "written": time.time(),
            "rows": {name: table.num_rows for name, table in tables.items()},
            "bytes": size,
            "replaces": list(replaces),
        }
        with location.written(part.name) as stream:
            stream.write(json.dumps(facts).encode())
    except BaseException:
        remove_files(location, part.files)
        raise
    return size


def _write_table(location: Location, file: str, name: str, table: pa.Table) -> int:
    marked = table.replace_schema_metadata({"sonde.table": name, "sonde.schema": str(VERSION)})
    with location.written(file) as stream:
        pq.write_table(marked, stream, **packing(name))
        return int(stream.tell())


def remove_files(location: Location, files: Iterable[str]) -> int:
    """Removes files as far as possible, and says how many."""
    count = 0
    for file in files:
        try:
            location.remove(file)
            count += 1
        except (OSError, ValueError):
            continue
    return count
