"""What share of some CPU time was spent in a function and in what it calls?"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sonde.views.selecting.profile import profile
from sonde.views.selecting.selection import chosen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection

    from .function_names import FunctionName


class FunctionShare(NamedTuple):
    """`samples` of equal weight would be as accurate as those there are, of all functions."""

    share: float
    samples: float
    seen: bool


def function_shares(
    recording: Recording, selection: Selection, names: Sequence[FunctionName]
) -> Iterator[FunctionShare]:
    """Of each function in turn; without any sample the share is 0."""
    found = profile(recording, selection, merge_lines=True)
    rows, weight = chosen(recording, selection)
    total = float(weight.sum())
    samples = total**2 / float((weight.astype(float) ** 2).sum()) if total else 0.0
    node = found.node[recording.samples.context[rows]]
    for name in names:
        flags = [name.is_of(function) for function in found.functions]
        if not total or not any(flags):
            yield FunctionShare(0.0, samples, False)
            continue
        inside = found.tree.nearest(found.functions_where(flags)) >= 0
        hit = float(weight[inside[node]].sum())
        yield FunctionShare(hit / total, samples, True)
