"""The tables of an opened recording: plain data, one dataclass per table.

Columns of numbers are NumPy arrays, columns of text are lists; row `i` of every
column of one table belongs together, and a row's number is its id. Times are
integer nanoseconds since the start of the recording.
"""

from __future__ import annotations

from dataclasses import dataclass, field, is_dataclass
from functools import partial
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from sonde.recording.chain_tables import Chained, ChainNodes, Links
from sonde.recording.flow_tables import Flow, FlowEvents, FlowRuns
from sonde.recording.lock_samples import LockCounts, LockSamples
from sonde.recording.probe_tables import Probes, ProbeValues
from sonde.recording.step_tables import StepCodes, StepLines, StepTraces, StepWords
from sonde.recording.task_tables import (
    LoopLags,
    LoopTimes,
    TaskAwaiters,
    TaskResumptions,
    Tasks,
    TaskSteps,
    TaskTimes,
    TaskWaits,
)
from sonde.recording.usage_tables import Machine, Metrics, Processors
from sonde.row_values import RUNNING

_T = TypeVar("_T")


@dataclass(frozen=True)
class Process:
    """One process the recording followed; threads point at its index."""

    pid: int
    ppid: int
    runtime: str
    version: str
    executable: str
    argv: list[str]
    start_ns: int
    end_ns: int | None = None
    """None: it still ran when the recording ended, or nobody saw its end."""
    exit: str | None = None
    number: int = 0
    """The same, with the pid, in every part of a session that has this process."""
    survival: int = 0
    """1: sampled objects were followed to their end."""
    undercounted: list[str] = field(default_factory=list)
    """Types of which the runtime hides some allocations: their estimates are lower bounds."""


@dataclass(frozen=True)
class Threads:
    """Threads; one that runs two interpreters has two rows."""

    process: NDArray[np.uint32]
    tid: NDArray[np.uint32]
    name: list[str]
    interpreter: NDArray[np.uint32]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    """-1: it still ran when the recording ended, or nobody saw its end."""
    cpu_ns: NDArray[np.int64]
    """CPU time of the row's life as the kernel counts it; -1: unknown."""
    number: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    """The same, with process and tid, in every part of a session that has this thread."""

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True)
class Functions:
    """Functions by qualified name; built-in ones have file "<built-in>" and line 0."""

    name: list[str]
    file: list[str]
    line: NDArray[np.int32]
    runtime: list[str]

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True)
class Contexts:
    """The calling context tree; `parent` is -1 for a root and else less than the own id."""

    parent: NDArray[np.int32]
    function: NDArray[np.int32]
    line: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.parent)


@dataclass(frozen=True)
class Samples:
    """Samples in the order they were written: ascending in time within one thread."""

    thread: NDArray[np.uint32]
    time: NDArray[np.int64]
    context: NDArray[np.int32]
    """-1: the sample was taken but its stack could not be decoded."""
    weight: NDArray[np.int64]
    state: NDArray[np.uint8]
    span: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    """The innermost span it lies in, -1: none. Left out: none of them lies in one."""
    processor: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    """On which it was taken, -1: unknown, as of waits. Left out: of none is it known."""
    task: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    """The id of the task that ran, in its process; 0: none. Left out: of none."""

    def __post_init__(self) -> None:
        if not len(self.task):
            object.__setattr__(self, "task", np.zeros(len(self.thread), np.uint64))
        for column in ("span", "processor"):
            if not len(getattr(self, column)):
                object.__setattr__(self, column, np.full(len(self.thread), -1, np.int32))

    def __len__(self) -> int:
        return len(self.thread)


NO_ATTRIBUTES: dict[str, str] = {}
"""Of the spans that have none: one for all of them, never changed."""


@dataclass(frozen=True)
class Spans:
    """What the program called a part of its work, from entering to leaving it."""

    thread: NDArray[np.uint32]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    """-1: it was not left before the recording ended."""
    name: list[str]
    parent: NDArray[np.int32]
    """The span it was entered in, which has a smaller number; -1: none."""
    attributes: list[dict[str, str]] = field(default_factory=list)
    """What the program stated about each. Left out: nothing about any."""
    task: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    """The id of the task that entered it, 0: none. Left out: none of any."""

    def __post_init__(self) -> None:
        if not len(self.task):
            object.__setattr__(self, "task", np.zeros(len(self.name), np.uint64))
        if not self.attributes:
            object.__setattr__(self, "attributes", [NO_ATTRIBUTES] * len(self.name))

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True)
class Marks:
    """Moments and spans that somebody named; `thread` -1: of no thread."""

    time: NDArray[np.int64]
    thread: NDArray[np.int32]
    text: list[str]
    duration_ns: NDArray[np.int64]
    """0: a moment."""

    def __len__(self) -> int:
        return len(self.text)


