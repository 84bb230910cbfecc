"""When a flight recorder is to be read out: "lock wait > 200ms"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sonde.errors import UsageError, invalid
from sonde.model.locks.lock_kinds import LockKinds
from sonde.units import parse_time

from ...shm import layout as shm

if TYPE_CHECKING:
    from ...tables.open_lock_waits import LockWait
    from ...tables.stacks.contexts import Contexts

LOCK_WAIT, GIL_WAIT = "lock wait", "gil wait"
SUBJECTS = (LOCK_WAIT, GIL_WAIT)
_CONDITION = re.compile(r"\s*([a-z]+(?:\s+[a-z]+)*)\s*>=?\s*(\S.*?)\s*\Z", re.IGNORECASE)


def parse_threshold(text: str) -> tuple[str, int]:
    """The subject of a condition and its time in nanoseconds."""
    found = _CONDITION.match(text)
    if found is None:
        raise UsageError(
            f"invalid --dump-when {text!r}; give a condition such as 'lock wait > 200ms'"
        )
    subject = " ".join(found[1].lower().split())
    if subject not in SUBJECTS:
        raise UsageError(invalid("--dump-when condition", subject, SUBJECTS, "conditions"))
    return subject, parse_time(f"--dump-when '{subject} >'", found[2])


class DumpTriggers:
    """What was exceeded since somebody last asked."""

    def __init__(self, conditions: Sequence[tuple[str, int]], contexts: Contexts) -> None:
        self._limits: dict[str, int] = {}
        for subject, ns in conditions:
            self._limits[subject] = min(ns, self._limits.get(subject, ns))
        self._contexts = contexts
        self._exceeded: str | None = None

    @property
    def notable_ns(self) -> int | None:
        """Shorter waits exceed nothing."""
        return min(self._limits.values(), default=None)

    def waited(self, wait: LockWait) -> None:
        subject = GIL_WAIT if wait.kind == shm.KIND_GIL else LOCK_WAIT
        limit = self._limits.get(subject)
        if limit is None or wait.ns <= limit:
            return
        owned = subject == GIL_WAIT or wait.kind == shm.KIND_MONITOR
        if not owned and self._is_for_a_signal(wait.context):
            return  # an idle worker waits for its queue all day
        self._exceeded = f"{subject} of {wait.ns / 1e6:,.0f} ms"

    def take(self) -> str | None:
        exceeded, self._exceeded = self._exceeded, None
        return exceeded

    def _is_for_a_signal(self, context: int) -> bool:
        chain = self._contexts.chain(context)
        kinds = LockKinds(
            range(-1, len(chain) - 1),
            range(len(chain)),
            [name for name, *_ in chain],
            [file for _, file, *_ in chain],
            [runtime for *_, runtime in chain],
        )
        return kinds.site(len(chain) - 1).signalling
