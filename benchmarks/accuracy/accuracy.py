"""How right a profile is: samples that failed, stacks that cannot be, and the rate achieved."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from accuracy import stacks
from accuracy.edges import Stack, Truth, Verdict
from harness import kept, peers
from harness.packages import Environment
from harness.progress import say
from publish.markdown import Section, verdict

WORKLOADS = Path(__file__).resolve().parents[1] / "workloads"
PROGRAMS = ("richards", "deltablue", "json", "raytrace")
RATES = (1000, 10_000)
LOST_GOAL = 0.005


@dataclass
class Outcome:
    """One profiler on one program at one rate."""

    samples: int
    failed: int
    achieved: float
    verdict: Verdict


def steady(env: Environment, program: str, seconds: float, *trace: str) -> list[str]:
    return [env.python, str(WORKLOADS / "steady.py"), program, str(seconds), *trace]


def trace(env: Environment, program: str, scratch: Path) -> Truth:
    """What a traced run of the program says is possible; every round makes the same calls."""
    path = scratch / f"{env.version}-{program}.json"
    if not path.exists():
        command = steady(env, program, 0.5, str(path))
        subprocess.run(command, env=env.variables(), check=True, stdout=subprocess.DEVNULL)
    return Truth(path)


def of_sonde(env: Environment, program: str, rate: int, seconds: float, scratch: Path) -> Outcome:
    say(f"accuracy: sonde, {program}, {rate} Hz, Python {env.version}")
    recording = scratch / "accuracy.sonde"
    sonde = [str(Path(sys.executable).parent / "sonde"), "run", "--force", "-o", str(recording)]
    command = [*sonde, "--rate", str(rate), "--", *steady(env, program, seconds)]
    done = subprocess.run(command, env=env.variables(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no word"])[-1])
    from sonde.recording.reader import read

    quality = read(str(recording)).quality
    checked = trace(env, program, scratch).check(stacks.of_recording(recording))
    failed = quality["lost"] + quality["undecodable"]
    return Outcome(quality["taken"] + quality["lost"], failed, quality["rate_achieved"], checked)


def of_peer(
    peer: str,
    env: Environment,
    tools: peers.Tools,
    program: str,
    rate: int,
    seconds: float,
    scratch: Path,
) -> Outcome:
    say(f"accuracy: {peer}, {program}, {rate} Hz, Python {env.version}")
    truth = trace(env, program, scratch)
    command = steady(env, program, 86400)
    target = subprocess.Popen(command, env=env.variables(), stdout=subprocess.PIPE)
    assert target.stdout is not None
    try:
        target.stdout.readline()
        attached = peers.Attached(peer, tools, target.pid, rate, scratch / "peer.out")
        attached.start()
        time.sleep(seconds)
        attached.stop()
        result = attached.result()
    finally:
        target.kill()
        target.wait()
        target.stdout.close()
    tried = result.samples + result.failed
    found: Iterable[tuple[Stack, int]] = stacks.of_peer(peer, result)
    return Outcome(tried, result.failed, tried / result.seconds, truth.check(found))


def _outcome(
    profiler: str,
    env: Environment,
    tools: peers.Tools,
    program: str,
    rate: int,
    seconds: float,
    scratch: Path,
) -> Outcome:
    if profiler == "sonde":
        return of_sonde(env, program, rate, seconds, scratch)
    return of_peer(profiler, env, tools, program, rate, seconds, scratch)


def report(
    section: Section,
    envs: dict[str, Environment],
    tools: peers.Tools,
    seconds: float,
    scratch: Path,
    programs: list[str],
    rates: list[int],
) -> None:
    """One table per rate: a row for each profiler on each version it was run on."""
    goals = []
    checked = impossible = wrong_line = 0
    for rate in rates:
        rows = []
        ours: list[Outcome] = []
        for profiler, env in _runs(envs, tools):
            outcomes = {}
            for program in programs:
                try:
                    answer = kept.result(
                        "accuracy", env.version, profiler, program, f"{rate}Hz",
                        measure=lambda profiler=profiler, env=env, program=program, rate=rate: (
                            asdict(_outcome(profiler, env, tools, program, rate, seconds, scratch))
                        ),
                        seconds=seconds,
                    )  # fmt: skip
                    outcome = Outcome(**{**answer, "verdict": Verdict(**answer["verdict"])})
                except (RuntimeError, subprocess.CalledProcessError) as error:
                    say(f"  left out: {error}")
                    continue
                if outcome.verdict.example:
                    say(f"  impossible: {outcome.verdict.example}")
                outcomes[program] = outcome
            rows.append(_row(profiler, env, programs, outcomes))
            if profiler == "sonde":
                ours += outcomes.values()
        head = ["profiler, Python", *programs, "achieved, Hz", "samples"]
        title = f"{rate} Hz: lost or failed samples / impossible stacks / wrong call lines, in %"
        section.table(title, head, rows)
        worst = max((o.failed / max(o.samples, 1) for o in ours), default=0.0)
        what = f"sonde, lost + undecodable at {rate} Hz, worst of {len(ours)} runs"
        goals.append(verdict(what, 100 * worst, 100 * LOST_GOAL, "%", f"{100 * worst:.3f} %"))
        checked += sum(o.verdict.checked for o in ours)
        impossible += sum(o.verdict.impossible for o in ours)
        wrong_line += sum(o.verdict.wrong_line for o in ours)
    goals.append(verdict(f"sonde, impossible of {checked:,} stacks", impossible, 0, "stacks"))
    goals.append(verdict(f"sonde, wrong call lines in {checked:,}", wrong_line, 0, "stacks"))
    section.goals(goals)


def _runs(envs: dict[str, Environment], tools: peers.Tools) -> Iterator[tuple[str, Environment]]:
    for env in envs.values():
        yield "sonde", env
    for peer in peers.OUT_OF_PROCESS:
        chosen = envs.get(peers.version_for(peer))
        if chosen and peer.split()[0] in tools:
            yield peer, chosen


def _row(
    profiler: str, env: Environment, programs: list[str], outcomes: dict[str, Outcome]
) -> list[str]:
    cells = [f"{profiler}, {env.version}"]
    for program in programs:
        outcome = outcomes.get(program)
        if outcome is None:
            cells.append("–")
            continue
        checked = max(outcome.verdict.checked, 1)
        parts = (
            outcome.failed / max(outcome.samples, 1),
            outcome.verdict.impossible / checked,
            outcome.verdict.wrong_line / checked,
        )
        cells.append(" / ".join(f"{100 * part:.2f}" for part in parts))
    rates = [outcome.achieved for outcome in outcomes.values()]
    cells.append(f"{min(rates):.0f}–{max(rates):.0f}" if rates else "–")
    cells.append(f"{sum(outcome.samples for outcome in outcomes.values()):,}")
    return cells
