"""Paths from roots to objects, one step a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.heap.snapshot import KEY_ITSELF
from sonde.reports.layout.call_stack import on_one_line
from sonde.reports.layout.names import printable
from sonde.reports.layout.page import line, paragraph
from sonde.views.selecting.formatting import amount, count

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.heap.allocations import Allocations
    from sonde.views.heap.paths import HeapPath, HeapPaths, PathStep

_MAX_REPEATED = 3


def render(result: HeapPaths, out: Console) -> None:
    name = printable(result.target)
    if not result.objects:
        line(out, f"No {name} is alive.")
        return
    what = name if result.objects == 1 else f"{count(result.objects, 'object')} of {name}"
    verb = "keeps" if result.objects == 1 else "keep"
    paragraph(out, f"{what} {verb} {amount(result.retained)} alive.")
    if not result.paths:
        paragraph(out, "No root leads there: it is garbage that was not collected yet.")
    for path in result.paths:
        out.print()
        if result.objects > 1:
            words = f"{count(path.count, 'object')}, {amount(path.retained)}, held by"
            line(out, (words, "bold"))
        _path(path, out)
    if result.heaviest is not None:
        out.print()
        what = "the largest of them" if result.objects > 1 else "it"
        line(out, (f"heaviest path to {what}, over what retains the most:", "bold"))
        _path(result.heaviest, out)
    if result.left > 0:
        out.print()
        line(out, (f"{count(result.left, 'more path')}; see --top", "dim"))
    if result.allocations is not None:
        out.print()
        _allocations(result.allocations, out)


def _allocations(found: Allocations, out: Console) -> None:
    if not found.sampled:
        paragraph(out, f"None of what they keep alive was sampled in {found.recording}.")
        return
    samples = count(found.sampled, "sample")
    line(out, (f"what they keep alive was allocated in ({samples}):", "bold"))
    for row in found.rows:
        size = f"{amount(row.estimated_bytes)} ± {amount(row.margin_bytes)}"
        line(out, f"  {size:<24}", (printable(row.type), "cyan"))
        where = "an unknown location" if row.chain is None else on_one_line(row.chain, 72)
        line(out, f"  {'':24}", (where, "dim"))
    if found.left > 0:
        line(out, (f"  {count(found.left, 'more call stack')}; see --top", "dim"))


def _path(path: HeapPath, out: Console) -> None:
    line(out, f"  {printable(str(path.root))}")
    steps, left = _without_repeats(path.steps)
    for at, step in enumerate(steps):
        if step is None:
            line(out, (f"    … {count(left, 'step')} of the same kind", "dim"))
            continue
        reference = f"{_reference(step)} " if at else ""
        line(out, f"    {reference}", (_object(step), "cyan" if at == len(steps) - 1 else ""))


def _without_repeats(steps: list[PathStep]) -> tuple[list[PathStep | None], int]:
    """The longest run of equal steps, such as along a linked list, is shown by its ends."""
    longest, length, at = 0, 0, 0
    while at < len(steps):
        kind, to = (steps[at].type, steps[at].name), at + 1
        while to < len(steps) and (steps[to].type, steps[to].name) == kind:
            to += 1
        if to - at > length:
            longest, length = at, to - at
        at = to
    if length <= _MAX_REPEATED:
        return list(steps), 0
    return [*steps[: longest + 1], None, *steps[longest + length - 1 :]], length - 2


def _reference(step: PathStep) -> str:
    match step.edge:
        case "index":
            return f"[{step.name or '…'}]"
        case "superclass" | "loader":
            return f"its {step.edge}"
        case "type":
            return "its class"
        case "key":
            return "as a key" if step.name == KEY_ITSELF else f"[{_key(step.name)}]"
        case "local":
            return f"local {printable(step.name or '')}"
        case "closure":
            return f"closure variable {printable(step.name or '')}"
        case _:
            return f".{printable(step.name)}" if step.name else "(unnamed)"


def _key(name: str | None) -> str:
    return "…" if name is None else f"'{printable(name)}'"


def _object(step: PathStep) -> str:
    if step.text is None:
        return f"{printable(step.type)}  {step.id:#x}"
    if step.type in ("java.lang.Class", "type"):
        return f"class {printable(step.text)}"
    if step.type in ("module", "function", "frame", "coroutine", "generator"):
        return f"{step.type} {printable(step.text)}"
    return f'{printable(step.type)} "{printable(step.text)}"'
