"""Every sample is accounted for, and so is all the CPU time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from truth.bounds import unaccounted
from truth.conftest import RATE, Truth
from truth.stacks import PROGRAMS as FOLDER
from truth.stacks import marked_lines

Get = Callable[[str], Truth]

PROGRAMS = ["shares", "calls", "coroutines", "depth", "generated", "threads", "builtins_"]
PERIOD = 1_000_000_000 // RATE
TOLD = FOLDER / "told.py"


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_sample_is_accounted_for(truth: Get, program: str) -> None:
    recording = truth(program).run.recording
    quality, samples = recording.quality, recording.samples
    assert recording.warnings == []
    assert quality["sampler"] == "perf"
    assert quality["why_not_better"] is None
    assert quality["taken"] == len(samples)
    assert quality["lost"] == quality["events_lost"] == 0
    assert quality["undecodable"] == np.count_nonzero(samples.context < 0)
    assert quality["undecodable"] <= 0.005 * quality["taken"]
    assert quality["truncated"] == quality["unnamed_code"] == quality["garbled_rings"] == 0
    assert quality["faults"] <= quality["undecodable"]
    assert "[code that was never described]" not in recording.functions.name


@pytest.mark.parametrize("program", PROGRAMS)
def test_weights_add_up_to_the_cpu_time(truth: Get, program: str) -> None:
    """Of each thread: no more than the kernel counted, and less by no more than one gap."""
    recording = truth(program).run.recording
    threads, samples = recording.threads, recording.samples
    for row in range(len(threads)):
        weights = samples.weight[samples.thread == row]
        assert len(weights), f"thread {threads.name[row]!r} has a row but no sample"
        assert (weights >= 0).all()
        total, gap = int(weights.sum()), int(weights.max()) + PERIOD
        assert total <= threads.cpu_ns[row] <= total + gap


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_program_agrees_on_its_cpu_time(truth: Get, program: str) -> None:
    it = truth(program)
    samples = it.run.recording.samples
    main = it.run.recording.threads.name.index("MainThread")
    rows = np.flatnonzero(samples.thread == main)
    line = next(iter(marked_lines(TOLD)))
    inside = it.stacks.below(lambda frame: frame.code.file == str(TOLD) and frame.line == line)
    beside = it.stacks.below(lambda frame: frame.code.name == "tell")
    contexts = samples.context[rows]
    assert not unaccounted(
        it.run.recording, rows, inside[contexts], beside[contexts], it.run.told["main_ns"]
    )


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_rate_asked_for_is_achieved(truth: Get, program: str) -> None:
    """Per second of CPU time: neither other programs nor waiting change it."""
    quality = truth(program).run.recording.quality
    assert quality["rate_asked"] == RATE
    assert quality["rate_achieved"] == pytest.approx(RATE, rel=0.1)
