"""What ran, how long, where did its time go, and what stands out?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sonde.views.findings.evidence import Finding
from sonde.views.findings.findings import findings
from sonde.views.quality import Quality, quality
from sonde.views.selecting.duration import duration_ns
from sonde.views.selecting.selection import Selection
from sonde.views.selecting.start_up import StartUp, start_up
from sonde.views.spans import SpanRow, spans
from sonde.views.stacks.flat import Flat, flat
from sonde.views.stacks.own_flat import own_flat
from sonde.views.threads import ThreadRow, threads

if TYPE_CHECKING:
    from sonde.recording.tables import Process, Recording

TOP = 10
SPANS = 5


@dataclass(frozen=True)
class Summary:
    """The recording on one page; times in nanoseconds."""

    target: dict[str, Any]
    duration_ns: int
    cpu_ns: int
    wait_ns: dict[str, int]
    processes: list[Process]
    threads: list[ThreadRow]
    top: Flat
    findings: list[Finding]
    quality: Quality
    spans: list[SpanRow]
    """The slowest ones, by their mean."""
    mine: Flat
    """The functions of the program's own code, with the time of the libraries that they call."""
    start_up: StartUp | None = None
    """None: the recording has none, or what was selected begins later."""
    corrected_cpu_ns: int | None = None
    """Without steal time; None: it was not counted."""

    def to_json(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "duration_ns": self.duration_ns,
            "cpu_ns": self.cpu_ns,
            "corrected_cpu_ns": self.corrected_cpu_ns,
            "wait_ns": self.wait_ns,
            "processes": [asdict(process) for process in self.processes],
            "threads": [row.to_json() for row in self.threads],
            "top": [row.to_json() for row in self.top.rows],
            "findings": [finding.to_json() for finding in self.findings],
            "quality": self.quality.to_json(),
            "spans": [row.to_json() for row in self.spans],
            "mine": [row.to_json() for row in self.mine.rows],
            "start_up": None if self.start_up is None else self.start_up.to_json(),
        }


def summary(
    recording: Recording, selection: Selection | None = None, *, top: int | None = None
) -> Summary:
    """Sum up the selected part; `top` is the number of functions named."""
    selection = selection or Selection()
    rows = threads(recording, selection).rows
    wait_ns: dict[str, int] = {}
    for row in rows:
        for kind, ns in row.wait_ns.items():
            wait_ns[kind] = wait_ns.get(kind, 0) + ns
    pids = {row.process for row in rows} if selection.narrowed else None
    count = TOP if top is None else top
    return Summary(
        target=recording.target,
        duration_ns=_span(recording, selection),
        cpu_ns=sum(row.cpu_ns for row in rows),
        wait_ns=wait_ns,
        processes=[p for p in recording.processes if pids is None or p.pid in pids],
        threads=rows,
        top=flat(recording, selection, top=count),
        mine=own_flat(recording, selection, top=count),
        findings=findings(recording, selection),
        quality=quality(recording),
        spans=sorted(spans(recording, selection).rows, key=lambda row: -row.mean_ns)[:SPANS],
        start_up=None if selection.narrowed else start_up(recording),
        corrected_cpu_ns=_corrected(rows),
    )


def _corrected(rows: list[ThreadRow]) -> int | None:
    known = [row.corrected_cpu_ns for row in rows if row.corrected_cpu_ns is not None]
    return sum(known) if known else None


def _span(recording: Recording, selection: Selection) -> int:
    whole = duration_ns(recording)
    start = max(0, selection.start_ns or 0)
    end = whole if selection.end_ns is None else min(whole, selection.end_ns)
    return max(0, end - start)
