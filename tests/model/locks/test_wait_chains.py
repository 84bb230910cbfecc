"""Chains of owners against a plain retelling of what they are, on stories made up by chance."""

from __future__ import annotations

import random
from collections import Counter, deque

import numpy as np
import pytest

from model.locks.story import RELEASED, WAIT_BEGIN, Story
from sonde.model.locks.contention import UNKNOWN, Contentions, blames
from sonde.model.locks.wait_chains import MAX_DEPTH, wait_chains
from sonde.row_values import ACQUIRED, GAVE_UP

THREADS, LOCKS, CONTEXTS = 7, 4, 6
Path = tuple[tuple[int, int], ...]
Chains = dict[Path, int]


def by_chance(seed: int, *, lost: float = 0.0, steps: int = 400) -> Story:
    """Threads that take, nest, leave and give up locks, mostly in an order without deadlocks."""
    draw = random.Random(seed)
    story = Story(processes=(0,) * THREADS)
    owner: dict[int, int] = {}
    queue: dict[int, deque[int]] = {lock: deque() for lock in range(LOCKS)}
    waiting: dict[int, int] = {}
    now = 0

    def tell(type_: int, thread: int, time: int, lock: int) -> None:
        context = UNKNOWN if type_ in (ACQUIRED, GAVE_UP) else draw.randrange(CONTEXTS)
        story.tell(type_, thread, time, context, lock)

    for _ in range(steps):
        now += draw.randrange(25)
        thread = draw.randrange(THREADS)
        mine = [lock for lock, holder in owner.items() if holder == thread]
        orderly = draw.random() < 0.97
        least = max(mine, default=-1) + 1 if orderly else 0
        leaves = bool(mine) and (least >= LOCKS or draw.random() < 0.4)
        lock = draw.choice(mine) if leaves else draw.randrange(least, LOCKS)
        if thread in waiting:
            if draw.random() < 0.02:
                given_up = waiting.pop(thread)
                queue[given_up].remove(thread)
                tell(GAVE_UP, thread, now, given_up)
        elif owner.get(lock) == thread:
            del owner[lock]
            if queue[lock]:
                tell(RELEASED, thread, now, lock)
                after = queue[lock].popleft()
                del waiting[after]
                owner[lock] = after
                now += draw.randrange(5)
                tell(ACQUIRED, after, now, lock)
        elif lock not in owner:
            owner[lock] = thread
        else:
            tell(WAIT_BEGIN, thread, now, lock)
            queue[lock].append(thread)
            waiting[thread] = lock
    story.rows = [row for row in story.rows if draw.random() >= lost]
    return story


def retold(found: Contentions, label: list[int], begin: list[bool]) -> Chains:
    """Every hold followed by itself, every wait of every owner looked at."""
    waits = [
        (lock, start, end)
        for lock, start, end, of in zip(
            found.lock.tolist(), found.start.tolist(), found.end.tolist(), begin, strict=True
        )
        if of
    ]
    by_thread: dict[int, list[tuple[int, int, int, int, int, bool]]] = {}
    for block in blames(found):
        for row, owner, context, start, ns, handed in zip(
            block.contention.tolist(),
            block.thread.tolist(),
            block.context.tolist(),
            block.start.tolist(),
            block.ns.tolist(),
            block.handed.tolist(),
            strict=True,
        ):
            of_lock = int(found.lock[row])
            part = (of_lock, owner, context, start, start + ns, owner >= 0 and not handed)
            by_thread.setdefault(int(found.thread[row]), []).append(part)
    chains: Counter[Path] = Counter()

    def pressure(row: int, start: int, end: int) -> int:
        return sum(max(min(e, end) - max(s, start), 0) for lock, s, e in waits if lock == row)

    def follow(path: Path, row: int, thread: int, start: int, end: int) -> None:
        weight = pressure(row, start, end)
        if weight and len(path) <= MAX_DEPTH:
            for lock, owner, context, s, e, goes_on in by_thread.get(thread, []):
                since, until = max(s, start), min(e, end)
                if lock == row or until <= since:
                    continue
                longer = (*path, (lock, label[context]))
                passed_on = pressure(row, since, until)
                weight -= passed_on
                if goes_on:
                    follow(longer, row, owner, since, until)
                else:
                    chains[longer] += passed_on
        chains[path] += max(weight, 0)

    holds, before = found.holds, {}
    wanted = {lock for lock, _, _ in waits}
    for lock, until, thread, context, gap in zip(
        holds.lock.tolist(),
        holds.until.tolist(),
        holds.thread.tolist(),
        holds.context.tolist(),
        holds.gap.tolist(),
        strict=True,
    ):
        if lock in wanted and not gap:
            follow(((lock, label[context]),), lock, thread, before.get(lock, 0), until)
        before[lock] = until
    return {path: ns for path, ns in chains.items() if ns and len(path) > 1}


