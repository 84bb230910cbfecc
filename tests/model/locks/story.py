"""Lock events told by hand, and what they come to."""

from __future__ import annotations

from typing import Any

import numpy as np

from sonde.model.locks.contention import UNKNOWN, Contentions, blames
from sonde.model.locks.contention_replay import Replay
from sonde.row_values import ACQUIRED, GAVE_UP

WAIT_BEGIN, RELEASED, OWNER_OBSERVED, PREEXISTING = 1, 4, 5, 6
T, A, B, C = 0, 1, 2, 3
"""Threads: T waits, A, B and C hold."""
NEVER = 10_000
"""When the recording ends."""


class Story:
    """Events told one after the other, numbered as the agent numbers them."""

    def __init__(
        self,
        made_of: str = "semaphore",
        *,
        whole: frozenset[int] = frozenset(),
        processes: tuple[int, ...] = (0, 0, 0, 0),
        first: int = 1,
        woken_unseen: frozenset[int] = frozenset(),
    ) -> None:
        self.made_of = [made_of]
        self.whole = [context in whole for context in range(101)]
        self.processes = list(processes)
        self.woken_unseen = [thread in woken_unseen for thread in range(len(processes))]
        self.number = {0: first}
        self.rows: list[tuple[int, int, int, int, int, int]] = []
        self.known_first = True
        self.awake = [NEVER] * len(processes)
        """When each thread was first seen to run."""

    def tell(
        self, type_: int, thread: int, time: int, context: int = UNKNOWN, lock: int = 0
    ) -> None:
        while lock >= len(self.made_of):
            self.made_of.append(self.made_of[0])
        number = self.number.setdefault(lock, 1)
        self.number[lock] += 1
        self.rows.append((thread, time, lock, number, type_, context))

    def enter(self, thread: int, time: int, context: int = 10, lock: int = 0) -> None:
        self.tell(WAIT_BEGIN, thread, time, context, lock)

    def entered(self, thread: int, time: int, lock: int = 0) -> None:
        self.tell(ACQUIRED, thread, time, UNKNOWN, lock)

    def gave_up(self, thread: int, time: int) -> None:
        self.tell(GAVE_UP, thread, time)

    def exit(self, thread: int, time: int, context: int = 20, lock: int = 0) -> None:
        self.tell(RELEASED, thread, time, context, lock)

    def held(self, thread: int, time: int, context: int = 30) -> None:
        self.tell(OWNER_OBSERVED, thread, time, context)

    def waits_already(self, thread: int, context: int = 10) -> None:
        """It waited when the recording began, and will not tell when it is over."""
        self.tell(PREEXISTING, thread, 0, context)

    def lost(self, count: int = 1) -> None:
        """So many events were never written."""
        self.number[0] += count

    def columns(self, rows: list[tuple[int, ...]] | None = None) -> list[Any]:
        table = np.array(self.rows if rows is None else rows, dtype=np.int64).reshape(-1, 6)
        return [table[:, i] for i in range(6)]

    def replay(self) -> Replay:
        return Replay(self.made_of, self.processes, self.whole, woken_unseen=self.woken_unseen)

    def found(self, *, shuffled: bool = False) -> Contentions:
        replay = self.replay()
        rows = list(self.rows)
        if shuffled:
            np.random.default_rng(7).shuffle(rows)
        replay.feed(*self.columns(rows))
        self.undecided = replay.undecided
        result = replay.finish([NEVER] * len(self.processes), self.awake)
        self.undecided = replay.undecided
        return result


def parts(found: Contentions, contention: int = 0) -> list[tuple[int, int, int]]:
    """The owner, its context and the time of each part of a wait."""
    result = []
    for block in blames(found):
        for row, thread, context, ns in zip(
            block.contention.tolist(),
            block.thread.tolist(),
            block.context.tolist(),
            block.ns.tolist(),
            strict=True,
        ):
            if row == contention:
                result.append((thread, context, ns))
    return result
