"""Snapshots in files: what is read is what was written, and a damaged file is refused."""

from __future__ import annotations

import random
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heap.heaps import dump_leaks
from heap.made_up import MadeUpDump, small
from java import Jdk
from matrix import soak
from sonde.errors import SondeError
from sonde.heap import hprof, snapshot_file
from sonde.heap.graph import HeapGraph
from sonde.heap.snapshot import MAX_STORED_TEXT, Origin, Snapshot
from sonde.recording import reader
from sonde.recording.format import zstd
from sonde.recording.format.framing import (
    BLOCK_HEAD_SIZE,
    FILE_HEAD_SIZE,
    ZSTD,
    RecordingError,
    pack_block,
    unpack_block_head,
)
from sonde.views.heap.dominators import dominators
from sonde.views.heap.duplicates import duplicates
from sonde.views.heap.heap_diff import heap_diff
from sonde.views.heap.paths import heap_paths
from sonde.views.heap.search import parse_terms, search
from sonde.views.heap.types import heap_types

COLUMNS = ("type", "size", "id", "first", "to", "label")


def of(dump: MadeUpDump, folder: Path) -> Snapshot:
    path = folder / "app.hprof"
    path.write_bytes(dump.bytes())
    return hprof.read(str(path))


def stored(snapshot: Snapshot, folder: Path) -> Snapshot:
    path = str(folder / "app.sonde")
    assert snapshot_file.write(snapshot, path) == Path(path).stat().st_size
    return snapshot_file.read(path)


def with_texts(*texts: tuple[bytes, int]) -> MadeUpDump:
    """Strings whose bytes and coder are given."""
    dump = small()
    dump.class_(0x40, "java/lang/String", {"value": 2, "coder": 8})
    for number, (data, coder) in enumerate(texts):
        at = 0x1000 + 0x100 * number
        dump.values(at, 8, len(data), data)
        dump.instance(at + 0x80, 0x40, dump.id(at) + bytes([coder]))
        dump.root(at + 0x80)
    return dump


def check_equal(found: Snapshot, expected: Snapshot) -> None:
    assert len(found) == len(expected)
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(found, column), getattr(expected, column))
        assert getattr(found, column).dtype == getattr(expected, column).dtype
    assert found.types == expected.types
    assert found.labels == expected.labels
    assert found.roots == expected.roots
    assert (found.runtime, found.estimated_sizes) == (expected.runtime, expected.estimated_sizes)
    assert found.warnings == expected.warnings
    assert found.origin == expected.origin


def test_a_small_heap_is_read_as_it_was_written(tmp_path: Path) -> None:
    snapshot = replace(
        of(small(), tmp_path),
        origin=Origin(4711, "21.0.2", ["java", "App"], "2026-01-02T03:04:05Z", 12_000_000, None),
        warnings=["something is missing"],
    )
    found = stored(snapshot, tmp_path)
    check_equal(found, snapshot)
    array, node, other = (found.number_of(id_) for id_ in (0x300, 0x100, 0x200))
    assert array is not None
    assert node is not None
    assert other is not None
    for column in found.contents.rooms(), snapshot.contents.rooms():
        assert [values.tolist() for values in column] == [[array], [2], [1]]
    assert found.contents.index(array, node) == snapshot.contents.index(array, node) == 0
    assert found.contents.index(array, other) is None
    assert found.contents.index(node, other) is None


def test_an_index_counts_the_holes_before_it(tmp_path: Path) -> None:
    dump = small()
    dump.array(0x500, 0x30, 0, 0x100, 0, 0, 0x200, 0x100)
    dump.root(0x500)
    snapshot = of(dump, tmp_path)
    found = stored(snapshot, tmp_path)
    array, node, other = (found.number_of(id_) or 0 for id_ in (0x500, 0x100, 0x200))
    assert (found.contents.index(array, node), found.contents.index(array, other)) == (1, 4)
    assert (snapshot.contents.index(array, node), snapshot.contents.index(array, other)) == (1, 4)


