"""Every call a program makes, and whether a sampled stack could have been made by such calls.

`EdgeTracer` sees all calls by the interpreter's own profiling hook: caller, line of the call,
callee. A stack is impossible if one of its functions never called the next one, if a frame's line
is not in its function, or if it starts where no stack starts. Functions are told apart by file,
name and lines, because not every profiler gives more; the traced run is of the same interpreter,
so lines mean the same.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any


class EdgeTracer:
    """From `start` to `stop`, the calls of this thread."""

    def __init__(self) -> None:
        self._codes: dict[int, CodeType] = {}
        self._edges: set[tuple[int, int, int]] = set()
        self._roots: set[int] = set()

    def start(self) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame:
            self._codes[id(frame.f_code)] = frame.f_code
            if frame.f_back is None:
                self._roots.add(id(frame.f_code))
            frame = frame.f_back
        sys.setprofile(self._on_event)

    def stop(self) -> None:
        sys.setprofile(None)

    def _on_event(self, frame: FrameType, event: str, _arg: object) -> None:
        if event != "call":
            return
        code, caller = frame.f_code, frame.f_back
        # Held, so that no other code object gets its address.
        self._codes[id(code)] = code
        if caller is None:
            self._roots.add(id(code))
        else:
            self._codes[id(caller.f_code)] = caller.f_code
            self._edges.add((id(caller.f_code), caller.f_lineno, id(code)))

    def write(self, path: str) -> None:
        numbers = {address: i for i, address in enumerate(self._codes)}
        codes = [
            [code.co_filename, code.co_name, sorted({line for *_, line in code.co_lines() if line})]
            for code in self._codes.values()
        ]
        edges = sorted({(numbers[a], line, numbers[b]) for a, line, b in self._edges})
        roots = sorted(numbers[address] for address in self._roots)
        Path(path).write_text(json.dumps({"codes": codes, "edges": edges, "roots": roots}))


@dataclass(frozen=True)
class Frame:
    """A frame as a profiler reported it."""

    file: str
    name: str
    line: int
    """0: not told."""


Stack = tuple[Frame, ...]
"""Outermost first."""


@dataclass
class Verdict:
    """Samples by what is wrong with their stack."""

    checked: int = 0
    impossible: int = 0
    wrong_line: int = 0
    """Possible calls, but not from that line."""
    outside: int = 0
    """While starting up or ending, which was not traced."""
    example: str = ""


class Truth:
    """What a traced run says is possible."""

    def __init__(self, path: Path) -> None:
        traced: dict[str, Any] = json.loads(path.read_text())
        self._by_name: dict[tuple[str, str], list[tuple[int, frozenset[int]]]] = {}
        for number, (file, name, lines) in enumerate(traced["codes"]):
            key = (_last(file), name)
            self._by_name.setdefault(key, []).append((number, frozenset(lines)))
        self._edges = {(a, b) for a, _, b in traced["edges"]}
        self._call_lines = {(a, line, b) for a, line, b in traced["edges"]}
        self._roots = set(traced["roots"])

    def check(self, stacks: Iterable[tuple[Stack, int]]) -> Verdict:
        verdict = Verdict()
        for stack, count in stacks:
            if _outside(stack):
                verdict.outside += count
                continue
            verdict.checked += count
            wrong = self._judge(stack)
            if wrong == "line":
                verdict.wrong_line += count
            elif wrong:
                verdict.impossible += count
                verdict.example = verdict.example or wrong
        return verdict

    def _judge(self, stack: Stack) -> str | None:
        """None: possible; "line": calls from another line; else the place that cannot be."""
        callers = self._candidates(stack[0])
        if not callers & self._roots:
            return f"starts at {_text(stack[0])}"
        callers &= self._roots
        result = None
        for caller, callee in itertools.pairwise(stack):
            candidates = self._candidates(callee)
            called = {b for b in candidates if any((a, b) in self._edges for a in callers)}
            if not called:
                return f"{_text(caller)} → {_text(callee)}"
            if caller.line and not any(
                (a, caller.line, b) in self._call_lines for a in callers for b in called
            ):
                result = "line"
            callers = called
        return result

    def _candidates(self, frame: Frame) -> set[int]:
        known = self._by_name.get((_last(frame.file), frame.name.rpartition(".")[2]), [])
        return {number for number, lines in known if not frame.line or frame.line in lines}


def _outside(stack: Sequence[Frame]) -> bool:
    if not stack or any(frame.file.startswith("<frozen ") for frame in stack):
        return True
    return _last(stack[0].file) == "threading.py" and stack[0].name == "_shutdown"


def _last(file: str) -> str:
    return file.rpartition("/")[2]


def _text(frame: Frame) -> str:
    return f"{frame.name} ({_last(frame.file)}:{frame.line})"
