"""`sonde report`: one view of a recording, as text or JSON."""

from __future__ import annotations

import json
import math
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sonde.cli.shared import heap_views, object_options
from sonde.cli.shared.flow_views import Events, Flat, FlowForm, flow_form, flow_result, why_no_flow
from sonde.cli.shared.newest_recording import has_recordings, newest, newest_heap
from sonde.cli.shared.object_options import Growth, HighWater, Memory
from sonde.cli.shared.progress import working
from sonde.cli.shared.selection_options import (
    Async,
    Attribute,
    End,
    Event,
    MergeLines,
    Process,
    Running,
    SkipStartUp,
    Span,
    Start,
    Taken,
    Task,
    Thread,
    Trace,
    Waiting,
    Wall,
    check_range,
    check_start,
    length_of,
    logical_stacks,
    seconds,
    selection_of,
    span_of,
    time_of,
    whole,
)
from sonde.errors import UsageError, did_you_mean, invalid

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection

VIEWS = (
    "summary", "tree", "flat", "lines", "locks", "lock-table", "waits", "objects", "calls",
    "flow", "threads", "spans", "tasks", "events", "data", "probes", "trace", "hot", "quality",
    "tprof", "heap",
)  # fmt: skip
OF_TIME = ("tree", "flat", "lines")
"""The views that count running, waiting or wall time, or events, as asked."""
OF_TASKS = (*OF_TIME, "tasks", "locks", "lock-table", "spans")
"""The views of which --task selects a part."""
OF_BY = ("locks", "objects", "calls", "data", "trace", "spans")
OF_LOCKS = ("locks", "lock-table", "waits")


