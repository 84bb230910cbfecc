"""Snapshots in sonde's own files: columns are checked and compressed, and read when needed."""

from __future__ import annotations

import contextlib
import json
import os
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from sonde.heap.columns import ColumnContents, References
from sonde.heap.snapshot import HeapType, Label, LabelKind, Origin, Rooms, Root, Snapshot, Texts
from sonde.recording.format.column_blocks import ColumnSpec
from sonde.recording.format.framing import RecordingError
from sonde.recording.read.column_reader import ColumnFile
from sonde.recording.write.column_writer import ColumnWriter
from sonde.recording.write.sink import FileSink

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

_COLUMNS = (
    ColumnSpec("type", "u4"),
    ColumnSpec("size", "u8"),
    ColumnSpec("id", "u8", ascends=True),
    ColumnSpec("references", "u4"),
    ColumnSpec("to", "u4"),
    ColumnSpec("label", "u4"),
    ColumnSpec("position", "u4", ascends=True),
    ColumnSpec("root", "u4"),
    ColumnSpec("root_kind", "u4"),
    ColumnSpec("root_name", "u4"),
    ColumnSpec("text", "u4", ascends=True),
    ColumnSpec("text_length", "u4"),
    ColumnSpec("text_bytes", "u1"),
    ColumnSpec("value", "u4", ascends=True),
    ColumnSpec("value_number", "u4"),
    ColumnSpec("room", "u4", ascends=True),
    ColumnSpec("room_size", "u4"),
    ColumnSpec("room_used", "u4"),
    ColumnSpec("types", "u1"),
    ColumnSpec("labels", "u1"),
    ColumnSpec("words", "u1"),
)
_TYPES = {spec.name: spec.type for spec in _COLUMNS}
# Sums of sizes stay exact, also as floating point numbers.
_MAX_SIZE = 1 << 48
_UNKNOWN_KIND: LabelKind = "attribute"


def write(snapshot: Snapshot, path: str) -> int:
    """Writes a snapshot and returns the size of the file, which appears whole or not at all.

    Somebody may read the file that is replaced: it is mapped, and must not become shorter.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        return _write_to(snapshot, path)  # a pipe or a device
    folder, name = os.path.split(os.path.realpath(path))
    part = os.path.join(folder, f".{name}.{os.getpid()}.part")
    try:
        size = _write_to(snapshot, part, path)
        os.replace(part, os.path.join(folder, name))
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
    return size


def _write_to(snapshot: Snapshot, path: str, shown: str | None = None) -> int:
    """`shown` is what messages call the file."""
    sink = FileSink(path)
    sink.path = shown or path
    try:
        _write(snapshot, sink)
    finally:
        sink.close()
    return sink.size


def _write(snapshot: Snapshot, sink: FileSink) -> None:
    facts = {
        "runtime": snapshot.runtime,
        "estimated_sizes": snapshot.estimated_sizes,
        "warnings": snapshot.warnings,
        **snapshot.origin.to_json(),
    }
    contents = snapshot.contents
    positions = contents.positions()
    facts["positions"] = positions is not None
    writer = ColumnWriter(sink, _COLUMNS, facts)
    writer.append("type", snapshot.type)
    writer.append("size", snapshot.size)
    writer.append("id", snapshot.id)
    writer.append("references", np.diff(snapshot.first))
    writer.append("to", snapshot.to)
    writer.append("label", snapshot.label)
    if positions is not None:
        writer.append("position", positions)
    del positions
    words: dict[str, int] = {}
    writer.append("root", _numbers(root.object for root in snapshot.roots))
    for name, column in (("root_kind", "kind"), ("root_name", "name")):
        writer.append(
            name,
            _numbers(words.setdefault(getattr(r, column), len(words)) for r in snapshot.roots),
        )
    texts = contents.texts()
    writer.append("text", texts.object)
    writer.append("text_length", np.diff(texts.end, prepend=np.uint64(0)))
    writer.append("text_bytes", texts.bytes)
    del texts
    for name, values in zip(("value", "value_number"), _repeated(*contents.digests()), strict=True):
        writer.append(name, values)
    for name, values in zip(("room", "room_size", "room_used"), contents.rooms(), strict=True):
        writer.append(name, values)
    writer.append("types", _lines(list(type_) for type_ in snapshot.types))
    writer.append("labels", _lines(list(label) for label in snapshot.labels))
    writer.append("words", _lines(words))
    writer.close()


def _numbers(values: Iterable[int]) -> NDArray[np.uint32]:
    return np.fromiter(values, np.uint32)


def _repeated(
    numbers: NDArray[np.uint32], digest: NDArray[np.uint64]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Only values that several objects have, numbered."""
    _, which, count = np.unique(digest, return_inverse=True, return_counts=True)
    several = count > 1
    renumbered = (np.cumsum(several) - 1).astype(np.uint32)
    keep = several[which]
    objects, value = numbers[keep], renumbered[which[keep]]
    order = np.argsort(objects, kind="stable")
    return objects[order], value[order]


def _lines(rows: Iterable[Any]) -> NDArray[np.uint8]:
    text = "\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    return np.frombuffer(text.encode(), np.uint8)


def read(path: str) -> Snapshot:
    """RecordingError says in one sentence why a file cannot be read."""
    return StoredSnapshot(path)


