"""Sampled allocations of CPython: survival, and programs that must not notice."""

from __future__ import annotations

from pathlib import Path

import pytest

from attaching import Target, attached, has_agent
from launching import TARGETS, Interpreter, must_run
from matrix import OLDEST_AND_NEWEST, soak
from sonde.views.objects.objects import objects
from sonde.views.objects.sampled import CONFIDENCE
from sonde.views.quality import quality

KEEPS = TARGETS / "keeps.py"
# Standard deviations; from 3.14 on small blocks are sampled in windows, which adds to chance.
Z = 6


def test_live_bytes_are_those_that_a_program_keeps(python: Interpreter, tmp_path: Path) -> None:
    run = must_run(tmp_path / "a.sonde", [python.path, KEEPS, "150"], "--what", "cpu,objects")
    rows = {row.type: row for row in objects(run.recording).rows}
    alive = rows["bytes"].survival
    assert alive is not None
    margin = Z * alive.live_margin_bytes / CONFIDENCE
    assert alive.live_bytes == pytest.approx(run.told["alive_bytes"], abs=margin)
    assert alive.live_bytes < 0.6 * rows["bytes"].estimated_bytes, "most were freed"
    assert sum(count for _, count in alive.lifetime) > 0.3 * rows["bytes"].estimated_count
    assert run.recording.processes[0].survival == 1
    assert "float" in run.recording.processes[0].undercounted
    counters = quality(run.recording).counters
    assert counters["objects_taken"] == len(run.recording.objects)
    assert counters["objects_lost"] == counters["object_ends_lost"] == 0
    assert counters["objects_without_type"] < 0.02 * counters["objects_taken"]
    assert 0 < counters["object_agent_ns"] <= counters["agent_cpu_ns"]
    found = {row.type for row in rows.values() if row.at_least}
    assert set(counters["object_types_at_least"]) == found


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_a_program_may_trace_its_memory_at_the_same_time(
    python: Interpreter, tmp_path: Path
) -> None:
    for option in ((), ("-X", "tracemalloc")):
        command = [python.path, *option, KEEPS, "40", "tracemalloc"]
        run = must_run(tmp_path / "a.sonde", command, "--what", "cpu,objects")
        assert run.told["alive_bytes"] > 0
        assert len(run.recording.objects)


@pytest.mark.versions(*OLDEST_AND_NEWEST)
@pytest.mark.parametrize("allocator", ["debug", "malloc"])
def test_another_allocator_is_reported(
    python: Interpreter, tmp_path: Path, allocator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["env", f"PYTHONMALLOC={allocator}", python.path, KEEPS, "20"]
    run = must_run(tmp_path / "a.sonde", command, "--what", "cpu,objects")
    assert not len(run.recording.objects)
    assert "PYTHONMALLOC" in run.recording.quality["why_no_objects"]
    assert "PYTHONMALLOC" in run.err


@pytest.mark.versions(*OLDEST_AND_NEWEST)
@pytest.mark.parametrize("times", [3, soak(100)])
def test_a_busy_program_is_attached_to_again_and_again(
    python: Interpreter, tmp_path: Path, times: int
) -> None:
    options = ("-W", "ignore")
    with Target(python, TARGETS / "allocates.py", "16", "fork", options=options) as target:
        sampled = 0
        for _ in range(times):
            run = attached(target.pid, tmp_path / "a.sonde", "--force", "--for", "0.5",
                           "--what", "cpu,objects")  # fmt: skip
            sampled += len(run.recording.objects)
        assert sampled
        assert not has_agent(target.pid)
        code, out, err = target.end()
    assert (code, out.strip()) == (0, "right"), err


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_children_are_recorded(python: Interpreter, tmp_path: Path) -> None:
    code = (
        "import os\n"
        "def work(): return [str(i) * 20 for i in range(150_000)]\n"
        "for _ in range(3):\n"
        "    pid = os.fork()\n"
        "    work()\n"
        "    if not pid: os._exit(0)\n"
        "    assert os.waitpid(pid, 0)[1] == 0\n"
    )
    run = must_run(tmp_path / "a.sonde", [python.path, "-c", code], "--what", "cpu,objects")
    recording = run.recording
    processes = {int(recording.threads.process[i]) for i in recording.objects.thread.tolist()}
    assert len(processes) == 4


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_sub_interpreters_allocate(python: Interpreter, tmp_path: Path) -> None:
    if python.minor < 13:
        module = "_xxsubinterpreters"
        run_it = "i.run_string(n, code)"
    else:
        module = "_interpreters"
        run_it = "i.exec(n, code)"
    code = (
        f"import {module} as i\n"
        "code = 'kept = [str(n) * 20 for n in range(200000)]; del kept'\n"
        "for _ in range(3):\n"
        "    n = i.create()\n"
        f"    {run_it}\n"
        "    i.destroy(n)\n"
    )
    run = must_run(tmp_path / "a.sonde", [python.path, "-c", code], "--what", "cpu,objects")
    assert len(run.recording.objects) > 20
