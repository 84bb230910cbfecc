"""Perfetto's trace, as Perfetto's own message classes read it."""

from __future__ import annotations

import io
from typing import Any

import pytest

from exports.made import everything, exported
from flows import SHOP, with_flow
from sonde.exports import format_named
from sonde.views.selecting.selection import Selection
from synthetic import MS, Maker

protos = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")


def trace(make: Maker, **options: Any) -> Any:
    read = protos.Trace()
    read.ParseFromString(exported(make, "perfetto", **options))
    return read


def unknown(message: Any) -> bool:
    """Whether it has a field that Perfetto does not know, or knows as something else."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    if len(UnknownFieldSet(message)):
        return True
    for field, value in message.ListFields():
        if field.message_type is not None:
            parts = value if field.is_repeated else [value]
            if any(unknown(part) for part in parts):
                return True
    return False


def stacks(read: Any) -> dict[int, str]:
    data = read.packet[0].interned_data
    names = {name.iid: name.str.decode() for name in data.function_names}
    files = {path.iid: path.str.decode() for path in data.source_paths}
    frames = {
        f.iid: f"{names[f.function_name_id]} ({files.get(f.source_path_iid, '')}:{f.line_number})"
        for f in data.frames
    }
    return {s.iid: " > ".join(frames[i] for i in s.frame_ids) for s in data.callstacks}


def slices(read: Any) -> list[tuple[str, int, str, str, int, int]]:
    """Track, thread, category, name, begin and end of each; a track's must nest."""
    tracks = {
        p.track_descriptor.uuid: p.track_descriptor
        for p in read.packet
        if p.HasField("track_descriptor")
    }
    found, begun = [], {}
    events = [p for p in read.packet if p.HasField("track_event")]
    for packet in sorted(events, key=lambda p: (p.timestamp, p.track_event.type != 2)):
        event = packet.track_event
        if event.type == protos.TrackEvent.TYPE_SLICE_BEGIN:
            assert event.track_uuid not in begun
            begun[event.track_uuid] = packet
        elif event.type == protos.TrackEvent.TYPE_SLICE_END:
            first = begun.pop(event.track_uuid)
            track = tracks[event.track_uuid]
            found.append(
                (
                    track.name,
                    tracks[track.parent_uuid].thread.tid,
                    first.track_event.categories[0],
                    first.track_event.name,
                    first.timestamp,
                    packet.timestamp,
                )
            )
    assert not begun
    return found


@pytest.mark.parametrize("time", ["running", "waiting", "wall"])
def test_perfetto_knows_every_field(time: str) -> None:
    read = trace(everything(), time=time)
    assert len(read.packet) > 5
    assert not unknown(read)


def test_samples_are_of_running_time_with_their_stacks() -> None:
    read = trace(everything(), time="wall")
    of = stacks(read)
    parse = "main (/app/app.py:3) > Parser.parse (/lib/python3.12/site-packages/parser.py"
    taken = [
        (p.timestamp, p.perf_sample.pid, p.perf_sample.tid, of[p.perf_sample.callstack_iid])
        for p in read.packet
        if p.HasField("perf_sample")
    ]
    assert [row[:3] for row in taken] == sorted(row[:3] for row in taken)
    assert sorted(taken) == sorted(
        [
            (2 * MS, 100, 1000, f"{parse}:12) > len (<built-in>:0)"),
            (5 * MS, 100, 1000, f"{parse}:12) > len (<built-in>:0)"),
            (6 * MS, 100, 1000, f"{parse}:13)"),
            (4 * MS, 100, 1001, "fib (/app/app.py:2) > fib (/app/app.py:2) > fib (/app/app.py:3)"),
            (5 * MS, 100, 1001, "[undecodable] (:0)"),
            (7 * MS, 200, 1002, f"{parse}:12) > len (<built-in>:0)"),
        ]
    )


def test_a_wait_is_a_slice_as_long_as_it_was() -> None:
    read = trace(everything(), time="waiting")
    assert not any(p.HasField("perf_sample") for p in read.packet)
    assert slices(read) == [
        ("waiting", 1002, "preempted", "main", 7 * MS, 27 * MS),
        ("waiting", 1000, "waiting", "time.sleep", 6 * MS, 106 * MS),
    ]


def test_running_time_only_unless_told() -> None:
    assert slices(trace(everything())) == []


