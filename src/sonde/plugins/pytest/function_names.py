"""Functions by the names that people write in a test: `package.function`, `Class.method`."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING, Any

from sonde.row_values import BUILT_IN

if TYPE_CHECKING:
    from sonde.views.selecting.profile import Function


@dataclass(frozen=True)
class FunctionName:
    """A name, and the code that it has in this process."""

    name: str
    code: CodeType | None = None
    builtin: frozenset[str] = frozenset()
    """The names that a recording may have for a function written in C."""

    @property
    def is_resolved(self) -> bool:
        return self.code is not None or bool(self.builtin)

    def is_of(self, function: Function) -> bool:
        if self.code is not None:
            return (
                function.name == self.code.co_qualname
                and function.line == self.code.co_firstlineno
                and function.file == self.code.co_filename
            )
        if self.builtin:
            return function.file == BUILT_IN and function.name in self.builtin
        return f".{_dotted(function)}".endswith(f".{self.name}")


def resolve(name: str) -> FunctionName:
    """The function of this name among the loaded modules, or the bare name if there is none."""
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        found: Any = sys.modules.get(".".join(parts[:length]))
        for attribute in parts[length:] if found is not None else ():
            found = inspect.getattr_static(found, attribute, None)
        found = getattr(found, "__func__", getattr(found, "fget", found))
        if found is None:
            continue
        code = getattr(inspect.unwrap(found), "__code__", None)
        if isinstance(code, CodeType):
            return FunctionName(name, code)
        if inspect.isroutine(found):
            own = getattr(found, "__qualname__", parts[-1])
            of = getattr(found, "__module__", None) or ".".join(parts[:length])
            return FunctionName(name, builtin=frozenset({own, f"{of}.{own}", name}))
    return FunctionName(name)


def _dotted(function: Function) -> str:
    """`a.b.Class.method` for a method in /x/a/b.py: a name is the end of that."""
    if function.file in ("", BUILT_IN):
        return function.name
    module = function.file.removesuffix(".py").removesuffix("/__init__")
    return f"{module.replace('/', '.')}.{function.name}"
