"""What the counters of a recording mean for trust in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sonde.recording.tables import Objects, Recording, Types
from sonde.views.quality import KEYS, Quality, quality, standard_error
from synthetic import Maker

GOOD = {
    "sampler": "perf-sigtrap",
    "why_not_better": "",
    "rate_asked": 1000,
    "rate_achieved": 998.0,
    "taken": 10_000,
    "lost": 0,
    "undecodable": 0,
    "truncated": 0,
    "agent_cpu_ns": 1,
    "events_lost": 0,
    "clock": "monotonic",
}


def of(warnings: tuple[str, ...] = (), **changes: Any) -> Quality:
    make = Maker()
    make.sample("a:1", 1_000)
    make.quality = GOOD | changes
    make.warnings = list(warnings)
    return quality(make.recording())


def test_a_good_recording_has_no_problem() -> None:
    assert of().problems == []


def test_json_has_the_agreed_keys() -> None:
    json = of(extra=5).to_json()
    assert {key: json[key] for key in GOOD} == GOOD
    assert json["extra"] == 5
    assert json["cost"] == 0.001


def test_keys_are_there_even_when_the_recording_is_silent() -> None:
    make = Maker()
    make.sample("a:1")
    make.sample(None)
    json = quality(make.recording()).to_json()
    assert set(KEYS) <= set(json)
    assert json["taken"] == 2
    assert json["undecodable"] == 1
    assert json["sampler"] is None
    assert json["cost"] is None


@pytest.mark.parametrize(
    ("counter", "tolerated", "bad", "title"),
    [
        ("lost", 50, 400, "3.8 % of the samples were lost"),
        ("undecodable", 50, 100, "1.0 % of the samples have no stack"),
        ("truncated", 100, 200, "2.0 % of the stacks are truncated"),
        ("rate_achieved", 800, 500, "only 50 % of the requested rate was achieved"),
        ("agent_cpu_ns", 30, 50, "the overhead was 5.0 % of the CPU time"),
        ("taken", 100, 25, "only 25 CPU samples taken"),
        ("taken", 100, 0, "no samples were taken"),
        ("events_lost", 0, 3, "3 events lost"),
    ],
)
def test_each_problem_has_its_threshold(counter: str, tolerated: int, bad: int, title: str) -> None:
    assert of(**{counter: tolerated}).problems == []
    assert [problem.title for problem in of(**{counter: bad}).problems] == [title]


def test_without_samples_there_is_one_problem() -> None:
    found = of(taken=0, unsampled_cpu_ns=1_000_000)
    assert [problem.title for problem in found.problems] == ["no samples were taken"]


def test_java_stacks_are_no_question_of_the_interpreter() -> None:
    make = Maker()
    make.sample("a:1", 1_000)
    make.quality = GOOD | {"undecodable": 100}
    recording = make.recording()
    (problem,) = quality(recording).problems
    assert "interpreter" in problem.advice
    recording.processes[:] = [replace(p, runtime="hotspot") for p in recording.processes]
    (problem,) = quality(recording).problems
    assert "the JVM's start" in problem.advice


def test_waits_without_a_stack_are_counted_apart() -> None:
    many = {"taken": 5_000, "running_samples": 1_000}
    assert of(**many, undecodable=24, undecodable_waits=20).problems == []
    (problem,) = of(**many, undecodable=84, undecodable_waits=80).problems
    assert problem.title == "2.0 % of the waits have no stack"
    assert problem.detail.startswith("80 of 4,000 waits")
    (problem,) = of(**many, undecodable=30, undecodable_waits=20).problems
    assert problem.title == "1.0 % of the samples have no stack"
    assert problem.detail.startswith("10 of 1,000 samples")


def test_few_samples_say_how_uncertain_they_are() -> None:
    (problem,) = of(taken=25).problems
    assert problem.detail == "a share of 50 % has a margin of error of ±20 %"
    assert problem.share == pytest.approx(0.2)


def test_warnings_of_the_reader_are_problems() -> None:
    found = of(warnings=("cut off after 12.3 s: the last block is torn",))
    assert [p.detail for p in found.problems] == ["cut off after 12.3 s: the last block is torn"]
    assert found.to_json()["warnings"] == ["cut off after 12.3 s: the last block is torn"]


def test_lost_ends_of_objects() -> None:
    (problem,) = of(object_ends_lost=3).problems
    assert problem.title == "the ends of 3 sampled objects were lost"


COUNTS = {"objects_taken": 100, "objects_lost": 0, "object_agent_ns": 20_000}
ROWS = [(0, 0, 1), (1, 1, 2), (2, -1, 3), (3, 1, 0), (-1, 1, 5)]
"""Time, type and id: the last one is of an earlier segment."""


def with_objects(**changes: Any) -> Recording:
    make = Maker()
    thread = make.thread("main")
    make.sample("a:1", 1_000_000)
    make.quality = GOOD | COUNTS | changes
    time, type_, number = np.array(ROWS, dtype=np.int64).T
    same = np.zeros(len(ROWS), dtype=np.int64)
    table = Objects(
        same.astype(np.uint32) + np.uint32(thread), time, same.astype(np.int32),
        type_.astype(np.int32), same + 8, same + 1_000, same.astype(np.uint64),
        same.astype(np.uint8), number.astype(np.uint64), same,
    )  # fmt: skip
    made = make.recording()
    processes = [replace(process, undercounted=["dict"]) for process in made.processes]
    types = Types(["app.Order", "dict"], ["cpython", "cpython"])
    return replace(made, objects=table, types=types, processes=processes)


def test_samples_of_objects_are_counted() -> None:
    counters = quality(with_objects()).counters
    assert (counters["objects_taken"], counters["objects_lost"]) == (100, 0)
    assert (counters["objects_without_type"], counters["objects_not_followed"]) == (1, 1)
    assert counters["objects_at_least"] == 2
    assert counters["object_types_at_least"] == ["dict"]
    assert counters["object_ends_lost"] == 0
    assert counters["object_cost"] == pytest.approx(0.02)


def test_a_recording_without_counts_of_objects_has_none() -> None:
    made = with_objects()
    counts = {key: value for key, value in made.quality.items() if key not in COUNTS}
    counters = quality(replace(made, quality=counts)).counters
    assert not [key for key in counters if key.startswith("object")]


def test_lost_samples_of_objects() -> None:
    assert quality(with_objects()).problems == []
    (problem,) = quality(with_objects(objects_lost=25)).problems
    assert problem.title == "20.0 % of the object samples were lost"
    assert problem.share == pytest.approx(0.2)


def test_objects_without_a_class() -> None:
    (problem,) = quality(with_objects(objects_taken=5)).problems
    assert problem.title == "20.0 % of the object samples have no class"


def test_worst_first() -> None:
    titles = [p.title for p in of(lost=1_000, truncated=5_000, events_lost=1).problems]
    assert titles == [
        "50.0 % of the stacks are truncated",
        "9.1 % of the samples were lost",
        "1 event lost",
    ]


def test_standard_error_is_the_binomial_one() -> None:
    assert standard_error(0.5, 100) == pytest.approx(0.05)
    assert standard_error(0.1, 900) == pytest.approx(0.01)
    assert standard_error(0.5, 0) == 1.0
