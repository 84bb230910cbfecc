"""Threads, processes and spans of time, as a person names them."""

from __future__ import annotations

import math

import pytest

from sonde.errors import UsageError
from sonde.views.selecting.selection import Selection, select
from sonde.views.stacks.flat import flat
from synthetic import Maker


def made() -> Maker:
    make = Maker()
    child = make.process(200)
    make.thread("MainThread")
    make.thread("worker")
    make.thread("child", process=child)
    make.sample("a:1", 1, time=10)
    make.sample("b:1", 10, thread="worker", time=20)
    make.sample("c:1", 100, thread="child", time=300)
    make.sample("d:1", 1_000, thread="worker", time=1_500, state=1)
    return make


def total(selection: Selection) -> int:
    return flat(made().recording(), selection).total_ns


def test_by_name_and_by_tid() -> None:
    assert total(Selection(thread="worker")) == 10
    assert total(Selection(thread="1001")) == 10
    assert total(Selection(thread=1000)) == 1


def test_by_process() -> None:
    assert total(Selection(process=100)) == 11
    assert total(Selection(process=200)) == 100


def test_by_process_and_thread_together() -> None:
    assert total(Selection(process=100, thread="worker")) == 10
    with pytest.raises(UsageError, match=r"no thread 'worker' in app\.sonde; it has child"):
        total(Selection(process=200, thread="worker"))


def test_by_time() -> None:
    assert total(Selection(start_ns=15)) == 110
    assert total(Selection(end_ns=20)) == 1
    assert total(Selection("waiting", start_ns=1_000)) == 500


def test_an_unknown_thread_is_a_wrong_call_that_names_the_known() -> None:
    with pytest.raises(UsageError) as caught:
        total(Selection(thread="nobody"))
    assert str(caught.value) == (
        "no thread 'nobody' in app.sonde; it has MainThread, worker, child"
    )
    assert caught.value.code == 2


def test_of_many_threads_only_some_are_named() -> None:
    make = Maker()
    for i in range(12):
        make.sample("a:1", thread=f"pool-{i}")
    with pytest.raises(UsageError, match=r"pool-0, .* pool-7 and 4 more$"):
        flat(make.recording(), Selection(thread="x"))


def test_an_unknown_process_is_a_wrong_call() -> None:
    with pytest.raises(UsageError, match=r"no process 7 in app\.sonde; it has 100, 200"):
        total(Selection(process=7))


def test_seconds() -> None:
    assert select("wall", start=1.5, end=2) == Selection(
        "wall", start_ns=1_500_000_000, end_ns=2_000_000_000
    )


@pytest.mark.parametrize("end", [1.0, 0.5])
def test_an_empty_range_is_a_wrong_call(end: float) -> None:
    with pytest.raises(UsageError, match="the time range is empty"):
        select(start=1.0, end=end)


def test_no_number_of_seconds() -> None:
    with pytest.raises(UsageError, match="invalid time nan"):
        select(start=math.nan)


def test_no_kind_of_time() -> None:
    with pytest.raises(UsageError, match="invalid time 'cpu'"):
        select("cpu")  # type: ignore[arg-type]


@pytest.mark.parametrize("seconds", [1e12, 1e30, 1e300])
def test_a_time_beyond_all_recordings_holds_nothing_and_breaks_nothing(seconds: float) -> None:
    assert total(select(start=seconds)) == 0
    assert total(select(end=-seconds)) == 0
    assert total(select(start=-seconds, end=seconds)) == 111
