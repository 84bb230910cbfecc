"""Java programs that know what of their objects is alive in the end."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from attaching import attached
from java import Jdk, compiled
from launching import clean_environment, must_run
from shared import run_folder

from sonde.recording.tables import Recording
from sonde.views.findings.findings import findings
from sonde.views.quality import quality

PROGRAMS = Path(__file__).resolve().parent / "hotspot"
SIGMAS = 5
EVERY = 512 << 10


@pytest.fixture(scope="module")
def classes(jdk: Jdk, tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert jdk
    return compiled(PROGRAMS, run_folder(tmp_path_factory) / "java-truth")


def alive(recording: Recording, method: str) -> tuple[int, int]:
    """Sampled objects that a method allocated, and those of them that did not end."""
    functions, objects = recording.functions, recording.objects
    mine = [
        context >= 0 and functions.name[recording.contexts.function[context]] == method
        for context in objects.context
    ]
    return sum(mine), int((np.array(mine) & (objects.died == 0)).sum())


def test_what_is_alive_in_the_end(jdk: Jdk, keep: Callable[[str], Path], classes: Path) -> None:
    command = [jdk.java, "-Xmx256m", "-cp", str(classes), "Survives", "3"]
    run = must_run(keep(f"survives-{jdk}"), command, "--what", "objects")
    recording = run.recording
    assert recording.processes[0].survival == 1
    assert "object_ends_lost" not in recording.quality
    counters = quality(recording).counters
    assert counters["objects_taken"] == len(recording.objects)
    assert counters["objects_lost"] == counters["objects_without_type"] == 0
    assert 0 < counters["object_agent_ns"] <= counters["agent_cpu_ns"]
    assert counters["object_types_at_least"] == []
    for method, live in run.told.items():
        sampled, left = alive(recording, f"Survives.{method}")
        assert sampled > 30
        # An object of 20 kB is sampled as often as 1.02 of that would be in equal distances.
        expected = live / EVERY
        assert abs(left - expected) <= SIGMAS * max(expected, 1) ** 0.5, (method, left, expected)
    named = [f.detail for f in findings(recording) if f.title.startswith("memory grows")]
    assert len(named) == 1, named
    assert "Survives.leak (Survives.java:19), mostly byte[], grew by" in named[0]
    assert "none was freed in" in named[0]
    ends = recording.objects.died[recording.objects.died > 0]
    assert (ends >= recording.objects.time[recording.objects.died > 0]).all()


def test_only_what_is_sampled_is_followed(
    jdk: Jdk, keep: Callable[[str], Path], classes: Path
) -> None:
    """Twice in one process: the second recording knows nothing of the objects of the first."""
    with subprocess.Popen(
        [jdk.java, "-Xmx256m", "-cp", str(classes), "Survives", "60"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(),
    ) as target:
        try:
            for number in range(2):
                path = keep(f"survives-attached-{number}-{jdk}")
                recording = attached(
                    target.pid, path, "--for", "1.5", "--what", "objects"
                ).recording
                sampled, left = alive(recording, "Survives.leak")
                assert sampled == left > 0
                sampled, left = alive(recording, "Survives.drop")
                assert sampled > left
                assert (recording.objects.id > 0).all()
                assert (recording.objects.time >= 0).all()
            assert target.poll() is None
        finally:
            target.kill()
