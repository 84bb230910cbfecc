"""Recordings that real programs made, for stores to hold; each is made once for all tests."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from launching import TARGETS, must_run
from sonde.cli.main import main

SHOP = TARGETS / "shop.py"
WHAT = "cpu,locks,waits,threads,calls"

VIEWS: tuple[tuple[str, ...], ...] = (
    ("flat",),
    ("flat", "--waiting"),
    ("flat", "--wall", "--top", "5"),
    ("flat", "--thread", "server-1"),
    ("tree",),
    ("tree", "--merge-lines"),
    ("tree", "--wall"),
    ("lines",),
    ("locks",),
    ("locks", "--by", "lock,owner_thread,waiter_thread"),
    ("locks", "--by", "kind,owner_function,waiter_function", "--top", "2"),
    ("locks", "--by", "waiter_chain", "--thread", "server-0"),
    ("threads",),
)
"""What both `sonde report` and `sonde fleet report` answer."""


def shop(path: Path, python: str, heavy: int = 1, seconds: float = 0.3) -> Path:
    arguments = [python, SHOP, str(heavy), str(seconds)]
    # Few windows fit into so short a run: much is taken of each.
    windows = ("--stride", "3", "--samples", "32")
    return must_run(path, arguments, "--what", WHAT, *windows).path


def asked(*arguments: str | Path) -> tuple[int, str, str]:
    """A verb in this process: a new one for each would take the test's time."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    return code, out.getvalue(), err.getvalue()


def answered(*arguments: str | Path) -> Any:
    code, out, err = asked(*arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def added(store: str | Path, files: Sequence[Path], **labels: str) -> None:
    told = [part for name, value in labels.items() for part in ("--label", f"{name}={value}")]
    code, _, err = asked("fleet", "add", store, *files, *told)
    assert code == 0, err


def without_chains(view: tuple[str, ...], found: Any) -> Any:
    """A store knows the chains of whole recordings only."""
    return {**found, "chains": []} if view[0] == "locks" and "--thread" in view else found
