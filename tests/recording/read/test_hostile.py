"""Files made to hurt, with checksums that fit, and files of a later writer."""

from __future__ import annotations

import json
import tracemalloc

import pytest
import zstandard

from recording.made import blocks_of, program, rebuilt, rows_block, stacks, written
from sonde.recording.format.encode import encode_column, encode_integers, varint
from sonde.recording.format.framing import (
    FACTS,
    MAX_RAW,
    MAX_ROWS,
    RAW,
    ROWS,
    SCHEMA,
    UPDATES,
    ZSTD,
    BlockHead,
    RecordingError,
)
from sonde.recording.format.schema import TABLES, Table, declare
from sonde.recording.reader import read_bytes

WHOLE = written(program)
TRUTH = stacks(read_bytes(WHOLE))
BLOCKS = [(block.head, bytes(block.payload)) for block in blocks_of(WHOLE)]
NUMBER = {table.name: number for number, table in enumerate(TABLES)}
COLUMNS = {table.name: table.columns for table in TABLES}


def json_block(kind: int, value: object) -> tuple[BlockHead, bytes]:
    raw = json.dumps(value).encode()
    return BlockHead(kind, RAW, 0, 0, 0, len(raw), len(raw), 0), raw


def zstd_block(kind: int, raw: bytes, size: int | None = None) -> tuple[BlockHead, bytes]:
    stored = zstandard.ZstdCompressor(level=19).compress(raw)
    return BlockHead(kind, ZSTD, 0, 0, 0, len(raw) if size is None else size, 0, 0), stored


def raw_rows(name: str, rows: list[tuple[object, ...]]) -> bytes:
    columns = zip(COLUMNS[name], zip(*rows, strict=True), strict=True)
    return b"".join(encode_column(column._replace(low=None, high=None), v) for column, v in columns)


def test_contexts_in_a_circle():
    rows = [(1, 0, 0), (0, 0, 0), (2, 0, 0), (-1, 0, 0), (3, 0, 7), (-2, 0, 0), (4, 9, 0)]
    blocks = [
        BLOCKS[0],
        rows_block(NUMBER["functions"], raw_rows("functions", [("f", "", 0, "")]), 1),
        rows_block(NUMBER["contexts"], raw_rows("contexts", rows), len(rows)),
        rows_block(
            NUMBER["samples"],
            raw_rows("samples", [(0, number, number - 2, 1, 0, -1, -1, 0) for number in range(11)]),
            11,
        ),
    ]
    recording = read_bytes(rebuilt(WHOLE, blocks))
    assert recording.contexts.parent.tolist() == [-1, 0]
    assert recording.contexts.line.tolist() == [0, 7]
    assert recording.samples.context.tolist() == [-1, -1, -1, -1, -1, 0, 1, -1, -1, -1, -1]
    assert recording.quality["undecodable"] == 1 + 8
    assert recording.threads.name == ["(lost)"]


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("samples", (0, 0, 0, -1, 0, -1, -1, 0)),
        ("samples", (0, 0, 0, 2**57, 0, -1, -1, 0)),
        ("samples", (0, 2**61, 0, 1, 0, -1, -1, 0)),
        ("samples", (0, 0, 0, 1, 3, -1, -1, 0)),
        ("marks", (-(2**61), 0, "", 0)),
    ],
)
def test_a_value_out_of_bounds_damages_its_block(name, row):
    expected = len(getattr(read_bytes(WHOLE), name))
    block = rows_block(NUMBER[name], raw_rows(name, [row] * 3), 3, first_row=1000)
    recording = read_bytes(rebuilt(WHOLE, [*BLOCKS[:-1], block, BLOCKS[-1]]))
    assert len(getattr(recording, name)) == expected
    assert recording.quality["damaged_blocks"] == 1
    assert stacks(recording) == TRUTH


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x00",
        b"\x20\x00",
        b"\x09\x00",
        b"\x0f\x00" + bytes(100),
        b"\x01\x00",
        b"\x00" + b"\xff" * 30,
        b"\x10\x00",
        bytes(2 * 5) + b"\x00",
    ],
)
def test_columns_that_do_not_add_up(raw):
    block = rows_block(NUMBER["samples"], raw, 4, first_row=100)
    recording = read_bytes(rebuilt(WHOLE, [*BLOCKS, block]))
    assert stacks(recording) == TRUTH
    assert recording.quality["damaged_blocks"] == 1


