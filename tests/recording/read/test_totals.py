"""A recording judged by the totals of its samples, without decoding them."""

from __future__ import annotations

import pytest

from recording.made import MS, blocks_of, idle, program, rebuilt, unfinished, written
from sonde.recording.format.framing import FACTS, ROWS, pack_json
from sonde.recording.reader import read_bytes, read_parts
from sonde.recording.write.writer import Writer
from sonde.row_values import RUNNING
from sonde.views.quality import quality


def both(data: bytes):
    """The recording in full, and as `quality` opens it."""
    return read_bytes(data), read_bytes(data, samples=False)


@pytest.mark.parametrize("write", [program, idle])
def test_the_same_quality_without_samples(write):
    whole, judged = both(written(write))
    assert len(judged.samples) == 0
    assert judged.cpu_ns is not None
    assert judged.cpu_ns == whole.sampled_cpu_ns
    assert quality(judged).to_json() == quality(whole).to_json()
    assert judged.quality == whole.quality
    assert judged.target == whole.target


def test_only_running_samples_count_as_cpu_time():
    whole, judged = both(written(program))
    running = whole.samples.weight[whole.samples.state == RUNNING].sum()
    assert 0 < judged.cpu_ns == running < whole.samples.weight.sum()


def test_counts_that_the_recorder_did_not_state():
    def write(writer: Writer) -> None:
        writer.append("processes", 1, 0, "cpython", "3.12", "", [], 0)
        writer.append("threads", 0, 1)
        writer.extend(
            "samples", [(0, n * MS, -1 if n % 3 else 0, MS, 0, -1, -1, 0) for n in range(300)]
        )
        writer.append("functions", "f", "/f.py", 1)
        writer.append("contexts", -1, 0, 1)
        writer.close({"duration_ns": 0})

    whole, judged = both(written(write))
    assert len(judged.samples) == 0
    assert (judged.quality["taken"], judged.quality["undecodable"]) == (300, 200)
    assert judged.quality == whole.quality
    assert judged.target["duration_ns"] == whole.target["duration_ns"] == 299 * MS


def changed_totals(data: bytes, totals: object) -> bytes:
    """The same file with other totals behind the ones it has."""
    blocks = [(block.head, bytes(block.payload)) for block in blocks_of(data)]
    raw = pack_json({"totals": totals})
    head = blocks[-1][0]._replace(kind=FACTS, raw_size=len(raw), stored_size=len(raw))
    return rebuilt(data, [*blocks[:-1], (head, raw), blocks[-1]])


@pytest.mark.parametrize(
    "totals",
    [
        None,
        {},
        {"samples": {"rows": 29}},
        {"samples": {"rows": 28, "running_ns": 1, "without_stack": 0, "last_ns": 0}},
        {"samples": {"rows": 29, "running_ns": 1.5, "without_stack": 0, "last_ns": 0}},
        {"samples": {"rows": 29, "running_ns": -1, "without_stack": 0, "last_ns": 0}},
    ],
)
def test_totals_that_do_not_fit_are_not_used(totals):
    data = written(program)
    assert len(read_bytes(data).samples) == 29
    judged = read_bytes(changed_totals(data, totals), samples=False)
    assert (len(judged.samples), judged.cpu_ns) == (29, None)


def test_a_recording_that_is_not_whole_is_read_in_full():
    data = written(program)
    for table in (2, 3, 6):  # functions, contexts, samples
        first = next(
            block
            for block in blocks_of(data)
            if block.head.kind == ROWS and block.head.table == table
        )
        at = data.index(bytes(first.payload))
        damaged = data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :]
        whole, judged = both(damaged)
        assert len(judged.samples) == len(whole.samples) > 0
        assert judged.cpu_ns is None
        assert quality(judged).to_json() == quality(whole).to_json()
    assert len(read_bytes(written(unfinished), samples=False).samples) == 40
    assert len(read_bytes(data[:-20], samples=False).samples) == 29


def test_parts_add_up(tmp_path):
    paths = []
    for part in range(3):
        path = tmp_path / f"{part}.sonde"
        clock = {"id": "s", "part": part, "clock_ns": part * 100 * MS}
        writer = Writer(path, {"program": "app.py", "argv": [], "pid": 100, "session": clock})
        program(writer)
        paths.append(path)
    whole, judged = read_parts(paths), read_parts(paths, samples=False)
    assert len(judged.samples) == 0
    assert judged.cpu_ns == whole.sampled_cpu_ns > 0
    assert quality(judged).to_json() == quality(whole).to_json()
    # One that was cut off is read in full, and counts with the others.
    paths[1].write_bytes(paths[1].read_bytes()[:-10])
    whole, judged = read_parts(paths), read_parts(paths, samples=False)
    assert judged.cpu_ns == whole.sampled_cpu_ns
    assert quality(judged).to_json() == quality(whole).to_json()


def test_facts_that_differ_in_digits_keep_order_and_last_values():
    def write(writer: Writer) -> None:
        for number in range(200):
            writer.quality({"taken": number, "sampler": f"s{number % 7}", "lost": 2 * number})
            if number % 50 == 0:
                writer.quality({"clock": number, "taken": 5 * number})
            if number % 60 == 0:
                writer.quality({"undecodable": None if number else 3})
            writer.flush()
        writer.close({})

    found = read_bytes(written(write)).quality
    assert {key: found[key] for key in ("taken", "sampler", "lost", "clock", "undecodable")} == {
        "taken": 199, "sampler": "s3", "lost": 398, "clock": 150, "undecodable": 3,
    }  # fmt: skip
    assert list(found)[:4] == ["taken", "sampler", "lost", "clock"]
