"""Walks that end at a frame of the last one, each made to its end as well and compared.

Of Java stacks those put together from what is known, each also walked by HotSpot.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from accuracy.accuracy import steady
from cost.opening import sonde
from harness import jvms
from harness.packages import SOURCE, Environment
from harness.progress import say
from publish.markdown import Section

RATE = 20_000
ENOUGH = 1_000_000
"""Walks that were compared, of all programs and versions together."""
CUT = 5.0
DEEP = "deep"
TESTS = SOURCE.parent / "tests"
# Its frames come and go by every way there is.
HARD = TESTS / "targets" / "activations.py"
HARD_JAVA = TESTS / "targets" / "java" / "Activations.java"
# Some frames stay the interpreter's, between those of compiled methods.
INTERPRETED = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,Activations.slow*"]
JAVA = ["Shares", "Intrinsics", "Deep"]


@dataclass
class Walked:
    checked: int = 0
    wrong: int = 0
    frames: int = 0
    visited: int = 0
    samples: int = 0

    def add(self, other: Walked) -> None:
        self.checked += other.checked
        self.wrong += other.wrong
        self.frames += other.frames
        self.visited += other.visited
        self.samples += other.samples


def report(
    section: Section, envs: list[Environment], names: list[str], seconds: float, scratch: Path
) -> None:
    rows, lines, total = [], [], Walked()
    for env in envs:
        of_version = Walked()
        for name in [*names, "activations"]:
            say(f"walks: {name}, Python {env.version}")
            command = (
                [env.python, str(HARD), str(seconds)]
                if name == "activations"
                else steady(env, name, seconds)
            )
            walked = _record(env, command, scratch / f"{name}.sonde")
            of_version.add(walked)
            rows.append(_row(f"{name}, {env.version}", walked))
            if name == DEEP:
                cut = walked.frames / max(walked.visited, 1)
                kept = "met" if cut >= CUT else "**missed**"
                lines.append(
                    f"frames looked at, depth 200, {env.version}: a {cut:.1f}th of all "
                    f"(goal: a {CUT:g}th): {kept}"
                )
        total.add(of_version)
    rows.append(_row("**all**", total))
    section.table(
        f"Walks made twice, at {RATE:,} Hz",
        ["program", "samples", "walks compared", "wrong", "frames a sample", "looked at"],
        rows,
    )
    kept = "met" if not total.wrong and total.checked >= ENOUGH else "**missed**"
    lines.append(
        f"wrong walks: {total.wrong:,} of {total.checked:,} (goal: none of {ENOUGH:,}): {kept}"
    )
    section.goals(lines)


def report_java(section: Section, seconds: float, scratch: Path) -> None:
    rows, total = [], Walked()
    sources = [HARD_JAVA, *sorted((TESTS / "truth" / "hotspot").glob("*.java"))]
    for home, version in jvms.homes().items():
        classes = scratch / f"walks-{version}"
        subprocess.run([home / "bin" / "javac", "-d", classes, *sources], check=True)
        for name in [*JAVA, "Activations"]:
            say(f"walks: {name}, JDK {version}")
            options = INTERPRETED if name == "Activations" else []
            command = [home / "bin" / "java", *options, "-cp", classes, name, seconds]
            walked = _record(None, [str(part) for part in command], scratch / f"{name}.sonde")
            total.add(walked)
            rows.append(_row(f"{name}, {version}", walked, walked.checked))
    if not rows:
        return
    rows.append(_row("**all**", total, total.checked))
    section.table(
        f"Java stacks put together from what is known, and walked as well, at {RATE:,} Hz",
        ["program", "samples", "stacks compared", "wrong", "frames of each", "looked at"],
        rows,
    )
    kept = "met" if not total.wrong and total.checked else "**missed**"
    section.goals([f"wrong Java stacks: {total.wrong:,} of {total.checked:,} (goal: none): {kept}"])


def _row(name: str, walked: Walked, counted: int | None = None) -> list[str]:
    """`counted`: of how many samples the frames are, unless of all."""
    samples = max(walked.samples if counted is None else counted, 1)
    return [
        name,
        f"{walked.samples:,}",
        f"{walked.checked:,}",
        f"{walked.wrong:,}",
        f"{walked.frames / samples:.1f}",
        f"{walked.visited / samples:.1f}",
    ]


def _record(env: Environment | None, command: list[str], path: Path) -> Walked:
    subprocess.run(
        [sonde(), "run", "--force", "-o", path, "--what", "cpu", "--rate", str(RATE),
         "--stacks", "checked", "--", *command],
        env=env.variables() if env else None, check=True, capture_output=True,
    )  # fmt: skip
    from sonde.recording.reader import read

    quality = read(str(path)).quality
    return Walked(
        quality.get("walks_checked", 0),
        quality.get("walks_wrong", 0),
        quality["frames"],
        quality["frames_visited"],
        quality["taken"],
    )
