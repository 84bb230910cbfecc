"""No stack that cannot happen: every edge of every context against an exhaustive trace."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from launching import Interpreter, must_run
from truth.conftest import Truth
from truth.stacks import BUILT_IN, PROGRAMS, Stacks, impossible

Get = Callable[[str], Truth]

TRACED = ["shares", "calls", "coroutines", "depth", "threads", "builtins_"]


def is_program(file: str) -> bool:
    return file.startswith(str(PROGRAMS)) or file == "<workers>"


@pytest.mark.parametrize("program", TRACED)
def test_no_edge_that_never_happens(truth: Get, program: str) -> None:
    it = truth(program)
    found = impossible(it.stacks, it.trace, is_program)
    assert not found, "\n".join([f"{len(found)} impossible contexts:", *found[:10]])


@pytest.mark.parametrize("program", TRACED)
def test_no_c_function_where_it_is_not_called(truth: Get, program: str) -> None:
    """C functions are known to the trace by their line; classes are not, but are seldom in doubt."""
    it = truth(program)
    called = {(code, line, name.rpartition(".")[2]) for code, line, name in it.trace.built_in}
    names = {name for _, _, name in called}
    wrong = []
    for context in it.stacks:
        function, parent = it.stacks.frame[context].code, it.stacks.parent[context]
        if function.file != BUILT_IN or parent < 0:
            continue
        caller = it.stacks.frame[parent]
        assert caller.code.file != BUILT_IN, f"C called by C: {it.stacks.show(context)}"
        name = function.name.rpartition(".")[2]
        if is_program(caller.code.file) and (caller.code, caller.line, name) not in called:
            if name in names and name not in ("__new__", "__call__", "__init__"):
                wrong.append(it.stacks.show(context))
    assert not wrong, "\n".join(wrong[:10])


def test_depth_is_counted_frame_by_frame(truth: Get) -> None:
    it = truth("depth")
    depth = it.run.told["depth"]
    at_bottom = {"bottom": 0, "tick_bottom": 0}
    for context in it.stacks:
        if not it.stacks.count[context]:
            continue
        names = [frame.code.name for frame in it.stacks.path(context)]
        down, ticks, tocks = names.count("down"), names.count("tick"), names.count("tock")
        assert down <= depth
        assert ticks - tocks in (0, 1)
        if "bottom" in names:
            assert down == depth
            at_bottom["bottom"] += int(it.stacks.count[context])
        if "tick_bottom" in names:
            assert (ticks, tocks) == (depth // 2 + 1, depth // 2)
            at_bottom["tick_bottom"] += int(it.stacks.count[context])
    assert min(at_bottom.values()) > 1000


def test_deeper_than_a_sample_holds(python: Interpreter, keep: Callable[[str], Path]) -> None:
    run = must_run(keep("abyss"), [python.path, PROGRAMS / "abyss.py", "0.4"], "--rate", "1000")
    recording, stacks = run.recording, Stacks(run.recording)
    left_out, most = 0, 4096
    for context in stacks:
        if not stacks.count[context]:
            continue
        path = stacks.path(context)
        names = [frame.code.name for frame in path]
        if "bottom" in names:
            assert names[0] == "[outer frames left out]"
            assert most - 4 <= len(names) <= most + 1
            assert set(names[1 : names.index("bottom")]) == {"abyss"}
            left_out += int(stacks.count[context])
        elif names[0] != "[outer frames left out]":
            assert names.count("abyss") < most
    assert 300 < left_out <= recording.quality["truncated"]


def test_generated_functions_are_only_under_their_own_callers(truth: Get) -> None:
    """Number, file and lines of every generated function agree, and so do its caller's."""
    it = truth("generated")
    wrong = []
    count = 0
    for context in it.stacks:
        frame = it.stacks.frame[context]
        match = re.fullmatch(r"(gen|call|leaf)_(\d+)", frame.code.name)
        if match is None:
            if frame.code.file.startswith("<generated"):
                wrong += _only_module(it.stacks, context)
            continue
        count += 1
        kind, number = match[1], int(match[2])
        caller = it.stacks.frame[it.stacks.caller(context)]
        first, lines, callers = _expected(kind, number)
        right = (
            frame.code.file == f"<generated {number}>"
            and frame.code.first_line == first
            and frame.line in lines
            and (caller.code.name, caller.line) in callers
        )
        if kind == "call":
            right = right and caller.code.file.endswith("generated.py")
        elif kind != "call":
            right = right and caller.code.file == frame.code.file
        if not right:
            wrong.append(it.stacks.show(context))
    assert count > 500
    assert not wrong, "\n".join(wrong[:10])


def _expected(kind: str, number: int) -> tuple[int, range, set[tuple[str, int]]]:
    """First line, lines, and callers with the line of the call, of a generated function."""
    # The text begins with an empty line of its own after the shifting ones.
    top = number % 13 + 2
    if kind == "gen":
        return top, range(top, top + 6), {(f"call_{number}", top + 11)}
    if kind == "leaf":
        return top + 7, range(top + 7, top + 9), {(f"gen_{number}", top + 4)}
    return top + 10, range(top + 10, top + 12), {("churn", CHURN_LINE)}


CHURN_LINE = next(
    number
    for number, text in enumerate((PROGRAMS / "generated.py").read_text().splitlines(), 1)
    if 'space[f"call_{n}"](' in text
)


def _only_module(stacks: Stacks, context: int) -> list[str]:
    return [] if stacks.frame[context].code.name == "<module>" else [stacks.show(context)]