def test_threads_processes_and_marks() -> None:
    read = trace(everything())
    tracks = [p.track_descriptor for p in read.packet if p.HasField("track_descriptor")]
    assert [t.process.pid for t in tracks if t.HasField("process")] == [100, 200]
    assert [
        (t.thread.pid, t.thread.tid, t.thread.thread_name) for t in tracks if t.HasField("thread")
    ] == [(100, 1000, "MainThread"), (100, 1001, "worker"), (200, 1002, "child")]
    threads = {t.uuid: t.thread.tid for t in tracks}
    assert [
        (p.timestamp, threads[p.track_event.track_uuid], p.track_event.name)
        for p in read.packet
        if p.track_event.type == protos.TrackEvent.TYPE_INSTANT
    ] == [(2 * MS, 1000, "warm"), (6 * MS, 1001, "busy")]


def test_one_thread_and_a_range_of_time() -> None:
    read = trace(everything(), thread="MainThread", start_ns=3 * MS, end_ns=50 * MS, time="wall")
    assert {p.perf_sample.tid for p in read.packet if p.HasField("perf_sample")} == {1000}
    assert slices(read) == [("waiting", 1000, "waiting", "time.sleep", 6 * MS, 50 * MS)]
    assert not [p for p in read.packet if p.track_event.type == protos.TrackEvent.TYPE_INSTANT]


def test_waits_for_locks_with_their_owner_and_spans_that_overlap() -> None:
    make = Maker()
    make.thread("MainThread")
    make.thread("worker")
    make.sample("main:1", 1 * MS)
    make.wait("cache", "worker", "MainThread", 10 * MS, 30 * MS)
    make.span("a", 1 * MS, 5 * MS)
    make.span("b", 2 * MS, 6 * MS)
    make.span("c", 7 * MS, 8 * MS)
    assert [row for row in slices(trace(make)) if row[2] != "span"] == []
    read = trace(make, time="wall")
    found = sorted(slices(read), key=lambda row: row[4])
    assert [row[0] for row in found] == ["spans", "spans", "spans", "waiting for locks"]
    assert [row[3:] for row in found[:3]] == [
        ("a", 1 * MS, 5 * MS),
        ("b", 2 * MS, 6 * MS),
        ("c", 7 * MS, 8 * MS),
    ]
    assert found[3][1:3] == (1001, "lock")
    assert found[3][4:] == (10 * MS, 30 * MS)
    (begin,) = [p.track_event for p in read.packet if p.track_event.debug_annotations]
    assert {a.name: a.string_value for a in begin.debug_annotations}["owner"] == "MainThread"
    # One track takes a and c, b overlaps a and has its own.
    tracks = [p.track_descriptor for p in read.packet if p.track_descriptor.name == "spans"]
    assert len(tracks) == 2


def test_spans_have_their_attributes() -> None:
    make = Maker()
    make.sample("main:1", 1 * MS)
    make.span("GET /books/{id}", 0, 1 * MS, status="200", text="\udc80=")
    read = trace(make)
    assert not unknown(read)
    (begin,) = [p.track_event for p in read.packet if p.track_event.debug_annotations]
    annotations = {a.name: a.string_value for a in begin.debug_annotations}
    assert annotations == {"status": "200", "text": "?="}


def test_calls_are_slices_that_nest() -> None:
    out = io.BytesIO()
    make = Maker()
    recording = with_flow(make, SHOP)
    format_named("perfetto").write(recording, Selection(start_ns=5), out)
    read = protos.Trace()
    read.ParseFromString(out.getvalue())
    assert not unknown(read)
    names: dict[int, str] = {}
    tracks: dict[int, Any] = {}
    stacks: dict[int, list[tuple[str, int]]] = {}
    found = []
    for packet in read.packet:
        names |= {one.iid: one.name for one in packet.interned_data.event_names}
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        stack = stacks.setdefault(event.track_uuid, [])
        if event.type == protos.TrackEvent.TYPE_SLICE_BEGIN:
            stack.append((names[event.name_iid], packet.timestamp))
            continue
        name, start = stack.pop()
        tid = tracks[tracks[event.track_uuid].parent_uuid].thread.tid
        found.append((tid, len(stack), name, start, packet.timestamp))
    assert not any(stacks.values())
    assert {tracks[track].name for track in stacks} == {"calls"}
    assert sorted(found) == [
        (1000, 0, "main", 5, 150), (1000, 1, "bad", 90, 95), (1000, 1, "fib", 10, 60),
        (1000, 1, "gen", 70, 80), (1000, 1, "gen", 100, 130), (1000, 1, "open", 140, 150),
        (1000, 2, "deep", 150, 150), (1000, 2, "fib", 20, 50),
        (1001, 0, "poll", 5, 9), (1001, 0, "poll", 30, 30),
    ]  # fmt: skip
