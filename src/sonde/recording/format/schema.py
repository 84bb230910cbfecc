"""The tables a recording holds, declared once for writer and reader.

A new table is an entry in `TABLES`. The declaration is also written into every
file, so a reader finds its way in files that have more or fewer tables and
columns than it knows itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sonde.row_values import (
    ACQUIRED_MASK,
    MAX_FLOW_KIND,
    NATIVE_MEMORY,
    PREEMPTED,
    PREEXISTING,
    TASK_GROUP,
    VALUE_TEXT,
    WOKEN_THREAD,
)

INTEGERS: dict[str, tuple[int, int]] = {
    "u8": (0, 2**8 - 1),
    "u16": (0, 2**16 - 1),
    "u32": (0, 2**32 - 1),
    "u64": (0, 2**64 - 1),
    "i32": (-(2**31), 2**31 - 1),
    "i64": (-(2**63), 2**63 - 1),
}
FLOAT = "f64"
TEXT = "text"
TEXTS = "texts"
TYPES = frozenset(INTEGERS) | {FLOAT, TEXT, TEXTS}

# Threads that the kernel does not know have their runtime's number, above all that it gives.
VIRTUAL_TID = 1 << 31

# Sums of many times must not leave 64 bits; 2**60 ns are 36 years.
TIME_LIMIT = 2**60


class Column(NamedTuple):
    """One column; `default` None means that every row must bring a value."""

    name: str
    type: str
    default: Any = None
    refers: str = ""
    """The table whose row number this is. In a signed column -1 means none."""
    ascending: bool = False
    """Neighbours are close to each other, so the file holds their differences."""
    low: int | None = None
    high: int | None = None
    """Narrower bounds than the type's, where a value outside cannot be meant."""

    @property
    def bounds(self) -> tuple[int, int]:
        low, high = INTEGERS[self.type]
        return (
            low if self.low is None else self.low,
            high if self.high is None else self.high,
        )


class Table(NamedTuple):
    name: str
    columns: tuple[Column, ...]


def _time(name: str, default: int | None = None, ascending: bool = False) -> Column:
    return Column(
        name, "i64", default=default, ascending=ascending, low=-TIME_LIMIT, high=TIME_LIMIT
    )


# States which rows of a session's parts are the same process or thread, together with its id.
_NUMBER = Column("number", "u64", default=0)

