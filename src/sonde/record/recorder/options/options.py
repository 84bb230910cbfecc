"""What to record and where to, and whether what was asked for can be."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from sonde.errors import UsageError, did_you_mean
from sonde.model.trees.partial_tree import DEFAULT_MEMORY

from ...shm import layout as shm
from . import kernel_events
from .flow_options import FlowOptions
from .lock_options import LockSampling
from .modes import Mode
from .probe_text import Probe
from .segment_storage import memory_files

DEFAULT_RATE = 1000
MAX_RATE = 20_000
KINDS = (
    "cpu", "locks", "waits", "threads", "objects", "calls", "flow", "probes", "tasks",
    "lock-activity",
)  # fmt: skip
DEFAULT_WHAT = "cpu,locks"
# Threads that may be sampled at the same time, and bytes that may wait per thread.
SLOTS = 4096
RING_SIZE = 256 << 10
# The same for lists of events, of which a thread has millions a second.
SLOTS_OF_EVENTS = 1024
RING_SIZE_OF_EVENTS = 4 << 20
# Of a step trace, if nothing else is asked for: bytes, and how long it lasts at most.
STEPS_ROOM = 64 << 20
MAX_STEPS_NS = 1 << 60


@dataclass(frozen=True)
class CallOptions:
    """How calls are counted: windows a second of CPU time, calls in each, and every Nth."""

    stride: int = 4
    samples: int = 8
    ticks: int = 100
    within: tuple[str, ...] = ()
    """Packages and classes of Java whose calls are counted; none: all of the program's own."""


@dataclass(frozen=True)
class StepOptions:
    """A step trace: of spans of this name; or of all threads, for so long."""

    span: str = ""
    duration_ns: int = MAX_STEPS_NS
    room: int = STEPS_ROOM
    """Bytes for it; when they are used, it ends."""
    alone: bool = False
    """The recording ends with it."""


@dataclass
class Options:
    """What to record and where to."""

    path: str
    program: str
    argv: list[str]
    pid: int
    what: list[str] = field(default_factory=lambda: DEFAULT_WHAT.split(","))
    rate: int = DEFAULT_RATE
    sampler: str = "auto"
    stacks: str = "whole"
    """Whole, or chained: of each sample a function and its caller."""
    children: bool = True
    calls: CallOptions = CallOptions()
    flow: FlowOptions = field(default_factory=FlowOptions)
    lock_sampling: LockSampling = field(default_factory=LockSampling)
    """One of so many acquisitions of locks is sampled."""
    attached: bool = False
    """The target runs already: the recorder reports its progress, and ends with who started it."""
    place: dict[str, Any] | None = None
    """Where the target reaches the session's socket, if not where we do."""
    mode: Mode = field(default_factory=Mode)
    budget: float | None = None
    """The share of one core that recording may cost; the rate follows."""
    online: int | None = None
    """Bytes for the profile that can be asked for while it runs; None: as the mode has it."""
    memory: list[int] | None = None
    """Files of ours for mode wrap, which outlive the recorder."""
    probes: list[Probe] = field(default_factory=list)
    """Set from the beginning; they need "probes" in `what`."""
    steps: StepOptions | None = None
    """Of a step trace; it needs "steps" in `what`."""
    session: dict[str, Any] | None = None
    """The session that this recorder goes on with, and the number of its first segment."""

    @property
    def slots(self) -> int:
        return SLOTS_OF_EVENTS if self.flow.events else SLOTS

    @property
    def ring_size(self) -> int:
        return RING_SIZE_OF_EVENTS if self.flow.events else RING_SIZE


def with_shared_memory(options: Options) -> Options:
    """The same, with memory of ours for what would be lost with its recorder."""
    if options.mode.name != "wrap":
        return options
    return replace(options, memory=memory_files())


def online_memory(options: Options) -> int:
    """Bytes; 0: there is none. Sessions that are left on have one that outlives their segments."""
    if options.stacks != "whole":
        return 0
    if options.online is not None:
        return options.online
    left_on = options.mode.name == "wrap" or options.budget is not None
    return DEFAULT_MEMORY if left_on else 0


