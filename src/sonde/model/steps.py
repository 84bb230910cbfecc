"""Step traces: the words of threads as counts, as a flow of calls, and as loops.

A word is the index of an instruction in its code object, or from FIRST on one of what follows.
The interpreter does not report RESUME, with which functions begin and generators continue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint16]
Indices = NDArray[np.int64]

FIRST = 0xFF00
CODE = 0xFF00
"""Instructions are of this code from here on: its id follows in four words."""
START, RESUME, RETURN, YIELD, UNWIND, THROW = range(0xFF01, 0xFF07)
FAR = 0xFF07
"""An instruction of a large code object: its index follows in two words."""
LENGTHS = {CODE: 5, FAR: 3}
NAMES = {
    START: "call", RESUME: "resume", RETURN: "return", YIELD: "yield", UNWIND: "unwind",
    THROW: "throw",
}  # fmt: skip
"""What comes after a run of instructions."""
ENTERS = (START, RESUME, THROW)
_SEPARATOR = np.array([-1], dtype=np.int64)


@dataclass(slots=True)
class Run:
    """Instructions that one activation executed without a call or return in between."""

    code: int
    """Its id."""
    depth: int
    first: int
    """Index of the first instruction."""
    last: int
    count: int
    end: str
    """What comes after it, of NAMES; "" at the end of the trace."""


@dataclass
class Steps:
    """What one thread did, or several together."""

    counts: dict[int, Indices] = field(default_factory=dict)
    """By code: how often each instruction was executed."""
    calls: dict[int, int] = field(default_factory=dict)
    """By code: activations that began."""
    totals: dict[int, int] = field(default_factory=dict)
    """By code: instructions of its activations and all that they called; recursion counts once."""
    jumps: dict[tuple[int, int, int], int] = field(default_factory=dict)
    """By code, from and to: jumps backward."""
    runs: list[Run] = field(default_factory=list)

    @property
    def instructions(self) -> int:
        return sum(int(counts.sum()) for counts in self.counts.values())


def decode(words: Words, into: Steps, skipped: Sequence[int] = (), runs: bool = True) -> None:
    """Adds what the words of one thread say; nothing of the code that is skipped counts."""
    _Decoder(words, into, frozenset(skipped), runs).run()


@dataclass(slots=True)
class _Activation:
    code: int
    outermost: bool
    """No other activation of its code is below it."""
    instructions: int = 0
    """Of it and of all that it called."""


class _Decoder:
    def __init__(self, words: Words, into: Steps, skipped: frozenset[int], runs: bool) -> None:
        self._words = words
        self._into = into
        self._skipped = skipped
        self._runs = runs
        self._stack: list[_Activation] = []
        self._active: dict[int, int] = {}
        """By code: how many of its activations are on the stack."""
        self._code = -1
        self._pending: list[tuple[int, Indices]] = []
        """Instructions since the last event, with their code."""
        self._executed: dict[int, list[Indices]] = {}
        """By code: all of them, with a separator after those without an event in between."""

    def run(self) -> None:
        words = self._words
        at = 0
        for place in np.flatnonzero(words >= FIRST).tolist():
            if place < at:  # what follows another one
                continue
            self._plain(at, place)
            word = int(words[place])
            at = place + LENGTHS.get(word, 1)
            if at > len(words):
                break
            if word == CODE:
                self._code = int(words[place + 1 : at].copy().view(np.uint64)[0])
            elif word == FAR:
                far = words[place + 1 : at].copy().view(np.uint32).astype(np.int64)
                self._pending.append((self._code, far))
            elif word in NAMES:
                self._event(word)
        self._plain(at, len(words))
        self._flush("")
        while self._stack:
            self._pop()
        self._count()

    def _plain(self, begin: int, end: int) -> None:
        if begin < end:
            self._pending.append((self._code, self._words[begin:end].astype(np.int64)))

    # ---- events

    def _event(self, word: int) -> None:
        self._flush(NAMES[word])
        if word in ENTERS:
            self._push(self._code)
            if word == START:
                self._into.calls[self._code] = self._into.calls.get(self._code, 0) + (
                    self._code not in self._skipped
                )
        elif self._stack:
            self._pop()

    def _push(self, code: int) -> None:
        active = self._active.get(code, 0)
        self._active[code] = active + 1
        self._stack.append(_Activation(code, not active))

    def _pop(self) -> None:
        done = self._stack.pop()
        self._active[done.code] -= 1
        if self._stack:
            self._stack[-1].instructions += done.instructions
        if done.outermost and done.code not in self._skipped:
            totals = self._into.totals
            totals[done.code] = totals.get(done.code, 0) + done.instructions

    def _flush(self, end: str) -> None:
        pending, self._pending = self._pending, []
        for number, (code, indices) in enumerate(pending):
            if not self._stack or self._stack[-1].code != code:
                self._return_to(code)
            if code in self._skipped:
                continue
            self._stack[-1].instructions += len(indices)
            self._executed.setdefault(code, []).append(indices)
            if number + 1 == len(pending) or pending[number + 1][0] != code:
                self._executed[code].append(_SEPARATOR)
            if self._runs:
                last = end if number + 1 == len(pending) else ""
                self._into.runs.append(
                    Run(
                        code, len(self._stack) - 1, int(indices[0]), int(indices[-1]),
                        len(indices), last,
                    )
                )  # fmt: skip

    def _return_to(self, code: int) -> None:
        """To an activation that began before the trace, or whose callees ended unseen."""
        if any(activation.code == code for activation in self._stack):
            while self._stack[-1].code != code:
                self._pop()
            return
        while self._stack:
            self._pop()
        self._push(code)

    # ---- sums

    def _count(self) -> None:
        for code, pieces in self._executed.items():
            indices = np.concatenate(pieces)
            counts = np.bincount(indices[indices >= 0])
            before = self._into.counts.get(code)
            if before is not None:
                longer, shorter = sorted((counts, before), key=len, reverse=True)
                counts = longer.copy()
                counts[: len(shorter)] += shorter
            self._into.counts[code] = counts
            here, there = indices[:-1], indices[1:]
            back = (there <= here) & (there >= 0)
            pairs, numbers = np.unique(
                np.stack([here[back], there[back]]), axis=1, return_counts=True
            )
            for source, target, number in zip(*pairs.tolist(), numbers.tolist(), strict=True):
                key = (code, source, target)
                self._into.jumps[key] = self._into.jumps.get(key, 0) + number
