"""Waiting time: what each wait was long, and that waits and work are all there is of a life.

The program times its own waits. Shares are held to 2 % of the whole: what the sampler promises for a
thread's life, and no matter of chance, because every wait is one sample with its true length. Only
its work is sampled by the clock, at 10 kHz.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from launching import Interpreter, Run, must_run
from sonde.row_values import RUNNING
from truth.stacks import PROGRAMS, Stacks

PROGRAM = PROGRAMS / "waits.py"
WITHIN = 0.02


@pytest.fixture(scope="session")
def waits(python: Interpreter, keep: Callable[[str], Path]) -> Run:
    options = ("--rate", "10000", "--what", "cpu,waits")
    return must_run(keep(f"waits-{python.version}"), [python.path, PROGRAM], *options)


def test_every_wait_has_its_length(waits: Run) -> None:
    stacks, samples = Stacks(waits.recording), waits.recording.samples
    main = samples.thread == waits.recording.threads.name.index("MainThread")
    spent = waits.told["spent"]
    total = sum(spent.values())
    wrong = []
    for name, true in spent.items():
        inside = stacks.below(lambda frame, name=name: frame.code.name == name)
        seen = int(samples.weight[main & inside[samples.context]].sum())
        if abs(seen - true) > WITHIN * total:
            wrong.append(f"{name}: true {true / 1e6:.1f} ms, recorded {seen / 1e6:.1f} ms")
    assert not wrong, wrong


def test_work_is_not_waiting(waits: Run) -> None:
    stacks, samples = Stacks(waits.recording), waits.recording.samples
    inside = stacks.below(lambda frame: frame.code.name == "works")[samples.context]
    running = samples.weight[inside & (samples.state == RUNNING)].sum()
    assert running == pytest.approx(60_000_000, rel=0.05)
    sleeping = stacks.below(lambda frame: frame.code.name == "sleeps")[samples.context]
    running = samples.weight[sleeping & (samples.state == RUNNING)].sum()
    assert running < 0.05 * waits.told["spent"]["sleeps"]


def test_running_and_waiting_add_up_to_each_life(waits: Run) -> None:
    """`--wall` counts all samples of a thread: they are its life."""
    recording = waits.recording
    threads, samples = recording.threads, recording.samples
    sums = np.zeros(len(threads), dtype=np.int64)
    np.add.at(sums, samples.thread, samples.weight)
    checked = set()
    for row, name in enumerate(threads.name):
        if name.startswith("["):
            continue
        life = int(threads.end_ns[row] - threads.start_ns[row])
        assert sums[row] == pytest.approx(life, rel=WITHIN, abs=2_000_000), name
        if name in waits.told["lives"]:
            # By its own clock, read within it, it lived a little less.
            assert life >= waits.told["lives"][name] * (1 - WITHIN), name
            checked.add(name)
    assert checked == {"worker", "joined", "endless"}


def test_nothing_is_lost(waits: Run) -> None:
    quality = waits.recording.quality
    assert quality["lost"] == quality["events_lost"] == 0
    assert quality["waits"] > 20
