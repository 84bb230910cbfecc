"""The last seconds of a process in lines: what `sonde top` shows, and prints with --once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sonde.reports.layout.call_stack import on_one_line
from sonde.reports.layout.names import clipped, labelled, place, printable, shortened
from sonde.reports.layout.page import bar, heading, line
from sonde.views.quality import MORE_SAMPLES, standard_error
from sonde.views.selecting.formatting import brief, count, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.views.live import Live
    from sonde.views.selecting.profile import Function
    from sonde.views.selecting.sources import Sources
    from sonde.views.stacks.history import History

Parts = list[str | tuple[str, str]]
"""One line: texts, each with a style or without."""

ENDED = "ended"
MAX_ENDED = 5
"""Threads that have ended and have a row each."""
TOP = 20
"""Rows of each table that --once prints."""
_LEVELS = "▁▂▃▄▅▆▇█"
_HOLDERS = 3
_KINDS = 4

FUNCTION_SORTS = ("self", "total", "name")
THREAD_SORTS = ("cpu", "waiting", "name")
LOCK_SORTS = ("waited", "waits", "longest")


@dataclass(frozen=True)
class ThreadNow:
    """A thread with its times in the window and what it does at the end of it."""

    tid: int
    process: int
    name: str
    cpu_ns: int
    wait_ns: int
    state: str
    """running, gil, lock, I/O, ...: one word for what it does."""
    doing: str
    """The same as a sentence goes on."""


# ---- the lines above the tables


def head(live: Live, width: int) -> list[Parts]:
    return [_split(live, width), _gil(live), _sure(live)]


def _split(live: Live, width: int) -> Parts:
    cores = live.cpu_ns / live.span_ns
    waits = {kind: ns / live.span_ns for kind, ns in live.wait_ns.items() if ns}
    shown: Parts = [("CPU  ", "bold"), f"{cores:.2f} {'core' if cores == 1 else 'cores'} "]
    waited = sum(waits.values())
    if width >= 60 and cores + waited:
        busy = round(12 * cores / (cores + waited))
        shown += [bar(1, busy) if busy else "", (bar(1, 12 - busy, waiting=True), "")]
        shown += ["  "]
    if not waits:
        return [*shown, ("no waits", "dim")]
    kinds = [f"{kind} {share:.2f}" for kind, share in list(waits.items())[:_KINDS]]
    return [*shown, ("threads waiting: ", "dim"), ", ".join(kinds)]


def _gil(live: Live) -> Parts:
    gil = live.gil
    shown: Parts = [("GIL  ", "bold")]
    if not gil.waits and all(process.runtime == "hotspot" for process in live.processes):
        return [*shown, ("not used by Java programs", "dim")]
    if not gil.waits:
        return [*shown, ("no waits", "dim")]
    shown += [f"{gil.wait_ns / live.span_ns:.2f} threads waiting on average, {gil.waiting_now} now"]
    held = [
        f"{printable(name) if name else 'unknown'} {percent(ns / gil.wait_ns)}"
        for name, ns in list(gil.held_ns.items())[:_HOLDERS]
        if gil.wait_ns
    ]
    return [*shown, ("; held by ", "dim"), ", ".join(held)] if held else shown


def _sure(live: Live) -> Parts:
    """What the numbers rest on; problems come first."""
    counters = live.quality.counters
    samples, shown = live.flat.samples, [("Data ", "bold")]
    against = [p for p in live.quality.problems if p.advice != MORE_SAMPLES]
    said: Parts = [
        (f"! {printable(problem.title)}: {problem.advice}; ", "bold") for problem in against[:1]
    ]
    lost = [f"{counters[key]:,} {key}" for key in ("lost", "undecodable") if counters[key]]
    words = [f"{count(samples, 'sample')}, {', '.join(lost) or 'none lost'}"]
    if samples:
        words += [f"a share of 50 % is accurate to ±{percent(2 * standard_error(0.5, samples))}"]
    if live.quality.cost is not None:
        words += [f"overhead {percent(live.quality.cost, 1)}"]
    return [*shown, *said, "; ".join(words)]


# ---- functions and lines


def functions(
    live: Live, width: int, *, sort: str = "self", search: str = ""
) -> tuple[Parts, list[Parts]]:
    rows = [row for row in live.flat.rows if fits(search, row.function.name, row.function.file)]
    if sort == "total":
        rows.sort(key=lambda row: -row.total_ns)
    elif sort == "name":
        rows.sort(key=lambda row: row.function.name)
    spark = width >= 64
    title = f"{mark('self', sort):>8}{mark('total', sort):>8}{'self time':>10}"
    title += f"  {'last minute':<12}" if spark else ""
    title += f"  {mark('function', 'function' if sort == 'name' else '')}"
    highest = _highest(live.history) if spark else 0
    whole, room = live.flat.total_ns, width - (42 if spark else 28)
    return [(title, "bold")], [
        [
            f"{_share(row.self_ns, whole):>8}{_share(row.total_ns, whole):>8}",
            f"{brief(row.self_ns) if row.self_ns else '':>10}  ",
            (f"{sparkline(live.history, row.function, highest)}  " if spark else "", "cyan"),
            labelled(row.function.name, row.function.file, row.function.line, max(room, 12)),
        ]
        for row in rows
    ]


def source_lines(
    live: Live, width: int, sources: Sources, *, sort: str = "self", search: str = ""
) -> tuple[Parts, list[Parts]]:
    found = live.lines.rows if live.lines else []
    rows = [row for row in found if fits(search, row.file)]
    if sort == "total":
        rows.sort(key=lambda row: -row.total_ns)
    elif sort == "name":
        rows.sort(key=lambda row: (row.file, row.line))
    whole = live.flat.total_ns
    room = max(width - 28, 12)
    body: list[Parts] = []
    for row in rows:
        where = place(row.file, row.line, min(30, room))
        text = printable(sources.line(row.file, row.line))
        body.append(
            [
                f"{_share(row.self_ns, whole):>8}{_share(row.total_ns, whole):>8}",
                f"{brief(row.self_ns) if row.self_ns else '':>10}  {where}",
                (f"  {clipped(text, max(room - len(where) - 2, 0))}", "dim"),
            ]
        )
    title = f"{mark('self', sort):>8}{mark('total', sort):>8}{'self time':>10}  "
    return [(title + mark("line", "line" if sort == "name" else ""), "bold")], body


def sparkline(history: History, function: Function, highest: int) -> str:
    """Own time by part of the minute, against the busiest part of the busiest function."""
    parts = history.own_ns.get(function)
    if not parts or not highest:
        return " " * 12
    top = len(_LEVELS) - 1
    return "".join(_LEVELS[min(top, ns * top // highest)] if ns else " " for ns in parts)


def _highest(history: History) -> int:
    return max((max(parts) for parts in history.own_ns.values()), default=0)


# ---- threads


def threads(
    live: Live, rows: list[ThreadNow], width: int, *, sort: str = "cpu", search: str = ""
) -> tuple[Parts, list[Parts]]:
    rows = [row for row in rows if fits(search, row.name, row.doing, str(row.tid))]
    if sort == "waiting":
        rows.sort(key=lambda row: -row.wait_ns)
    elif sort == "name":
        rows.sort(key=lambda row: row.name)
    title = f"{mark('cpu', sort):>8}{mark('waiting', sort):>9}{'tid':>8}  "
    title += f"{mark('thread', 'thread' if sort == 'name' else ''):<16}  now"
    return [(title, "bold")], [
        [
            f"{_share(row.cpu_ns, live.span_ns):>8}{_share(row.wait_ns, live.span_ns):>9}",
            f"{row.tid or '':>8}  {shortened(printable(row.name), 16):<16}  ",
            (clipped(printable(row.doing), max(width - 45, 8)), _STYLE.get(row.state, "")),
        ]
        for row in rows
    ]


_STYLE = {"running": "bold", "ended": "dim", "sleep": "dim", "I/O": "dim"}


# ---- locks


def locks(
    live: Live, width: int, *, sort: str = "waited", search: str = ""
) -> tuple[Parts, list[Parts]]:
    """Two lines a lock: its figures, and the call stack most of its waiting is attributed to."""
    rows = [row for row in live.locks.rows if fits(search, row.lock, row.kind)]
    if sort == "waits":
        rows.sort(key=lambda row: -row.waits)
    elif sort == "longest":
        rows.sort(key=lambda row: -row.max_ns)
    title = f"{mark('waited', sort):>9}{mark('waits', sort):>8}{mark('longest', sort):>10}"
    body: list[Parts] = []
    for row in rows:
        body.append(
            [
                f"{brief(row.wait_ns):>9}{row.waits:>8,}{brief(row.max_ns):>10}",
                f"{row.pressure:>7.2f}  {row.kind:<9} ",
                shortened(printable(row.lock), max(width - 46, 8)),
            ]
        )
        worst = live.worst.get(row.lock)
        if worst is not None and worst.chain and row.wait_ns:
            verb = "notified by" if row.signalling else "held by"
            share = f"{percent(worst.wait_ns / row.wait_ns)} {verb} "
            chain = on_one_line(worst.chain, max(width - 9 - len(share), 12))
            body.append([(f"{'':9}{share}{chain}", "dim")])
    if not live.locks.rows:
        body.append([("         no waits for locks or other threads", "dim")])
    return [(f"{title}{'queue':>7}  {'kind':<9} lock", "bold")], body


# ---- one snapshot as text


def render(live: Live, rows: list[ThreadNow], out: Console, *, title: str) -> None:
    line(out, (title, "bold"))
    for parts in head(live, out.width):
        line(out, *parts)
    for name, (top, body), most in (
        ("Functions", functions(live, out.width), TOP),
        ("Threads", threads(live, without_ended(rows), out.width), TOP),
        ("Locks", locks(live, out.width), 2 * TOP),
    ):
        heading(out, name)
        line(out, *top)
        for parts in body[:most]:
            line(out, *parts)
        if len(body) > most and name != "Locks":
            line(out, (f"{'…':>8} {count(len(body) - most, 'more row')}", "dim"))


def without_ended(rows: list[ThreadNow]) -> list[ThreadNow]:
    """The same with one row for threads that have ended: a server may start one per request."""
    ended = [row for row in rows if row.state == ENDED]
    if len(ended) <= MAX_ENDED:
        return rows
    living = [row for row in rows if row.state != ENDED]
    together = ThreadNow(
        0, ended[0].process, f"{len(ended):,} threads",
        sum(row.cpu_ns for row in ended), sum(row.wait_ns for row in ended), ENDED, "have ended",
    )  # fmt: skip
    return sorted([*living, together], key=lambda row: -row.cpu_ns)


def fits(search: str, *texts: str) -> bool:
    wanted = search.casefold()
    return not wanted or any(wanted in text.casefold() for text in texts)


def mark(title: str, sort: str) -> str:
    return f"▼{title}" if title == sort else title


def _share(part: int, whole: int) -> str:
    return percent(part / whole, 1) if whole and part else "" if not part else "?"
