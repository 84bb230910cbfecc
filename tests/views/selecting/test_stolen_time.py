"""What others took, in the views: figures of a recording made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sonde.errors import UsageError
from sonde.recording.tables import Recording
from sonde.recording.usage_tables import Machine, Metrics, Processors
from sonde.views.findings.findings import findings
from sonde.views.selecting.selection import Selection, select
from sonde.views.spans import spans
from sonde.views.stacks.flat import flat
from sonde.views.threads import threads
from synthetic import MS, Maker


def recording(**target: Any) -> Recording:
    """Two threads for two steps of 100 ms; in the second the hypervisor took 30 ms.

    The main thread was in a span, and in another inside of that.
    """
    make = Maker(duration_ns=200 * MS, **target)
    make.thread("MainThread", end=200 * MS, cpu=100 * MS)
    order = make.span("order", 10 * MS, 180 * MS)
    pay = make.span("pay", 50 * MS, 100 * MS, parent=order)
    make.sample("main:1 > a:1", 20 * MS, time=20 * MS, span=order)
    make.sample("main:2 > b:1", 60 * MS, time=90 * MS, span=pay)
    make.sample("main:1 > a:1", 20 * MS, time=150 * MS, span=order)
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
    rows = flat(recording(), select("taken", cause="queue")).to_json()["rows"]
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
    with pytest.raises(UsageError, match="has no run-queue latency"):
        flat(make.recording(), select("taken"))
    assert not [f for f in findings(make.recording()) if "--taken" in f.view]


def test_the_finding_names_the_thief_and_the_victim() -> None:
    found = {f.title: f for f in findings(recording()) if "--taken" in f.view}
    queue = found["long run-queue latency"]
    assert queue.share == pytest.approx(48 / (48 + 140))
    assert "the most affected is worker with 40.0 ms" in queue.detail
    # 15 ms are too little to speak of.
    assert "high steal time" not in found


def placed(made: Recording) -> Recording:
    """The same where the main thread ran on one processor, and the worker on another one."""
    thread = made.samples.thread.astype(np.int32)
    processors = Processors(
        process=np.zeros(2, np.uint32),
        time=np.full(2, 200 * MS),
        processor=np.array([0, 1], np.uint32),
        busy_ns=np.array([120 * MS, 50 * MS]),
        steal_ns=np.array([6 * MS, 24 * MS]),
    )
    samples = replace(made.samples, processor=thread)
    return replace(made, samples=samples, processors=processors)


def test_threads_have_the_steal_of_their_processors() -> None:
    found = threads(placed(recording()))
    rows = {row.name: row for row in found.rows}
    # Of the first processor's 120 ms the main thread used 100, of the second's 50 the worker 40.
    assert rows["MainThread"].steal_ns == 5 * MS
    assert rows["worker"].steal_ns == pytest.approx(24 * MS * 40 / 50)
    assert found.steal_by_processor == 1.0
    assert threads(recording()).steal_by_processor == 0.0


def test_a_clock_without_the_steal_is_compared_without_it() -> None:
    found = threads(placed(recording(metrics_include_steal=False)))
    rows = {row.name: row for row in found.rows}
    # The first processor was busy for 114 ms beside the steal time, the second for 26: less than
    # the worker alone used, as ticks are.
    assert rows["MainThread"].steal_ns == round(6 * MS * 100 / 114)
    assert rows["worker"].steal_ns == 24 * MS


def test_spans_have_what_was_taken_from_them() -> None:
    rows = {row.name: row for row in spans(placed(recording())).rows}
    # Queue: 8 ms in the first step, a quarter of it before `pay`. Steal: 4 ms in that step.
    assert (rows["order"].run_delay_ns, rows["pay"].run_delay_ns) == (8 * MS, 6 * MS)
    assert (rows["order"].steal_ns, rows["pay"].steal_ns) == (5 * MS, 3 * MS)
    assert rows["order"].throttled_ns == 0
    of_time = {row.name: row for row in spans(recording(), Selection(start_ns=100 * MS)).rows}
    assert (of_time["order"].run_delay_ns, of_time["order"].steal_ns) == (0, 5 * MS)


def test_spans_of_a_recording_without_metrics_do_not_know() -> None:
    make = Maker()
    make.sample("a:1", span=make.span("order", 0, 10 * MS))
    row = spans(make.recording()).to_json()["rows"][0]
    assert [row[key] for key in ("run_delay_ns", "throttled_ns", "steal_ns")] == [None] * 3


def test_the_quota_of_a_span_is_part_of_its_run_delay() -> None:
    made = recording()
    alone = replace(made.metrics, run_delay_ns=np.array([8 * MS, 20 * MS, 0]))
    (order,) = (row for row in spans(replace(made, metrics=alone)).rows if row.name == "order")
    assert (order.run_delay_ns, order.throttled_ns) == (28 * MS, 10 * MS)
