"""What a recording says of a test's limits, on recordings whose shares are known."""

from __future__ import annotations

import pytest

from sonde.plugins.pytest.limits import Limits, check
from sonde.plugins.pytest.time_window import last_run
from synthetic import MS, Maker

TEST = "test_app.py::test_it"


@pytest.fixture
def make() -> Maker:
    """A test of 400 samples on two threads, 100 of them in or below `parse`; others outside."""
    make = Maker()
    for _ in range(50):
        make.sample("main:1 > parse:2")
    make.span(TEST, 50 * MS + 1, 350 * MS + 1)
    for i in range(300):
        make.sample("main:3 > parse:2 > scan" if i < 100 else "main:4 > other:2")
    make.sample("main:5 > parse:2", 100 * MS, time=600 * MS)
    make.clock[make.thread("worker")] = 100 * MS
    for _ in range(100):
        make.sample("loop:1 > other:2", thread="worker")
    return make


@pytest.mark.parametrize(
    ("limit", "exceeded", "undecided"), [(0.15, 1, 0), (0.24, 0, 1), (0.26, 0, 1), (0.35, 0, 0)]
)
def test_a_share_is_compared_with_its_interval(
    make: Maker, limit: float, exceeded: int, undecided: int
) -> None:
    """25 % of 400 samples: 21 to 29 %."""
    outcome = check(make.recording(), TEST, Limits({"app.parse": limit}))
    assert (len(outcome.exceeded), len(outcome.undecided)) == (exceeded, undecided)


def test_the_message_has_share_interval_samples_and_limit(make: Maker) -> None:
    (message,) = check(make.recording(), TEST, Limits({"parse": 0.1})).exceeded
    assert message == (
        "parse took 25 % of the CPU time of this test (21 % to 29 % with 95 % confidence, "
        "400 samples); the limit is 10 %"
    )


def test_a_function_that_nobody_knows_is_mentioned(make: Maker) -> None:
    (message,) = check(make.recording(), TEST, Limits({"parsse": 0.5})).undecided
    assert message.startswith("no function 'parsse' was seen in this test")
    assert check(make.recording(), TEST, Limits({"json.dumps": 0.5})).undecided == []


def test_without_samples_nothing_is_decided() -> None:
    make = Maker()
    make.span(TEST, 0, MS)
    outcome = check(make.recording(), TEST, Limits({"json.dumps": 0.5}))
    assert outcome.exceeded == []
    (message,) = outcome.undecided
    assert "0 samples" in message
    assert message.endswith("too few samples to decide")


def test_a_test_whose_span_is_incomplete_is_undecided(make: Maker) -> None:
    make.span("test_app.py::test_two", 500 * MS)
    for name in ("test_app.py::test_two", "test_app.py::test_three"):
        (message,) = check(make.recording(), name, Limits({"parse": 0.5})).undecided
        assert message == "the recorder lost the beginning or end of this test"


def test_the_last_run_of_a_repeated_test_counts(make: Maker) -> None:
    make.span(TEST, 700 * MS, 800 * MS)
    window = last_run(make.recording(), TEST)
    assert window is not None
    assert (window.start_ns, window.end_ns) == (700 * MS, 800 * MS)


def test_lock_waits_of_all_threads_count_within_the_test(make: Maker) -> None:
    make.wait("a", "worker", "MainThread", 60 * MS, 90 * MS)
    make.wait("b", "worker", "MainThread", 340 * MS, 400 * MS)  # 10 ms of it in the test
    recording = make.recording()
    assert check(recording, TEST, Limits(max_lock_wait=0.041)).exceeded == []
    (message,) = check(recording, TEST, Limits(max_lock_wait=0.02)).exceeded
    assert message.startswith("threads waited 40.0 ms for locks in this test, 30.0 ms of it for ")
    assert message.endswith("the limit is 20.0 ms")


def test_lost_lock_events_leave_a_kept_limit_undecided(make: Maker) -> None:
    make.quality["lock_events_lost"] = 3
    (message,) = check(make.recording(), TEST, Limits(max_lock_wait=1)).undecided
    assert "at least 0 s" in message