def report(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE...] [VIEW]",
            help="The recording, or the segments of one: files, a folder, a glob pattern "
            "[default: the newest recording of the working directory]. "
            f"VIEW is one of: {', '.join(VIEWS)}.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    top: Annotated[
        str | None, typer.Option("--top", metavar="N", help="Show the top N rows.")
    ] = None,
    thread: Thread = None,
    process: Process = None,
    start: Start = None,
    end: End = None,
    skip_startup: SkipStartUp = False,
    span: Span = None,
    attribute: Attribute = None,
    trace: Trace = None,
    task: Task = None,
    running: Running = False,
    waiting: Waiting = False,
    wall: Wall = False,
    taken: Taken = None,
    event: Event = None,
    merge_lines: MergeLines = False,
    mine: Annotated[
        bool,
        typer.Option(
            "--mine",
            help="tree, flat, lines: show your own functions, and attribute the time of libraries "
            "to the function of yours that called them.",
        ),
    ] = False,
    vm_frames: Annotated[
        bool,
        typer.Option(
            "--vm-frames",
            help="tree, flat: show what the JVM's compilers and garbage collectors do in detail.",
        ),
    ] = False,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="ASPECTS",
            help="Group rows by these. locks: kind, lock, lock_class, waiter_thread, "
            "waiter_function, waiter_chain, owner_thread, owner_function, owner_chain, "
            "held_in_function, held_in_chain, waiter_task, owner_task (nested in the order given). "
            "objects: class (or type), site or context. calls: edge or context. data: memory, "
            "type, offset, function, context. trace: flow, line, function or loop. spans: name or "
            "task.",
        ),
    ] = None,
    ratio: Annotated[
        str | None,
        typer.Option(
            "--ratio", metavar="A/B", help="events: show A per B, or per CPU time (A/cpu)."
        ),
    ] = None,
    while_held: Annotated[
        str | None,
        typer.Option(
            "--while-held",
            metavar="LOCK|gil",
            help="tree: show what the holders of this lock did while others waited for it.",
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="TIME",
            help="waits, objects: show this time of the recording: 2.5, 200ms, 10m.",
        ),
    ] = None,
    slow: Annotated[
        str | None,
        typer.Option(
            "--slow",
            metavar="TIME",
            help="tasks: show the steps that took at least this long, such as 10ms, with their "
            "stacks.",
        ),
    ] = None,
    logical: Async = False,
    high_water: HighWater = False,
    growth: Growth = False,
    memory: Memory = None,
    flat: Flat = False,
    events: Events = False,
    path: heap_views.Path = None,
    dominators: heap_views.Dominators = False,
    duplicates: heap_views.Duplicates = False,
    find: heap_views.Find = None,
    allocated_in: heap_views.AllocatedIn = None,
    ctx: typer.Context = None,  # type: ignore[assignment] # as `run --report` calls it
) -> None:
    """Show one view of a recording.

    \b
    Examples:
      sonde report
      sonde report app.sonde
      sonde report app.sonde tree --merge-lines --thread worker-1
      sonde report app.sonde lines --from 2 --to 3.5 --top 10
      sonde report app.sonde flat --waiting --json
      sonde report app.sonde flat --mine --skip-startup
      sonde report app.sonde locks --by lock,owner_function,waiter_thread
      sonde report app.sonde tree --while-held gil
      sonde report app.sonde tree --async --wall
      sonde report app.sonde tasks --slow 10ms
      sonde report app.sonde waits --at 2.5
      sonde report app.sonde locks --span checkout
      sonde report app.sonde flat --taken queue
      sonde report app.sonde objects --by site
      sonde report app.sonde objects --high-water
      sonde report app.sonde tree --memory alive
      sonde report 'app.*.sonde' flat
      sonde report app.sonde calls --top 10
      sonde report app.sonde flow --flat
      sonde report app.sonde tree --event page-faults
      sonde report app.sonde probes
      sonde report app.sonde trace --by line
      sonde report app.sonde events --ratio cycles/instructions
      sonde report app.hprof heap --path com.shop.Session
    """
    files, view = _files_and_view(files or [])
    rows = whole("--top", top, "a number of rows")
    asked = heap_views.HeapQuestion(path, dominators, duplicates, find, allocated_in)
    if heap_views.is_heap(files):
        if view not in (heap_views.VIEW, "summary"):
            raise UsageError(f"{files[0]} is a heap snapshot; its only view is heap")
        view = heap_views.VIEW
    if view == heap_views.VIEW:
        files = files or [newest_heap()]
        heap_views.show(ctx, files, asked, rows, as_json=as_json)
        return
    if allocated_in is not None:
        raise UsageError(f"--allocated-in does not apply to {view}; valid view: heap")
    if asked.options:
        raise UsageError(f"{asked.options[0]} does not apply to {view}; valid view: heap")
    if task is not None and view not in OF_TASKS:
        raise UsageError(f"--task does not apply to {view}; valid views: {', '.join(OF_TASKS)}")
    time = time_of(running, waiting, wall, taken, event)
    if time is not None and view not in OF_TIME:
        raise UsageError(f"--{time} does not apply to {view}; valid views: {', '.join(OF_TIME)}")
    if while_held is not None and view != "tree":
        raise UsageError(f"--while-held does not apply to {view}; valid view: tree")
    if while_held is not None and (taken is not None or event is not None):
        other = "--taken" if taken is not None else "--event"
        raise UsageError(f"--while-held and {other} cannot be combined; give one of them")
    if while_held is not None and time is None:
        time = "wall"
    if merge_lines and view != "tree":
        raise UsageError(f"--merge-lines does not apply to {view}; valid view: tree")
    if mine and view not in OF_TIME:
        raise UsageError(f"--mine does not apply to {view}; valid views: {', '.join(OF_TIME)}")
    if vm_frames and (view not in ("tree", "flat") or (mine and view == "flat")):
        what = "flat --mine" if mine and view == "flat" else view
        raise UsageError(f"--vm-frames does not apply to {what}; valid views: tree, flat")
    if event is not None and view not in (*OF_TIME, "data"):
        raise UsageError(
            f"--event does not apply to {view}; valid views: {', '.join(OF_TIME)}, data"
        )
    if by is not None and view not in OF_BY:
        raise UsageError(f"--by does not apply to {view}; valid views: {', '.join(OF_BY)}")
    if ratio is not None and view != "events":
        raise UsageError(f"--ratio does not apply to {view}; valid view: events")
    if at is not None and view not in ("waits", "objects"):
        raise UsageError(f"--at does not apply to {view}; valid views: waits, objects")
    if slow is not None and view != "tasks":
        raise UsageError(f"--slow does not apply to {view}; valid view: tasks")
    if logical and view != "tree":
        raise UsageError(f"--async does not apply to {view}; valid view: tree")
    if logical and (while_held or memory or event or taken):
        raise UsageError(
            "--async cannot be combined with --while-held, --memory, --event or --taken"
        )
    moment = seconds("--at", at)
    if moment is not None and not 0 <= moment < math.inf:
        raise UsageError(
            f"invalid --at {at!r}; give a time in seconds from the start of the recording"
        )
    if view == "waits" and (start is not None or end is not None):
        raise UsageError("waits shows one moment; give --at instead of --from and --to")
    if view == "waits" and skip_startup:
        raise UsageError("waits shows one moment; give --at instead of --skip-startup")
    check_start(start, skip_startup)
    selection = selection_of(
        time, thread, process, start, end, span=span_of(span, attribute, trace), taken=taken,
        event=event, task=task,
    )  # fmt: skip
    form = flow_form(view, flat=flat, events=events)
    moment_of = object_options.question(view, moment, high_water, growth, selection)
    if memory is not None:
        selection = object_options.with_memory(selection, view, OF_TIME, memory, time)
    if view == "quality" and (selection.narrowed or skip_startup or rows is not None):
        raise UsageError(
            "quality describes the whole recording; leave out the options that select a part of it"
        )
    if view == "hot" and (selection.narrowed or skip_startup):
        raise UsageError(
            "hot describes the whole session; leave out the options that select a part of it"
        )

    if view == "tprof" and skip_startup:
        raise UsageError("--skip-startup does not apply to tprof; give --from instead")

    files = files or [newest()]
    from sonde.views.stacks.chained_samples import open_recording

    with working(f"reading {files[0]}"):
        recording = open_recording(*files, samples=view != "quality")
        check_range(recording, start, at)
        if skip_startup:
            from sonde.views.selecting.start_up import after_start_up

            selection = after_start_up(recording, selection)
        if memory is not None:
            recording = object_options.counted(recording, selection)
        if logical:
            recording = logical_stacks(recording)
        if mine:
            from sonde.views.selecting.own_code import require_own

            require_own(recording)
        result = _view(
            recording, view, selection, merge_lines, rows, by, moment, ratio, while_held, mine,
            vm_frames, moment_of, form, length_of("--slow", slow),
        )  # fmt: skip
    if as_json:
        # In one piece: json.dump goes through Python for every value, dumps does not.
        print(json.dumps(result.to_json(), separators=(",", ":")))
        return
    _print(recording, view, selection, result, rows, mine, form)


