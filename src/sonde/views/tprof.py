"""Where the machine's processors were: by process, thread, module and symbol."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
