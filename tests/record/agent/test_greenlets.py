"""Stacks exchanged under one thread: what a walk knows of the last one may be another's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from environments import greenlets
from launching import TARGETS, Interpreter, clean_environment, must_run
from matrix import on_both_ends
from sonde.recording.tables import Recording

Keep = Callable[[str], Path]

RED, BLUE = {"red", "red_main"}, {"blue", "blue_main"}


@pytest.mark.parametrize("stacks", ["whole", on_both_ends("checked")])
def test_stacks_of_greenlets_are_never_mixed(python: Interpreter, keep: Keep, stacks: str) -> None:
    run = must_run(
        keep(f"greenlets-{python.version}-{stacks}"),
        [python.path, TARGETS / "greenlets.py", "1.5"],
        *("--rate", "10000", "--stacks", stacks),
        env=clean_environment(PYTHONPATH=greenlets(python)),
    )
    assert run.out in ("red\n", "blue\n")
    quality = run.recording.quality
    if stacks == "checked":
        assert quality["walks_wrong"] == 0
        # Few walks begin from what is known: mostly the stack has been exchanged since. So many are
        # checked that the test is about them at all.
        assert quality["walks_checked"] > 10
    # While one is exchanged for the other there is no stack: here that is every few microseconds.
    assert quality["undecodable"] <= 0.1 * quality["taken"]
    seen = {frozenset(stack) for stack in _stacks(run.recording)}
    assert any(stack >= RED for stack in seen)
    assert any(stack >= BLUE for stack in seen)
    assert not [stack for stack in seen if stack & RED and stack & BLUE]


def _stacks(recording: Recording) -> list[set[str]]:
    """The functions of each sample."""
    contexts, names = recording.contexts, recording.functions.name
    above: list[set[str]] = []  # a context's caller has a row before its own
    for parent, function in zip(contexts.parent.tolist(), contexts.function.tolist(), strict=True):
        above.append((above[parent] if parent >= 0 else set()) | {names[function]})
    return [above[context] for context in recording.samples.context.tolist() if context >= 0]
