"""Collapsed stacks, one line each with its number of samples, or bytes: what flame graph scripts
read."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from sonde.views.selecting.profile import profile

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection

SUFFIX = ".collapsed.txt"
TEXT = True
MEMORY = True
LOGICAL = True

# The format has no way to quote what it uses itself.
_MEANINGFUL = str.maketrans({";": ",", "\n": " ", "\r": " "})


def write(recording: Recording, selection: Selection, out: BinaryIO) -> None:
    found = profile(recording, selection)
    functions = found.functions
    frames = [
        _printable(f"{functions[f].name} ({functions[f].file}:{line})".translate(_MEANINGFUL))
        for f, line in zip(found.function.tolist(), found.line.tolist(), strict=True)
    ]
    samples = (found.samples if selection.memory is None else found.own).tolist()
    for node, path in found.tree.paths():
        if samples[node]:
            stack = ";".join([frames[i] for i in path])
            out.write(f"{stack} {samples[node]}\n".encode("utf-8", "replace"))


def _printable(text: str) -> str:
    """The text with control characters spelt out: names come from strangers, and the output may go
    to a terminal."""
    if text.isprintable():
        return text
    return "".join(
        char
        if char.isprintable() or _is_surrogate(char)
        else char.encode("unicode_escape").decode()
        for char in text
    )


def _is_surrogate(char: str) -> bool:
    """Half a character, which no encoding can write: it becomes a question mark."""
    return "\ud800" <= char <= "\udfff"
