"""An hprof file as a snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sonde.errors import SondeError
from sonde.heap import library as native
from sonde.heap.hprof.classes import ClassTable
from sonde.heap.hprof.contents import HprofContents
from sonde.heap.hprof.file import CLASS, INSTANCE, NOT_THERE, HprofFile, HprofObjects, IdFinder
from sonde.heap.library import address, library
from sonde.heap.snapshot import Root, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_ROOTS = {
    0x01: "JNI global",
    0x02: "JNI local",
    0x03: "local variable",
    0x04: "native stack",
    0x05: "system class",
    0x06: "thread block",
    0x07: "locked monitor",
    0x08: "thread",
    0xFF: "unknown root",
}
"""By the tag of their record."""


def read(path: str) -> Snapshot:
    file = HprofFile(path)
    objects, roots, elements = file.heap()
    if not len(objects.id):
        raise SondeError(f"{path} has no objects")
    if len(objects.id) > 2**32 - 3:
        raise SondeError(f"{path} has {len(objects.id):,} objects; sonde reads up to 4 billion")
    order = np.argsort(objects.id, kind="stable")
    # A class whose dump comes twice, as where several dumps were joined, counts once.
    ids = objects.id[order]
    order = order[np.concatenate([[True], ids[1:] != ids[:-1]])]
    objects = HprofObjects(*(column[order] for column in objects))
    finder = IdFinder(objects.id)
    table = ClassTable(file, objects)
    first, to, label = _references(file, objects, finder, table, elements)
    found = [
        Root(number, _ROOTS.get(int(kind), "unknown root"), "")
        if (number := finder(int(id_))) is not None
        else None
        for id_, kind in zip(roots.id, roots.kind, strict=True)
    ]
    snapshot = Snapshot(
        path=path,
        runtime="hotspot",
        types=table.types,
        labels=table.labels,
        type=table.type,
        size=table.sizes(),
        id=objects.id,
        first=first,
        to=to,
        label=label,
        roots=[],
        contents=HprofContents(file, objects, table, finder, first, to, label),
        estimated_sizes=True,
        warnings=file.warnings,
    )
    threads = {
        int(thread): root.object
        for root, kind, thread in zip(found, roots.kind, roots.thread, strict=True)
        if root is not None and kind == 0x08
    }
    names = {
        thread: text
        for thread, number in threads.items()
        if (text := _thread_name(snapshot, number)) is not None
    }
    for root, thread, frame in zip(found, roots.thread.tolist(), roots.frame.tolist(), strict=True):
        if root is None:
            continue
        words = []
        if thread != NOT_THERE and (name := names.get(thread)) is not None:
            words.append(name if root.kind == "thread" else f"of thread {name}")
        if frame != NOT_THERE and (place := file.frame(thread, frame)):
            words.append(f"in {place}")
        snapshot.roots.append(root._replace(name=" ".join(words)))
    _keep_classes(snapshot, objects)
    return snapshot


def _thread_name(snapshot: Snapshot, number: int) -> str | None:
    for edge in range(int(snapshot.first[number]), int(snapshot.first[number + 1])):
        if snapshot.labels[int(snapshot.label[edge])].name == "name":
            return snapshot.contents.text(int(snapshot.to[edge]))
    return None


def _keep_classes(snapshot: Snapshot, objects: HprofObjects) -> None:
    """A class lives as long as its loader, which the file need not say: all are roots, the last."""
    known = {root.object for root in snapshot.roots}
    for number in np.flatnonzero(objects.kind == CLASS).tolist():
        if number not in known:
            snapshot.roots.append(Root(number, "loaded class", ""))


def _references(
    file: HprofFile, objects: HprofObjects, finder: IdFinder, table: ClassTable, elements: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32]]:
    """Those of instances and arrays, and after them those of classes, which are few."""
    fields = table.reference_counts()[table.class_of[objects.kind == INSTANCE]]
    room = int(fields.sum(dtype=np.int64)) + elements
    first = np.empty(len(objects.id) + 1, np.uint64)
    to, label = np.empty(room, np.uint32), np.empty(room, np.uint32)
    count = library().hprof_references(
        address(file.bytes), file.id_size, finder.ids, address(objects.where),
        address(objects.length), address(objects.kind), address(table.class_of),
        native.Fields(*map(address, table.fields())), table.element_label,
        address(first), address(to), address(label),
    )  # fmt: skip
    to, label = to[:count], label[:count]
    more = list(_class_references(table, finder))
    if not more:
        return first, to, label
    more.sort()
    added = np.array(more, np.uint64)
    from_ = added[:, 0].astype(np.int64)
    at = first[from_].astype(np.int64)
    to = np.insert(to, at, added[:, 1].astype(np.uint32))
    label = np.insert(label, at, added[:, 2].astype(np.uint32))
    per_object = np.bincount(from_, minlength=len(objects.id)).astype(np.uint64)
    first[1:] += np.cumsum(per_object, dtype=np.uint64)
    return first, to, label


def _class_references(table: ClassTable, finder: IdFinder) -> Iterator[tuple[int, int, int]]:
    for number, references in table.of_classes.items():
        for label, id_ in references:
            if (target := finder(id_)) is not None:
                yield number, target, label
