"""A recording as the rows of a store.

What has to be worked out from the order of events is worked out here, once: the owners of
each wait, the CPU time lost to others. The store holds what can be summed up in any order.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sonde.fleet.store.hashes import NONE, hashed, numbered, of_contexts, of_function
from sonde.fleet.store.schema import ALL, METRICS, TABLES
from sonde.model.locks.contention import blames
from sonde.model.locks.lock_kinds import KINDS
from sonde.model.trees.context_tree import ContextTree
from sonde.row_values import RUNNING
from sonde.views.calls.calls import picked, sizes_of
from sonde.views.locks.contentions import Contended, contended
from sonde.views.locks.locks import locks
from sonde.views.locks.wait_totals import explained
from sonde.views.selecting.duration import duration_ns, pauses
from sonde.views.selecting.profile import identities
from sonde.views.selecting.selection import Selection
from sonde.views.selecting.stolen_time import by_step, is_counted
from sonde.views.threads import lives

if TYPE_CHECKING:
    from sonde.fleet.store.labels import Labels
    from sonde.model.locks.contention import Contentions
    from sonde.model.trees.context_tree import Ints
    from sonde.recording.tables import Recording


@dataclass(frozen=True)
class Rows:
    """What one recording adds to a store."""

    recording: int
    begin_ns: int
    end_ns: int
    tables: dict[str, pa.Table]


def rows_of(recording: Recording, labels: Labels) -> Rows:
    number = identity_of(recording)
    started = recording.target.get("started")
    base = round(started * 1e9) if isinstance(started, int | float) else 0
    duration = duration_ns(recording)
    functions, of_row = identities(recording)
    hashes = np.array([of_function(function) for function in functions], dtype=np.int64)
    context = of_contexts(recording.contexts, hashes[of_row[recording.contexts.function]])
    sizes = sizes_of(recording)
    columns = {
        "recordings": [_recording(recording, number, base, duration, labels)],
        "processes": _processes(recording, number, base),
        "threads": _threads(recording, number, base),
        "functions": {
            "function": hashes,
            "name": [function.name for function in functions],
            "file": [function.file for function in functions],
            "line": [function.line for function in functions],
            "runtime": [function.runtime for function in functions],
            "instructions": [sizes.get(function) for function in functions],
        },
        "contexts": _contexts(recording, context, hashes[of_row]),
        "samples": _samples(recording, number, base, context),
        "blames": _blames(recording, number, base, context, hashes),
        "chains": _chains(recording, number),
        "steps": _steps(recording, number, base),
        "windows": _windows(recording, number, base),
        "calls": _calls(recording, number, base, context),
    }
    tables = {name: _table(name, columns[name]) for name in TABLES}
    return Rows(number, base, base + duration, tables)


def identity_of(recording: Recording) -> int:
    """The same for the same recording, wherever its file lies and whoever reads it."""
    digest = blake2b(digest_size=8)
    digest.update(json.dumps(recording.target, sort_keys=True, default=str).encode())
    events = recording.lock_events
    for column in (
        recording.threads.tid, recording.samples.time, recording.samples.thread,
        recording.samples.weight, events.time, events.thread, events.sequence,
    ):  # fmt: skip
        digest.update(np.ascontiguousarray(column).tobytes())
    return hashed(digest.digest())


def _table(name: str, columns: Any) -> pa.Table:
    schema = TABLES[name]
    if isinstance(columns, list):
        return pa.Table.from_pylist(columns, schema=schema)
    return pa.table(
        {field.name: pa.array(columns[field.name], field.type) for field in schema}, schema=schema
    )


def _recording(
    recording: Recording, number: int, base: int, duration: int, labels: Labels
) -> dict[str, Any]:
    quality = recording.quality
    counts = {name: quality.get(name) for name in ("taken", "lost", "undecodable", "truncated")}
    return {
        "recording": number,
        **labels.known,
        "labels": list(labels.own.items()),
        "program": str(recording.target.get("program") or ""),
        "base_ns": base,
        "duration_ns": duration,
        "pauses": [base + moment for pause in pauses(recording) for moment in pause],
        "undecided": contended(recording).undecided,
        "counted": is_counted(recording),
        "stepped": len(recording.metrics) > 0,
        "steal_in_cpu": bool(recording.target.get("cpu_includes_steal")),
        **{name: value if isinstance(value, int) else None for name, value in counts.items()},
    }


def _processes(recording: Recording, number: int, base: int) -> list[dict[str, Any]]:
    ids = numbered(number, np.arange(len(recording.processes))).tolist()
    return [
        {
            "process": ids[i],
            "recording": number,
            "pid": process.pid,
            "ppid": process.ppid,
            "runtime": process.runtime,
            "runtime_version": process.version,
            "executable": process.executable,
            "argv": process.argv,
            "start_ns": base + process.start_ns,
            "end_ns": None if process.end_ns is None else base + process.end_ns,
            "exit": process.exit,
        }
        for i, process in enumerate(recording.processes)
    ]


def _threads(recording: Recording, number: int, base: int) -> dict[str, Any]:
    table = recording.threads
    size = len(table)
    pids = np.array([process.pid for process in recording.processes], dtype=np.int64)
    start, end = lives(recording)
    return {
        "thread": numbered(number, np.arange(size)),
        "process": numbered(number, table.process),
        "recording": np.full(size, number, dtype=np.int64),
        "number": np.arange(size),
        "pid": pids[table.process],
        "tid": table.tid.astype(np.int64),
        "name": table.name,
        "interpreter": table.interpreter.astype(np.int64),
        "start_ns": base + start,
        "end_ns": base + end,
        "cpu_ns": table.cpu_ns,
    }


def _contexts(recording: Recording, context: Ints, function: Ints) -> dict[str, Any]:
    contexts = recording.contexts
    # Several contexts of a file may read the same to a person.
    hashes, first = np.unique(context[:-1], return_index=True)
    return {
        "context": hashes,
        "parent": context[contexts.parent[first]],
        "function": function[contexts.function[first]],
        "line": np.maximum(contexts.line[first], 0).astype(np.int64),
        "depth": ContextTree(contexts.parent).depth[first],
    }


def _samples(recording: Recording, number: int, base: int, context: Ints) -> dict[str, Any]:
    samples = recording.samples
    known = np.zeros(len(samples), dtype=np.int64)
    waited = np.flatnonzero(samples.state != RUNNING)
    found = contended(recording).found
    known[waited] = explained(
        found,
        np.arange(len(found)),
        samples.thread[waited].astype(np.int64),
        samples.time[waited],
        samples.weight[waited],
    )
    # Most waits are explained as a whole or not at all, and one number takes no room.
    known[(known > 0) & (known == samples.weight)] = ALL
    order = np.lexsort((samples.time, samples.thread))
    return {
        "thread": numbered(number, samples.thread[order]),
        "time": base + samples.time[order],
        "context": context[samples.context[order]],
        "weight": samples.weight[order],
        "state": samples.state[order].astype(np.int8),
        "explained": known[order],
    }


def _blames(
    recording: Recording, number: int, base: int, context: Ints, hashes: Ints
) -> dict[str, Any]:
    """Every wait, cut into the parts that are attributed to each owner."""
    everything = contended(recording)
    wait = _as_they_lie(everything.found)
    blocks = [
        _block(everything, part, wait, number, base, context, hashes)
        for part in blames(everything.found)
    ]
    names = TABLES["blames"].names
    if not blocks:
        return {name: [] for name in names}
    return {name: pa.concat_arrays([block[name] for block in blocks]) for name in names}


def _as_they_lie(found: Contentions) -> Ints:
    """By contention the number of its wait, in the order in which the rows will lie: what one
    differs by from the one before then takes no room."""
    order = np.lexsort((found.start, found.thread))
    waits, first = np.unique(found.wait[order], return_index=True)
    rank = np.empty(len(waits), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(waits))
    return np.asarray(rank[np.searchsorted(waits, found.wait)], dtype=np.int64)


def _block(
    everything: Contended,
    part: Any,
    wait: Ints,
    number: int,
    base: int,
    context: Ints,
    hashes: Ints,
) -> dict[str, Any]:
    found = everything.found
    thread, at = found.thread[part.contention], found.context[part.contention]
    unique, of_thread = everything.thread_names
    plain = [
        name or str(tid)
        for name, tid in zip(
            everything.recording.threads.name,
            everything.recording.threads.tid.tolist(),
            strict=True,
        )
    ]
    with_none = np.append(hashes, NONE)
    order = np.lexsort((part.start, thread))
    columns = {
        "wait": numbered(number, wait[part.contention]),
        "thread": numbered(number, thread),
        "start": base + part.start,
        "ns": part.ns,
        "kind": _named(list(KINDS), everything.kind[part.contention]),
        "signalling": everything.signalling[part.contention],
        "after_notification": everything.after_notification[part.contention],
        "lock": _named([one.name for one in everything.locks], everything.lock[part.contention]),
        "lock_shared": _named(
            [one.shared for one in everything.locks], everything.lock[part.contention]
        ),
        "waiter_thread": _named(unique, of_thread[thread]),
        "waiter_name": _named(plain, thread),
        "waiter_function": with_none[everything.function[at]],
        "waiter_chain": context[at],
        "owner_thread": _named(unique, of_thread[part.thread]),
        "owner_name": _named(plain, part.thread),
        "owner_function": with_none[everything.function[part.context]],
        "owner_own": with_none[everything.own_function[part.context]],
        "owner_chain": context[part.context],
    }
    fields = {field.name: field.type for field in TABLES["blames"]}
    return {
        name: pa.array(column, fields[name]).take(pa.array(order))
        for name, column in columns.items()
    }


def _named(names: list[str], index: Ints) -> pa.Array:
    """Text by number; none for -1."""
    indices = pa.array(index, mask=index < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string())).cast(pa.string())


def _chains(recording: Recording, number: int) -> list[dict[str, Any]]:
    shared = {lock.name: lock.shared for lock in contended(recording).locks}
    rows = []
    for chain in locks(recording).chains:
        links = chain.to_json()["links"]
        rows.append(
            {
                "recording": number,
                "links": json.dumps(links),
                "links_shared": json.dumps(
                    [{**link, "lock": shared.get(link["lock"], link["lock"])} for link in links]
                ),
                "wait_ns": chain.wait_ns,
            }
        )
    return rows


def _steps(recording: Recording, number: int, base: int) -> dict[str, Any]:
    metrics = recording.metrics
    columns: dict[str, Any] = {
        "thread": numbered(number, metrics.thread),
        "time": base + metrics.time,
    }
    for name in METRICS:
        values = getattr(metrics, name)
        columns[name] = pa.array(values, pa.int64(), mask=values < 0)
    return columns | {str(cause): lost for cause, lost in by_step(recording).items()}


def _windows(recording: Recording, number: int, base: int) -> dict[str, Any]:
    table = recording.windows
    order = np.lexsort((table.time, table.thread))
    return {
        "window": numbered(number, order),
        "thread": numbered(number, table.thread[order]),
        "time": base + table.time[order],
        "cut": table.cut[order] != 0,
    }


def _calls(recording: Recording, number: int, base: int, context: Ints) -> dict[str, Any]:
    """What each one stands for is known where all windows of the recording are."""
    windows, table = recording.windows, recording.calls
    _, rows, weight = picked(recording, Selection())
    window = table.window[rows].astype(np.int64)
    thread, time = windows.thread[window], windows.time[window]
    order = np.lexsort((time, thread))
    return {
        "window": numbered(number, window[order]),
        "thread": numbered(number, thread[order]),
        "time": base + time[order],
        "context": context[table.context[rows][order]],
        "site": table.site[rows][order].astype(np.int64),
        "weight": weight[order],
    }
