"""How a session is conducted while it runs: paused or not, how often, and what is captured.

Orders go to the agents through the memory they share with us, and to the kernel by arming again.
Whatever changes, a sample weighs the CPU time since the last one, so shares and totals stay right;
what was not captured for a while counts for no thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from sonde.errors import SondeError

from ..shm import layout as shm
from .options import kernel_events
from .options.kernel_events import KernelEvent
from .options.lock_options import LOCK_ACTIVITY
from .sampling.samplers import SamplerSet

if TYPE_CHECKING:
    from sonde.recording.write.writer import Writer

    from ..decode.target import TargetProcess
    from .control.agent_connections import AgentConnections
    from .sampling.samplers import ArmedSampler
    from .target_set import TargetSet

# The kernel reports threads, not the agent.
_BITS = {
    "cpu": shm.WHAT_CPU,
    "waits": shm.WHAT_WAITS,
    "locks": shm.WHAT_LOCKS,
    "objects": shm.WHAT_OBJECTS,
    "calls": shm.WHAT_CALLS,
    "probes": shm.WHAT_PROBES,
    "steps": shm.WHAT_STEPS,
    "flow": shm.WHAT_FLOW,
    "tasks": shm.WHAT_TASKS,
    "lock-activity": shm.WHAT_LOCK_ACTIVITY,
    "threads": 0,
}

_NO_END = "its POSIX signals trigger the event again, so sonde stopped recording it"


def bits_of(what: Iterable[str]) -> int:
    """Kernel events have none: the agent states what its threads are signalled."""
    return sum(_BITS.get(kind, 0) for kind in what)


STACKS = ("whole", "chained", "checked")
"""What a sample contains: all calls, or a function and its caller, at which depth; checked ones are
whole, and walked twice to see whether what a walk left out was right."""
STACK_BITS = {"chained": shm.WHAT_CHAINED, "checked": shm.WHAT_CHECKED}


class CaptureControl:
    def __init__(
        self,
        config: dict[str, Any],
        writer: Writer,
        target_set: TargetSet,
        steering: AgentConnections,
    ) -> None:
        self._writer = writer
        self._target_set = target_set
        self._steering = steering
        self.rate: int = config["rate"]
        self._stacks = STACK_BITS.get(config.get("stacks", "whole"), 0)
        if config.get("online"):
            self._stacks |= shm.WHAT_ACTIVATIONS
        self._began_with = frozenset(config["what"])
        # Whatever else is asked for, samples of running code are taken from the beginning.
        self.what = self._began_with | {"cpu"}
        self._pause: int | None = None
        """When it began."""
        self._paused_ns = 0
        self._samplers = SamplerSet(self.period, config.get("sampler", "auto"))
        self._events: dict[str, tuple[int, KernelEvent]] = {}
        """By what was asked for: the number of the event, which is its row too."""
        self._periods: dict[int, int] = {}
        self._endless: set[int] = set()
        self._samplers.set_capture(self.what, self._wanted_events(self.what))
        self.longest_period = self.period

    @property
    def period(self) -> int:
        return 1_000_000_000 // self.rate

    @property
    def asks_chained(self) -> bool:
        return bool(self._stacks & shm.WHAT_CHAINED)

    @property
    def paused(self) -> bool:
        return self._pause is not None

    @property
    def paused_ns(self) -> int:
        under_way = 0 if self._pause is None else time.monotonic_ns() - self._pause
        return self._paused_ns + under_way

    # ---- targets

    @property
    def hooked(self) -> frozenset[str]:
        """What an agent that comes now is to prepare for: it cannot be asked to later."""
        return self.what | self._began_with

    def hooks(self) -> int:
        """The same, as bits."""
        return bits_of(self.hooked) | self._stacks

    def order(self, target: TargetProcess) -> None:
        """Sends one agent what is captured now."""
        bits = 0 if self.paused else bits_of(self.what) | self._stacks
        target.agent.order(bits, self.period)
        target.set_event_periods(self._periods)
        target.set_capture(None if self.paused else self.what)

    def arm(self, target: TargetProcess) -> ArmedSampler:
        """Samples a process that has just come, unless this is a pause."""
        armed = self._arm(target)
        if self.paused:
            armed.close()
        return armed

    def _arm(self, target: TargetProcess) -> ArmedSampler:
        ours = self._steering.threads_of(target.pid)
        return self._samplers.arm(target.pid, ours, target.runtime)

    def adopt(self, target: TargetProcess, events: list[int], tid: int) -> None:
        """Goes on with a process that armed itself, by what was ordered when it did so."""
        ordered = target.agent.ordered()
        user_only = any(t.armed and t.armed.sampler == "perf-user" for t in self._target_set)
        target.armed = armed = self._samplers.adopt(
            "perf-user" if user_only else "perf", events, {tid: target.agent.self_armed()}
        )
        self.order(target)
        if self.paused:
            armed.close()
        elif ordered != target.agent.ordered():  # something else is wanted by now
            armed.close()
            self.rearm(target)

    def read_remotely(self, target: TargetProcess, why: str) -> ArmedSampler:
        return self._samplers.read_remotely(target.pid, why)

    def rearm(self, target: TargetProcess) -> None:
        """Samples a process again whose events were closed."""
        if self.paused or target.armed is None or target.armed.events:
            return
        target.agent.order(bits_of(self.what) | self._stacks, self.period)
        why = target.armed.why_not_better or ""
        try:
            if target.armed.sampler == "remote":
                target.armed = self._samplers.read_remotely(target.pid, why)
            else:
                target.armed = self._arm(target)
        except OSError:  # it has exited, as we are about to hear
            return
        target.set_event_periods(self._periods)
        target.set_capture(self.what)

    # ---- orders

    def pause(self) -> None:
        """Nothing is captured until `resume`, and none of that time counts."""
        if self._pause is not None:
            return
        for target in self._target_set:
            target.stop_capture()
        self._pause = time.monotonic_ns()

    def resume(self, origin: int) -> None:
        if self._pause is None:
            return
        self.end_pause(origin)
        for target in self._target_set:
            self.rearm(target)

    def end_pause(self, origin: int) -> None:
        if self._pause is None:
            return
        began, now = self._pause, time.monotonic_ns()
        self._pause = None
        self._paused_ns += now - began
        # Only now: after the last word of a recorder that dies in a pause there is nothing to cut.
        self._writer.append("pauses", began - origin, now - origin)

    # ---- segments

    def cut_pause(self, now: int, origin: int) -> None:
        """One that goes on becomes two: what has been of it belongs to the segment that ends."""
        if self._pause is not None:
            self._writer.append("pauses", self._pause - origin, now - origin)
            self._paused_ns += now - self._pause
            self._pause = now

    def start_segment(self) -> None:
        """A segment begins, in which only the present rate has been."""
        self.longest_period = self.period
        self._samplers.counted.clear()
        for _, event in self._events.values():
            self._writer.append("events", event.name, event.period)

    # ---- what is captured, and how often

    def set_rate(self, rate: int, origin: int) -> None:
        """Samples per second of CPU time, of every target from now on."""
        if rate == self.rate:
            return
        self._target_set.tally.rate_changes(rate, time.monotonic_ns() - origin, self._target_set)
        self.rate = rate
        self.longest_period = max(self.longest_period, self.period)
        self._samplers.period = self.period
        before = {target: target.armed.baseline for target in self._target_set if target.armed}
        self._all_anew()
        # What a thread had used when it was first armed still counts from there.
        for target, baseline in before.items():
            if target.armed is not None:
                target.armed.baseline = baseline

    def set_what(self, what: Iterable[str]) -> None:
        """Captures this from now on; a sentence where it cannot be."""
        wanted = frozenset(what)
        if "locks" in wanted and "locks" not in self._began_with:
            raise SondeError(
                "locks cannot be enabled now: their hooks are installed only at the start of a "
                "recording; start it with --what cpu,locks"
            )
        if "calls" in wanted and "calls" not in self._began_with:
            raise SondeError(
                "calls cannot be enabled now; start the recording with --what cpu,calls"
            )
        if "flow" in wanted and "flow" not in self._began_with:
            raise SondeError("flow cannot be enabled now; start the recording with --what +flow")
        if "objects" in wanted and "objects" not in self._began_with:
            raise SondeError(
                "objects cannot be enabled now; start the recording with --what +objects"
            )
        for kind in ("probes", "steps", "tasks"):
            if kind in wanted and kind not in self._began_with:
                raise SondeError(
                    f"{kind} cannot be enabled now; start the recording with --what +{kind}"
                )
        if LOCK_ACTIVITY in wanted and LOCK_ACTIVITY not in self._began_with:
            raise SondeError(
                "lock-activity cannot be enabled now: its hooks are installed only at the start of "
                f"a recording; start it with --what +{LOCK_ACTIVITY}"
            )
        samplers = {target.armed.sampler for target in self._target_set if target.armed is not None}
        if "waits" in wanted - self._began_with and (worse := samplers - {"perf"}):
            raise SondeError(
                "waits cannot be enabled now: the sampler "
                f"{', '.join(sorted(worse))} needs them from the start; record with --what +waits"
            )
        if "locks" in wanted and samplers == {"remote"}:
            raise SondeError("locks cannot be recorded: the target has no agent")
        self.what = wanted
        self._samplers.set_capture(wanted, self._wanted_events(wanted))
        self._all_anew()

    # ---- kernel events

    def _wanted_events(self, what: Iterable[str]) -> dict[int, KernelEvent]:
        for kind in sorted(what):
            if not kernel_events.is_event(kind) or kind in self._events:
                continue
            if len(self._events) == kernel_events.MAX_EVENTS:
                raise SondeError(f"a recording holds at most {kernel_events.MAX_EVENTS} events")
            event = kernel_events.parse(kind)
            row = self._writer.append("events", event.name, event.period)
            self._events[kind] = (row, event)
            self._periods[row] = event.period
        found = dict(self._events[kind] for kind in what if kind in self._events)
        return {row: event for row, event in found.items() if row not in self._endless}

    def close_endless(self, target: TargetProcess) -> None:
        """Events that a target's own signals cause would hold its threads for ever."""
        endless = target.agent.endless()
        for number in [row for row, _ in self._events.values() if endless >> row & 1]:
            if target.armed is not None:
                target.armed.close_event(number)
            if number not in self._endless:
                self._endless.add(number)
                self._samplers.set_capture(self.what, self._wanted_events(self.what))

    def event_facts(self, facts: dict[str, Any]) -> None:
        """Makes what targets counted of kernel events a list of them, where there are any."""
        reported = []
        for row, event in self._events.values():
            why = _NO_END if row in self._endless else None
            for target in self._target_set:
                if target.armed is not None:
                    why = why or target.armed.why_no_events
            reported.append(
                {
                    "name": event.name,
                    "period": event.period,
                    "counted": self._samplers.counted.get(row, 0),
                    "told": facts.pop(f"event_{row}", 0),
                    "why_not": why,
                }
            )
        if reported:
            facts["events"] = reported

    def end(self) -> None:
        """Agents that nobody steers leave by themselves, soon after this."""
        for target in self._target_set:
            target.agent.order(shm.WHAT_END, self.period)

    def _all_anew(self) -> None:
        # Close, order, open: an agent reckons by the period, and no tick may come by the old one
        # after it knows the new. Inherited events cannot be changed in place.
        if self.paused:
            return
        for target in self._target_set:
            if target.armed is not None:
                target.armed.close()
            self.rearm(target)
