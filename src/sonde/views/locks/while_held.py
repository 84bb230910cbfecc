"""The profile of lock holders while other threads waited for the lock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sonde.errors import UsageError, did_you_mean
from sonde.model.locks.contention import UNKNOWN, blames
from sonde.views.locks.contentions import Contended, contended
from sonde.views.locks.held_in import (
    OFF_CPU,
    RELEASED,
    SAMPLED,
    SAMPLED_OPEN,
    HeldInEstimates,
    block_size,
)
from sonde.views.selecting.formatting import some
from sonde.views.selecting.profile import Function, Profile, identities, summed_up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sonde.model.locks.contention import Contentions, Flags, Ints
    from sonde.recording.tables import Recording
    from sonde.views.locks.held_in import HeldPieces
    from sonde.views.selecting.selection import Selection

NOT_SAMPLED = Function("[not sampled]", "", 0, "")
"""The root of time in which the holder was off CPU, or had too few samples."""


def profile_while_held(
    recording: Recording, selection: Selection, lock: str, *, merge_lines: bool = False
) -> Profile:
    """What the holders of `lock` did while others waited, each nanosecond once per waiter.

    `selection` selects the waiters; its time selects what of the holders' time counts.
    """
    everything = contended(recording)
    found, rows = everything.rows(selection)
    wanted = _matching(everything, lock)[everything.lock[rows]] & ~everything.signalling[rows]
    rows = rows[wanted]
    size = len(recording.contexts) + 1
    estimates = HeldInEstimates(everything, found)
    numbers: dict[tuple[int, int], int] = {}
    total = 0
    for pieces in _pieces(estimates, found, rows):
        estimates.add_groups(np.zeros(len(pieces.part), dtype=np.int64), pieces)
    for pieces in _pieces(estimates, found, rows):
        # One row for each context and state.
        codes, inverse = np.unique(
            (pieces.context % size) * 2 + (pieces.time_class == OFF_CPU), return_inverse=True
        )
        known = [numbers.setdefault((0, code), len(numbers)) for code in codes.tolist()]
        row = np.array(known, dtype=np.int64)[inverse]
        estimates.add(0, row, np.zeros(len(row), dtype=np.int64), pieces)
        exact = np.isin(pieces.time_class, (SAMPLED, SAMPLED_OPEN), invert=True)
        total += int(pieces.ns[exact].sum())
    by_state = [np.zeros(size, dtype=np.int64) for _ in range(4)]
    if numbers:
        estimates.finish(np.array([total]), [numbers])
        for (_, code), number in numbers.items():
            context, off_cpu = divmod(code, 2)
            time = estimates.times[0][number]
            # Where the stack is unknown, it may have been off CPU.
            state = "wall" if context == size - 1 else "waiting" if off_cpu else "running"
            if time and selection.time in ("wall", state):
                by_state[off_cpu][context] += time
                by_state[2 + off_cpu][context] += max(estimates.samples[0][number], 1)
    functions, identity = identities(recording)
    return summed_up(
        [*functions[:UNKNOWN], NOT_SAMPLED],
        recording.contexts.parent,
        identity[np.append(recording.contexts.function, UNKNOWN)],
        recording.contexts.line,
        by_state,
        merge_lines=merge_lines,
    )


def _pieces(estimates: HeldInEstimates, found: Contentions, rows: Ints) -> Iterator[HeldPieces]:
    for block in blames(found, rows, block=block_size(found)):
        pieces = estimates.split(block)
        yield pieces.chosen(pieces.context != RELEASED)


def _matching(everything: Contended, text: str) -> Flags:
    """Which locks a person means: by name, class or a part of either; `gil` is every GIL."""
    locks = everything.locks
    if text.lower() == "gil":
        return _flags([lock.kind == "gil" for lock in locks])
    exact = _flags(
        [text in (lock.name, lock.short, _bare(lock.short), lock.lock_class) for lock in locks]
    )
    if exact.any():
        return exact
    part = _flags(
        [lock.kind != "gil" and text in f"{lock.name} {lock.lock_class}" for lock in locks]
    )
    names = sorted({locks[i].lock_class for i in np.flatnonzero(part).tolist()})
    if len(names) == 1:
        return part
    if names:
        raise UsageError(f"{text!r} matches several locks: {some(names)}")
    known = dict.fromkeys(
        lock.lock_class for i, lock in enumerate(locks) if not _is_notification(everything, i)
    )
    holds = f"threads waited for {some(list(known))}" if known else "no thread waited for a lock"
    hint = did_you_mean(text, ["gil", *known])
    raise UsageError(f"no contended lock {text!r}{hint} in {everything.recording.path}; {holds}")


def _bare(short: str) -> str:
    """`self._lock` of `self._lock (cache.py:41)`."""
    return short.partition(" (")[0]


def _is_notification(everything: Contended, lock: int) -> bool:
    return bool(everything.signalling[everything.lock == lock].all())


def _flags(values: list[bool]) -> Flags:
    return np.array(values, dtype=bool)
