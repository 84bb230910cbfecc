"""The tables of several segments as one recording's: they grow segment by segment.

Rows that stand in several segments become one, and what points at them points there.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonde.recording.chain_tables import ChainNodes, Links
from sonde.recording.segments.object_join import ObjectJoin
from sonde.recording.segments.segment_boundary import repeated, rows_of, shares_before
from sonde.recording.segments.span_join import SpanJoin
from sonde.recording.segments.standalone_segment import alone
from sonde.recording.segments.task_join import TaskJoin
from sonde.recording.tables import (
    Contexts,
    Events,
    Functions,
    Locks,
    Pauses,
    Process,
    Recording,
    Samples,
    Threads,
    Types,
)

Ints = NDArray[np.int64]


class _Rows:
    """Rows of a table that are the same in several segments, once."""

    def __init__(self) -> None:
        self.number: dict[tuple[Any, ...], int] = {}

    def places(self, keys: list[tuple[Any, ...]]) -> Ints:
        number = self.number
        return np.array([number.setdefault(key, len(number)) for key in keys], dtype=np.int64)


class JoinedTables:
    def __init__(self) -> None:
        self._processes: list[Process] = []
        self._process_rows, self._thread_rows = _Rows(), _Rows()
        self._functions, self._contexts = _Rows(), _Rows()
        self._locks, self._types = _Rows(), _Rows()
        self._lock_types: list[str] = []
        self._kinds, self._nodes, self._links = _Rows(), _Rows(), _Rows()
        self._threads: list[dict[str, int]] = []
        self._names: list[str] = []
        self._pauses: list[tuple[int, int]] = []
        self._appended: dict[str, list[Any]] = {}
        """Tables whose rows are never the same in two segments: one piece for each segment."""
        self._spans = SpanJoin()
        self._objects = ObjectJoin()
        self._tasks = TaskJoin()

    def add(self, part: Recording, start: int, before: Recording | None) -> None:
        """The next segment; `before` is the one that it follows without a gap."""
        spans, length = part.spans, int(part.target.get("duration_ns", 0))
        if before is None:
            part = alone(part)
        process = self._add_processes(part, start)
        thread = self._add_threads(part, start, process)
        context = self._add_contexts(part)
        lock = self._add_locks(part, process)
        # Whatever is missing between two segments, a span that goes on is the same.
        span = self._spans.add(spans, start, length, thread)
        self._add_pauses(part.pauses, start)
        type_ = self._add_objects(part, start, process, thread, context)
        self._add_calls(part, start, thread, context)
        kind = self._add_events(part, start, thread, context, span, type_)
        self._add_chained(part, start, thread, kind)
        self._add_probes(part, start, process, thread, context, span, type_)
        self._add_samples(part.samples, start, thread, context, span)
        events = part.lock_events
        if before is not None and (events.time < 0).any():
            events = rows_of(events, ~repeated(part, before))
        self._append(
            "lock_events", events, start, thread=thread, lock=lock, context=context, span=span
        )
        self._append("flow_runs", part.flow_runs, start, process=process)
        self._append("flow", part.flow, None, thread=thread, context=context)
        self._append("flow_events", part.flow_events, start, thread=thread, context=context)
        samples = part.lock_samples
        pointed = {"thread": thread, "lock": lock, "context": context, "span": span}
        self._append("lock_samples", samples, start, **pointed)
        self._append("lock_counts", part.lock_counts, start, thread=thread)
        self._append("marks", part.marks, start, thread=np.append(thread, -1))
        self._append("metrics", part.metrics, start, thread=thread)
        self._append("machine", part.machine, start, process=process)
        self._append("processors", part.processors, start, process=process)
        self._add_tasks(part, start, process, thread, context)

    def _append(self, name: str, table: Any, start: int | None, **places: Ints) -> None:
        """The rows of a segment; `places`: for columns that point at rows, where those are now."""
        columns = {
            column: now[vars(table)[column]].astype(vars(table)[column].dtype)
            for column, now in places.items()
        }
        if start is not None:
            columns["time"] = table.time + start
        self._appended.setdefault(name, []).append(replace(table, **columns))

    def _add_processes(self, part: Recording, start: int) -> Ints:
        places = self._process_rows.places([(p.pid, p.number, p.version) for p in part.processes])
        for place, process in zip(places.tolist(), part.processes, strict=True):
            end = None if process.end_ns is None else process.end_ns + start
            if place == len(self._processes):
                moved = replace(process, start_ns=process.start_ns + start, end_ns=end)
                self._processes.append(moved)
            else:
                known = self._processes[place]
                self._processes[place] = replace(
                    known,
                    end_ns=end,
                    exit=process.exit or known.exit,
                    survival=max(known.survival, process.survival),
                )
        return places

    def _add_threads(self, part: Recording, start: int, process: Ints) -> Ints:
        table = part.threads
        names = ("tid", "interpreter", "number", "start_ns", "end_ns", "cpu_ns")
        columns = (vars(table)[name].tolist() for name in names)
        rows = list(zip(process[table.process].tolist(), *columns, strict=True))
        places = self._thread_rows.places([row[:4] for row in rows])
        for place, name, row in zip(places.tolist(), table.name, rows, strict=True):
            owner, tid, interpreter, number, began, ended, cpu = row
            end = ended + start if ended >= 0 else -1
            if place == len(self._threads):
                self._names.append(name)
                self._threads.append(
                    {
                        "process": owner,
                        "tid": tid,
                        "interpreter": interpreter,
                        "start_ns": began + start,
                        "end_ns": end,
                        "cpu_ns": cpu,
                        "number": number,
                    }
                )
                continue
            known = self._threads[place]
            # At 0 it had ended in an earlier segment, and was mentioned again.
            known["end_ns"] = end if ended else known["end_ns"]
            known["cpu_ns"] = known["cpu_ns"] + cpu if min(known["cpu_ns"], cpu) >= 0 else -1
            self._names[place] = name or self._names[place]
        return places

    def _add_locks(self, part: Recording, process: Ints) -> Ints:
        table = part.locks
        owners = process[table.process].tolist()
        keys = zip(owners, table.address.tolist(), table.made_of, strict=True)
        places = self._locks.places(list(keys))
        types = table.type or [""] * len(table)
        for place, type_ in zip(places.tolist(), types, strict=True):
            if place == len(self._lock_types):
                self._lock_types.append(type_)
            # A segment that has seen only its release does not know what it is.
            self._lock_types[place] = self._lock_types[place] or type_
        return places

    def _add_events(
        self, part: Recording, start: int, thread: Ints, context: Ints, span: Ints, type_: Ints
    ) -> Ints:
        kinds = zip(part.events.name, part.events.period.tolist(), strict=True)
        kind = np.append(self._kinds.places(list(kinds)), -1)
        pointed = {"thread": thread, "event": kind, "context": context, "span": span, "type": type_}
        self._append("event_samples", part.event_samples, start, **pointed)
        return kind

    def _add_chained(self, part: Recording, start: int, thread: Ints, kind: Ints) -> None:
        function = np.append(self._function_places(part), -1)
        nodes = zip(
            function[part.chain_nodes.function].tolist(),
            part.chain_nodes.depth.tolist(),
            strict=True,
        )
        node = np.append(self._nodes.places(list(nodes)), -1)
        links = zip(
            node[part.links.node].tolist(),
            node[part.links.caller].tolist(),
            part.links.line.tolist(),
            strict=True,
        )
        link = np.append(self._links.places(list(links)), -1)
        self._append("chained", part.chained, start, thread=thread, link=link, event=kind)

    def _add_probes(
        self,
        part: Recording,
        start: int,
        process: Ints,
        thread: Ints,
        context: Ints,
        span: Ints,
        type_: Ints,
    ) -> None:
        """A probe has rows in each segment; the view adds them up."""
        first = sum(len(table) for table in self._appended.get("probes", []))
        table = part.probes
        removed = np.where(table.removed_ns < 0, -1, table.removed_ns + start)
        moved = replace(table, added_ns=table.added_ns + start, removed_ns=removed)
        self._append("probes", moved, None, process=process)
        probe = np.append(np.arange(len(table)) + first, -1)
        pointed = {"thread": thread, "context": context, "span": span, "type": type_}
        self._append("probe_values", part.probe_values, start, probe=probe, **pointed)

    def _add_objects(
        self, part: Recording, start: int, process: Ints, thread: Ints, context: Ints
    ) -> Ints:
        """Places of types by row, and last for none."""
        keys = list(zip(part.types.name, part.types.runtime, strict=True))
        type_ = np.append(self._types.places(keys), -1)
        owner = process[part.threads.process]
        self._objects.add(part.objects, start, owner, thread, context, type_)
        return type_

    def _add_tasks(
        self, part: Recording, start: int, process: Ints, thread: Ints, context: Ints
    ) -> None:
        function = np.append(self._function_places(part), -1)
        self._tasks.add(part.tasks, start, process, function)
        self._append("task_times", part.task_times, start, process=process)
        self._append("task_waits", part.task_waits, start, thread=thread, context=context)
        pointed = {"thread": thread, "function": function, "context": context}
        self._append("task_resumptions", part.task_resumptions, start, **pointed)
        self._append("task_awaiters", part.task_awaiters, start, process=process, context=context)
        for name in ("task_steps", "loop_times", "loop_lags"):
            self._append(name, getattr(part, name), start, thread=thread)

    def _add_calls(self, part: Recording, start: int, thread: Ints, context: Ints) -> None:
        function = np.append(self._function_places(part), -1)
        self._append("sizes", part.sizes, None, function=function)
        first = sum(len(table) for table in self._appended.get("windows", []))
        window = np.append(np.arange(len(part.windows)) + first, -1)
        self._append("calls", part.calls, None, window=window, context=context)
        self._append("windows", part.windows, start, thread=thread)

    def _function_places(self, part: Recording) -> Ints:
        table = part.functions
        columns = (table.name, table.file, table.line.tolist(), table.runtime)
        return self._functions.places(list(zip(*columns, strict=True)))

    def _add_contexts(self, part: Recording) -> Ints:
        """Places by row, and last for none."""
        contexts = part.contexts
        function = self._function_places(part).tolist()
        number = self._contexts.number
        places = [-1] * (len(contexts) + 1)
        columns = (contexts.parent.tolist(), contexts.function.tolist(), contexts.line.tolist())
        for row, (parent, called, line) in enumerate(zip(*columns, strict=True)):
            key = (places[parent], function[called], line)
            places[row] = number.setdefault(key, len(number))
        return np.array(places, dtype=np.int64)

    def _add_pauses(self, pauses: Pauses, start: int) -> None:
        begun, ended = (pauses.start_ns + start).tolist(), (pauses.end_ns + start).tolist()
        for began, over in zip(begun, ended, strict=True):
            if self._pauses and self._pauses[-1][1] == began:
                self._pauses[-1] = (self._pauses[-1][0], over)
            else:
                self._pauses.append((began, over))

    def _add_samples(
        self, samples: Samples, start: int, thread: Ints, context: Ints, span: Ints
    ) -> None:
        shares = shares_before(samples)
        if len(shares):
            weight = samples.weight.copy()
            weight[shares + 1] += weight[shares]
            keep = np.ones(len(samples), dtype=bool)
            keep[shares] = False
            samples = rows_of(replace(samples, weight=weight), keep)
        self._append("samples", samples, start, thread=thread, context=context, span=span)

    def recording(
        self, path: str, target: dict[str, Any], quality: dict[str, Any], warnings: list[str]
    ) -> Recording:
        functions = list(self._functions.number)
        contexts = np.array(list(self._contexts.number), dtype=np.int64).reshape(-1, 3)
        locks, types = list(self._locks.number), list(self._types.number)
        kinds, nodes, links = (list(r.number) for r in (self._kinds, self._nodes, self._links))

        def threads(name: str, dtype: Any) -> Any:
            return np.array([row[name] for row in self._threads], dtype=dtype)

        return Recording(
            path=path,
            target=target,
            processes=self._processes,
            threads=Threads(
                process=threads("process", np.uint32),
                tid=threads("tid", np.uint32),
                name=self._names,
                interpreter=threads("interpreter", np.uint32),
                start_ns=threads("start_ns", np.int64),
                end_ns=threads("end_ns", np.int64),
                cpu_ns=threads("cpu_ns", np.int64),
                number=threads("number", np.uint64),
            ),
            functions=Functions(
                [name for name, _, _, _ in functions],
                [file for _, file, _, _ in functions],
                np.array([line for _, _, line, _ in functions], dtype=np.int32),
                [runtime for _, _, _, runtime in functions],
            ),
            contexts=Contexts(
                contexts[:, 0].astype(np.int32),
                contexts[:, 1].astype(np.int32),
                contexts[:, 2].astype(np.int32),
            ),
            quality=quality,
            warnings=warnings,
            locks=Locks(
                np.array([process for process, _, _ in locks], dtype=np.uint32),
                np.array([address for _, address, _ in locks], dtype=np.uint64),
                [made_of for _, _, made_of in locks],
                self._lock_types,
            ),
            pauses=Pauses(*np.array(self._pauses, dtype=np.int64).reshape(-1, 2).T),
            spans=self._spans.table(),
            objects=self._objects.table(),
            tasks=self._tasks.table(),
            types=Types([name for name, _ in types], [runtime for _, runtime in types]),
            events=Events([name for name, _ in kinds], _column(kinds, 1, np.int64)),
            chain_nodes=ChainNodes(_column(nodes, 0, np.int32), _column(nodes, 1, np.int64)),
            links=Links(*(_column(links, i, np.int32) for i in range(3))),
            **{name: _concatenated(pieces) for name, pieces in self._appended.items()},
        )


def _column(rows: list[tuple[Any, ...]], index: int, dtype: Any) -> Any:
    return np.array([row[index] for row in rows], dtype=dtype)


def _concatenated(tables: list[Any]) -> Any:
    """The rows of several tables; columns of text are lists, the others arrays."""
    columns: dict[str, Any] = {}
    for name, first in vars(tables[0]).items():
        parts = [vars(table)[name] for table in tables]
        columns[name] = (
            list(chain.from_iterable(parts)) if isinstance(first, list) else np.concatenate(parts)
        )
    return replace(tables[0], **columns)
