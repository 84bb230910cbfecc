"""Messages made many at a time: the bytes that the protobuf library writes."""

from __future__ import annotations

import io
import random

import numpy as np
import pytest

pytest.importorskip("google.protobuf")

from sonde.exports import perfetto, wire
from sonde.exports.messages import field_number, message_class
from sonde.row_values import RUNNING
from sonde.views.selecting.selection import Selection
from synthetic import MS, Maker

SCHEMA = {"Inner": "1 a uint64, 2 b uint32", "Outer": "3 c uint64, 66 inner Inner"}
EDGES = [0, 1, 127, 128, 2**14 - 1, 2**14, 2**21, 2**32 - 1]


def test_the_bytes_of_the_library() -> None:
    draw = random.Random(4)
    rows = [
        (draw.choice([*EDGES, 2**63, 2**64 - 1]), draw.choice(EDGES), draw.getrandbits(7 * width))
        for width in range(1, 9)
        for _ in range(50)
    ]
    outer = message_class("tests.wire", SCHEMA, "Outer")
    expected = b""
    for a, b, c in rows:
        made = outer(c=c)
        made.inner.a, made.inner.b = a, b
        made.inner.SetInParent()
        expected += made.SerializeToString()
    a, b, c = (np.array(column, dtype=np.uint64) for column in zip(*rows, strict=True))
    inner = wire.joined(wire.number(1, a), wire.number(2, b))
    found = wire.joined(
        wire.number(field_number(SCHEMA, "Outer", "c"), c),
        wire.message(field_number(SCHEMA, "Outer", "inner"), inner),
    )
    assert found.to_bytes() == expected
    assert int(found.sizes.sum()) == len(expected)


def test_no_rows() -> None:
    empty = wire.number(1, np.zeros(0, dtype=np.int64))
    assert wire.message(2, wire.joined(empty, empty)).to_bytes() == b""


def many(samples: int) -> Maker:
    make = Maker(rate=1000)
    make.thread("MainThread")
    for number in range(samples):
        make.sample("main:3 > work:5" if number % 3 else "main:3", MS)
    return make


def test_samples_of_a_perfetto_trace_make_no_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int | None] = []
    real = perfetto._Trace._packet

    def packet(self: perfetto._Trace, time: int | None = None) -> object:
        made.append(time)
        return real(self, time)

    monkeypatch.setattr(perfetto._Trace, "_packet", packet)
    monkeypatch.setattr(perfetto, "SAMPLES", 7)
    counts = []
    for samples in (10, 1000):
        made.clear()
        recording, out = many(samples).recording(), io.BytesIO()
        assert (recording.samples.state == RUNNING).all()
        perfetto.write(recording, Selection(), out)
        counts.append(len(made))
        read = perfetto._message_class().FromString(out.getvalue())
        times = [packet.timestamp for packet in read.packet if packet.HasField("perf_sample")]
        assert times == recording.samples.time.tolist()
    assert counts[0] == counts[1]
