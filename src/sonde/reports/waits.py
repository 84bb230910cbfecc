"""Who waits for whom: deadlocks first, then chains, then everybody's stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.chains import on_one_line, program, spot
from sonde.reports.locks import NO_FRAMES
from sonde.reports.names import printable, shortened
from sonde.reports.page import heading, line, paragraph
from sonde.views.words import count, duration

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.waits import Frames, Wait, Waits

TOP = 20
"""Waiting threads shown unless told."""
DEEPEST = 12
"""Frames shown of a chain."""


def render(result: Waits, out: Console, *, top: int | None = None) -> None:
    paragraph(out, _summed_up(result))
    for number, cycle in enumerate(result.deadlocks, 1):
        heading(out, f"Deadlock {number}" if len(result.deadlocks) > 1 else "Deadlock")
        for i in cycle:
            _step(result.waits[i], out)
            _stack(result.waits[i].chain, out)
        never = "None of these threads" if len(cycle) > 1 else "It"
        paragraph(out, f"{never} will {'ever' if len(cycle) > 1 else 'never'} go on.", indent=2)
    stuck = {i for cycle in result.deadlocks for i in cycle}
    chains = [chain for chain in result.chains if not set(chain) <= stuck]
    if chains:
        heading(out, "Who waits for whom")
        for chain in chains[: top or TOP]:
            for depth, i in enumerate(chain):
                _line(result.waits[i], out, depth, last=i == chain[-1], stuck=i in stuck)
        left = len(chains) - (top or TOP)
        if left > 0:
            line(out, (f"  … {count(left, 'more thread')}", "dim"))


def _summed_up(result: Waits) -> str:
    when = "Now" if result.at_ns is None else f"At {result.at_ns / 1e9:.6g} s"
    if result.why:
        when += f" ({result.why})"
    if not result.waits:
        return f"{when} no thread waits for a lock, the GIL or another thread."
    owned = sum(1 for wait in result.waits if not wait.signalling)
    said = f"{when} {count(len(result.waits), 'thread')} waited"
    if result.at_ns is None:
        said = f"{when} {count(len(result.waits), 'thread')} wait"
    said += f", {owned} of them for what another thread has"
    if result.deadlocks:
        said += f"; {count(len(result.deadlocks), 'deadlock')}"
    return f"{said}."


def _step(wait: Wait, out: Console) -> None:
    line(
        out,
        f"  {printable(wait.thread)} ",
        (f"has waited {duration(wait.waited_ns)} for ", "dim"),
        printable(wait.short),
        (", which ", "dim"),
        "it" if wait.owner_tid == wait.tid else printable(wait.owner_thread or "?"),
        (" has" if wait.owner_tid != wait.tid else " has itself", "dim"),
    )


def _stack(chain: Frames, out: Console) -> None:
    frames = program([{**function.to_json(), "line": at} for function, at in chain])
    for frame in frames[:DEEPEST]:
        line(out, (f"      {shortened(spot(frame), out.width - 6)}", "dim"))
    if len(frames) > DEEPEST:
        line(out, (f"      … {count(len(frames) - DEEPEST, 'more frame')}", "dim"))


def _line(wait: Wait, out: Console, depth: int, *, last: bool, stuck: bool) -> None:
    indent = "  " * (depth + 1)
    if stuck:
        line(out, f"{indent}{printable(wait.thread)}", (", in the deadlock", "dim"))
        return
    head = f"{indent}{printable(wait.thread)} "
    line(
        out,
        head,
        (f"has waited {duration(wait.waited_ns)} for ", "dim"),
        f"{wait.kind} {printable(wait.short)}",
    )
    if wait.chain:
        frames = [{**function.to_json(), "line": at} for function, at in wait.chain]
        line(out, (f"{indent}    in {on_one_line(frames, out.width - len(indent) - 7)}", "dim"))
    if last and wait.owner_thread is not None:
        verb = "ended later by" if wait.signalling else "held by"
        where = ""
        if wait.owner_chain and wait.owner_chain[-1][0].name != NO_FRAMES:
            frames = [{**function.to_json(), "line": at} for function, at in wait.owner_chain]
            where = on_one_line(frames, max(out.width - len(indent) - 30, 20))
        line(out, f"{indent}  {verb} {printable(wait.owner_thread)} ", (where, "dim"))
