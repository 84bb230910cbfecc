"""Truth programs run once per interpreter and test run; all tests look at the same recordings."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from launching import Interpreter, Run, must_run
from shared import made_once, run_folder

from truth.stacks import PROGRAMS, Stacks, Trace, trace

RATE = 10_000
CPU_SECONDS = "1.0"
# Samples are lost where the recorder gets no processor for a fifth of a second: where others take the
# whole machine for so long, not in a machine that has two. What sonde loses itself it loses again.
ATTEMPTS = 3


@dataclass(frozen=True)
class Truth:
    """One program on one interpreter: sampled in one run, traced in another."""

    python: Interpreter
    program: Path
    arguments: list[str]
    traced_arguments: list[str]
    run: Run
    scratch: Path

    @cached_property
    def stacks(self) -> Stacks:
        return Stacks(self.run.recording)

    @cached_property
    def trace(self) -> Trace:
        out = self.scratch.with_suffix(".json")
        return trace(self.python, self.program, self.traced_arguments, out)


def _recorded(program: Path, python: Interpreter, folder: Path) -> None:
    """A recording of the program, and beside it what the program said."""
    command = [python.path, program, CPU_SECONDS]
    for _ in range(ATTEMPTS):
        run = must_run(folder / "program.sonde", command, "--rate", str(RATE))
        if not run.recording.quality["lost"]:
            break
    (folder / "run.json").write_text(json.dumps([run.code, run.out, run.err]))


@pytest.fixture(scope="session")
def truth(python: Interpreter, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Truth]:
    """The truth program of that name, recorded by the first of all workers that asks."""
    folder = run_folder(tmp_path_factory)
    done: dict[str, Truth] = {}

    def get(name: str) -> Truth:
        if name not in done:
            program = PROGRAMS / f"{name}.py"
            made = made_once(
                folder / f"truth-{name}-{python.version}",
                lambda path: _recorded(program, python, path),
            )
            code, out, err = json.loads((made / "run.json").read_text())
            run = Run(code, out, err, made / "program.sonde")
            scratch = folder / f"{made.name}-{os.getpid()}"
            done[name] = Truth(python, program, [CPU_SECONDS], ["0"], run, scratch)
        return done[name]

    return get
