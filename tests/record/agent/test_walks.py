"""A walk ends where it meets a frame of the last one: never at a wrong one, and it pays."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from launching import TARGETS, TIMEOUT_S, Interpreter, clean_environment, must_run
from matrix import OLDEST_AND_NEWEST
from sonde.recording.tables import Recording

Keep = Callable[[str], Path]

RATE = "10000"
ACTIVATIONS = TARGETS / "activations.py"
DEEP = TARGETS / "deep_work.py"


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_no_walk_ends_at_a_wrong_frame(python: Interpreter, keep: Keep) -> None:
    """Recursion, exceptions, generators, coroutines, threads that end, frames made anew."""
    command = [python.path, ACTIVATIONS, "0.8"]
    options = ("--rate", RATE, "--stacks", "checked")
    run = must_run(keep(f"checked-{python.version}"), command, *options)
    quality = run.recording.quality
    assert quality["walks_wrong"] == 0
    assert quality["walks_checked"] > 2000
    assert quality["frames_visited"] < quality["frames"]
    alone = subprocess.run(
        [*map(str, command[:2]), "0.1"],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    # Marks must not be seen by the program.
    assert run.out == alone.stdout


def test_deep_stacks_are_not_walked_again(python: Interpreter, keep: Keep) -> None:
    run = must_run(keep(f"deep-{python.version}"), [python.path, DEEP, "0.5"], "--rate", RATE)
    quality = run.recording.quality
    frames, visited = quality["frames"], quality["frames_visited"]
    assert frames > 200 * 1000
    # Hardly a walk goes down to the end: one in fifty would be seen.
    assert frames > 25 * visited
    depths = np.array(_depths(run.recording))
    # The interpreter starts and ends up there; but for that, what was not looked at again is there
    # all the same.
    assert np.count_nonzero(depths >= 201) > 0.75 * len(depths)
    assert np.count_nonzero((depths > 110) & (depths < 190)) < 20  # on the way down


def _depths(recording: Recording) -> list[int]:
    depth: list[int] = []  # a context's caller has a row before its own
    for parent in recording.contexts.parent.tolist():
        depth.append(depth[parent] + 1 if parent >= 0 else 1)
    return [depth[context] for context in recording.samples.context.tolist() if context >= 0]
