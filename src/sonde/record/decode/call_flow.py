"""The call flow of a process: the nodes that its agent counts in become rows of contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..shm import flow_layout
from ..tables.stacks.contexts import UNKNOWN

if TYPE_CHECKING:
    from ..shm.flow_memory import FlowMemory
    from ..tables.segment import ProcessSegment
    from ..tables.stacks.contexts import Codes, Contexts
    from ..tables.thread_time import ThreadTime

ROOT_NODES = 1 + flow_layout.PENDING_EVENTS * flow_layout.EVENT.size // flow_layout.NODE_SIZE


class _Counts(NamedTuple):
    calls: int = 0
    resumptions: int = 0
    exceptions: int = 0
    measured: int = 0
    overhead: int = 0
    preexisting: int = 0


class CallFlow:
    def __init__(
        self,
        segment: ProcessSegment,
        contexts: Contexts,
        codes: Codes,
        memory: FlowMemory | None,
    ) -> None:
        self._segment = segment
        self._contexts = contexts
        self._codes = codes
        self._memory = memory
        self._threads: dict[int, ThreadTime] = {}
        """By the root of their tree."""
        self._rows: dict[int, int] = {}
        """Contexts by node, of this segment."""
        self._written: dict[int, _Counts] = {}
        """What rows say of each node so far."""
        self._states = (0, 0, 0)
        self._events = 0
        self._ended = False

    def thread_begins(self, root: int, thread: ThreadTime) -> None:
        self._threads[root] = thread

    def add_events(self, root: int, data: memoryview) -> None:
        """Events of a thread, as they are in its ring or behind its root.

        KeyError, and nothing is written, while a function is unknown: its name is in another ring.
        """
        memory, thread, segment = self._memory, self._threads.get(root), self._segment
        if memory is None or thread is None:
            return
        state = memory.state()
        row = thread.row(0)
        events = list(flow_layout.EVENT.iter_unpack(data))
        contexts = [self._context(node) for _, node, _ in events]
        for (tick, _, measured), context in zip(events, contexts, strict=True):
            time = state.start_ns + round(((tick >> 4) - state.start_tick) * state.ns_per_tick)
            segment.writer.append(
                "flow_events", row, time - segment.origin, context, tick & 15,
                memory.in_units(measured, state),
            )  # fmt: skip

    def start_segment(self) -> None:
        self._rows.clear()
        for thread in self._threads.values():
            if not thread.is_listed:
                thread.rows = {}  # of a thread that is over, in an old segment

    def write(self, now: int) -> None:
        """Rows of all that happened since they were last written."""
        memory = self._memory
        if memory is None or not memory.state().used:
            return
        segment, state = self._segment, memory.state()
        roots: dict[int, int] = {}
        events = 0
        for node, at in memory.nodes(state.used):
            _, _, parent, _, calls, measured, overhead, resumed, exceptions, preexisting = at
            if not parent:
                roots[node] = resumed
                continue
            counts = _Counts(
                calls, resumed, exceptions, memory.in_units(measured, state),
                memory.in_units(overhead, state), preexisting,
            )  # fmt: skip
            before = self._written.get(node, _Counts())
            events += 2 * (calls + resumed)
            if counts == before:
                continue
            thread = self._threads.get(self._root_of(node))
            if thread is None:
                continue
            try:
                context = self._context(node)
            except KeyError:  # its name comes with the next segment
                continue
            self._written[node] = counts
            since = (max(new - old, 0) for new, old in zip(counts, before, strict=True))
            segment.writer.append("flow", thread.row(0), context, *since)
        now_lost = (state.unlearnt, state.lost_calls, state.lost_events)
        unlearnt, lost_calls, lost_events = (
            new - old for new, old in zip(now_lost, self._states, strict=True)
        )
        self._states = now_lost
        segment.writer.append(
            "flow_runs", segment.row, now - segment.origin, memory.metric, int(state.calibrated),
            memory.residual(state), events - self._events, unlearnt, lost_calls, lost_events,
        )  # fmt: skip
        self._events = events

    def finish(self, now: int) -> None:
        """No record comes any more: what threads had not written yet, and the rest."""
        memory = self._memory
        if memory is None:
            return
        self._ended = True
        for root in self._threads:
            self.add_events(root, memory.pending_events(root))
        self.write(now)

    def _root_of(self, node: int) -> int:
        assert self._memory is not None
        while parent := self._memory.node(node)[2]:
            if parent >= node:  # the target wrote over its memory
                return 0
            node = parent
        return node

    def _context(self, node: int) -> int:
        """The row of a node's context; -1 for a root."""
        memory = self._memory
        assert memory is not None
        above = []
        while node not in self._rows:
            parent = memory.node(node)[2]
            if not parent or parent >= node:
                self._rows[node] = -1
                break
            above.append(node)
            node = parent
        row = self._rows[node]
        for below in reversed(above):
            code = memory.node(below)[1]
            row = self._contexts.context(row, self._function(code), 0)
            if code:  # else its ring was full, and the agent tries again
                self._rows[below] = row
        return row

    def _function(self, code: int) -> int:
        if code not in self._codes and (self._ended or not code):
            self._codes.add_native(code, UNKNOWN)
        return self._codes.function(code)
