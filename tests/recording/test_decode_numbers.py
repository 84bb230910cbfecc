"""Many blocks of numbers decoded at once are what each of them is alone, good or damaged."""

from __future__ import annotations

import random
import tracemalloc

import numpy as np

from sonde.recording.decode import Damaged, TableDecoder
from sonde.recording.decode_numbers import NumberBlocks
from sonde.recording.encode import encode_integers
from sonde.recording.reader import read_bytes
from sonde.recording.schema import Column
from sonde.recording.tables import Recording
from sonde.recording.writer import Writer

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
        writer.extend("samples", [(0, time, 0, 1_000_000, 0, -1, 1) for time in times])
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
