"""Which objects were allocated, how many, where, and which of them are alive?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.errors import UsageError, invalid
from sonde.model.survival import alive_at, high_water, lifetimes
from sonde.row_values import NATIVE_MEMORY
from sonde.views.object_samples import undercounted
from sonde.views.objects.sampled import Flags, Floats, Ints, Sampled, margin, sampled
from sonde.views.objects.sites import Places
from sonde.views.selecting.duration import duration_ns
from sonde.views.selecting.profile import Function
from sonde.views.selecting.selection import ALIVE, ALLOCATED, Selection

if TYPE_CHECKING:
    from sonde.recording.tables import Recording

BY = ("class", "type", "site", "context")
"""Type and class are the same."""
GROWTH = "growth"
UNKNOWN = "(unknown)"
MOMENTS = 200
"""Of the timeline."""


@dataclass(frozen=True)
class Estimate:
    """Samples, and what they stand for; margins are those of 95 % confidence."""

    bytes: int
    """Of the samples alone, as `count`."""
    count: int
    estimated_bytes: int
    estimated_count: int
    margin_bytes: int
    margin_count: int

    def estimate_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in Estimate.__dataclass_fields__}


@dataclass(frozen=True)
class Survival:
    """What of allocated objects is alive in the end, and how long the others were."""

    live_bytes: int
    live_count: int
    live_margin_bytes: int
    high_water_bytes: int
    high_water_ns: int
    lifetime: list[tuple[int, int]]
    """What the lives of those that ended did not exceed, and how many."""

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


_NO_SURVIVAL: dict[str, Any] = dict.fromkeys(Survival.__dataclass_fields__)


@dataclass(frozen=True)
class ObjectsRow(Estimate):
    """Objects of one class; by site or context those allocated there."""

    type: str
    kind: str
    """"object", or "native" for memory of an extension or library."""
    at_least: bool
    """The runtime hides some allocations of this class."""
    site: tuple[Function, int] | None
    """The innermost function that is of no library, and its line; None: not asked or not known."""
    chain: list[dict[str, Any]] | None
    """Outermost first."""
    survival: Survival | None

    def to_json(self) -> dict[str, Any]:
        site = None
        if self.site is not None:
            function, line = self.site
            site = {**function.to_json(), "line": line, "first_line": function.line}
        return {
            "class": self.type,
            "kind": self.kind,
            "at_least": self.at_least,
            "site": site,
            "context": self.chain,
            **self.estimate_json(),
            **(_NO_SURVIVAL if self.survival is None else self.survival.to_json()),
        }


@dataclass(frozen=True)
class Objects(Estimate):
    """Rows by estimated bytes, descending; sums are of all of them, those not shown included."""

    by: str
    of: str
    """ALLOCATED, ALIVE at `at_ns`, or GROWTH from `from_ns` to it."""
    from_ns: int | None
    at_ns: int | None
    survival: Survival | None
    """None: no object was followed to its end."""
    timeline: list[tuple[int, int]]
    """Bytes alive at moments in equal distances."""
    classes: int
    rows: list[ObjectsRow]
    left: int
    """Rows that are not here."""

    def to_json(self) -> dict[str, Any]:
        return {
            "by": self.by,
            "of": self.of,
            "from_ns": self.from_ns,
            "at_ns": self.at_ns,
            **self.estimate_json(),
            **(_NO_SURVIVAL if self.survival is None else self.survival.to_json()),
            "timeline": [list(moment) for moment in self.timeline],
            "rows": [row.to_json() for row in self.rows],
        }


def objects(
    recording: Recording,
    selection: Selection | None = None,
    *,
    by: str = "class",
    at_ns: int | None = None,
    at_high_water: bool = False,
    growth: bool = False,
    top: int | None = None,
) -> Objects:
    """What was allocated in the selected time; or what was alive `at_ns` or when most was; or by
    how much that grew in the selected time."""
    if by not in BY:
        raise UsageError(invalid("--by", by, BY, "values for objects"))
    by = "class" if by == "type" else by
    selection = selection or Selection()
    found = sampled(recording, selection)
    follows = bool(found.followed.any())
    if not follows and (growth or at_high_water or at_ns is not None):
        raise UsageError(
            f"{recording.path} does not show which objects are alive: none was followed to its end"
        )
    start, end = selection.start_ns, selection.end_ns
    of, signs = ALLOCATED, np.ones(len(found))
    if growth:
        of, at_ns = GROWTH, end
        before, after = found.alive(start or 0), found.alive(end)
        signs = after.astype(np.float64) - before
        counted = before != after
    elif at_high_water or at_ns is not None:
        of = ALIVE
        at_ns = _peak(found, start, end) if at_ns is None else at_ns
        counted = found.alive(at_ns)
    else:
        counted = found.allocated(start, end)
    moment = end if at_ns is None else at_ns
    seen = counted
    if of == ALLOCATED and start is None:  # what was alive before may still be
        seen = np.ones(len(found), dtype=bool) if end is None else found.begin < end
    found, counted, signs = found.only(seen), counted[seen], signs[seen]
    places = Places(recording, found.row, by)
    names = [*recording.types.name, UNKNOWN]
    types = recording.objects.type[found.row].astype(np.int64)
    kinds = recording.objects.kind[found.row].astype(np.int64)
    key = ((types + 1) * 2 + kinds) * places.size + places.place + 1
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    groups = len(first)
    estimates = _estimates(found, counted, signs, group, groups)
    survivals = _survivals(found, moment, group, groups) if follows else None
    hidden = np.bincount(group, undercounted(recording, found.row), groups) > 0
    by_bytes = np.lexsort((first, [-estimate.estimated_bytes for estimate in estimates]))
    alive = [survivals is not None and survivals[i].live_bytes > 0 for i in range(groups)]
    order = [i for i in by_bytes.tolist() if estimates[i].count or alive[i]]
    rows = [
        ObjectsRow(
            type=names[int(types[first[i]])],
            kind="native" if kinds[first[i]] == NATIVE_MEMORY else "object",
            at_least=bool(hidden[i]),
            site=places.site(int(first[i])),
            chain=places.chain(int(first[i])),
            survival=None if survivals is None else survivals[i],
            **vars(estimates[i]),
        )
        for i in order[:top]
    ]
    whole = np.zeros(len(found), dtype=np.int64)
    every = _survivals(found, moment, whole, 1)[0] if follows else None
    return Objects(
        by=by,
        of=of,
        from_ns=(start or 0) if growth else start,
        at_ns=at_ns,
        survival=every,
        timeline=_timeline(recording, selection) if follows else [],
        classes=len(np.unique(types[counted])),
        rows=rows,
        left=len(order) - len(rows),
        **vars(_estimates(found, counted, signs, whole, 1)[0]),
    )


def _peak(found: Sampled, start: int | None, end: int | None) -> int:
    """When most was alive, in the selected time."""
    begin = np.maximum(found.begin, start or 0)
    inside = found.followed & (found.end > begin)
    if end is not None:
        inside &= begin < end
    some = found.only(inside)
    nobody = np.zeros(len(some), dtype=np.int64)
    stop = np.minimum(some.end, some.exit)
    peak = high_water(nobody, 1, np.maximum(some.begin, start or 0), stop, some.bytes)
    return int(peak.time[0])


def _estimates(
    found: Sampled, counted: Flags, signs: Floats, group: Ints, groups: int
) -> list[Estimate]:
    some, of, signs = found.only(counted), group[counted], signs[counted]

    def sums(values: Floats) -> Floats:
        return np.bincount(of, values, groups).astype(np.float64)

    columns = (
        sums(some.size * signs),
        sums(np.ones(len(some))),
        sums(some.bytes * signs),
        sums(some.count * signs),
        some.bytes_variance(of, groups),
        some.count_variance(of, groups),
    )
    return [
        Estimate(
            round(size), round(count), round(all_bytes), round(all_count),
            margin(of_bytes), margin(of_count),
        )
        for size, count, all_bytes, all_count, of_bytes, of_count in zip(
            *(column.tolist() for column in columns), strict=True
        )
    ]  # fmt: skip


def _survivals(found: Sampled, moment: int | None, group: Ints, groups: int) -> list[Survival]:
    alive = found.alive(moment)
    here = group[alive]
    live_bytes = np.bincount(here, found.bytes[alive], groups)
    live_count = np.bincount(here, found.count[alive], groups)
    variance = found.only(alive).bytes_variance(here, groups)
    some, of = found.only(found.followed), group[found.followed]
    peaks = high_water(of, groups, some.begin, np.minimum(some.end, some.exit), some.bytes)
    lives = lifetimes(of, groups, some.begin, some.end, some.count)
    return [
        Survival(
            live_bytes=round(float(live_bytes[i])),
            live_count=round(float(live_count[i])),
            live_margin_bytes=margin(float(variance[i])),
            high_water_bytes=round(float(peaks.most[i])),
            high_water_ns=int(peaks.time[i]),
            lifetime=lives[i],
        )
        for i in range(groups)
    ]


def _timeline(recording: Recording, selection: Selection) -> list[tuple[int, int]]:
    found = sampled(recording, selection)
    some = found.only(found.followed)
    start = selection.start_ns or 0
    end = duration_ns(recording) if selection.end_ns is None else selection.end_ns
    moments = np.linspace(start, max(end, start), MOMENTS).astype(np.int64)
    stop = np.minimum(some.end, some.exit)
    alive = np.rint(alive_at(moments, some.begin, stop, some.bytes)).astype(np.int64)
    return list(zip(moments.tolist(), alive.tolist(), strict=True))
