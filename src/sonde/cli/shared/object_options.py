"""Options about sampled objects: what of them is alive when, and their bytes in place of time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from sonde.errors import UsageError, invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection

HighWater = Annotated[
    bool,
    typer.Option("--high-water", help="objects: show what was alive when most bytes were."),
]
Growth = Annotated[
    bool,
    typer.Option(
        "--growth", help="objects: show by how much what is alive grew between --from and --to."
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="allocated|alive",
        help="tree, flat, lines: count bytes of sampled objects instead of time: those allocated, "
        "or those alive at --to.",
    ),
]


class Moment(TypedDict):
    """What `objects` shows instead of everything allocated."""

    at_ns: int | None
    at_high_water: bool
    growth: bool


def question(
    view: str, at: float | None, high_water: bool, growth: bool, selection: Selection
) -> Moment:
    """A usage error if it makes no sense."""
    of_objects = {"--high-water": high_water, "--growth": growth}
    asked = [option for option, given in of_objects.items() if given]
    if view != "objects":
        if asked:
            raise UsageError(f"{asked[0]} does not apply to {view}; valid view: objects")
        return Moment(at_ns=None, at_high_water=False, growth=False)
    if selection.span is not None:
        raise UsageError("objects are in no span; leave out --span, --attribute and --trace")
    asked = ["--at"] * (at is not None) + asked
    if len(asked) > 1:
        raise UsageError(f"{asked[0]} and {asked[1]} cannot be combined; give one of them")
    if at is not None and (selection.start_ns is not None or selection.end_ns is not None):
        raise UsageError("--at shows one moment; leave out --from and --to")
    at_ns = None if at is None else round(at * 1e9)
    return Moment(at_ns=at_ns, at_high_water=high_water, growth=growth)


def with_memory(
    selection: Selection, view: str, views: Sequence[str], memory: str, time: str | None
) -> Selection:
    if view not in views:
        raise UsageError(f"--memory does not apply to {view}; valid views: {', '.join(views)}")
    return selection_with_memory(selection, memory, time)


def selection_with_memory(selection: Selection, memory: str, time: str | None) -> Selection:
    from sonde.views.selecting.selection import MEMORY

    if memory not in MEMORY:
        raise UsageError(invalid("--memory", memory, MEMORY, "values"))
    if time is not None or selection.event is not None:
        other = "event" if selection.event is not None else time
        raise UsageError(f"--memory and --{other} cannot be combined; give one of them")
    if selection.span is not None:
        raise UsageError("objects are in no span; leave out --span, --attribute and --trace")
    return replace(selection, memory=memory)


def counted(recording: Recording, selection: Selection) -> Recording:
    """The same recording with its objects in place of samples of time."""
    from sonde.views.objects.memory_samples import memory_samples

    if not len(recording.objects):
        raise UsageError(f"{recording.path}: {why_none(recording)}")
    return memory_samples(recording, selection)


def why_none(recording: Recording) -> str:
    what = recording.target.get("what")
    if "objects" not in (what if isinstance(what, list) else []):
        return "No allocations were recorded; record them with: sonde run --what +objects …"
    if why := recording.quality.get("why_no_objects"):
        return f"No allocations were sampled: {why}."
    return "No allocations were sampled."
