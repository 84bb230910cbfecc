"""How sure are we of the answer?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sonde.row_values import RELEASED
from sonde.views.object_samples import object_counters
from sonde.views.selecting.formatting import count, duration, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sonde.recording.tables import Recording

KEYS = (
    "sampler",
    "why_not_better",
    "rate_asked",
    "rate_achieved",
    "taken",
    "running_samples",
    "lost",
    "undecodable",
    "truncated",
    "agent_cpu_ns",
    "events_lost",
    "clock",
)
"""What every recording says about itself; None where it does not."""

# Below these shares a reader may take the figures as they are.
SURE_THRESHOLD = 0.8
"""Of chained samples, those whose callers are known for three levels."""
LOST_THRESHOLD = 0.005
TRUNCATED_THRESHOLD = 0.01
UNSAMPLED_THRESHOLD = 0.02
TYPELESS_THRESHOLD = 0.02
COST_THRESHOLD = 0.03
RATE_THRESHOLD = 0.8
ENOUGH_SAMPLES = 100
MISSED_THRESHOLD = 0.1
MORE_SAMPLES = "record longer, or at a higher --rate"
# The length of a part that was cut off is known to so much.
GAP_THRESHOLD_NS = 300_000_000


@dataclass(frozen=True)
class Problem:
    """Something about the recording that a reader of its figures must know."""

    title: str
    detail: str
    share: float
    advice: str


@dataclass(frozen=True)
class Quality:
    """The recording's counters, and what they mean for trust in its figures."""

    counters: dict[str, Any]
    cost: float | None
    """The agent's CPU time as a share of all CPU time sampled."""
    problems: list[Problem]
    warnings: list[str]

    def to_json(self) -> dict[str, Any]:
        return {
            **self.counters,
            "cost": self.cost,
            "warnings": self.warnings,
            "problems": [
                {"title": p.title, "detail": p.detail, "share": p.share, "advice": p.advice}
                for p in self.problems
            ],
        }


def standard_error(share: float, samples: int) -> float:
    """Of a share estimated from so many samples, each of which hit it or not."""
    if samples <= 0:
        return 1.0
    return float((share * (1 - share) / samples) ** 0.5)


def quality(recording: Recording) -> Quality:
    """Counters of the whole recording, filled in from the samples where they are missing."""
    samples = recording.samples
    counters = {key: recording.quality.get(key) for key in KEYS} | recording.quality
    if counters["taken"] is None:
        counters["taken"] = len(samples)
    if counters["undecodable"] is None:
        counters["undecodable"] = int((samples.context < 0).sum())
    releases = recording.lock_events.type == RELEASED
    if releases.any():
        counters["owner_chains"] = int(releases.sum())
        counters["owner_chains_missed"] = int((recording.lock_events.context[releases] < 0).sum())
    if counters["running_samples"] is None:
        counters["running_samples"] = counters["taken"]
    cpu = recording.sampled_cpu_ns
    cost = counters["agent_cpu_ns"] / cpu if counters["agent_cpu_ns"] is not None and cpu else None
    counters |= object_counters(recording, cpu)
    found = sorted(_problems(recording, counters, cost, cpu), key=lambda p: -p.share)
    return Quality(counters, cost, found, recording.warnings)


