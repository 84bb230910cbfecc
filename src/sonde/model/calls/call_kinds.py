"""What counted calls of C functions stand for, where only few windows show them.

Most windows show calls of Python functions only; that changes little in how long the program takes.
Where all are seen, also those of C functions, it changes more, and the time such a window took is
what is left of much greater ones: where calls come close together it says little. Weighed by it,
one window of forty may have most of the weight of all.

So the first show how often Python functions are called, and the others only how many calls of C
functions a function makes for each call of a Python function that it makes or is begun by. That
ratio hardly depends on how windows are weighed, and is taken for each caller on its own:

- windows of a kind are more frequent when a thread begins than later on. Each counts for the ticks
  until the next of its kind (`ticks_of`);
- within a caller no call weighs more than its middle one (*cap*): where all its windows are alike,
  each call then counts the same, and where some are denser, most of that still shows;
- all calls of the caller are multiplied by one factor, so that its calls of Python functions come
  to what the other windows say. Where there are few to compare, it is drawn to the factor of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sonde.model.calls.call_windows import BEYOND, Floats, call_weights

if TYPE_CHECKING:
    from sonde.model.trees.context_tree import Flags, Ints

FEW = 4.0
"""So many calls of a Python function say as much of a caller as all callers together do."""

ENOUGH = 100
"""So many calls say how often they are made, but for a tenth."""


@dataclass(frozen=True)
class Windows:
    """A column each, and a row for every window."""

    duration: Ints
    stride: Ints
    cut: Flags
    all_seen: Flags
    ticks: Floats
    """How many ticks each stands for among those of its kind."""

    def of(self, kind: Flags) -> tuple[Ints, Ints, Flags]:
        return self.duration[kind], self.stride[kind], self.cut[kind]


@dataclass(frozen=True)
class Counted:
    """A column each, and a row for every counted call."""

    window: Ints
    offset: Ints
    """When in its window, -1 if that is not known."""
    caller: Ints
    """The function; -1: nothing of the program."""
    callee: Ints
    native: Flags
    """Is the callee a C function?"""
    step: Ints | None = None
    """How many calls after the one counted before it; 0 if that is not known."""


def ticks_of(thread: Ints, time: Ints, all_seen: Flags) -> Floats:
    """How many ticks of its thread a window stands for: those to the nearest one of its kind.

    Of the first windows of a thread every other one shows all calls, and only few of the later
    ones. Were each to count the same, calls of C functions in a start-up would weigh as much more.
    The nearest, since the last of a frequent kind does not stand for the rare ones' time.
    """
    ticks = np.ones(len(time))
    order = np.lexsort((time, thread))
    threads = thread[order]
    first = np.flatnonzero(np.diff(threads, prepend=-1))
    rank = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    for kind in (True, False):
        mine = np.flatnonzero(all_seen[order] == kind)
        same = np.diff(threads[mine]) == 0
        gap = np.where(same, np.diff(rank[mine]), np.inf)
        nearest = np.minimum(np.append(np.inf, gap), np.append(gap, np.inf))[: len(mine)]
        ticks[order[mine]] = np.where(np.isfinite(nearest), nearest, 1.0)
    return ticks


def weights_of_kinds(windows: Windows, counted: Counted) -> Floats:
    """The weight of each counted call, where windows are of two kinds."""
    all_seen = windows.all_seen
    if all_seen.all() or not all_seen.any():
        everything = np.ones(len(all_seen), dtype=bool)
        even = call_weights(*windows.of(everything), counted.window, counted.offset, counted.step)
        return np.asarray(even * windows.ticks[counted.window])
    weights = np.zeros(len(counted.window))
    in_all = all_seen[counted.window]
    for kind in (True, False):
        rows = np.flatnonzero(in_all == kind)
        if len(rows):
            mine = all_seen == kind
            number = np.cumsum(mine) - 1
            weights[rows] = call_weights(
                *windows.of(mine),
                number[counted.window[rows]],
                counted.offset[rows],
                None if counted.step is None else counted.step[rows],
            )
    weights[~in_all] *= windows.ticks[counted.window[~in_all]]
    weights[in_all] = _as_the_others(weights, in_all, counted, windows)
    weights[in_all & ~counted.native] *= BEYOND
    weights[~in_all & ~counted.native] *= 1 - BEYOND
    return weights


def _as_the_others(weights: Floats, in_all: Flags, counted: Counted, windows: Windows) -> Floats:
    """Weights of calls in windows that show all of them, to be added to those of the others."""
    callers = int(max(counted.caller.max(initial=0), counted.callee.max(initial=0))) + 2
    mine = np.flatnonzero(in_all)
    own = weights[mine]
    caller = counted.caller[mine] + 1
    # A call of a Python function says how often its caller goes on, and that its callee begins.
    begun = ~counted.native & (counted.callee != counted.caller)
    into = np.flatnonzero(in_all & begun)
    at = np.concatenate([caller, counted.callee[into] + 1])
    weight = np.concatenate([own, weights[into]])
    cap = _middles(at, weight, callers)
    ticks = windows.ticks[np.concatenate([counted.window[mine], counted.window[into]])]
    python = np.concatenate([~counted.native[mine], np.ones(len(into), dtype=bool)])
    here = _sums(at[python], (ticks * np.minimum(weight, cap[at]))[python], callers)
    there = np.zeros(callers)
    for rows, who in (
        (~in_all & ~counted.native, counted.caller),
        (~in_all & begun, counted.callee),
    ):
        there += _sums(who[rows] + 1, weights[rows], callers)
    of_all = _factor_of_all(here, there, in_all, counted, windows)
    calls = np.maximum(np.bincount(at, minlength=callers), 1)
    few = FEW * cap * _sums(at, ticks, callers) / calls
    weighs = here + few > 0  # the middle call of a caller may be in windows of unknown duration
    factor = np.divide(there + few * of_all, here + few, out=np.zeros(callers), where=weighs)
    return np.asarray(ticks[: len(mine)] * np.minimum(own, cap[caller]) * factor[caller])


def _factor_of_all(
    here: Floats, there: Floats, in_all: Flags, counted: Counted, windows: Windows
) -> float:
    fewest = min(int((kind & ~counted.native).sum()) for kind in (in_all, ~in_all))
    if fewest >= ENOUGH and here.sum() > 0 and there.sum() > 0:
        return float(there.sum() / here.sum())
    # Calls too rare to compare them: then they cannot make the program much slower, either.
    ticks, in_all = windows.ticks, windows.all_seen
    return float(ticks[~in_all].sum() / ticks[in_all].sum())


def _sums(group: Ints, values: Floats, groups: int) -> Floats:
    return np.asarray(np.bincount(group, values, groups), dtype=np.float64)


def _middles(group: Ints, values: Floats, groups: int) -> Floats:
    """The median of each group's values, the lower one of two; 0 where there are none."""
    order = np.lexsort((values, group))
    counts = np.bincount(group, minlength=groups)
    first = np.cumsum(counts) - counts
    middles = np.zeros(groups)
    there = counts > 0
    middles[there] = values[order[(first + (counts - 1) // 2)[there]]]
    return middles
