"""The forms of the view of the call flow: a tree, a table of functions, a list of events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sonde.errors import UsageError

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection

Flat = Annotated[
    bool, typer.Option("--flat", help="flow: show one row per function instead of the tree.")
]
Events = Annotated[bool, typer.Option("--events", help="flow: list entries and exits in order.")]
FlowForm = Literal["tree", "flat", "events"]


def flow_form(view: str, *, flat: bool, events: bool) -> FlowForm:
    for option, given in (("--flat", flat), ("--events", events)):
        if given and view != "flow":
            raise UsageError(f"{option} does not apply to {view}; valid view: flow")
    if flat and events:
        raise UsageError("--flat and --events cannot be combined; give one of them")
    return "flat" if flat else "events" if events else "tree"


def flow_result(recording: Recording, selection: Selection, form: FlowForm, top: int | None) -> Any:
    if form == "events":
        from sonde.views.flow.flow_events import flow_events

        return flow_events(recording, selection, top=top)
    from sonde.views.flow.flow import flow

    return flow(recording, selection, flat=form == "flat", top=top)


def why_no_flow(recording: Recording) -> str:
    what = recording.target.get("what")
    if "flow" not in (what if isinstance(what, list) else []):
        return "No call flow was recorded; record it with: sonde run --what flow …"
    why = recording.quality.get("why_no_flow")
    return f"No call flow was recorded: {why}." if why else "No call flow was recorded."
