"""The time of a library counts for the function of the program that called it: known shares."""

from __future__ import annotations

from collections.abc import Callable

from sonde.views.stacks.own_flat import OwnRow, own_flat
from sonde.views.stacks.tree import tree
from truth.bounds import compare
from truth.conftest import Truth

Get = Callable[[str], Truth]
PARTS = {"in_library": "total", "called_back": "each", "key": "", "alone": ""}


def test_own_functions_have_the_time_of_the_libraries_they_call(truth: Get) -> None:
    it = truth("library_time")
    recording = it.run.recording
    # repeat_for calls them, too, and the program did not measure that.
    measured = dict.fromkeys(PARTS, 0)
    found = tree(recording, mine=True, merge_lines=True).nodes
    for node in found:
        above = node
        while above.parent is not None and found[above.parent].name != "turn":
            above = found[above.parent]
        if above.parent is not None:
            # The library function below a part is the part's.
            of = found[node.parent] if node.library and node.parent is not None else node
            measured[of.name] = measured.get(of.name, 0) + node.self_ns
    measured = {name: ns for name, ns in measured.items() if name in PARTS}
    assert not compare(it.run.told["by_function"], measured, recording.samples.weight)


def test_the_library_function_that_was_entered_is_named(truth: Get) -> None:
    it = truth("library_time")
    found = own_flat(it.run.recording)
    rows = {row.function.name: row for row in found.rows if isinstance(row, OwnRow)}
    for name, entered in PARTS.items():
        call = rows[name].main_call
        assert (call.function.name if call else "") == entered
    assert "add" not in rows, "of a library, called by a library"
    assert sum(row.self_ns for row in found.rows) == found.total_ns
