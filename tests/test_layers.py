"""Imports of src/sonde: no circle between modules, and none upward between a package's rooms."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"

# Circles that are known, each as its modules in order, and why it is there.
KNOWN_CIRCLES: dict[tuple[str, ...], str] = {}
# Imports upward that are known, as (module, imported module), and why each is there.
KNOWN_UPWARD: dict[tuple[str, str], str] = {}

ROOMS = {
    "record": ("system", "targets", "shm", "tables", "remote_tasks", "decode", "recorder"),
    "record.recorder": ("options", "sampling", "control"),
    "record.tables": ("active_sampler", "stacks"),
    "recording": (
        "format",
        "write",
        "chain_tables",
        "flow_tables",
        "lock_samples",
        "task_tables",
        "usage_tables",
        "probe_tables",
        "step_tables",
        "tables",
        "segments",
        "read",
    ),
    "model": ("proportion", "trees", "locks", "calls"),
    "fleet": ("store", "queries", "sending"),
    "cli": ("shared", "completion", "commands"),
    "reports": (
        "layout",
        "stacks",
        "locks",
        "calls",
        "flow",
        "fleet",
        "live",
        "heap",
        "probes",
        "steps",
    ),
    "heap": ("library", "snapshot", "columns", "texts", "graph", "hprof", "cpython"),
    "views": (
        "selecting",
        "object_samples",
        "quality",
        "locks",
        "loops",
        "stacks",
        "objects",
        "calls",
        "flow",
        "findings",
        "heap",
        "probes",
        "steps",
    ),
}
"""Of packages of src/sonde, lowest first: folders and, by name, single modules. Other modules are
above them."""

Imports = dict[str, set[str]]


def modules(source: Path) -> dict[str, Path]:
    """By name; a package is its `__init__`."""
    found = {}
    for path in source.rglob("*.py"):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(name: str, path: Path, known: Container[str]) -> Iterator[str]:
    """What a module imports anywhere in it: in functions and for type checkers, too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = name.split(".")
                package = package[: len(package) - node.level + (path.name == "__init__.py")]
                base = ".".join([*package, *filter(None, [base])])
            for alias in node.names:
                module = f"{base}.{alias.name}"
                yield module if module in known else base


def graph(source: Path) -> Imports:
    """The modules that each module imports; of `from package import module` the module alone."""
    known = modules(source)
    return {
        name: {to for to in imported(name, path, known) if to in known and to != name}
        for name, path in known.items()
    }


def circles(imports: Imports) -> list[tuple[str, ...]]:
    """Sets of modules of which each imports, over others, itself (Tarjan)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for to in imports[name]:
            if to not in order:
                visit(to)
                low[name] = min(low[name], low[to])
            elif to in stack:
                low[name] = min(low[name], order[to])
        if low[name] == order[name]:
            at = stack.index(name)
            circle = tuple(sorted(stack[at:]))
            del stack[at:]
            if len(circle) > 1:
                found.append(circle)

    for name in imports:
        if name not in order:
            visit(name)
    return found


def height(package: str, name: str) -> int | None:
    """Where a module lies in the order of a package's rooms; None: it is not in the package."""
    if not name.startswith(f"sonde.{package}."):
        return None
    rooms, room = ROOMS[package], name.removeprefix(f"sonde.{package}.").split(".")[0]
    return rooms.index(room) if room in rooms else len(rooms)


def upward(imports: Imports) -> list[tuple[str, str]]:
    found = set()
    for package in ROOMS:
        for name, tos in imports.items():
            if (from_ := height(package, name)) is None:
                continue
            for to in tos:
                above = height(package, to)
                if above is not None and above > from_:
                    found.add((name, to))
    return sorted(found)


def written(folder: Path, files: dict[str, str]) -> Imports:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return graph(folder)


def test_no_modules_import_each_other() -> None:
    assert sorted(circles(graph(SOURCE))) == sorted(KNOWN_CIRCLES)


def packages(imports: Imports) -> Imports:
    """The same between the packages and modules directly in src/sonde."""
    found: Imports = {}
    for name, tos in imports.items():
        from_ = found.setdefault(".".join(name.split(".")[:2]), set())
        from_ |= {".".join(to.split(".")[:2]) for to in tos}
    return {name: tos - {name} for name, tos in found.items()}


def test_no_packages_import_each_other() -> None:
    assert circles(packages(graph(SOURCE))) == []


def test_circles_of_packages_are_found(tmp_path: Path) -> None:
    imports = written(
        tmp_path,
        {
            "app/__init__.py": "",
            "app/one/a.py": "from app.two import b\n",
            "app/two/b.py": "",
            "app/two/c.py": "from app.one import d\n",
            "app/one/d.py": "",
        },
    )
    assert circles(imports) == []
    assert circles(packages(imports)) == [("app.one", "app.two")]


def test_no_room_imports_from_one_above_it() -> None:
    assert upward(graph(SOURCE)) == sorted(KNOWN_UPWARD)


@pytest.mark.parametrize("package", ROOMS)
def test_every_room_has_its_place_in_the_order(package: str) -> None:
    folder = SOURCE / "sonde" / package.replace(".", "/")
    rooms = {path.parent.name for path in folder.glob("*/__init__.py")}
    modules_ = {path.stem for path in folder.glob("*.py")}
    assert rooms <= set(ROOMS[package]) <= rooms | modules_


def test_circles_are_found_however_a_module_is_imported(tmp_path: Path) -> None:
    imports = written(
        tmp_path,
        {
            "app/__init__.py": "",
            "app/a.py": "from . import b\n",
            "app/b.py": "if TYPE_CHECKING:\n    from app.room.c import C\n",
            "app/room/__init__.py": "",
            "app/room/c.py": "def f():\n    from ..a import g\n",
            "app/d.py": "import app.a\n",
        },
    )
    assert circles(imports) == [("app.a", "app.b", "app.room.c")]


def test_imports_upward_are_found(tmp_path: Path) -> None:
    record = "sonde/record/"
    imports = written(
        tmp_path,
        {
            "sonde/__init__.py": "",
            record + "__init__.py": "",
            record + "launch.py": "from .recorder import main\n",
            **{f"{record}{room}/__init__.py": "" for room in ROOMS["record"]},
            record + "recorder/main.py": "from ..tables import rows\nfrom .. import launch\n",
            record + "tables/rows.py": "from ..decode.target import Target\n",
            record + "decode/target.py": "from ..shm import layout\n",
            record + "shm/layout.py": "from sonde.model import tree\n",
            "sonde/model/__init__.py": "",
            "sonde/model/tree.py": "from sonde.record import launch\n",
        },
    )
    assert upward(imports) == [
        ("sonde.record.recorder.main", "sonde.record.launch"),
        ("sonde.record.tables.rows", "sonde.record.decode.target"),
    ]
