"""The call flow as a tree or a table of functions, with its margin of error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.names import labelled
from sonde.reports.layout.page import line, paragraph
from sonde.row_values import FLOW_TIMES
from sonde.views.selecting.formatting import brief, count, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.flow.flow import Flow, FlowNode, Numbers

TOP = 20
"""Functions shown by default."""
SMALL = 0.005
"""Branches below this share of the total are folded."""
MAX_INDENT = 20
EXACT = 1_000_000_000
"""From so many instructions on they are shown in millions."""

_OTHERS = 9 + 9 + 7 + 6 + 2
_METRIC_WIDTH = {"instructions": 12}
"""Of one column of the metric, where 9 does not suffice."""
_METRICS = {
    "cpu": "CPU time",
    "wall": "Wall-clock time",
    "instructions": "Bytecode instructions",
    "page-faults": "Page faults",
    "context-switches": "Context switches",
}


def render(result: Flow, out: Console, *, top: int | None = None) -> None:
    paragraph(out, f"{_METRICS[result.metric]}, {_quality(result)}.")
    if result.lost_calls:
        calls = count(result.lost_calls, "call")
        paragraph(out, f"{calls} found no room: their part counts for the caller.")
    width = _width(result.metric)
    line(
        out,
        (
            f"{'calls':>9}{'base':>{width}}{'total':>{width}}{'callees':>9}{'recur':>7}"
            f"{'exc':>6}  function",
            "bold",
        ),
    )
    if result.flat:
        _functions(result, out, top or TOP)
    else:
        _tree(result, out)


def _quality(result: Flow) -> str:
    """Whether the cost of recording is out of the numbers, and how well."""
    if result.metric not in FLOW_TIMES:
        return "counted exactly"
    if not result.calibrated:
        return "not calibrated: the numbers include what recording took"
    error = result.error
    words = (
        f"calibrated: what is left is {error.residual:.1f} ns per event, "
        f"{percent(error.share, 1)} of the total"
    )
    samples = error.samples
    if samples is not None:
        words += (
            f"; beside samples, {count(samples.functions, 'function')} differ by a median of "
            f"{percent(samples.median, 1)} and at most {percent(samples.maximum, 1)} (standard "
            f"error of the samples {percent(samples.standard_error, 1)})"
        )
    return words


def _width(metric: str) -> int:
    return _METRIC_WIDTH.get(metric, 9)


def _numbers_width(metric: str) -> int:
    return _OTHERS + 2 * _width(metric)


def _columns(numbers: Numbers, metric: str) -> str:
    width = _width(metric)

    def shown(value: int) -> str:
        if metric in FLOW_TIMES:
            return brief(value)
        return f"{value:,}" if value < EXACT else f"{value / 1e6:,.0f}M"

    return (
        f"{_many(numbers.calls):>9}{shown(numbers.base):>{width}}{shown(numbers.total):>{width}}"
        f"{_many(numbers.callees):>9}{_many(numbers.recursion) if numbers.recursion else '':>7}"
        f"{_many(numbers.exceptions) if numbers.exceptions else '':>6}  "
    )


def _many(number: int) -> str:
    if number < 10_000_000:
        return f"{number}"
    return f"{number / 1e6:.1f}M"


def _functions(result: Flow, out: Console, top: int) -> None:
    room = out.width - _numbers_width(result.metric)
    for row in result.rows[:top]:
        function = row.function
        where = labelled(function.name, function.file, function.line, room)
        line(out, (_columns(row.numbers, result.metric), "cyan"), where)
    left = result.left + max(len(result.rows) - top, 0)
    if left > 0:
        line(out, (f"{'…':>9} {count(left, 'more function')}", "dim"))


def _tree(result: Flow, out: Console) -> None:
    children: dict[int | None, list[FlowNode]] = {}
    for node in result.nodes:
        children.setdefault(node.parent, []).append(node)
    limit = SMALL * result.total
    numbers_width = _numbers_width(result.metric)
    marked = False
    work = [(0, node) for node in _by_total(children.get(None, []))]
    while work:
        depth, node = work.pop()
        indent = " " * min(depth, MAX_INDENT)
        function, numbers = node.function, node.numbers
        mark = "• " if numbers.preexisting else ""
        marked = marked or bool(mark)
        line(
            out,
            (_columns(numbers, result.metric), "cyan"),
            f"{indent}{mark}",
            labelled(
                function.name,
                function.file,
                function.line,
                out.width - numbers_width - len(indent) - len(mark),
            ),
        )
        below = children.get(node.id, [])
        large = [child for child in below if child.numbers.total >= limit]
        if len(large) < len(below):
            rest = count(len(below) - len(large), "smaller callee")
            line(out, (f"{'':{numbers_width}}{indent} … {rest}", "dim"))
        work += [(depth + 1, child) for child in _by_total(large)]
    if marked:
        line(out, ("• was under way when recording began.", "dim"))


def _by_total(nodes: list[FlowNode]) -> list[FlowNode]:
    """As a stack: the largest last."""
    return sorted(nodes, key=lambda node: (node.numbers.total, -node.id))
