"""Planted leaks are named with what holds them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from attaching import Target
from heap.capturing import snapshot
from launching import TARGETS, Interpreter
from sonde.heap.graph import HeapGraph
from sonde.views.heap.heap_diff import heap_diff
from sonde.views.heap.holders import HolderNames
from sonde.views.heap.paths import HeapPath, heap_paths


@pytest.fixture(scope="module")
def graph(python: Interpreter, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeapGraph]:
    with Target(python, TARGETS / "heap_leaks.py") as target:
        yield HeapGraph(snapshot(target, tmp_path_factory.mktemp("heap") / "leaks.sonde"))


def path_to(graph: HeapGraph, type_: str) -> tuple[HeapPath, list[str]]:
    """The one path to all objects of a leak, and what its references are called."""
    found = heap_paths(graph, type_)
    assert found.objects == 20
    assert found.paths[0].count == 20
    return found.paths[0], [step.name or "" for step in found.paths[0].steps[1:]]


def holder_of(graph: HeapGraph, type_: str) -> str:
    heap = graph.snapshot
    names = [type_.name for type_ in heap.types]
    number = heap.type.tolist().index(names.index(f"__main__.{type_}"))
    return HolderNames(graph).name(number)


def test_a_cache(graph: HeapGraph) -> None:
    path, names = path_to(graph, "Cached")
    assert str(path.root) == "module __main__"
    assert names[:2] == ["Catalogue", "cache"]
    assert names[2].startswith("product ")
    assert holder_of(graph, "Cached") == "__main__.Catalogue.cache"


def test_a_closure(graph: HeapGraph) -> None:
    path, names = path_to(graph, "Captured")
    assert str(path.root) == "module __main__"
    assert names == ["HANDLERS", "0", "captured", "cell_contents", names[-1]]
    assert [step.edge for step in path.steps][3] == "closure"
    assert holder_of(graph, "Captured") == "subscribe.<locals>.on_event.captured"


def test_a_global_list(graph: HeapGraph) -> None:
    path, names = path_to(graph, "Listed")
    assert str(path.root) == "module __main__"
    assert names[0] == "REQUESTS"
    assert holder_of(graph, "Listed") == "__main__.REQUESTS"


def test_an_exception_traceback(graph: HeapGraph) -> None:
    path, names = path_to(graph, "Raised")
    assert str(path.root) == "module __main__"
    assert names[:2] == ["last_error", "__traceback__"]
    assert names[-2] == "attempted"
    assert holder_of(graph, "Raised") == "parse in heap_leaks.py.attempted"


def test_an_unjoined_task(graph: HeapGraph) -> None:
    path, names = path_to(graph, "Awaited")
    assert path.steps[0].type in ("module", "frame")
    assert names[-2] == "batch"
    assert "_asyncio.Task" in [step.type for step in path.steps]
    assert holder_of(graph, "Awaited") == "forgotten in heap_leaks.py.batch"


def test_a_reference_of_an_extension(graph: HeapGraph) -> None:
    path, _ = path_to(graph, "Native")
    assert str(path.root) == "reference from C"
    assert [step.type for step in path.steps] == ["list", "__main__.Native"]


def test_garbage_is_held_by_nothing(graph: HeapGraph) -> None:
    found = heap_paths(graph, "Uncollected")
    assert (found.objects, found.paths) == (0, [])
    heap = graph.snapshot
    number = [type_.name for type_ in heap.types].index("__main__.Uncollected")
    assert int((heap.type == number).sum()) == 40


def test_growth_is_named_with_its_holder(python: Interpreter, tmp_path: Path) -> None:
    with Target(python, TARGETS / "heap_leaks.py") as target:
        before = snapshot(target, tmp_path / "before.sonde")
        assert target.process.stdin is not None
        assert target.process.stdout is not None
        target.process.stdin.write("300\n")
        target.process.stdin.flush()
        assert target.process.stdout.readline() == "grown\n"
        after = snapshot(target, tmp_path / "after.sonde")
    first = heap_diff(HeapGraph(before), HeapGraph(after)).rows[0]
    assert (first.type, first.holder) == ("__main__.Listed", "__main__.REQUESTS")
    assert first.count_delta == 300
