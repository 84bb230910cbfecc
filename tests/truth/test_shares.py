"""Shares of time between functions, lines, C functions and threads that are known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from truth.bounds import compare, unaccounted
from truth.conftest import RATE, Truth
from truth.stacks import BUILT_IN, PROGRAMS, Stacks, marked_lines

Get = Callable[[str], Truth]


def test_functions_get_their_share(truth: Get) -> None:
    it = truth("shares")
    measured = it.stacks.split_by_child("turn")
    assert not compare(it.run.told["by_function"], measured, it.run.recording.samples.weight)


def test_lines_get_their_share(truth: Get) -> None:
    it = truth("shares")
    lines = marked_lines(it.program)
    measured = it.stacks.split(
        lambda frame: lines.get(frame.line) if frame.code.name == "lines" else None
    )
    assert set(measured) == {"loop", "sum", "calls"}
    assert not compare(it.run.told["by_line"], measured, it.run.recording.samples.weight)


@pytest.mark.parametrize(("program", "caller"), [("calls", "one"), ("coroutines", "part")])
def test_call_dense_parts_get_their_share(truth: Get, program: str, caller: str) -> None:
    it = truth(program)
    measured = it.stacks.split_by_child(caller)
    assert not compare(it.run.told["parts"], measured, it.run.recording.samples.weight)


def test_c_functions_get_their_share_and_their_name(truth: Get) -> None:
    it = truth("builtins_")
    measured = it.stacks.split_by_child("turn")
    assert not compare(it.run.told["parts"], measured, it.run.recording.samples.weight)
    inside, other = _time_in_c(it.stacks, it.run.told["names"])
    assert not other, f"in C functions that were never called: {other}"
    for part in it.run.told["names"]:
        # What is missing is the loop around the call.
        assert inside[part] > 0.95 * measured[part], f"{part}: C function not named"


def _time_in_c(stacks: Stacks, names: dict[str, str]) -> tuple[dict[str, int], dict[str, int]]:
    """Per part the time in its C function, and what was seen in any other."""
    inside: dict[str, int] = {}
    other: dict[str, int] = {}
    for context in stacks:
        leaf, parent = stacks.frame[context].code, stacks.parent[context]
        if leaf.file != BUILT_IN or parent < 0:
            continue
        part = stacks.frame[parent].code
        if part.name not in names or not part.file.startswith(str(PROGRAMS)):
            continue
        weight = int(stacks.weight[context])
        if leaf.name.rpartition(".")[2].removeprefix("openssl_") == names[part.name]:
            inside[part.name] = inside.get(part.name, 0) + weight
        elif leaf.name != "range":
            other[leaf.name] = other.get(leaf.name, 0) + weight
    return inside, other


def test_every_thread_gets_its_time_and_its_name(truth: Get) -> None:
    it = truth("threads")
    recording = it.run.recording
    samples = recording.samples
    by_name = {name: row for row, name in enumerate(recording.threads.name)}
    assert len(by_name) == len(recording.threads)
    line = next(iter(marked_lines(it.program)))
    inside = it.stacks.below(lambda frame: frame.code.name == "start" and frame.line == line)
    beside = it.stacks.below(lambda frame: frame.code.name == "start")
    for number, spent in it.run.told["spent"].items():
        mine = np.flatnonzero(samples.thread == by_name[f"w-{number}"])
        contexts = samples.context[mine]
        assert not unaccounted(recording, mine, inside[contexts], beside[contexts], spent), number
        functions = [_functions(it.stacks, context) for context in set(contexts.tolist())]
        assert set().union(*functions) & OWN <= {f"work_{number}", f"leaf_{number}"}


OWN = {f"{kind}_{number}" for kind in ("work", "leaf") for number in range(50)}


def _functions(stacks: Stacks, context: int) -> set[str]:
    return {frame.code.name for frame in stacks.path(context)}


def test_generated_functions_get_no_more_than_their_time(truth: Get) -> None:
    """Each lives for a few samples only: a sample under a dead one's name shows as too much time."""
    it = truth("generated")
    spent = {int(n): ns for n, ns in it.run.told["spent"].items()}
    owner = [-1] * len(it.stacks.parent)
    for context in it.stacks:
        code = it.stacks.frame[context].code
        if code.name.startswith(("gen_", "call_", "leaf_")):
            owner[context] = int(code.name.partition("_")[2])
        elif it.stacks.parent[context] >= 0:
            owner[context] = owner[it.stacks.parent[context]]
    samples = it.run.recording.samples
    seen: dict[int, int] = {}
    for context, weight in zip(samples.context.tolist(), samples.weight.tolist(), strict=True):
        number = owner[context] if context >= 0 else -1
        if number >= 0:
            # The first sample of a function also counts for the time before it began.
            seen[number] = seen[number] + weight if number in seen else 0
    assert len(seen) > len(spent) / 2
    period = 1_000_000_000 // RATE
    # A sample under a wrong name is a whole period too much; less may be the clock (see bounds.py).
    too_much = {n: (ns, spent[n]) for n, ns in seen.items() if ns > spent[n] + period / 2}
    assert not too_much
    total = int(samples.weight[np.isin(samples.context, _of_any(owner))].sum())
    # None is due while a sample is taken, so code where that costs more than elsewhere gets fewer of
    # them: at most all that it costs is missing. Most of it is new here with each function.
    true, cost = sum(spent.values()), it.run.recording.quality["agent_cpu_ns"]
    assert 0.98 * true - cost < total < 1.02 * true


def _of_any(owner: list[int]) -> list[int]:
    return [context for context, number in enumerate(owner) if number >= 0]
