"""Which calls of a source file stand in a loop, and which of them give the same each time round."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sonde.views.selecting.sources import Sources

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class CallInSource(NamedTuple):
    in_loop: bool
    invariant: bool
    """Nothing that the call names is changed in the loop, and what it gives is used."""


class Loops:
    """Parses each file once."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._files: dict[str, dict[int, list[tuple[str, CallInSource]]]] = {}

    def call(self, file: str, line: int, callee: str) -> CallInSource | None:
        """The call of a function of that (qualified) name; None where there is no source."""
        if file not in self._files:
            text = self._sources.text(file)
            self._files[file] = {} if text is None else _calls(text)
        there = self._files[file].get(line, [])
        name = callee.rpartition(".")[2]
        # An operator or a class may stand for the function: then any call of the line will do.
        named = [call for text, call in there if text == name] or [call for _, call in there]
        if not named:
            return None
        return CallInSource(
            any(call.in_loop for call in named), all(call.invariant for call in named)
        )


def _calls(text: str) -> dict[int, list[tuple[str, CallInSource]]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    visitor = _Visitor()
    try:
        visitor.visit(tree)
    except RecursionError:
        return {}
    return visitor.found


class _Visitor(ast.NodeVisitor):
    def __init__(self) -> None:
        self.found: dict[int, list[tuple[str, CallInSource]]] = {}
        self._changed: list[set[str]] = []
        """By loop around the place, outermost first: the names it changes."""
        self._unused: set[ast.AST] = set()

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.Expr):
            self._unused.add(node.value)
        if isinstance(node, _FUNCTIONS):
            outer, self._changed = self._changed, []
            self.generic_visit(node)
            self._changed = outer
        elif isinstance(node, _LOOPS):
            self._loop(node)
        elif isinstance(node, _COMPREHENSIONS):
            self._comprehension(node)
        else:
            if isinstance(node, ast.Call):
                self._call(node)
            self.generic_visit(node)

    def _comprehension(self, node: _Comprehension) -> None:
        once = node.generators[0].iter
        self.visit(once)
        self._changed.append(_stored(node))
        for part in ast.iter_child_nodes(node):
            for inner in ast.iter_child_nodes(part) if part is node.generators[0] else [part]:
                if inner is not once:
                    self.visit(inner)
        self._changed.pop()

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        if not isinstance(node, ast.While):
            self.visit(node.iter)  # made once
        self._changed.append(_stored(node))
        if isinstance(node, ast.While):
            self.visit(node.test)
        for statement in node.body:
            self.visit(statement)
        self._changed.pop()
        for statement in node.orelse:
            self.visit(statement)

    def _call(self, node: ast.Call) -> None:
        function = node.func
        name = ""
        if isinstance(function, ast.Name):
            name = function.id
        elif isinstance(function, ast.Attribute):
            name = function.attr
        changed = self._changed[-1] if self._changed else set()
        plain = not any(
            isinstance(part, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Subscript))
            or (isinstance(part, ast.Call) and part is not node)
            for part in ast.walk(node)
        )
        invariant = bool(self._changed) and plain and node not in self._unused
        invariant = invariant and not _loaded(node) & changed
        call = CallInSource(bool(self._changed), invariant)
        # The interpreter shows the line where the call begins or that of its last attribute.
        for line in {node.lineno, function.end_lineno or node.lineno}:
            self.found.setdefault(line, []).append((name, call))


def _stored(node: ast.AST) -> set[str]:
    """Names that are bound in it, and those of which something is set or that methods are called
    of: any of these may have changed them."""
    found: set[str] = set()
    for part in ast.walk(node):
        match part:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                found.add(_root(part))
            case ast.Subscript(ctx=ast.Store() | ast.Del()):
                found.add(_root(part))
            case ast.Expr(value=ast.Call(func=ast.Attribute() as function)):
                found.add(_root(function))
    return found


def _loaded(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _root(node: ast.AST) -> str:
    """The name at the beginning of `name.attribute[index]`."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
