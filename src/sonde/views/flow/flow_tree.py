"""The contexts of the call flow with their counts, of the threads that are meant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.errors import SondeError, UsageError
from sonde.model.trees.context_tree import ContextTree, Ints, sums
from sonde.views.selecting.profile import Function, identities
from sonde.views.selecting.selection import Selection, threads_of

if TYPE_CHECKING:
    from sonde.model.trees.context_tree import Flags
    from sonde.recording.tables import Recording


@dataclass(frozen=True)
class FlowTree:
    """The contexts of the flow, merged over threads and processes; columns are by node."""

    tree: ContextTree
    functions: list[Function]
    function: Ints
    calls: Ints
    resumptions: Ints
    exceptions: Ints
    preexisting: Ints
    base: Ints
    measured: Ints


def metric_of(recording: Recording) -> str:
    metrics = set(recording.flow_runs.metric)
    if len(metrics) > 1:
        raise SondeError("the segments of this recording have different flow metrics; give one")
    return metrics.pop() if metrics else "cpu"


def flow_threads(recording: Recording, selection: Selection) -> Flags:
    """The threads that are meant; a usage error if a part of the time is."""
    if selection.start_ns is not None or selection.end_ns is not None or selection.span is not None:
        raise UsageError(
            "flow adds up the whole recording; leave out --from, --to and --span, "
            "and record a part with --flow-in"
        )
    return threads_of(recording, selection)


def flow_tree(recording: Recording, selection: Selection) -> FlowTree:
    keep = flow_threads(recording, selection)
    table, contexts = recording.flow, recording.contexts
    rows = np.flatnonzero(keep[table.thread] & (table.context >= 0))
    functions, identity = identities(recording)
    size = len(contexts)
    whole = ContextTree(contexts.parent)
    context = table.context[rows]
    touched = np.zeros(size, dtype=np.int64)
    np.add.at(touched, context, 1)
    tree, old = whole.kept(whole.totals(touched) > 0)
    merged = tree.merged(identity[contexts.function][old])

    def summed(values: Any) -> Ints:
        by_context = sums(context, values.astype(np.int64), size)
        return sums(merged.node, by_context[old], len(merged.tree))

    measured = summed(table.measured[rows])
    return FlowTree(
        merged.tree,
        functions,
        merged.key,
        summed(table.calls[rows]),
        summed(table.resumptions[rows]),
        summed(table.exceptions[rows]),
        summed(table.preexisting[rows]),
        np.maximum(measured - summed(table.overhead[rows]), 0),
        measured,
    )
