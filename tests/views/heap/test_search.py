"""Objects searched for by what they are, and the heaviest path to one."""

from __future__ import annotations

from pathlib import Path

import pytest

from heap.made_up import MadeUpDump, small
from sonde.errors import UsageError
from sonde.heap.graph import HeapGraph
from sonde.heap.hprof import read
from sonde.views.heap.heaviest import heaviest_path
from sonde.views.heap.paths import heap_paths
from sonde.views.heap.search import parse_terms, search


def graph_of(dump: MadeUpDump, folder: Path) -> HeapGraph:
    path = folder / "app.hprof"
    path.write_bytes(dump.bytes())
    return HeapGraph(read(str(path)))


@pytest.fixture
def tiny(tmp_path: Path) -> HeapGraph:
    return graph_of(small(), tmp_path)


@pytest.mark.parametrize(
    ("terms", "ids"),
    [
        ("Node", [0x100, 0x200]),
        ("app.*", [0x100, 0x200, 0x300]),
        ("type=Node[[]]", [0x300]),
        ("attribute=next", [0x100]),
        ("attribute=all", [0x20]),
        ("attribute=nothing", []),
        ("size>=32,type=app*", [0x300]),
        ("size<32,type=app*", [0x100, 0x200]),
        ("retained=48", [0x100]),
        ("retained>48, type=app*", [0x300]),
        ("text=app.N*", [0x20, 0x30]),
        ("text=*Node,size>1", [0x20]),
        ("size>1GiB", []),
    ],
)
def test_conditions(tiny: HeapGraph, terms: str, ids: list[int]) -> None:
    found = search(tiny, parse_terms(terms))
    assert sorted(row.id for row in found.rows) == ids
    assert found.objects == len(ids)
    assert found.bytes == sum(row.shallow for row in found.rows)


def test_the_largest_come_first(tiny: HeapGraph) -> None:
    found = search(tiny, parse_terms("app.*"), top=2)
    assert [(row.id, row.holder) for row in found.rows] == [
        (0x300, "app.Node.all"),
        (0x100, "app.Node.all"),
    ]
    assert found.objects == 3


@pytest.mark.parametrize("terms", ["", ",", "size", "size>many", "attribute<1", "weight=3", "a,"])
def test_what_is_no_condition(terms: str) -> None:
    if terms == "size":
        assert parse_terms(terms)[0].of == "type"
        return
    with pytest.raises(UsageError):
        parse_terms(terms)


def test_the_heaviest_path_goes_over_what_retains_the_most(tmp_path: Path) -> None:
    dump = small()
    # 0x200 is also in a large array, further from a root: a holder, its list, the array.
    dump.class_(0x50, "app/Holder", {"list": 2})
    dump.instance(0x500, 0x50, dump.id(0x600))
    dump.instance(0x600, 0x50, dump.id(0x700))
    dump.array(0x700, 0x30, *[0x200] * 100, *[0] * 100)
    dump.root(0x500)
    graph = graph_of(dump, tmp_path)
    number = graph.snapshot.number_of(0x200)
    assert number is not None
    ids = [int(graph.snapshot.id[one]) for one in heaviest_path(graph, number)]
    assert ids == [0x500, 0x600, 0x700, 0x200]
    result = heap_paths(graph, "0x200", top=1)
    assert [step.id for step in result.paths[0].steps] == [0x20, 0x300, 0x100, 0x200]
    assert result.heaviest is not None
    assert [step.id for step in result.heaviest.steps] == ids
    # With all paths shown, it is one of them.
    assert heap_paths(graph, "0x200").heaviest is None
    garbage = graph.snapshot.number_of(0x280)
    assert garbage is not None
    assert heaviest_path(graph, garbage) == []


def test_a_heaviest_path_leaves_a_circle(tmp_path: Path) -> None:
    dump = small()
    # Two that hold each other and a large array; only the lighter one is held from outside.
    dump.class_(0x50, "app/Pair", {"other": 2, "data": 2})
    dump.instance(0x500, 0x50, dump.id(0x600) + dump.id(0))
    dump.instance(0x600, 0x50, dump.id(0x500) + dump.id(0x700))
    dump.values(0x700, 8, 1000, bytes(1000))
    dump.class_(0x60, "app/Outer", {"pair": 2})
    dump.instance(0x800, 0x60, dump.id(0x500))
    dump.root(0x800)
    graph = graph_of(dump, tmp_path)
    number = graph.snapshot.number_of(0x600)
    assert number is not None
    ids = [int(graph.snapshot.id[one]) for one in heaviest_path(graph, number)]
    assert ids == [0x800, 0x500, 0x600]
