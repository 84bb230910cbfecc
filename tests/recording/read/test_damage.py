"""Torn and damaged files: less is told, and nothing wrong."""

from __future__ import annotations

import pytest

from recording.made import (
    MS,
    Stack,
    blocks_of,
    program,
    rebuilt,
    stacks,
    unfinished,
    written,
)
from sonde.recording.format.framing import (
    BLOCK_HEAD_SIZE,
    END,
    FILE_HEAD_SIZE,
    ROWS,
    SCHEMA,
    RecordingError,
)
from sonde.recording.format.schema import TABLES
from sonde.recording.reader import read_bytes
from sonde.recording.tables import Recording

WHOLE = written(program)
TRUTH = stacks(read_bytes(WHOLE))
# Also every kind of block, in fewer bytes: for what is done to each of them.
SHORT = written(lambda writer: program(writer, flushes=2))
SHORT_TRUTH = stacks(read_bytes(SHORT))
NUMBER = {table.name: number for number, table in enumerate(TABLES)}


def assert_nothing_wrong(recording: Recording, truth: dict[int, Stack | None] = TRUTH) -> None:
    """Every sample that is left has its own stack or says that it has none."""
    for time, stack in stacks(recording).items():
        assert stack in (truth[time], None)
    count = len(recording.threads)
    assert all(thread < count for thread in recording.samples.thread.tolist())
    processes = len(recording.processes)
    assert all(process < processes for process in recording.threads.process.tolist())
    names = {"MainThread", "Thread-1", "renamed-0", "renamed-1", "renamed-2", "renamed-3"}
    assert set(recording.threads.name) <= names | {"child", "(lost)"}


def without(kinds_and_tables: list[tuple[int, int]], which: int = 0) -> bytes:
    """The whole file without the `which`-th block of each given kind and table."""
    kept = []
    seen = dict.fromkeys(kinds_and_tables, 0)
    for block in blocks_of(WHOLE):
        key = (block.head.kind, block.head.table)
        if key in seen:
            seen[key] += 1
            if seen[key] - 1 == which:
                continue
        kept.append((block.head, bytes(block.payload)))
    return rebuilt(WHOLE, kept)


def test_the_short_one_has_every_kind_of_block():
    whole, short = (
        {(block.head.kind, block.head.table) for block in blocks_of(data)}
        for data in (WHOLE, SHORT)
    )
    assert short == whole


def test_torn_at_every_byte(request):
    """At every eleventh but for `--soak`."""
    times, step = list(SHORT_TRUTH), 1 if request.config.getoption("soak") else 11
    before = 0
    for length in (*range(FILE_HEAD_SIZE, len(SHORT), step), len(SHORT) - 1):
        recording = read_bytes(SHORT[:length], "torn.sonde")
        assert_nothing_wrong(recording, SHORT_TRUTH)
        found = recording.samples.time.tolist()
        assert found == times[: len(found)]
        assert before <= len(found)
        before = len(found)
        # The reader gives what was written before, whole: never a sample without its stack.
        assert stacks(recording) == {time: SHORT_TRUTH[time] for time in found}
        assert len(recording.warnings) == 1
        assert recording.warnings[0].startswith("torn.sonde is cut off after 0.0 s: ")
        assert recording.quality["damaged_blocks"] == 0
    assert before == len(times)


@pytest.mark.parametrize("length", range(1, FILE_HEAD_SIZE))
def test_torn_within_the_head(length):
    with pytest.raises(RecordingError, match=r"^x is cut off within its first 20 bytes"):
        read_bytes(WHOLE[:length], "x")


def test_the_warning_says_how_much_is_readable():
    def long(writer):
        for second in range(13):
            writer.append("marks", second * 1000 * MS, -1, "tick")
            writer.flush()

    data = written(long)
    assert read_bytes(data, "x").warnings == [
        "x is cut off after 12.0 s: the recorder crashed or is still writing"
    ]
    assert (
        read_bytes(data[:-3], "x")
        .warnings[0]
        .startswith("x is cut off after 11.0 s: its last block is incomplete (")
    )
    assert read_bytes(data[:-3]).target["duration_ns"] == 11_000 * MS


def test_a_bit_flipped_in_every_byte(request):
    """In every eleventh but for `--soak`; eleven steps reach each of the eight bits."""
    damaged, step = 0, 1 if request.config.getoption("soak") else 11
    for position in range(FILE_HEAD_SIZE, len(SHORT), step):
        data = bytearray(SHORT)
        data[position] ^= 1 << position % 8
        recording = read_bytes(bytes(data))
        assert_nothing_wrong(recording, SHORT_TRUTH)
        assert recording.warnings, f"byte {position}"
        damaged += recording.quality["damaged_blocks"]
    assert damaged > 1000 / step


@pytest.mark.parametrize("byte", [0, 4, 8, 16, 24, 32, BLOCK_HEAD_SIZE])
def test_what_follows_a_damaged_block_is_still_read(byte):
    """Wherever the block is hit: marker, kind, row number, sizes, checksum, content."""
    offset = FILE_HEAD_SIZE
    for block in blocks_of(WHOLE):
        if block.head.kind == ROWS and block.head.table == NUMBER["samples"]:
            break
        offset += BLOCK_HEAD_SIZE + block.head.stored_size
    data = bytearray(WHOLE)
    data[offset + byte] ^= 0x10
    recording = read_bytes(bytes(data), "x")
    assert list(stacks(recording)) == list(TRUTH)[block.head.rows :]
    assert recording.quality["missing_samples"] == block.head.rows
    assert len(recording.warnings) == 1