# The order is the order of blocks within one flush: a table comes after those
# it points at, so that a flush torn in its middle leaves nothing dangling.
TABLES: tuple[Table, ...] = (
    Table(
        "processes",
        (
            Column("pid", "u32"),
            Column("ppid", "u32"),
            Column("runtime", TEXT),
            Column("version", TEXT),
            Column("executable", TEXT),
            Column("argv", TEXTS),
            _time("start_ns"),
            _time("end_ns", default=-1),
            Column("exit", TEXT, default=""),
            _NUMBER,
            Column("survival", "u8", default=0, high=1),
            Column("undercounted", TEXTS, default=()),
        ),
    ),
    Table(
        "threads",
        (
            Column("process", "u32", refers="processes"),
            Column("tid", "u32"),
            Column("name", TEXT, default=""),
            Column("interpreter", "u32", default=0),
            _time("start_ns", default=0),
            _time("end_ns", default=-1),
            _time("cpu_ns", default=-1),
            _NUMBER,
        ),
    ),
    Table(
        "functions",
        (
            Column("name", TEXT),
            Column("file", TEXT),
            Column("line", "i32", default=0),
            Column("runtime", TEXT, default="cpython"),
        ),
    ),
    Table(
        "contexts",
        (
            Column("parent", "i32", refers="contexts"),
            Column("function", "i32", refers="functions"),
            Column("line", "i32", default=0),
        ),
    ),
    Table(
        "spans",
        (
            Column("thread", "u32", refers="threads"),
            _time("start_ns", ascending=True),
            Column("name", TEXT),
            Column("parent", "i32", default=-1, refers="spans"),
            # In which it was entered, as in samples.
            Column("task", "u64", default=0),
        ),
    ),
    # Ends come later, one for each span: too many to be updates of the rows above.
    Table("span_ends", (Column("span", "i32", refers="spans"), _time("time", ascending=True))),
    Table(
        "samples",
        (
            Column("thread", "u32", refers="threads"),
            _time("time", ascending=True),
            Column("context", "i32", refers="contexts"),
            Column("weight", "i64", low=0, high=2**56),
            Column("state", "u8", default=0, high=PREEMPTED),
            Column("span", "i32", default=-1, refers="spans"),
            Column("processor", "i32", default=-1, low=-1),
            # The number of a row of `tasks` in the process; 0: none.
            Column("task", "u64", default=0),
        ),
    ),
    Table(
        "locks",
        (
            Column("process", "u32", refers="processes"),
            Column("address", "u64"),
            Column("made_of", TEXT),
            Column("type", TEXT, default=""),
        ),
    ),
    Table(
        "lock_events",
        (
            Column("thread", "u32", refers="threads"),
            _time("time", ascending=True),
            Column("lock", "u32", refers="locks"),
            Column("sequence", "u64"),
            Column("type", "u8", high=PREEXISTING),
            Column("context", "i32", refers="contexts"),
            Column("span", "i32", default=-1, refers="spans"),
            # As in samples.
            Column("task", "u64", default=0),
        ),
    ),
    Table(
        "marks",
        (
            _time("time", ascending=True),
            Column("thread", "i32", default=-1, refers="threads"),
            Column("text", TEXT),
            _time("duration_ns", default=0),
        ),
    ),
    Table("pauses", (_time("start_ns"), _time("end_ns"))),
    # What a thread used between `time` and the row before it; -1: not counted on that machine.
    Table(
        "metrics",
        (
            Column("thread", "u32", refers="threads"),
            _time("time", ascending=True),
            _time("cpu_ns"),
            _time("run_delay_ns"),
            Column("voluntary", "i64", default=-1),
            Column("involuntary", "i64", default=-1),
            Column("migrations", "i64", default=-1),
            Column("minor_faults", "i64", default=-1),
            Column("major_faults", "i64", default=-1),
            Column("cycles", "i64", default=-1),
            Column("instructions", "i64", default=-1),
            Column("cache_misses", "i64", default=-1),
            Column("branch_misses", "i64", default=-1),
        ),
    ),
    # The same of the machine and of a process's control group: what others took.
    Table(
        "machine",
        (
            Column("process", "u32", refers="processes"),
            _time("time", ascending=True),
            _time("busy_ns"),
            _time("idle_ns"),
            _time("steal_ns"),
            _time("throttled_ns"),
        ),
    ),
    Table(
        "types",
        (
            Column("name", TEXT),
            Column("runtime", TEXT),
        ),
    ),
    Table(
        "objects",
        (
            Column("thread", "u32", refers="threads"),
            _time("time", ascending=True),
            Column("context", "i32", refers="contexts"),
            Column("type", "i32", refers="types"),
            Column("size", "i64", low=0, high=2**56),
            Column("every", "i64", low=0, high=2**56),
            # Of the object itself, where it does not move; 0: unknown.
            Column("address", "u64", default=0),
            Column("kind", "u8", default=0, high=NATIVE_MEMORY),
            # Identifies it in its process, if its end is recorded; 0: that is not followed.
            Column("id", "u64", default=0),
        ),
    ),
    # How long a function's code is, of those whose length is known.
    Table("sizes", (Column("function", "i32", refers="functions"), Column("instructions", "u32"))),
    # Windows in which calls were counted, and those calls: the context is the callee's.
    Table(
        "windows",
        (
            Column("thread", "u32", refers="threads"),
            _time("time", ascending=True),
            _time("duration_ns"),
            Column("stride", "u32", default=1),
            Column("cut", "u8", default=0, high=1),
            Column("native", "u8", default=1, high=1),
        ),
    ),
    Table(
        "calls",
        (
            Column("window", "i32", refers="windows", ascending=True),
            Column("context", "i32", refers="contexts"),
            Column("site", "u32", default=0),
            _time("offset_ns", default=-1),
            Column("step", "u8", default=0),
        ),
    ),
    # Kinds of events of the kernel and the processor; each `period`-th is recorded.
    Table(
        "events",
        (
            Column("name", TEXT),
            Column("period", "i64", low=1),
        ),
    ),
    Table(
        "event_samples",
        (
            Column("thread", "u32", refers="threads"),
            _time("time", ascending=True),
            Column("event", "u32", refers="events"),
            Column("context", "i32", refers="contexts"),
            Column("weight", "i64", low=0, high=2**56),
            Column("span", "i32", default=-1, refers="spans"),
            # What it was about, where it was about data: 0, or the address and what lies there.
            Column("address", "u64", default=0),
            Column("memory", "u8", default=0, high=9),
            Column("type", "i32", default=-1, refers="types"),
            Column("offset", "i32", default=0),
        ),
    ),
    # What samples say that know only a function and its caller, each at a depth: the tree is put
    # together from them when the recording is read.
    Table(
        "chain_nodes",
        (
            Column("function", "i32", refers="functions"),
            Column("depth", "i64", low=0, high=2**56),
        ),
    ),
    Table(
        "links",
        (
            Column("node", "i32", refers="chain_nodes"),
            Column("caller", "i32", refers="chain_nodes"),
            Column("line", "i32", default=0),
        ),
    ),
    Table(
        "chained",
        (
            Column("thread", "u32", refers="threads"),
            _time("time", ascending=True),
            Column("link", "i32", refers="links"),
            Column("line", "i32"),
            Column("weight", "i64", low=0, high=2**56),
            Column("event", "i32", default=-1, refers="events"),
            Column("processor", "i32", default=-1, low=-1),
        ),
    ),
    # As `machine`, of one processor: when time was stolen from it, and else now and then.
    Table(
        "processors",
        (
            Column("process", "u32", refers="processes"),
            _time("time", ascending=True),
            Column("processor", "u32"),
            _time("busy_ns"),
            _time("steal_ns"),
        ),
    ),
    # Facts that a program stated about its spans; the key "name" replaces the name.
    Table(
        "span_attributes",
        (Column("span", "i32", refers="spans"), Column("key", TEXT), Column("value", TEXT)),
    ),
    # As `span_ends`: objects that were freed, and when.
    Table(
        "object_ends",
        (Column("object", "i32", refers="objects"), _time("time", ascending=True)),
    ),
    # Values read at lines. Of each probe in each process: how often the line was reached, how often
    # the value was read, what was lost, and why others could not be read ("count<tab>reason").
    Table(
        "probes",
        (
            Column("process", "u32", refers="processes"),
            Column("file", TEXT),
            Column("line", "u32"),
            Column("expression", TEXT),
            Column("every", "u32", default=1, low=1),
            _time("added_ns", default=0),
            _time("removed_ns", default=-1),
            Column("hits", "u64", default=0),
            Column("sampled", "u64", default=0),
            Column("lost", "u64", default=0),
            Column("places", "u32", default=0),
            Column("trouble", TEXT, default=""),
            Column("failures", TEXTS, default=[]),
        ),
    ),
    Table(
        "probe_values",
        (
            Column("probe", "u32", refers="probes"),
            Column("thread", "u32", refers="threads"),
            _time("time", ascending=True),
            Column("context", "i32", refers="contexts"),
            Column("span", "i32", default=-1, refers="spans"),
            Column("kind", "u8", default=0, high=VALUE_TEXT),
            Column("type", "i32", default=-1, refers="types"),
            Column("number", "i64", default=0),
            Column("real", FLOAT, default=0.0),
            Column("text", TEXT, default=""),
        ),
    ),
    # How the call flow of a process was recorded, up to `time`; counts are since the row before.
    Table(
        "flow_runs",
        (
            Column("process", "u32", refers="processes"),
            _time("time", ascending=True),
            Column("metric", TEXT),
            Column("calibrated", "u8", default=0, high=1),
            # What is left of the cost of an event after calibration, in the metric's unit.
            Column("residual", FLOAT, default=0.0),
            Column("events", "i64", default=0),
            Column("unlearnt", "i64", default=0),
            Column("lost_calls", "i64", default=0),
            Column("lost_events", "i64", default=0),
        ),
    ),
    # What happened in a calling context of one thread since the row before about it: the metric of
    # the function itself as measured, and what of that recording took.
    Table(
        "flow",
        (
            Column("thread", "u32", refers="threads"),
            Column("context", "i32", refers="contexts"),
            Column("calls", "i64", low=0),
            Column("resumptions", "i64", default=0, low=0),
            Column("exceptions", "i64", default=0, low=0),
            Column("measured", "i64", low=0),
            Column("overhead", "i64", default=0, low=0),
            Column("preexisting", "i64", default=0, low=0),
        ),
    ),
    # Entries and exits; `measured` is the metric since the event of the thread before this one.
    Table(
        "flow_events",
        (
            Column("thread", "u32", refers="threads"),
            _time("time", ascending=True),
            Column("context", "i32", refers="contexts"),
            Column("kind", "u8", high=MAX_FLOW_KIND),
            Column("measured", "i64", low=0),
        ),
    ),
    # Tasks of event loops. The other tables speak of them by their numbers, because a sample may be
    # written before anything is known of its task.
    Table(
        "tasks",
        (
            Column("process", "u32", refers="processes"),
            Column("id", "u64"),
            Column("kind", "u8", high=TASK_GROUP),
            Column("name", TEXT, default=""),
            Column("function", "i32", default=-1, refers="functions"),
            Column("parent", "u64", default=0),
            _time("created_ns", default=-1),
        ),
    ),
    # What each did since its row before.
    Table(
        "task_times",
        (
            Column("process", "u32", refers="processes"),
            _time("time", ascending=True),
            Column("task", "u64"),
            Column("steps", "u32"),
            Column("tasks", "u32"),
            _time("running_ns"),
            _time("ready_ns"),
            _time("suspended_ns"),
            _time("caused_ns"),
            Column("ended", "u8", default=0, high=1),
        ),
    ),
    # Steps that began after a long wait, and steps that were long or waited for.
    Table(
        "task_waits",
        (
            Column("thread", "u32", refers="threads"),
            _time("time", ascending=True),
            Column("task", "u64"),
            _time("ready_ns"),
            _time("suspended_ns"),
            Column("waker", "u64", default=0),
            Column("woken", "u8", default=0, high=WOKEN_THREAD),
            Column("context", "i32", default=-1, refers="contexts"),
            # The address of what its innermost coroutine is a method of; 0: unknown.
            Column("object", "u64", default=0),
        ),
    ),
    Table(
        "task_steps",
        (
            Column("thread", "u32", refers="threads"),
            _time("time", ascending=True),
            Column("task", "u64"),
            _time("duration_ns"),
            _time("caused_ns"),
        ),
    ),
    # How long callbacks of a loop waited since its row before, and how many for how long.
    Table(
        "loop_times",
        (
            Column("thread", "u32", refers="threads"),
            _time("time", ascending=True),
            Column("runtime", TEXT),
            Column("steps", "u32"),
            _time("ready_ns"),
            _time("max_ns"),
        ),
    ),
    Table(
        "loop_lags",
        (
            Column("thread", "u32", refers="threads"),
            _time("time", ascending=True),
            _time("below_ns"),
            Column("count", "u32"),
        ),
    ),
    # Sampled acquisitions of locks, at the time each was acquired. `counted`: how many the thread
    # made since its last sample, with this one.
    Table(
        "lock_samples",
        (
            Column("thread", "u32", refers="threads"),
            _time("time", ascending=True),
            Column("lock", "u32", refers="locks"),
            Column("context", "i32", refers="contexts"),
            Column("every", "u32", low=1),
            Column("counted", "u32"),
            Column("flags", "u8", default=0, high=ACQUIRED_MASK),
            _time("wait_ns", default=0),
            _time("hold_ns", default=-1),
            Column("span", "i32", default=-1, refers="spans"),
            _time("spin_ns", default=-1),
        ),
    ),
    # Acquisitions that a thread made after its last sample.
    Table(
        "lock_counts",
        (
            Column("thread", "u32", refers="threads"),
            _time("time", ascending=True),
            Column("counted", "i64", low=0, high=2**56),
        ),
    ),
    # Step traces, one for each process; the code objects that occur in them, and from which
    # instruction on they are at which line; the words of each thread (sonde.model.steps), each byte
    # as a character.
    Table(
        "step_traces",
        (
            Column("process", "u32", refers="processes"),
            Column("span", TEXT, default=""),
            _time("start_ns", default=0),
            _time("end_ns", default=0),
            Column("spans", "u64", default=0),
            Column("full", "u8", default=0, high=1),
            Column("trouble", TEXT, default=""),
        ),
    ),
    Table(
        "step_codes",
        (
            Column("trace", "u32", refers="step_traces"),
            Column("code", "u64"),
            Column("function", "i32", refers="functions"),
        ),
    ),
    Table(
        "step_lines",
        (
            Column("code", "u32", refers="step_codes"),
            Column("index", "u32"),
            Column("line", "i32"),
        ),
    ),
    Table(
        "step_words",
        (
            Column("trace", "u32", refers="step_traces"),
            Column("tid", "u32"),
            Column("number", "u64"),
            Column("words", TEXT),
        ),
    ),
    # Who made tasks ready that had been suspended for long, with the stack of its thread.
    Table(
        "task_resumptions",
        (
            Column("thread", "u32", refers="threads"),
            _time("time", ascending=True),
            Column("task", "u64"),
            Column("waker", "u64", default=0),
            Column("woken", "u8", default=0, high=WOKEN_THREAD),
            # How long before this the thread had done so last; -1: unknown.
            _time("since_ns", default=-1),
            # What it had run for an executor.
            Column("function", "i32", default=-1, refers="functions"),
            Column("context", "i32", default=-1, refers="contexts"),
        ),
    ),
    # From when on a task was awaited by which one, and in which of its coroutines.
    Table(
        "task_awaiters",
        (
            Column("process", "u32", refers="processes"),
            _time("time", ascending=True),
            Column("task", "u64"),
            Column("awaiter", "u64"),
            Column("context", "i32", default=-1, refers="contexts"),
        ),
    ),
)


def declare(tables: tuple[Table, ...]) -> list[dict[str, Any]]:
    """The declaration as it stands in a file; a table's number is its place in the list."""
    declared: list[dict[str, Any]] = []
    for table in tables:
        columns: list[dict[str, Any]] = []
        for column in table.columns:
            entry: dict[str, Any] = {"name": column.name, "type": column.type}
            if column.refers:
                entry["refers"] = column.refers
            columns.append(entry)
        declared.append({"name": table.name, "columns": columns})
    return declared
