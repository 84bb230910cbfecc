"""How far a recording can be trusted, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sonde.reports.layout.names import printable
from sonde.reports.layout.page import heading, line, paragraph
from sonde.views.quality import standard_error
from sonde.views.selecting.formatting import count, duration, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.quality import Quality

_LABEL = 14


def render(result: Quality, out: Console) -> None:
    counters = result.counters
    ran = counters["running_samples"]
    _fact(out, "Sampler", _sampler(counters))
    _fact(out, "Samples", _samples(counters))
    if counters["rate_asked"] or counters["rate_achieved"] is not None:
        _fact(out, "Rate", _rate(counters))
    if isinstance(counters.get("budget"), dict):
        _fact(out, "Budget", _budget(counters["budget"]))
    if isinstance(counters.get("online"), dict):
        _fact(out, "Online", _online(counters["online"]))
    if chaining := counters.get("chaining"):
        _fact(out, "Stacks", _chaining(chaining))
    for event in counters.get("events") or ():
        sampled, counted = event["told"], event["counted"]
        _fact(out, "Events", f"{sampled:,} sampled of {counted:,} {event['name']}")
    if counters.get("frames"):
        _fact(out, "Stacks", _walks(counters))
    if "objects_at_least" in counters:
        _fact(out, "Objects", _objects(counters))
        if counters["objects_at_least"]:
            _fact(out, "Lower bounds", _lower_bounds(counters))
    if counters.get("paused_ns"):
        _fact(out, "Paused", f"{duration(counters['paused_ns'])}, not counted for any thread")
    if ran:
        _fact(
            out,
            "Precision",
            f"±{percent(2 * standard_error(0.5, ran), 1)} for a share of 50 %, "
            f"±{percent(2 * standard_error(0.05, ran), 1)} for 5 % (95 % confidence)",
        )
    if counters["agent_cpu_ns"] is not None:
        cost = "" if result.cost is None else f", {percent(result.cost, 2)} of the sampled time"
        _fact(out, "Overhead", f"{duration(counters['agent_cpu_ns'])} of CPU time{cost}")
    if counters["events_lost"] is not None:
        _fact(out, "Events lost", f"{counters['events_lost']:,}")
    if counters["clock"]:
        _fact(out, "Clock", printable(str(counters["clock"])))
    if not result.problems:
        heading(out, "No problems found.")
        return
    heading(out, "Problems")
    for problem in result.problems:
        paragraph(out, f"! {printable(problem.title)}: {printable(problem.detail)}.", indent=2)
        paragraph(out, f"Advice: {problem.advice}.", indent=4)


def _online(online: dict[str, Any]) -> str:
    """The profile that was kept while it ran."""
    dropped = f", {online['dropped']:,} dropped" if online.get("dropped") else ""
    return (
        f"{online.get('contexts', 0):,} contexts in {online.get('memory', 0) // 1024} of "
        f"{online.get('bound', 0) // 1024} KiB{dropped}"
    )


def sentence(result: Quality) -> str:
    """The recording's quality in one sentence."""
    parts = [_samples(result.counters)]
    if result.counters["sampler"]:
        parts.append(f"by {printable(str(result.counters['sampler']))}")
    if result.cost is not None:
        parts.append(f"overhead {percent(result.cost, 1)}")
    return "; ".join(parts)


def _fact(out: Console, label: str, text: str) -> None:
    if _LABEL + len(text) <= out.width:
        line(out, (f"{label:<{_LABEL}}", "bold"), text)
        return
    line(out, (label, "bold"))
    paragraph(out, text, indent=4)


def _chaining(counts: dict[str, int]) -> str:
    samples = max(counts["samples"], 1)
    return (
        f"reconstructed from pairs: {counts['nodes']:,} functions at a given depth, of which "
        f"{counts['ambiguous_nodes']:,} have several callers; one caller is exact in "
        f"{percent(counts['one_level'] / samples, 1)} of the samples, three callers in "
        f"{percent(counts['three_levels'] / samples, 1)}"
    )


def _walks(counters: dict[str, Any]) -> str:
    frames, visited = counters["frames"], counters.get("frames_visited") or 0
    said = f"{frames:,} frames, {visited:,} of them walked; the others were unchanged"
    if counters.get("walks_checked"):
        said += (
            f"; {count(counters['walks_checked'], 'walk')} checked, "
            f"{counters['walks_wrong']:,} wrong"
        )
    return said


def _objects(counters: dict[str, Any]) -> str:
    said = f"{count(counters['objects_taken'], 'sample')} taken, "
    said += f"{counters.get('objects_lost') or 0:,} lost, "
    said += f"{counters['objects_without_type']:,} without a class, "
    said += f"{count(counters['object_ends_lost'], 'end')} lost"
    if counters["objects_not_followed"]:
        said += f", {counters['objects_not_followed']:,} not followed to their end"
    if counters["object_cost"] is not None:
        spent = duration(counters["object_agent_ns"])
        said += f"; sampling took {spent}, {percent(counters['object_cost'], 2)} of the CPU time"
    return said


def _lower_bounds(counters: dict[str, Any]) -> str:
    types = ", ".join(printable(name) for name in counters["object_types_at_least"])
    return (
        f"{count(counters['objects_at_least'], 'object sample')} of {types}: "
        "free lists hide some of their allocations"
    )


def _sampler(counters: dict[str, Any]) -> str:
    several = counters.get("samplers") or [counters["sampler"] or "unknown"]
    name = printable(" and ".join(map(str, several)))
    why = counters["why_not_better"]
    if isinstance(why, list | tuple):
        why = "; ".join(str(reason) for reason in why)
    return f"{name}, no better one because {printable(str(why))}" if why else name


def _samples(counters: dict[str, Any]) -> str:
    taken, ran = counters["taken"], counters["running_samples"]
    said = f"{count(taken, 'sample')} taken"
    if 0 <= ran < taken:
        said += f" ({ran:,} on CPU, {count(taken - ran, 'wait')})"
    for key in ("lost", "undecodable", "truncated"):
        if counters[key] is not None:
            said += f", {counters[key]:,} {key}"
        if key == "undecodable" and counters.get("undecodable_waits"):
            said += f" ({counters['undecodable_waits']:,} of them waits)"
    return said


def _rate(counters: dict[str, Any]) -> str:
    asked, achieved = counters["rate_asked"], counters["rate_achieved"]
    if achieved is None:
        return f"{asked:,.0f} samples per second of CPU time requested"
    if not asked:
        return f"{achieved:,.0f} samples per second of CPU time"
    changed = ", changed during the recording" if counters.get("rates") else ""
    return f"{achieved:,.0f} samples per second of CPU time, {asked:,.0f} requested{changed}"


def _budget(budget: dict[str, Any]) -> str:
    def number(key: str) -> float:
        value = budget.get(key)
        return value if isinstance(value, int | float) else 0

    said = f"{percent(number('share'), 1)} of a core, {percent(number('used'), 1)} used"
    said += f"; {number('rate_lowest'):,.0f} to {number('rate_highest'):,.0f} samples per second"
    said += f", now {number('rate_now'):,.0f}, changed {count(int(number('rate_changes')), 'time')}"
    return said if budget.get("interrupt_ns") else said + "; interrupts are not counted"
