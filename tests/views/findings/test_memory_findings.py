"""A leak is named; caches that are cleared, steady programs and start-ups are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from allocations import Allocation, recording_of
from sonde.recording.tables import Marks, Recording
from sonde.views.findings.findings import findings

SIZE = 100_000
SITE = "main:1 > fill:6"

Freed = Callable[[float], float | None]
"""When something allocated at that millisecond of a thousand was freed."""

GROWTH: dict[str, tuple[float, Freed]] = {
    # until when it allocates, and what becomes of that
    "leak": (1000, lambda at: None),
    "leak beside short-lived objects": (1000, lambda at: None if int(at) % 2 else at + 3),
    "cache cleared": (1000, lambda at: 700 if at < 700 else None),
    "cache cleared at the end": (1000, lambda at: 990 if at < 990 else None),
    "bounded cache": (1000, lambda at: at + 300 if at < 700 else None),
    "short-lived": (1000, lambda at: at + 2 if at < 998 else None),
    "start-up": (150, lambda at: None),
}


def recording(name: str, seed: int = 1) -> Recording:
    until, freed = GROWTH[name]
    chance = np.random.default_rng(seed)
    moments = np.sort(chance.uniform(0, until, 120)).tolist()
    rest = [Allocation(at, "main:2 > work:9", size=SIZE, freed=at + 1) for at in range(0, 990, 10)]
    made = [Allocation(at, SITE, size=SIZE, freed=freed(at)) for at in moments]
    return recording_of(sorted([*made, *rest], key=lambda a: a.ms), every=512 << 10)


def named(found: Recording) -> list[str]:
    return [f.detail for f in findings(found) if f.title.startswith("memory grows")]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", GROWTH)
def test_only_leaks_are_named(name: str, seed: int) -> None:
    details = named(recording(name, seed))
    if not name.startswith("leak"):
        assert not details
        return
    (detail,) = details
    assert "fill (app.py:6), mostly Row, grew by" in detail
    assert detail.endswith(
        "none was freed" if name == "leak" else "none older than 125 ms was freed"
    )


def test_a_finding_leads_to_its_evidence() -> None:
    (finding,) = [f for f in findings(recording("leak")) if f.title == "memory grows in fill"]
    assert finding.view == "sonde report app.sonde objects --growth --by site"
    assert 0.9 < finding.share <= 1


def test_few_samples_name_nothing() -> None:
    few = recording_of([Allocation(at, SITE, size=SIZE) for at in range(0, 1000, 100)])
    assert not named(few)


def test_lost_ends_name_nothing() -> None:
    """What looks alive may not be."""
    found = recording("leak")
    assert named(replace(found, quality={"object_ends_lost": 1}))
    assert not named(replace(found, quality={"object_ends_lost": 10}))


def test_java_needs_collections() -> None:
    """Without them everything looks alive."""
    leak = recording("leak")
    java = replace(leak.processes[0], runtime="hotspot")
    (detail,) = named(replace(leak, processes=[java]))
    assert detail.endswith("none was freed")
    made = Marks(
        np.arange(5) * 200_000_000, np.zeros(5, np.int32), ["GC pause"] * 5, np.full(5, 1_000)
    )
    (detail,) = named(replace(leak, processes=[java], marks=made))
    assert detail.endswith("none was freed in 5 garbage collections")
    never = replace(leak.objects, died=np.zeros(len(leak.objects), dtype=np.int64))
    assert not named(replace(leak, processes=[java], objects=never))