def test_a_bit_flipped_in_the_head():
    for position in range(FILE_HEAD_SIZE):
        data = bytearray(WHOLE)
        data[position] ^= 4
        with pytest.raises(RecordingError, match=r"is not a sonde recording|is damaged within"):
            read_bytes(bytes(data))


@pytest.mark.parametrize("gone", range(len(blocks_of(WHOLE))))
def test_any_one_block_cut_out(gone):
    blocks = [(block.head, bytes(block.payload)) for block in blocks_of(WHOLE)]
    head, _ = blocks.pop(gone)
    recording = read_bytes(rebuilt(WHOLE, blocks))
    assert_nothing_wrong(recording)
    last = not any(h.kind == ROWS and h.table == head.table for h, _ in blocks[gone:])
    if head.kind == ROWS and not last:
        assert recording.quality["damaged_blocks"] == 1
        assert "is damaged in 1 place: " in recording.warnings[0]


def test_a_lost_block_of_functions_leaves_undecodable_samples():
    recording = read_bytes(without([(ROWS, NUMBER["functions"])], which=1))
    found = stacks(recording)
    # The contexts of the second flush and all below them are gone; those of the first stay.
    for time, stack in TRUTH.items():
        expected = stack if stack is not None and len(stack) <= 3 else None
        assert found[time] == expected
    assert len(recording.contexts) == 3
    lost = sum(stack is not None for stack in TRUTH.values()) - sum(
        stack is not None for stack in found.values()
    )
    assert recording.quality["undecodable"] == 4 + lost
    assert f"{lost} have no stack" in recording.warnings[0]


def test_a_lost_block_of_contexts_takes_what_hangs_below():
    found = stacks(read_bytes(without([(ROWS, NUMBER["contexts"])], which=2)))
    assert list(found) == list(TRUTH)
    for time, stack in TRUTH.items():
        assert found[time] == (stack if stack is not None and len(stack) <= 6 else None)


def test_a_lost_block_of_samples_is_counted():
    recording = read_bytes(without([(ROWS, NUMBER["samples"])], which=1))
    assert recording.quality["missing_samples"] == 7
    assert len(recording.samples) == len(TRUTH) - 7
    assert recording.warnings[0].endswith("in 1 place: 7 samples are missing, and 0 have no stack")


def test_samples_of_lost_threads_keep_their_time():
    recording = read_bytes(without([(ROWS, NUMBER["threads"])]))
    assert recording.threads.name == ["child", "(lost)"]
    assert recording.processes[int(recording.threads.process[1])].pid == 0
    assert stacks(recording) == TRUTH
    assert recording.samples.thread.tolist()[-1] == 0
    assert set(recording.samples.thread.tolist()[:-1]) == {1}
    assert recording.marks.thread.tolist() == [-1] * 4


def test_threads_of_lost_processes():
    recording = read_bytes(without([(ROWS, NUMBER["processes"])]))
    assert [process.pid for process in recording.processes] == [200, 0]
    assert recording.threads.process.tolist() == [1, 1, 0]
    assert recording.processes[0].exit == "exit 3"


def test_the_schema_stands_twice():
    assert stacks(read_bytes(without([(SCHEMA, 0)]))) == TRUTH
    twice = rebuilt(
        WHOLE, [(b.head, bytes(b.payload)) for b in blocks_of(WHOLE) if b.head.kind != SCHEMA]
    )
    with pytest.raises(RecordingError, match="damaged: its table declarations cannot be read"):
        read_bytes(twice)


def test_bytes_cut_out_or_put_in():
    for start in range(FILE_HEAD_SIZE + 400, len(WHOLE) - 100, 37):
        assert_nothing_wrong(read_bytes(WHOLE[:start] + WHOLE[start + 61 :]))
        assert_nothing_wrong(read_bytes(WHOLE[:start] + bytes(61) + WHOLE[start:]))


def test_a_block_written_twice_counts_once():
    blocks = [(block.head, bytes(block.payload)) for block in blocks_of(WHOLE)]
    copies = [entry for entry in blocks for _ in range(2) if entry[0].kind != END]
    recording = read_bytes(rebuilt(WHOLE, [*copies, blocks[-1]]))
    assert_nothing_wrong(recording)
    assert stacks(recording) == TRUTH
    assert recording.quality["damaged_blocks"] == sum(h.kind == ROWS for h, _ in blocks)


def test_blocks_of_another_recording_do_not_pass():
    other = written(unfinished, nonce=b"\x99\x88\x77\x66")
    recording = read_bytes(WHOLE[: len(WHOLE) // 2] + other[FILE_HEAD_SIZE:])
    assert_nothing_wrong(recording)
    assert len(recording.samples) < len(TRUTH)


def test_garbage_behind_the_end():
    recording = read_bytes(WHOLE + b"garbage" * 100)
    assert stacks(recording) == TRUTH
    assert recording.quality["damaged_blocks"] == 1


def test_a_recording_still_growing_is_read_up_to_its_last_flush():
    data = written(unfinished)
    assert (
        len(read_bytes(data + WHOLE[FILE_HEAD_SIZE : FILE_HEAD_SIZE + BLOCK_HEAD_SIZE]).samples)
        == 40
    )