def parse_what(
    what: str | Iterable[str],
    option: str = "--what",
    base: Iterable[str] = tuple(DEFAULT_WHAT.split(",")),
) -> list[str]:
    """The list behind --what. One of `+waits` and `-locks` changes `base` instead."""
    parts = what.split(",") if isinstance(what, str) else map(str, what)
    entries = [part.strip() for part in parts if part.strip()]
    takes = (
        f"valid kinds for {option}: {', '.join(KINDS)}, {kernel_events.PREFIX}NAME[@PERIOD]; "
        "+KIND adds to the default, -KIND removes from it"
    )
    changes = [entry[0] in "+-" for entry in entries]
    if any(changes) and not all(changes):
        raise UsageError(f"{option} mixes plain kinds with +KIND or -KIND; use one form")
    kinds = [
        entry[1:].strip() if change else entry
        for entry, change in zip(entries, changes, strict=True)
    ]
    for kind in kinds:
        if kernel_events.is_event(kind):
            kernel_events.check(kernel_events.parse(kind))
        elif kind not in KINDS:
            raise UsageError(f"invalid kind {kind!r}{did_you_mean(kind, KINDS)}; {takes}")
    if any(changes):
        kinds = _changed(list(base), entries, kinds, option)
    if not kinds:
        raise UsageError(f"{option} is empty; {takes}")
    if sum(map(kernel_events.is_event, set(kinds))) > kernel_events.MAX_EVENTS:
        raise UsageError(f"{option} has more than {kernel_events.MAX_EVENTS} events; give fewer")
    return kinds


def _changed(base: list[str], entries: list[str], kinds: list[str], option: str) -> list[str]:
    for entry, kind in zip(entries, kinds, strict=True):
        if entry[0] == "+":
            base += [kind] if kind not in base else []
        elif kind in base:
            base.remove(kind)
        else:
            raise UsageError(
                f"{option} {entry} removes {kind}, which is not in the list "
                f"{','.join(base) or 'of kinds'}"
            )
    return base


def check_rate(rate: int, option: str = "--rate") -> int:
    if not 1 <= rate <= MAX_RATE:
        raise UsageError(
            f"{option} must be between 1 and {MAX_RATE} samples per second, not {rate}"
        )
    return rate


def check_calls(
    kinds: list[str],
    rate: int,
    stride: int | None,
    samples: int | None,
    ticks: int | None,
    within: Iterable[str] = (),
) -> tuple[int, CallOptions]:
    """The rate of samples, and the options of calls; a window opens at a sample's tick."""
    usual = CallOptions()
    for name, value, most in (("stride", stride, 1000), ("samples", samples, 10_000)):
        if value is not None and not 1 <= value <= most:
            raise UsageError(f"--{name} must be between 1 and {most} calls, not {value}")
    names = _names_of_classes(within)
    if "calls" not in kinds:
        if names:
            raise UsageError("--calls-in needs --what calls")
        for name, value in (("stride", stride), ("samples", samples), ("ticks", ticks)):
            if value is not None:
                raise UsageError(f"--{name} needs --what calls")
        return rate, usual
    windows = usual.ticks if ticks is None else check_rate(ticks, "--ticks")
    if "cpu" not in kinds:
        rate = windows
    elif windows > rate:
        if ticks is not None:
            raise UsageError(
                f"a window opens with a sample, so --ticks {windows} cannot exceed the rate "
                f"of {rate}"
            )
        windows = rate
    return rate, CallOptions(stride or usual.stride, samples or usual.samples, windows, names)


def _names_of_classes(within: Iterable[str]) -> tuple[str, ...]:
    names = tuple(name.strip() for name in within)
    for name in names:
        if not all(part.isidentifier() for part in re.split(r"[.$]", name)):
            raise UsageError(
                f"--calls-in {name!r} is no Java package or class, such as com.shop.orders"
            )
    if len("\n".join(names).encode()) > shm.MAX_CALLS_WITHIN:
        raise UsageError(f"--calls-in takes at most {shm.MAX_CALLS_WITHIN} bytes in all")
    return names
