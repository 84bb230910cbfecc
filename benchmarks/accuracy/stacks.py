"""Stacks with their number of samples, out of what each profiler stores."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from accuracy.edges import Frame, Stack
from harness.peers import Result

# Frames that stand for no Python function: sonde's C functions and profilers' own words.
_ARTIFICIAL = {"<GC>", "<native>", "<built-in>"}
_PY_SPY = re.compile(r"(?P<name>.*) \((?P<file>.*?)(?::(?P<line>\d+))?\)")


def of_recording(path: Path) -> Iterator[tuple[Stack, int]]:
    """The running samples of a sonde recording."""
    from sonde.recording.reader import read

    recording = read(str(path))
    functions, contexts = recording.functions, recording.contexts
    frames = [
        Frame(functions.file[f], functions.name[f], int(line))
        for f, line in zip(contexts.function.tolist(), contexts.line.tolist(), strict=True)
    ]
    parents = contexts.parent.tolist()
    samples = recording.samples
    taken = Counter(samples.context[(samples.state == 0) & (samples.context >= 0)].tolist())
    for context, count in taken.items():
        stack: list[Frame] = []
        at = context
        while at >= 0:
            if frames[at].file not in _ARTIFICIAL:
                stack.append(frames[at])
            at = parents[at]
        yield tuple(reversed(stack)), count


def of_peer(peer: str, result: Result) -> Iterator[tuple[Stack, int]]:
    for texts, count in result.stacks.items():
        frames = tuple(
            _py_spy(text) if peer.startswith("py-spy") else _colons(text) for text in texts
        )
        yield tuple(frame for frame in frames if not _artificial(frame)), count


def _artificial(frame: Frame) -> bool:
    # The last is the interpreter's own trampoline for an inlined constructor (3.13 on), of which
    # sys._getframe knows nothing either.
    return frame.name in _ARTIFICIAL or (frame.file, frame.name) == ("__init__", "__init__")


def _py_spy(text: str) -> Frame:
    """ "name (file:line)" """
    match = _PY_SPY.fullmatch(text)
    if not match:
        return Frame("", text, 0)
    return Frame(match["file"], match["name"], int(match["line"] or 0))


def _colons(text: str) -> Frame:
    """ "file:name:line" """
    rest, _, line = text.rpartition(":")
    file, _, name = rest.rpartition(":")
    known = line.isdigit() or line == "-1"
    return Frame(file, name, max(int(line), 0)) if known and file else Frame("", text, 0)