def test_a_snapshot_that_was_read_can_be_written(tmp_path: Path) -> None:
    once = stored(of(with_texts((b"one", 0), (b"one", 0)), tmp_path), tmp_path)
    (tmp_path / "again").mkdir()
    again = stored(once, tmp_path / "again")
    check_equal(again, once)
    assert [a.tolist() for a in again.contents.texts()] == [
        a.tolist() for a in once.contents.texts()
    ]
    assert [a.tolist() for a in again.contents.digests()] == [
        a.tolist() for a in once.contents.digests()
    ]


def test_texts(tmp_path: Path) -> None:
    words = ["", "plain", "Größe", "日本語", "a\U0001f600b", "x" * MAX_STORED_TEXT]
    encoded = [
        (word.encode("latin-1"), 0) if max(word, default="") < "\xff" else (
            word.encode("utf-16-le"), 1)
        for word in words
    ]  # fmt: skip
    lone = ("a\ud800b".encode("utf-16-le", "surrogatepass"), 1)
    snapshot = of(with_texts(*encoded, lone, (b"\xe4" * 300, 0)), tmp_path)
    found = stored(snapshot, tmp_path)

    def texts(of_: Snapshot) -> list[str | None]:
        return [of_.contents.text(n) for n in range(len(of_)) if of_.type_of(n).name.endswith("ng")]

    *known, lone_one, long = texts(found)
    assert known == words
    assert lone_one == "a\ufffdb"
    assert long == "ä" * 98 + "…"
    names = [found.contents.text(n) for n in range(len(found))]
    assert "app.Node" in names


def test_only_equal_values_are_kept(tmp_path: Path) -> None:
    dump = small()
    for at, data in ((0x500, b"same"), (0x600, b"same"), (0x700, b"else")):
        dump.values(at, 8, 4, data)
        dump.root(at)
    snapshot = of(dump, tmp_path)
    found = stored(snapshot, tmp_path)
    objects, values = found.contents.digests()
    assert [int(snapshot.id[number]) for number in objects] == [0x500, 0x600]
    assert values[0] == values[1]


def test_each_view_of_a_real_heap_is_the_same(jdk: Jdk, java_targets: Path, tmp_path: Path) -> None:
    dumps = dump_leaks(jdk, java_targets, tmp_path)
    base, new = (hprof.read(str(path)) for path in (dumps.before, dumps.after))
    found = stored(base, tmp_path)
    check_equal(found, base)
    one, other = HeapGraph(base), HeapGraph(found)
    assert heap_types(other).to_json() == heap_types(one).to_json()
    assert dominators(other).to_json() == dominators(one).to_json()
    assert duplicates(other).to_json() == duplicates(one).to_json()
    for target in ("Leaks$Session", "java.lang.Integer"):
        assert heap_paths(other, target).to_json() == heap_paths(one, target).to_json()
    mixed, plain = (heap_diff(graph, HeapGraph(new)) for graph in (other, one))
    assert mixed.to_json() == plain.to_json()


def test_a_recording_reader_says_that_it_is_a_heap(tmp_path: Path) -> None:
    path = stored(of(small(), tmp_path), tmp_path).path
    with pytest.raises(RecordingError, match="is a heap snapshot, not a recording") as error:
        reader.read(path)
    assert f"sonde report {path} heap" in str(error.value)


def everything(path: str) -> None:
    snapshot = snapshot_file.read(path)
    for column in COLUMNS:
        getattr(snapshot, column)
    contents = snapshot.contents
    assert len(snapshot.roots) < len(snapshot) + 10
    for column in (contents.texts, contents.positions, contents.digests, contents.rooms):
        column()
    heap_types(HeapGraph(snapshot))


