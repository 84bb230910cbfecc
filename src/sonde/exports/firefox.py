"""The Firefox Profiler's processed profile: a track per thread, on the recording's clock.

Written is version 60 of the format, the first whose tables are shared by all threads; every
later profiler.firefox.com reads it by bringing it up to date.
"""

from __future__ import annotations

import gzip
import io
import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from sonde.exports import firefox_calls
from sonde.model.order import stable_order
from sonde.row_values import BUILT_IN, RUNNING
from sonde.views.quality import quality
from sonde.views.selecting.duration import duration_ns
from sonde.views.selecting.profile import Function, Profile, profile
from sonde.views.selecting.selection import chosen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sonde.model.trees.context_tree import Ints
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection

SUFFIX = ".firefox.json.gz"
TEXT = False
MEMORY = True

VERSION = 60
GECKO_VERSION = 31
"""Of the format this one is made from in Firefox; has no meaning for us but must be there."""

# Grey marks the category of what has none, and transparent is drawn as idle time.
CATEGORIES = [
    ("Other", "grey"),
    ("Program", "yellow"),
    ("Library", "blue"),
    ("Built-in", "green"),
    ("Waiting", "transparent"),
]
OTHER, PROGRAM, LIBRARY, BUILT_IN_CATEGORY, WAITING = range(len(CATEGORIES))
_LIBRARY_FOLDERS = ("/site-packages/", "/dist-packages/", "/lib/python3.", "/lib64/python3.")

MARK = {
    "name": "Mark",
    "tooltipLabel": "{marker.data.text}",
    "tableLabel": "{marker.data.text}",
    "chartLabel": "{marker.data.text}",
    "display": ["marker-chart", "marker-table", "timeline-overview"],
    "fields": [{"key": "text", "label": "Text", "format": "string"}],
}


COMPRESSION = 4
"""Of numbers, level 6 makes a file a tenth smaller in four times the time."""
NUMBERS = 1 << 16
"""Written at a time: a number is many times as large in Python as in its column."""


def write(recording: Recording, selection: Selection, out: BinaryIO) -> None:
    found = profile(recording, selection)
    strings: dict[str, int] = {}
    shared = _shared(found, strings)
    markers = [_markers(recording, i, strings) for i in range(len(recording.threads))]
    rows, weight = chosen(recording, selection)
    thread = recording.samples.thread[rows]
    order = stable_order(thread)
    bounds = np.searchsorted(thread[order], np.arange(len(markers) + 1))
    tracks = (
        None if selection.memory is not None else firefox_calls.call_tracks(recording, selection)
    )
    first = 0
    if tracks is not None:
        first = firefox_calls.add_stacks(shared, tracks, found.functions, _category)
    spent = [int(weight[order[start:end]].sum()) for start, end in pairwise(bounds.tolist())]
    document = {
        "meta": _meta(recording, spent, 0 if tracks is None else len(tracks.threads)),
        "libs": [],
        "shared": shared | {"stringArray": list(strings)},
    }
    with (
        gzip.GzipFile(
            filename="", mode="wb", fileobj=out, mtime=0, compresslevel=COMPRESSION
        ) as packed,
        io.TextIOWrapper(packed, encoding="ascii", write_through=True) as text,
    ):
        text.write(f'{_encode(document)[:-1]},"threads":[')
        for i, marker in enumerate(markers):
            mine = order[bounds[i] : bounds[i + 1]]
            text.write(f'{"," if i else ""}{_encode(_thread(recording, i))[:-1]},"samples":')
            if selection.memory is None:
                text.writelines(_samples(recording, found, rows[mine], weight[mine]))
            else:
                text.writelines(_objects(recording, found, rows[mine], weight[mine]))
            text.write(f',"markers":{_encode(marker)}}}')
        for i, thread_row in enumerate(tracks.threads if tracks is not None else []):
            assert tracks is not None
            about = _thread(recording, thread_row)
            about |= {
                "name": f"{about['name']}: calls",
                "tid": f"{about['tid']}-calls",
                "isMainThread": False,
            }
            text.write(f'{"," if markers or i else ""}{_encode(about)[:-1]},"samples":')
            text.writelines(firefox_calls.samples(tracks, i, first, _encode))
            text.write(f',"markers":{_encode(_no_markers())}}}')
        text.write("]}")


