"""The class of a Python lock: the class and attribute that hold it, as the source shows.

The interpreter knows a lock by its address. That `row.lock` is the attribute of a Row shows in the
source: in the method that acquires `self.lock`, or in the one class that assigns a lock to `lock`.
"""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

from sonde.model.locks.lock_kinds import is_library
from sonde.views.locks.lock_names import LockSite, named, parse_acquire

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sonde.views.selecting.sources import Sources

CONSTRUCTORS = frozenset(
    {"Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Event", "Barrier",
     "allocate_lock"}
)  # fmt: skip
MAX_FILES = 500
"""Source files searched for the class that assigns an attribute."""
MAX_SOURCE = 1 << 20


class LockClasses:
    """Names the classes of locks; reads the program's sources only if a name needs them."""

    def __init__(self, sources: Sources, files: Iterable[str]) -> None:
        self._sources = sources
        self._files = files
        self._names: dict[tuple[str, str, int], str] = {}
        self._attributes: dict[str, set[str]] | None = None

    def name(self, place: LockSite) -> str:
        """`Row.lock`, or the acquiring site where the class is unknown."""
        key = (place.function, place.file, place.line)
        if key not in self._names:
            self._names[key] = self._name(place)
        return self._names[key]

    def _name(self, place: LockSite) -> str:
        site, _ = named(place, self._sources)
        thing = _parsed(parse_acquire(self._sources.line(place.file, place.line)).thing)
        method_of = place.function.partition(".<locals>")[0].rpartition(".")[0]
        if isinstance(thing, ast.Name) and thing.id == "self" and method_of:
            return method_of
        if not isinstance(thing, ast.Attribute):
            return site
        if isinstance(thing.value, ast.Name) and thing.value.id in ("self", "cls") and method_of:
            return f"{method_of}.{thing.attr}"
        classes = self._classes_with(thing.attr)
        return f"{classes.pop()}.{thing.attr}" if len(classes) == 1 else site

    def _classes_with(self, attribute: str) -> set[str]:
        """The classes of the program that assign a lock to this attribute."""
        if self._attributes is None:
            self._attributes = {}
            own = sorted({file for file in self._files if not is_library(file)})
            for file in own[:MAX_FILES]:
                self._read(self._sources.text(file) or "")
        return set(self._attributes.get(attribute, ()))

    def _read(self, text: str) -> None:
        if len(text) > MAX_SOURCE:
            return
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                module = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                for attribute in _lock_attributes(node):
                    assert self._attributes is not None
                    self._attributes.setdefault(attribute, set()).add(node.name)


def _lock_attributes(class_: ast.ClassDef) -> Iterable[str]:
    """Attributes that hold a lock: `self.lock = Lock()`, or a field of a dataclass."""
    for node in ast.walk(class_):
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        if not any(_constructs(part) for part in ast.walk(value)):
            continue
        for target in targets:
            if isinstance(target, ast.Attribute):
                yield target.attr
            elif isinstance(target, ast.Name) and node in class_.body:
                yield target.id


def _constructs(node: ast.AST) -> bool:
    """`threading.Lock`, called or given as a default factory."""
    if isinstance(node, ast.Attribute):
        return node.attr in CONSTRUCTORS
    return isinstance(node, ast.Name) and node.id in CONSTRUCTORS


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
