"""Profiles in terms of the program's own code: the time of libraries counts for their callers."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sonde import settings
from sonde.errors import UsageError
from sonde.model.code_origin import CodeOrigin, CodePlace
from sonde.model.trees.context_tree import sums
from sonde.model.trees.folding import Folded, cut_below, fold
from sonde.row_values import BUILT_IN
from sonde.views.selecting.formatting import some
from sonde.views.selecting.profile import Function, Profile, summed_up

if TYPE_CHECKING:
    from sonde.model.trees.context_tree import Ints
    from sonde.recording.tables import Recording

OUTSIDE = Function("[no code of yours]", "", 0, "")
"""The root of what no function of the program's own called."""

COMPILING = Function("[JIT compiler]", BUILT_IN, 0, "hotspot")
COLLECTING = Function("[garbage collection]", BUILT_IN, 0, "hotspot")
_VM_WORK = {
    "[C1 compiler]": COMPILING,
    "[C2 compiler]": COMPILING,
    "[JVMCI compiler]": COMPILING,
    "[GC thread]": COLLECTING,
    "[GC thread, concurrent]": COLLECTING,
}
"""What threads of the JVM do, as their roots are called, and what it is part of."""


def configured_source() -> tuple[str, ...]:
    """What the settings of the working directory name as the program's own code."""
    return settings.load().source


def origin_of(recording: Recording, source: tuple[str, ...] | None = None) -> CodeOrigin:
    """`source`: packages and folders of the program's own code; None: as the settings have it."""
    table, processes = recording.functions, recording.processes
    return CodeOrigin(
        [*map(CodePlace, table.name, table.file, table.runtime)],
        source=configured_source() if source is None else source,
        executables={process.executable for process in processes},
        given=any(_runs_inline_code(process.argv) for process in processes),
    )


def is_own(recording: Recording, functions: list[Function]) -> list[bool]:
    """Which functions are the program's own."""
    origin = origin_of(recording)
    return [origin.is_own(CodePlace(f.name, f.file, f.runtime)) for f in functions]


def require_own(recording: Recording) -> None:
    """A wrong setting must not read as a program without code."""
    source, table = configured_source(), recording.functions
    origin = origin_of(recording)
    places = map(CodePlace, table.name, table.file, table.runtime)
    if source and not any(map(origin.is_own, places)):
        raise UsageError(
            f"no function in {recording.path} is of {some(list(source))}; "
            "change source in [tool.sonde] or SONDE_SOURCE"
        )


def of_own_code(found: Profile, own: list[bool]) -> Profile:
    """The program's own functions, and below each the library functions that it called.

    A library function has all the time until it returns, or calls the program's own code. What has
    no function of the program's own above it is below `OUTSIDE`.
    """
    flags = found.functions_where(own)
    # A library's function is one node, whichever of its lines were executed.
    first = np.array([f.line for f in found.functions], dtype=np.int64)[found.function]
    lines = replace(found, line=np.where(flags, found.line, first))
    return _summed(lines, fold(found.tree, flags), [*found.functions, OUTSIDE])


def with_vm_work(found: Profile) -> Profile:
    """The same with one node for all compilation of the JVM, and one for garbage collection."""
    into = {
        f: _VM_WORK[function.name]
        for f, function in enumerate(found.functions)
        if function.file == BUILT_IN and function.name in _VM_WORK
    }
    if not into:
        return found
    work = list(dict.fromkeys(into.values()))
    functions = [*found.functions, *work]
    number = np.arange(len(functions))
    for f, part in into.items():
        number[f] = len(found.functions) + work.index(part)
    flags = (found.tree.parent < 0) & np.isin(found.function, list(into))
    function = np.where(flags, number[found.function], found.function)
    named = replace(found, functions=functions, function=function)
    return _summed(named, cut_below(found.tree, flags), functions)


def _summed(found: Profile, smaller: Folded, functions: list[Function]) -> Profile:
    """The profile of the smaller tree; a node that was none before is of the last function."""
    old, size = smaller.old, len(smaller.tree)
    columns = (found.running, found.waiting, found.running_samples, found.waiting_samples)
    summed = summed_up(
        functions,
        smaller.tree.parent,
        _and_none(np.append(found.function, len(functions) - 1)[old]),
        np.append(found.line, 0)[old],
        [_and_none(sums(smaller.node, column, size)) for column in columns],
    )
    # Where there was no node, index -1, there is none either.
    node = np.append(summed.node[smaller.node], -1)[found.node]
    return replace(summed, node=node, unit=found.unit)


def _and_none(column: Ints) -> Ints:
    """One place more, for what has no context."""
    return np.append(column, 0)


def _runs_inline_code(argv: list[str]) -> bool:
    """Whether a command is `python ... -c CODE`: options of the program come after a name."""
    if not argv or "python" not in os.path.basename(argv[0]):
        return False
    words = iter(argv[1:])
    for word in words:
        if not word.startswith("-") or word == "--":
            return False
        if word[1:2] != "-" and word.endswith("c"):
            return True
        if word in ("-W", "-X", "--check-hash-based-pycs"):
            next(words, None)
    return False
