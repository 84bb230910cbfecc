"""New activations are told from old ones, exactly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from environments import Environment
from record.launch.test_session import run_program
from truth.stacks import PROGRAMS


def test_every_call_is_found_once(environment: Environment, keep: Callable[[str], Path]) -> None:
    for _ in range(3):
        told = run_program(environment, PROGRAMS / "activations.py", keep("activations"))
        # Where the recorder gets no processor for long samples are lost, and what they had found.
        if not told["lost"]:
            break
    assert told["exact"]
    assert {name: found for name, (_, found) in told["told"].items()} == {
        name: true for name, (true, _) in told["told"].items()
    }
    # Suspended and resumed, a coroutine is another activation; what it does then is short.
    assert 12 <= told["awaited"] <= 14
    # Calls that are far shorter than the time between two samples: each sample finds another one,
    # but those that find it at its first instruction do not count it.
    samples, activations = told["tiny"]
    assert 0.5 * samples <= activations <= samples
    assert told["memory"][0] <= told["memory"][1]
