"""An IPython kernel as notebooks start it: cells, interrupts, its end, with and without sonde."""

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
    RunningProgram,
    attached_to,
    check_left,
    check_quality,
    check_same,
    seconds_in,
    steady_descriptors,
    under_sonde,
    waited_in,
)
from sonde.recording.reader import read

PYTHONS = OWN

PACKAGES = ("ipykernel>=6.29", "jupyter-client>=8")


class Notebook(RunningProgram):
    """A client and its kernel, which may be run by sonde; ends with the `with` statement."""

    def __init__(self, python: Interpreter, folder: Path, *before: str) -> None:
        self.program = Program(
            [
                *(python.path, str(APPS / "kernel_client.py"), *before),
                *(python.path, "-m", "ipykernel_launcher"),
            ],
            folder,
            env={
                "PYTHONPATH": wheels("ipykernel", PACKAGES, python),
                "IPYTHONDIR": str(folder / "ipython"),
                "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
            },
            stdin=subprocess.PIPE,
        )

    def told(self, what: str) -> list[Any]:
        """What the client says of cells."""
        lines = [json.loads(line) for line in self.program.out.splitlines() if line.endswith("}")]
        return [line.get("shown", line.get("code")) for line in lines if line["what"] == what]

    def kernel(self) -> int:
        """Its process, once it is ready."""
        (shown,) = until(lambda: self.told("ready"), "it is ready", self.program.process)
        return int(shown[0][1])

    def go_on(self) -> None:
        stdin = self.program.process.stdin
        assert stdin is not None
        stdin.write("\n")
        stdin.flush()

    def work(self) -> None:
        """All cells, and those that are interrupted."""
        self.go_on()
        until(lambda: self.told("after"), "its cells", self.program.process)

    def end(self) -> dict[str, Any]:
        self.go_on()
        code = self.program.wait()
        return {
            "client": code,
            "cells": self.told("cell"),
            "interrupted": self.told("interrupted"),
            "after": self.told("after"),
            "kernel": self.told("over"),
            "err": self.program.err,
        }


def live_alone(python: Interpreter, folder: Path) -> dict[str, Any]:
    with Notebook(python, folder) as notebook:
        notebook.kernel()
        notebook.work()
        found = notebook.end()
    assert (found["client"], found["kernel"]) == (0, [0])
    assert [shown[0][:2] for shown in found["interrupted"]] == [["error", "KeyboardInterrupt"]] * 2
    return found


@pytest.mark.parametrize("mode", TRIED_MODES)
def test_a_kernel_that_sonde_runs(
    python: Interpreter, plain: dict[str, Any], keep: Keep, tmp_path: Path, mode: str
) -> None:
    """As with a kernel specification whose command begins with `sonde run`."""
    path = keep(f"ipykernel-{mode}")
    with Notebook(python, tmp_path, *under_sonde(path, MODES[mode])) as notebook:
        pid = notebook.kernel()
        notebook.work()
        check_same(notebook.end(), plain)
    recording = read(path)
    check_quality(recording)
    assert seconds_in(recording, "compute", pid=pid) > 0
    if mode == "waits":
        assert waited_in(recording, "run") > 0


def test_a_kernel_that_is_attached_to(
    python: Interpreter, plain: dict[str, Any], keep: Keep, tmp_path: Path
) -> None:
    with Notebook(python, tmp_path) as notebook:
        pid = notebook.kernel()
        held = steady_descriptors([pid])
        path = keep("ipykernel-attached")
        with attached_to(path, str(pid), *WAITS):
            notebook.work()
        recording = read(path)
        check_quality(recording)
        assert seconds_in(recording, "compute", pid=pid) > 0
        check_left([pid])
        assert steady_descriptors([pid]) == held
        path = keep("ipykernel-ends")
        with attached_to(path, str(pid), *CALLS):
            check_same(notebook.end(), plain)
