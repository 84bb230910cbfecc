"""Writes measured tables into benchmarks/results, and chosen figures into the docs and the README.

A part's tables stand between two marks that name it, in one of the pages of benchmarks/results.
docs/explanation/evaluation.md and the README show some of the lines in which those pages compare
a figure with its goal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from publish import plots
from publish.markdown import Section, table

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "explanation" / "evaluation.md"
README = ROOT / "README.md"
IMAGES = ROOT / "docs" / "images"

AT_LEAST = "≥"


@dataclass(frozen=True)
class Row:
    """A line of a table of figures: the line of the page in benchmarks/results that begins so."""

    label: str
    page: str
    begins: str
    sign: str = "≤"


COST = (
    Row("CPU time, 100 samples a second", "overhead", "overhead at 100 Hz"),
    Row("one sample, 100 times a second", "overhead", "a sample, 100 times a second"),
    Row("CPU time, 1,000 samples a second", "overhead", "overhead at 1000 Hz"),
    Row("CPU time, 10,000 samples a second", "overhead", "overhead at 10000 Hz"),
    Row("Java 17: CPU time, 1,000 samples a second", "java", "overhead at 1000 Hz, JDK 17"),
    Row("Java 25: CPU time, 1,000 samples a second", "java", "overhead at 1000 Hz, JDK 25"),
    Row("lock without contention, 3.11", "locks", "uncontended pair, Python 3.11"),
    Row("lock without contention, 3.15", "locks", "uncontended pair, Python 3.15"),
    Row("contended locks, median program", "locks", "contended, median"),
    Row("contended locks, worst program", "locks", "contended, worst"),
    Row("contended locks, Java, median program", "java-locks", "median of the programs"),
    Row("counting calls, median program", "calls", "overhead of counting calls"),
    Row("one sampling window of calls", "overhead", "a window of calls, 100 times a second"),
    Row("hardware events, 10 Hz", "counting", "overhead at 10 Hz"),
    Row("call flow, of what cProfile adds, 3.12", "flow", "overhead of the call flow, Python 3.12"),
    Row("acquisitions of locks, 3.12", "lock-activity", "lock activity, Python 3.12"),
    Row("a probe that reads a value, 3.12", "probes", "a probe that reads, Python 3.12"),
    Row("a probe, other code, 3.12", "probes", "other code, Python 3.12"),
    Row("sampled objects and their survival, 3.12", "objects", "objects, Python 3.12"),
    Row("sampled objects and their survival, 3.15", "objects", "objects, Python 3.15"),
    Row("tasks of an echo server, asyncio, 3.12", "loops", "echo server on asyncio, Python 3.12"),
    Row("tasks of an echo server, uvloop, 3.12", "loops", "echo server on uvloop, Python 3.12"),
    Row("tasks, a callback of an echo server, 3.12", "loops", "a callback, echo, Python 3.12"),
    Row("recorder: until the program starts", "recorder", "recorder, start"),
    Row("recorder: memory", "recorder", "recorder, peak"),
    Row("recorder: memory, continuous mode", "continuous", "recorder, at its largest"),
    Row("attaching, longest", "attach", "attach, longest"),
    Row("`sonde top` beside an idle program", "top", "quiet target"),
    Row("recording on disk, bytes a sample", "disk", "whole file, largest"),
    Row("report on a large recording: time", "open", "tree, slower one"),
    Row("report on a large recording: memory", "open", "tree, larger one"),
    Row("slowest view, extreme recordings", "scale", "slowest view"),
    Row("most memory of a view, the same", "scale", "view, most memory"),
    Row("web UI: slowest gesture", "web-ui", "slowest gesture"),
)
ACCURACY = (
    Row("lost or undecodable, 1,000 Hz", "accuracy", "sonde, lost + undecodable at 1000 Hz"),
    Row("lost or undecodable, 10,000 Hz", "accuracy", "sonde, lost + undecodable at 10000 Hz"),
    Row("impossible stacks", "accuracy", "sonde, impossible of"),
    Row("wrong call lines", "accuracy", "sonde, wrong call lines in"),
    Row("call flow, beside samples, 3.12", "flow", "median error beside samples, Python 3.12"),
    Row(
        "sampled acquisitions, worst error, 3.12", "lock-activity", "sampled counts, largest error"
    ),
    Row("wrong incremental stack walks", "walks", "wrong walks"),
    Row("wrong Java stacks", "walks", "wrong Java stacks"),
    Row("counted calls, mean overlap with all", "calls", "counted calls, mean", AT_LEAST),
    Row("counted calls, overlap on deltablue", "calls", "overlap on deltablue", AT_LEAST),
    Row("created objects, overlap, 3.12", "objects", "created objects, Python 3.12", AT_LEAST),
    Row("created objects, overlap, 3.15", "objects", "created objects, Python 3.15", AT_LEAST),
    Row("chained stacks, overlap on deltablue", "chained", "deltablue", AT_LEAST),
    Row("hot call edges kept in 256 KiB", "partial-tree", "hot edges covered", AT_LEAST),
    Row("false findings of slower code, mean", "slower", "wrong where nothing changed"),
)
IN_README = frozenset({"CPU time, 1,000 samples a second", "contended locks, worst program"})
PEERS = {
    "peers-cost": ("peers", "1000 Hz, CPU time / wall time"),
    "peers-accuracy": (
        "accuracy",
        "1000 Hz: lost or failed samples / impossible stacks / wrong call lines, in %",
    ),
}
"""Whole tables that docs/explanation/evaluation.md shows: the page and the title."""

_LINE = re.compile(r"- (?P<what>.*?): (?P<figure>.*) \(goal:? ?(?P<goal>.*?)\): (?P<verdict>.*)")
_COVERED = re.compile(r"- (?P<what>.*?) \(goal (?P<goal>\S+) .*?\): (?P<verdict>.*)")
_DATE = re.compile(r"Measured (\d{4}-\d\d-\d\d)")


def put(section: Section, about: str) -> None:
    """Replaces what stands between the marks of a part; each part says when it was measured."""
    for picture in section.pictures:
        plots.draw(picture.kind, picture.data, IMAGES / f"{picture.name}.svg")
    page = _page_of(section.name)
    page.write_text(_between(page, section.name, f"{about}\n\n{section.text()}"))
    put_summary()


def put_summary() -> None:
    PAGE.write_text(evaluation_page())
    README.write_text(readme())


def evaluation_page() -> str:
    text = PAGE.read_text()
    for part, rows in (("cost", COST), ("accuracy", ACCURACY)):
        text = _between(PAGE, part, _summary(rows, "../../benchmarks/results"), text)
    for part, (page, title) in PEERS.items():
        text = _between(PAGE, part, _whole_table(page, title), text)
    return text


def readme() -> str:
    rows = [row for row in (*COST, *ACCURACY) if row.label in IN_README]
    return _between(README, "figures", _summary(rows, "benchmarks/results"))


def _summary(rows: Iterable[Row], folder: str) -> str:
    head = ("", "measured", "goal", "goal met", "on")
    found = []
    for row in rows:
        line, date = _line_of(row)
        match = _LINE.fullmatch(line) or _COVERED.fullmatch(line)
        if match is None:
            raise SystemExit(f"benchmarks/results/{row.page}.md: no figure and goal in: {line}")
        parts = match.groupdict()
        goal, figure = parts["goal"], parts.get("figure", parts["verdict"])
        number = goal[:1].isdigit() and not goal.startswith("0 ")
        found.append(
            (
                f"[{row.label}]({folder}/{row.page}.md)",
                figure,
                f"{row.sign} {goal}" if number else goal,
                _met(parts["verdict"]),
                date,
            )
        )
    return table(head, found) + "\n"


def _met(verdict: str) -> str:
    if "interval reaches over the goal" in verdict or verdict.startswith("undecided"):
        return "undecided"
    return "**no**" if "missed" in verdict else "yes"


def _line_of(row: Row) -> tuple[str, str]:
    """The line, and when it was measured."""
    date = ""
    for line in (RESULTS / f"{row.page}.md").read_text().splitlines():
        if found := _DATE.match(line):
            date = found[1]
        if line.startswith(f"- {row.begins}"):
            return line, date
    raise SystemExit(f"benchmarks/results/{row.page}.md has no line “- {row.begins}”")


def _whole_table(page: str, title: str) -> str:
    _, found, rest = (RESULTS / f"{page}.md").read_text().partition(f"**{title}**\n\n")
    if not found:
        raise SystemExit(f"benchmarks/results/{page}.md has no table “{title}”")
    whole, _, _ = rest.partition("\n\n")
    return f"**{title}**\n\n{whole}\n"


def _page_of(part: str) -> Path:
    for page in sorted(RESULTS.glob("*.md")):
        if f"<!-- {part} -->" in page.read_text():
            return page
    raise SystemExit(f"no page of benchmarks/results has a place for the tables of {part}")


def _between(path: Path, part: str, inside: str, text: str | None = None) -> str:
    text = path.read_text() if text is None else text
    begin, end = f"<!-- {part} -->", f"<!-- /{part} -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"{path.name} has no place for the tables of {part}")
    return f"{before}{begin}\n\n{inside}\n{end}{after}"