def _problems(
    recording: Recording, counters: dict[str, Any], cost: float | None, cpu: int
) -> Iterator[Problem]:
    taken, lost = counters["taken"], counters["lost"] or 0
    refused_ns, gap_ns = (counters.get(key) or 0 for key in ("disk_refused_ns", "gap_ns"))
    unwritten = counters.get("unwritten_samples") or 0
    whole = max(int(recording.target.get("duration_ns") or 0), 1)
    if refused_ns:
        yield Problem(
            f"{duration(refused_ns)} could not be written",
            f"the disk was full or failed; {unwritten:,} samples of that time are missing",
            min(refused_ns / whole, 1.0),
            "free disk space, or record with --mode continuous --rotate SIZE --keep N",
        )
    elif gap_ns > GAP_THRESHOLD_NS:
        yield Problem(
            f"{duration(gap_ns)} between segments is missing",
            "the recorder was killed, or a segment file is missing",
            min(gap_ns / whole, 1.0),
            "trust shares, but not sums, across the gap",
        )
    lost -= min(unwritten, lost)
    if lost > LOST_THRESHOLD * (taken + lost):
        share = lost / (taken + lost)
        yield Problem(
            f"{percent(share, 1)} of the samples were lost",
            f"{lost:,} of {taken + lost:,} samples were dropped because a buffer was full",
            share,
            "record at a lower --rate, or free CPU time for the recorder",
        )
    ran = counters["running_samples"]
    of_waits = min(counters.get("undecodable_waits") or 0, counters["undecodable"] or 0)
    waits = max(taken - ran, of_waits)
    if of_waits > LOST_THRESHOLD * waits:
        share = of_waits / waits
        yield Problem(
            f"{percent(share, 1)} of the waits have no stack",
            f"{of_waits:,} of {waits:,} waits could not be decoded; their time is [undecodable]",
            share,
            "use the view locks, whose stacks are recorded separately",
        )
    undecodable = (counters["undecodable"] or 0) - of_waits
    if undecodable > LOST_THRESHOLD * ran:
        share = undecodable / max(ran, undecodable)
        late = 2 * (counters.get("late_signals") or 0) > undecodable
        yield Problem(
            f"{percent(share, 1)} of the samples have no stack",
            f"{undecodable:,} of {ran:,} samples could not be decoded and appear as [undecodable]",
            share,
            "unblock SIGTRAP in the threads of the program, which block it for long"
            if late
            else "record longer: most are from the JVM's start, when Java stacks cannot be walked"
            if {process.runtime for process in recording.processes} == {"hotspot"}
            else "run `sonde doctor`: the agent may not match this interpreter",
        )
    if counters["sampler"] == "safepoint":
        yield Problem(
            "time is attributed to the next safepoint",
            "threads took samples at the end of a loop iteration, at function entry or after a "
            "call: the time of other functions is attributed to what follows them, and that of "
            "lines within a loop to its first or last line",
            0.0,
            "trust functions more than lines, and record with another --sampler if possible",
        )
    yield from _of_cpu_timers(counters, "waits" in (recording.target.get("what") or ()))
    unsampled = counters.get("unsampled_cpu_ns") or 0
    if taken and unsampled > UNSAMPLED_THRESHOLD * cpu:
        yield Problem(
            f"{percent(unsampled / max(cpu, unsampled), 1)} of the CPU time has no samples",
            "threads that use less CPU time than one sampling period get no sample; "
            "their time appears as one function",
            unsampled / max(cpu, unsampled),
            "record at a higher --rate",
        )
    truncated = counters["truncated"] or 0
    if truncated > TRUNCATED_THRESHOLD * taken:
        yield Problem(
            f"{percent(truncated / taken, 1)} of the stacks are truncated",
            f"{truncated:,} of {taken:,} stacks were deeper than the agent's limit, "
            "so their outermost frames are missing",
            truncated / taken,
            "use the views flat and lines rather than tree: the innermost frames are correct",
        )
    asked, achieved = counters["rate_asked"], counters["rate_achieved"]
    budget = counters.get("budget")
    if isinstance(budget, dict):
        yield from _over_budget(budget)
    elif asked and achieved is not None and achieved < RATE_THRESHOLD * asked:
        yield Problem(
            f"only {percent(achieved / asked)} of the requested rate was achieved",
            f"{achieved:,.0f} samples per second of CPU time instead of {asked:,.0f}; "
            "shares are valid, with a larger margin of error",
            1 - achieved / asked,
            "request a lower --rate, or run `sonde doctor` to get a better sampler",
        )
    if cost is not None and cost > COST_THRESHOLD:
        yield Problem(
            f"the overhead was {percent(cost, 1)} of the CPU time",
            "the target ran slower by about as much, mostly where stacks are deepest",
            cost,
            "record at a lower --rate"
            if not counters.get("waits")
            else "record without waits: each switch off the CPU takes a sample",
        )
    if 0 < ran < ENOUGH_SAMPLES:
        yield Problem(
            f"only {count(ran, 'CPU sample')} taken",
            f"a share of 50 % has a margin of error of ±{percent(2 * standard_error(0.5, ran))}",
            min(1.0, 2 * standard_error(0.5, ran)),
            MORE_SAMPLES,
        )
    if not taken:
        yield Problem(
            "no samples were taken",
            "the target used no CPU time, or could not be sampled",
            1.0,
            "record longer, record with --what +waits, or run `sonde doctor`",
        )
    if counters["events_lost"]:
        yield Problem(
            f"{count(counters['events_lost'], 'event')} lost",
            "threads, functions or marks may be missing from the recording",
            0.0,
            "free CPU time for the recorder",
        )
    yield from _of_locks(counters)
    yield from _of_tasks(counters)
    yield from _of_objects(counters)
    yield from _of_calls(counters)
    for event in counters.get("events") or ():
        if event.get("why_not"):
            yield Problem(
                f"{event['name']} were not recorded until the end",
                event["why_not"],
                0.0,
                "treat the counts of the view events as lower limits",
            )
    chaining = counters.get("chaining")
    if chaining and chaining["three_levels"] < SURE_THRESHOLD * chaining["samples"]:
        share = 1 - chaining["three_levels"] / chaining["samples"]
        yield Problem(
            f"the callers of {percent(share)} of the samples are estimates",
            f"{chaining['ambiguous_nodes']:,} of {chaining['nodes']:,} functions at a given depth "
            "have several callers; their time is divided among these",
            share,
            "record with --stacks whole for exact callers",
        )
    runtimes = {process.runtime for process in recording.processes}
    if counters.get("stacks_asked") == "chained" and "hotspot" in runtimes:
        yield Problem(
            "the stacks of Java threads are whole",
            "--stacks chained applies to CPython only; each Java sample has its whole stack",
            0.0,
            "record Java programs with --stacks whole; no data is missing",
        )
    missing: dict[str, str] = counters.get("not_entered") or {}
    if missing:
        processes = count(len(missing), "process", "processes")
        yield Problem(
            f"could not attach to {processes} of the target",
            "; ".join(
                why if pid in why else f"process {pid}: {why}" for pid, why in missing.items()
            ),
            0.0,
            "the recording has no data of these processes",
        )
    if unjoined := counters.get("unjoined_processes") or 0:
        yield Problem(
            f"{count(unjoined, 'forked child', 'forked children')} could not join the recording",
            "too many connections or file descriptors were pending, or the recorder had exited",
            0.0,
            "free CPU time for the recorder; the recording has no data of these processes",
        )
    for warning in recording.warnings:
        yield Problem("the recording is incomplete", warning, 0.0, "the data it has is valid")


