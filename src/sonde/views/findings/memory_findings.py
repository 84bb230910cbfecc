"""Sites at which memory only grows: what they allocate stays, and what is old is not freed.

Steady programs free what is old, caches too, and a start-up ends: all three are recognized by when
the survivors were allocated and by what happened to those of their age.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from sonde.model.survival import NEVER
from sonde.row_values import BUILT_IN
from sonde.views.findings.evidence import Evidence, Finding
from sonde.views.objects.sampled import Ints, Sampled, margin, sampled
from sonde.views.objects.sites import Places
from sonde.views.selecting.duration import duration_ns
from sonde.views.selecting.formatting import amount, count, duration, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sonde.recording.tables import Recording

INTERVALS = 8
MAX_WITHOUT_GROWTH = 2
"""Intervals in which chance may leave a site without a survivor that was sampled."""
MIN_SURVIVORS = 20
MIN_GROWTH = 1 << 20
MIN_SHARE = 0.05
"""Of all that is alive."""
MAX_FREED = 0.1
"""Of what a site allocated and became old."""
MAX_LOST = 0.01
"""Of the ends of sampled objects: with more, what looks alive may not be."""
MIN_COLLECTIONS = 3
COLLECTION_NS = 50_000_000
"""Ends that are further apart than this are of different collections."""
COLLECTION = "GC pause"
"""The mark that the agent of Java sets."""


def growing_sites(evidence: Evidence) -> Iterator[Finding]:
    recording, chosen = evidence.recording, evidence.selection
    lost = recording.quality.get("object_ends_lost") or 0
    if chosen.span is not None or lost > MAX_LOST * len(recording.objects):
        return
    found = sampled(recording, chosen)
    if not found.followed.any():
        return
    start = chosen.start_ns or 0
    end = duration_ns(recording) if chosen.end_ns is None else chosen.end_ns
    found = found.only(found.followed & (found.begin < end))
    process = recording.threads.process[recording.objects.thread[found.row]]
    for number in np.unique(process).tolist():
        span = _span(recording, number, found.only(process == number), start, end)
        if span is not None:
            yield from _of_process(evidence, found.only(process == number), span)


@dataclass(frozen=True)
class _Span:
    """The time in which a process is looked at."""

    start: int
    end: int
    collections: int
    """Pauses of the garbage collector, where it is that which frees objects."""


def _span(recording: Recording, process: int, found: Sampled, start: int, end: int) -> _Span | None:
    facts = recording.processes[process]
    start = max(start, facts.start_ns)
    end = end if facts.end_ns is None else min(end, facts.end_ns)
    if facts.runtime != "hotspot":
        return _Span(start, end, 0) if end > start else None
    # What was allocated since the last collection looks alive, whether or not it is.
    ends = np.unique(found.end[(found.end > start) & (found.end <= end)])
    if len(np.unique(ends // COLLECTION_NS)) < MIN_COLLECTIONS:
        return None
    return _Span(start, int(ends[-1]), _collections(recording, process, start, int(ends[-1])))


def _collections(recording: Recording, process: int, start: int, end: int) -> int:
    """Pauses of the garbage collector; 0 if it is not known whose they were."""
    of_java = [n for n, facts in enumerate(recording.processes) if facts.runtime == "hotspot"]
    if of_java != [process]:
        return 0
    times = recording.marks.time.tolist()
    marks = zip(recording.marks.text, times, strict=True)
    return sum(text == COLLECTION and start <= time <= end for text, time in marks)


def _of_process(evidence: Evidence, found: Sampled, span: _Span) -> Iterator[Finding]:
    found = found.only(found.begin <= span.end)
    alive = found.alive(span.end) & (found.begin >= span.start)
    places = Places(evidence.recording, found.row, "site")
    everything = float(found.bytes[found.alive(span.end)].sum())
    sites, survivors = np.unique(places.place[alive & (places.place >= 0)], return_counts=True)
    for site in sites[survivors >= MIN_SURVIVORS].tolist():
        mine = places.place == site
        here = found.only(mine)
        grown = here.only(alive[mine])
        growth = float(grown.bytes.sum())
        off = margin(float(grown.bytes_variance()[0]))
        if growth - off < MIN_GROWTH or growth < MIN_SHARE * everything:
            continue
        if not _keeps_growing(grown, span):
            continue
        old_ns = (span.end - span.start) // INTERVALS
        freed = _old_freed(here, old_ns, span)
        if freed > MAX_FREED:
            continue
        at = places.site(int(np.flatnonzero(mine)[0]))
        assert at is not None
        function, line = at
        where = function.name
        if function.file and function.file != BUILT_IN:
            where += f" ({PurePath(function.file).name}:{line})"
        detail = (
            f"the objects allocated in {where}, mostly {_main_type(evidence, grown)}, grew by "
            f"{amount(growth)} ± {amount(off)} in {duration(span.end - span.start)}, and "
            + _freed_in_words(here, freed, old_ns)
        )
        if span.collections:
            detail += f" in {count(span.collections, 'garbage collection')}"
        yield Finding(
            f"memory grows in {function.name}",
            detail,
            growth / everything,
            evidence.command("objects", "--growth", "--by", "site"),
        )


def _keeps_growing(grown: Sampled, span: _Span) -> bool:
    """Survivors come from all of the time, not from a start-up or a burst."""
    place = (grown.begin - span.start) * INTERVALS // max(span.end - span.start, 1)
    by_interval: Ints = np.bincount(np.clip(place, 0, INTERVALS - 1), minlength=INTERVALS)
    without = int((by_interval == 0).sum())
    late = by_interval[INTERVALS // 2 :].sum() / by_interval.sum()
    most = by_interval.max() / by_interval.sum()
    return without <= MAX_WITHOUT_GROWTH and late >= 0.25 and most <= 0.5


def _old_freed(here: Sampled, old_ns: int, span: _Span) -> float:
    """Of the objects that became old, which share of the bytes was freed."""
    freed = (here.end != NEVER) & (here.end <= span.end)
    age = np.where(freed, here.end, span.end) - here.begin
    old = age >= old_ns
    total = float(here.bytes[old].sum())
    return float(here.bytes[old & freed].sum()) / total if total else 1.0


def _freed_in_words(here: Sampled, freed: float, old_ns: int) -> str:
    if not (here.end != NEVER).any():
        return "none was freed"
    if not freed:
        return f"none older than {duration(old_ns)} was freed"
    return f"{percent(freed)} of those older than {duration(old_ns)} were freed"


def _main_type(evidence: Evidence, grown: Sampled) -> str:
    recording = evidence.recording
    types = recording.objects.type[grown.row].astype(np.int64)
    names = [*recording.types.name, "unknown objects"]
    return names[int(np.argmax(np.bincount(types + 1, grown.bytes))) - 1]
