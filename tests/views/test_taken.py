"""What others took, in the views: figures of a recording made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sonde.errors import UsageError
from sonde.recording.tables import Machine, Metrics, Recording
from sonde.views.findings import findings
from sonde.views.flat import flat
from sonde.views.selection import Selection, select
from sonde.views.threads import threads
from synthetic import MS, Maker


def recording(**target: Any) -> Recording:
    """Two threads for two steps of 100 ms; in the second the hypervisor took 30 ms."""
    make = Maker(duration_ns=200 * MS, **target)
    make.thread("MainThread", end=200 * MS, cpu=100 * MS)
    make.sample("main:1 > a:1", 20 * MS, time=20 * MS)
    make.sample("main:2 > b:1", 60 * MS, time=90 * MS)
    make.sample("main:1 > a:1", 20 * MS, time=150 * MS)
    make.sample("c:1", 40 * MS, time=160 * MS, thread="worker")

    def ints(*values: int) -> Any:
        return np.array(values, dtype=np.int64)

    unknown = np.full(3, -1, np.int64)
    metrics = Metrics(
        thread=np.array([0, 0, 1], np.uint32),
        time=ints(100 * MS, 200 * MS, 200 * MS),
        cpu_ns=ints(80 * MS, 20 * MS, 40 * MS),
        run_delay_ns=ints(8 * MS, 0, 50 * MS),
        voluntary=ints(3, 4, 5),
        involuntary=ints(1, 0, 2),
        migrations=unknown,
        minor_faults=ints(10, 20, 30),
        major_faults=ints(0, 0, 1),
        cycles=unknown,
        instructions=unknown,
        cache_misses=unknown,
        branch_misses=unknown,
    )
    machine = Machine(
        process=np.zeros(2, np.uint32),
        time=ints(100 * MS, 200 * MS),
        busy_ns=ints(200 * MS, 120 * MS),
        idle_ns=ints(0, 0),
        steal_ns=ints(0, 30 * MS),
        throttled_ns=ints(0, 10 * MS),
    )
    return replace(make.recording(), metrics=metrics, machine=machine)


def test_threads_with_their_thieves() -> None:
    rows = {row.name: row for row in threads(recording()).rows}
    main, worker = rows["MainThread"], rows["worker"]
    assert main.taken_ns == {"queue": 8 * MS, "quota": 0, "hypervisor": 5 * MS}
    assert worker.taken_ns == {"queue": 40 * MS, "quota": 10 * MS, "hypervisor": 10 * MS}
    assert (worker.run_delay_ns, worker.steal_ns) == (50 * MS, 10 * MS)
    assert (main.voluntary_switches, main.involuntary_switches) == (7, 1)
    assert (main.page_faults, worker.page_faults) == (30, 31)
    assert main.metrics == {}  # this machine counts no cycles


@pytest.mark.parametrize(("includes", "corrected"), [(True, 95), (False, 100), (None, 100)])
def test_only_a_clock_that_holds_the_steal_is_corrected(
    includes: bool | None, corrected: int
) -> None:
    rows = threads(recording(cpu_includes_steal=includes)).rows
    assert rows[0].cpu_ns == 100 * MS
    assert rows[0].corrected_cpu_ns == corrected * MS


def test_a_range_of_time_has_its_own_steps() -> None:
    chosen = Selection(start_ns=100 * MS, thread="MainThread")
    (row,) = threads(recording(), chosen).rows
    assert row.taken_ns == {"queue": 0, "quota": 0, "hypervisor": 5 * MS}


def test_calls_lose_in_proportion_to_their_samples() -> None:
    rows = flat(recording(), select("taken", thief="queue")).to_json()["rows"]
    assert {row["name"]: row["self"] for row in rows if row["self"]} == {
        "a": 2 * MS,
        "b": 6 * MS,
        "c": 40 * MS,
    }
    everything = flat(recording(), select("taken"))
    assert everything.total_ns == (8 + 5 + 40 + 10 + 10) * MS


def test_without_metrics_nobody_is_accused() -> None:
    make = Maker()
    make.sample("a:1")
    (row,) = threads(make.recording()).rows
    assert (row.taken_ns, row.corrected_cpu_ns, row.page_faults) == (None, None, None)
    with pytest.raises(UsageError, match="does not tell what others took"):
        flat(make.recording(), select("taken"))
    assert not [f for f in findings(make.recording()) if "--taken" in f.view]


def test_the_finding_names_the_thief_and_the_victim() -> None:
    found = {f.title: f for f in findings(recording()) if "--taken" in f.view}
    queue = found["other work had the processors"]
    assert queue.share == pytest.approx(48 / (48 + 140))
    assert "most of all worker with 40.0 ms" in queue.detail
    # 15 ms are too little to speak of.
    assert "the hypervisor took processors away" not in found
