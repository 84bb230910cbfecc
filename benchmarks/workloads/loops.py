"""Loops of one operation whose number is known."""

from __future__ import annotations

import threading
from collections.abc import Callable

ROUNDS = 20_000
_lock, _again, _other = threading.Lock(), threading.RLock(), threading.Lock()

ACQUIRED = {"with _lock": 3, "with _again": 2, "_other.acquire": 1}
"""Acquisitions of each lock in a round of `acquiring`."""


def acquiring() -> None:
    for _ in range(ROUNDS):
        with _lock:
            pass
        with _again, _again:
            pass
        with _lock:
            pass
        _other.acquire()
        _other.release()
        with _lock:
            pass


def _visited(value: int) -> int:
    return value + 1


PROBED_LINE = _visited.__code__.co_firstlineno + 1


def visiting() -> None:
    for number in range(ROUNDS):
        _visited(number)


def _other_function(value: int) -> int:
    return value + 1


def beside() -> None:
    """Does not come to the line."""
    for number in range(ROUNDS):
        _other_function(number)


LOOPS: dict[str, Callable[[], None]] = {
    "acquiring": acquiring, "visiting": visiting, "beside": beside,
}  # fmt: skip
