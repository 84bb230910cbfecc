"""The options of every verb that records."""

from __future__ import annotations

from typing import Annotated

import typer

Output = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="The recording; sonde-PROGRAM-PID.sonde if not given.",
    ),
]
Rate = Annotated[
    int, typer.Option(metavar="HZ", help="Samples per second of each thread's CPU time.")
]
What = Annotated[
    str,
    typer.Option(
        metavar="LIST",
        help="What to record, of: cpu, locks, waits, threads, objects, calls, event:NAME[@PERIOD]. "
        "+waits adds to the default, -locks removes from it.",
    ),
]
Ticks = Annotated[
    int | None,
    typer.Option(metavar="HZ", help="Of calls: windows a second of CPU time (100)."),
]
Stride = Annotated[
    int | None, typer.Option(metavar="N", help="Of calls: count every Nth of a window (4).")
]
Samples = Annotated[
    int | None, typer.Option(metavar="N", help="Of calls: count so many in a window (8).")
]
Stacks = Annotated[
    str,
    typer.Option(
        metavar="KIND",
        help="whole, or chained: samples tell a function and its caller only, which is cheaper "
        "where stacks are deep; the tree is put together from them. checked: whole, and walks that "
        "left out what had not moved are made twice and compared.",
    ),
]
Sampler = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="perf, perf-user, reader, cross-core, remote, safepoint, or cpu-timer for Java; auto "
        "takes the best one.",
    ),
]

ModeName = Annotated[
    str,
    typer.Option(
        "--mode",
        metavar="MODE",
        help="normal: one file; continuous: parts that follow one another; wrap: the last seconds "
        "in memory, written when asked for.",
    ),
]
Limit = Annotated[
    str | None,
    typer.Option("--limit", metavar="SIZE", help="normal: stop when the file has this size."),
]
Rotate = Annotated[
    list[str] | None,
    typer.Option(
        "--rotate",
        metavar="SIZE|TIME",
        help="continuous: begin a new part at this size (100MB) or age (10m); may be given twice.",
    ),
]
Keep = Annotated[
    str | None,
    typer.Option("--keep", metavar="N", help="continuous, wrap: keep only the last N files."),
]
Seconds = Annotated[
    str | None,
    typer.Option("--seconds", metavar="N", help="wrap: how many are kept; 30 if not given."),
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", metavar="SIZE", help="wrap: at most so much; 64MiB if not given."),
]
DumpWhen = Annotated[
    list[str] | None,
    typer.Option(
        "--dump-when",
        metavar="CONDITION",
        help="wrap: write a file when 'lock wait > 200ms' or 'gil wait > 50ms'.",
    ),
]
DumpEvery = Annotated[
    str | None,
    typer.Option(
        "--dump-every",
        metavar="N",
        help="wrap: at most one such file in so many seconds; as --seconds if not given.",
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="SHARE",
        help="Hold what recording costs under this share of one core, such as 1%, by the rate.",
    ),
]