def _files_and_view(words: list[str]) -> tuple[list[str], str]:
    """The last word is the view, if there is one of that name, the others are files."""
    if not words:
        return [], "summary"
    *files, last = words
    if last in VIEWS and (files or not has_recordings(last)):
        return files, last
    if not files and not os.path.exists(last) and last.isidentifier():
        raise UsageError(
            f"{last} is neither a recording nor a view{did_you_mean(last, VIEWS)}; "
            f"valid views: {', '.join(VIEWS)}"
        )
    if files and not os.path.exists(last) and not last.endswith(".sonde"):
        raise UsageError(invalid("view", last, VIEWS, "views"))
    return words, "summary"


def check_view(name: str) -> str:
    if name not in VIEWS:
        raise UsageError(invalid("view", name, VIEWS, "views"))
    return name


def _view(
    recording: Recording,
    view: str,
    selection: Selection,
    merge_lines: bool,
    top: int | None,
    by: str | None,
    at: float | None,
    ratio: str | None,
    while_held: str | None,
    mine: bool,
    vm_frames: bool,
    moment_of: object_options.Moment,
    form: FlowForm,
    slow: float | None,
) -> Any:
    if view == "tree":
        from sonde.views.stacks.tree import tree

        return tree(
            recording, selection, merge_lines=merge_lines, top=top, while_held=while_held,
            mine=mine, vm_frames=vm_frames,
        )  # fmt: skip
    if view == "flat" and mine:
        from sonde.views.stacks.own_flat import own_flat

        return own_flat(recording, selection, top=top)
    if view == "flat":
        from sonde.views.stacks.flat import flat

        return flat(recording, selection, top=top, vm_frames=vm_frames)
    if view == "lines":
        from sonde.views.stacks.lines import lines

        return lines(recording, selection, top=top, mine=mine)
    if view == "locks":
        from sonde.views.locks.locks import DEFAULT, aspects
        from sonde.views.loops.loop_locks import locks_and_loops

        return locks_and_loops(
            recording, selection, by=DEFAULT if by is None else aspects(by), top=top
        )
    if view == "lock-table":
        from sonde.views.locks.lock_table import lock_table

        return lock_table(recording, selection, top=top)
    if view == "waits":
        from sonde.views.locks.wait_graph import waits

        return waits(recording, selection, at_ns=None if at is None else round(at * 1e9))
    if view == "objects":
        from sonde.views.objects.objects import objects

        return objects(recording, selection, by=by or "class", top=top, **moment_of)
    if view == "calls":
        from sonde.views.calls.calls import calls

        return calls(recording, selection, by=by or "edge", top=top)
    if view == "flow":
        return flow_result(recording, selection, form, top)
    if view == "threads":
        from sonde.views.threads import threads

        return threads(recording, selection, top=top)
    if view == "spans":
        from sonde.views.spans import spans

        return spans(recording, selection, by=by or "name", top=top)
    if view == "trace":
        from sonde.views.steps.trace import FLOW, trace

        return trace(recording, selection, by=by or FLOW, top=top)
    if view == "probes":
        from sonde.views.probes.probes import probes

        return probes(recording, selection, top=top)
    if view == "tasks" and slow is not None:
        from sonde.views.loops.slow_steps import slow_steps

        return slow_steps(recording, selection, least_ns=round(slow * 1e9), top=top)
    if view == "tasks":
        from sonde.views.loops.tasks import tasks

        return tasks(recording, selection, top=top)
    if view == "events":
        from sonde.views.events import events

        return events(recording, selection, ratio=ratio, top=top)
    if view == "data":
        from sonde.views.data import DEFAULT_BY, data

        return data(recording, selection, by=DEFAULT_BY if by is None else by.split(","), top=top)
    if view == "hot":
        from sonde.views.stacks.live_profile import hot

        return hot(recording, top=top)
    if view == "quality":
        from sonde.views.quality import quality

        return quality(recording)
    if view == "tprof":
        from sonde.views.tprof import tprof_of

        return tprof_of(recording, selection)
    from sonde.views.summary import summary

    return summary(recording, selection, top=top)