class StoredSnapshot(Snapshot):
    """A snapshot in a file."""

    def __init__(self, path: str) -> None:
        file = ColumnFile(path)
        facts = file.facts
        known: dict[str, Any] = {
            "path": path,
            "_file": file,
            "runtime": str(facts.get("runtime", "")),
            "estimated_sizes": bool(facts.get("estimated_sizes")),
            "warnings": _texts_of(facts.get("warnings")),
            "origin": _origin(facts),
            "contents": ColumnContents(
                lambda: References(self.first, self.to, self.label, self.labels),
                self._texts,
                self._positions,
                self._digests,
                self._rooms,
            ),
        }
        for name, value in known.items():
            object.__setattr__(self, name, value)

    _file: ColumnFile

    def __len__(self) -> int:
        return self._file.rows("type")

    def _u4(
        self, name: str, rows: int | None = None, below: int | None = None
    ) -> NDArray[np.uint32]:
        values: NDArray[np.uint32] = self._column(name, rows, below)
        return values

    def _u8(self, name: str, rows: int) -> NDArray[np.uint64]:
        values: NDArray[np.uint64] = self._column(name, rows)
        return values

    def _column(self, name: str, rows: int | None = None, below: int | None = None) -> Any:
        """With as many values as expected, all below the number of what they refer to."""
        values = self._file.column(name, _TYPES[name])
        if rows is not None and len(values) != rows:
            raise self._damaged(f"column {name} has {len(values):,} of {rows:,} values")
        if below is not None and len(values) and int(values.max()) >= below:
            raise self._damaged(f"column {name} refers to what is not there")
        return values

    def _damaged(self, why: str) -> RecordingError:
        return RecordingError(f"{self.path} is damaged: {why}")

    @cached_property
    def type(self) -> NDArray[np.uint32]:
        return self._u4("type", below=len(self.types))

    @cached_property
    def size(self) -> NDArray[np.uint64]:
        size = self._u8("size", len(self))
        if len(size) and int(size.max()) > _MAX_SIZE:
            raise self._damaged("an object is larger than any memory")
        return size

    @cached_property
    def id(self) -> NDArray[np.uint64]:
        return self._u8("id", len(self))

    @cached_property
    def first(self) -> NDArray[np.uint64]:
        first = np.zeros(len(self) + 1, np.uint64)
        np.cumsum(self._column("references", len(self)), out=first[1:])
        if int(first[-1]) != self._file.rows("to"):
            raise self._damaged("objects have more or fewer references than there are")
        return first

    @cached_property
    def to(self) -> NDArray[np.uint32]:
        return self._u4("to", below=len(self))

    @cached_property
    def label(self) -> NDArray[np.uint32]:
        return self._u4("label", len(self.to), len(self.labels))

    @cached_property
    def types(self) -> list[HeapType]:
        return [
            HeapType(str(name), bool(is_container), bool(is_own))
            for name, is_container, is_own in self._rows("types", 3)
        ]

    @cached_property
    def labels(self) -> list[Label]:
        kinds: tuple[LabelKind, ...] = get_args(LabelKind)
        return [
            Label(kinds[kinds.index(kind)] if kind in kinds else _UNKNOWN_KIND, str(name))
            for kind, name in self._rows("labels", 2)
        ]

    @cached_property
    def roots(self) -> list[Root]:
        words = [str(word) for word in self._rows("words", None)]
        objects = self._column("root", below=len(self))
        kinds = self._column("root_kind", len(objects), len(words))
        names = self._column("root_name", len(objects), len(words))
        return [
            Root(number, words[kind], words[name])
            for number, kind, name in zip(
                objects.tolist(), kinds.tolist(), names.tolist(), strict=True
            )
        ]

    def _rows(self, name: str, width: int | None) -> Sequence[Any]:
        lines = self._column(name).tobytes().decode("utf-8", "replace").splitlines()
        try:
            rows: Sequence[Any] = json.loads(f"[{','.join(lines)}]")
        except (ValueError, RecursionError):
            raise self._damaged(f"column {name} cannot be read") from None
        if width is not None and not all(
            isinstance(row, list) and len(row) == width for row in rows
        ):
            raise self._damaged(f"column {name} cannot be read")
        return rows

    def _texts(self) -> Texts:
        objects = self._column("text", below=len(self))
        end = np.cumsum(self._column("text_length", len(objects)), dtype=np.uint64)
        text = self._column("text_bytes", int(end[-1]) if len(end) else 0)
        return Texts(objects, end, text)

    def _positions(self) -> NDArray[np.uint32] | None:
        if not self._file.facts.get("positions"):
            return None
        is_index = np.array([label.kind == "index" for label in self.labels], bool)
        expected = int(np.count_nonzero(is_index[self.label])) if len(is_index) else 0
        return self._u4("position", expected)

    def _digests(self) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
        objects = self._column("value", below=len(self))
        return objects, self._column("value_number", len(objects)).astype(np.uint64)

    def _rooms(self) -> Rooms:
        objects = self._column("room", below=len(self))
        return Rooms(
            objects,
            self._column("room_size", len(objects)),
            self._column("room_used", len(objects)),
        )


def _texts_of(value: Any) -> list[str]:
    return [str(text) for text in value] if isinstance(value, list) else []


def _origin(facts: dict[str, Any]) -> Origin:
    def number(name: str) -> int | None:
        value = facts.get(name)
        return value if type(value) is int and value >= 0 else None

    return Origin(
        pid=number("pid"),
        version=str(facts.get("version", "")),
        argv=_texts_of(facts.get("argv")),
        taken=str(facts.get("taken", "")),
        pause_ns=number("pause_ns"),
        walk_ns=number("walk_ns"),
    )
