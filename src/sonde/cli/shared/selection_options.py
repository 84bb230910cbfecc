"""The options that choose a part of a recording, alike in every verb that reads one.

Numbers arrive as text and are read here, so that a wrong one is answered in our words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sonde.errors import UsageError

if TYPE_CHECKING:
    from sonde.model.choice import Time
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection
    from sonde.views.selecting.span_filter import SpanChoice

NewestFile = Annotated[
    str | None,
    typer.Argument(
        metavar="[FILE]",
        help="The recording [default: the newest of the working directory]",
        show_default=False,
    ),
]
Thread = Annotated[
    str | None, typer.Option("--thread", metavar="NAME|TID", help="Select this thread.")
]
Process = Annotated[
    str | None, typer.Option("--process", metavar="PID", help="Select this process.")
]
Start = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="TIME", help="Start at this time of the recording: 2.5, 200ms, 10m."
    ),
]
SkipStartUp = Annotated[
    bool,
    typer.Option("--skip-startup", help="Leave out the start-up, in which the program imports."),
]
End = Annotated[
    str | None,
    typer.Option(
        "--to",
        "--until",
        metavar="TIME",
        help="End at this time of the recording: 2.5, 200ms, 10m.",
    ),
]
Span = Annotated[
    str | None,
    typer.Option("--span", metavar="NAME", help="Select time within spans of this name."),
]
Attribute = Annotated[
    str | None,
    typer.Option(
        "--attribute",
        metavar="KEY=VALUE",
        help="Select time within spans that have this attribute, such as "
        "http.response.status_code=500.",
    ),
]
Trace = Annotated[
    str | None,
    typer.Option(
        "--trace", metavar="ID", help="Select time within spans of this OpenTelemetry trace."
    ),
]
Task = Annotated[
    str | None,
    typer.Option(
        "--task", metavar="NAME|ID", help="Select what ran in this task or coroutine function."
    ),
]
Async = Annotated[
    bool,
    typer.Option(
        "--async",
        help="Show logical stacks: what a task did below the coroutine that awaits it.",
    ),
]
Running = Annotated[bool, typer.Option("--running", help="Count on-CPU time (the default).")]
Waiting = Annotated[bool, typer.Option("--waiting", help="Count off-CPU time.")]
Wall = Annotated[bool, typer.Option("--wall", help="Count on-CPU and off-CPU time.")]
Taken = Annotated[
    str | None,
    typer.Option(
        "--taken",
        metavar="CAUSE",
        help="Count the time runnable threads did not run: queue (run-queue latency), quota (CPU "
        "throttling), steal (steal time) or all.",
    ),
]
Event = Annotated[
    str | None,
    typer.Option("--event", metavar="NAME", help="Count events of this name instead of time."),
]
MergeLines = Annotated[
    bool, typer.Option("--merge-lines", help="Merge the lines of a function into one node.")
]


RunningPid = Annotated[
    str | None, typer.Argument(metavar="[PID]", help="A running CPython or Java process.")
]
PidOption = Annotated[str | None, typer.Option("-p", "--pid", metavar="PID", help="Same as PID.")]

MAX_LENGTH_S = 1e8


def time_of(
    running: bool,
    waiting: bool,
    wall: bool,
    taken: str | None = None,
    event: str | None = None,
) -> Time | None:
    """The time asked for, None if none was."""
    options: list[tuple[bool, Time]] = [
        (running, "running"),
        (waiting, "waiting"),
        (wall, "wall"),
        (taken is not None, "taken"),
    ]
    asked = [time for given, time in options if given]
    if asked and event is not None:
        raise UsageError(f"--{asked[0]} and --event cannot be combined; give one of them")
    if len(asked) > 1:
        raise UsageError(f"--{asked[0]} and --{asked[1]} cannot be combined; give one of them")
    return asked[0] if asked else None


def selection_of(
    time: Time | None,
    thread: str | None,
    process: str | None,
    start: str | None,
    end: str | None,
    *,
    span: SpanChoice | None = None,
    end_option: str = "--to",
    taken: str | None = None,
    event: str | None = None,
    task: str | None = None,
) -> Selection:
    pid = whole("--process", process, "a PID")
    start_s, end_s = seconds("--from", start), seconds(end_option, end)
    from sonde.views.selecting.selection import select

    # In the recording and in JSON steal time is named after the hypervisor.
    cause = {"all": None, "steal": "hypervisor"}.get(taken, taken) if taken else None
    return select(time or "running", thread, pid, start_s, end_s, span, cause, event, task)


def span_of(span: str | None, attribute: str | None, trace: str | None) -> SpanChoice | None:
    """The spans asked for, by one of the options that name some."""
    given = {"--span": span, "--attribute": attribute, "--trace": trace}
    named = [option for option, text in given.items() if text is not None]
    if len(named) > 1:
        raise UsageError(f"{named[0]} and {named[1]} cannot be combined; give one of them")
    if attribute is None and trace is None:
        return span
    from sonde.views.selecting.span_filter import TRACE_ID, SpanAttribute

    if trace is not None:
        return SpanAttribute(TRACE_ID, trace.lower().removeprefix("0x"))
    key, equals, value = (attribute or "").partition("=")
    if not key or not equals:
        raise UsageError(f"invalid --attribute {attribute!r}; give KEY=VALUE")
    return SpanAttribute(key, value)


def logical_stacks(recording: Recording) -> Recording:
    from sonde.views.loops.logical_stacks import logical

    return logical(recording)


def check_start(start: str | None, skip_startup: bool) -> None:
    if skip_startup and start is not None:
        raise UsageError("--from and --skip-startup cannot be combined; give one of them")


def check_range(recording: Recording, start: str | None, at: str | None = None) -> None:
    """A range or a moment behind the end is a mistake, not an empty answer."""
    from sonde.views.selecting.duration import duration_ns

    length = duration_ns(recording)
    for option, text in (("--from", start), ("--at", at)):
        asked = seconds(option, text)
        if asked is not None and asked * 1e9 > length:
            raise UsageError(
                f"{option} {text} is beyond the end of the recording, "
                f"which lasts {length / 1e9:.3g} s"
            )


def whole(option: str, text: str | None, meaning: str) -> int | None:
    """A whole number from 1 on."""
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise UsageError(f"invalid {option} {text!r}; give {meaning}, an integer of at least 1")
    return int(text)


def process_id(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise UsageError(f"invalid PID {text!r}")
    return int(text)


def seconds(option: str, text: str | None) -> float | None:
    """A time as people write it: 2.5, 200ms, 10m."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        from sonde.units import try_time

        ns = try_time(text)
        if ns is None:
            raise UsageError(
                f"invalid {option} {text!r}; give a time in seconds, or with a unit such as 200ms "
                "or 10m"
            ) from None
        return ns / 1e9


def length_of(option: str, text: str | None) -> float | None:
    """How long something lasts, in seconds."""
    length = seconds(option, text)
    if length is not None and not 0 < length < MAX_LENGTH_S:
        raise UsageError(f"invalid {option} {text!r}; give a time above 0, such as 10, 90s or 10m")
    return length


def pid_of(pid: str | None, given: str | None) -> int:
    """The process of a verb that takes one, as PID or -p PID."""
    if pid is not None and given is not None:
        raise UsageError("PID and --pid cannot be combined; give one of them")
    text = given if pid is None else pid
    if text is None:
        raise UsageError("no process given; give a PID")
    return process_id(text)
