"""The call flow's part of the memory that an agent shares with us."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sonde.row_values import FLOW_TIMES

from . import flow_layout

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_WHY = {
    flow_layout.MONITORED: "the program evaluates its frames itself (PEP 523)",
    flow_layout.NO_TOOL: "every tool id of sys.monitoring is in use",
    flow_layout.FAILED: "the runtime refused the events",
}


class FlowState(NamedTuple):
    state: int
    used: int
    """Nodes; 0 or 1: there are none."""
    ns_per_tick: float
    start_tick: int
    start_ns: int
    residual_ticks: float
    unlearnt: int
    lost_calls: int
    lost_events: int
    calibrated: int


class FlowMemory:
    def __init__(self, memory: memoryview, at: int, options: Mapping[str, object]) -> None:
        self._memory = memory
        self._at = at
        self.metric = str(options["metric"])
        text = str(options["within"]).encode()
        flags = flow_layout.NATIVE * bool(options["native"])
        flags |= flow_layout.EVENTS * bool(options["events"])
        metric = flow_layout.METRICS[self.metric]
        flow_layout.ORDERS.pack_into(memory, at, metric, flags, flow_layout.NODES, len(text))
        start = at + flow_layout.ORDERS.size
        memory[start : start + len(text)] = text

    def state(self) -> FlowState:
        found = FlowState._make(
            flow_layout.STATE.unpack_from(self._memory, self._at + flow_layout.STATE_AT)
        )
        return found._replace(used=min(found.used, flow_layout.NODES))

    def why_none(self) -> str:
        """Why nothing is recorded, if so."""
        return _WHY.get(self.state().state, "")

    def in_units(self, ticks: int, state: FlowState) -> int:
        """Nanoseconds, or a number of events."""
        return ticks if self.metric not in FLOW_TIMES else round(ticks * state.ns_per_tick)

    def residual(self, state: FlowState) -> float:
        return 0.0 if self.metric not in FLOW_TIMES else state.residual_ticks * state.ns_per_tick

    def node(self, number: int) -> tuple[int, ...]:
        at = self._at + flow_layout.NODES_AT + min(number, flow_layout.NODES - 1) * 64
        return flow_layout.NODE.unpack_from(self._memory, at)

    def nodes(self, used: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        """All but what lies behind roots."""
        number = 1
        behind = flow_layout.PENDING_EVENTS * flow_layout.EVENT.size // flow_layout.NODE_SIZE
        while number < used:
            node = self.node(number)
            yield number, node
            number += 1 if node[2] else 1 + behind

    def pending_events(self, root: int) -> memoryview:
        count = min(self.node(root)[7], flow_layout.PENDING_EVENTS)
        at = self._at + flow_layout.NODES_AT + (root + 1) * flow_layout.NODE_SIZE
        return self._memory[at : at + count * flow_layout.EVENT.size]
