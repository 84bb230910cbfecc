"""The text of an object, as views show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.heap.snapshot import Snapshot

MAX_TEXT = 60


def text_of(snapshot: Snapshot, number: int) -> str | None:
    """The value of a string, or what a class is called, cut to MAX_TEXT characters."""
    text = snapshot.contents.text(number)
    if text is not None and len(text) > MAX_TEXT:
        text = text[: MAX_TEXT - 1] + "…"
    return text
