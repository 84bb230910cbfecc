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
        help="Write the recording to FILE [default: sonde-PROGRAM-PID.sonde]",
    ),
]
Rate = Annotated[
    int, typer.Option(metavar="HZ", help="Take HZ samples per second of each thread's CPU time")
]
What = Annotated[
    str,
    typer.Option(
        metavar="LIST",
        help="Record these kinds: cpu, locks, waits, threads, objects, calls, event:NAME[@PERIOD]; "
        "+waits adds to the default, -locks removes from it",
    ),
]
Ticks = Annotated[
    int | None,
    typer.Option(
        metavar="HZ", help="calls: open HZ sampling windows per second of CPU time [default: 100]"
    ),
]
Stride = Annotated[
    int | None,
    typer.Option(metavar="N", help="calls: count every Nth call of a window [default: 4]"),
]
Samples = Annotated[
    int | None, typer.Option(metavar="N", help="calls: count N calls per window [default: 8]")
]
Stacks = Annotated[
    str,
    typer.Option(
        metavar="KIND",
        help="Record stacks as: whole; chained (each sample has a function and its caller only, "
        "which costs less for deep stacks, and the call tree is reconstructed); checked (whole, "
        "and each incremental walk is compared with a full one)",
    ),
]
Sampler = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Sample by: perf, perf-user, reader, cross-core, remote, safepoint, or cpu-timer for "
        "Java; auto selects the best",
    ),
]

ModeName = Annotated[
    str,
    typer.Option(
        "--mode",
        metavar="MODE",
        help="Store the recording as: normal (one file), continuous (consecutive segments), wrap "
        "(the last seconds in memory, written on demand)",
    ),
]
Limit = Annotated[
    str | None,
    typer.Option("--limit", metavar="SIZE", help="normal: stop when the file reaches SIZE."),
]
Rotate = Annotated[
    list[str] | None,
    typer.Option(
        "--rotate",
        metavar="SIZE|TIME",
        help="continuous: start a segment at this size (100MB) or age (10m); may be given twice.",
    ),
]
Keep = Annotated[
    str | None,
    typer.Option("--keep", metavar="N", help="continuous, wrap: keep only the last N files."),
]
Seconds = Annotated[
    str | None,
    typer.Option("--seconds", metavar="N", help="wrap: keep the last N seconds [default: 30]"),
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", metavar="SIZE", help="wrap: memory limit [default: 64MiB]"),
]
DumpWhen = Annotated[
    list[str] | None,
    typer.Option(
        "--dump-when",
        metavar="CONDITION",
        help="wrap: write a file on CONDITION, such as 'lock wait > 200ms' or 'gil wait > 50ms'.",
    ),
]
DumpEvery = Annotated[
    str | None,
    typer.Option(
        "--dump-every",
        metavar="N",
        help="wrap: write at most one such file every N seconds [default: that of --seconds]",
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="PERCENT",
        help="Limit overhead to PERCENT of one core by lowering the sampling rate.",
    ),
]
