"""Events of the kernel and the processor, by the names that people know them by.

`NAME` or `NAME@PERIOD`: every PERIOD-th event is recorded with the stack that caused it.
"""

from __future__ import annotations

import errno
import os
import re
from dataclasses import dataclass
from pathlib import Path

from sonde.errors import SondeError, UsageError, invalid

from ...shm import layout as shm
from ...system import elf, perf_events

PREFIX = "event:"
MAX_EVENTS = 16
"""As many as one recording can distinguish (SONDE_MAX_EVENTS)."""

# name: (number, period unless given, what the thread itself counts of them)
_KERNEL: dict[str, tuple[int, int, int]] = {
    "cpu-clock": (0, 1_000_000, shm.MEASURE_PERIOD),
    "task-clock": (1, 1_000_000, shm.MEASURE_PERIOD),
    "page-faults": (2, 1, shm.MEASURE_FAULTS),
    "context-switches": (3, 1, shm.MEASURE_SWITCHES),
    "cpu-migrations": (4, 1, shm.MEASURE_PERIOD),
    "minor-faults": (5, 1, shm.MEASURE_MINOR_FAULTS),
    "major-faults": (6, 1, shm.MEASURE_MAJOR_FAULTS),
    "alignment-faults": (7, 1, shm.MEASURE_PERIOD),
    "emulation-faults": (8, 1, shm.MEASURE_PERIOD),
    "cgroup-switches": (11, 1, shm.MEASURE_PERIOD),
}
_PROCESSOR: dict[str, tuple[int, int]] = {
    "cycles": (0, 1_000_000),
    "instructions": (1, 1_000_000),
    "cache-references": (2, 100_000),
    "cache-misses": (3, 10_000),
    "branches": (4, 100_000),
    "branch-misses": (5, 10_000),
    "bus-cycles": (6, 100_000),
    "stalled-cycles-frontend": (7, 1_000_000),
    "stalled-cycles-backend": (8, 1_000_000),
    "ref-cycles": (9, 1_000_000),
}
_ALIASES = {
    "faults": "page-faults",
    "cs": "context-switches",
    "migrations": "cpu-migrations",
    "cpu-cycles": "cycles",
    "branch-instructions": "branches",
}
_CACHES = ("L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node")
_ACTS = {"load": 0, "store": 1, "prefetch": 2}
_CACHE_NAME = re.compile(
    rf"({'|'.join(_CACHES)})-(?:(load|store|prefetch)e?s|(load|store|prefetch)-misses)"
)
_RAW_NAME = re.compile(r"r([0-9a-fA-F]{1,16})")
_TRACEPOINT_NAME = re.compile(r"([A-Za-z0-9_]+):([A-Za-z0-9_]+)")
_UPROBE_NAME = re.compile(r"uprobe:(/[^:]+):(.+)")
_TRACEFS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")

# Each signal ends with a system call of its own, which is such an event again: there is no end.
_ENDLESS = re.compile(r"raw_syscalls:.*|syscalls:sys_(?:enter|exit)_rt_sigreturn|signal:.*")


@dataclass(frozen=True)
class KernelEvent:
    """What perf_event_open wants to know."""

    name: str
    type: int
    config: int
    period: int
    measure: int = shm.MEASURE_PERIOD
    path: str = ""
    """The file a uprobe is in, and where in it."""
    offset: int = 0

    def open(self, tid: int, sig_data: int, *, exclude_kernel: bool) -> int:
        """Signals thread `tid` and those it starts; OSError if not."""
        return perf_events.open_event(
            tid,
            self.config,
            self.period,
            sig_data | self.measure << shm.SIG_MEASURE_SHIFT,
            kind=self.type,
            exclude_kernel=exclude_kernel,
            probe=(self.path, self.offset) if self.path else None,
        )


def is_event(kind: str) -> bool:
    return kind.startswith(PREFIX)


def parse(kind: str) -> KernelEvent:
    """The event behind `event:NAME[@PERIOD]`; a UsageError if there can be none."""
    name, at, text = kind.removeprefix(PREFIX).rpartition("@")
    if not at:
        name, text = text, ""
    if at and not (text.isascii() and text.isdecimal() and 0 < int(text) < 1 << 62):
        raise UsageError(f"invalid period {text!r} in {kind!r}; give a whole number of at least 1")
    name = _ALIASES.get(name, name)
    event = _named(name)
    if not at:
        return event
    return KernelEvent(
        name, event.type, event.config, int(text), event.measure, event.path, event.offset
    )


