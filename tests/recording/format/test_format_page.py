"""The specification's example is what the writer writes."""

from __future__ import annotations

import re
from pathlib import Path
from unittest import mock

from sonde.recording.reader import read
from sonde.recording.write.writer import Writer

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "format.md"
LINE = re.compile(r"^([0-9a-f]{4})  ((?:[0-9a-f]{2} )*[0-9a-f]{2})(?: |$)", re.MULTILINE)


def tiny(path: Path) -> bytes:
    with mock.patch("os.urandom", return_value=bytes.fromhex("172b3d4f")):
        writer = Writer(path, {"pid": 42})
    writer.append("processes", 42, 1, "cpython", "3.12.1", "/usr/bin/python3", ["a.py"], 0)
    writer.append("threads", 0, 42, "MainThread")
    writer.append("functions", "main", "a.py", 1)
    writer.append("contexts", -1, 0, 3)
    for number, time in enumerate((1_000_100, 2_000_250, 3_000_180)):
        writer.append("samples", 0, time, 0, 1_000_000 + 70 * number, 0)
    writer.flush()
    writer.close({"duration_ns": 4_000_000})
    return path.read_bytes()


def test_the_annotated_bytes_are_real(tmp_path):
    data = tiny(tmp_path / "tiny.sonde")
    page = PAGE.read_text()
    dump = page[page.index("## A small file, byte by byte") :]
    lines = LINE.findall(dump)
    assert len(lines) > 40
    # The compressed schema may change its size with zstd's version; everything shifts with it.
    shift = data.index(b'{"target":{"pid":42}}') - 0x215
    for offset, text in lines:
        place = int(offset, 16)
        place += 0 if place < 0x1F1 else shift if place < 0x60E else 2 * shift
        found = data[place : place + len(bytes.fromhex(text))]
        assert found.hex(" ") == text, f"at {offset}"


def test_the_example_reads_as_annotated(tmp_path):
    tiny(tmp_path / "tiny.sonde")
    recording = read(tmp_path / "tiny.sonde")
    assert recording.samples.time.tolist() == [1_000_100, 2_000_250, 3_000_180]
    assert recording.samples.weight.tolist() == [1_000_000, 1_000_070, 1_000_140]
