"""Views of a heap: of the small one every number, of a real JVM's what is planted there."""

from __future__ import annotations

from pathlib import Path

import pytest

from heap.heaps import SESSIONS, Dumps, dump_leaks
from heap.made_up import small
from java import Jdk
from sonde.errors import UsageError
from sonde.heap.graph import HeapGraph
from sonde.heap.hprof import read
from sonde.views.heap.dominators import DominatorRow, dominators
from sonde.views.heap.duplicates import duplicates
from sonde.views.heap.heap_diff import heap_diff
from sonde.views.heap.paths import heap_paths
from sonde.views.heap.types import heap_types


@pytest.fixture(scope="module")
def dumps(jdk: Jdk, java_targets: Path, tmp_path_factory: pytest.TempPathFactory) -> Dumps:
    return dump_leaks(jdk, java_targets, tmp_path_factory.mktemp("heaps"))


@pytest.fixture
def tiny(tmp_path: Path) -> HeapGraph:
    (tmp_path / "small.hprof").write_bytes(small().bytes())
    return HeapGraph(read(str(tmp_path / "small.hprof")))


def test_types_of_a_small_heap(tiny: HeapGraph) -> None:
    result = heap_types(tiny)
    # A node: a header of 12, a reference of 8 as nothing says that they are narrow, an int of 4.
    rows = {row.type: (row.count, row.shallow, row.retained) for row in result.rows}
    assert rows == {
        "java.lang.Class": (3, 16 + 24 + 16, 16 + (24 + 32 + 24 + 24) + 16),
        "app.Node": (2, 48, 48),
        "app.Node[]": (1, 32, 32 + 48),
        "byte[]": (1, 24, 24),
    }
    assert (result.unreachable_objects, result.unreachable_bytes) == (1, 24)
    assert (result.objects, result.bytes) == (7, 160)
    assert heap_types(tiny, top=1).left == 3


def test_dominators_of_a_small_heap(tiny: HeapGraph) -> None:
    def names(rows: list[DominatorRow]) -> list[object]:
        return [
            (row.type, row.text, row.retained, names(row.children)) if row.children else row.type
            for row in rows
        ]

    node = ("app.Node", None, 48, ["app.Node"])
    array = ("app.Node[]", None, 80, [node])
    assert names(dominators(tiny).rows) == [
        ("java.lang.Class", "app.Node", 104, [array]),
        "byte[]",
        "java.lang.Class",
        "java.lang.Class",
    ]


def test_paths_by_id_and_by_the_end_of_a_name(tiny: HeapGraph) -> None:
    by_id = heap_paths(tiny, "0x200")
    assert [step.id for step in by_id.paths[0].steps] == [0x20, 0x300, 0x100, 0x200]
    assert [step.name for step in by_id.paths[0].steps] == [None, "all", "0", "next"]
    assert heap_paths(tiny, "512").paths == by_id.paths
    assert heap_paths(tiny, "0x280").paths == []
    assert heap_paths(tiny, "Node").objects == 2
    with pytest.raises(UsageError, match=r"did you mean 'app\.Node'"):
        heap_paths(tiny, "app.Mode")
    with pytest.raises(UsageError, match="no object 0x7"):
        heap_paths(tiny, "0x7")
    with pytest.raises(UsageError, match="no object 0x"):
        heap_paths(tiny, hex(2**70))


def test_what_grew_is_named_with_its_holder(dumps: Dumps) -> None:
    base, new = (HeapGraph(read(str(path))) for path in (dumps.before, dumps.after))
    result = heap_diff(base, new)
    own = {(row.type, row.holder): row for row in result.rows if row.is_own}
    assert {key: row.count_delta for key, row in own.items()} == {
        ("Leaks$Session", "Leaks.BY_USER"): SESSIONS,
        ("Leaks$Session", "Leaks$Server.open"): SESSIONS // 2,
    }
    assert result.bytes_delta == sum(row.bytes_delta for row in result.rows)
    assert heap_diff(base, base).rows == []
    back = heap_diff(new, base)
    assert back.bytes_delta == -result.bytes_delta
    most = heap_diff(base, new, top=3)
    assert len(most.rows) == 3
    assert most.left == len(result.rows) - 3


def test_equal_values_and_empty_arrays(dumps: Dumps) -> None:
    graph = HeapGraph(read(str(dumps.before)))
    sessions = SESSIONS + SESSIONS // 2 + 1 + 101
    result = duplicates(graph)
    rows = {(row.type, row.value): row for row in result.rows}
    # Equal strings share their bytes here, so each wastes only itself.
    apples = rows["java.lang.String", "apple"]
    assert apples.count >= sessions
    assert apples.wasted < 32 * apples.count
    page = next(row for row in result.rows if row.type == "byte[]")
    assert (page.count, page.holder) == (sessions, "Leaks$Session.page")
    assert page.wasted == (sessions - 1) * page.bytes // sessions
    sparse = {(row.type, row.room, row.used) for row in result.sparse}
    assert ("java.lang.Integer[]", 10000, 1) in sparse


def test_a_real_heap_adds_up(dumps: Dumps) -> None:
    graph = HeapGraph(read(str(dumps.before)))
    types, tree = heap_types(graph), dominators(graph)
    assert sum(row.shallow for row in types.rows) == types.bytes == tree.bytes
    assert all(row.shallow <= row.retained <= types.bytes for row in types.rows)
    assert 0.9 * tree.bytes < sum(row.retained for row in tree.rows) <= tree.bytes

    def check(row: DominatorRow) -> None:
        assert sum(child.retained for child in row.children) + row.shallow <= row.retained
        for child in row.children:
            check(child)

    for row in tree.rows:
        check(row)