_encode = json.JSONEncoder(separators=(",", ":")).encode


def _meta(recording: Recording, spent: list[int], tracks: int) -> dict[str, Any]:
    """`spent`: the time of each thread's samples; behind these are so many `tracks` of calls."""
    target = recording.target
    rate = recording.quality.get("rate_asked") or target.get("rate") or 1000
    started = target.get("started")
    counters = quality(recording).counters
    busiest = max(range(len(spent)), key=lambda i: spent[i], default=None)
    meta: dict[str, Any] = {
        "interval": 1000 / rate,
        "startTime": started * 1000 if isinstance(started, int | float) else 0,
        "profilingStartTime": 0,
        "profilingEndTime": duration_ns(recording) / 1e6,
        "processType": 0,
        "product": str(target.get("program") or "Python"),
        "importedFrom": "sonde",
        "stackwalk": 1,
        "version": GECKO_VERSION,
        "preprocessedProfileVersion": VERSION,
        "symbolicated": True,
        "symbolicationNotSupported": True,
        "usesOnlyOneStackType": True,
        "sourceCodeIsNotOnSearchfox": True,
        "categories": [
            {"name": name, "color": color, "subcategories": ["Other"]} for name, color in CATEGORIES
        ],
        "markerSchema": [MARK],
        "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
        "extra": [
            {
                "label": "Quality of the recording",
                "entries": [
                    {"label": key.replace("_", " "), "format": "string", "value": str(value)}
                    for key, value in counters.items()
                    if value not in (None, "")
                ],
            }
        ],
    }
    if busiest is not None:
        meta["initialSelectedThreads"] = [busiest]
        meta["initialVisibleThreads"] = list(range(len(spent) + tracks))
    argv = target.get("argv")
    if isinstance(argv, list):
        meta["arguments"] = " ".join(map(str, argv))
    if isinstance(target.get("cpus"), int):
        meta["logicalCPUs"] = target["cpus"]
    return meta


