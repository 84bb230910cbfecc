"""Recordings sent away while others are still being made.

What waits to be sent lies on the disk, as the segments that a continuous recording rotates anyway:
so nothing piles up in memory, and a recorder never waits for a network. What was rotated away
before it could be sent is counted and reported.
"""

from __future__ import annotations

import glob
import os
import select
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sonde.errors import SondeError
from sonde.fleet.sending.destination import Destination, NotNow
from sonde.fleet.store.labels import labels_of
from sonde.views.stacks.chained_samples import open_recording

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


FIRST_PAUSE_S, MAX_PAUSE_S = 0.5, 30.0
"""Between two tries; each pause is twice the one before."""
TIMEOUT_S = 60.0
"""How long one recording is tried before the next one has its turn."""
LOOK_S = 1.0


@dataclass
class PushResult:
    """What became of everything that was to be sent."""

    sent: int = 0
    failed: int = 0
    missed: int = 0
    """Removed from the disk before their turn came."""
    reasons: list[str] = field(default_factory=list)


def destination(address: str) -> Destination:
    """Where an address leads: a receiver of profiles, or else a store."""
    kind, plus, rest = address.partition("+")
    if plus and rest.startswith(("http://", "https://")):
        from sonde.fleet.sending import receivers

        if kind == "otlp":
            return receivers.Otlp(rest)
        if kind == "pyroscope":
            return receivers.Pyroscope(rest)
        raise SondeError(f"invalid receiver {kind}; give otlp+{rest} or pyroscope+{rest}")
    from sonde.fleet.sending.receivers import InStore

    return InStore(address)


def push(
    to: Destination,
    file: str,
    given: Mapping[str, str],
    *,
    timeout_s: float = TIMEOUT_S,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
) -> None:
    """Sends one recording, trying again for a while."""
    recording = open_recording(file)
    labels = labels_of(recording, given)
    until, pause = now() + timeout_s, FIRST_PAUSE_S
    while True:
        try:
            to.send(recording, labels, given)
            return
        except NotNow as error:
            if now() + pause > until:
                raise SondeError(
                    f"{to.address} did not accept {file} within {timeout_s:g} s: {error}"
                ) from None
        sleep(pause)
        pause = min(2 * pause, MAX_PAUSE_S)


def follow(
    to: Destination, pattern: str, given: Mapping[str, str], ended: Callable[[], bool]
) -> PushResult:
    """Sends the segments of a series as they are finished, until `ended`, and then the last ones.

    A segment is finished when there is a later one, or when its recorder has ended.
    """
    done: set[str] = set()
    seen: set[str] = set()
    result = PushResult()
    over = False
    while not over:
        over = ended()
        there = sorted(glob.glob(pattern))
        gone = seen.difference(there, done)
        result.missed += len(gone)
        done |= gone
        seen.update(there)
        for file in there if over else there[:-1]:
            if file in done or not Path(file).exists():
                continue
            done.add(file)
            try:
                push(to, file, given)
                result.sent += 1
            except SondeError as error:
                result.failed += 1
                result.reasons.append(str(error))
                print(f"sonde: {error}", file=sys.stderr)
    return result


def until_stdin_closes() -> bool:
    """Waits a moment, and says whether who started this has released its standard input."""
    ready, _, _ = select.select([sys.stdin], [], [], LOOK_S)
    return bool(ready) and not os.read(sys.stdin.fileno(), 4096)
