"""Recordings into a store, one part each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sonde.errors import SondeError
from sonde.fleet.store import parts
from sonde.fleet.store.labels import labels_of
from sonde.fleet.store.rows import rows_of
from sonde.views.stacks.chained_samples import open_recording

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sonde.fleet.store.location import Location
    from sonde.recording.tables import Recording


@dataclass(frozen=True)
class AddResult:
    """What became of one file."""

    file: str
    samples: int
    bytes: int
    warnings: list[str]
    already: bool = False
    """It was in the store before, and nothing was written."""


def add(
    location: Location, files: Sequence[str], labels_given: Mapping[str, str]
) -> Iterator[AddResult]:
    """Adds recordings one by one; each is in the store, and whole, when it is given back."""
    store = parts.open_store(location, must_exist=False)
    for number, file in enumerate(files):
        recording = open_recording(file)
        try:
            yield add_one(location, recording, labels_given, store=store)
        except OSError as error:
            before = f"; the first {number} are in the store" if number else ""
            reason = (error.strerror or str(error)).splitlines()[0].lower()
            raise SondeError(
                f"cannot write {file} into {location.address}: {reason}; "
                f"the store is unchanged by it{before}"
            ) from error


def add_one(
    location: Location,
    recording: Recording,
    labels_given: Mapping[str, str],
    *,
    store: parts.Store | None = None,
) -> AddResult:
    labels = labels_of(recording, labels_given)
    rows = rows_of(recording, labels)
    size, already = 0, store is not None and store.has(rows.recording)
    if not already:
        part = parts.part_of(labels.service, rows.begin_ns, rows.end_ns, rows.recording)
        size = parts.write(location, part, rows.tables)
    return AddResult(recording.path, len(recording.samples), size, recording.warnings, already)
