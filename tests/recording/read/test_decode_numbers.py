"""Many blocks of numbers decoded at once are what each of them is alone, good or damaged."""

from __future__ import annotations

import random
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from sonde.recording.format import schema as schema_module
from sonde.recording.format.encode import encode_integers
from sonde.recording.format.schema import Column
from sonde.recording.read import block_reader, column_values
from sonde.recording.read.decode import Damaged, TableDecoder
from sonde.recording.read.decode_numbers import NumberBlocks
from sonde.recording.reader import read_bytes
from sonde.recording.tables import Recording
from sonde.recording.write.writer import Writer

COLUMNS = [Column("a", "i64"), Column("b", "u64", ascending=True), Column("c", "u8")]


def block(draw: random.Random) -> tuple[bytes, int]:
    """A block of random rows, of which one in three is changed."""
    rows = draw.randrange(1, 9)
    raw = b""
    for column in COLUMNS:
        scale = draw.choice((0, 1, 200, 70_000, 2**40, 2**62))
        values = [draw.randint(-scale, scale) for _ in range(rows)]
        raw += encode_integers(values, column.ascending)
    if draw.random() < 0.33:
        changed = bytearray(raw)
        for _ in range(draw.randrange(1, 3)):
            changed[draw.randrange(len(changed))] = draw.choice((0, 15, 127, 128, 255))
        raw = bytes(changed)[: draw.choice((len(changed), draw.randrange(len(changed) + 1)))]
        raw += bytes(draw.choice((0, 0, 0, 12)))
    return raw, rows


def test_the_same_as_block_by_block() -> None:
    draw = random.Random(25)
    bad = 0
    drawn = [[block(draw) for _ in range(draw.randrange(1, 12))] for _ in range(300)]
    for blocks in [[(b"", 3)], *drawn]:
        alone = TableDecoder(COLUMNS, {column.name for column in COLUMNS})
        good = []
        for raw, rows in blocks:
            try:
                alone.add(raw, rows)
                good.append(True)
            except Damaged:
                good.append(False)
        found = NumberBlocks([raw for raw, _ in blocks], [rows for _, rows in blocks], 3)
        assert found.good.tolist() == good
        bad += good.count(False)
        found.keep(np.array(good))
        for number, column in enumerate(COLUMNS):
            assert found.decode(number).tolist() == alone.integers(column.name).tolist()
    assert bad > 200


def test_opening_takes_little_more_than_the_tables(tmp_path: object) -> None:
    path = f"{tmp_path}/long.sonde"
    writer = Writer(path, {"pid": 1})
    writer.append("processes", 1, 0, "cpython", "3.12.1", "python3", ["a.py"], 0, -1, "")
    writer.append("threads", 0, 1, "MainThread")
    writer.append("functions", "f", "/a.py", 1, "cpython")
    writer.append("contexts", -1, 0, 1)
    draw = random.Random(1)
    for start in range(0, 300_000, 200):
        times = [(start + i) * 1_000_000 + draw.randrange(20_000) for i in range(200)]
        writer.extend("samples", [(0, time, 0, 1_000_000, 0, -1, 1, 0) for time in times])
        writer.flush()
    writer.close({"duration_ns": 10**12})
    with open(path, "rb") as file:
        data = file.read()
    tracemalloc.start()
    try:
        recording = read_bytes(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(recording.samples) == 300_000
    assert peak <= 4 * sample_bytes(recording)


def sample_bytes(recording: Recording) -> int:
    return sum(column.nbytes for column in vars(recording.samples).values())


def recorded(rows: list[list[tuple[int, ...]]], updates: dict[int, int] | None = None) -> Recording:
    """A recording whose samples lie in blocks of these rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/app.sonde"
        writer = Writer(path, {"pid": 1})
        writer.append("processes", 1, 0, "cpython", "3.12.1", "python3", ["a.py"], 0, -1, "")
        writer.append("threads", 0, 1, "MainThread")
        writer.append("functions", "f", "/a.py", 1, "cpython")
        writer.append("contexts", -1, 0, 1)
        for block_rows in rows:
            writer.extend("samples", block_rows)
            writer.flush()
        for row, processor in (updates or {}).items():
            writer.update("samples", row, processor=processor)
        writer.close({"duration_ns": 10**12})
        return read_bytes(Path(path).read_bytes())


@pytest.mark.parametrize("at_a_time", [1, 2, 3, 100])
@pytest.mark.parametrize(
    "processors", [[5, 5, 5, 5, 5], [5, 5, 6, 6, 5], [5, 5, 5, 5, 6], [-1, 0, 0, 0, 0]]
)
def test_blocks_of_one_value(
    monkeypatch: pytest.MonkeyPatch, processors: list[int], at_a_time: int
) -> None:
    monkeypatch.setattr(block_reader, "_BLOCKS_AT_A_TIME", at_a_time)
    rows = [[(0, n, 0, 1 + n, 0, -1, processor, 0)] * 3 for n, processor in enumerate(processors)]
    samples = recorded(rows).samples
    assert samples.processor.tolist() == [processor for processor in processors for _ in range(3)]
    assert samples.weight.tolist() == [1 + n for n in range(5) for _ in range(3)]
    assert samples.processor.dtype == np.int32


def test_a_column_of_one_value_takes_no_memory() -> None:
    samples = recorded([[(0, n, 0, 1 + n, 0, -1, 3, 0)] for n in range(5)]).samples
    assert (samples.span.strides, samples.processor.strides) == ((0,), (0,))
    assert samples.weight.strides == (8,)


def test_a_column_of_one_value_is_updated() -> None:
    rows = [[(0, n, 0, 1, 0, -1, 3, 0)] for n in range(4)]
    samples = recorded(rows, {2: 7, 3: 1}).samples
    assert samples.processor.tolist() == [3, 3, 7, 1]


def test_one_value_that_no_column_holds() -> None:
    schema = next(table for table in schema_module.TABLES if table.name == "samples")
    state = next(column for column in schema.columns if column.name == "state")
    raw = encode_integers([7, 7], False)
    found = NumberBlocks([raw], [2], 1)
    assert found.constant(0) == 7
    assert column_values.constant(state, found, 0) is None
    assert column_values.bounded(state, found.decode(0), 2)[1].tolist() == [0, 1]
