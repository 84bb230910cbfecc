"""The recording on one page: words first, then findings, then figures."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from sonde.model.locks.lock_kinds import SIGNALS
from sonde.reports import quality
from sonde.reports.layout.names import printable
from sonde.reports.layout.page import command, heading, paragraph
from sonde.reports.locks import locks
from sonde.reports.stacks import flat, own_flat
from sonde.views.locks.wait_totals import OTHERWISE
from sonde.views.quality import standard_error
from sonde.views.selecting.formatting import count, duration, percent
from sonde.views.stacks.own_flat import has_own

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.selecting.start_up import StartUp
    from sonde.views.summary import Summary


START_UP = 0.02
"""A start-up with less of the CPU time than this is not mentioned."""
MAX_KINDS = 3
"""Kinds of waiting named one by one."""


def render(result: Summary, out: Console, *, path: str) -> None:
    paragraph(out, _what_ran(result))
    paragraph(out, _where_time_went(result))
    if result.spans:
        paragraph(out, _slowest(result))
    if result.start_up is not None and result.start_up.share >= START_UP:
        paragraph(out, _start_up(result.start_up))
    paragraph(out, _how_sure(result))

    if result.findings:
        heading(out, "Findings")
        for number, finding in enumerate(result.findings, 1):
            paragraph(out, f"{number}. {printable(finding.title)}", indent=2, hanging=3)
            paragraph(out, f"{printable(finding.detail)}.", indent=5)
            command(out, printable(finding.view), indent=5)

    if result.mine.total_ns and has_own(result.mine):
        heading(out, "Your top functions, with the libraries they call")
        own_flat.table(result.mine.rows, result.mine.total_ns, out)
    elif result.top.rows and result.top.total_ns:
        heading(out, "Top functions")
        flat.table(result.top.rows, result.top.total_ns, out)

    heading(out, "Quality")
    paragraph(out, f"{quality.sentence(result.quality)}.", indent=2)
    out.print()
    quoted = printable(shlex.quote(path))
    command(
        out, f"More: sonde report {quoted} tree | flat [--mine] | lines | locks | threads | quality"
    )


def _what_ran(result: Summary) -> str:
    target = result.target
    program = printable(str(target.get("program") or _argv(target) or "The target"))
    pid = f" (pid {target['pid']})" if target.get("pid") is not None else ""
    versions = sorted({f"{_runtime(p.runtime)} {p.version}" for p in result.processes if p.version})
    under = f" under {printable(', '.join(versions))}" if versions else ""
    many = [count(len(result.threads), "thread")]
    if len(result.processes) > 1:
        many.append(count(len(result.processes), "process", "processes"))
    return (
        f"{program}{pid} was recorded for {duration(result.duration_ns)}{under}, "
        f"{' in '.join(many)}."
    )


def _where_time_went(result: Summary) -> str:
    cpu, waited = result.cpu_ns, sum(result.wait_ns.values())
    said = f"It used {duration(cpu)} of CPU time"
    if result.duration_ns:
        said += f", {percent(cpu / result.duration_ns)} of one core"
    if not waited:
        return f"{said}."
    parts = [f"{duration(ns)} {_waited_for(kind)}" for kind, ns in _kinds(result.wait_ns)]
    listed = ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1]
    said += f", and its threads waited {listed}"
    if not any(kind in result.wait_ns for kind in OTHERWISE.values()):
        # Sleep, input and output were not recorded: of what would this be a share?
        return f"{said}."
    return f"{said}. Threads were on CPU {percent(cpu / (cpu + waited))} of the time."


def _kinds(wait_ns: dict[str, int]) -> list[tuple[str, int]]:
    """Most first; waits for notifications are one kind and come last: idle threads wait all day."""
    idle = sum(ns for kind, ns in wait_ns.items() if kind in SIGNALS)
    kinds = sorted(
        ((kind, ns) for kind, ns in wait_ns.items() if kind not in SIGNALS),
        key=lambda item: -item[1],
    )
    # One kind more is named in less room than it takes to say that there is another.
    if len(kinds) > MAX_KINDS + 1:
        kinds[MAX_KINDS:] = [("other", sum(ns for _, ns in kinds[MAX_KINDS:]))]
    return kinds + ([("signal", idle)] if idle else [])


def _waited_for(kind: str) -> str:
    words = {
        "waiting": "for sleep, I/O or other processes",
        "preempted": "in the run queue",
        "other": "for other reasons",
        "signal": "for notifications (queues, events, joins)",
    }
    return words.get(kind) or f"for {locks.KINDS.get(kind, kind)}"


def _slowest(result: Summary) -> str:
    span = result.spans[0]
    waited = sum(span.wait_ns.values())
    said = (
        f"The slowest span is {printable(span.name)}: entered {count(span.count, 'time')}, "
        f"{duration(span.mean_ns)} on average, {duration(span.max_ns)} at most, with "
        f"{duration(span.cpu_ns)} of CPU time"
    )
    return f"{said} and {duration(waited)} of waiting in total." if waited else f"{said} in total."


def _start_up(found: StartUp) -> str:
    mostly = ", mostly imports" if found.import_ns * 2 > found.cpu_ns else ""
    return (
        f"Start-up: {duration(found.end_ns)} ({percent(found.share)} of the on-CPU time{mostly}); "
        "--skip-startup leaves it out."
    )


def _how_sure(result: Summary) -> str:
    taken = result.quality.counters["taken"]
    if not taken:
        return "No samples were taken."
    error = 200 * standard_error(0.5, result.top.samples)
    return (
        f"{count(result.top.samples, 'CPU sample')}; a share of 50 % is accurate to "
        f"±{error:.1f} points (95 % confidence)."
    )


def _argv(target: dict[str, Any]) -> str:
    argv = target.get("argv")
    return shlex.join(map(str, argv)) if isinstance(argv, list) else ""


def _runtime(name: str) -> str:
    return {"cpython": "CPython", "hotspot": "HotSpot"}.get(name, name)
