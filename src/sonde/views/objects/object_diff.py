"""What is allocated more and what less between two recordings, and what stays alive of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sonde.views.objects.objects import Objects, ObjectsRow, objects
from sonde.views.stacks.function_match import same_functions

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.selecting.profile import Function
    from sonde.views.selecting.selection import Selection


@dataclass(frozen=True)
class Amount:
    """Of one recording; estimates in bytes."""

    allocated: int
    allocated_margin: int
    alive: int | None
    """None: no object was followed to its end."""
    alive_margin: int | None

    def plus(self, other: Amount) -> Amount:
        return Amount(
            self.allocated + other.allocated,
            _joint(self.allocated_margin, other.allocated_margin),
            None if self.alive is None or other.alive is None else self.alive + other.alive,
            None
            if self.alive_margin is None or other.alive_margin is None
            else _joint(self.alive_margin, other.alive_margin),
        )


@dataclass(frozen=True)
class ObjectDiffRow:
    """Objects of one class, allocated in one function."""

    type: str
    function: Function | None
    base: Amount
    new: Amount

    @property
    def delta(self) -> int:
        return self.new.allocated - self.base.allocated

    @property
    def margin(self) -> int:
        """Of the difference, at 95 % confidence."""
        return _joint(self.base.allocated_margin, self.new.allocated_margin)

    @property
    def alive_delta(self) -> int | None:
        if self.base.alive is None or self.new.alive is None:
            return None
        return self.new.alive - self.base.alive

    @property
    def alive_margin(self) -> int | None:
        if self.base.alive_margin is None or self.new.alive_margin is None:
            return None
        return _joint(self.base.alive_margin, self.new.alive_margin)

    def to_json(self) -> dict[str, Any]:
        return {
            "class": self.type,
            "function": None if self.function is None else self.function.to_json(),
            "base_bytes": self.base.allocated,
            "new_bytes": self.new.allocated,
            "delta_bytes": self.delta,
            "margin_bytes": self.margin,
            "base_live_bytes": self.base.alive,
            "new_live_bytes": self.new.alive,
            "delta_live_bytes": self.alive_delta,
            "margin_live_bytes": self.alive_margin,
        }


@dataclass(frozen=True)
class ObjectDiff:
    """What stays alive first, if that changed by more than its margin; then by the change of bytes
    allocated, descending."""

    base: Amount
    new: Amount
    rows: list[ObjectDiffRow]
    left: int
    """Rows that are not here."""

    def to_json(self) -> dict[str, Any]:
        return {
            "base_bytes": self.base.allocated,
            "new_bytes": self.new.allocated,
            "base_live_bytes": self.base.alive,
            "new_live_bytes": self.new.alive,
            "rows": [row.to_json() for row in self.rows],
        }


def object_diff(
    base: Recording,
    new: Recording,
    selection: Selection | None = None,
    new_selection: Selection | None = None,
    *,
    top: int | None = None,
) -> ObjectDiff:
    before = objects(base, selection, by="site")
    after = objects(new, new_selection or selection, by="site")
    functions = [_functions(found) for found in (before, after)]
    same = same_functions(*functions)
    rows: dict[tuple[str, int], list[Amount]] = {}
    nothing = [_nothing(before), _nothing(after)]
    numbers = (same.of_base.tolist(), same.of_new.tolist())
    for side, found in enumerate((before, after)):
        number = dict(zip(functions[side], numbers[side], strict=True))
        for row in found.rows:
            key = row.type, -1 if row.site is None else number[row.site[0]]
            amounts = rows.setdefault(key, list(nothing))
            amounts[side] = amounts[side].plus(_amount(row))
    changed = [
        ObjectDiffRow(type_, None if place < 0 else same.functions[place], *amounts)
        for (type_, place), amounts in rows.items()
    ]
    changed.sort(key=lambda row: (-_certain(row), -abs(row.delta)))
    shown = changed[:top]
    return ObjectDiff(_amount(before), _amount(after), shown, len(changed) - len(shown))


def _certain(row: ObjectDiffRow) -> int:
    """By how much more or less of it stays alive, if that is more than chance."""
    if row.alive_delta is None or row.alive_margin is None:
        return 0
    return abs(row.alive_delta) if abs(row.alive_delta) > row.alive_margin else 0


def _functions(found: Objects) -> list[Function]:
    return list(dict.fromkeys(row.site[0] for row in found.rows if row.site is not None))


def _amount(found: Objects | ObjectsRow) -> Amount:
    alive = found.survival
    return Amount(
        found.estimated_bytes,
        found.margin_bytes,
        None if alive is None else alive.live_bytes,
        None if alive is None else alive.live_margin_bytes,
    )


def _nothing(found: Objects) -> Amount:
    return Amount(0, 0, *((None, None) if found.survival is None else (0, 0)))


def _joint(one: int, other: int) -> int:
    return round(math.hypot(one, other))