@pytest.mark.parametrize(
    "lengths",
    [[5, 5], [2**64 - 1, 1], [2**63, 2**63], [2**64 - 3, 6], [1, 2**40]],
)
def test_text_lengths_that_do_not_add_up(lengths):
    times = encode_integers([0, 0], True)
    raw = times + encode_integers([-1, -1], False) + encode_integers(lengths, False) + b"abc"
    block = rows_block(NUMBER["marks"], raw, 2, first_row=100)
    recording = read_bytes(rebuilt(WHOLE, [*BLOCKS, block]))
    assert len(recording.marks) == 4
    assert recording.quality["damaged_blocks"] == 1


@pytest.mark.parametrize("text", [b"\xff\xfe", b"\xed\xa0\x80", b"\xc3"])
def test_texts_that_are_no_unicode(text):
    raw = varint(0) * 4 + encode_integers([len(text)], False) + text
    block = rows_block(NUMBER["marks"], raw, 1, first_row=100)
    assert read_bytes(rebuilt(WHOLE, [*BLOCKS, block])).quality["damaged_blocks"] == 1


@pytest.mark.parametrize("rows", [0, MAX_ROWS + 1, 2**32 - 1])
def test_impossible_row_counts(rows):
    block = rows_block(NUMBER["samples"], bytes(16), rows, first_row=100)
    recording = read_bytes(rebuilt(WHOLE, [*BLOCKS, block]))
    assert stacks(recording) == TRUTH
    assert recording.quality["damaged_blocks"] == 1


@pytest.mark.parametrize("first_row", [0, 28, 2**48, 2**63, 2**64 - 1])
def test_impossible_row_numbers(first_row):
    block = rows_block(NUMBER["samples"], bytes(16), 4, first_row=first_row)
    recording = read_bytes(rebuilt(WHOLE, [*BLOCKS, block]))
    assert stacks(recording) == TRUTH
    assert recording.quality["damaged_blocks"] == 1


def test_a_far_row_number_takes_no_memory():
    raw = raw_rows("functions", [("far", "", 0, "")])
    block = rows_block(NUMBER["functions"], raw, 1, first_row=2**47)
    recording = read_bytes(rebuilt(WHOLE, [*BLOCKS, block]))
    assert recording.functions.name[-1] == "far"
    assert len(recording.functions) == 13
    assert stacks(recording) == TRUTH


JSON_BOMBS = [
    b"[" * 100_000,
    b"[" * 100_000 + b"]" * 100_000,
    b'{"a":' * 50_000,
    b"9" * 100_000,
    b"1e999",
    b"NaN",
    b"[" + b"9" * 30 + b"]",
    b"\xff",
    b"",
    b'{"tables":[',
    b"null",
    b'"text"',
]


@pytest.mark.parametrize("kind", [UPDATES, FACTS])
@pytest.mark.parametrize("raw", JSON_BOMBS, ids=range(len(JSON_BOMBS)))
def test_json_that_is_none_of_ours(kind, raw):
    recording = read_bytes(rebuilt(WHOLE, [*BLOCKS, zstd_block(kind, raw)]))
    assert stacks(recording) == TRUTH
    assert recording.quality["damaged_blocks"] == 1


def test_updates_that_fit_nothing_change_nothing():
    entries = [
        ["threads", 0, {"name": 5, "tid": "x", "cpu_ns": True, "end_ns": 2**62, "process": 1}],
        ["threads", 0, {"start_ns": 1.5, "colour": 1, "interpreter": -1}],
        ["threads", -1, {"name": "x"}],
        ["threads", 2**62, {"name": "x"}],
        ["threads", True, {"interpreter": []}],
        ["nonsense", 0, {}],
        ["processes", 0, {"argv": "text", "exit": None, "pid": None}],
        ["processes", 0, {"argv": [1]}],
        [[], {}, 0],
        {},
        None,
    ]
    before = read_bytes(WHOLE)
    recording = read_bytes(rebuilt(WHOLE, [*BLOCKS[:-1], json_block(UPDATES, entries), BLOCKS[-1]]))
    assert recording.warnings == []
    assert recording.processes == before.processes
    assert recording.threads.name == before.threads.name
    for column in ("tid", "cpu_ns", "end_ns", "process", "start_ns", "interpreter"):
        assert (
            getattr(recording.threads, column).tolist() == getattr(before.threads, column).tolist()
        )


