"""Snapshots of CPython have what the interpreter itself knows of its objects."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from attaching import Target
from heap.capturing import references, snapshot, words
from launching import TARGETS, Interpreter
from sonde.errors import SondeError
from sonde.heap.cpython import read
from sonde.heap.graph import HeapGraph
from sonde.heap.snapshot import Origin, Snapshot
from sonde.record.heap_walk import walk
from sonde.record.targets.cpython import Runtime
from sonde.record.targets.process import inspect_process


class Known:
    def __init__(self, heap: Snapshot, state: dict[str, Any]) -> None:
        self.heap, self.state = heap, state
        self.graph = HeapGraph(heap)

    def number(self, id_: int) -> int:
        number = self.heap.number_of(id_)
        assert number is not None
        return number

    def probe(self, name: str) -> int:
        return self.number(self.state[name]["id"])

    def names(self, name: str) -> dict[str, int]:
        return {label: to for _, label, to in references(self.heap, self.probe(name))}


@pytest.fixture(scope="module")
def known(python: Interpreter, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Known]:
    with Target(python, TARGETS / "heap_known.py") as target:
        heap = snapshot(target, tmp_path_factory.mktemp("heap") / "known.sonde")
        yield Known(heap, target.state())


def probes(known: Known) -> dict[str, dict[str, Any]]:
    return {name: facts for name, facts in known.state.items() if isinstance(facts, dict)}


def test_objects_have_their_types_and_sizes(known: Known) -> None:
    for name, facts in probes(known).items():
        number = known.probe(name)
        assert known.heap.type_of(number).name == facts["type"], name
        if facts["size"] is not None:
            assert int(known.heap.size[number]) == facts["size"], name


# Other objects are parts of these, or show once more what their instance has.
MERGED = (
    "function", "class", "with dict", "kept dict", "mapping", "exception", "sequence", "generator",
)  # fmt: skip


def test_references_are_those_of_the_collector(known: Known) -> None:
    heap = known.heap
    for name, facts in probes(known).items():
        if name in MERGED:
            continue
        edges = references(heap, known.probe(name))
        found = Counter(int(heap.id[to]) for _, label, to in edges if label != "(key)")
        keys = {int(heap.id[to]) for _, label, to in edges if label == "(key)"}
        expected = Counter(facts["referents"])
        classes = {id_ for id_ in found if heap.type_of(known.number(id_)).name == "type"}
        assert not (expected - found).keys() - keys, name
        assert not (found - expected).keys() - classes, name


def test_every_tracked_object_is_there(known: Known) -> None:
    ids = np.array([id_ for id_, _ in known.state["tracked"]], np.uint64)
    there = np.isin(ids, known.heap.id)
    left_out = Counter(
        kind for (_, kind), found in zip(known.state["tracked"], there, strict=True) if not found
    )
    # Closures belong to their functions; the answer itself was made after the snapshot.
    assert sum(left_out.values()) - left_out["tuple"] - left_out["list"] <= 20, left_out
    assert int(there.sum()) > 5000


def test_references_have_names(known: Known) -> None:
    state = known.state
    assert known.names("instance")["name"] == known.number(state["instance"]["ids"]["name"])
    assert known.names("with dict")["name"] == known.number(state["with dict"]["ids"]["name"])
    assert {"late", "number"} <= known.names("with dict").keys()
    assert {"left", "right"} <= known.names("slotted").keys()
    assert {"one", "attribute"} <= known.names("mapping").keys()
    assert "captured" in known.names("function")
    assert "waiting" in known.names("generator")
    assert "shared" in known.names("class")
    assert {"args", "__traceback__"} <= known.names("exception").keys()
    heap = known.heap
    keyed = {
        heap.contents.text(to): after[2]
        for (_, label, to), after in zip(
            references(heap, known.probe("large dict")),
            references(heap, known.probe("large dict"))[1:],
            strict=False,
        )
        if label == "(key)"
    }
    assert keyed.keys() == {f"key {i}" for i in range(1000)}


def test_texts_are_values(known: Known) -> None:
    text = known.heap.contents.text
    assert text(known.probe("latin")) == "größer" * 3
    assert text(known.probe("wide")) == "ż\u4e2d" * 4
    assert text(known.probe("emoji")) == "\U0001f600" * 5
    assert text(known.probe("int")) == str(2**40)
    long = text(known.probe("ascii"))
    assert long is not None
    assert long.startswith("ascii" * 30)
    assert long.endswith("…")


def test_paths_begin_at_modules_and_threads(known: Known) -> None:
    assert words(known.graph, known.probe("instance")) == ["module __main__", "PROBES", "instance"]
    local = known.number(known.state["local"])
    assert words(known.graph, local) == ["thread MainThread", "only_local"]
    held = known.names("class")["shared"]
    assert words(known.graph, held) == ["module __main__", "Plain", "shared"]
    captured = known.number(known.state["function"]["ids"]["captured"])
    assert words(known.graph, captured)[-2:] == ["captured", "cell_contents"]


def test_containers_have_their_room(known: Known) -> None:
    objects, room, used = known.heap.contents.rooms()
    rows = dict(zip(objects.tolist(), zip(room.tolist(), used.tolist(), strict=True), strict=True))
    assert rows[known.probe("grown list")][1] == 100
    assert rows[known.probe("large dict")][1] == 1000
    assert rows[known.probe("large set")] == (2048, 500)
    assert all(row[0] >= row[1] for row in rows.values())


def test_no_size_is_made_up(known: Known) -> None:
    assert int(known.heap.size.max()) < 1 << 20
    assert int(known.heap.size.min()) >= 16


def test_nothing_is_left_out(known: Known) -> None:
    assert known.heap.warnings == []
    assert known.heap.origin.pause_ns is not None
    unnamed = [type_.name for type_ in known.heap.types if type_.name == "?"]
    assert unnamed == []
    assert (known.heap.to < len(known.heap)).all()


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.5, 0.99])
def test_a_file_that_is_cut_is_refused(any_python: Interpreter, kept: float) -> None:
    with Target(any_python, TARGETS / "heap_known.py") as target, tempfile.TemporaryFile() as file:
        process = inspect_process(target.pid)
        assert isinstance(process.runtime, Runtime)
        walk(process, process.runtime, file)
        file.truncate(int(os.fstat(file.fileno()).st_size * kept))
        with pytest.raises(SondeError, match="is incomplete"):
            read(file, "a program", Origin())
