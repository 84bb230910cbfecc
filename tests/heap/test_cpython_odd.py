"""Objects of unusual make are walked over without running any of their code."""

from __future__ import annotations

from pathlib import Path

import pytest

from attaching import Target
from heap.capturing import snapshot, words
from launching import TARGETS, Interpreter
from matrix import OLDEST_AND_NEWEST
from sonde.heap.graph import HeapGraph
from sonde.heap.snapshot import Snapshot
from sonde.views.heap.dominators import dominators
from sonde.views.heap.duplicates import duplicates
from sonde.views.heap.paths import heap_paths
from sonde.views.heap.types import heap_types


def all_of(heap: Snapshot, type_: str) -> list[int]:
    number = [type_.name for type_ in heap.types].index(type_)
    return [at for at, kind in enumerate(heap.type.tolist()) if kind == number]


@pytest.mark.versions(*OLDEST_AND_NEWEST)
def test_every_view_of_an_odd_heap(python: Interpreter, tmp_path: Path) -> None:
    with Target(python, TARGETS / "heap_odd.py", "odd") as target:
        heap = snapshot(target, tmp_path / "odd.sonde")
        code, _, err = target.end()
    assert (code, err) == (0, "")
    graph = HeapGraph(heap)
    assert heap.warnings == []
    assert heap_types(graph).bytes < 1 << 28
    assert dominators(graph).rows
    assert duplicates(graph).rows
    assert heap_paths(graph, "Point").objects == 100
    assert len(all_of(heap, "__main__.Guarded")) == 1
    # What lies deep in tuples that the collector does not track any more is there.
    assert len(all_of(heap, "tuple")) > 100_000
    assert len(all_of(heap, "__main__.Many")) == 11
    assert words(graph, all_of(heap, "__main__.Mixed")[0]) == ["module __main__", "mixed"]
    frames = {heap.contents.text(number) for number in all_of(heap, "frame")}
    assert {"outer in heap_odd.py", "inner in heap_odd.py", "<module> in heap_odd.py"} <= frames
