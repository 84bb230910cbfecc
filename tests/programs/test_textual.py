"""A Textual application in a terminal: keys, a new size and its end, with and without sonde."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from attaching import until
from environments import wheels
from launching import Interpreter
from matrix import OWN
from programs.support import (
    APPS,
    CALLS,
    MODES,
    TRIED_MODES,
    WAITS,
    Keep,
    Program,
    attached_to,
    check_quality,
    check_same,
    seconds_in,
    under_sonde,
    waited_in,
)
from sonde.recording.reader import read

PYTHONS = OWN

PACKAGES = ("textual>=8",)


class Terminal(Program):
    """The application in a terminal, run by what stands `before` it."""

    def __init__(self, python: Interpreter, folder: Path, *before: str) -> None:
        super().__init__(
            [
                *(python.path, APPS / "terminal.py", *before),
                *(python.path, APPS / "textual_app.py"),
            ],
            folder,
            env={"PYTHONPATH": wheels("textual", PACKAGES, python), "TERM": "xterm-256color"},
            stdin=subprocess.PIPE,
        )
        until(lambda: "ready" in self.out, "the application", self.process)

    def type(self) -> dict[str, Any]:
        """All keys, until the application has ended: what was seen of it."""
        self.close_stdin()
        assert self.wait() == 0, self.err
        found: dict[str, Any] = json.loads(self.out.splitlines()[-1])
        return found


def live_alone(python: Interpreter, folder: Path) -> dict[str, Any]:
    with Terminal(python, folder) as terminal:
        found = terminal.type()
    assert (found["code"], found["restored"], found["errors"]) == (4, True, [])
    return found


@pytest.mark.parametrize("mode", TRIED_MODES)
def test_an_application_that_sonde_runs(
    python: Interpreter, plain: dict[str, Any], keep: Keep, tmp_path: Path, mode: str
) -> None:
    path = keep(f"textual-{mode}")
    with Terminal(python, tmp_path, *under_sonde(path, MODES[mode])) as terminal:
        check_same(terminal.type(), plain)
    recording = read(path)
    check_quality(recording)
    assert seconds_in(recording, "compute") > 0
    if mode == "waits":
        assert waited_in(recording, "run_input_thread") > 0


@pytest.mark.parametrize("options", [WAITS, CALLS])
def test_an_application_that_is_attached_to(
    python: Interpreter,
    plain: dict[str, Any],
    keep: Keep,
    tmp_path: Path,
    options: tuple[str, ...],
) -> None:
    path = keep("textual-attached")
    with (
        Terminal(python, tmp_path) as terminal,
        attached_to(path, (tmp_path / "pid").read_text(), *options),
    ):
        check_same(terminal.type(), plain)
    recording = read(path)
    check_quality(recording)
    assert seconds_in(recording, "compute") > 0