def _shared(found: Profile, strings: dict[str, int]) -> dict[str, Any]:
    """Functions, frames and stacks; stack n is node n, stack n + the number of nodes waits."""
    functions = found.functions
    sources: dict[str, int] = {}
    source = [sources.setdefault(f.file, len(sources)) if f.file else None for f in functions]
    span = int(found.line.max()) + 1 if len(found.line) else 1
    keys, frame = np.unique(found.function * span + found.line, return_inverse=True)
    function, line = (keys // span).tolist(), (keys % span).tolist()
    category = [_category(functions[f]) for f in function]
    prefix = [p if p >= 0 else None for p in found.tree.parent.tolist()]
    frames = 2 * len(keys)
    return {
        "stackTable": {
            "frame": frame.tolist() + (frame + len(keys)).tolist(),
            "prefix": prefix + prefix,
            "length": 2 * len(prefix),
        },
        "frameTable": {
            "address": [-1] * frames,
            "inlineDepth": [0] * frames,
            "category": category + [WAITING] * len(keys),
            "subcategory": [0] * frames,
            "func": function * 2,
            "nativeSymbol": [None] * frames,
            "innerWindowID": [0] * frames,
            "line": [number or None for number in line] * 2,
            "column": [None] * frames,
            "length": frames,
        },
        "funcTable": {
            "name": [strings.setdefault(f.name, len(strings)) for f in functions],
            "isJS": [False] * len(functions),
            "relevantForJS": [False] * len(functions),
            "resource": [-1] * len(functions),
            "source": source,
            "lineNumber": [f.line or None for f in functions],
            "columnNumber": [None] * len(functions),
            "length": len(functions),
        },
        "resourceTable": {"lib": [], "name": [], "host": [], "type": [], "length": 0},
        "nativeSymbols": {
            "libIndex": [],
            "address": [],
            "name": [],
            "functionSize": [],
            "length": 0,
        },
        "sources": {
            "uuid": [None] * len(sources),
            "filename": [strings.setdefault(file, len(strings)) for file in sources],
            "length": len(sources),
        },
    }


def _category(function: Function) -> int:
    if function.stands_in:
        return OTHER
    if function.file == BUILT_IN:
        return BUILT_IN_CATEGORY
    if function.file.startswith("<frozen "):
        return LIBRARY
    return LIBRARY if any(f in function.file for f in _LIBRARY_FOLDERS) else PROGRAM


def _thread(recording: Recording, row: int) -> dict[str, Any]:
    """What is known of a thread but its samples and markers."""
    table = recording.threads
    process = recording.processes[int(table.process[row])]
    tid, end = int(table.tid[row]), int(table.end_ns[row])
    return {
        "processType": "default",
        "processName": process.argv[0] if process.argv else process.executable,
        "processStartupTime": process.start_ns / 1e6,
        "processShutdownTime": None if process.end_ns is None else process.end_ns / 1e6,
        "registerTime": int(table.start_ns[row]) / 1e6,
        "unregisterTime": None if end < 0 else end / 1e6,
        "pausedRanges": [],
        "name": table.name[row] or f"thread {tid}",
        "isMainThread": tid == process.pid,
        "pid": str(process.pid),
        "tid": tid,
        "showMarkersInTimeline": True,
    }


def _samples(recording: Recording, found: Profile, rows: Ints, weight: Ints) -> Iterator[str]:
    """A thread's samples, each at the moment its time began, as the format wants weighed ones."""
    samples = recording.samples
    running = samples.state[rows] == RUNNING
    stack = found.node[samples.context[rows]] + np.where(running, 0, len(found.tree))
    time = samples.time[rows] - np.where(running, 0, weight)
    order = np.argsort(time, kind="stable")
    yield '{"stack":['
    yield from _numbers(stack[order])
    yield '],"time":['
    yield from _numbers(time[order], 1e6)
    yield '],"weight":['
    yield from _numbers(weight[order], 1e6)
    yield '],"weightType":"tracing-ms","threadCPUDelta":['
    yield from _numbers(np.where(running, weight, 0)[order])
    yield f'],"length":{len(rows)}}}'


def _objects(recording: Recording, found: Profile, rows: Ints, weight: Ints) -> Iterator[str]:
    """A thread's sampled objects, each with the bytes that it represents."""
    order = np.argsort(recording.samples.time[rows], kind="stable")
    yield '{"stack":['
    yield from _numbers(found.node[recording.samples.context[rows]][order])
    yield '],"time":['
    yield from _numbers(np.maximum(recording.samples.time[rows][order], 0), 1e6)
    yield '],"weight":['
    yield from _numbers(weight[order])
    yield f'],"weightType":"bytes","length":{len(rows)}}}'


def _numbers(values: Ints, divided_by: float | None = None) -> Iterator[str]:
    """A column as JSON without its brackets, in pieces."""
    for start in range(0, len(values), NUMBERS):
        some = values[start : start + NUMBERS]
        text = _encode((some if divided_by is None else some / divided_by).tolist())
        yield ("," if start else "") + text[1:-1]


def _no_markers() -> dict[str, Any]:
    columns = ("data", "name", "startTime", "endTime", "phase", "category")
    return {column: [] for column in columns} | {"length": 0}


def _markers(recording: Recording, thread: int, strings: dict[str, int]) -> dict[str, Any]:
    """The marks of a thread; those of none are shown with the first."""
    marks = recording.marks
    mine = marks.thread == thread
    if thread == 0:
        mine |= marks.thread < 0
    rows = np.flatnonzero(mine).tolist()
    name = strings.setdefault("Mark", len(strings)) if rows else 0
    return {
        "data": [{"type": "Mark", "text": marks.text[i]} for i in rows],
        "name": [name] * len(rows),
        "startTime": [int(marks.time[i]) / 1e6 for i in rows],
        "endTime": [None] * len(rows),
        "phase": [0] * len(rows),
        "category": [OTHER] * len(rows),
        "length": len(rows),
    }
