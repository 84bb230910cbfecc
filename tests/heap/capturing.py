"""Heap snapshots of CPython programs for tests."""

from __future__ import annotations

import itertools
from pathlib import Path

from attaching import Target, has_agent, until
from sonde.heap import snapshot_file
from sonde.heap.cpython_capture import snapshot_of
from sonde.heap.graph import HeapGraph
from sonde.heap.snapshot import Snapshot
from sonde.record.targets.cpython import Runtime
from sonde.record.targets.process import inspect_process


def snapshot(target: Target, path: Path) -> Snapshot:
    """Of a running program, through a file, as `sonde heap` takes it."""
    process = inspect_process(target.pid)
    assert isinstance(process.runtime, Runtime)
    with snapshot_of(process, process.runtime, str(path.parent)) as taken:
        snapshot_file.write(taken, str(path))
    until(lambda: not has_agent(target.pid), "the agent leaves")
    return snapshot_file.read(str(path))


def references(heap: Snapshot, number: int) -> list[tuple[str, str, int]]:
    """Kind, name and target."""
    edges = range(int(heap.first[number]), int(heap.first[number + 1]))
    return [(*heap.labels[int(heap.label[e])], int(heap.to[e])) for e in edges]


def words(graph: HeapGraph, number: int) -> list[str]:
    """The path to an object: its root, and the names on the way."""
    heap, way = graph.snapshot, graph.path(number)
    found = [str(graph.root_of[way[0]])]
    for before, after in itertools.pairwise(way):
        found.append(next(name for _, name, to in references(heap, before) if to == after))
    return found