@pytest.mark.parametrize("places_tried", [100, soak(400)])
def test_damage_is_refused_wherever_it_is(places_tried: int, tmp_path: Path) -> None:
    data = Path(stored(of(with_texts((b"one", 0)), tmp_path), tmp_path).path).read_bytes()
    path = tmp_path / "damaged.sonde"
    rng = random.Random(1)
    places = {*range(60), *rng.sample(range(60, len(data)), places_tried)}
    for at in sorted(places):
        changed = bytearray(data)
        changed[at] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        with pytest.raises(SondeError):
            everything(str(path))
    for size in rng.sample(range(len(data)), places_tried // 4):
        path.write_bytes(data[:size])
        with pytest.raises(SondeError):
            everything(str(path))
    path.write_bytes(data)
    everything(str(path))


def test_what_could_not_be_written_is_removed(tmp_path: Path) -> None:
    snapshot = of(small(), tmp_path)

    class Broken:
        def positions(self) -> None:
            raise MemoryError

    path = tmp_path / "x.sonde"
    path.write_bytes(b"before")
    with pytest.raises(MemoryError):
        snapshot_file.write(replace(snapshot, contents=Broken()), str(path))  # type: ignore[arg-type]
    assert path.read_bytes() == b"before"
    assert {one.name for one in tmp_path.iterdir()} == {"app.hprof", "x.sonde"}


def test_a_file_that_is_read_can_be_replaced(tmp_path: Path) -> None:
    large = stored(
        of(with_texts(*[(bytes([65 + n]) * 150, 0) for n in range(20)]), tmp_path), tmp_path
    )
    expected = len(large)
    smaller = of(small(), tmp_path)
    (tmp_path / "link.sonde").symlink_to(large.path)
    snapshot_file.write(smaller, str(tmp_path / "link.sonde"))
    assert large.contents.text(expected - 1) is not None
    assert len(large.size) == expected
    assert len(snapshot_file.read(large.path)) == len(smaller)
    assert (tmp_path / "link.sonde").is_symlink()


def changed_blocks(data: bytes, rng: random.Random) -> bytes:
    """A file whose checksums are right and whose contents are not: some bytes of a block differ."""
    (nonce,) = struct.unpack_from("<I", data, 12)
    compress, decompress = zstd.compressor(1), zstd.decompressor()
    blocks = []
    at = FILE_HEAD_SIZE
    while at < len(data):
        head = unpack_block_head(nonce, data, at)
        assert head is not None
        start = at + BLOCK_HEAD_SIZE
        payload = data[start : start + head.stored_size]
        blocks.append((head, decompress(payload) if head.codec == ZSTD else payload))
        at = start + head.stored_size
    chosen = rng.randrange(len(blocks) - 1)
    head, raw = blocks[chosen]
    changed = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2, 8))):
        changed[rng.randrange(len(raw))] = rng.choice((0, 1, 0x22, 0x30, 0x7F, 0xFF))
    if rng.random() < 0.1:
        del changed[rng.randrange(len(changed)) :]
    blocks[chosen] = (head, bytes(changed))
    packed = [
        pack_block(
            nonce, head.kind, ZSTD, compress(raw), len(raw), table=head.table,
            first_row=head.first_row, rows=head.rows,
        )
        for head, raw in blocks
    ]  # fmt: skip
    return data[:FILE_HEAD_SIZE] + b"".join(packed)


@pytest.mark.parametrize("changes", [60, soak(250)])
def test_contents_that_make_no_sense_are_refused_or_shown(changes: int, tmp_path: Path) -> None:
    dump = with_texts((b"one", 0), (b"two", 0), (b"one", 0))
    data = Path(stored(of(dump, tmp_path), tmp_path).path).read_bytes()
    path = tmp_path / "changed.sonde"
    rng = random.Random(2)
    refused = 0
    for _ in range(changes):
        path.write_bytes(changed_blocks(data, rng))
        try:
            snapshot = snapshot_file.read(str(path))
            graph = HeapGraph(snapshot)
            for view in (heap_types, dominators, duplicates):
                view(graph)
            heap_diff(graph, graph)
            for id_ in snapshot.id[:20].tolist():
                heap_paths(graph, hex(id_))
            search(graph, parse_terms("text=*o*,size>1"))
        except SondeError:
            refused += 1
    assert 0 < refused < changes
