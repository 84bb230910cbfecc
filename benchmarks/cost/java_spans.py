"""What a span of a Java program costs, where nobody records it and where somebody does.

The program does the same small piece of work with and without a span around it, in batches that
take turns. Compared is the CPU time of a piece in the two batches of a pair.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from harness import jvms, kept
from harness.paired import Column, Figure, median
from harness.progress import say
from publish.markdown import Section, measured_verdict, percent

# Pieces of a batch and milliseconds between two pairs. A ring has room for 2,700 spans, and it is
# drained in the pause.
ALONE, RECORDED = (20_000, 0), (500, 60)
PAIRS, QUICK_PAIRS = 200, 10
RATE = 1000
GOAL = 1.0  # percent of a piece without an agent


class _Program:
    def __init__(self, java: Path, classes: Path, jar: Path) -> None:
        self._process = subprocess.Popen(
            [java, "-XX:+EnableDynamicAgentLoading", "-cp", f"{classes}:{jar}", "SpanCosts"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = int(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def pairs(self, batch: tuple[int, int], pairs: int) -> dict[str, Any]:
        assert self._process.stdin is not None
        count, pause = batch
        self._process.stdin.write(f"{count} {pairs} {pause}\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._line())
        return answer | {"expected": count * pairs}

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextmanager
def _running(java: Path, classes: Path, jar: Path) -> Iterator[_Program]:
    program = _Program(java, classes, jar)
    try:
        yield program
    finally:
        program.end()


def _measured(home: Path, version: str, scratch: Path, pairs: int) -> dict[str, Any]:
    from sonde.record.system.native_libraries import java_api

    def measure() -> dict[str, Any]:
        say(f"java-spans: {version}")
        jar = java_api()
        classes = jvms.compiled(home, "SpanCosts", scratch / version, jar)
        with _running(home / "bin" / "java", classes, jar) as it:
            alone = it.pairs(ALONE, pairs)
            with jvms.sonde(it.pid, RATE, scratch / "spans.recording"):
                recorded = it.pairs(RECORDED, pairs)
            return {"alone": alone, "recorded": recorded, "after": it.pairs(ALONE, pairs)}

    answer: dict[str, Any] = kept.result("java-spans", version, "costs", measure=measure)
    return answer


def _columns(told: dict[str, Any]) -> tuple[Column, Column]:
    """Of each pair how much longer a piece took with its span: nanoseconds, and a share."""
    pairs = np.array(told["pairs"])
    return pairs[:, 1] - pairs[:, 0], pairs[:, 1] / pairs[:, 0] - 1


def _nanoseconds(figure: Figure) -> str:
    return f"{figure.value:.1f} [{figure.low:.1f}, {figure.high:.1f}]"


def report(section: Section, quick: bool) -> None:
    homes = jvms.homes()
    if not homes:
        section.say("There is no JDK on this machine.")
        return
    rows, lines = [], []
    with tempfile.TemporaryDirectory() as folder:
        for home, version in homes.items():
            answer = _measured(home, version, Path(folder), QUICK_PAIRS if quick else PAIRS)
            for name, words in (
                ("alone", "no agent"),
                ("recorded", f"recorded at {RATE} Hz"),
                ("after", "no agent any more"),
            ):
                told = answer[name]
                more, share = _columns(told)
                piece = float(np.median(np.array(told["pairs"])[:, 0]))
                rows.append(
                    [
                        version, words, f"{piece:.0f}", _nanoseconds(median(more)),
                        percent(median(share)), f"{told['recorded']} of {told['expected']}",
                    ]
                )  # fmt: skip
            alone = median(_columns(answer["alone"])[1])
            lines.append(
                measured_verdict(
                    f"a span without an agent, JDK {version}", alone.times(100), GOAL,
                    "%", percent(alone),
                )
            )  # fmt: skip
    head = ["JDK", "", "ns a piece", "ns a span", "of a piece", "spans recorded"]
    section.table("CPU time of a span around a small piece of work", head, rows)
    section.goals(lines)