@pytest.mark.parametrize("part", [(None, None), (None, 2000), (1500, 3500), (3000, None)])
@pytest.mark.parametrize("lost", [0.0, 0.05])
def test_by_chance(lost: float, part: tuple[int | None, int | None]) -> None:
    label = [0, 1, 2, 0, 1, 3] + [UNKNOWN] * 95
    met = 0
    for seed in range(12):
        found = by_chance(seed, lost=lost).found().within(*part)
        begin = found.lock < 1 + seed % LOCKS
        expected = retold(found, label, begin.tolist())
        chains = wait_chains(found, found.lock, np.array(label), begin)
        assert {tuple(chain.links): chain.ns for chain in chains} == expected
        assert [chain.ns for chain in chains] == sorted(expected.values(), reverse=True)
        met += len(expected)
    assert met > 50


GROUP = 95
OUTER, INNER = 0, 1
HOLD_NS, LATE_NS = 100, 3
AT_OUTER, AT_INNER, WAITS = 20, 21, 10


def convoys(turns: int) -> tuple[Story, int, int]:
    """One group of threads queues for the outer lock, another for the inner one. Whoever gets the
    outer lock queues for the inner one, too, behind all others: each wait has many owners, and
    every owner has waited through many holds itself, until a moment after it was given the lock.

    Also what that makes: the time waited for the outer lock while its owner waited for an owner of
    the inner one, and while that was given the lock but did not run yet.
    """
    story = Story(processes=(0,) * (2 * GROUP))
    outer, inner = deque(range(GROUP)), deque(range(GROUP, 2 * GROUP))
    now = 0
    for queue, lock in ((outer, OUTER), (inner, INNER)):
        for thread in list(queue)[1:]:
            story.enter(thread, now, WAITS, lock)
    waited = late = 0
    for _ in range(turns):
        owner = outer.popleft()
        story.enter(owner, now + LATE_NS, WAITS, INNER)
        inner.append(owner)
        since, holds = now, 0
        while inner[0] != owner:
            now += HOLD_NS
            holds += 1
            before = inner.popleft()
            story.exit(before, now, AT_INNER, INNER)
            story.entered(inner[0], now + LATE_NS, INNER)
            story.enter(before, now + LATE_NS, WAITS, INNER)
            inner.append(before)
        # The first of these holders was late before the wait began.
        late += (holds - 1) * LATE_NS * len(outer)
        waited += (now - since) * len(outer)
        now += HOLD_NS
        inner.popleft()
        story.exit(owner, now, AT_INNER, INNER)
        story.entered(inner[0], now + LATE_NS, INNER)
        story.exit(owner, now, AT_OUTER, OUTER)
        story.entered(outer[0], now + LATE_NS, OUTER)
        story.enter(owner, now + LATE_NS, WAITS, OUTER)
        outer.append(owner)
    return story, waited - late, late


def test_dense_convoys() -> None:
    """A hundred thousand waits, each through a hundred owners: ten million parts in all."""
    story, waited, late = convoys(1000)
    replay = story.replay()
    replay.feed(*story.columns())
    found = replay.finish([int(story.rows[-1][1])] * 2 * GROUP)
    assert len(found) > 96_000
    chains = wait_chains(found, found.lock, np.arange(101), found.lock == OUTER)
    inner = (INNER, AT_INNER)
    assert [(chain.links, chain.ns) for chain in chains] == [
        ([(OUTER, AT_OUTER), inner], waited),
        ([(OUTER, AT_OUTER), inner, inner], late),
    ]
