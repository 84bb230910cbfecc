"""Perfetto's own trace: running samples with their stacks, and waits, spans and marks as slices.

A sample of Perfetto's has no weight, so only running time, which is sampled evenly, is shown by
samples. A wait is written once, with its length: as a slice on a track of its thread. So is each
call of a recorded call flow.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from sonde.exports import perfetto_calls, wire
from sonde.exports.messages import field_number, message_class
from sonde.model.locks.contention import UNKNOWN, blames
from sonde.model.locks.lock_kinds import KINDS
from sonde.row_values import RUNNING
from sonde.views.flow.flow_slices import flow_slices
from sonde.views.locks.contentions import contended
from sonde.views.locks.wait_totals import OTHERWISE
from sonde.views.selecting.duration import duration_ns
from sonde.views.selecting.profile import Profile, identities, profile
from sonde.views.selecting.selection import chosen, threads_of
from sonde.views.selecting.span_filter import within

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection

SUFFIX = ".perfetto-trace"
TEXT = False

# Field numbers and types of perfetto.protos, as its trace format has them; * is repeated.
SCHEMA = {
    "InternedString": "1 iid uint64, 2 str bytes",
    "Mapping": "1 iid uint64, 7 path_string_ids *uint64",
    "Frame": (
        "1 iid uint64, 2 function_name_id uint64, 3 mapping_id uint64, 4 rel_pc uint64, "
        "5 source_path_iid uint64, 6 line_number uint32"
    ),
    "Callstack": "1 iid uint64, 2 frame_ids *uint64",
    "EventCategory": "1 iid uint64, 2 name string",
    "EventName": "1 iid uint64, 2 name string",
    "SourceLocation": "1 iid uint64, 2 file_name string, 4 line_number uint32",
    "InternedData": (
        "1 event_categories *EventCategory, 2 event_names *EventName, "
        "4 source_locations *SourceLocation, 5 function_names *InternedString, "
        "6 frames *Frame, 7 callstacks *Callstack, "
        "17 mapping_paths *InternedString, 18 source_paths *InternedString, 19 mappings *Mapping"
    ),
    "ProcessDescriptor": "1 pid int32, 2 cmdline *string, 6 process_name string",
    "ThreadDescriptor": "1 pid int32, 2 tid int64, 5 thread_name string",
    "TrackDescriptor": (
        "1 uuid uint64, 2 name string, 3 process ProcessDescriptor, 4 thread ThreadDescriptor, "
        "5 parent_uuid uint64"
    ),
    "DebugAnnotation": "10 name string, 6 string_value string",
    "TrackEvent": (
        "3 category_iids *uint64, 4 debug_annotations *DebugAnnotation, 9 type int32, "
        "10 name_iid uint64, 11 track_uuid uint64, 22 categories *string, 23 name string, "
        "34 source_location_iid uint64, 56 callstack_iid uint64"
    ),
    "PerfSample": "2 pid uint32, 3 tid uint32, 4 callstack_iid uint64, 5 cpu_mode int32",
    "Timebase": "2 frequency uint64, 4 counter int32, 10 name string",
    "PerfSampleDefaults": "1 timebase Timebase",
    "TracePacketDefaults": "12 perf_sample_defaults PerfSampleDefaults",
    "TracePacket": (
        "8 timestamp uint64, 10 trusted_packet_sequence_id uint32, 11 track_event TrackEvent, "
        "12 interned_data InternedData, 13 sequence_flags uint32, "
        "59 trace_packet_defaults TracePacketDefaults, 60 track_descriptor TrackDescriptor, "
        "66 perf_sample PerfSample"
    ),
    "Trace": "1 packet *TracePacket",
}
SEQUENCE = 1
"""All packets are of one sequence, whose first one brings the names that the others refer to."""
STATE_CLEARED, NEEDS_STATE = 1, 2
SLICE_BEGIN, SLICE_END, INSTANT = 1, 2, 3
CPU_CLOCK = 1
MODE_USER = 2
PACKETS = 4096
"""Written at a time: a long recording need not fit in memory twice."""
SAMPLES = 1 << 16
"""The same of samples, which are made without a message object each."""


def write(recording: Recording, selection: Selection, out: BinaryIO) -> None:
    trace = _Trace(recording, selection, out)
    trace.names()
    trace.tracks()
    trace.samples()
    if selection.time != "running":
        trace.waits()
        trace.locks()
    trace.spans()
    trace.marks()
    trace.calls()
    trace.flush()


class _Trace:
    """What has been written of a trace."""

    def __init__(self, recording: Recording, selection: Selection, out: BinaryIO) -> None:
        self._recording = recording
        self._selection = selection
        self._out = out
        self._found: Profile = profile(recording, selection)
        self._rows, self._weight = chosen(recording, selection)
        self._meant = threads_of(recording, selection)
        self._trace = _message_class()()
        self._tracks = 1 + len(recording.processes) + len(recording.threads)

    def flush(self) -> None:
        self._out.write(self._trace.SerializeToString())
        self._trace.Clear()

    def _packet(self, time: int | None = None) -> Any:
        if len(self._trace.packet) >= PACKETS:
            self.flush()
        packet = self._trace.packet.add(
            trusted_packet_sequence_id=SEQUENCE, sequence_flags=NEEDS_STATE
        )
        if time is not None:
            packet.timestamp = max(time, 0)
        return packet

    # ---- what others refer to

    def names(self) -> None:
        """Functions, frames and stacks; the stack of node n bears the number n + 1."""
        found = self._found
        packet = self._packet()
        packet.sequence_flags = STATE_CLEARED
        rate = self._recording.quality.get("rate_asked") or self._recording.target.get("rate")
        defaults = packet.trace_packet_defaults.perf_sample_defaults.timebase
        defaults.frequency, defaults.counter, defaults.name = int(rate or 0), CPU_CLOCK, "cpu-clock"
        data = packet.interned_data
        # Frames of a mapping are distinguished by their address in it; ours have none, so the
        # number of a frame stands for it.
        program = str(self._recording.target.get("program") or "python")
        data.mapping_paths.add(iid=1, str=_bytes(program))
        data.mappings.add(iid=1, path_string_ids=[1])
        files: dict[str, int] = {}
        for number, function in enumerate(found.functions, 1):
            data.function_names.add(iid=number, str=_bytes(function.name))
            if function.file:
                files.setdefault(function.file, len(files) + 1)
        for file, number in files.items():
            data.source_paths.add(iid=number, str=_bytes(file))
        span = int(found.line.max()) + 1 if len(found.line) else 1
        keys, frame = np.unique(found.function * span + found.line, return_inverse=True)
        for number, key in enumerate(keys.tolist(), 1):
            function = found.functions[key // span]
            data.frames.add(
                iid=number,
                function_name_id=key // span + 1,
                mapping_id=1,
                rel_pc=number,
                source_path_iid=files.get(function.file, 0),
                line_number=key % span,
            )
        frames = (frame + 1).tolist()
        ends = (found.samples > 0).tolist()
        for node, path in found.tree.paths():
            if ends[node]:
                data.callstacks.add(iid=node + 1, frame_ids=[frames[i] for i in path])

    def _process_track(self, process: int) -> int:
        return 1 + process

    def _thread_track(self, thread: int) -> int:
        return 1 + len(self._recording.processes) + thread

    def tracks(self) -> None:
        threads, processes = self._recording.threads, self._recording.processes
        for i in sorted({int(threads.process[row]) for row in np.flatnonzero(self._meant)}):
            process = processes[i]
            track = self._packet().track_descriptor
            track.uuid, track.process.pid = self._process_track(i), process.pid
            name = process.argv[0] if process.argv else process.executable
            track.process.process_name = _text(name)
            track.process.cmdline.extend(map(_text, process.argv))
        for i in np.flatnonzero(self._meant).tolist():
            track = self._packet().track_descriptor
            pid, tid = processes[int(threads.process[i])].pid, int(threads.tid[i])
            track.uuid = self._thread_track(i)
            track.thread.pid, track.thread.tid = pid, tid
            track.thread.thread_name = _text(threads.name[i] or f"thread {tid}")

    # ---- what happened

    def samples(self) -> None:
        samples, threads = self._recording.samples, self._recording.threads
        rows = self._rows[samples.state[self._rows] == RUNNING]
        rows = rows[np.argsort(samples.time[rows], kind="stable")]
        node = self._found.node[samples.context[rows]]
        pids = np.array([process.pid for process in self._recording.processes], dtype=np.int64)
        self.flush()
        for start in range(0, len(rows), SAMPLES):
            some, stack = rows[start : start + SAMPLES], node[start : start + SAMPLES] + 1
            thread = samples.thread[some]
            sample = _in_order(
                "PerfSample",
                pid=pids[threads.process[thread]],
                tid=threads.tid[thread],
                callstack_iid=stack,
                cpu_mode=np.full(len(some), MODE_USER),
            )
            packet = wire.joined(
                _in_order(
                    "TracePacket",
                    timestamp=np.maximum(samples.time[some], 0),
                    trusted_packet_sequence_id=np.full(len(some), SEQUENCE),
                    sequence_flags=np.full(len(some), NEEDS_STATE),
                ),
                wire.message(field_number(SCHEMA, "TracePacket", "perf_sample"), sample),
            )
            packets = wire.message(field_number(SCHEMA, "Trace", "packet"), packet)
            self._out.write(packets.to_bytes())

    def waits(self) -> None:
        """What samples show of waiting: where, and how long."""
        samples, found = self._recording.samples, self._found
        waited = np.flatnonzero(samples.state[self._rows] != RUNNING)
        rows, weight = self._rows[waited], self._weight[waited]
        end = samples.time[rows]
        if self._selection.end_ns is not None:
            end = np.minimum(end, self._selection.end_ns)
        node = found.node[samples.context[rows]]
        self._slices(
            "waiting",
            samples.thread[rows].tolist(),
            (end - weight).tolist(),
            end.tolist(),
            (
                {
                    "name": found.functions[int(found.function[at])].name,
                    "category": OTHERWISE[int(samples.state[row])],
                    "callstack": at + 1,
                }
                for row, at in zip(rows.tolist(), node.tolist(), strict=True)
            ),
        )

    def locks(self) -> None:
        """What lock events show of waiting: what for, and who had it longest meanwhile."""
        everything = contended(self._recording)
        found, rows = everything.rows(self._selection)
        names, named = everything.thread_names
        blamed: dict[int, dict[int, int]] = {}
        for part in blames(found, rows):
            for wait, owner, ns in zip(
                part.contention.tolist(), part.thread.tolist(), part.ns.tolist(), strict=True
            ):
                owners = blamed.setdefault(wait, {})
                owners[owner] = owners.get(owner, 0) + ns

        def facts(row: int) -> dict[str, Any]:
            lock = everything.locks[int(everything.lock[row])]
            owners = blamed.get(row) or {UNKNOWN: 0}
            owner = max(owners, key=lambda one: owners[one])
            return {
                "name": lock.short,
                "category": KINDS[int(everything.kind[row])],
                "lock": lock.name,
                "owner": "unknown" if owner == UNKNOWN else names[int(named[owner])],
            }

        self._slices(
            "waiting for locks",
            found.thread[rows].tolist(),
            found.start[rows].tolist(),
            found.end[rows].tolist(),
            (facts(row) for row in rows.tolist()),
        )

    def spans(self) -> None:
        spans, selection = self._recording.spans, self._selection
        low = selection.start_ns or 0
        high = duration_ns(self._recording) if selection.end_ns is None else selection.end_ns
        start = np.maximum(spans.start_ns, low)
        end = np.minimum(np.where(spans.end_ns < 0, high, spans.end_ns), high)
        keep = self._meant[spans.thread] & (end >= start)
        if selection.span is not None:
            keep &= within(self._recording, selection.span)[np.arange(len(spans))]
        rows = np.flatnonzero(keep)
        self._slices(
            "spans",
            spans.thread[rows].tolist(),
            start[rows].tolist(),
            end[rows].tolist(),
            (
                {
                    "name": spans.name[row],
                    "category": "span",
                    "attributes": spans.attributes[row],
                }
                for row in rows.tolist()
            ),
        )

    def marks(self) -> None:
        marks, selection = self._recording.marks, self._selection
        first = int(np.flatnonzero(self._meant)[0]) if self._meant.any() else None
        for i in range(len(marks)):
            time, thread = int(marks.time[i]), int(marks.thread[i])
            # A mark of no thread stands with the first one.
            of = first if thread < 0 else thread
            outside = time < (selection.start_ns or 0) or (
                selection.end_ns is not None and time >= selection.end_ns
            )
            if of is None or outside or not self._meant[of]:
                continue
            if lasted := int(marks.duration_ns[i]):
                track = self._new_track(of, "marks")
                facts = {"name": marks.text[i], "category": "mark"}
                self._slice(track, time, time + lasted, facts)
                continue
            event = self._packet(time).track_event
            event.type, event.track_uuid = INSTANT, self._thread_track(of)
            event.name = _text(marks.text[i])
            event.categories.append("mark")

    def calls(self) -> None:
        """Of each thread one track, in which they nest."""
        recording = self._recording
        found = flow_slices(recording, self._selection)
        if not len(found):
            return
        functions, identity = identities(recording)
        function = identity[recording.contexts.function[found.context]]
        data = self._packet().interned_data
        data.event_categories.add(iid=1, name="call")
        for number in np.unique(function).tolist():
            of = functions[number]
            data.event_names.add(iid=number + 1, name=_text(of.name) or "(no name)")
            data.source_locations.add(
                iid=number + 1, file_name=_text(of.file), line_number=max(of.line, 0)
            )
        tracks = {one: self._new_track(one, "calls") for one in np.unique(found.thread).tolist()}
        self.flush()
        sequence = {"trusted_packet_sequence_id": SEQUENCE, "sequence_flags": NEEDS_STATE}
        for packets in perfetto_calls.packets(
            found, function + 1, tracks, partial(field_number, SCHEMA), sequence
        ):
            self._out.write(packets)

    def _slices(
        self,
        name: str,
        threads: list[int],
        starts: list[int],
        ends: list[int],
        facts: Iterable[dict[str, Any]],
    ) -> None:
        """One slice each; those of a track must nest, so what overlaps gets tracks of its own.

        Perfetto shows tracks of one name below one thread as one.
        """
        lanes: dict[int, list[tuple[int, int]]] = {}
        made = sorted(zip(starts, [-end for end in ends], threads, range(len(starts)), strict=True))
        words = list(facts)
        for start, minus_end, thread, number in made:
            end = -minus_end
            mine = lanes.setdefault(thread, [])
            lane = next((i for i, (_, free) in enumerate(mine) if free <= start), None)
            if lane is None:
                lane = len(mine)
                mine.append((self._new_track(thread, name), 0))
            track = mine[lane][0]
            mine[lane] = (track, end)
            self._slice(track, start, end, words[number])

    def _new_track(self, thread: int, name: str) -> int:
        track = self._packet().track_descriptor
        track.uuid, track.parent_uuid = self._tracks, self._thread_track(thread)
        track.name = name
        self._tracks += 1
        return int(track.uuid)

    def _slice(self, track: int, start: int, end: int, facts: dict[str, Any]) -> None:
        event = self._packet(start).track_event
        event.type, event.track_uuid = SLICE_BEGIN, track
        event.name = _text(facts["name"])
        event.categories.append(facts["category"])
        if "callstack" in facts:
            event.callstack_iid = facts["callstack"]
        for key in ("lock", "owner"):
            if key in facts:
                event.debug_annotations.add(name=key, string_value=_text(facts[key]))
        for key, value in facts.get("attributes", {}).items():
            event.debug_annotations.add(name=_text(key), string_value=_text(value))
        event = self._packet(end).track_event
        event.type, event.track_uuid = SLICE_END, track


def _in_order(message: str, **fields: NDArray[Any]) -> wire.Rows:
    """Fields with numbers, of many messages."""
    numbers = [wire.number(field_number(SCHEMA, message, name), of) for name, of in fields.items()]
    return wire.joined(*numbers)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _text(text: str) -> str:
    """Names from a file system may hold half characters, which UTF-8 cannot."""
    return _bytes(text).decode()


@cache
def _message_class() -> Any:
    return message_class("perfetto.protos", SCHEMA, "Trace")
