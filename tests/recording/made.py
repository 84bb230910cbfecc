"""Small recordings written by the real writer, and their bytes taken apart."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from unittest import mock

from sonde.recording.format.framing import (
    FILE_HEAD_SIZE,
    RAW,
    ROWS,
    BlockHead,
    pack_block,
    unpack_file_head,
)
from sonde.recording.read.recovery import Block, find_blocks
from sonde.recording.tables import Recording
from sonde.recording.write.writer import Writer

MS = 1_000_000


def written(write: Callable[[Writer], None], nonce: bytes = b"\x17\x2b\x3d\x4f") -> bytes:
    """The bytes of a recording; the same each time because the nonce is given."""
    with tempfile.TemporaryDirectory() as folder, mock.patch("os.urandom", return_value=nonce):
        path = Path(folder) / "made.sonde"
        writer = Writer(path, {"program": "app.py", "argv": ["app.py", "-x"], "pid": 100})
        write(writer)
        return path.read_bytes()


def program(writer: Writer, flushes: int = 4) -> None:
    """Two processes, three threads, new functions and contexts in every flush."""
    writer.append("processes", 100, 1, "cpython", "3.12.1", "/usr/bin/python3", ["app.py"], 0)
    writer.append("threads", 0, 100, "MainThread")
    writer.append("threads", 0, 101, "Thread-1", 0, 2 * MS)
    context = -1
    for flush in range(flushes):
        for number in range(3):
            name = f"function_{flush}_{number}"
            function = writer.append("functions", name, f"/app/file_{flush}.py", 10 * number)
            # Each flush hangs its first context under the last one of the flush before.
            context = writer.append("contexts", context, function, 10 * number + 3)
        for number in range(6):
            time = (flush * 6 + number) * MS + 13 * number * number
            writer.append(
                "samples", number % 2, time, context - number % 3, MS + number, number % 3
            )
        writer.append("samples", 0, (flush * 6 + 5) * MS + 999, -1, 17, 0)
        writer.append("marks", flush * 6 * MS, flush % 2, f"flush {flush} ✓")
        writer.update("threads", 1, cpu_ns=flush * MS, name=f"renamed-{flush}")
        writer.quality({"taken": 7 * (flush + 1), "sampler": "made", "undecodable": flush + 1})
        writer.flush()
    child = writer.append("processes", 200, 100, "cpython", "3.13.0", "/opt/py", [], 9 * MS)
    thread = writer.append("threads", child, 200, "child")
    writer.append("samples", thread, 30 * MS, context, MS)
    writer.update("processes", child, end_ns=31 * MS, exit="exit 3")
    writer.close({"duration_ns": 32 * MS})


def idle(writer: Writer) -> None:
    """Nothing but its end."""
    writer.close({})


def unfinished(writer: Writer) -> None:
    """Flushed and left behind."""
    writer.append("processes", 7, 1, "cpython", "3.11.2", "/usr/bin/python3", ["-"], 0)
    thread = writer.append("threads", 0, 7)
    for number in range(40):
        function = writer.append("functions", f"f{number}", "/x.py", number)
        context = writer.append("contexts", -1, function, number)
        writer.append("samples", thread, number * MS, context, MS, 0)
    writer.flush()


Stack = tuple[tuple[str, str, int], ...]


def stacks(recording: Recording) -> dict[int, Stack | None]:
    """Every sample's stack, innermost first, by its time; None where it has none."""
    functions, contexts = recording.functions, recording.contexts
    known: list[Stack] = []  # of each context, whose callers all come before it
    columns = (contexts.parent.tolist(), contexts.function.tolist(), contexts.line.tolist())
    for parent, function, line in zip(*columns, strict=True):
        assert -1 <= parent < len(known)
        frame = (functions.name[function], functions.file[function], line)
        known.append((frame, *(known[parent] if parent >= 0 else ())))
    samples = zip(recording.samples.time.tolist(), recording.samples.context.tolist(), strict=True)
    return {time: known[context] if context >= 0 else None for time, context in samples}


def blocks_of(data: bytes) -> list[Block]:
    found = find_blocks(data, nonce_of(data))
    return [found[number] for number in range(len(found))]


def nonce_of(data: bytes) -> int:
    head = unpack_file_head(data)
    assert head is not None
    return head.nonce


def sealed(nonce: int, head: BlockHead, payload: bytes) -> bytes:
    """A block with checksums that fit whatever its fields say."""
    return pack_block(
        nonce,
        head.kind,
        head.codec,
        payload,
        head.raw_size,
        table=head.table,
        first_row=head.first_row,
        rows=head.rows,
    )


def rebuilt(data: bytes, blocks: Iterable[tuple[BlockHead, bytes]]) -> bytes:
    """A file with this one's head and these blocks."""
    nonce = nonce_of(data)
    body = b"".join(sealed(nonce, head, payload) for head, payload in blocks)
    return data[:FILE_HEAD_SIZE] + body


def rows_block(table: int, raw: bytes, rows: int, first_row: int = 0) -> tuple[BlockHead, bytes]:
    return BlockHead(ROWS, RAW, table, first_row, rows, len(raw), len(raw), 0), raw
