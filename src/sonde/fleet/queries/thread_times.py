"""What threads did with their lives, over many recordings."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ibis

from sonde.fleet.store.schema import ALL, METRICS
from sonde.model.cpu_loss import CPU_LOSS_CAUSES
from sonde.model.locks.lock_kinds import KINDS
from sonde.row_values import RUNNING
from sonde.views.locks.wait_totals import OTHERWISE
from sonde.views.threads import ThreadRow, Threads, used

if TYPE_CHECKING:
    from sonde.fleet.queries.query import StoreQuery

_PERSON = ("service", "host", "container", "pid", "tid", "name", "interpreter")
"""What makes rows of several recordings those of one thread: a long one comes in parts."""


def threads(asked: StoreQuery, *, top: int | None = None) -> Threads:
    rows = _rows(asked)
    ran, otherwise = _sampled(asked)
    locked = _locked(asked)
    used = _used(asked)
    start, end = asked.question.start_ns, asked.question.end_ns
    whole = start is None and end is None
    origin = min((row["base_ns"] for row in rows), default=0)
    families: dict[tuple[Any, ...], list[tuple[dict[str, Any], ThreadRow]]] = defaultdict(list)
    known = _known(rows, used)
    for row in rows:
        thread = row["thread"]
        since = row["start_ns"] if start is None else max(row["start_ns"], start)
        until = row["end_ns"] if end is None else min(row["end_ns"], end)
        cpu = row["cpu_ns"] if whole and row["cpu_ns"] >= 0 else ran.get(thread, 0)
        waited = {**locked.get(thread, {}), **otherwise.get(thread, {})}
        made = ThreadRow(
            tid=row["tid"],
            name=row["name"],
            process=row["pid"],
            interpreter=row["interpreter"],
            start_ns=since - origin,
            wall_ns=_wall(since, until, row["pauses"] or []),
            cpu_ns=cpu,
            wait_ns=_in_order(waited),
            **_used_by(row, used.get(thread, {}), known[row["recording"]], cpu),
        )
        person = tuple(row[column] for column in _PERSON) if asked.several else (thread,)
        families[person].append((row, made))
    found = [_joined(family) for family in families.values()]
    found.sort(key=lambda pair: (-pair[1].cpu_ns, *pair[0]))
    return Threads([made for _, made in found[:top]])


def _rows(asked: StoreQuery) -> list[dict[str, Any]]:
    recordings = asked.recordings.select(
        "recording", "service", "host", "container", "base_ns", "pauses", "counted", "stepped",
        "steal_in_cpu",
    )  # fmt: skip
    rows: list[dict[str, Any]] = (
        asked.threads.join(recordings, "recording").to_pyarrow().to_pylist()
    )
    return sorted(rows, key=lambda row: (row["base_ns"], row["recording"], row["number"]))


def _sampled(asked: StoreQuery) -> tuple[dict[int, int], dict[int, dict[str, int]]]:
    """By thread: its running time, and its waiting that no lock event shows."""
    samples = asked.samples
    # A wait that goes over the edge of the range has its share of what is explained.
    whole = samples.ns == samples.weight
    attributed = ibis.ifelse(samples.explained == ALL, samples.weight, samples.explained)
    share = (attributed.cast("float64") * samples.ns / samples.weight).round().cast("int64")
    rest = samples.ns - ibis.ifelse(whole, attributed, share)
    rows = (
        samples.mutate(rest=rest)
        .group_by("thread", "state")
        .aggregate(ns=lambda t: t.ns.sum(), rest=lambda t: t.rest.sum())
        .to_pyarrow()
        .to_pylist()
    )
    ran = {row["thread"]: row["ns"] for row in rows if row["state"] == RUNNING}
    otherwise: dict[int, dict[str, int]] = defaultdict(dict)
    for row in rows:
        if row["state"] in OTHERWISE and row["rest"]:
            otherwise[row["thread"]][OTHERWISE[row["state"]]] = row["rest"]
    return ran, otherwise


def _locked(asked: StoreQuery) -> dict[int, dict[str, int]]:
    blames = asked.blames
    rows = blames.group_by("thread", "kind").aggregate(ns=blames.ns.sum()).to_pyarrow()
    found: dict[int, dict[str, int]] = defaultdict(dict)
    for row in rows.to_pylist():
        if row["ns"]:
            found[row["thread"]][row["kind"]] = row["ns"]
    return found


def _used(asked: StoreQuery) -> dict[int, dict[str, Any]]:
    steps = asked.steps
    figures = {name: steps[name].sum() for name in (*METRICS, *CPU_LOSS_CAUSES)}
    rows = steps.group_by("thread").aggregate(**figures).to_pyarrow()
    return {row["thread"]: row for row in rows.to_pylist()}


def _known(rows: list[dict[str, Any]], used: dict[int, dict[str, Any]]) -> dict[int, set[str]]:
    """By recording the metrics that were counted there: for any thread, or there were no steps."""
    known: dict[int, set[str]] = defaultdict(set)
    for row in rows:
        if not row["stepped"]:
            known[row["recording"]].update(METRICS)
        figures = used.get(row["thread"], {})
        known[row["recording"]].update(name for name in METRICS if figures.get(name) is not None)
    return known


def _used_by(
    row: dict[str, Any], figures: dict[str, Any], known: set[str], cpu_ns: int
) -> dict[str, Any]:
    if not row["counted"]:
        return {}
    found = {name: figures.get(name) or 0 for name in METRICS if name in known}
    lost = {cause: figures.get(cause) or 0 for cause in CPU_LOSS_CAUSES}
    return used(found, lost, cpu_ns, row["steal_in_cpu"])


def _wall(since: int, until: int, pauses: list[int]) -> int:
    wall = max(until - since, 0)
    for begin, over in zip(pauses[::2], pauses[1::2], strict=True):
        wall -= max(min(until, over) - max(since, begin), 0)
    return max(wall, 0)


def _in_order(waited: dict[str, int]) -> dict[str, int]:
    return {kind: waited[kind] for kind in (*KINDS, *OTHERWISE.values()) if waited.get(kind)}


def _joined(
    family: list[tuple[dict[str, Any], ThreadRow]],
) -> tuple[tuple[int, ...], ThreadRow]:
    """One row of a thread that several recordings have, and its place among its equals."""
    first, made = family[0]
    place = (first["base_ns"], first["recording"], first["number"])
    for _, other in family[1:]:
        made = replace(
            made,
            start_ns=min(made.start_ns, other.start_ns),
            wall_ns=made.wall_ns + other.wall_ns,
            cpu_ns=made.cpu_ns + other.cpu_ns,
            wait_ns=_in_order(_added(made.wait_ns, other.wait_ns) or {}),
            run_delay_ns=_plus(made.run_delay_ns, other.run_delay_ns),
            steal_ns=_plus(made.steal_ns, other.steal_ns),
            voluntary_switches=_plus(made.voluntary_switches, other.voluntary_switches),
            involuntary_switches=_plus(made.involuntary_switches, other.involuntary_switches),
            page_faults=_plus(made.page_faults, other.page_faults),
            taken_ns=_added(made.taken_ns, other.taken_ns),
            corrected_cpu_ns=_plus(made.corrected_cpu_ns, other.corrected_cpu_ns),
            metrics=_added(made.metrics, other.metrics) or {},
        )
    return place, made


def _plus(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return one if other is None else other
    return one + other


def _added(one: dict[str, int] | None, other: dict[str, int] | None) -> dict[str, int] | None:
    if one is None or other is None:
        return one if other is None else other
    return {key: one.get(key, 0) + other.get(key, 0) for key in {**one, **other}}
