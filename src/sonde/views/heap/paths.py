"""What keeps an object, or the objects of a type, alive?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.errors import UsageError
from sonde.heap.snapshot import KEY_ITSELF
from sonde.views.heap.allocations import Allocations, allocations_of
from sonde.views.heap.heaviest import heaviest_path
from sonde.views.heap.object_text import text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sonde.heap.graph import HeapGraph
    from sonde.heap.snapshot import Root
    from sonde.recording.tables import Recording

TOP = 5
"""Paths by default."""


@dataclass(frozen=True)
class PathStep:
    """An object on a path, and how the object before it refers to it."""

    type: str
    text: str | None
    """The value of a string, or what a class is called."""
    edge: str | None
    """None: it is where the path begins."""
    name: str | None
    id: int
    is_container: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "text": self.text,
            "edge": self.edge,
            "name": self.name,
            "id": self.id,
        }


@dataclass(frozen=True)
class HeapPath:
    root: Root
    steps: list[PathStep]
    count: int
    """Objects that are reached alike: this is the shortest path to one."""
    retained: int
    """What would be freed with all of these."""

    def to_json(self) -> dict[str, Any]:
        return {
            "root": self.root.to_json(),
            "steps": [step.to_json() for step in self.steps],
            "count": self.count,
            "retained": self.retained,
        }


@dataclass(frozen=True)
class HeapPaths:
    """Paths by what is retained at their ends, descending."""

    target: str
    objects: int
    retained: int
    paths: list[HeapPath]
    left: int
    """Further groups of objects that are reached alike, or references to the object."""
    heaviest: HeapPath | None = None
    """To the object, or to the one of the type that retains the most: over what retains the most.
    None: one of the paths looks the same."""
    allocations: Allocations | None = None
    """Where they, and what they alone keep alive, were allocated; None: not asked."""

    def to_json(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "objects": self.objects,
            "retained": self.retained,
            "paths": [path.to_json() for path in self.paths],
            "heaviest": self.heaviest.to_json() if self.heaviest else None,
            "allocations": self.allocations.to_json() if self.allocations else None,
        }


def heap_paths(
    graph: HeapGraph,
    target: str,
    *,
    top: int | None = None,
    recording: Recording | None = None,
) -> HeapPaths:
    """`target` is a type, or an id as 0x7f… or in digits. `recording`: of the same process, which
    shows where objects were allocated."""
    number = _object(graph, target)
    type_ = _type(graph, target) if number is None else None
    allocations = None
    if recording is not None:
        members = [number] if type_ is None else np.flatnonzero(graph.snapshot.type == type_)
        asked = np.array(members, dtype=np.int64)
        allocations = allocations_of(graph, asked, recording, top=top or TOP)
    if number is not None:
        found = _of_object(graph, number, target, top or TOP)
    else:
        assert type_ is not None
        found = _of_type(graph, type_, top or TOP)
    return replace(found, allocations=allocations)


def object_of(graph: HeapGraph, id_: str) -> int:
    """The object of an id, as 0x7f… or in digits."""
    number = _object(graph, id_)
    if number is None:
        raise UsageError(f"invalid id {id_!r}; give one such as 0x7f12a8")
    return number


def _object(graph: HeapGraph, target: str) -> int | None:
    if not target[:1].isdecimal():
        return None
    try:
        id_ = int(target, 0)
    except ValueError:
        return None
    number = graph.snapshot.number_of(id_) if 0 <= id_ < 2**64 else None
    if number is None:
        raise UsageError(f"no object {target} in {graph.snapshot.path}")
    return number


def _type(graph: HeapGraph, target: str) -> int:
    """By its name, or by its end if no other type ends so."""
    names = [type_.name for type_ in graph.snapshot.types]
    if target in names:
        return names.index(target)
    ends = [i for i, name in enumerate(names) if name.endswith((f".{target}", f"${target}"))]
    if len(ends) == 1:
        return ends[0]
    if ends:
        raise UsageError(
            f"several types are called {target!r}: {', '.join(names[i] for i in ends[:4])}"
        )
    close = get_close_matches(target, names, 1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise UsageError(f"no type {target!r} in {graph.snapshot.path}{hint}")


def _of_type(graph: HeapGraph, type_: int, top: int) -> HeapPaths:
    snapshot = graph.snapshot
    members = np.flatnonzero((snapshot.type == type_) & graph.reachable).astype(np.uint32)
    groups, which = np.unique(graph.path_numbers[members], return_inverse=True)
    retained = graph.retained[members]
    # What another of the type dominates is retained by that: near enough to say which groups are
    # large. What is shown of these is exact.
    dominator = graph.dominators.dominator[members]
    inner = dominator < len(snapshot)
    nested = np.zeros(len(members), bool)
    nested[inner] = snapshot.type[dominator[inner]] == type_
    weight = np.where(nested, 0, retained.astype(np.float64))
    order = np.argsort(-np.bincount(which, weights=weight, minlength=len(groups)), kind="stable")
    paths = []
    for group in order[:top].tolist():
        of_group = members[which == group]
        nearest = int(of_group[np.argmin(graph.nearness[of_group])])
        paths.append(_path(graph, graph.path(nearest), len(of_group), graph.retained_by(of_group)))
    paths.sort(key=lambda path: -path.retained)
    heaviest = None
    if len(members):
        most = int(members[np.argmax(retained)])
        heaviest = _heaviest(graph, most, paths)
    return HeapPaths(
        target=snapshot.types[type_].name,
        objects=len(members),
        retained=int(graph.retained_by_type[type_]),
        paths=paths,
        left=len(groups) - len(paths),
        heaviest=heaviest,
    )


def _of_object(graph: HeapGraph, number: int, target: str, top: int) -> HeapPaths:
    """The shortest path, and one over each other object that refers to it."""
    snapshot, retained = graph.snapshot, int(graph.retained[number])
    ways = [shortest] if (shortest := graph.path(number)) else []
    seen = {_kind_of(graph, way) for way in ways}
    left = 0
    for edge in np.flatnonzero(snapshot.to == number).tolist():
        way = graph.path(_source(snapshot.first, edge))
        if not way or number in way or (kind := _kind_of(graph, [*way, number])) in seen:
            continue
        seen.add(kind)
        if len(ways) < top:
            ways.append([*way, number])
        else:
            left += 1
    paths = [_path(graph, way, 1, retained) for way in ways]
    return HeapPaths(
        target=f"{snapshot.type_of(number).name} {target}",
        objects=1,
        retained=retained,
        paths=paths,
        left=left,
        heaviest=_heaviest(graph, number, paths),
    )


def _heaviest(graph: HeapGraph, number: int, others: list[HeapPath]) -> HeapPath | None:
    way = heaviest_path(graph, number)
    if not way:
        return None
    path = _path(graph, way, 1, int(graph.retained[number]))
    return None if any(_looks(path) == _looks(other) for other in others) else path


def _looks(path: HeapPath) -> list[tuple[str, str | None]]:
    """Equal for paths over references that are alike."""
    return [(step.type, step.name if step.edge != "index" else None) for step in path.steps]


def _source(first: NDArray[np.uint64], edge: int) -> int:
    return int(np.searchsorted(first, edge, side="right")) - 1


def _kind_of(graph: HeapGraph, way: list[int]) -> int:
    """Paths over references that are alike are one."""
    return int(graph.path_numbers[way[-2]]) if len(way) > 1 else -1


def _path(graph: HeapGraph, way: list[int], count: int, retained: int) -> HeapPath:
    snapshot = graph.snapshot
    steps = []
    for before, number in zip([None, *way], way, strict=False):
        edge, name = (None, None) if before is None else _reference(graph, before, number)
        type_ = snapshot.type_of(number)
        text = text_of(snapshot, number)
        steps.append(
            PathStep(type_.name, text, edge, name, int(snapshot.id[number]), type_.is_container)
        )
    return HeapPath(graph.root_of[way[0]], steps, count, retained)


def _reference(graph: HeapGraph, from_: int, to: int) -> tuple[str, str | None]:
    snapshot = graph.snapshot
    begin, end = int(snapshot.first[from_]), int(snapshot.first[from_ + 1])
    edge = begin + int(np.flatnonzero(snapshot.to[begin:end] == to)[0])
    label = snapshot.labels[int(snapshot.label[edge])]
    if label.kind == "index" and (index := snapshot.contents.index(from_, to)) is not None:
        return label.kind, str(index)
    if label.kind == "key" and not label.name:
        return label.kind, _key_of(graph, begin, edge)
    return label.kind, label.name or None


def _key_of(graph: HeapGraph, begin: int, edge: int) -> str | None:
    """The key whose reference is the one before that to the value."""
    snapshot = graph.snapshot
    if edge == begin or snapshot.labels[int(snapshot.label[edge - 1])].name != KEY_ITSELF:
        return None
    return text_of(snapshot, int(snapshot.to[edge - 1]))
