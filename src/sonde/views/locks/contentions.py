"""Lock events made into waits: what for, by whom, and the owners they are attributed to.

What all views of waiting share. A recording is replayed once, whichever of them ask for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.model.locks.contention import UNKNOWN, Contentions, Flags, Ints
from sonde.model.locks.contention_replay import Replay
from sonde.model.locks.holder_activity import HolderActivity
from sonde.model.locks.lock_kinds import LockKinds, is_library
from sonde.model.trees.context_tree import ContextTree
from sonde.recording.format.schema import VIRTUAL_TID
from sonde.row_values import BUILT_IN, PREEXISTING, RUNNING
from sonde.views.locks.lock_identity import Lock, kinds_of, locks_of, locks_of_conditions
from sonde.views.locks.lock_tasks import LockTasks
from sonde.views.selecting.duration import duration_ns, pauses
from sonde.views.selecting.profile import Function, identities
from sonde.views.selecting.selection import Selection, threads_of
from sonde.views.selecting.span_filter import spans_of_waits, within

if TYPE_CHECKING:
    from sonde.recording.tables import Recording

BLOCK = 1 << 17
"""Events replayed at a time."""


@dataclass(frozen=True)
class Chains:
    """Call stacks that read the same to a person are one, whatever process they ran in."""

    tree: ContextTree
    functions: list[Function]
    function: Ints
    line: Ints
    node: Ints
    """By row of the table of contexts, and last for none: the chain, -1 for none."""

    def frames(self, chain: int) -> list[tuple[Function, int]]:
        """The functions of a chain with the lines executed in them, outermost first."""
        found = []
        while chain >= 0:
            found.append((self.functions[int(self.function[chain])], int(self.line[chain])))
            chain = int(self.tree.parent[chain])
        return found[::-1]

    def to_json(self, chain: int) -> list[dict[str, Any]] | None:
        if chain < 0:
            return None
        return [
            {**function.to_json(), "line": line, "first_line": function.line}
            for function, line in self.frames(chain)
        ]


@dataclass(frozen=True)
class Contended:
    """All waits of a recording; columns are by contention."""

    recording: Recording
    found: Contentions
    undecided: int
    """Waits left out because their beginning was lost."""
    kind: Ints
    """As in KINDS."""
    signalling: Flags
    after_notification: Flags
    """For a lock that a thread acquires again after a condition of it was notified."""
    lock: Ints
    """As in `locks`."""
    locks: list[Lock]
    span: Ints
    """The innermost span in which it began; -1: in none."""
    kinds: LockKinds = field(repr=False)

    def __len__(self) -> int:
        return len(self.found)

    @cached_property
    def tasks(self) -> LockTasks:
        """In which each thread waited and released locks."""
        return LockTasks(self.recording, self.found)

    @cached_property
    def chains(self) -> Chains:
        return chains_of(self.recording)

    @cached_property
    def function(self) -> Ints:
        """By row of the table of contexts, and last for none: the function that waits or holds, as
        in `chains.functions`."""
        return self._functions("context")

    @cached_property
    def own_function(self) -> Ints:
        """The same, but the nearest one that is of no library."""
        return self._functions("own")

    def _functions(self, which: str) -> Ints:
        _, identity = identities(self.recording)
        found = np.full(len(self.recording.contexts) + 1, UNKNOWN, dtype=np.int64)
        holds = self.found.holds
        used = np.concatenate([self.found.context, holds.context, self.found.tail_context])
        for context in np.unique(used[used >= 0]).tolist():
            frame = getattr(self.kinds.site(context), which)
            found[context] = identity[self.recording.contexts.function[frame]]
        return found

    @cached_property
    def lock_classes(self) -> tuple[list[str], Ints]:
        """The classes of locks, and which of them each of `locks` is of."""
        numbers: dict[str, int] = {}
        code = [numbers.setdefault(lock.lock_class, len(numbers)) for lock in self.locks]
        return list(numbers), np.array(code, dtype=np.int64)

    @cached_property
    def activity(self) -> HolderActivity:
        """Of threads that ever held a lock that others waited for."""
        samples, threads = self.recording.samples, len(self.recording.threads)
        holds = np.zeros(threads + 1, dtype=bool)
        holds[self.found.holds.thread] = holds[self.found.tail_thread] = True
        rows = np.flatnonzero(holds[samples.thread])
        return HolderActivity(
            threads,
            samples.thread[rows].astype(np.int64),
            samples.time[rows],
            samples.weight[rows],
            samples.context[rows].astype(np.int64),
            samples.state[rows] != RUNNING,
            self.found,
        )

    @cached_property
    def held_function(self) -> Ints:
        """By row of the table of contexts, and last for none: the innermost function with source
        lines, as in `chains.functions`."""
        files = self.recording.functions.file
        found = self._innermost(np.array([file == BUILT_IN for file in files], dtype=bool))
        bare = self._innermost(np.zeros(len(files), dtype=bool))
        return np.where(found != UNKNOWN, found, bare)

    @cached_property
    def held_own_function(self) -> Ints:
        """The same, but the nearest one that is of no library."""
        files = self.recording.functions.file
        own = self._innermost(np.array([is_library(file) for file in files], dtype=bool))
        return np.where(own != UNKNOWN, own, self.held_function)

    def _innermost(self, skipped: Flags) -> Ints:
        """Of each context the innermost function that is not skipped; `skipped` is by function."""
        contexts = self.recording.contexts
        _, identity = identities(self.recording)
        frame = ContextTree(contexts.parent).nearest(~skipped[contexts.function])
        return np.append(np.where(frame >= 0, identity[contexts.function[frame]], UNKNOWN), UNKNOWN)

    @cached_property
    def thread_names(self) -> tuple[list[str], Ints]:
        """Names no two threads share, and for each thread row (and UNKNOWN) which one it bears."""
        threads = self.recording.threads
        owner = list(zip(threads.process.tolist(), threads.tid.tolist(), strict=True))
        bearers: dict[str, set[tuple[int, int]]] = {}
        for key, text in zip(owner, threads.name, strict=True):
            bearers.setdefault(text, set()).add(key)
        numbers: dict[str, int] = {}
        code = []
        for (_, tid), text in zip(owner, threads.name, strict=True):
            unique = text if text and len(bearers[text]) == 1 else f"{text} ({tid})".lstrip()
            code.append(numbers.setdefault(unique, len(numbers)))
        code.append(UNKNOWN)
        return list(numbers), np.array(code, dtype=np.int64)

    def rows(self, selection: Selection) -> tuple[Contentions, Ints]:
        """The waits within the selected time, and which of them the selection means."""
        keep = np.ones(len(self.found), dtype=bool)
        if selection.thread is not None or selection.process is not None:
            keep &= threads_of(self.recording, selection)[self.found.thread]
        if selection.span is not None:
            keep &= within(self.recording, selection.span)[self.span]
        if selection.task is not None:
            keep &= self.tasks.are_of(selection.task)
        if selection.start_ns is not None:
            keep &= self.found.end > selection.start_ns
        if selection.end_ns is not None:
            keep &= self.found.start < selection.end_ns
        return self.found.within(selection.start_ns, selection.end_ns), np.flatnonzero(keep)


def chains_of(recording: Recording) -> Chains:
    """The call stacks of a recording."""
    contexts = recording.contexts
    functions, identity = identities(recording)
    line = np.maximum(contexts.line, 0).astype(np.int64)
    span = int(line.max()) + 1 if len(line) else 1
    merged = ContextTree(contexts.parent).merged(identity[contexts.function] * span + line)
    node = np.append(merged.node, UNKNOWN)
    return Chains(merged.tree, functions, merged.key // span, merged.key % span, node)


def contended(recording: Recording) -> Contended:
    """The waits of a recording, kept with it."""
    kept = vars(recording)
    if "_contended" not in kept:
        kept["_contended"] = _contended(recording)
    found: Contended = kept["_contended"]
    return found


def _contended(recording: Recording) -> Contended:
    events, contexts, functions = recording.lock_events, recording.contexts, recording.functions
    kinds = LockKinds(
        contexts.parent, contexts.function, functions.name, functions.file, functions.runtime
    )
    waited_in = np.unique(events.context[events.context >= 0]).tolist()
    first = np.full(len(recording.locks), np.iinfo(np.int64).max)
    np.minimum.at(first, events.lock, events.sequence.astype(np.int64))
    replay = Replay(
        recording.locks.made_of,
        recording.threads.process.tolist(),
        kinds.whole(waited_in),
        first,
        (recording.threads.tid >= VIRTUAL_TID).tolist(),
        kinds.awaits(waited_in),
        locks_of_conditions(recording),
    )
    for start in range(0, len(events), BLOCK):
        part = slice(start, start + BLOCK)
        replay.feed(
            events.thread[part],
            events.time[part],
            events.lock[part],
            events.sequence[part],
            events.type[part],
            events.context[part],
        )
    # Read from all samples, so only where it is needed.
    awake = _awake(recording) if (events.type == PREEXISTING).any() else None
    found = replay.finish(_ends(recording), awake)
    span = spans_of_waits(recording, found)
    for start, end in pauses(recording):
        found = found.without(start, end)
    span = np.append(span, span[found.wait[len(span) :]])
    kind, signalling, notified = kinds_of(recording, found, kinds)
    lock, locks = locks_of(recording, found, kinds, kind)
    return Contended(
        recording, found, replay.undecided, kind, signalling, notified, lock, locks, span, kinds
    )


def _awake(recording: Recording) -> list[int]:
    """When each thread was first seen to run."""
    samples = recording.samples
    ran = samples.state == RUNNING
    first = np.full(len(recording.threads), np.iinfo(np.int64).max)
    np.minimum.at(first, samples.thread[ran], samples.time[ran])
    awake: list[int] = first.tolist()
    return awake


def _ends(recording: Recording) -> list[int]:
    """Until when each thread may have waited for what it never got.

    A thread's end is shown by its last sample; of one that waits, that lies before the wait.
    """
    whole = duration_ns(recording)
    ends = [whole if p.end_ns is None else p.end_ns for p in recording.processes]
    return [max(ends[process], 0) for process in recording.threads.process.tolist()]
