"""From lock events to contentions: every lock's events replayed in the order they happened.

Events arrive in the order they were written, thread by thread; their numbers show the true one.
What is kept is what is open: waits that have not ended, the releases since the oldest of them, and
events whose predecessor has not come yet.

Nothing here is guessed. Where a number is missing an event was lost, and the part of a wait it fell
into has no owner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.model.locks.contention import CUT, OPEN, UNKNOWN, Contentions, Flags, Holds, Ints
from sonde.model.locks.lock_state import LockState, StartedWait
from sonde.row_values import (
    ACQUIRED,
    GIL,
    MONITOR,
    OWNER_OBSERVED,
    PARK,
    PARKED,
    PREEXISTING,
    RELEASED,
    SHARED,
    WAIT_BEGIN,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

LOOSE = 1 << 62
"""A number with this bit orders events, but says nothing of lost ones."""

OWNED = frozenset({GIL, MONITOR})
"""Wherever a wait for these is, it is for who has them."""
LIES_DOWN_AGAIN = frozenset({PARKED, PARK})
"""Who is woken does not have these yet, and may find them taken again."""

TIMEOUT_NS = 2_000_000_000
"""Events of locks without numbers of their own are put into order within this time."""
MAX_PENDING = 1 << 20
"""Events kept for one lock in the hope of the one missing before them."""
STALE_NS = 10_000_000
"""Who releases the lock while a waiter looks for its holder is not the holder any more."""
AGAIN_NS = 20_000
"""A thread that waits again this soon after it was woken found the lock taken by another: so soon
nobody takes and leaves it (3.14 and 3.15: 0.3 to 15 µs; who had it, not before 20)."""
AGAIN_UNSEEN_NS = 100_000
"""The same of threads that do not report a release (virtual ones of Java 25: 15 to 60 µs)."""


class Replay:
    """Takes events in blocks of any size, gives contentions.

    `whole` says for each context (and, last, for none) whether a wait there is for somebody's
    notification: then the notifier is charged with all of it, and no thread if it never came.
    `woken_unseen` says the same of threads whose wake-up is not reported.
    `awaits` says of contexts whether a condition is waited for there; who was notified then waits
    for the condition's lock in the same context. `of_condition` says of locks if they are such.
    """

    def __init__(
        self,
        made_of: Sequence[str],
        process_of: Sequence[int],
        whole: Sequence[bool] | None = None,
        first: Ints | None = None,
        woken_unseen: Sequence[bool] | None = None,
        awaits: Sequence[bool] | None = None,
        of_condition: Sequence[bool] | None = None,
    ) -> None:
        self._made_of = made_of
        self._process_of = process_of
        self._whole = whole
        self._first = first
        self._woken_unseen = woken_unseen
        self._awaits = awaits
        self._of_condition = of_condition
        self._locks: dict[int, LockState] = {}
        self._latest = 0
        size = len(process_of)
        self._first_seen = np.full(size, np.iinfo(np.int64).max)
        self._last_seen = np.full(size, -1, dtype=np.int64)
        self._done: list[tuple[int, ...]] = []
        self._taken = 0
        self.undecided = 0
        """Waits that are left out because nothing shows how long they were."""

    # ---- events in

    def feed(
        self,
        thread: NDArray[Any],
        time: NDArray[Any],
        lock: NDArray[Any],
        sequence: NDArray[Any],
        type_: NDArray[Any],
        context: NDArray[Any],
    ) -> None:
        if not len(time):
            return
        acting = (type_ != OWNER_OBSERVED) & (type_ != PREEXISTING)
        np.minimum.at(self._first_seen, thread[acting], time[acting])
        np.maximum.at(self._last_seen, thread[acting], time[acting])
        self._latest = max(self._latest, int(time.max()))
        rows = np.column_stack(
            [column.astype(np.int64) for column in (time, type_, thread, context, sequence)]
        )
        order = np.argsort(lock, kind="stable")
        locks = lock[order].astype(np.int64)
        starts = np.flatnonzero(np.r_[True, locks[1:] != locks[:-1]])
        for number, run in zip(
            locks[starts].tolist(), np.split(rows[order], starts[1:]), strict=True
        ):
            state = self._locks.get(number)
            if state is None:
                state = self._locks[number] = LockState()
            state.pending.append(run)
            self._settle(number, state)

    def _settle(self, lock: int, state: LockState, *, final: bool = False) -> None:
        """Replay as far as the order is sure."""
        if not state.pending:
            return
        rows = np.concatenate(state.pending) if len(state.pending) > 1 else state.pending[0]
        state.pending.clear()
        if self._made_of[lock] == SHARED:
            self._settle_by_time(lock, state, rows, final)
        elif rows[0, 4] & LOOSE:
            rows = rows[np.argsort(rows[:, 4])]
            ready = rows[:, 0] <= (np.inf if final else self._latest - TIMEOUT_NS)
            count = len(rows) if ready.all() else int(np.argmin(ready))
            self._keep(state, rows[count:])
            self._replay(lock, state, rows[:count], np.zeros(count, dtype=bool))
        else:
            rows = rows[np.argsort(rows[:, 4])]
            if state.next is None:
                state.next = int(rows[0, 4] if self._first is None else self._first[lock])
                state.from_birth = state.next == 1
            steps = np.diff(rows[:, 4], prepend=state.next - 1)
            # A number that comes after those behind it were done (a step back) has lost its place.
            holes = np.flatnonzero(steps > 1)
            count = len(rows)
            if len(holes) and not final and len(rows) - int(holes[0]) < MAX_PENDING:
                count = int(holes[0])
            if count:
                state.next = max(state.next, int(rows[count - 1, 4]) + 1)
            self._keep(state, rows[count:])
            self._replay(lock, state, rows[:count], steps[:count] != 1)

    def _settle_by_time(self, lock: int, state: LockState, rows: Ints, final: bool) -> None:
        """A lock between processes: each has numbers of its own, but all have one clock."""
        rows = rows[np.lexsort((rows[:, 4], rows[:, 0]))]
        ready = rows[:, 0] <= (np.inf if final else self._latest - TIMEOUT_NS)
        count = len(rows) if ready.all() else int(np.argmin(ready))
        gaps = np.zeros(count, dtype=bool)
        for i, (thread, number) in enumerate(rows[:count, [2, 4]].tolist()):
            process = self._process_of[thread]
            before = state.by_process.get(process)
            gaps[i] = before is not None and number > before + 1 and not number & LOOSE
            state.by_process[process] = max(number, before or 0)
        self._keep(state, rows[count:])
        self._replay(lock, state, rows[:count], gaps)

    @staticmethod
    def _keep(state: LockState, rows: Ints) -> None:
        if len(rows):
            state.pending.append(rows)

    # ---- the replay

    def _replay(self, lock: int, state: LockState, rows: Ints, holes: Flags) -> None:
        made_of = self._made_of[lock]
        waits, woken = state.open, state.woken
        sinces, untils, threads = state.since, state.until, state.thread
        contexts, gaps = state.context, state.gaps
        columns = (rows[:, i].tolist() for i in range(4))
        for time, type_, thread, context, missing in zip(*columns, holes.tolist(), strict=True):
            if missing:
                state.lost()
            if type_ == RELEASED:
                before = untils[-1] if untils else 0
                until = max(time, before)  # clocks of two cores may disagree
                since = until
                for oldest in waits.values():
                    since = min(max(before, oldest.start), until)
                    break
                sinces.append(since)
                untils.append(until)
                threads.append(thread)
                contexts.append(context)
                gaps.append(state.gap)
                state.gap = False
                state.owner = None
                state.released = True
                state.reported = thread, until
                if woken:
                    woken.pop(thread, None)
                silent = next((waiter for waiter, wait in waits.items() if wait.found), None)
                if silent is not None:
                    self._ended(lock, state, silent, waits.pop(silent), ACQUIRED, until)
            elif type_ == WAIT_BEGIN or type_ == PREEXISTING:
                again = waits.pop(thread, None)
                if again is not None:
                    end = state.last if again.known is None else again.known
                    self._ended(lock, state, thread, again, CUT, end)
                if state.owner is not None and state.owner[0] == thread:
                    state.owner = None
                first = state.base + len(untils)
                # A release that came while the waiter was on its way to say so is its as well.
                early = bool(untils) and untils[-1] > time
                start, clean = time, state.gap and not early
                again_of = None
                if woken and (before_it := self._waits_again(state, thread, context, time)):
                    again_of, woken_at = before_it
                    if made_of == PARK:
                        # Until it has run it does not know that it was overtaken.
                        start, clean = woken_at, False
                        while first > state.base and untils[first - 1 - state.base] > start:
                            first -= 1
                        early = False
                waits[thread] = StartedWait(
                    start, context, first - early, clean, again_of,
                    before=time <= 0, found=type_ == PREEXISTING,
                )  # fmt: skip
            elif type_ == OWNER_OBSERVED:
                stale = state.reported[0] == thread and time - state.reported[1] < STALE_NS
                if waits and not stale:
                    known, state.owner = state.owner, (thread, context)
                    if known is not None and known != state.owner and self._is_unseen(waits):
                        self._hold_ends(state, known, time)
            else:
                if type_ == ACQUIRED:
                    was_released, state.released = state.released, False
                    if not was_released and self._may_be_unseen(made_of, state, thread):
                        self._released_unseen(state, thread, time)
                wait = waits.pop(thread, None) or self._from_before(state, thread, time)
                if wait is not None:
                    self._ended(lock, state, thread, wait, type_, time)
                if not waits:
                    state.owner = None
                    state.alone = time
                elif type_ == ACQUIRED and wait is not None and made_of != SHARED:
                    state.owner = (thread, wait.context)
            state.last = max(state.last, time)

    def _may_be_unseen(self, made_of: str, state: LockState, thread: int) -> bool:
        """Whether this one may follow a release that was not reported: that of a monitor is only
        reported if it has to wake a platform thread."""
        if made_of == MONITOR:
            return True
        wait = state.open.get(thread)
        if made_of != PARK or wait is None or not self._is_unseen((thread,)):
            return False
        return self._whole is None or not self._whole[wait.context]

    def _is_unseen(self, threads: Iterable[int]) -> bool:
        """Whether one of them is woken by others who do not report it."""
        unseen = self._woken_unseen
        return unseen is not None and any(unseen[thread] for thread in threads)

    def _released_unseen(self, state: LockState, thread: int, time: int) -> None:
        """It was another's before: the last known owner's if no release was reported."""
        owner, state.owner = state.owner, None
        if owner is None or owner[0] == thread:
            owner, state.gap = (thread, UNKNOWN), True
        self._hold_ends(state, owner, time)

    @staticmethod
    def _hold_ends(state: LockState, owner: tuple[int, int], time: int) -> None:
        before = state.until[-1] if state.until else 0
        until = max(time, before)
        oldest = next(iter(state.open.values()), None)
        state.since.append(until if oldest is None else min(max(before, oldest.start), until))
        state.until.append(until)
        state.thread.append(owner[0])
        state.context.append(owner[1])
        state.gaps.append(state.gap)
        state.gap = False

    def _waits_again(
        self, state: LockState, thread: int, context: int, time: int
    ) -> tuple[int, int] | None:
        """The contention this one goes on with, and when that ended, if the thread did not have the
        lock in between.

        It surely did not if it released nothing while others waited all the time: with a waiter,
        a release is recorded.
        """
        woken = state.woken.pop(thread, None)
        if woken is None or woken[1] != context:
            return None
        if self._is_unseen((thread,)):
            surely = time - woken[2] <= AGAIN_UNSEEN_NS
        else:
            alone_since = state.alone >= woken[2] or not state.open
            surely = not alone_since or time - woken[2] <= AGAIN_NS
        return (woken[0], woken[2]) if surely else None

    def _from_before(self, state: LockState, thread: int, time: int) -> StartedWait | None:
        """The wait that ends here without having begun: it began before the recording did."""
        if state.torn or state.from_birth or int(self._first_seen[thread]) < time:
            self.undecided += 1
            return None
        return StartedWait(0, UNKNOWN, state.base, before=True)

    def _ended(
        self, lock: int, state: LockState, thread: int, wait: StartedWait, outcome: int, end: int
    ) -> None:
        held = state.base + len(state.until) - wait.first
        signalled = self._whole is not None and self._whole[wait.context]
        whole = signalled and self._made_of[lock] not in OWNED
        if whole and self._awaits is not None and self._of_condition is not None:
            whole = not (self._awaits[wait.context] and self._of_condition[lock])
        owner = None
        if outcome == ACQUIRED and held and not state.gap:
            # The time until the waiter runs again is the releaser's, too.
            owner = (state.thread[-1], state.context[-1])
        elif outcome != CUT and not whole:
            owner = state.owner
        tail = (UNKNOWN, UNKNOWN) if owner is None else owner
        number = self._taken + len(self._done)
        began = number if wait.again_of is None else wait.again_of
        if outcome == ACQUIRED and not whole and self._made_of[lock] in LIES_DOWN_AGAIN:
            state.woken[thread] = (began, wait.context, end)
        self._done.append(
            (thread, wait.context, lock, wait.start, max(end, wait.start), outcome, wait.before,
             began, wait.first, held, wait.clean, whole, *tail)
        )  # fmt: skip

    # ---- contentions out

    def take(self) -> Contentions:
        """The contentions that ended since the last time, and only what is open is kept."""
        done, self._done = self._done, []
        offset = np.zeros(len(self._made_of), dtype=np.int64)
        made = 0
        columns: list[list[int]] = [[] for _ in range(6)]
        for lock, state in sorted(self._locks.items()):
            offset[lock] = made - state.base
            made += len(state.until)
            columns[0] += [lock] * len(state.until)
            columns[1] += state.since
            columns[2] += state.until
            columns[3] += state.thread
            columns[4] += state.context
            columns[5] += state.gaps
            self._forget(state)
        parts = [np.array(values, dtype=np.int64) for values in columns]
        holds = Holds(parts[0], parts[1], parts[2], parts[3], parts[4], parts[5].astype(bool))
        rows = np.array(done, dtype=np.int64).reshape(-1, 14)
        number = np.arange(len(rows))
        # What began before the last time is not here any more.
        began = rows[:, 7] - self._taken
        self._taken += len(rows)
        return Contentions(
            holds=holds,
            thread=rows[:, 0],
            context=rows[:, 1],
            lock=rows[:, 2],
            start=rows[:, 3],
            end=rows[:, 4],
            outcome=rows[:, 5],
            before=rows[:, 6].astype(bool),
            wait=np.where(began < 0, number, began),
            first=rows[:, 8] + offset[rows[:, 2]],
            held=rows[:, 9],
            clean=rows[:, 10].astype(bool),
            whole=rows[:, 11].astype(bool),
            tail_thread=rows[:, 12],
            tail_context=rows[:, 13],
        )

    @staticmethod
    def _forget(state: LockState) -> None:
        needed = state.base + len(state.until) - 1  # the last one may come early for the next wait
        for wait in state.open.values():
            needed = min(needed, wait.first)
        drop = max(0, needed - state.base)
        for column in (state.since, state.until, state.thread, state.context, state.gaps):
            del column[:drop]
        state.base += drop

    def finish(self, ends: Sequence[int], awake: Sequence[int] | None = None) -> Contentions:
        """The rest: waits that nobody saw the end of last until `ends` of their thread.

        `awake`: when a thread was first seen to run, which ends a wait without a record of its end.
        """
        for lock, state in self._locks.items():
            self._settle(lock, state, final=True)
            for thread, wait in state.open.items():
                if wait.found and awake is not None:
                    up = min(awake[thread], int(self._first_seen[thread]))
                    if up < ends[thread]:
                        self._ended(lock, state, thread, wait, CUT, min(state.last, up))
                        continue
                # Its end may be among what was lost; a thread that did something since did end it.
                if wait.known is not None or int(self._last_seen[thread]) > wait.start:
                    end = state.last if wait.known is None else wait.known
                    self._ended(lock, state, thread, wait, CUT, end)
                else:
                    self._ended(lock, state, thread, wait, OPEN, ends[thread])
            state.open = {}
        return self.take()
