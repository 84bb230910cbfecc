"""The views as rows that can be asked for in pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from sonde.errors import UsageError
from sonde.mcp_server.answers import Table
from sonde.mcp_server.selection import NARROW, selection_of
from sonde.views.selecting.profile import Function
from sonde.views.stacks.function_lines import is_named, no_such_function

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection
    from sonde.views.stacks.tree import Node

Given = dict[str, Any]


class View(NamedTuple):
    table: Callable[[Recording, Selection, Given], Table]
    takes: tuple[str, ...] = ()
    """Of the arguments that only some views take."""


SOME = ("time", "function", "own_code", "by")
"""Arguments that only some views take."""


def table_of(recording: Recording, given: Given) -> Table:
    name = given["view"]
    view = VIEWS[name]
    for argument in SOME:
        asked = given[argument]
        if argument in view.takes or asked is None or asked is False:
            continue
        valid = [known for known, other in VIEWS.items() if argument in other.takes]
        raise UsageError(
            f"{argument} does not apply to the view {name}; valid views: {', '.join(valid)}"
        )
    if name == "tree" and given["offset"]:
        raise UsageError("a tree has no next rows; give a greater limit, or narrow it")
    if given["own_code"]:
        from sonde.views.selecting.own_code import require_own

        require_own(recording)
    return view.table(recording, selection_of(recording, given), given)


def _flat(recording: Recording, selection: Selection, given: Given) -> Table:
    from sonde.views.stacks.flat import flat
    from sonde.views.stacks.own_flat import own_flat

    found = own_flat(recording, selection) if given["own_code"] else flat(recording, selection)
    rows = found.rows
    if (name := given["function"]) is not None:
        rows = [row for row in rows if is_named(row.function, name)]
        if not rows:
            raise no_such_function(name, (row.function for row in found.rows))
    facts = {"unit": found.unit, "total": found.total_ns, "samples": found.samples}
    return Table(facts, "rows", [row.to_json() for row in rows], NARROW)


def _tree(recording: Recording, selection: Selection, given: Given) -> Table:
    from sonde.views.stacks.tree import tree

    found = tree(recording, selection, merge_lines=True, mine=given["own_code"])
    nodes = found.nodes
    if (name := given["function"]) is not None:
        nodes = through(nodes, name)
        if not nodes:
            known = (Function(node.name, node.file, node.first_line, "") for node in found.nodes)
            raise no_such_function(name, known)
    # A parent has at least the time of its child, and comes before it.
    heaviest = sorted(range(len(nodes)), key=lambda i: (-nodes[i].total_ns, i))
    rank = {node: place for place, node in enumerate(heaviest)}
    rows = []
    for i in heaviest:
        node, parent = nodes[i], nodes[i].parent
        rows.append(
            {
                **node.to_json(),
                "id": rank[i],
                "parent": None if parent is None else rank[parent],
            }
        )
    facts = {"unit": found.unit, "total": found.total_ns}
    return Table(facts, "nodes", rows, NARROW, pages=False)


def through(nodes: list[Node], name: str) -> list[Node]:
    """The contexts of a function: what called it, with the time spent in it, and what it called."""
    inside: list[bool] = []
    spent = [0] * len(nodes)
    for i, node in enumerate(nodes):
        function = Function(node.name, node.file, node.first_line, "")
        below = node.parent is not None and inside[node.parent]
        inside.append(below or is_named(function, name))
        if inside[i] and not below:
            spent[i] = node.total_ns
    for i in range(len(nodes) - 1, -1, -1):
        parent = nodes[i].parent
        if parent is not None and not inside[parent]:
            spent[parent] += spent[i]
    kept = [i for i in range(len(nodes)) if inside[i] or spent[i]]
    number = {old: new for new, old in enumerate(kept)}
    found = []
    for i in kept:
        node = nodes[i]
        parent = None if node.parent is None else number[node.parent]
        if inside[i]:
            found.append(replace(node, id=number[i], parent=parent))
        else:
            found.append(
                replace(node, id=number[i], parent=parent, self_ns=0, samples=0, total_ns=spent[i])
            )
    return found


def _lines(recording: Recording, selection: Selection, given: Given) -> Table:
    from sonde.views.stacks.lines import lines

    found = lines(recording, selection, mine=given["own_code"])
    facts = {"unit": found.unit, "total": found.total_ns}
    return Table(facts, "rows", [row.to_json() for row in found.rows], NARROW)


def _locks(recording: Recording, selection: Selection, given: Given) -> Table:
    from sonde.views.locks.locks import aspects
    from sonde.views.loops.loop_locks import locks_and_loops

    by = given["by"] or "kind,lock,owner_function,waiter_function"
    return _of_json(locks_and_loops(recording, selection, by=aspects(by)), "rows")


def _lock_table(recording: Recording, selection: Selection, _: Given) -> Table:
    from sonde.views.locks.lock_table import lock_table

    return _of_json(lock_table(recording, selection), "rows")


def _calls(recording: Recording, selection: Selection, given: Given) -> Table:
    from sonde.views.calls.calls import calls

    table = _of_json(calls(recording, selection, by=given["by"] or "edge"), "edges")
    name = given["function"]
    if name is None:
        return table

    def is_about(edge: dict[str, Any]) -> bool:
        ends = (edge.get("caller"), edge.get("callee"))
        return any(
            is_named(Function(end["name"], "", 0, ""), name)
            for end in ends
            if isinstance(end, dict)
        )

    return replace(table, rows=[edge for edge in table.rows if is_about(edge)])


def _objects(recording: Recording, selection: Selection, given: Given) -> Table:
    from sonde.views.objects.objects import objects

    table = _of_json(objects(recording, selection, by=given["by"] or "class"), "rows")
    del table.facts["timeline"]  # a curve, for a screen
    return table


def _threads(recording: Recording, selection: Selection, _: Given) -> Table:
    from sonde.views.threads import threads

    return _of_json(threads(recording, selection), "rows")


def _spans(recording: Recording, selection: Selection, _: Given) -> Table:
    from sonde.views.spans import spans

    return _of_json(spans(recording, selection), "rows")


def _quality(recording: Recording, selection: Selection, _: Given) -> Table:
    from sonde.views.quality import quality

    if selection.narrowed:
        raise UsageError(
            "quality describes the whole recording; leave out the arguments that select a part"
        )
    return _of_json(quality(recording), "problems")


def _tprof(recording: Recording, selection: Selection, _: Given) -> Table:
    from sonde.views.tprof import tprof_of

    return _of_json(tprof_of(recording, selection), "sections")


def _of_json(result: Any, key: str) -> Table:
    facts = result.to_json()
    return Table(facts, key, facts.pop(key, []), NARROW)


VIEWS: dict[str, View] = {
    "flat": View(_flat, ("time", "function", "own_code")),
    "tree": View(_tree, ("time", "function", "own_code")),
    "lines": View(_lines, ("time", "own_code")),
    "locks": View(_locks, ("by",)),
    "lock-table": View(_lock_table),
    "threads": View(_threads),
    "spans": View(_spans),
    "calls": View(_calls, ("function", "by")),
    "objects": View(_objects, ("by",)),
    "quality": View(_quality),
    "tprof": View(_tprof),
}