def _of_cpu_timers(counters: dict[str, Any], waits: bool) -> Iterator[Problem]:
    if "cpu-timer" not in (counters["sampler"], *(counters.get("samplers") or ())):
        return
    yield Problem(
        "Java threads were sampled only at scheduler ticks",
        "the kernel checks a CPU timer at its tick, 100 to 1,000 times a second: a thread that was "
        "never on CPU at a tick has no samples, and code synchronized with the tick, such as "
        "short work after a timed wait, gets a wrong share",
        0.0,
        "permit perf events for exact shares of short work, see `sonde doctor`; locks and objects "
        "are not affected",
    )
    if waits:
        yield Problem(
            "waits of Java threads were polled",
            "every 20 ms: a shorter wait is counted in the next one observed, run-queue latency "
            "counts as waiting, and internal threads of the JVM have no waits",
            0.0,
            "use the view locks for short waits: it has all of them",
        )
    if refused := counters.get("without_timers") or 0:
        yield Problem(
            f"{count(refused, 'JVM')} had no CPU sampler",
            "the kernel refuses perf events and CPU timers (timer_create), or the user has too "
            "many pending POSIX signals (ulimit -i)",
            1.0,
            "use the views locks and objects only, or permit one of the two",
        )


def _over_budget(budget: dict[str, Any]) -> Iterator[Problem]:
    share, used = budget.get("share"), budget.get("used")
    if not isinstance(share, float) or not isinstance(used, float) or used <= share:
        return
    yield Problem(
        f"overhead was {percent(used, 1)} of a core, above the budget of {percent(share, 1)}",
        "overhead that does not depend on the rate (locks, new threads, wake-ups) is too large",
        used - share,
        "record without locks (--what cpu), or allow a larger --budget",
    )


