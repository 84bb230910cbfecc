"""What the page of a heap snapshot is made of: what is largest in it, and paths when asked for.

`ui/src/heap/load.ts` is the other side.
"""

from __future__ import annotations

import base64
import json
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from sonde._version import version
from sonde.errors import UsageError
from sonde.views.heap.dominators import DominatorTree
from sonde.views.heap.duplicates import duplicates
from sonde.views.heap.paths import heap_paths, object_of
from sonde.views.heap.types import heap_types
from sonde.web.columns import deflated
from sonde.web.page import built, filled, policy
from sonde.web.shown import PACKED, Reply

if TYPE_CHECKING:
    from sonde.heap.graph import HeapGraph
    from sonde.recording.tables import Recording

TAG = '<meta name="sonde-heap" content="1" />'
MAX_TYPES = 500
MAX_DUPLICATES = 200
MAX_CHILDREN = 40
MIN_SHARE = 0.002
"""Of the heap: smaller objects are not shown in the tree of dominators one by one."""
EMBEDDED_TYPES = 60
EMBEDDED_OBJECTS = 120
"""Of a file that works offline: paths to so many of the largest are in it."""


class HeapPage:
    """`recording`: of the same process, for where objects were allocated."""

    def __init__(self, graph: HeapGraph, recording: Recording | None = None) -> None:
        self._graph = graph
        self._recording = recording
        self.name = graph.snapshot.path
        self.tag = TAG

    def answer(self, path: list[str], query: dict[str, list[str]]) -> Reply | None:
        if path == ["h", "meta"]:
            return Reply(_packed(self.meta), PACKED)
        if path == ["h", "dominated"]:
            return Reply(_packed(self.dominated(query.get("by", [""])[0])), PACKED)
        if path == ["h", "paths"]:
            return Reply(_packed(self.paths(query.get("of", [""])[0])), PACKED)
        return None

    def paths(self, target: str) -> dict[str, Any]:
        if not target:
            raise UsageError("paths to what? give a type or an id")
        found = heap_paths(self._graph, target, recording=self._recording)
        return _with_text_ids(found.to_json())

    def dominated(self, id_: str) -> list[dict[str, Any]]:
        """What only this object keeps alive; shares are of that."""
        rows = self._tree.rows(object_of(self._graph, id_), top=MAX_CHILDREN, min_share=MIN_SHARE)
        return [_with_text_ids(row.to_json()) for row in rows]

    @cached_property
    def _tree(self) -> DominatorTree:
        return DominatorTree(self._graph)

    @cached_property
    def meta(self) -> dict[str, Any]:
        snapshot = self._graph.snapshot
        types = heap_types(self._graph, top=MAX_TYPES)
        tree = self._tree.rows(None, top=MAX_CHILDREN, min_share=MIN_SHARE)
        equal = duplicates(self._graph, top=MAX_DUPLICATES)
        return {
            "file": PurePath(snapshot.path).name,
            "version": version(),
            "runtime": snapshot.runtime,
            "origin": snapshot.origin.to_json(),
            "estimated": types.estimated_sizes,
            "warnings": snapshot.warnings,
            "objects": types.objects,
            "bytes": types.bytes,
            "unreachableObjects": types.unreachable_objects,
            "unreachableBytes": types.unreachable_bytes,
            "types": [row.to_json() | {"own": row.is_own} for row in types.rows],
            "typesLeft": types.left,
            "dominators": [_with_text_ids(row.to_json()) for row in tree],
            "minShare": MIN_SHARE,
            "duplicates": equal.to_json(),
            "duplicatesLeft": equal.left,
        }

    def html(self) -> bytes:
        """The page in one file."""
        targets = [row["type"] for row in self.meta["types"][:EMBEDDED_TYPES]]
        targets += _largest(self.meta["dominators"], EMBEDDED_OBJECTS)
        paths = {target: self.paths(target) for target in targets}
        page = built()
        # Base64 has no character that could end the element, whatever the heap holds.
        parts = "\n".join(
            f'<script type="application/octet-stream" id="heap-{name}">'
            f"{base64.b64encode(_packed(value)).decode()}</script>"
            for name, value in (("meta", self.meta), ("paths", paths))
        )
        rules = policy(page, connect="'none'")
        head = f'<meta http-equiv="Content-Security-Policy" content="{rules}" />'
        return filled(page, TAG, head, parts).encode()


def _packed(value: Any) -> bytes:
    return deflated(json.dumps(value, separators=(",", ":")).encode())


def _with_text_ids(value: dict[str, Any]) -> dict[str, Any]:
    """A browser's numbers are exact up to 2**53 only; ids may be larger."""
    found = dict(value)
    for key, item in value.items():
        if key == "id" and item is not None:
            found[key] = f"{item:#x}"
        elif isinstance(item, dict):
            found[key] = _with_text_ids(item)
        elif isinstance(item, list):
            found[key] = [_with_text_ids(one) if isinstance(one, dict) else one for one in item]
    return found


def _largest(rows: list[dict[str, Any]], most: int) -> list[str]:
    """The ids of single objects in a tree of dominators, the largest first."""
    found: list[tuple[int, str]] = []
    level = rows
    while level:
        found += [(row["retained"], row["id"]) for row in level if row["id"] is not None]
        level = [child for row in level for child in row["children"]]
    return [id_ for _, id_ in sorted(found, key=lambda pair: -pair[0])[:most]]
