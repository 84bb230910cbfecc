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
    typer.Option(metavar="LIST", help="What to record, of: cpu, locks, waits, threads, objects."),
]
Sampler = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="perf, perf-user, reader, cross-core or remote; auto takes the best one.",
    ),
]
