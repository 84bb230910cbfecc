"""Where the machine's processors were: by process, thread, module and symbol."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from sonde.errors import UsageError
from sonde.views.selecting.duration import duration_ns as length_of
from sonde.views.selecting.profile import Function, identities
from sonde.views.selecting.selection import Selection, chosen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sonde.recording.tables import Recording

IDLE = "idle"
"""What the process of a processor without work is called; others may lack a number, too."""
SECTIONS: tuple[tuple[str, ...], ...] = (
    ("process",),
    ("process", "thread"),
    ("process", "module"),
    ("process", "thread", "module", "symbol"),
    ("module", "symbol"),
)
"""What stands below what, in each part of the report."""


@dataclass(frozen=True)
class Row:
    level: str
    id: int | None
    """Of a process or thread."""
    name: str
    ticks: int
    children: list[Row]

    def to_json(self) -> dict[str, Any]:
        return {
            "level": self.level,
            "id": self.id,
            "name": self.name,
            "ticks": self.ticks,
            "children": [child.to_json() for child in self.children],
        }


@dataclass(frozen=True)
class Section:
    by: tuple[str, ...]
    rows: list[Row]


@dataclass(frozen=True)
class Tprof:
    """`ticks` are those of all processors, idle ones included; rows add up to them."""

    ticks: int
    idle: int
    lost: int
    processors: int
    rate: int
    duration_ns: int
    sections: list[Section]

    def to_json(self) -> dict[str, Any]:
        return {
            "ticks": self.ticks,
            "idle": self.idle,
            "lost": self.lost,
            "processors": self.processors,
            "rate": self.rate,
            "duration_ns": self.duration_ns,
            "sections": [
                {"by": list(section.by), "rows": [row.to_json() for row in section.rows]}
                for section in self.sections
            ],
        }


def tprof(
    places: Sequence[Any],
    *,
    lost: int,
    processors: int,
    rate: int,
    duration_ns: int,
    process: int | None = None,
) -> Tprof:
    """`places` have a pid, process, tid, thread, module and symbol each."""
    if process is not None:
        places = [place for place in places if place.pid == process]
    sections = []
    for by in SECTIONS:
        counts = Counter(tuple(_key(place, level) for level in by) for place in places)
        sections.append(Section(by, _rows(by, counts.items())))
    idle = sum(place.pid == 0 and place.process == IDLE for place in places)
    return Tprof(len(places), idle, lost, processors, rate, duration_ns, sections)


def is_of_machine(recording: Recording) -> bool:
    """Whether `sonde tprof` wrote it."""
    return isinstance(recording.target.get("tprof"), dict)


def tprof_of(recording: Recording, selection: Selection | None = None) -> Tprof:
    """The same of a recording, of the selected processes, threads and time."""
    facts = recording.target.get("tprof")
    if not isinstance(facts, dict):
        raise UsageError(
            f"{recording.path} is not a recording of the whole machine; make one with: "
            "sonde tprof -o FILE"
        )
    selection = (selection or Selection()).with_time("wall")
    places = _places(recording, selection)
    start, end = selection.start_ns or 0, length_of(recording)
    if selection.end_ns is not None:
        end = min(end, selection.end_ns)
    lost, processors, rate = (
        value if isinstance(value, int) else 0
        for value in (facts.get("lost"), facts.get("processors"), recording.target.get("rate"))
    )
    return tprof(
        places, lost=lost, processors=processors, rate=rate, duration_ns=max(end - start, 0)
    )


class _Place(NamedTuple):
    pid: int
    process: str
    tid: int
    thread: str
    module: str
    symbol: str


def _places(recording: Recording, selection: Selection) -> list[_Place]:
    threads, contexts, samples = recording.threads, recording.contexts, recording.samples
    owners = []
    for row in range(len(threads)):
        process = recording.processes[int(threads.process[row])]
        name = process.argv[0] if process.argv else ""
        owners.append((process.pid, name, int(threads.tid[row]), threads.name[row]))
    functions, identity = identities(recording)
    symbols = []
    for parent, number in zip(contexts.parent.tolist(), contexts.function.tolist(), strict=True):
        function = functions[identity[number]]
        module = functions[identity[contexts.function[parent]]] if parent >= 0 else function
        symbols.append((module.name.removeprefix("[").removesuffix("]"), _symbol(function)))
    symbols.append(("", "[undecodable]"))
    # A tick is a moment, and has no part on the other side of a boundary.
    rows, _ = chosen(recording, replace(selection, start_ns=None, end_ns=None))
    if selection.start_ns is not None:
        rows = rows[samples.time[rows] >= selection.start_ns]
    if selection.end_ns is not None:
        rows = rows[samples.time[rows] < selection.end_ns]
    return [
        _Place(*owners[thread], *symbols[context])
        for thread, context in zip(
            samples.thread[rows].tolist(), samples.context[rows].tolist(), strict=True
        )
    ]


def _symbol(function: Function) -> str:
    if function.line:
        return f"{function.name} {function.file}:{function.line}"
    return function.name


def _key(place: Any, level: str) -> tuple[int | None, str]:
    if level == "process":
        return place.pid, place.process
    if level == "thread":
        return place.tid, place.thread
    name: str = getattr(place, level)
    return None, name


_Key = tuple[int | None, str]


def _rows(by: Sequence[str], counts: Iterable[tuple[tuple[_Key, ...], int]]) -> list[Row]:
    groups: dict[_Key, list[tuple[tuple[_Key, ...], int]]] = {}
    for key, ticks in counts:
        groups.setdefault(key[0], []).append((key[1:], ticks))
    rows = [
        Row(
            by[0],
            number,
            name,
            sum(ticks for _, ticks in below),
            _rows(by[1:], below) if len(by) > 1 else [],
        )
        for (number, name), below in groups.items()
    ]
    return sorted(rows, key=lambda row: (-row.ticks, row.id or 0, row.name))
