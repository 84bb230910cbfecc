"""The tools: what a client may ask for, each answered from recordings in the folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sonde.errors import UsageError
from sonde.mcp_server.answers import Table, answer
from sonde.mcp_server.arguments import Parameter, checked, schema_of
from sonde.mcp_server.selection import (
    END,
    LIMIT,
    NARROW,
    OFFSET,
    PART,
    RECORDING,
    SKIP_STARTUP,
    START,
    THREAD,
    TIME,
    selection_of,
)
from sonde.mcp_server.views import VIEWS, table_of

if TYPE_CHECKING:
    from sonde.mcp_server.folder import Folder

Given = dict[str, Any]
TOP_FUNCTIONS = 10

INSTRUCTIONS = """\
Recordings of Python and Java programs by the profiler sonde. Begin with list_recordings, \
then findings: it says what stands out, and how reliable the numbers are. The tool view shows \
where the time went: flat (functions), tree (call stacks), locks, threads. source_lines shows the \
lines of one function, diff what changed between two recordings. Times are nanoseconds unless an \
argument says seconds. Answers are bounded: left_out says what is missing and how to ask for it."""


class Tool(NamedTuple):
    name: str
    description: str
    parameters: Sequence[Parameter]
    run: Callable[[Folder, Given], Table]

    @property
    def schema(self) -> dict[str, Any]:
        return schema_of(self.parameters)

    def call(self, folder: Folder, arguments: dict[str, Any]) -> str:
        given = checked(self.name, self.parameters, arguments)
        return answer(self.run(folder, given), limit=given["limit"], offset=given.get("offset", 0))


def _list_recordings(folder: Folder, given: Given) -> Table:
    files, cut = folder.recordings(given["directory"])
    facts: dict[str, Any] = {"folder": folder.path, "count": len(files)}
    if cut:
        facts["incomplete"] = "the folder has too many files to look at all; give a directory"
    return Table(facts, "recordings", [file.to_json() for file in files], "directory")


def _findings(folder: Folder, given: Given) -> Table:
    from sonde.views.summary import summary

    recording = folder.open(given["recording"])
    found = summary(recording, selection_of(recording, given), top=TOP_FUNCTIONS)
    summed_up = found.to_json()
    target = found.target
    quality = summed_up["quality"]
    facts = {
        "program": target.get("program"),
        "runtimes": sorted({f"{p.runtime} {p.version}".strip() for p in found.processes}),
        "what": target.get("what"),
        **{key: summed_up[key] for key in ("duration_ns", "cpu_ns", "wait_ns", "start_up")},
        "processes": len(found.processes),
        "threads": len(found.threads),
        "samples": quality["taken"],
        "lost_samples": quality["lost"],
        "problems": quality["problems"],
        "warnings": quality["warnings"],
        "top_functions": summed_up["top"],
        "top_own_functions": [
            {key: row[key] for key in ("name", "file", "line", "self", "total")}
            for row in summed_up["mine"]
        ],
    }
    return Table(facts, "findings", summed_up["findings"], NARROW)


def _view(folder: Folder, given: Given) -> Table:
    return table_of(folder.open(given["recording"]), given)


def _source_lines(folder: Folder, given: Given) -> Table:
    from sonde.views.selecting.sources import Sources
    from sonde.views.stacks.function_lines import function_lines

    recording = folder.open(given["recording"])
    found = function_lines(
        recording,
        given["function"],
        selection_of(recording, given),
        file=given["file"],
        first_line=given["first_line"],
    )
    started = recording.target.get("started")
    sources = Sources(started if isinstance(started, float) else None)
    # A recording may name any file; only those that are served are read.
    has_text = folder.holds(found.function.file) and sources.text(found.function.file) is not None
    rows = []
    for row in found.rows:
        entry: dict[str, Any] = {
            "line": row.line,
            "self": row.self_ns,
            "total": row.total_ns,
            "self_share": _share(row.self_ns, found.total_ns),
            "total_share": _share(row.total_ns, found.total_ns),
        }
        if has_text:
            entry["text"] = sources.line(found.function.file, row.line)
        rows.append(entry)
    facts = {key: value for key, value in found.to_json().items() if key != "rows"}
    facts["share_of_recording"] = _share(found.total_ns, found.recorded_ns)
    if not has_text:
        facts["no_text"] = (
            "the source file is outside of the folder that is served, missing, or newer than the "
            "recording"
        )
    return Table(facts, "rows", rows, "thread, process, start, end or span")


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _diff(folder: Folder, given: Given) -> Table:
    from sonde.views.stacks.chained_samples import open_runs
    from sonde.views.stacks.diff import diff
    from sonde.views.stacks.growth import growth

    narrow = "thread, start or end"
    if given["fail_over"] is not None:
        if given["time"] not in (None, "running"):
            raise UsageError("fail_over compares on-CPU time; leave out time")
        sides = [
            [(run, selection_of(run, given)) for run in open_runs(*folder.files(given[side]))]
            for side in ("base", "new")
        ]
        facts = growth(sides[0], sides[1], given["fail_over"] / 100).to_json()
        return Table(facts, "rows", facts.pop("rows"), narrow)
    base, new = folder.open(given["base"]), folder.open(given["new"])
    found = diff(base, new, selection_of(base, given), selection_of(new, given))
    facts = {"unit": "ns", "base": found.base_ns, "new": found.new_ns, **found.to_json()}
    return Table(facts, "rows", facts.pop("rows"), narrow)


def _side(name: str, description: str) -> Parameter:
    return Parameter(name, "string", f"{description}, named as in list_recordings", required=True)


TOOLS = (
    Tool(
        "list_recordings",
        "List the recordings in the folder, the newest first.",
        (
            Parameter("directory", "string", "list only what is in this directory", default=""),
            LIMIT,
            OFFSET,
        ),
        _list_recordings,
    ),
    Tool(
        "findings",
        "Show what stands out in a recording: hot functions, GIL and lock contention, deadlocks, "
        "garbage collection, imports. Also what ran, the top functions, and the recording's "
        "quality. Each finding has its evidence, its share of the time and the command that shows "
        "it.",
        (RECORDING, *PART, LIMIT, OFFSET),
        _findings,
    ),
    Tool(
        "view",
        "Show one view of a recording: flat (functions by self time), tree (call stacks, heaviest "
        "nodes), lines (source lines), locks (who waited for whom), lock-table, threads, spans, "
        "calls (counted calls), objects (allocations), quality, tprof (whole machine).",
        (
            RECORDING,
            Parameter("view", "string", "which view", required=True, choices=tuple(VIEWS)),
            TIME,
            *PART,
            Parameter(
                "function",
                "string",
                "flat, tree, calls: only this function, by its qualified name or the last words "
                "of it; tree shows its callers and what it called",
            ),
            Parameter(
                "own_code",
                "boolean",
                "flat, tree, lines: the program's own functions, with the time of the libraries "
                "that they call",
                default=False,
            ),
            Parameter(
                "by",
                "string",
                "how to group rows; locks: a list of kind, lock, lock_class, waiter_thread, "
                "waiter_function, owner_thread, owner_function, held_in_function and others; "
                "objects: class, site or context; calls: edge or context",
            ),
            LIMIT,
            OFFSET,
        ),
        _view,
    ),
    Tool(
        "source_lines",
        "Show the time of each source line of one function, as nanoseconds and as a share of the "
        "function's time, with the line's text if the source is in the folder.",
        (
            RECORDING,
            Parameter(
                "function", "string", "its qualified name, or the last words of it", required=True
            ),
            Parameter("file", "string", "its file, or the end of its path, if names are ambiguous"),
            Parameter("first_line", "integer", "its first line, if names are ambiguous", low=1),
            TIME,
            *PART,
            LIMIT,
            OFFSET,
        ),
        _source_lines,
    ),
    Tool(
        "diff",
        "Compare two recordings: self time of each function before and after, the greatest change "
        "first. With fail_over: which functions' shares of on-CPU time grew significantly and by "
        "more than this; then each side may be several recordings.",
        (
            _side("base", "the baseline"),
            _side("new", "the recording to compare"),
            TIME,
            THREAD,
            START,
            END,
            SKIP_STARTUP,
            Parameter(
                "fail_over", "number", "a limit in points of on-CPU time, such as 5", low=0, high=99
            ),
            LIMIT,
            OFFSET,
        ),
        _diff,
    ),
)
