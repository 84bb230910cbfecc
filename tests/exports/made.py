"""A small recording with everything in it, and how to export it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from sonde.exports import format_named
from sonde.views.selecting.selection import Selection
from synthetic import MS, Maker

if TYPE_CHECKING:
    from sonde.model.choice import Time


def everything() -> Maker:
    """Two processes, three threads, recursion, a built-in, waits, no stack, a mark."""
    make = Maker(started=1_700_000_000.5, cpus=2, rate=1000)
    make.quality = {"sampler": "perf-sigtrap", "rate_asked": 1000, "lost": 0}
    child = make.process(200)
    make.define("Parser.parse", "/lib/python3.12/site-packages/parser.py", 10)
    make.thread("MainThread", end=900 * MS)
    make.thread("worker", start=5 * MS)
    make.thread("child", process=child)
    make.sample("main:3 > Parser.parse:12 > len", 2 * MS)
    make.sample("main:3 > Parser.parse:12 > len", 3 * MS)
    make.sample("main:3 > Parser.parse:13", 1 * MS)
    make.sample("main:4 > time.sleep", 100 * MS, state=1)
    make.sample("fib:2 > fib:2 > fib:3", 4 * MS, thread="worker")
    make.sample(None, 1 * MS, thread="worker")
    make.sample("main:3 > Parser.parse:12 > len", 7 * MS, thread="child", version=1)
    make.sample("main:3", 20 * MS, thread="child", state=2)
    make.mark("warm", 2 * MS)
    make.mark("busy", 6 * MS, thread=1)
    return make


def exported(make: Maker, to: str, time: Time = "running", **selected: Any) -> bytes:
    out = io.BytesIO()
    format_named(to).write(make.recording(), Selection(time, **selected), out)
    return out.getvalue()
