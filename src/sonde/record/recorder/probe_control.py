"""The probes of a session: which there are, and in the memory of which agents."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sonde.errors import SondeError

from ..shm.probe_area import MAX_PROBES, TROUBLES
from .options.probe_text import Probe

if TYPE_CHECKING:
    from ..decode.target import TargetProcess
    from .target_set import TargetSet


@dataclass(frozen=True)
class _Set:
    serial: int
    slot: int
    probe: Probe


class ProbeControl:
    def __init__(self, probes: list[dict[str, Any]], target_set: TargetSet, on: bool) -> None:
        self._on = on
        self._target_set = target_set
        self._last = 0
        self._probes: dict[int, _Set] = {}
        """By serial number."""
        for facts in probes:
            self.add(Probe(**facts))

    def set_up(self, target: TargetProcess) -> None:
        """Gives a process that has just come the probes that there are."""
        for one in self._probes.values():
            self._send(target, one)
        if target.agent.area is not None:
            target.agent.area.changed()

    def add(self, probe: Probe) -> int:
        """Its number."""
        self._check()
        used = {one.slot for one in self._probes.values()}
        slot = next((n for n in range(MAX_PROBES) if n not in used), None)
        if slot is None:
            raise SondeError(f"a session has at most {MAX_PROBES} probes; remove one")
        self._last += 1
        one = self._probes[self._last] = _Set(self._last, slot, probe)
        for target in self._target_set:
            self._send(target, one)
            if target.agent.area is not None:
                target.agent.area.changed()
        return one.serial

    def remove(self, serial: int) -> None:
        self._check()
        one = self._probes.pop(serial, None)
        if one is None:
            known = ", ".join(map(str, self._probes)) or "there are none"
            raise SondeError(f"no probe {serial}; probes of this session: {known}")
        now = time.monotonic_ns()
        for target in self._target_set:
            target.probes.remove(serial, now)
            if target.agent.area is not None:
                target.agent.area.clear_probe(one.slot)
                target.agent.area.changed()

    def rows(self) -> list[dict[str, Any]]:
        return [self._describe(one) for one in self._probes.values()]

    def _describe(self, one: _Set) -> dict[str, Any]:
        counts = [target.probes.counts(one.serial) for target in self._target_set]
        return {
            "number": one.serial,
            "probe": str(one.probe),
            "places": sum(count.places for count in counts),
            "hits": sum(count.hits for count in counts),
            "sampled": sum(count.sampled for count in counts),
            "lost": sum(count.lost for count in counts),
            "failed": sum(sum(count.failures) for count in counts),
            "trouble": next((TROUBLES[c.trouble] for c in counts if c.trouble), ""),
        }

    def _send(self, target: TargetProcess, one: _Set) -> None:
        if target.agent.area is None:
            return
        probe = one.probe
        target.agent.area.set_probe(
            one.slot, one.serial, probe.line, probe.every, probe.file.encode(), probe.steps
        )
        target.probes.add(
            one.serial, one.slot, probe.file, probe.line, probe.expression, probe.every,
            time.monotonic_ns(),
        )  # fmt: skip

    def _check(self) -> None:
        if not self._on:
            raise SondeError(
                "probes cannot be set now; start the recording with --probe or --what +probes"
            )
