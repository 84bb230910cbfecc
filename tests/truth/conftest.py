"""Truth programs run once per interpreter and session; all tests look at the same recordings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from launching import Interpreter, Run, must_run

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


@pytest.fixture(scope="session")
def truth(python: Interpreter, keep: Callable[[str], Path]) -> Callable[[str], Truth]:
    """The truth program of that name, recorded at the first call."""
    done: dict[str, Truth] = {}

    def get(name: str) -> Truth:
        if name not in done:
            program = PROGRAMS / f"{name}.py"
            path = keep(f"{name}-{python.version}")
            arguments = [CPU_SECONDS]
            for _ in range(ATTEMPTS):
                run = must_run(path, [python.path, program, *arguments], "--rate", str(RATE))
                if not run.recording.quality["lost"]:
                    break
            done[name] = Truth(python, program, arguments, ["0"], run, path)
        return done[name]

    return get