def _named(name: str) -> KernelEvent:
    if name in _KERNEL:
        number, period, measure = _KERNEL[name]
        return KernelEvent(name, perf_events.SOFTWARE, number, period, measure)
    if name in _PROCESSOR:
        number, period = _PROCESSOR[name]
        return KernelEvent(name, perf_events.HARDWARE, number, period)
    if found := _CACHE_NAME.fullmatch(name):
        cache, access, miss = found.groups()
        number = _CACHES.index(cache) | _ACTS[access or miss] << 8 | (miss is not None) << 16
        return KernelEvent(name, perf_events.CACHE, number, 10_000 if miss else 100_000)
    if found := _RAW_NAME.fullmatch(name):
        return KernelEvent(name, perf_events.RAW, int(found[1], 16), 1_000_000)
    if found := _UPROBE_NAME.fullmatch(name):
        return _uprobe(name, found[1], found[2])
    if found := _TRACEPOINT_NAME.fullmatch(name):
        return _tracepoint(name, found[1], found[2])
    known = (*_KERNEL, *_PROCESSOR)
    raise UsageError(
        f"{invalid('event', name, known, 'events')}, caches such as L1-dcache-load-misses, "
        "raw CPU events r<hex>, tracepoints GROUP:NAME and uprobe:/FILE:SYMBOL"
    )


def _tracepoint(name: str, group: str, event: str) -> KernelEvent:
    if _ENDLESS.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be recorded: the POSIX signal of each sample triggers it again"
        )
    refused = False
    for root in _TRACEFS:
        try:
            number = int(Path(root, "events", group, event, "id").read_text())
        except PermissionError:
            refused = True
        except (OSError, ValueError):
            continue
        else:
            return KernelEvent(name, perf_events.TRACEPOINT, number, 1)
    if refused:
        raise SondeError(f"only root may read tracepoints such as {name!r}; run as root")
    if not any(os.path.isdir(f"{root}/events") for root in _TRACEFS):
        raise SondeError(
            f"the tracepoint {name!r} cannot be found; mount tracefs on /sys/kernel/tracing"
        )
    raise UsageError(f"this kernel has no tracepoint {name!r}")


def _uprobe(name: str, path: str, place: str) -> KernelEvent:
    if not os.path.isfile(path):
        raise UsageError(f"{name!r}: no file {path}")
    try:
        kind = int(Path("/sys/bus/event_source/devices/uprobe/type").read_text())
    except (OSError, ValueError):
        raise SondeError("this kernel has no uprobes") from None
    symbol, _, more = place.partition("+")
    try:
        offset = int(more, 0) if more else 0
        if symbol.startswith("0x"):
            return KernelEvent(name, kind, 0, 1, path=path, offset=int(symbol, 16) + offset)
    except ValueError:
        raise UsageError(
            f"{name!r}: {place!r} is neither a symbol nor an offset such as 0x1f40"
        ) from None
    at = elf.file_offset(path, symbol)
    if at is None:
        raise UsageError(f"{name!r}: {path} exports no symbol {symbol!r}")
    return KernelEvent(name, kind, 0, 1, path=path, offset=at + offset)


def check(event: KernelEvent) -> None:
    """A SondeError with the reason if this machine, or this user, does not have the event."""
    try:
        # Opened on ourselves and closed at once, with a period that is never reached.
        fd = perf_events.open_event(
            0,
            event.config,
            1 << 60,
            0,
            kind=event.type,
            exclude_kernel=True,
            probe=(event.path, event.offset) if event.path else None,
        )
    except OSError as error:
        raise SondeError(refusal(event, error)) from None
    os.close(fd)


def refusal(event: KernelEvent, error: OSError) -> str:
    """Why an event was refused, for a person."""
    processor = event.type in (perf_events.HARDWARE, perf_events.CACHE, perf_events.RAW)
    if processor and error.errno in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV, errno.EINVAL):
        try:
            os.close(perf_events.open_cycles(0))
        except OSError:
            return (
                f"{event.name!r} cannot be counted: this machine has no hardware counters (PMU), "
                "like most virtual machines; use kernel events, such as page-faults"
            )
        return f"{event.name!r} cannot be counted: this CPU does not have that event"
    return f"{event.name!r} cannot be counted: {perf_events.refusal(error)}"
