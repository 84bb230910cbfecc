"""Who waits for whom: deadlocks first, then chains, then everybody's stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.call_stack import on_one_line, program, spot
from sonde.reports.layout.names import printable, shortened
from sonde.reports.layout.page import heading, line, paragraph
from sonde.row_values import NO_FRAMES
from sonde.views.selecting.formatting import count, duration

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.locks.wait_graph import Frames, Wait, Waits

TOP = 20
"""Waiting threads shown by default."""
MAX_DEPTH = 12
"""Frames shown of a stack."""
IN_DEADLOCK = (", in the deadlock", "dim")


def render(result: Waits, out: Console, *, top: int | None = None, now: bool = False) -> None:
    """`now`: of a running process, whose clock says nothing to the reader."""
    paragraph(out, _summed_up(result, now=now or result.at_ns is None))
    for number, cycle in enumerate(result.deadlocks, 1):
        heading(out, f"Deadlock {number}" if len(result.deadlocks) > 1 else "Deadlock")
        for i in cycle:
            _step(result.waits[i], out)
            _stack(result.waits[i].chain, out)
        stuck_for_good = "These threads" if len(cycle) > 1 else "This thread"
        paragraph(out, f"{stuck_for_good} will never continue.", indent=2)
    stuck = {i for cycle in result.deadlocks for i in cycle}
    if len(stuck) < len(result.waits):
        heading(out, "Who waits for whom")
        _tree(result, out, top or TOP, stuck)


def _tree(result: Waits, out: Console, top: int, stuck: set[int]) -> None:
    """Whoever keeps others waiting stands above them."""
    above = {chain[i]: chain[i + 1] for chain in result.chains for i in range(len(chain) - 1)}
    below: dict[int | None, list[int]] = {}
    for i in range(len(result.waits)):
        if i not in stuck:
            below.setdefault(above.get(i), []).append(i)
    roots = [i for i in below if i in stuck] + below.get(None, [])

    def show(rows: list[int | None], depth: int) -> None:
        indent = "  " * (depth + 1)
        for i in rows[:top]:
            if i is None:
                continue
            if i in stuck:
                line(out, f"{indent}{printable(result.waits[i].thread)}", IN_DEADLOCK)
            else:
                _wait(result.waits[i], out, indent, root=depth == 0)
            if depth < MAX_DEPTH:
                show([*below.get(i, [])], depth + 1)
        if len(rows) > top:
            line(out, (f"{indent}… {count(len(rows) - top, 'more thread')}", "dim"))

    show([*roots], 0)


def _summed_up(result: Waits, *, now: bool) -> str:
    when = "Now" if now else f"At {(result.at_ns or 0) / 1e9:.6g} s"
    if result.why and not now:
        when += f" ({result.why})"
    if not result.waits:
        return f"{when} no thread waits for a lock, the GIL or another thread."
    owned = sum(1 for wait in result.waits if not wait.signalling)
    said = f"{when} {count(len(result.waits), 'thread')} waited"
    if now:
        said = f"{when} {count(len(result.waits), 'thread')} wait"
    said += f", {owned} of them for locks held by other threads"
    if result.deadlocks:
        said += f"; {count(len(result.deadlocks), 'deadlock')}"
    return f"{said}."


def _step(wait: Wait, out: Console) -> None:
    line(
        out,
        f"  {printable(wait.thread)} ",
        (f"has waited {_how_long(wait)} for ", "dim"),
        printable(wait.short),
        (", which ", "dim"),
        "it" if wait.owner_tid == wait.tid else printable(wait.owner_thread or "?"),
        (" holds" if wait.owner_tid != wait.tid else " holds itself", "dim"),
    )


def _how_long(wait: Wait) -> str:
    return f"more than {duration(wait.waited_ns)}" if wait.before else duration(wait.waited_ns)


def _stack(chain: Frames, out: Console) -> None:
    frames = program([{**function.to_json(), "line": at} for function, at in chain])
    for frame in frames[:MAX_DEPTH]:
        line(out, (f"      {shortened(spot(frame), out.width - 6)}", "dim"))
    if len(frames) > MAX_DEPTH:
        line(out, (f"      … {count(len(frames) - MAX_DEPTH, 'more frame')}", "dim"))


def _wait(wait: Wait, out: Console, indent: str, *, root: bool) -> None:
    line(
        out,
        f"{indent}{printable(wait.thread)} ",
        (f"has waited {_how_long(wait)} for ", "dim"),
        f"{wait.kind} {printable(wait.short)}",
    )
    if wait.chain:
        frames = [{**function.to_json(), "line": at} for function, at in wait.chain]
        line(out, (f"{indent}    in {on_one_line(frames, out.width - len(indent) - 7)}", "dim"))
    if root and wait.owner_thread is not None:
        verb = "notified later by" if wait.signalling else "held by"
        where = ""
        if wait.owner_chain and wait.owner_chain[-1][0].name != NO_FRAMES:
            frames = [{**function.to_json(), "line": at} for function, at in wait.owner_chain]
            where = f" in {on_one_line(frames, max(out.width - len(indent) - 30, 20))}"
        line(out, (f"{indent}    {verb} ", "dim"), printable(wait.owner_thread), (where, "dim"))
