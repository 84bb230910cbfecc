"""Summary and quality in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reports.page import printed
from sonde.reports import quality as quality_report
from sonde.reports import summary as summary_report
from sonde.reports.layout.page import bar, paragraph
from sonde.views.quality import quality
from sonde.views.summary import Summary, summary
from synthetic import MS, Maker
from views.test_quality import GOOD


def summed_up(make: Maker, width: int = 80) -> list[str]:
    recording = make.recording()
    result = summary(recording)
    return printed(lambda out: summary_report.render(result, out, path=recording.path), width)


def working() -> Maker:
    make = Maker(program="app.py", duration_ns=2_000 * MS)
    make.quality = GOOD | {"taken": 400, "agent_cpu_ns": 2 * MS}
    for i in range(300):
        make.sample("main:3 > work:12", time=i * MS)
    for i in range(100):
        make.sample(f"main:3 > f{i % 5}:1", time=(300 + i) * MS)
    return make


def test_summary() -> None:
    assert summed_up(working()) == [
        "app.py (pid 100) was recorded for 2.00 s under CPython 3.12.1, 1 thread.",
        "It used 400 ms of CPU time, 20 % of one core.",
        "400 CPU samples; a share of 50 % is accurate to ±5.0 points (95 % confidence).",
        "",
        "Findings",
        "  1. work is hot",
        "     work (app.py:1) has a self time of 75 % ± 4 % of the CPU time, 100 % of",
        "     that in line 12.",
        "     sonde report app.sonde flat --top 10",
        "",
        "Your top functions, with the libraries they call",
        "     self             total          function",
        "   300 ms  75.0 %    300 ms  75.0 %  work  /app/app.py:1",
        "  20.0 ms   5.0 %   20.0 ms   5.0 %  f0  /app/app.py:1",
        "  20.0 ms   5.0 %   20.0 ms   5.0 %  f1  /app/app.py:1",
        "  20.0 ms   5.0 %   20.0 ms   5.0 %  f2  /app/app.py:1",
        "  20.0 ms   5.0 %   20.0 ms   5.0 %  f3  /app/app.py:1",
        "  20.0 ms   5.0 %   20.0 ms   5.0 %  f4  /app/app.py:1",
        "      0 s   0.0 %    400 ms 100.0 %  main  /app/app.py:1",
        "",
        "Quality",
        "  400 samples taken, 0 lost, 0 undecodable, 0 truncated; by perf-sigtrap;",
        "  overhead 0.5 %.",
        "",
        "More: sonde report app.sonde tree | flat [--mine] | lines | locks | threads | quality",
    ]


def test_summary_with_waiting_and_children() -> None:
    make = working()
    child = make.process(200)
    make.thread("child", process=child)
    make.sample("main:4 > time.sleep", 600 * MS, state=1)
    make.sample("main:4", 200 * MS, state=2, thread="child")
    found = " ".join(summed_up(make)[:6])
    assert "2 threads in 2 processes." in found
    assert (
        "It used 400 ms of CPU time, 20 % of one core, and its threads waited 600 ms for sleep, "
        "I/O or other processes and 200 ms in the run queue. Threads were on CPU 33 % of the time."
    ) in found


def test_summary_of_nothing() -> None:
    make = Maker()
    found = summed_up(make)
    assert found[2] == "No samples were taken."
    assert "  1. no samples were taken" in found
    assert "Top functions" not in found


def test_summary_fits_narrow_pages() -> None:
    for width in (40, 60, 120):
        summed_up(working(), width)


def qualified(**changes: Any) -> list[str]:
    make = Maker()
    make.sample("a:1", 1_000 * MS)
    make.quality = GOOD | {"agent_cpu_ns": 2 * MS} | changes
    result = quality(make.recording())
    return printed(lambda out: quality_report.render(result, out))


def test_quality_of_a_good_recording() -> None:
    assert qualified() == [
        "Sampler       perf-sigtrap",
        "Samples       10,000 samples taken, 0 lost, 0 undecodable, 0 truncated",
        "Rate          998 samples per second of CPU time, 1,000 requested",
        "Precision     ±1.0 % for a share of 50 %, ±0.4 % for 5 % (95 % confidence)",
        "Overhead      2.00 ms of CPU time, 0.20 % of the sampled time",
        "Events lost   0",
        "Clock         monotonic",
        "",
        "No problems found.",
    ]


def test_quality_of_samples_of_objects() -> None:
    found = qualified(objects_taken=2_000, objects_lost=3, object_agent_ns=MS)
    assert found[3:6] == [
        "Objects",
        "    2,000 samples taken, 3 lost, 0 without a class, 0 ends lost; sampling took",
        "    1.00 ms, 0.10 % of the CPU time",
    ]


def test_quality_gives_advice() -> None:
    found = qualified(lost=10_000, why_not_better="perf events are not permitted here")
    assert found[:3] == [
        "Sampler",
        "    perf-sigtrap, no better one because perf events are not permitted here",
        "Samples       10,000 samples taken, 10,000 lost, 0 undecodable, 0 truncated",
    ]
    after = found[found.index("Problems") :]
    assert after[1:] == [
        "  ! 50.0 % of the samples were lost: 10,000 of 20,000 samples were dropped",
        "  because a buffer was full.",
        "    Advice: record at a lower --rate, or free CPU time for the recorder.",
    ]


def test_a_figure_keeps_its_unit() -> None:
    assert printed(lambda out: paragraph(out, "x" * 36 + " 42 % of it"), width=40) == [
        "x" * 36,
        "42 % of it",
    ]


def test_the_second_line_of_an_item_is_below_the_first() -> None:
    text = "1. " + "x" * 30 + " yyyyy"
    assert printed(lambda out: paragraph(out, text, indent=2, hanging=3), width=40) == [
        "  1. " + "x" * 30,
        "     yyyyy",
    ]


def test_bars() -> None:
    assert bar(1, 4) == "████"
    assert bar(0.5, 4) == "██  "
    assert bar(1 / 32, 4) == "▏   "
    assert bar(0, 4) == "    "
    assert bar(0.01, 4, waiting=True) == "░   "
    assert bar(2, 4) == "████"


def test_a_last_kind_of_waiting_is_named_and_several_are_summed_up() -> None:
    make = working()
    result = summary(make.recording())
    kinds = {"waiting": 50 * MS, "preempted": 40 * MS, "rlock": 30 * MS, "monitor": 20 * MS}
    said = " ".join(_printed(replace(result, wait_ns=kinds)))
    assert "30.0 ms for reentrant locks and 20.0 ms for monitors (synchronized)" in said
    said = " ".join(_printed(replace(result, wait_ns={**kinds, "io": 10 * MS})))
    assert "30.0 ms for reentrant locks and 30.0 ms for other reasons" in said


def _printed(result: Summary) -> list[str]:
    return [
        line.strip()
        for line in printed(lambda out: summary_report.render(result, out, path="x"), 80)
    ]