@dataclass(frozen=True)
class Pauses:
    """Times in which nothing was captured; they count for no thread."""

    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(frozen=True)
class Locks:
    """Locks that somebody had to wait for; one between processes belongs to who waited first."""

    process: NDArray[np.uint32]
    address: NDArray[np.uint64]
    """Of an object of Java, which moves, its identity hash."""
    made_of: list[str]
    type: list[str] = field(default_factory=list)
    """The class of what is waited for, "" where it has none; no list at all: nowhere."""

    def __len__(self) -> int:
        return len(self.made_of)


@dataclass(frozen=True)
class LockEvents:
    """What happened to locks under contention; the context is the waiter's or the owner's."""

    thread: NDArray[np.uint32]
    time: NDArray[np.int64]
    lock: NDArray[np.uint32]
    sequence: NDArray[np.uint64]
    type: NDArray[np.uint8]
    context: NDArray[np.int32]
    """-1: the event has no stack, or it could not be decoded."""
    span: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    """The innermost span in which it happened, -1: none. Left out: in none."""
    task: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    """The id of the task in which it happened, 0: none. Left out: in none."""

    def __post_init__(self) -> None:
        if not len(self.task):
            object.__setattr__(self, "task", np.zeros(len(self.thread), np.uint64))
        if not len(self.span):
            object.__setattr__(self, "span", np.full(len(self.thread), -1, np.int32))

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True)
class Types:
    """Classes of objects that were sampled."""

    name: list[str]
    runtime: list[str]

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True)
class Objects:
    """Objects that were sampled when they were allocated; at a time before 0, those of earlier
    segments that were alive when this one began."""

    thread: NDArray[np.uint32]
    time: NDArray[np.int64]
    context: NDArray[np.int32]
    """-1: its stack could not be decoded."""
    type: NDArray[np.int32]
    """-1: unknown."""
    size: NDArray[np.int64]
    every: NDArray[np.int64]
    """Bytes between two samples, on average: an object of n bytes was sampled with probability
    1 - exp(-n / every)."""
    address: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    """0: unknown, or the object moves."""
    kind: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))
    """OBJECT or NATIVE_MEMORY."""
    id: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    """Identifies it in its process; 0: it was not followed to its end."""
    died: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """When it was freed; 0: alive when the recording or its process ended, or not followed."""

    def __post_init__(self) -> None:
        types = {"address": np.uint64, "kind": np.uint8, "id": np.uint64, "died": np.int64}
        for column, dtype in types.items():
            if len(getattr(self, column)) != len(self.time):
                object.__setattr__(self, column, np.zeros(len(self.time), dtype))

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True)
class Sizes:
    """How long the code of some functions is, in the runtime's instructions."""

    function: NDArray[np.int32]
    instructions: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.function)


@dataclass(frozen=True)
class Windows:
    """Windows in which the calls of a thread were counted."""

    thread: NDArray[np.uint32]
    time: NDArray[np.int64]
    """When it was opened."""
    duration_ns: NDArray[np.int64]
    """CPU time of the thread, without what counting took."""
    stride: NDArray[np.uint32]
    """Every Nth call was counted."""
    cut: NDArray[np.uint8]
    """1: it ended before it had its calls."""
    native: NDArray[np.uint8]
    """1: calls of functions that are not the runtime's own were seen, too."""

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True)
class Calls:
    """Calls that were counted."""

    window: NDArray[np.int32]
    """-1: of a window that was lost with a damaged block."""
    context: NDArray[np.int32]
    """The callee's, as it begins; its caller stands at the line of the call. -1: no stack."""
    site: NDArray[np.uint32]
    """The instruction of the caller: a line may have several calls. 0: unknown."""
    offset_ns: NDArray[np.int64]
    """When in its window, by the clock that shows the window's duration. -1: unknown."""
    step: NDArray[np.uint8]
    """How many calls after the one counted before it, or after the window's beginning: 255 or more
    are 255. 0: unknown."""

    def __len__(self) -> int:
        return len(self.window)


@dataclass(frozen=True)
class Events:
    """Kinds of events of the kernel and the processor that were recorded."""

    name: list[str]
    period: NDArray[np.int64]
    """Every Nth was counted."""

    def __len__(self) -> int:
        return len(self.name)


MEMORY = ("", "pool", "stack", "file", "large", "eden", "survivor", "old", "humongous", "heap")
"""Kinds of memory: of small objects, of a thread's calls, of a mapped file, any other; the parts of
a Java heap, and one of which no more is known."""


