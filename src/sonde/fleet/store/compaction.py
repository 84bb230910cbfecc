"""Keeping a store small: many parts made into few, old ones and remains taken away.

Nobody is locked out meanwhile. A merged part replaces what it names at the moment it exists; what
it replaced stays a while for readers that have begun with it, and goes with a later run.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from sonde.errors import SondeError
from sonde.fleet.store import parts
from sonde.fleet.store.location import said
from sonde.fleet.store.schema import KEYS, ORDER, TABLES

if TYPE_CHECKING:
    from sonde.fleet.store.location import Location

GRACE_S = 3600.0
"""So long remains stay: readers may be reading them, and writers may not have finished them."""
MAX_SIZE = 1 << 26
"""Bytes of parts merged into one: sorted in memory they take about twenty times as much."""


@dataclass(frozen=True)
class CompactionResult:
    """What a run did."""

    merged: int
    made: int
    removed_parts: int
    removed_files: int


def compact(
    location: Location, *, grace_s: float = GRACE_S, largest: int = MAX_SIZE
) -> CompactionResult:
    """Makes one part of those of a service's day, up to a size."""
    begun = time.time()
    store = parts.open_store(location)
    removed_parts, removed_files = _remains(store, grace_s)
    merged = made = 0
    for group in _groups(store, largest):
        tables = _merged(location, group)
        if time.time() - begun > grace_s / 2 and grace_s > 0:
            raise SondeError(
                "timed out: another run may have deleted the segments merged here; "
                f"{made} segments were written, run it again for the rest"
            )
        # By the clock first: of two who merge the same at the same time the earlier one counts.
        number = int(begun * 1000) << 20 | int.from_bytes(os.urandom(2), "little") << 4 | made & 15
        part = parts.part_of(
            group[0].service,
            min(one.begin_s for one in group) * parts.SECOND,
            max(one.end_s for one in group) * parts.SECOND,
            number,
            merged=True,
        )
        held = [one.id for one in group]
        for one in group:
            if one.merged:
                held += sorted(store.holds(one))
        with said(location, "write"):
            parts.write(location, part, tables, replaces=held)
        merged, made = merged + len(group), made + 1
    return CompactionResult(merged, made, removed_parts, removed_files)


def _groups(store: parts.Store, largest: int) -> list[list[parts.Part]]:
    """Parts of one service and day, as many as are not too large together."""
    sizes = _sizes(store)
    days = defaultdict(list)
    for part in store.parts:
        days[part.service, part.day].append(part)
    groups: list[list[parts.Part]] = []
    for day in days.values():
        group: list[parts.Part] = []
        room = largest
        for part in sorted(day, key=lambda part: (sizes.get(part.stem, 0), part.stem)):
            size = sizes.get(part.stem, 0)
            if group and size > room:
                groups.append(group)
                group, room = [], largest
            group.append(part)
            room -= size
        groups.append(group)
    return [group for group in groups if len(group) > 1]


def _sizes(store: parts.Store) -> dict[str, int]:
    """Bytes by part, of the tables that grow."""
    sizes: dict[str, int] = defaultdict(int)
    for table in ORDER:
        for name, info in store.location.names(table).items():
            sizes[name.rpartition("/")[2].removesuffix(".parquet")] += info.size
    return sizes


def _merged(location: Location, group: list[parts.Part]) -> dict[str, pa.Table]:
    found = {}
    for name, schema in TABLES.items():
        with said(location, "read"):
            tables = [
                pq.read_table(
                    location.path(part.file(name)),
                    filesystem=location.system,
                    schema=schema,
                    partitioning=None,
                )
                for part in group
            ]
        whole = pa.concat_tables(tables).combine_chunks()
        if name in KEYS:
            whole = _once(whole, KEYS[name])
        if name in ORDER:
            whole = whole.sort_by([(column, "ascending") for column in ORDER[name]])
        found[name] = whole
    return found


def _once(table: pa.Table, key: str) -> pa.Table:
    """Rows of one key are the same row: the first of each."""
    numbered = table.select([key]).append_column("row", pa.array(range(table.num_rows), pa.int64()))
    first = numbered.group_by(key).aggregate([("row", "min")])
    return table.take(first["row_min"].combine_chunks().sort())


def prune(location: Location, older: timedelta, *, grace_s: float = GRACE_S) -> CompactionResult:
    """Takes away the parts that ended before so long ago."""
    store = parts.open_store(location)
    limit = datetime.now(UTC).timestamp() - older.total_seconds()
    old = [part for part in store.all if part.end_s < limit]
    with said(location, "write"):
        for part in old:
            # First that it exists, then what it is.
            location.remove(part.name)
    files = parts.remove_files(location, (file for part in old for file in part.files))
    _, remains = _remains(parts.open_store(location, must_exist=False), grace_s)
    return CompactionResult(0, 0, len(old), files + remains)


def _remains(store: parts.Store, grace_s: float) -> tuple[int, int]:
    """Removes parts that were replaced and files of parts that were never finished."""
    location = store.location
    limit = time.time() - grace_s
    gone = [
        part for part in store.all if part.id in store.replaced and _since(store, part) <= limit
    ]
    for part in gone:
        location.remove(part.name)
    known = {file for part in store.all for file in part.files}
    files = [file for part in gone for file in part.files]
    for table in TABLES:
        for name, info in location.names(table).items():
            written = info.mtime.timestamp() if info.mtime is not None else 0.0
            if name not in known and written <= limit:
                files.append(name)
    return len(gone), parts.remove_files(location, files)


def _since(store: parts.Store, replaced: parts.Part) -> float:
    """When the newest merged part was written; nothing is removed before that has settled."""
    times = [
        info.mtime.timestamp()
        for name, info in store.listed.items()
        if (part := parts.parsed(name))
        and part.merged
        and part.service == replaced.service
        and info.mtime is not None
    ]
    return max(times, default=0.0)
