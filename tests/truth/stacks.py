"""The stacks of a recording, held against what can happen at all.

A context is one edge: its parent's function called its own function from its parent's line. So
checking every context once checks every edge of every sampled stack.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from launching import TIMEOUT_S, Interpreter, clean_environment
from numpy.typing import NDArray

from sonde.recording.tables import Recording

PROGRAMS = Path(__file__).resolve().parent / "programs"
BUILT_IN = "<built-in>"

# A thread's first steps run before a profile hook can be set in it: what they call among
# themselves is not in the trace.
PLUMBING = ("threading.py", "_weakrefset.py")


class Code(NamedTuple):
    name: str
    file: str
    first_line: int

    def __str__(self) -> str:
        return f"{self.name} ({Path(self.file).name}:{self.first_line})"


class Frame(NamedTuple):
    code: Code
    line: int


@dataclass(frozen=True)
class Trace:
    """Every call a program makes, from an exhaustive run of it."""

    calls: frozenset[tuple[Code | None, int, Code]]
    built_in: frozenset[tuple[Code, int, str]]
    lines: dict[Code, frozenset[int]]

    def allows(self, caller: Frame | None, callee: Code) -> bool:
        if caller is None:
            return (None, 0, callee) in self.calls
        return (caller.code, caller.line, callee) in self.calls


def trace(python: Interpreter, program: Path, arguments: list[str], out: Path) -> Trace:
    done = subprocess.run(
        [python.path, PROGRAMS / "trace_edges.py", out, program, *arguments],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(out.read_text())
    return Trace(
        frozenset(
            (None if caller is None else Code(*caller), line, Code(*callee))
            for caller, line, callee in told["calls"]
        ),
        frozenset((Code(*caller), line, name) for caller, line, name in told["built_in"]),
        {Code(*code): frozenset(lines) for code, lines in told["lines"]},
    )


class Stacks:
    """The contexts of a recording as frames."""

    def __init__(self, recording: Recording) -> None:
        functions, contexts = recording.functions, recording.contexts
        codes = [
            Code(name, file, int(line))
            for name, file, line in zip(functions.name, functions.file, functions.line, strict=True)
        ]
        self.recording = recording
        self.parent = contexts.parent.tolist()
        self.frame = [
            Frame(codes[function], line)
            for function, line in zip(
                contexts.function.tolist(), contexts.line.tolist(), strict=True
            )
        ]
        count = len(self.parent)
        self.weight = np.zeros(count, dtype=np.int64)
        self.count = np.zeros(count, dtype=np.int64)
        known = recording.samples.context >= 0
        np.add.at(self.weight, recording.samples.context[known], recording.samples.weight[known])
        np.add.at(self.count, recording.samples.context[known], 1)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.parent)))

    def path(self, context: int) -> list[Frame]:
        """Outermost first."""
        frames = []
        while context >= 0:
            frames.append(self.frame[context])
            context = self.parent[context]
        return frames[::-1]

    def caller(self, context: int) -> int:
        """The nearest Python frame outwards; -1: none."""
        context = self.parent[context]
        while context >= 0 and self.frame[context].code.file == BUILT_IN:
            context = self.parent[context]
        return context

    def show(self, context: int, last: int = 8) -> str:
        return " > ".join(f"{frame.code}@{frame.line}" for frame in self.path(context)[-last:])

    def below(self, wanted: Callable[[Frame], bool]) -> NDArray[np.bool_]:
        """Which contexts have such a frame; one more place at the end, False, for context -1."""
        found = np.zeros(len(self.parent) + 1, dtype=np.bool_)
        for context, parent in enumerate(self.parent):
            found[context] = (parent >= 0 and found[parent]) or wanted(self.frame[context])
        return found

    def split(self, decide: Callable[[Frame], str | None]) -> dict[str, int]:
        """Time by the outermost frame that `decide` names; frames it does not name are passed."""
        names: list[str | None] = []
        totals: dict[str, int] = {}
        for context, parent in enumerate(self.parent):
            name = names[parent] if parent >= 0 else None
            if name is None:
                name = decide(self.frame[context])
            names.append(name)
            if name is not None:
                totals[name] = totals.get(name, 0) + int(self.weight[context])
        return totals

    def split_by_child(self, of: str) -> dict[str, int]:
        """Time by the Python function directly below the frames of function `of`."""
        below: list[str | None] = []
        totals: dict[str, int] = {}
        for context, parent in enumerate(self.parent):
            name = below[parent] if parent >= 0 else None
            if name is None and self.frame[context].code.file != BUILT_IN:
                caller = self.caller(context)
                if caller >= 0 and self.frame[caller].code.name == of:
                    name = self.frame[context].code.name.rpartition(".")[2]
            below.append(name)
            if name is not None:
                totals[name] = totals.get(name, 0) + int(self.weight[context])
        return totals


def impossible(stacks: Stacks, known: Trace, is_program: Callable[[str], bool]) -> list[str]:
    """Every context that a run of the program cannot have, described.

    Checked are all frames from the outermost one of the program on, but for what importing a module
    does, which depends on what was imported and compiled before.
    """
    outside, inside, importing = range(3)
    where: list[int] = []
    found: list[str] = []
    for context in stacks:
        frame = stacks.frame[context]
        parent = stacks.parent[context]
        state = where[parent] if parent >= 0 else outside
        file = frame.code.file
        if file == BUILT_IN:
            where.append(state)
            continue
        if is_program(file):
            check, state = True, inside
            if frame.line not in known.lines.get(frame.code, ()):
                found.append(f"no such line: {stacks.show(context)}")
        elif file.startswith("<frozen importlib"):
            check = False
            state = importing if state == inside else state
        else:
            check = state == inside and not file.endswith(PLUMBING)
        where.append(state)
        if not check:
            continue
        caller = stacks.caller(context)
        if not known.allows(stacks.frame[caller] if caller >= 0 else None, frame.code):
            found.append(f"no such call: {stacks.show(context)} [{stacks.count[context]} samples]")
    return found


def marked_lines(program: Path, mark: str = "# line: ") -> dict[int, str]:
    """Lines of a program by their comment `# line: NAME`."""
    lines = enumerate(program.read_text().splitlines(), 1)
    return {number: text.split(mark)[1] for number, text in lines if mark in text}