# By the ends of the names of their counts.
WITHHELD = {
    "tracing": "while the program used sys.settrace or sys.setprofile",
    "monitoring": "while a tool of the program used sys.monitoring",
    "no_tool_id": "while every tool id of sys.monitoring was in use",
    "evaluator": "while the program evaluated its frames itself (PEP 523)",
}


def _of_locks(counters: dict[str, Any]) -> Iterator[Problem]:
    if why := counters.get("why_no_lock_activity"):
        yield Problem(
            "acquisitions of locks were not sampled everywhere",
            str(why),
            0.0,
            "contended acquisitions are recorded by --what locks",
        )


def _of_tasks(counters: dict[str, Any]) -> Iterator[Problem]:
    if why := counters.get("why_no_tasks"):
        yield Problem(
            "tasks were not recorded everywhere",
            str(why),
            0.0,
            "consider this when reading the view tasks",
        )


def _of_objects(counters: dict[str, Any]) -> Iterator[Problem]:
    if why := counters.get("why_no_objects"):
        yield Problem(
            "allocations were not sampled everywhere",
            str(why),
            0.0,
            "run the program without them to sample its allocations",
        )
    taken, dropped = counters.get("objects_taken") or 0, counters.get("objects_lost") or 0
    if dropped > LOST_THRESHOLD * (taken + dropped):
        share = dropped / (taken + dropped)
        yield Problem(
            f"{percent(share, 1)} of the object samples were lost",
            f"{dropped:,} of {taken + dropped:,} object samples were dropped because a buffer was "
            "full: estimates are too low by about this share",
            share,
            "free CPU time for the recorder",
        )
    untyped = counters.get("objects_without_type") or 0
    if untyped > TYPELESS_THRESHOLD * taken:
        yield Problem(
            f"{percent(untyped / max(taken, untyped), 1)} of the object samples have no class",
            f"the class of {untyped:,} of {taken:,} could not be read; they appear as (unknown)",
            untyped / max(taken, untyped),
            "trust estimates of a class as lower bounds",
        )
    if lost := counters.get("object_ends_lost") or 0:
        yield Problem(
            f"the ends of {count(lost, 'sampled object')} were lost",
            "these objects look alive",
            0.0,
            "consider this when reading what is alive",
        )


def _of_calls(counters: dict[str, Any]) -> Iterator[Problem]:
    if why := counters.get("why_no_calls"):
        yield Problem(
            "calls were not counted everywhere",
            str(why),
            0.0,
            "consider this when reading the view calls",
        )
    windows, missed = counters.get("windows") or 0, counters.get("windows_missed") or 0
    withheld = counters.get("windows_withheld") or 0
    if withheld > MISSED_THRESHOLD * (windows + withheld):
        yield Problem(
            f"sonde skipped {count(withheld, 'sampling window')} of calls, and opened {windows:,}",
            "; ".join(
                f"{counters[key]:,} {why}"
                for reason, why in WITHHELD.items()
                if counters.get(key := f"windows_withheld_{reason}")
            ),
            0.0,
            "turn off the tool to count the calls of that time",
        )
    if missed > MISSED_THRESHOLD * (windows + missed):
        yield Problem(
            f"{count(missed, 'sampling window')} found no Python function call",
            f"{windows:,} windows were opened; calls of C functions in the others are not counted",
            0.0,
            "trust the weights of Python functions, and of C functions called near them",
        )