def test_facts_of_the_wrong_type_are_as_if_not_there():
    facts = {
        "quality": {"taken": "many", "undecodable": None, "refused": 5, "lost": True, "note": [1]},
        "target": {"duration_ns": "long", "argv": [1], "pid": {}},
    }
    recording = read_bytes(rebuilt(WHOLE, [*BLOCKS[:-1], json_block(FACTS, facts), BLOCKS[-1]]))
    before = read_bytes(WHOLE)
    assert recording.quality == before.quality | {"note": [1]}
    assert recording.target == before.target


def test_surrogates_in_json_are_spelt_out():
    facts = {"target": {"host\ud800": ["\udfff"]}}
    recording = read_bytes(rebuilt(WHOLE, [*BLOCKS, json_block(FACTS, facts)]))
    assert recording.target["host<d800>"] == ["<dfff>"]


def peak_of_refusal(data: bytes) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(RecordingError, match="compression ratio is implausible"):
            read_bytes(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_blocks_that_expand_without_end():
    # Eight constant columns in 16 bytes for a whole block: as far as honest blocks go.
    constant = [
        rows_block(NUMBER["samples"], bytes(16), MAX_ROWS, first_row=number * MAX_ROWS)
        for number in range(2000)
    ]
    honest = read_bytes(rebuilt(WHOLE, [BLOCKS[0], *constant]))
    assert len(honest.samples) == 2000 * MAX_ROWS

    blob = encode_integers([MAX_RAW // 600] * MAX_ROWS, False) + b"x" * (MAX_RAW // 600 * MAX_ROWS)
    raw = encode_integers([0] * MAX_ROWS, True) + encode_integers([0] * MAX_ROWS, False) + blob
    head, stored = zstd_block(ROWS, raw)
    bomb = [
        (head._replace(table=NUMBER["marks"], rows=MAX_ROWS, first_row=n * MAX_ROWS), stored)
        for n in range(3000)
    ]
    assert peak_of_refusal(rebuilt(WHOLE, [BLOCKS[0], *bomb])) < 512 << 20


def test_json_that_expands_without_end():
    raw = b'{"target":{"x":[' + b",".join([b"[]"] * 300_000) + b"]}}"
    bomb = [zstd_block(FACTS, raw)] * 1000
    assert peak_of_refusal(rebuilt(WHOLE, [BLOCKS[0], *bomb])) < 512 << 20


def test_zstd_frames_that_lie_about_their_size():
    frame = zstandard.ZstdCompressor().compress(b"x" * (1 << 24))
    streamed = zstandard.ZstdCompressor().compressobj()
    unsized = streamed.compress(b"x" * 100) + streamed.flush()
    tracemalloc.start()
    for head, stored in (
        (BlockHead(FACTS, ZSTD, 0, 0, 0, 100, 0, 0), frame),
        (BlockHead(FACTS, ZSTD, 0, 0, 0, 1 << 24, 0, 0), frame),
        (BlockHead(FACTS, ZSTD, 0, 0, 0, 2**32 - 1, 0, 0), frame),
        (BlockHead(FACTS, ZSTD, 0, 0, 0, 100, 0, 0), unsized),
        (BlockHead(FACTS, ZSTD, 0, 0, 0, 100, 0, 0), b"no frame"),
        (BlockHead(FACTS, ZSTD, 0, 0, 0, 0, 0, 0), b""),
        (BlockHead(FACTS, RAW, 0, 0, 0, 100, 0, 0), b"{}"),
        (BlockHead(FACTS, 7, 0, 0, 0, 2, 0, 0), b"{}"),
    ):
        recording = read_bytes(rebuilt(WHOLE, [*BLOCKS, (head, stored)]))
        assert stacks(recording) == TRUTH
        assert recording.quality["damaged_blocks"] == 1
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


def test_many_heads_that_promise_too_much_are_passed_quickly():
    # A head without its payload, 50,000 times: each is looked at once, whatever it promises.
    head, _ = BLOCKS[1]
    one = rebuilt(WHOLE, [(head, bytes(1 << 16))])[20 : 20 + 36]
    recording = read_bytes(WHOLE[:20] + one * 50_000)
    assert "is cut off after 0.0 s: its last block is incomplete" in recording.warnings[0]


def declared_with(change: object) -> bytes:
    tables = declare(TABLES)
    change(tables)  # type: ignore[operator]
    return rebuilt(WHOLE, [json_block(SCHEMA, {"tables": tables}), *BLOCKS[1:]])


def test_a_later_writer_with_more_tables_columns_and_kinds():
    new = Table("flows", (TABLES[0].columns[0], TABLES[0].columns[2]))
    tables = declare((*TABLES[:2], new, *TABLES[2:]))
    moved = {number: number + (number >= 2) for number in range(len(TABLES))}
    samples = moved[NUMBER["samples"]]
    tables[samples]["columns"].insert(1, {"name": "mood", "type": "text", "feature": {"x": 1}})
    blocks = [json_block(SCHEMA, {"tables": tables, "more": True})]
    for head, stored in BLOCKS:
        if head.kind == ROWS and head.table == NUMBER["samples"]:
            raw = stored if head.codec == RAW else zstandard.decompress(stored)
            # Behind the first column, which is constant or one byte wide in these small blocks.
            width = 2 + (raw[0] & 15) * head.rows
            mood = encode_column(TABLES[0].columns[2], ["☺"] * head.rows)
            raw = raw[:width] + mood + raw[width:]
            blocks.append((head._replace(codec=RAW, raw_size=len(raw), table=samples), raw))
        elif head.kind == ROWS:
            blocks.append((head._replace(table=moved[head.table]), stored))
        elif head.kind != SCHEMA:
            blocks.append((head, stored))
    unknown = encode_integers([1, 2], False) + encode_column(TABLES[0].columns[2], ["a", "b"])
    blocks.insert(4, rows_block(2, unknown, 2))
    blocks.insert(5, json_block(99, "a kind of block that does not exist yet"))
    recording = read_bytes(rebuilt(WHOLE, blocks))
    assert recording.warnings == []
    assert stacks(recording) == TRUTH
    assert recording.threads.name == read_bytes(WHOLE).threads.name


def test_an_older_writer_with_fewer_columns_gets_the_defaults():
    def drop(tables):
        tables[NUMBER["contexts"]]["columns"].pop()

    blocks = []
    for head, stored in BLOCKS:
        if head.kind == SCHEMA:
            continue
        if head.kind == ROWS and head.table == NUMBER["contexts"]:
            raw = encode_integers([-1], False) + encode_integers([0], False)
            if head.first_row == 0:
                blocks.append(rows_block(head.table, raw, 1))
        else:
            blocks.append((head, stored))
    tables = declare(TABLES)
    drop(tables)
    recording = read_bytes(rebuilt(WHOLE, [json_block(SCHEMA, {"tables": tables}), *blocks]))
    assert recording.contexts.line.tolist() == [0]


def rename(tables):
    tables[NUMBER["samples"]]["columns"][1]["name"] = "moment"


def retype(tables):
    tables[NUMBER["samples"]]["columns"][1]["type"] = "text"


def future_type(tables):
    tables[NUMBER["samples"]]["columns"][1]["type"] = "i128"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (rename, "its table samples has no column time"),
        (retype, "its table samples has text in column time, where i64 is expected"),
        (future_type, "its table samples has values of an unknown type, 'i128'"),
    ],
)
def test_a_table_that_cannot_be_read_is_left_out_with_a_word(change, problem):
    recording = read_bytes(declared_with(change), "x")
    assert recording.warnings == [f"x: {problem}"]
    assert len(recording.samples) == 0
    assert len(recording.functions) == 12


@pytest.mark.parametrize(
    "declaration",
    [
        5,
        {},
        {"tables": {}},
        {"tables": [5]},
        {"tables": [{"name": "samples"}]},
        {"tables": [{"name": "samples", "columns": [{}]}]},
        {"tables": [{"name": "samples", "columns": [{"name": "time", "type": 5}]}]},
        {"tables": [{"name": "samples", "columns": [{"name": "time", "type": "u8"}] * 2}]},
    ],
)
def test_a_declaration_of_nonsense_gives_way_to_the_second(declaration):
    recording = read_bytes(rebuilt(WHOLE, [json_block(SCHEMA, declaration), *BLOCKS]))
    assert stacks(recording) == TRUTH
    assert recording.quality["damaged_blocks"] == 1


def test_a_table_declared_twice_is_read_once():
    tables = declare(TABLES)
    blocks = [json_block(SCHEMA, {"tables": [*tables, tables[NUMBER["samples"]]]}), *BLOCKS[1:]]
    extra = rows_block(len(TABLES), bytes(10), 4, first_row=100)
    assert stacks(read_bytes(rebuilt(WHOLE, [*blocks, extra]))) == TRUTH
