"""The layers of the native code: which unit may depend on which.

A unit is a .c file and the .h file of the same name. It depends on the units whose headers it
includes and on those that define a function it names: a header may declare another unit's function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from test_layers import Imports, circles

NATIVE = Path(__file__).parent.parent / "native"

# Of each folder its rooms, lowest first: a room may depend on itself and on those before it. The
# folders without rooms are small enough to be one each.
ROOMS = {
    "core": ("base", "session", "flow", "signals", "sampling", "hooks", "protocol"),
    "cpython": (
        "frames",
        "walk",
        "locks",
        "lock_activity",
        "objects",
        "calls",
        "flow",
        "loops",
        "remote",
        "heap",
        "probes",
        "session",
    ),
    "hotspot": (
        "vm",
        "names",
        "rewrite",
        "walk",
        "locks",
        "lock_activity",
        "instrument",
        "session",
    ),
    "drain": (),
    "heap": (),
    "inject": (),
    "preload": (),
}
# The only folder that others may depend on: all are libraries of their own.
SHARED = "core"

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
COMMENT = re.compile(r"//.*")
NAME = re.compile(r"\bsonde_\w+\b")
DEFINITION = re.compile(
    r"^(?!static|extern|typedef|return)[A-Za-z_][\w *]*?\b(sonde_\w+)\([^;{}]*\)\s*\{", re.MULTILINE
)


def read(root: Path) -> dict[str, str]:
    """The text of each file, without comments, by its path below `root`."""
    files = sorted(path for path in root.rglob("*.[ch]"))
    return {path.relative_to(root).as_posix(): COMMENT.sub("", path.read_text()) for path in files}


def unit_of(file: str) -> str:
    return file.rsplit(".", 1)[0]


def folder_of(unit: str) -> str:
    return unit.split("/", 1)[0]


def includes(files: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """File and included name; the headers of CPython are none of ours."""
    for file, text in files.items():
        for name in INCLUDE.findall(text):
            beside = Path(file).parent / name
            if name in files or beside.as_posix() in files or name.startswith("."):
                yield file, name


def dependencies(files: Mapping[str, str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {unit_of(file): set() for file in files}
    for file, name in includes(files):
        if name in files:
            found[unit_of(file)].add(unit_of(name))
    definers: dict[str, set[str]] = {}
    for file, text in files.items():
        if file.endswith(".c"):
            for function in DEFINITION.findall(text):
                definers.setdefault(function, set()).add(unit_of(file))
    for file, text in files.items():
        if not file.endswith(".c"):
            continue
        unit = unit_of(file)
        for function in set(NAME.findall(text)):
            by = definers.get(function, set())
            if unit not in by:  # the agents have functions of the same name
                found[unit] |= {
                    other for other in by if folder_of(other) in (folder_of(unit), SHARED)
                }
    for unit, others in found.items():
        others.discard(unit)
    return found


def upward(graph: Imports) -> set[str]:
    found = set()
    for unit, others in graph.items():
        folder = folder_of(unit)
        for other in others:
            if folder_of(other) != folder:
                allowed = folder_of(other) == SHARED
            else:
                rooms = ROOMS[folder]
                allowed = not rooms or rooms.index(unit.split("/")[1]) >= rooms.index(
                    other.split("/")[1]
                )
            if not allowed:
                found.add(f"{unit} -> {other}")
    return found


FILES = read(NATIVE)
GRAPH = dependencies(FILES)


def test_every_file_is_in_a_room() -> None:
    assert {folder_of(file) for file in FILES} == set(ROOMS)
    for file in FILES:
        folder, *between, _ = file.split("/")
        assert "/".join(between) in (ROOMS[folder] or ("",)), file


def test_includes_are_by_the_path_below_native() -> None:
    assert [(file, name) for file, name in includes(FILES) if name not in FILES] == []


def test_dependencies_are_seen() -> None:
    assert "core/session/ring" in GRAPH["core/session/session"]
    assert "core/session/records" in GRAPH["hotspot/locks/lock_events"]
    # By a function alone: class_name.c has no header of its own.
    assert "hotspot/names/class_name" in GRAPH["hotspot/names/method_info"]


def test_no_room_depends_on_a_higher_one() -> None:
    assert upward(GRAPH) == set()


def test_no_units_depend_on_each_other() -> None:
    assert circles(GRAPH) == []


@pytest.mark.parametrize("by", ["include", "function"])
def test_a_new_circle_is_found(by: str) -> None:
    added = {"include": '\n#include "core/sampling/sigtrap.h"', "function": "\nsonde_trap_refresh"}
    files = dict(FILES)
    files["core/sampling/kernel_events.c"] += added[by]
    assert circles(dependencies(files)) == [
        ("core/sampling/kernel_events", "core/sampling/sigtrap")
    ]


def test_a_new_dependency_upward_is_found() -> None:
    files = dict(FILES)
    files["core/session/ring.h"] += '\n#include "core/hooks/spans.h"'
    files["core/hooks/got.c"] += '\n#include "cpython/frames/frames.h"'
    assert upward(dependencies(files)) == {
        "core/session/ring -> core/hooks/spans",
        "core/hooks/got -> cpython/frames/frames",
    }
