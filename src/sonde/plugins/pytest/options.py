"""The options of `pytest --sonde`, and their values."""

from __future__ import annotations

import argparse
import math
import os
from dataclasses import dataclass

import pytest

DEFAULT_TOP = 5
MARK_HELP = (
    "sonde(max_share={function: share}, max_lock_wait=seconds): with --sonde, fail the test if a "
    "function takes more than this share of its CPU time, or if threads wait longer for locks."
)


@dataclass(frozen=True)
class RunOptions:
    """How a test run is recorded."""

    path: str
    """The recording; of tests recorded apart the folder."""
    what: str | None
    rate: int | None
    top: int
    slow: float | None
    """Seconds from which on a test has a recording of its own; None: one recording of all."""


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("sonde", "sonde: profile the test run")
    group.addoption(
        "--sonde",
        action="store_true",
        help="Record the test run, show the slowest tests, and check the limits of tests marked "
        "sonde. Every other --sonde option implies it.",
    )
    group.addoption(
        "--sonde-file",
        metavar="FILE",
        help="Write the recording to FILE. [default: sonde-pytest-PID.sonde]",
    )
    group.addoption(
        "--sonde-top",
        metavar="N",
        type=_whole,
        help=f"Show the N slowest tests with their top functions. [default: {DEFAULT_TOP}]",
    )
    group.addoption(
        "--sonde-slow",
        metavar="SECONDS",
        type=_seconds,
        help="Keep a recording of each test that takes at least SECONDS, and of no other, in the "
        "folder FILE names.",
    )
    group.addoption(
        "--sonde-each",
        action="store_true",
        help="Keep a recording of each test: --sonde-slow 0.",
    )
    group.addoption(
        "--sonde-what",
        metavar="LIST",
        help="Record these, as in `sonde run --what`. [default: cpu,locks]",
    )
    group.addoption(
        "--sonde-rate",
        metavar="HZ",
        type=_whole,
        help="Take HZ samples per second of each thread's CPU time. [default: 1000]",
    )


def run_options(config: pytest.Config) -> RunOptions | None:
    """None: nothing is to be recorded."""
    names = ("sonde", "file", "top", "slow", "each", "what", "rate")
    given = {
        name: config.getoption("sonde" if name == "sonde" else f"sonde_{name}") for name in names
    }
    if all(value is None or value is False for value in given.values()):
        return None
    slow = given["slow"]
    if given["each"]:
        if slow is not None:
            raise pytest.UsageError("--sonde-each and --sonde-slow cannot be combined")
        slow = 0.0
    path = given["file"] or f"sonde-pytest-{os.getpid()}.sonde"
    return RunOptions(
        path=os.path.abspath(path if slow is None else path.removesuffix(".sonde")),
        what=given["what"],
        rate=given["rate"],
        top=DEFAULT_TOP if given["top"] is None else given["top"],
        slow=slow,
    )


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"invalid number {text!r}; give a whole number above 0")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f"invalid time {text!r}; give a number of seconds")
    return seconds
