"""Java programs whose truth is known, where a seccomp filter refuses perf events."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from java import Jdk, compiled
from launching import Run, run_denied, sonde
from shared import run_folder

from sonde.row_values import WAITING
from sonde.views.objects.objects import objects

from truth.bounds import compare
from truth.locks.books import Books
from truth.stacks import Stacks, marked_lines
from truth.test_hotspot_locks import CHARGED, RECORDED, SIGMAS

PROGRAMS = Path(__file__).resolve().parent / "hotspot"
CPU_SECONDS = "3"
# Methods and lines get some 200 to 350 samples each: a share of 50 % has a standard error of 3.5
# points at most.
WITHIN = 0.10
# Waits are polled every 20 ms, and end up to 20 ms before they are seen to have ended.
POLLED_WITHIN = 0.15

Record = Callable[..., Run]


@pytest.fixture(scope="module")
def classes(jdk: Jdk, tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert jdk
    return compiled(PROGRAMS, run_folder(tmp_path_factory) / "java-truth")


@pytest.fixture(scope="module")
def record(jdk: Jdk, keep: Callable[[str], Path], classes: Path) -> Record:
    """The truth program of that name, recorded at the first call."""
    done: dict[str, Run] = {}

    def get(name: str, *options: str) -> Run:
        if name not in done:
            command = [jdk.java, "-Xmx256m", "-cp", str(classes), name, CPU_SECONDS]
            path = keep(f"{name}-without-perf-{jdk}")
            done[name] = run_denied("perf_event_open", path, command, *options)
        return done[name]

    return get


def worst(truth: dict[str, int], measured: dict[str, int]) -> float:
    """How far the share of a part is from the true one, at most."""
    total, sampled = sum(truth.values()), sum(measured.get(part, 0) for part in truth)
    return max(abs(measured.get(p, 0) / sampled - ns / total) for p, ns in truth.items())


def test_it_says_how_it_was_sampled(record: Record) -> None:
    run = record("Shares")
    quality = run.recording.quality
    assert quality["sampler"] == "cpu-timer"
    assert "a seccomp filter refuses them" in quality["why_not_better"]
    # No more often than the scheduler ticks; most kernels do so 250 times a second, none 1,001.
    assert quality["taken"] > 100
    assert quality["lost"] == 0
    assert quality["undecodable"] <= 0.03 * quality["taken"]
    said = " ".join(sonde("report", run.path, "quality").stdout.split())
    assert "sampled only at scheduler ticks" in said


@pytest.mark.parametrize("part", ["by_method", "by_line", "by_lambda"])
def test_parts_get_their_share(record: Record, part: str) -> None:
    run = record("Shares")
    stacks, truth = Stacks(run.recording), run.told[part]
    if part == "by_method":
        measured = stacks.split_by_child("Shares.turn")
    elif part == "by_line":
        lines = marked_lines(PROGRAMS / "Shares.java", "// line: ")
        measured = stacks.split(
            lambda f: lines.get(f.line) if f.code.name == "Shares.lines" else None
        )
    else:
        measured = stacks.split(
            lambda f: n if (n := f.code.name.rpartition(".")[2]) in truth["spent"] else None
        )
    assert not compare(truth, measured, run.recording.samples.weight, regular=False)
    if part != "by_lambda":  # a tenth of the samples: only chance bounds what they miss
        assert worst(truth["spent"], measured) < WITHIN, (truth, measured)


def test_threads_that_start_and_end_get_their_time(record: Record) -> None:
    """Forty threads that use 10 to 50 ms each."""
    run = record("Threads")
    recording, spent = run.recording, run.told["spent"]
    rows = {name: row for row, name in enumerate(recording.threads.name)}
    total = 0
    for number, ns in spent.items():
        row = rows.get(f"worker number {number}")
        if row is None:
            continue
        sampled = int(recording.samples.weight[recording.samples.thread == row].sum())
        # Its clock began before its books did: the thread was started and its classes loaded.
        assert sampled < ns + 10_000_000, number
        total += sampled
    # What a thread used after its last tick is in no sample of its own, but is accounted for.
    short = recording.quality["unsampled_cpu_ns"]
    true = sum(spent.values())
    assert total > true / 2
    assert total + short > (1 - WITHIN) * true


@pytest.mark.parametrize(
    "scenario", ["monitor", "crowd", "lock", "read", "semaphore", "notify", "condition", "queue"]
)
def test_locks_are_as_with_perf(record: Record, scenario: str) -> None:
    run = record("Contention", "--what", "cpu,locks")
    assert not Books(run.recording, run.told).compare(scenario, RECORDED, CHARGED)


def test_objects_are_as_with_perf(record: Record) -> None:
    check_objects(record("Allocates", "--what", "cpu,objects"))


def check_objects(run: Run) -> None:
    found = objects(run.recording, by="site")
    for type_, made in run.told.items():
        rows = [row for row in found.rows if row.type == type_]
        estimated, seen = sum(r.estimated_count for r in rows), sum(r.count for r in rows)
        assert abs(estimated - made) < SIGMAS * made / seen**0.5, type_


def test_objects_without_any_sampler(jdk: Jdk, keep: Callable[[str], Path], classes: Path) -> None:
    command = [jdk.java, "-Xmx256m", "-cp", str(classes), "Allocates"]
    path = keep(f"no-sampler-{jdk}")
    run = run_denied("perf_event_open,timer_create", path, command, "--what", "cpu,objects")
    check_objects(run)
    assert run.recording.quality["without_timers"] == 1
    assert run.recording.quality["taken"] == 0
    assert "the kernel refuses perf events and CPU timers" in run.err
    said = " ".join(sonde("report", run.path, "quality").stdout.split())
    assert "1 JVM had no CPU sampler" in said


def test_long_waits_are_polled(record: Record) -> None:
    run = record("Naps", "--what", "cpu,waits")
    recording, truth = run.recording, run.told
    stacks, samples = Stacks(recording), recording.samples
    measured = dict.fromkeys(truth, 0)
    for part in truth:
        inside = stacks.below(lambda f, part=part: f.code.name == f"Naps.{part}")  # type: ignore[misc]
        known = (samples.state == WAITING) & (samples.context >= 0)
        measured[part] = int(samples.weight[known][inside[samples.context[known]]].sum())
    for part, ns in truth.items():
        assert abs(measured[part] - ns) < POLLED_WITHIN * ns, (truth, measured)
    said = " ".join(sonde("report", run.path, "quality").stdout.split())
    assert "waits of Java threads were polled" in said
