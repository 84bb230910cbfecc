"""What can be recorded here, as a page of ✓ and ✗ with a line of advice under each ✗."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from sonde.reports.layout.names import printable, shortened
from sonde.reports.layout.page import heading, line, paragraph
from sonde.views.selecting.formatting import count

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.doctor.diagnosis import Diagnosis, JvmVerdict, Verdict
    from sonde.doctor.machine_checks import MachineChecks

_LABEL = 17
_VERSION = 10
_BY = {
    "perf": "each thread samples itself",
    "perf-user": "each thread samples itself, outside the kernel",
    "cpu-timer": "each thread samples itself at the scheduler's ticks",
    "reader": "a sonde thread reads the stacks of the others, on the core of each",
    "cross-core": "a sonde thread reads the stacks of the others from another core",
    "safepoint": "each thread samples itself at safepoints of the interpreter",
    "remote": "the recorder reads the memory of the target from outside",
}


def render(result: Diagnosis, out: Console) -> None:
    machine = result.machine
    paragraph(out, ", ".join(_facts(result)))
    heading(out, "What can be recorded")
    _answer(out, result.can_record, "recording", _recording(result), result.trouble)
    _answer(out, machine.why_not_better is None, "sampler", _sampler(machine), None)

    heading(out, "This machine")
    for check in machine.checks:
        _answer(out, check.ok, check.name, check.found, check.advice)

    heading(out, "Interpreters")
    if not result.verdicts:
        _answer(out, False, "none found", "", "add the directory of your Python to PATH")
    alike: dict[tuple[str | None, str | None], list[Verdict]] = {}
    for verdict in result.verdicts:
        if verdict.ok:
            _interpreter(out, verdict)
        else:
            alike.setdefault((verdict.problem, verdict.advice), []).append(verdict)
    for (problem, advice), verdicts in alike.items():
        _alike(out, verdicts, problem or "", advice)
    if result.jvms:
        heading(out, "Java virtual machines")
        java = machine.java_sampler
        said = f"{java}: {_BY[java]}" if java else "none: sonde can record only locks and objects"
        _answer(out, java == "perf", "sampler", said, None)
    for jvm in result.jvms:
        _jvm(out, jvm)


def _facts(result: Diagnosis) -> list[str]:
    facts = result.machine.facts
    return [
        f"sonde {result.version}",
        f"{facts['system']} {facts['kernel']}",
        str(facts["libc"] or "unknown C library"),
        f"{facts['cpus']} cores",
        f"uid {facts['uid']}",
        *([f"container: {facts['container']}"] if facts["container"] else []),
    ]


def _sampler(machine: MachineChecks) -> str:
    said = f"{machine.sampler}: {_BY[machine.sampler]}"
    if machine.why_not_better:
        said += f"; no better one because {machine.why_not_better}"
    return said


def _recording(result: Diagnosis) -> str:
    able = sum(verdict.ok for verdict in result.verdicts)
    if able:
        return f"recorded {able} of {len(result.verdicts)} interpreters for a moment"
    return "sonde can record none of the interpreters found"


def _answer(out: Console, ok: bool, label: str, found: str, advice: str | None) -> None:
    room = out.width - _LABEL - 2
    first, *rest = _wrapped(printable(found), room)
    line(out, _mark(ok), (f"{label:<{_LABEL}}", "bold"), first)
    for row in rest:
        line(out, " " * (_LABEL + 2), row)
    if advice and not ok:
        _advise(out, advice, _LABEL + 2)


def _alike(out: Console, verdicts: list[Verdict], problem: str, advice: str | None) -> None:
    """Interpreters with the same problem, of which the versions show enough if they are many."""
    if len(verdicts) <= 2:
        for verdict in verdicts:
            _interpreter(out, verdict)
    else:
        versions = ", ".join(verdict.interpreter.version for verdict in verdicts)
        for number, row in enumerate(_wrapped(versions, out.width - 2)):
            line(out, "  " if number else _mark(False), (row, "bold"))
    paragraph(out, printable(problem), indent=_VERSION + 2)
    if advice:
        _advise(out, advice, _VERSION + 2)


def _advise(out: Console, advice: str, indent: int) -> None:
    for number, row in enumerate(_wrapped(printable(advice), out.width - indent - 2)):
        line(out, " " * indent, "  " if number else "→ ", row)


def _mark(ok: bool) -> tuple[str, str]:
    return ("✓ ", "green") if ok else ("✗ ", "bold red")


def _interpreter(out: Console, verdict: Verdict) -> None:
    interpreter = verdict.interpreter
    notes = []
    if interpreter.implementation != "cpython":
        notes.append(interpreter.implementation)
    if interpreter.free_threaded:
        notes.append("free-threaded")
    if interpreter.runs_sonde:
        notes.append("runs sonde")
    if verdict.ok:
        notes.append(count(verdict.samples, "sample"))
    note = f"  {', '.join(notes)}" if notes else ""
    path = shortened(printable(interpreter.path), out.width - _VERSION - 2 - len(note))
    line(
        out, _mark(verdict.ok), (f"{interpreter.version:<{_VERSION}}", "bold"), path, (note, "dim")
    )


def _jvm(out: Console, verdict: JvmVerdict) -> None:
    note = f"  {count(verdict.samples, 'sample')}" if verdict.ok else ""
    path = shortened(printable(verdict.home.path), out.width - _VERSION - 2 - len(note))
    version = verdict.home.version or "unknown"
    line(out, _mark(verdict.ok), (f"{version:<{_VERSION}}", "bold"), path, (note, "dim"))
    if verdict.problem:
        paragraph(out, printable(verdict.problem), indent=_VERSION + 2)
    if verdict.advice:
        _advise(out, verdict.advice, _VERSION + 2)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width, 20)) or [""]
