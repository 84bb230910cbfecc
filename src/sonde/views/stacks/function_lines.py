"""Which lines of one function does the time go to?"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.errors import UsageError
from sonde.model.trees.context_tree import sums
from sonde.row_values import BUILT_IN
from sonde.views.selecting.formatting import some
from sonde.views.selecting.profile import Function, profile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection


@dataclass(frozen=True)
class FunctionLine:
    line: int
    self_ns: int
    """With built-in functions that the line called."""
    total_ns: int


@dataclass(frozen=True)
class FunctionLines:
    """The lines that time was spent in, in their order."""

    function: Function
    self_ns: int
    total_ns: int
    recorded_ns: int
    """All time that was counted, of all functions."""
    unit: str
    rows: list[FunctionLine]

    def to_json(self) -> dict[str, Any]:
        return {
            "function": self.function.to_json(),
            "unit": self.unit,
            "self": self.self_ns,
            "total": self.total_ns,
            "recorded": self.recorded_ns,
            "rows": [
                {"line": row.line, "self": row.self_ns, "total": row.total_ns} for row in self.rows
            ],
        }


def is_named(function: Function, name: str) -> bool:
    """Whether a person may mean it: by its qualified name, or the last words of it."""
    return function.name == name or function.name.endswith(f".{name}")


def no_such_function(name: str, functions: Iterable[Function]) -> UsageError:
    names = sorted({function.name for function in functions})
    close = get_close_matches(name, {*names, *(one.rpartition(".")[2] for one in names)}, n=5)
    similar = some(one for one in names if one in close or one.rpartition(".")[2] in close)
    hint = f"similar names: {similar}" if close else "the view flat shows the names there are"
    return UsageError(f"no function {name!r} in this part of the recording; {hint}")


def function_lines(
    recording: Recording,
    name: str,
    selection: Selection | None = None,
    *,
    file: str | None = None,
    first_line: int | None = None,
) -> FunctionLines:
    """`file` (its end suffices) and `first_line` distinguish functions of one name."""
    found = profile(recording, selection)
    tree = found.tree
    seen = [found.functions[f] for f in np.unique(found.function).tolist()]
    means = {
        function
        for function in seen
        if is_named(function, name)
        and (file is None or function.file == file or function.file.endswith(f"/{file}"))
        and (first_line is None or function.line == first_line)
    }
    if not means:
        raise no_such_function(name, seen)
    if len(means) > 1:
        places = sorted(f"{f.name} ({f.file}:{f.line})" for f in means)
        raise UsageError(
            f"{len(means)} functions are named {name!r}: {some(places)}; give the full name, the "
            "file or the first line"
        )
    (function,) = means
    if function.file == BUILT_IN or not function.line:
        raise UsageError(f"{function.name} has no source lines; ask for the function that calls it")
    mine = found.functions_where([one == function for one in found.functions])
    bears = found.functions_where(
        [one.file != BUILT_IN and not one.stands_in for one in found.functions]
    )
    bearer = tree.nearest(bears)
    borne = bearer >= 0
    own = sums(bearer[borne], found.own[borne], len(tree))
    total = tree.totals(found.own)
    # A line counts once, and so does the function, however deep it calls itself.
    apart = found.line.max() + 1 + np.arange(len(tree))
    once = mine & tree.outermost(np.where(mine, found.line, apart))
    outer = mine & tree.outermost(np.where(mine, 0, apart))
    size = int(found.line[mine].max()) + 1
    self_by_line = sums(found.line[mine], own[mine], size)
    total_by_line = sums(found.line[once], total[once], size)
    rows = [
        FunctionLine(line, int(self_by_line[line]), int(total_by_line[line]))
        for line in np.unique(found.line[mine]).tolist()
    ]
    return FunctionLines(
        function, int(own[mine].sum()), int(total[outer].sum()), found.total, found.unit, rows
    )
