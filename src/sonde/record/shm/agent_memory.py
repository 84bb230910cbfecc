"""The memory that one process's agent shares with us: what we order in it, what it has counted.

What the rings in it hold is read by decode/ring_reader.py.
"""

from __future__ import annotations

import mmap
import os
import struct
from typing import TYPE_CHECKING

from . import call_counts, flow_layout, walk_failures
from . import layout as shm
from .flow_memory import FlowMemory
from .probe_area import ProbeArea
from .slot_scan import SlotScan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_READER_MODE, _READER_NS = 5, 10


class AgentMemory:
    def __init__(
        self,
        slots: int,
        ring_size: int,
        made: int | None = None,
        area_size: int = 0,
        flow: Mapping[str, object] | None = None,
    ) -> None:
        """`made`: the descriptor of memory that the agent made; it is closed with the rest.

        `flow`: what to record of the call flow, if any of it.
        """
        self.ring_size = ring_size
        area_at = shm.size_of(slots, ring_size)
        flow_at = area_at + area_size
        self.size = flow_at + (flow_layout.SIZE if flow is not None else 0)
        self.rings_at = area_at - slots * ring_size
        self.area: ProbeArea | None = None
        """Of a session with probes or step traces."""
        self.flow: FlowMemory | None = None
        if made is not None:
            self.fd = made
            self.view = memoryview(mmap.mmap(made, self.size))
            self._scan = SlotScan(self.view, slots)
            # We rely on these two; the others are the agent's own business.
            self.view[8:16] = struct.pack("<II", slots, ring_size)
            return
        self.fd = os.memfd_create("sonde", os.MFD_CLOEXEC)
        os.ftruncate(self.fd, self.size)
        self.view = memoryview(mmap.mmap(self.fd, self.size))
        self._scan = SlotScan(self.view, slots)
        if area_size:
            self.area = ProbeArea(self.view, area_at, area_size)
        shm.HEADER.pack_into(
            self.view, 0, shm.MAGIC, shm.PROTOCOL, slots, ring_size, 0, 0, 0, 0, 0, 0, 0, 0, 0
        )
        if flow is not None:
            self.flow = FlowMemory(self.view, flow_at, flow)

    def close(self) -> None:
        self.view.release()
        os.close(self.fd)

    # ---- what we order: the agent looks there before it does anything

    def order(self, what: int, period: int) -> None:
        every = shm.ORDERS.unpack_from(self.view, shm.ORDERS_AT)[1]
        shm.ORDERS.pack_into(self.view, shm.ORDERS_AT, what, every, period)

    def order_nothing(self) -> None:
        """Until something else is ordered."""
        self.order(0, shm.ORDERS.unpack_from(self.view, shm.ORDERS_AT)[2])

    def order_calls(
        self, stride: int, samples: int, ticks: int, within: Iterable[str] = ()
    ) -> None:
        every = 1_000_000_000 // ticks
        shm.CALL_ORDERS.pack_into(self.view, shm.CALL_ORDERS_AT, stride, samples, every)
        text = "\n".join(within).encode()
        shm.CALLS_WITHIN.pack_into(self.view, shm.CALLS_WITHIN_AT, len(text))
        at = shm.CALLS_WITHIN_AT + shm.CALLS_WITHIN.size
        self.view[at : at + len(text)] = text

    def order_lock_samples(self, every: int, within: str = "") -> None:
        """One of so many acquisitions of locks, of Java programs in that package, class or
        method."""
        what, _, period = shm.ORDERS.unpack_from(self.view, shm.ORDERS_AT)
        shm.ORDERS.pack_into(self.view, shm.ORDERS_AT, what, every, period)
        name = within.encode()
        shm.LOCK_WITHIN.pack_into(self.view, shm.LOCK_WITHIN_AT, len(name), name)

    def order_events(self, periods: dict[int, int]) -> None:
        """The periods of the kernel events, by number."""
        for number, period in periods.items():
            at = shm.EVENT_PERIODS_AT + number * shm.WORD.size
            shm.WORD.pack_into(self.view, at, period)

    # ---- slots, one for each thread that has something to report

    def pending(self) -> Iterator[tuple[int, int, int]]:
        """Of each that has records, or whose thread is not known yet: its index, its thread as that
        knows itself, since when."""
        for index in self._scan.pending(self._slots()):
            base = shm.HEADER_SIZE + index * shm.SLOT_SIZE
            _, tid, claimed, _, _ = shm.SLOT_FACTS.unpack_from(self.view, base)
            yield index, tid, claimed

    def knows(self, index: int, claimed: int) -> None:
        """The thread that has it since then is known."""
        self._scan.knows(index, claimed)

    def free(self, index: int) -> None:
        """Another thread may have it; last of all it is said so."""
        self._scan.knows(index, 0)
        base = shm.HEADER_SIZE + index * shm.SLOT_SIZE
        shm.SLOT_FACTS.pack_into(self.view, base, shm.SLOT_USED, 0, 0, 0, 0)
        shm.SLOT_LOCKS.pack_into(self.view, base + shm.SLOT_LOCKS_AT, 0, 0, 0)
        self.view[base : base + 4] = shm.SLOT_FREE.to_bytes(4, "little")

    def acquisitions(self, index: int) -> int:
        """Of locks, by the thread that has this slot, since the last sample of one was written."""
        base = shm.HEADER_SIZE + index * shm.SLOT_SIZE + shm.SLOT_LOCKS_AT
        left, drawn, before = shm.SLOT_LOCKS.unpack_from(self.view, base)
        return int(before) + max(0, int(drawn) - int(left))

    def _slots(self) -> int:
        """How many were ever in use; no more than there are, whatever the target has written."""
        header: tuple[int, ...] = shm.HEADER.unpack_from(self.view, 0)
        return min(header[shm.HEADER_SLOTS_USED], header[2])

    # ---- what the agent says

    def reader_mode(self) -> int:
        """How far down the agent's own thread had to go to read the others."""
        mode: int = shm.HEADER.unpack_from(self.view, 0)[_READER_MODE]
        return mode

    def reader_ns(self) -> int:
        """The CPU time of the agent's own thread."""
        used: int = shm.HEADER.unpack_from(self.view, 0)[_READER_NS]
        return used

    def self_armed(self) -> tuple[int, int]:
        """When the process armed itself, and its CPU time then."""
        since, cpu = shm.SELF_ARMED.unpack_from(self.view, shm.SELF_ARMED_AT)
        return since, cpu

    def ordered(self) -> tuple[int, int]:
        """What the agent captures now, and its period."""
        what, _, period = shm.ORDERS.unpack_from(self.view, shm.ORDERS_AT)
        return what, period

    def endless(self) -> int:
        """Kernel events that nothing but their own signals causes, bits by number."""
        bits: int = shm.ENDLESS.unpack_from(self.view, shm.ENDLESS_AT)[0]
        return bits

    def why_no_calls(self) -> str:
        """Why calls are not counted, if so."""
        why = call_counts.REFUSALS.get(shm.CALLS.unpack_from(self.view, shm.CALLS_AT)[0], "")
        withheld = shm.WITHHELD.unpack_from(self.view, shm.WITHHELD_AT)
        if why or not any(withheld) or self._windows_opened():
            return why
        return call_counts.why_withheld(withheld)

    def why_no_objects(self) -> str:
        """Why allocations are not sampled, if so."""
        state = shm.OBJECTS.unpack_from(self.view, shm.OBJECTS_AT)[0]
        if state != shm.OBJECTS_ALLOCATOR:
            return ""
        return "the interpreter does not use its own allocator (PYTHONMALLOC, -X dev)"

    def why_no_flow(self) -> str:
        """Why no call flow is recorded, if so."""
        return "" if self.flow is None else self.flow.why_none()

    def why_no_tasks(self) -> str:
        """Why tasks of event loops are not recorded, if so."""
        state = shm.TASKS.unpack_from(self.view, shm.TASKS_AT)[0]
        return shm.NO_TASKS.get(state, "")

    def why_no_lock_activity(self) -> str:
        """Why acquisitions of locks are not sampled, if so."""
        state = shm.LOCK_ACTIVITY.unpack_from(self.view, shm.LOCK_ACTIVITY_AT)[0]
        return shm.NO_LOCK_ACTIVITY.get(state, "")

    def object_share(self) -> tuple[int, int]:
        """For how long windows of allocations were open, of how much CPU time, at last."""
        open_ns, cpu_ns = shm.OBJECT_SHARE_NOW.unpack_from(self.view, shm.OBJECT_SHARE_NOW_AT)
        return open_ns, cpu_ns

    def _windows_opened(self) -> bool:
        slots = (shm.HEADER_SIZE + index * shm.SLOT_SIZE for index in range(self._slots()))
        return any(
            shm.SLOT_CALL_COUNTS.unpack_from(self.view, base + shm.CALL_COUNTS_AT)[2]
            for base in slots
        )

    def counts(self, runtime: str) -> dict[str, int]:
        header = shm.HEADER.unpack_from(self.view, 0)
        withheld = shm.WITHHELD.unpack_from(self.view, shm.WITHHELD_AT)
        words = self._scan.total(self._slots())
        at = shm.HEAD_AT // 8
        _, taken, lost, undecodable, truncated, agent_ns, waits, duplicate = words[at : at + 8]
        at = shm.LOCK_COUNTS_AT // 8
        lock_events, lock_events_lost = words[at : at + 2]
        at = shm.CALL_COUNTS_AT // 8
        calls, calls_lost, opened, missed = words[at : at + 4]
        at = shm.FRAMES_AT // 8
        frames, visited = words[at : at + 2]
        return {
            "taken": taken,
            "lost": lost,
            "undecodable": undecodable,
            "truncated": truncated,
            "agent_cpu_ns": agent_ns + header[_READER_NS],
            "events_lost": lost + header[6] + lock_events_lost + header[12] + calls_lost,
            "lock_events": lock_events,
            "lock_events_lost": lock_events_lost,
            **call_counts.counts(calls, calls_lost, opened, missed, withheld),
            "waits": waits,
            "duplicate_signals": duplicate,
            "late_signals": header[7],
            "frames": frames,
            "frames_visited": visited,
            **self._checked(),
            **self._unjoined(),
            **self._of_objects(),
            "unnamed_code": header[8],
            "faults": header[9],
            **self._unwalked(runtime),
        }

    def _checked(self) -> dict[str, int]:
        """Walks that were made twice, if that was asked for."""
        checked, wrong = shm.WALKS.unpack_from(self.view, shm.WALKS_AT)
        return {"walks_checked": checked, "walks_wrong": wrong} if checked else {}

    def _unjoined(self) -> dict[str, int]:
        """Forked children that could not join the session, if there were any."""
        count = shm.WORD.unpack_from(self.view, shm.UNJOINED_AT)[0]
        return {"unjoined_processes": count} if count else {}

    def _of_objects(self) -> dict[str, int]:
        """Samples of objects, and the time they took, if there were any; and lost ends."""
        taken, lost, agent_ns = shm.OBJECT_COUNTS.unpack_from(self.view, shm.OBJECT_COUNTS_AT)
        counts = {"objects_taken": taken, "objects_lost": lost, "object_agent_ns": agent_ns}
        ends_lost = shm.WORD.unpack_from(self.view, shm.OBJECT_ENDS_LOST_AT)[0]
        return {
            **(counts if taken or lost else {}),
            **({"object_ends_lost": ends_lost} if ends_lost else {}),
        }

    def _unwalked(self, runtime: str) -> dict[str, int]:
        """Stacks that the runtime itself could not walk, by reason; they are undecodable."""
        counts = shm.UNWALKED.unpack_from(self.view, shm.UNWALKED_AT)
        reasons = walk_failures.REASONS.get(runtime, ())
        return {f"unwalked_{name}": n for name, n in zip(reasons, counts, strict=False) if n}
