"""The views of a store by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sonde.errors import SondeError, UsageError
from sonde.fleet.queries.query import Question, StoreQuery
from sonde.fleet.store.parts import open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sonde.fleet.queries.engines import Engine
    from sonde.fleet.store.labels import Condition
    from sonde.fleet.store.location import Location

VIEWS = (
    "flat", "tree", "lines", "locks", "threads", "calls", "diff", "slower", "blockers", "outliers",
    "heat", "recordings",
)  # fmt: skip
OF_TIME = ("tree", "flat", "lines", "diff", "heat")
OF_ASPECTS = ("locks", "calls", "outliers", "heat")
OF_TWO = ("diff", "slower")


def answer(
    location: Location,
    engine: Engine,
    view: str,
    question: Question,
    *,
    base: Sequence[Condition] = (),
    new: Sequence[Condition] = (),
    by: str | None = None,
    merge_lines: bool = False,
    top: int | None = None,
) -> tuple[Any, StoreQuery]:
    """A view, and what it was asked of."""
    store = open_store(location)
    if view == "threads":
        question = replace(question, time="wall")
    asked = _asked(StoreQuery(store, engine, question))
    if view in OF_TWO:
        from sonde.fleet.queries.profiles import diff
        from sonde.fleet.queries.slower import slower

        before = _asked(StoreQuery(store, engine, question.and_(base)))
        after = _asked(StoreQuery(store, engine, question.and_(new)))
        return (diff if view == "diff" else slower)(before, after, top=top), asked
    return _one(asked, view, by, merge_lines, top), asked


def _one(asked: StoreQuery, view: str, by: str | None, merge_lines: bool, top: int | None) -> Any:
    from sonde.fleet.queries import profiles, waits

    if view == "flat":
        return profiles.flat(asked, top=top)
    if view == "tree":
        return profiles.tree(asked, merge_lines=merge_lines, top=top)
    if view == "lines":
        return profiles.lines(asked, top=top)
    if view == "locks":
        from sonde.views.locks.locks import DEFAULT, aspects

        return waits.locks(asked, by=DEFAULT if by is None else aspects(by), top=top)
    if view == "blockers":
        return waits.blockers(asked, top=top)
    if view == "threads":
        from sonde.fleet.queries.thread_times import threads

        return threads(asked, top=top)
    if view == "calls":
        from sonde.fleet.queries.call_edges import calls

        return calls(asked, by=by or "edge", top=top)
    if view == "outliers":
        from sonde.fleet.queries.outliers import outliers

        return outliers(asked, by=by or "host", top=top)
    if view == "heat":
        from sonde.fleet.queries.heat import heat

        return heat(asked, by or "host", top=top)
    if view == "recordings":
        from sonde.fleet.queries.inventory import recordings

        return recordings(asked, top=top)
    raise UsageError(f"invalid view {view!r}; valid views: {', '.join(VIEWS)}")


def _asked(asked: StoreQuery) -> StoreQuery:
    """The same, if it reaches anything at all."""
    if not asked.parts or not asked.recordings.count().to_pyarrow().as_py():
        words = [str(one) for one in asked.question.where]
        of = f" with {' and '.join(words)}" if words else ""
        within = " in this time range" if asked.question.start_ns or asked.question.end_ns else ""
        raise SondeError(f"{asked.store.location.address} has no recordings{of}{within}")
    return asked
