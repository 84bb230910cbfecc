"""What locks would cost without a GIL: from acquisitions whose numbers are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sonde.recording.lock_samples import LockCounts, LockSamples
from sonde.recording.tables import Recording
from sonde.views.findings.findings import findings
from sonde.views.locks.lock_activity import lock_activity
from sonde.views.locks.lock_table import lock_table
from synthetic import MS, Maker
from views.findings.test_lock_findings import quiet

COSTS = {"alone_ns": 10.0, "transfer_ns": 100.0}
EVERY = 10


def sampled(
    make: Maker, threads: list[str], hold_ns: int, costs: dict[str, Any] | None = COSTS
) -> Recording:
    """Of each entry of `threads` a sample, a millisecond apart."""
    lock = make.lock("shared")
    context = make.context("work:3 > _thread.lock.__enter__")
    rows = np.array([make.thread(name) for name in threads], dtype=np.uint32)
    count = len(rows)

    def column(value: int, kind: type = np.int64) -> Any:
        return np.full(count, value, dtype=kind)

    if costs is not None:
        make.quality = {**make.quality, "lock_costs": costs}
    samples = LockSamples(
        thread=rows, time=np.arange(count) * MS, lock=column(lock, np.uint32),
        context=column(context, np.int32), every=column(EVERY, np.uint32),
        counted=column(EVERY, np.uint32), flags=column(0, np.uint8), wait_ns=column(0),
        hold_ns=column(hold_ns), span=column(-1, np.int32), spin_ns=column(-1),
    )  # fmt: skip
    none = np.zeros(0, dtype=np.int64)
    counts = LockCounts(none.astype(np.uint32), none, none)
    return replace(make.recording(), lock_samples=samples, lock_counts=counts)


def test_costs_of_a_lock_that_two_threads_share() -> None:
    recording = sampled(quiet(), ["one", "two"] * 100, 1000)
    active = lock_activity(recording)
    assert active is not None
    (lock,) = active.locks
    cost = active.without_gil(lock)
    assert cost is not None
    assert (lock.acquisitions.number, cost.atomic_ns) == (2000, 20_000)
    # In random order every second one comes from the other thread.
    assert (cost.transfers, cost.transfer_ns) == (1000, 100_000)
    assert cost.held_share == pytest.approx(2000 * 1000 / active.duration_ns)


def test_one_thread_moves_no_cache_line() -> None:
    active = lock_activity(sampled(quiet(), ["one"] * 50, 1000))
    assert active is not None
    cost = active.without_gil(active.locks[0])
    assert cost is not None
    assert (cost.transfers, cost.transfer_ns) == (0, 0)


def test_what_was_not_measured_is_unknown() -> None:
    active = lock_activity(sampled(quiet(), ["one", "two"] * 50, 1000, None))
    assert active is not None
    assert active.without_gil(active.locks[0]) is None
    alone = {"alone_ns": 10.0, "transfer_ns": None}
    active = lock_activity(sampled(quiet(), ["one", "two"] * 50, 1000, alone))
    assert active is not None
    cost = active.without_gil(active.locks[0])
    assert cost is not None
    assert (cost.atomic_ns, cost.transfer_ns) == (10_000, None)


def test_the_table_has_it() -> None:
    table = lock_table(sampled(quiet(), ["one", "two"] * 100, 1000)).to_json()
    (row,) = (row for row in table["rows"] if row["acquisitions"])
    assert row["free_threaded"]["transfer_ns"] == 100_000
    assert table["activity"]["atomic"] == COSTS
    assert row["spin_ns"] is None


@pytest.mark.parametrize(
    ("threads", "hold_ns", "found"),
    [
        (["one", "two"] * 100, 500_000, True),
        (["one", "two"] * 100, 5_000, False),
        (["one"] * 200, 500_000, False),
        (["one", "two"] * 10, 500_000, False),
    ],
)
def test_a_finding_names_locks_that_threads_would_queue_for(
    threads: list[str], hold_ns: int, found: bool
) -> None:
    titles = [f.title for f in findings(sampled(quiet(), threads, hold_ns))]
    assert any("free-threaded" in title for title in titles) is found
