"""Conditions that take turns: rounds of one slice under each, in an order drawn anew."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any, Protocol

from harness.neighbours import Neighbours
from harness.pace import Pace

# The kernel counts everybody's time in ticks: a share over less than this would be mostly chance.
WINDOW_S = 0.5
MAX_RUN_LENGTH = 3
"""How many times longer it may take until there are enough rounds at full speed."""


class Switch(Protocol):
    """A condition a slice can run under."""

    def on(self) -> None: ...
    def off(self) -> None: ...


class Off:
    """Nothing; but with a recorder there, the same words with it as before a sampled slice."""

    def __init__(self, recorder: Switch | None = None) -> None:
        self._recorder = recorder

    def on(self) -> None:
        if self._recorder:
            self._recorder.off()

    def off(self) -> None:
        pass


class Floor(Off):
    """An empty timer or signal, with the same words to the recorder before a slice."""

    def __init__(self, timer: Switch, recorder: Switch | None = None) -> None:
        super().__init__(recorder)
        self._timer = timer

    def on(self) -> None:
        super().on()
        self._timer.on()

    def off(self) -> None:
        self._timer.off()


def in_turns(
    switches: dict[str, Switch],
    settle: Callable[[], None],
    timed: Callable[[], tuple[float, float]],
    chance: random.Random,
    least: int,
    seconds: float,
) -> dict[str, Any]:
    """At least so many rounds, and so long at the machine's full speed, unless that takes much
    longer; `settle` goes before each slice.

    What was just switched on disturbs for a moment whoever runs beside it, and what was just
    switched off does too: so every slice is settled, whatever its condition.
    """
    slices: list[tuple[int, str, float, float]] = []
    others: list[float] = []
    paces: list[int] = []
    names = list(switches)
    neighbours, pace = Neighbours(), Pace()
    longest = time.monotonic() + MAX_RUN_LENGTH * seconds
    while len(paces) < least or (pace.full_s < seconds and time.monotonic() < longest):
        chance.shuffle(names)
        for name in names:
            switches[name].on()
            settle()
            cpu, wall = timed()
            switches[name].off()
            slices.append((len(paces), name, cpu, wall))
        paces.append(pace.of_round())
        if neighbours.seconds() > WINDOW_S:
            others += [neighbours.share()] * (len(paces) - len(others))
    others += [neighbours.share()] * (len(paces) - len(others))
    return {"slices": slices, "others": others, "pace": paces}