def _print(
    recording: Recording,
    view: str,
    selection: Selection,
    result: Any,
    top: int | None,
    mine: bool,
    form: FlowForm,
) -> None:
    from sonde.reports import report_of
    from sonde.reports.layout.page import console, line

    out = console()
    for warning in recording.warnings:
        print(f"sonde: {warning}", file=sys.stderr)
    if view in OF_TIME and selection.memory is not None and not result.total_ns:
        line(out, object_options.why_none(recording))
        return
    if view in OF_TIME and not result.total_ns:
        line(out, _nothing(recording, selection))
        return
    if view in OF_TIME and selection.time == "wall" and _lacks_waits(recording):
        line(out, ("Waits were not recorded: on-CPU time only; record with --what +waits.", "dim"))
    if view in OF_LOCKS and _lacks_locks(recording, view):
        line(out, "No locks were recorded; record them with: sonde run --what +locks …")
        return
    if view == "objects" and not len(recording.objects):
        line(out, object_options.why_none(recording))
        return
    if view == "calls" and not len(recording.calls):
        line(out, _no_calls(recording))
        return
    if view == "flow" and not len(recording.flow_runs):
        line(out, why_no_flow(recording))
        return
    options: dict[str, Any] = {}
    if view == "summary":
        options["path"] = recording.path
    elif view in (
        "flat",
        "lines",
        "threads",
        "spans",
        "tasks",
        "objects",
        "calls",
        "flow",
        "events",
        "data",
        "probes",
        "trace",
        "hot",
        "tprof",
        *OF_LOCKS,
    ):
        options["top"] = top
    if view == "lines":
        options["recorded"] = recording.target.get("started")
    name = "own-flat" if mine and view == "flat" else "flow-events" if form == "events" else view
    name = "slow-steps" if hasattr(result, "least_ns") else name
    report_of(name).render(result, out, **options)


def _lacks_waits(recording: Recording) -> bool:
    return "waits" not in _what(recording) and not (recording.samples.state != 0).any()


def _lacks_locks(recording: Recording, view: str) -> bool:
    if len(recording.lock_events) or "locks" in _what(recording):
        return False
    return view != "lock-table" or "lock-activity" not in _what(recording)


def _what(recording: Recording) -> list[str]:
    what = recording.target.get("what")
    return what if isinstance(what, list) else []


def _no_calls(recording: Recording) -> str:
    if "calls" not in _what(recording):
        return "No calls were counted; count them with: sonde run --what calls …"
    why = recording.quality.get("why_no_calls")
    return f"No calls were counted: {why}." if why else "No calls were counted."


def _nothing(recording: Recording, selection: Selection) -> str:
    """Why there is no time to show, and what would give some."""
    from sonde.views.selecting.formatting import TIMES

    if selection.event is not None:
        where = " in this part of the recording" if selection.narrowed else ""
        return f"There were no {selection.event}{where}."
    if selection.narrowed:
        return f"No {TIMES[selection.time]} time in this part of the recording."
    if selection.time == "waiting" and not (recording.samples.state != 0).any():
        return "No off-CPU time was recorded; record it with: sonde run --what +waits …"
    return f"No {TIMES[selection.time]} time was recorded."
