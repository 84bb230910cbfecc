"""Tables as Markdown, and figures with their intervals as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from harness.paired import Figure


@dataclass
class Picture:
    """One of plots.py, of these figures."""

    kind: str
    name: str
    data: dict[str, Any]


@dataclass
class Section:
    """One part of the evaluation: its tables and what they say about the goals."""

    name: str
    parts: list[str] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)

    @classmethod
    def of_json(cls, told: dict[str, Any]) -> Section:
        pictures = [Picture(**picture) for picture in told["pictures"]]
        return cls(told["name"], told["parts"], pictures)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def say(self, text: str) -> None:
        self.parts.append(text)

    def table(self, title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.parts.append(f"**{title}**")
        self.parts.append(table(head, rows))

    def figure(self, kind: str, name: str, words: str, data: dict[str, Any]) -> None:
        self.pictures.append(Picture(kind, f"evaluation-{name}", data))
        self.parts.append(f"![{words}](../../docs/images/evaluation-{name}.svg)")

    def goals(self, lines: Sequence[str]) -> None:
        self.parts.append("\n".join(f"- {line}" for line in lines))

    def text(self) -> str:
        return "\n\n".join(self.parts) + "\n"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first column is text, the others are numbers."""
    cells = [list(head), *[list(row) for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    lines = [_line(cells[0], widths)]
    rule = ["-" * widths[0], *["-" * (width - 1) + ":" for width in widths[1:]]]
    lines.append(_line(rule, widths))
    lines += [_line(row, widths) for row in cells[1:]]
    return "\n".join(lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cells[0].ljust(widths[0])]
    padded += [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
    return "| " + " | ".join(padded) + " |"


def percent(figure: Figure, digits: int = 2) -> str:
    value, low, high = (100 * x for x in (figure.value, figure.low, figure.high))
    return f"{value:.{digits}f} % [{low:.{digits}f}, {high:.{digits}f}]"


def micro(figure: Figure) -> str:
    return f"{figure.value:.1f} [{figure.low:.1f}, {figure.high:.1f}]"


def verdict(what: str, value: float, goal: float, unit: str, text: str | None = None) -> str:
    """One line: the figure, its goal, and whether it is kept."""
    word = "met" if value <= goal else "**missed**"
    return f"{what}: {text or f'{value:g} {unit}'} (goal {goal:g} {unit}): {word}"


def measured_verdict(what: str, figure: Figure, goal: float, unit: str, text: str) -> str:
    """The same for a figure with an interval, which may leave it open."""
    line = verdict(what, figure.value, goal, unit, text)
    if figure.low <= goal < figure.high:
        line += ", but the interval reaches over the goal"
    return line
