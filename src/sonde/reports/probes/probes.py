"""The probes view: each with its values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sonde.reports.layout.call_stack import on_one_line
from sonde.reports.layout.names import printable, shortened
from sonde.reports.layout.page import bar, line, paragraph
from sonde.views.selecting.formatting import count, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.probes.probes import ProbeReport, ProbeRow

TOP = 10
"""Rows of each list shown by default."""
BAR = 24
_EIGHTHS = "▁▂▃▄▅▆▇█"


def render(result: ProbeReport, out: Console, *, top: int | None = None) -> None:
    if not result.rows:
        line(out, "No probes were set; set one with: sonde run --probe 'FILE:LINE EXPRESSION' …")
        return
    for number, row in enumerate(result.rows):
        if number:
            line(out, "")
        _probe(row, out, top or TOP)


def _probe(row: ProbeRow, out: Console, top: int) -> None:
    every = f" every {row.every}" if row.every > 1 else ""
    line(out, (shortened(printable(f"{row.probe}{every}"), out.width), "bold"))
    if row.trouble:
        paragraph(out, f"The probe did not work: {row.trouble}.")
        return
    paragraph(out, _sentence(row))
    if row.mean is not None:
        paragraph(
            out,
            f"Smallest {_number(row.minimum)}, mean {_number(row.mean)}, largest "
            f"{_number(row.maximum)}.",
        )
    if len(row.types) > 1 or (row.types and not row.histogram and not row.top_values):
        _list(out, "types", [(n, printable(name)) for name, n in row.types.items()], top)
    if len(row.histogram) > 1:
        _histogram(row, out)
    elif row.top_values:
        _list(out, "values", [(v["count"], _value(v)) for v in row.top_values], top)
    if row.histogram and len(row.over_time) > 1:
        _over_time(row, out)
    _contexts(row, out, top)


def _sentence(row: ProbeRow) -> str:
    if row.hits is None:
        return f"{count(row.sampled, 'value')} in this part of the recording."
    if not row.hits:
        if not row.places:
            return "No code with this line was loaded; check the file's name and the line."
        return "The line was not reached."
    text = f"The line was reached {row.hits:,} times; {count(row.sampled, 'value')} recorded"
    if row.lost:
        text += f", {row.lost:,} lost because the buffer was full"
    for why, number in (row.failures or {}).items():
        text += f"; {number:,} could not be read: {why}"
    return text + "."


def _histogram(row: ProbeRow, out: Console) -> None:
    most = max(number for _, number in row.histogram)
    total = sum(number for _, number in row.histogram)
    uppers = [_number(upper) for upper, _ in row.histogram]
    width = max(map(len, [*uppers, "up to"]))
    line(out, (f"{'up to':>{width}}{'count':>12}{'':8}", "bold"))
    for text, (_, number) in zip(uppers, row.histogram, strict=True):
        share = percent(number / total, 1)
        line(
            out,
            f"{text:>{width}}{number:>12,}",
            (f"{share:>8}", "cyan"),
            "  ",
            bar(number / most, BAR),
        )


def _over_time(row: ProbeRow, out: Console) -> None:
    means = [step["mean"] for step in row.over_time if step["mean"] is not None]
    low, high = min(means), max(means)
    span = high - low or 1.0
    marks = "".join(_EIGHTHS[min(int((mean - low) / span * 8), 7)] for mean in means)
    line(out, f"Means over time, from {_number(low)} to {_number(high)}: {marks}")


def _contexts(row: ProbeRow, out: Console, top: int) -> None:
    if not row.contexts:
        return
    line(out, (f"{'count':>10}{'mean':>12}  call stack", "bold"))
    for one in row.contexts[:top]:
        mean = "" if one["mean"] is None else _number(one["mean"])
        where = on_one_line(one["chain"], max(out.width - 24, 20)) if one["chain"] else "unknown"
        line(out, f"{one['count']:>10,}{mean:>12}  ", (where, "dim"))


def _list(out: Console, head: str, rows: list[tuple[int, str]], top: int) -> None:
    line(out, (f"{'count':>10}  {head}", "bold"))
    for number, text in rows[:top]:
        line(out, f"{number:>10,}  ", shortened(text, max(out.width - 12, 12)))


def _value(value: dict[str, Any]) -> str:
    if value["value"] is None:
        return "None"
    return repr(value["value"]) if value["type"] == "str" else str(value["value"])


def _number(value: float | None) -> str:
    if value is None:
        return ""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.4g}"
