"""speedscope's own JSON: a sampled profile per thread, weighed in nanoseconds or bytes.

A frame is a function, at its first line: speedscope sums up by frame, so frames distinguished
by the line executed would scatter a function over its table.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from sonde.model.order import stable_order
from sonde.views.selecting.profile import Profile, profile
from sonde.views.selecting.selection import chosen

if TYPE_CHECKING:
    from sonde.model.trees.context_tree import Ints
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection

SUFFIX = ".speedscope.json"
TEXT = True
MEMORY = True
LOGICAL = True

SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def write(recording: Recording, selection: Selection, out: BinaryIO) -> None:
    found = profile(recording, selection, merge_lines=True)
    rows, weight = chosen(recording, selection)
    thread = recording.samples.thread[rows]
    node = found.node[recording.samples.context[rows]]
    stacks = _stacks(found)
    unit = "nanoseconds" if selection.memory is None else "bytes"
    names = _names(recording)

    head = {
        "$schema": SCHEMA,
        "exporter": "sonde",
        "name": str(recording.target.get("program") or recording.path),
        "activeProfileIndex": 0,
        "shared": {"frames": [_frame(found, f) for f in range(len(found.functions))]},
    }
    # Written thread by thread: the whole of a long recording need not fit in memory twice.
    out.write(json.dumps(head)[:-1].encode() + b',"profiles":[')
    by_thread = stable_order(thread)
    bounds = np.searchsorted(thread[by_thread], np.arange(len(names) + 1))
    # The busiest comes first, which is what speedscope shows at first.
    spent = [int(weight[by_thread[bounds[i] : bounds[i + 1]]].sum()) for i in range(len(names))]
    order = [i for i in np.argsort([-s for s in spent], kind="stable").tolist() if spent[i]]
    for place, i in enumerate(order):
        mine = by_thread[bounds[i] : bounds[i + 1]]
        text = _sampled(names[i], unit, node[mine], weight[mine], stacks)
        out.write((b"," if place else b"") + text.encode())
    if not order:
        empty = np.zeros(0, dtype=np.int64)
        out.write(_sampled("no samples", unit, empty, empty, stacks).encode())
    out.write(b"]}\n")


def _stacks(found: Profile) -> list[str]:
    """The stack of every node that a sample ended in, as JSON."""
    function = found.function.tolist()
    ends = (found.samples > 0).tolist()
    stacks = [""] * len(found.tree)
    for node, path in found.tree.paths():
        if ends[node]:
            stacks[node] = f"[{','.join([str(function[i]) for i in path])}]"
    return stacks


def _sampled(name: str, unit: str, node: Ints, weight: Ints, stacks: list[str]) -> str:
    """One profile; neighbours with the same stack are one sample of their joint weight."""
    first = np.flatnonzero(np.r_[True, node[1:] != node[:-1]]) if len(node) else node
    weights = np.add.reduceat(weight, first) if len(node) else weight
    head = {
        "type": "sampled",
        "name": name,
        "unit": unit,
        "startValue": 0,
        "endValue": int(weight.sum()),
    }
    samples = ",".join([stacks[i] for i in node[first].tolist()])
    return (
        f'{json.dumps(head)[:-1]},"samples":[{samples}],'
        f'"weights":[{",".join(map(str, weights.tolist()))}]}}'
    )


def _frame(found: Profile, function: int) -> dict[str, Any]:
    name, file, line, _ = found.functions[function]
    frame: dict[str, Any] = {"name": name}
    if file:
        frame["file"] = file
    if line > 0:
        frame["line"] = line
    return frame


def _names(recording: Recording) -> list[str]:
    threads, processes = recording.threads, recording.processes
    several = len(processes) > 1
    return [
        f"{threads.name[i] or 'thread'} {threads.tid[i]}"
        + (f" (process {processes[int(threads.process[i])].pid})" if several else "")
        for i in range(len(threads))
    ]
