"""Objects of two recordings compared."""

from __future__ import annotations

import math

import pytest

from allocations import Allocation, recording_of
from sonde.views.objects.object_diff import object_diff

LARGE = 10_000


def made(count: int, line: int, *, kept: int = 0) -> list[Allocation]:
    freed = [None] * kept + [500.0] * (count - kept)
    return [Allocation(10, f"main:1 > work:{line}", size=LARGE, freed=end) for end in freed]


def test_a_function_is_the_same_at_another_line() -> None:
    base = recording_of(made(10, 5, kept=2))
    new = recording_of([*made(30, 7, kept=20), Allocation(20, "main:2 > new:9", "Page", LARGE)])
    found = object_diff(base, new)
    rows = {(row.type, row.function.name if row.function else ""): row for row in found.rows}
    assert set(rows) == {("Row", "work"), ("Page", "new")}
    work = rows["Row", "work"]
    assert work.delta == pytest.approx(20 * LARGE, rel=0.01)
    assert work.alive_delta == pytest.approx(18 * LARGE, rel=0.01)
    assert work.margin == round(math.hypot(work.base.allocated_margin, work.new.allocated_margin))
    assert rows["Page", "new"].base.allocated == 0
    assert found.rows[0] is work
    assert sum(row.delta for row in found.rows) == found.new.allocated - found.base.allocated


def test_survival_of_one_recording_alone_compares_nothing_alive() -> None:
    found = object_diff(recording_of(made(5, 5), followed=False), recording_of(made(5, 5)))
    assert found.rows[0].alive_delta is None
    assert found.rows[0].to_json()["delta_live_bytes"] is None
    assert found.rows[0].delta == 0
