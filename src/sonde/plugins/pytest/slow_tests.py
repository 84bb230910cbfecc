"""Which tests took longest, and in which functions?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sonde.views.locks.locks import locks
from sonde.views.selecting.selection import Selection
from sonde.views.stacks.flat import flat
from sonde.views.stacks.own_flat import OwnRow, has_own, own_flat

from .spans import is_test

if TYPE_CHECKING:
    from collections.abc import Container

    from sonde.recording.tables import Recording
    from sonde.views.stacks.flat import Flat, FlatRow

TOP_FUNCTIONS = 3
MIN_SHARE = 0.05
"""Of the CPU time of a test: below it a function is not worth a line."""

MIN_SETUP_NS = 5_000_000
"""Set-up and collection below it are left out, as pytest's own durations are."""


@dataclass(frozen=True)
class SlowTest:
    """A span of a test, and what all threads did meanwhile. Travels between processes as JSON."""

    name: str
    path: str
    """The recording that has it."""
    wall_ns: int
    cpu_ns: int
    lock_wait_ns: int
    samples: int
    functions: list[tuple[float, str, str, int]]
    """The share of the CPU time that each has itself, with the libraries that it calls; its name,
    file and first line."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def slow_tests(
    recording: Recording, path: str, names: Container[str], top: int | None = None
) -> list[SlowTest]:
    """The spans of these names, longest first."""
    spans = recording.spans
    wall = spans.end_ns - spans.start_ns
    rows = [
        row
        for row, name in enumerate(spans.name)
        if spans.end_ns[row] >= 0 and name in names and (is_test(name) or wall[row] >= MIN_SETUP_NS)
    ]
    rows.sort(key=lambda row: -int(wall[row]))
    return [_slow_test(recording, path, row) for row in rows[:top]]


def _slow_test(recording: Recording, path: str, row: int) -> SlowTest:
    spans = recording.spans
    start, end = int(spans.start_ns[row]), int(spans.end_ns[row])
    selection = Selection(start_ns=start, end_ns=max(end, start + 1))
    found = _functions(recording, selection)
    waited = locks(recording, selection, by=("kind",), notifications=False, chains=False)
    return SlowTest(
        name=spans.name[row],
        path=path,
        wall_ns=end - start,
        cpu_ns=found.total_ns,
        lock_wait_ns=waited.total_ns,
        samples=found.samples,
        functions=[
            (f.self_ns / found.total_ns, _name(f), f.function.file, f.function.line)
            for f in found.rows[:TOP_FUNCTIONS]
            if f.self_ns >= MIN_SHARE * found.total_ns
        ],
    )


def _functions(recording: Recording, selection: Selection) -> Flat:
    """Of the code under test, as far as any was seen."""
    found = own_flat(recording, selection)
    return found if has_own(found) else flat(recording, selection)


def _name(row: FlatRow) -> str:
    call = row.main_call if isinstance(row, OwnRow) else None
    return row.function.name if call is None else f"{row.function.name} → {call.function.name}"
