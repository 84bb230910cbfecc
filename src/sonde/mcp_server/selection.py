"""The arguments that choose a part of a recording, alike in every tool that reads one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sonde.errors import UsageError
from sonde.mcp_server.arguments import Parameter
from sonde.views.selecting.duration import duration_ns
from sonde.views.selecting.selection import Selection, select

if TYPE_CHECKING:
    from sonde.recording.tables import Recording

RECORDING = Parameter(
    "recording",
    "string",
    "its name, as list_recordings shows it; a directory or a pattern such as app.*.sonde joins "
    "the segments of one session",
    required=True,
)
TIME = Parameter(
    "time",
    "string",
    "the time to count: running (on CPU, the default), waiting (off CPU) or wall (both)",
    choices=("running", "waiting", "wall"),
)
THREAD = Parameter("thread", "string", "only the thread of this name or tid")
PROCESS = Parameter("process", "integer", "only the process of this PID", low=0)
START = Parameter("start", "number", "from this second of the recording on", low=0)
END = Parameter("end", "number", "up to this second of the recording", low=0)
SPAN = Parameter("span", "string", "only time within spans of this name")
SKIP_STARTUP = Parameter(
    "skip_startup", "boolean", "leave out the start-up, in which the program imports", default=False
)
LIMIT = Parameter("limit", "integer", "rows of the answer at most", default=20, low=1, high=1000)
OFFSET = Parameter("offset", "integer", "rows to skip, to see the next ones", default=0, low=0)

PART = (THREAD, PROCESS, START, END, SPAN, SKIP_STARTUP)
NARROW = "thread, process, start, end, span or function"


def selection_of(recording: Recording, given: dict[str, Any]) -> Selection:
    start, length = given.get("start"), duration_ns(recording)
    if start is not None and start * 1e9 > length:
        raise UsageError(
            f"start {start:g} is beyond the end of the recording, which lasts {length / 1e9:.3g} s"
        )
    selection = select(
        given.get("time") or "running",
        given.get("thread"),
        given.get("process"),
        start,
        given.get("end"),
        given.get("span"),
    )
    if not given.get("skip_startup"):
        return selection
    if start is not None:
        raise UsageError("start and skip_startup cannot be combined; give one of them")
    from sonde.views.selecting.start_up import after_start_up

    return after_start_up(recording, selection)
