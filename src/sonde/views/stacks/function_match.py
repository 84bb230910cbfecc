"""Which functions of two recordings are the same.

Name and file must be. The first line distinguishes functions of one name (lambdas, overridden
ones), but it moves when somebody edits the file above; so where lines differ, functions of one name
are taken in their order, if both recordings have as many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sonde.model.trees.context_tree import Ints
    from sonde.views.selecting.profile import Function


class Same(NamedTuple):
    """The functions of both, as the new recording has them where both do, and by each one's own
    numbers which they are."""

    functions: list[Function]
    of_base: Ints
    of_new: Ints


def same_functions(base: Sequence[Function], new: Sequence[Function]) -> Same:
    functions = list(new)
    of_base: list[int] = [-1] * len(base)
    named = _named(new)
    for name, mine in _named(base).items():
        theirs = named.get(name, [])
        left = []
        for there in theirs:
            here = next((one for one in mine if base[one].line == new[there].line), None)
            if here is None:
                left.append(there)
            else:
                of_base[here] = there
        alone = [here for here in mine if of_base[here] < 0]
        if len(alone) == len(left):
            left.sort(key=lambda there: new[there].line)
            for here, there in zip(
                sorted(alone, key=lambda here: base[here].line), left, strict=True
            ):
                of_base[here] = there
        for here in mine:
            if of_base[here] < 0:
                of_base[here] = len(functions)
                functions.append(base[here])
    return Same(functions, np.array(of_base, dtype=np.int64), np.arange(len(new)))


def _named(functions: Sequence[Function]) -> dict[tuple[str, str], list[int]]:
    found: dict[tuple[str, str], list[int]] = {}
    for number, function in enumerate(functions):
        found.setdefault((function.name, function.file), []).append(number)
    return found
