"""`sonde fleet`: many recordings in one store, and the same questions asked of all of them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sonde.cli.shared.progress import working
from sonde.cli.shared.selection_options import (
    MergeLines,
    Process,
    Running,
    Thread,
    Waiting,
    Wall,
    time_of,
    whole,
)
from sonde.errors import UsageError, invalid

if TYPE_CHECKING:
    from sonde.fleet.queries.query import StoreQuery
    from sonde.fleet.store.location import Location

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="""Store and analyze many recordings together.

    \b
    Example:
      sonde fleet add profiles/ *.sonde --label version=1.2
      sonde fleet report profiles/ flat --where version=1.2
    """,
)

StoreName = Annotated[
    str, typer.Argument(metavar="STORE", help="A folder, or an address such as s3://bucket/name.")
]
Label = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="NAME=VALUE",
        help="Label them, for --where: service, version, host, container, region, or your own.",
    ),
]


@app.command()
def add(
    store: StoreName,
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Recordings.")],
    label: Label = None,
) -> None:
    """Put recordings into a store.

    The label service defaults to the program's name, and host to this machine's. A recording that
    is already in the store is skipped.

    \b
    Example:
      sonde fleet add profiles/ worker-*.sonde --label service=worker --label version=1.2
      sonde fleet add s3://profiles/prod app.sonde --label region=eu
    """
    location = _located(store)
    from sonde.fleet.store.add import add as add_all
    from sonde.fleet.store.labels import given
    from sonde.views.selecting.formatting import amount, count

    for added in add_all(location, files, given(label or [])):
        for warning in added.warnings:
            print(f"sonde: {added.file}: {warning}", file=sys.stderr)
        if added.already:
            said = "is in the store already"
        else:
            said = f"{count(added.samples, 'sample')}, {amount(added.bytes)}"
        print(f"sonde: {added.file}: {said}", file=sys.stderr)


@app.command()
def report(
    store: StoreName,
    view: Annotated[
        str,
        typer.Argument(
            metavar="VIEW",
            help="One of: flat, tree, lines, locks, threads, calls, diff, slower, blockers, "
            "outliers, heat, recordings",
        ),
    ] = "flat",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    top: Annotated[
        str | None, typer.Option("--top", metavar="N", help="Show the top N rows.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="LABEL=VALUE",
            help="Select recordings with this label; != for all others, commas between several "
            "values, * for any text. All conditions must hold.",
        ),
    ] = None,
    base: Annotated[
        list[str] | None,
        typer.Option("--base", metavar="LABEL=VALUE", help="diff, slower: select the baseline."),
    ] = None,
    new: Annotated[
        list[str] | None,
        typer.Option(
            "--new", metavar="LABEL=VALUE", help="diff, slower: select the recordings to compare."
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TIME", help="Start at TIME: 2026-11-15T12:00 (UTC), or 2h (ago)."
        ),
    ] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="End at TIME.")] = None,
    thread: Thread = None,
    process: Process = None,
    running: Running = False,
    waiting: Waiting = False,
    wall: Wall = False,
    merge_lines: MergeLines = False,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="ASPECTS",
            help="locks, calls: group as in sonde report. outliers, heat: group by a label "
            "instead of host.",
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option("--engine", metavar="ENGINE", help="Query with duckdb or spark://HOST:PORT"),
    ] = "duckdb",
) -> None:
    """Show a view of all recordings in a store, or of those with given labels.

    \b
    Example:
      sonde fleet report profiles/ flat --where service=worker --from 2h
      sonde fleet report profiles/ slower --base version=1.1 --new version=1.2
      sonde fleet report profiles/ blockers --where region=eu,us
      sonde fleet report profiles/ outliers --by host --json
    """
    rows = whole("--top", top, "a number of rows")
    pid = whole("--process", process, "a PID")
    time = time_of(running, waiting, wall)
    location = _located(store)
    from sonde.fleet.queries import views
    from sonde.fleet.queries.engines import engine as started
    from sonde.fleet.queries.query import Question, moment
    from sonde.fleet.store.labels import conditions

    if view not in views.VIEWS:
        raise UsageError(invalid("view", view, views.VIEWS, "views"))
    if time is not None and view not in views.OF_TIME:
        raise UsageError(
            f"--{time} does not apply to {view}; valid views: {', '.join(views.OF_TIME)}"
        )
    if merge_lines and view != "tree":
        raise UsageError(f"--merge-lines does not apply to {view}; valid view: tree")
    if by is not None and view not in views.OF_ASPECTS:
        raise UsageError(
            f"--by does not apply to {view}; valid views: {', '.join(views.OF_ASPECTS)}"
        )
    if bool(base or new) != (view in views.OF_TWO):
        raise UsageError(
            "--base and --new apply to the views diff and slower only, which need them"
        )
    begin_ns, end_ns = moment("--from", start), moment("--to", end)
    if begin_ns is not None and end_ns is not None and end_ns <= begin_ns:
        raise UsageError("the time range is empty: --to must be after --from")
    question = Question(
        tuple(conditions(where or [])), begin_ns, end_ns, thread, pid, time or "running"
    )
    with working(f"querying {store}"), started(engine) as asked_of:
        result, asked = views.answer(
            location,
            asked_of,
            view,
            question,
            base=conditions(base or []),
            new=conditions(new or []),
            by=by,
            merge_lines=merge_lines,
            top=rows,
        )
        if as_json:
            print(json.dumps(result.to_json(), separators=(",", ":")))
            return
        _print(result, asked, view, question.time, rows)


def _print(result: Any, asked: StoreQuery, view: str, time: str, top: int | None) -> None:
    from sonde.fleet.queries.inventory import extent
    from sonde.reports import report_of
    from sonde.reports.fleet.extent import render as render_extent
    from sonde.reports.layout.page import console, line
    from sonde.views.selecting.formatting import TIMES

    out = console()
    render_extent(extent(asked), out)
    if view in ("flat", "tree", "lines") and not result.total_ns:
        line(out, f"No {TIMES[time]} time in these recordings.")
        return
    options: dict[str, Any] = {} if view == "tree" else {"top": top}
    if view == "diff":
        options["time"] = time
    report_of(view).render(result, out, **options)


@app.command()
def push(
    to: Annotated[
        str,
        typer.Argument(
            metavar="TO",
            help="A store, otlp+http://HOST:PORT, or pyroscope+http://HOST:PORT.",
        ),
    ],
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Recordings; with --follow, one glob pattern."),
    ],
    label: Label = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="Send each segment of a continuous recording when it is finished, until stdin is "
            "closed.",
        ),
    ] = False,
) -> None:
    """Send recordings to a store or another tool's receiver, with retries.

    \b
    Example:
      sonde fleet push otlp+http://collector:4318 app.sonde --label service=shop
      sonde fleet push pyroscope+http://pyroscope:4040 app.sonde
    """
    from sonde import optional_packages
    from sonde.fleet.sending import push as pushing
    from sonde.views.selecting.formatting import count

    if "+http" not in to:
        optional_packages.check("pyarrow")
    from sonde.fleet.store.labels import given

    given_labels = given(label or [])
    destination = pushing.destination(to)
    where = to if "+http" in to else destination.address
    if not follow:
        for file in files:
            pushing.push(destination, file, given_labels)
            print(f"sonde: sent {file} to {where}", file=sys.stderr)
        return
    if len(files) != 1:
        raise UsageError("--follow needs one glob pattern, in quotes: 'app.*.sonde'")
    done = pushing.follow(destination, files[0], given_labels, pushing.until_stdin_closes)
    said = f"sent {count(done.sent, 'segment')} to {where}"
    if done.failed or done.missed:
        said += (
            f"; {done.failed} could not be sent, {done.missed} were deleted before they were sent"
        )
    print(f"sonde: {said}", file=sys.stderr)
    if done.failed or done.missed:
        raise typer.Exit(1)


@app.command()
def compact(store: StoreName) -> None:
    """Merge the segments of a store into fewer, for faster queries and less space.

    The store stays available for reading and writing. Merged segments are deleted by a later run,
    at least an hour after.

    \b
    Example:
      sonde fleet compact profiles/
    """
    location = _located(store)
    from sonde.fleet.store.compaction import compact as run
    from sonde.views.selecting.formatting import count

    with working(f"compacting {store}"):
        done = run(location)
    print(
        f"sonde: merged {count(done.merged, 'segment')} into {done.made}; "
        f"deleted {count(done.removed_files, 'file')} of replaced or unfinished segments",
        file=sys.stderr,
    )


@app.command()
def prune(
    store: StoreName,
    older: Annotated[
        str,
        typer.Option(
            "--older", metavar="TIME", help="Remove recordings older than TIME, such as 30d or 12h."
        ),
    ],
) -> None:
    """Remove recordings that ended longer ago than a given time.

    \b
    Example:
      sonde fleet prune profiles/ --older 30d
    """
    location = _located(store)
    from sonde.fleet.queries.query import period
    from sonde.fleet.store.compaction import prune as run
    from sonde.views.selecting.formatting import count

    age = period(older)
    with working(f"pruning {store}"):
        done = run(location, age)
    print(f"sonde: removed {count(done.removed_parts, 'segment')}", file=sys.stderr)


def _located(store: str) -> Location:
    from sonde import optional_packages

    optional_packages.check("pyarrow", "ibis", "duckdb")
    from sonde.fleet.store.location import located

    return located(store)
