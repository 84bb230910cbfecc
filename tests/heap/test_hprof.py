"""Heap dumps as snapshots: small ones in every detail, those of real JVMs by what is in them."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from heap.heaps import SESSIONS, Dumps, dump_leaks
from heap.made_up import MadeUpDump, small
from java import Jdk
from matrix import soak
from sonde.errors import SondeError
from sonde.heap.graph import HeapGraph
from sonde.heap.hprof import read
from sonde.heap.snapshot import Snapshot
from sonde.views.heap.paths import heap_paths


@pytest.fixture(scope="module")
def dumps(jdk: Jdk, java_targets: Path, tmp_path_factory: pytest.TempPathFactory) -> Dumps:
    return dump_leaks(jdk, java_targets, tmp_path_factory.mktemp("heaps"))


def written(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


def references(found: Snapshot) -> dict[int, list[tuple[str, int]]]:
    """By id, what each object refers to."""
    ids = found.id.tolist()
    return {
        ids[number]: [
            (str(found.labels[found.label[edge]]), ids[found.to[edge]])
            for edge in range(int(found.first[number]), int(found.first[number + 1]))
        ]
        for number in range(len(found))
    }


@pytest.mark.parametrize("id_size", [4, 8])
def test_a_small_heap(id_size: int, tmp_path: Path) -> None:
    found = read(written(tmp_path / "small.hprof", small(id_size).bytes()))
    assert not found.warnings
    names = {int(id_): found.type_of(n).name for n, id_ in enumerate(found.id)}
    assert names == {
        0x10: "java.lang.Class", 0x20: "java.lang.Class", 0x30: "java.lang.Class",
        0x100: "app.Node", 0x200: "app.Node", 0x280: "app.Node",
        0x300: "app.Node[]", 0x400: "byte[]",
    }  # fmt: skip
    assert references(found) == {
        0x10: [], 0x30: [], 0x200: [], 0x400: [],
        0x20: [("all", 0x300)], 0x100: [("next", 0x200)], 0x280: [("next", 0x200)],
        0x300: [("[…]", 0x100)],
    }  # fmt: skip
    assert found.contents.text(found.number_of(0x20) or 0) == "app.Node"
    graph = HeapGraph(found)
    number = found.number_of(0x200)
    assert number is not None
    assert [int(found.id[one]) for one in graph.path(number)] == [0x20, 0x300, 0x100, 0x200]
    garbage = found.number_of(0x280)
    assert garbage is not None
    assert graph.path(garbage) == []
    assert not graph.reachable[garbage]
    arrays, lengths, _ = found.contents.rooms()
    assert (arrays.tolist(), lengths.tolist()) == ([found.number_of(0x300)], [2])


@pytest.mark.parametrize("id_size", [4, 8])
@pytest.mark.parametrize("step", [5, soak(1)])
def test_a_file_that_ends_anywhere(id_size: int, step: int, tmp_path: Path) -> None:
    whole = small(id_size).bytes()
    found = []
    for size in range(0, len(whole), step):
        path = written(tmp_path / "cut.hprof", whole[:size])
        try:
            snapshot = read(path)
        except SondeError:
            continue  # too little is left
        assert int(HeapGraph(snapshot).retained_by_type.sum()) > 0
        found.append(len(snapshot))
        # The record that closes the file has nothing in it.
        assert snapshot.warnings or len(snapshot) == 8
    assert found == sorted(found)
    assert len(set(found)) == 8


@pytest.mark.parametrize("seed", range(300))
def test_a_file_with_wrong_bytes(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    data = bytearray(small(draw.choice((4, 8))).bytes())
    for _ in range(draw.randint(1, 4)):
        data[draw.randrange(19, len(data))] = draw.choice((0, 1, 0x22, 0x7F, 0xFF))
    try:
        snapshot = read(written(tmp_path / "wrong.hprof", bytes(data)))
    except SondeError:
        return
    graph = HeapGraph(snapshot)
    snapshot.contents.digests()
    for number in range(len(snapshot)):
        graph.path(number)
        snapshot.contents.text(number)


def test_what_is_no_dump(tmp_path: Path) -> None:
    with pytest.raises(SondeError, match="is no hprof file"):
        read(written(tmp_path / "x", b"JAVA PROFILE"))
    with pytest.raises(SondeError, match="decompress it"):
        read(written(tmp_path / "x", b"\x1f\x8b" + bytes(40)))
    with pytest.raises(SondeError, match="has no objects"):
        read(written(tmp_path / "x", MadeUpDump().bytes()))


def test_sessions_of_a_real_program(dumps: Dumps) -> None:
    found = read(str(dumps.before))
    assert not found.warnings
    count = np.bincount(found.type, minlength=len(found.types))
    of_name = {type_.name: int(count[i]) for i, type_ in enumerate(found.types)}
    # By user, open, captured, and a chain of 101.
    assert of_name["Leaks$Session"] == SESSIONS + SESSIONS // 2 + 1 + 101
    own = {type_.name for type_ in found.types if type_.is_own}
    assert {"Leaks", "Leaks$Session", "Leaks$Server"} - own <= {"Leaks"}
    assert not {name for name in own if name.startswith("java.")}


def test_sizes_are_those_of_the_jvm(dumps: Dumps) -> None:
    """Objects lie one behind the other: a size is never beyond the next one."""
    found = read(str(dumps.before))
    gap = (found.id[1:] - found.id[:-1]).astype(np.int64)
    instance = np.array([type_.name != "java.lang.Class" for type_ in found.types])
    checked = instance[found.type[:-1]]
    too_large = checked & (found.size[:-1].astype(np.int64) > gap)
    assert too_large.sum() == 0
    close = checked & (found.size[:-1].astype(np.int64) == gap)
    assert close.sum() > 0.5 * checked.sum()


def test_each_holder_of_sessions_is_named(dumps: Dumps) -> None:
    graph = HeapGraph(read(str(dumps.before)))
    result = heap_paths(graph, "Leaks$Session", top=10)
    ways = {
        tuple(step.name for step in path.steps if step.name and not step.name.isdecimal()): path
        for path in result.paths
    }
    by_user = ways["BY_USER", "table", "value"]
    opened = ways["server", "open", "elementData"]
    assert by_user.count == SESSIONS
    assert opened.count == SESSIONS // 2
    assert by_user.steps[0].text == "Leaks"
    captured = [names for names in ways if names[:2] == ("server", "onClose")]
    assert len(captured) == 1
    assert ways[captured[0]].count == 1
    local = [path for path in result.paths if path.root.kind == "local variable"]
    assert sum(path.count for path in local) == 101
    assert "Leaks.main (Leaks.java:" in local[0].root.name
    assert "thread main" in local[0].root.name
    # What is held by two of them counts for both.
    assert all(path.retained <= result.retained for path in result.paths)
    assert sum(path.retained for path in result.paths) >= result.retained


def test_strings_are_read(dumps: Dumps) -> None:
    found = read(str(dumps.before))
    string = next(i for i, type_ in enumerate(found.types) if type_.name == "java.lang.String")
    texts = {found.contents.text(int(one)) for one in np.flatnonzero(found.type == string)}
    assert {"apple", "u-0", f"u-{SESSIONS - 1}", "captured"} <= texts