@dataclass(frozen=True)
class EventSamples:
    """Events, each with the calls that caused it."""

    thread: NDArray[np.uint32]
    time: NDArray[np.int64]
    event: NDArray[np.uint32]
    context: NDArray[np.int32]
    """-1: its stack could not be decoded."""
    weight: NDArray[np.int64]
    """How many it stands for."""
    span: NDArray[np.int32]
    address: NDArray[np.uint64]
    """Of the data that it is about; 0: of none."""
    memory: NDArray[np.uint8]
    """What kind of memory that is, as in MEMORY."""
    type: NDArray[np.int32]
    """Of the object that lies there; -1: unknown."""
    offset: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.time)


def _empty(table: type[_T]) -> _T:
    columns: dict[str, Any] = {}
    for name, hint in get_type_hints(table).items():
        is_text = get_origin(hint) is list
        # NDArray[X] is ndarray[shape, dtype[X]].
        columns[name] = [] if is_text else np.zeros(0, get_args(get_args(hint)[1])[0])
    return table(**columns)


@dataclass(frozen=True)
class Recording:
    """Everything one file says."""

    path: str
    target: dict[str, Any]
    processes: list[Process]
    threads: Threads
    functions: Functions
    contexts: Contexts
    samples: Samples
    marks: Marks
    quality: dict[str, Any]
    warnings: list[str] = field(default_factory=list)
    """Sentences about what the file does not contain, e.g. that its end is missing."""
    locks: Locks = field(default_factory=partial(_empty, Locks))
    lock_events: LockEvents = field(default_factory=partial(_empty, LockEvents))
    lock_samples: LockSamples = field(default_factory=partial(_empty, LockSamples))
    lock_counts: LockCounts = field(default_factory=partial(_empty, LockCounts))
    pauses: Pauses = field(default_factory=partial(_empty, Pauses))
    spans: Spans = field(default_factory=partial(_empty, Spans))
    metrics: Metrics = field(default_factory=partial(_empty, Metrics))
    machine: Machine = field(default_factory=partial(_empty, Machine))
    types: Types = field(default_factory=partial(_empty, Types))
    objects: Objects = field(default_factory=partial(_empty, Objects))
    sizes: Sizes = field(default_factory=partial(_empty, Sizes))
    windows: Windows = field(default_factory=partial(_empty, Windows))
    calls: Calls = field(default_factory=partial(_empty, Calls))
    events: Events = field(default_factory=partial(_empty, Events))
    event_samples: EventSamples = field(default_factory=partial(_empty, EventSamples))
    chain_nodes: ChainNodes = field(default_factory=partial(_empty, ChainNodes))
    links: Links = field(default_factory=partial(_empty, Links))
    chained: Chained = field(default_factory=partial(_empty, Chained))
    processors: Processors = field(default_factory=partial(_empty, Processors))
    probes: Probes = field(default_factory=partial(_empty, Probes))
    probe_values: ProbeValues = field(default_factory=partial(_empty, ProbeValues))
    flow_runs: FlowRuns = field(default_factory=partial(_empty, FlowRuns))
    flow: Flow = field(default_factory=partial(_empty, Flow))
    flow_events: FlowEvents = field(default_factory=partial(_empty, FlowEvents))
    tasks: Tasks = field(default_factory=partial(_empty, Tasks))
    task_times: TaskTimes = field(default_factory=partial(_empty, TaskTimes))
    task_waits: TaskWaits = field(default_factory=partial(_empty, TaskWaits))
    task_resumptions: TaskResumptions = field(default_factory=partial(_empty, TaskResumptions))
    task_awaiters: TaskAwaiters = field(default_factory=partial(_empty, TaskAwaiters))
    task_steps: TaskSteps = field(default_factory=partial(_empty, TaskSteps))
    loop_times: LoopTimes = field(default_factory=partial(_empty, LoopTimes))
    loop_lags: LoopLags = field(default_factory=partial(_empty, LoopLags))
    step_traces: StepTraces = field(default_factory=partial(_empty, StepTraces))
    step_codes: StepCodes = field(default_factory=partial(_empty, StepCodes))
    step_lines: StepLines = field(default_factory=partial(_empty, StepLines))
    step_words: StepWords = field(default_factory=partial(_empty, StepWords))
    cpu_ns: int | None = None
    """The weight of all running samples, of a recording opened without its samples."""

    @property
    def sampled_cpu_ns(self) -> int:
        if self.cpu_ns is not None:
            return self.cpu_ns
        return int(self.samples.weight[self.samples.state == RUNNING].sum())


TABLE_CLASSES: dict[str, Any] = {
    name: kind for name, kind in get_type_hints(Recording).items() if is_dataclass(kind)
}
"""The tables of a recording, by their names in the file; processes are a list, and none of them."""
