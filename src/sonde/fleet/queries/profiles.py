"""Where the time goes, over many recordings: summed by the engine, shaped by the views."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sonde.fleet.queries.contexts import contexts_of, numbers
from sonde.model.trees.context_tree import sums
from sonde.row_values import RUNNING
from sonde.views.selecting.own_code import with_vm_work
from sonde.views.selecting.profile import UNDECODABLE, Profile, summed_up
from sonde.views.stacks.diff import Diff, diff_of
from sonde.views.stacks.flat import Flat, flat_of
from sonde.views.stacks.lines import Lines, lines_of
from sonde.views.stacks.tree import Tree, tree_of

if TYPE_CHECKING:
    from sonde.fleet.queries.query import StoreQuery


def profile(asked: StoreQuery, *, merge_lines: bool = False) -> Profile:
    """The samples meant, summed by calling context.

    The engine sums: a row for every context comes back, however many samples there are.
    """
    samples = asked.samples
    spent = (
        samples.group_by("context", waiting=samples.state != RUNNING)
        .aggregate(ns=samples.ns.sum(), samples=samples.count())
        .to_pyarrow()
    )
    contexts = contexts_of(asked)
    functions = contexts.functions
    size = len(contexts) + 1
    # What has no context, or one the store does not know, is the place after the last.
    row = contexts.rows(numbers(spent, "context")) % size
    waiting = np.asarray(spent["waiting"].to_numpy(), dtype=bool)
    by_state = [
        sums(row[mask], numbers(spent, column)[mask], size)
        for column in ("ns", "samples")
        for mask in (~waiting, waiting)
    ]
    undecodable = functions.all.index(UNDECODABLE)
    return summed_up(
        functions.all,
        contexts.parent,
        np.append(contexts.function, undecodable),
        contexts.line,
        by_state,
        merge_lines=merge_lines,
    )


def flat(asked: StoreQuery, *, top: int | None = None) -> Flat:
    return flat_of(with_vm_work(profile(asked, merge_lines=True)), top)


def tree(asked: StoreQuery, *, merge_lines: bool = False, top: int | None = None) -> Tree:
    return tree_of(with_vm_work(profile(asked, merge_lines=merge_lines)), top)


def lines(asked: StoreQuery, *, top: int | None = None) -> Lines:
    return lines_of(profile(asked), top)


def diff(base: StoreQuery, new: StoreQuery, *, top: int | None = None) -> Diff:
    return diff_of(profile(base, merge_lines=True), profile(new, merge_lines=True), top)
