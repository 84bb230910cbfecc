"""Calling context trees of what was measured, by whichever profiler, and how alike they are.

A tree is told by its paths of functions, outermost first, each with the time or the samples of its
own. Functions are known by the last part of their file and their plain name, because not every
profiler tells more. Only what is below the measured work counts, and time of C functions is their
caller's, because not every sampler sees them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from accuracy.edges import Frame
from sonde.row_values import BUILT_IN

Tree = dict[str, float]
"""Shares by path; frames are separated by semicolons."""

INSIDE = "rounds"
"""The function of steady.py that calls the work."""
_SCALE = 1e9


def of_stacks(stacks: Iterable[tuple[Sequence[Frame], float]]) -> Tree:
    found: Tree = {}
    for stack, weight in stacks:
        names = [frame.name.rpartition(".")[2] for frame in stack]
        if INSIDE not in names:
            continue
        below = stack[names.index(INSIDE) + 1 :]
        path = ";".join(
            f"{frame.file.rpartition('/')[2]}:{frame.name.rpartition('.')[2]}"
            for frame in below
            if frame.file != BUILT_IN
        )
        found[path] = found.get(path, 0.0) + weight
    return shares(found)


def shares(weights: Tree) -> Tree:
    total = math.fsum(weights.values())
    return {path: weight / total for path, weight in weights.items()} if total else {}


def stacks_of(path: Path) -> list[tuple[tuple[Frame, ...], float]]:
    """The running time of a recording, by stack."""
    from sonde.views.selecting.profile import profile
    from sonde.views.stacks.chained_samples import open_recording

    found = profile(open_recording(path))
    frames = [
        Frame(found.functions[f].file, found.functions[f].name, int(line))
        for f, line in zip(found.function.tolist(), found.line.tolist(), strict=True)
    ]
    above: list[tuple[Frame, ...]] = []
    for parent, frame in zip(found.tree.parent.tolist(), frames, strict=True):
        above.append((*above[parent], frame) if parent >= 0 else (frame,))
    own = found.own.tolist()
    return [(stack, weight) for stack, weight in zip(above, own, strict=True) if weight]


def average(trees: Sequence[Tree]) -> Tree:
    """The mean of the shares (Hofer, 3.4.2)."""
    total: Tree = {}
    for tree in trees:
        for path, share in tree.items():
            total[path] = total.get(path, 0.0) + share / len(trees)
    return total


def _columns(one: Tree, other: Tree) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    paths = sorted(one.keys() | other.keys())
    first, second = (
        np.array([round(_SCALE * tree.get(path, 0.0)) for path in paths], dtype=np.int64)
        for tree in (one, other)
    )
    return first, second


def overlap(one: Tree, other: Tree) -> float:
    from sonde.model.trees.overlap import overlap as of_weights

    return of_weights(*_columns(one, other)) or 0.0


def coverage(by: Tree, of: Tree) -> float:
    """Of the hot edges of `of`, those hot in `by`."""
    from sonde.model.trees.overlap import coverage as of_weights

    return of_weights(*_columns(by, of)) or 0.0


def correlation(one: Tree, other: Tree) -> float:
    from sonde.model.trees.overlap import correlation as of_weights

    found = of_weights(*_columns(one, other))
    return 1.0 if found is None else found
