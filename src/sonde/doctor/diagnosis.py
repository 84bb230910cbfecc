"""What can be recorded on this machine, by which sampler, and why not more."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

from sonde.errors import SondeError

from . import interpreters, trial_recording
from . import java_homes as jvms
from . import machine_checks as machine
from .interpreters import Interpreter
from .java_homes import JavaHome
from .machine_checks import MachineChecks

USE_ANOTHER = "run the program with CPython 3.11 or newer"
BUILD_HERE = "build sonde on this machine, to match its C library"
MEND_JAVA = "fix what is marked ✗ above; Java needs perf events or CPU timers"
MEND_ABOVE = "fix what is marked ✗ above; sonde cannot attach to a statically linked Python"


@dataclass(frozen=True)
class Verdict:
    """On one interpreter."""

    interpreter: Interpreter
    agent: str | None
    samples: int
    """Taken in a trial recording."""
    problem: str | None
    advice: str | None

    @property
    def ok(self) -> bool:
        return self.samples > 0

    def to_json(self) -> dict[str, Any]:
        interpreter = self.interpreter
        return {
            "path": interpreter.path,
            "implementation": interpreter.implementation,
            "version": interpreter.version,
            "free_threaded": interpreter.free_threaded,
            "libc": interpreter.libc,
            "runs_sonde": interpreter.runs_sonde,
            "agent": self.agent,
            "ok": self.ok,
            "samples": self.samples,
            "problem": self.problem,
            "advice": self.advice,
        }


@dataclass(frozen=True)
class JvmVerdict:
    """On one Java virtual machine."""

    home: JavaHome
    samples: int
    problem: str | None
    advice: str | None

    @property
    def ok(self) -> bool:
        return self.samples > 0

    def to_json(self) -> dict[str, Any]:
        return {
            "path": self.home.path,
            "version": self.home.version,
            "ok": self.ok,
            "samples": self.samples,
            "problem": self.problem,
            "advice": self.advice,
        }


@dataclass(frozen=True)
class Diagnosis:
    version: str
    machine: MachineChecks
    verdicts: list[Verdict]
    jvms: list[JvmVerdict]
    trouble: str | None
    """Why no trial recording could be made at all."""

    @property
    def can_record(self) -> bool:
        return any(verdict.ok for verdict in self.verdicts)

    def to_json(self) -> dict[str, Any]:
        return {
            "sonde": self.version,
            "can_record": self.can_record,
            "trouble": self.trouble,
            "sampler": self.machine.sampler,
            "why_not_better": self.machine.why_not_better,
            "java_sampler": self.machine.java_sampler,
            "machine": self.machine.facts,
            "checks": [
                {"name": c.name, "ok": c.ok, "found": c.found, "advice": c.advice}
                for c in self.machine.checks
            ],
            "interpreters": [verdict.to_json() for verdict in self.verdicts],
            "jvms": [verdict.to_json() for verdict in self.jvms],
        }


def diagnose() -> Diagnosis:
    from sonde._version import version

    found = interpreters.found()
    agents: dict[str, str] = {}
    lacks: dict[str, str] = {}
    for interpreter in found:
        try:
            agents[interpreter.path] = str(interpreter.agent())
        except SondeError as error:
            lacks[interpreter.path] = str(error)
    trouble = None
    trials: dict[str, trial_recording.Trial] = {}
    try:
        trials = trial_recording.record([i for i in found if i.path in agents])
    except SondeError as error:
        trouble = str(error)
    verdicts = [_verdict(i, agents.get(i.path), lacks, trials.get(i.path)) for i in found]
    return Diagnosis(version(), machine.examine(), verdicts, _jvms(), trouble)


def _jvms() -> list[JvmVerdict]:
    lacks: dict[str, str] = {}
    homes = jvms.found()
    for home in homes:
        try:
            home.agent()
        except SondeError as error:
            lacks[home.path] = str(error)
    trials: dict[str, trial_recording.Trial] = {}
    with contextlib.suppress(SondeError):  # reported once, for the interpreters
        trials = trial_recording.record_jvms([home for home in homes if home.path not in lacks])
    verdicts = []
    for home in homes:
        problem, _, advice = lacks.get(home.path, "not tested").partition("; ")
        tried = trials.get(home.path)
        if tried is not None:
            problem, advice = tried.problem or "", MEND_JAVA if tried.problem else ""
        samples = tried.samples if tried else 0
        verdicts.append(JvmVerdict(home, samples, problem or None, advice or None))
    return verdicts


def _verdict(
    interpreter: Interpreter,
    agent: str | None,
    lacks: dict[str, str],
    tried: trial_recording.Trial | None,
) -> Verdict:
    if agent is None:
        # What is wrong and what to do come in one sentence.
        problem, _, cure = lacks[interpreter.path].partition("; ")
        return Verdict(interpreter, None, 0, problem, cure or USE_ANOTHER)
    if tried is None:
        return Verdict(interpreter, agent, 0, "not tested", "fix what is named above")
    advice = None
    if tried.problem is not None:
        advice = MEND_ABOVE if tried.problem == trial_recording.NOTHING_CAME else BUILD_HERE
    return Verdict(interpreter, agent, tried.samples, tried.problem, advice)
