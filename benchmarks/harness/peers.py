"""Other profilers that attach to a running process: how each is started, and what it wrote.

All have the same face: `Attached(peer, pid, rate, output)` samples from `start` to `stop`, and
`result` is what the profiler itself said and stored. Which programs to call comes as a dictionary
made by packages.py, so that this file needs nothing but the standard library and runs on the
sampled interpreter too.
"""

from __future__ import annotations

import re
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

Tools = dict[str, list[str]]

OUT_OF_PROCESS = ("py-spy", "py-spy --nonblocking", "austin", "profiling.sampling")
IN_PROCESS = ("pyinstrument", "cProfile")

# A profiler counts as attached when it has said so, or, if it says nothing, after this long.
SETTLE_S = 1.2
AFTER_WORDS_S = 0.3
FINISH_S = 60


def version_for(peer: str) -> str:
    """The Python a peer is measured on."""
    return "3.15" if peer == "profiling.sampling" else "3.12"


@dataclass
class Result:
    """What a profiler told about its own run."""

    seconds: float
    samples: int
    failed: int
    stacks: dict[tuple[str, ...], int] = field(default_factory=dict)
    """Samples by stack; each frame as the profiler wrote it, outermost first."""


def command(peer: str, tools: Tools, pid: int, rate: int, output: Path) -> list[str]:
    if peer.startswith("py-spy"):
        mode = ["--nonblocking"] if peer.endswith("--nonblocking") else []
        # A day: it is ended by a signal, as the others are.
        return [
            *tools["py-spy"], "record", "--pid", str(pid), "--rate", str(rate), "--duration",
            "86400", "--format", "raw", "--full-filenames", "--output", str(output), *mode,
        ]  # fmt: skip
    if peer == "austin":
        interval = str(1_000_000 // rate)
        return [*tools["austin"], "-i", interval, "-p", str(pid), "-o", str(output)]
    if peer == "profiling.sampling":
        return [
            *tools["profiling.sampling"], "attach", "-r", str(rate), "-a", "--collapsed",
            "-o", str(output), str(pid),
        ]  # fmt: skip
    raise ValueError(peer)


class Attached:
    """One profiler, attached to one process."""

    def __init__(self, peer: str, tools: Tools, pid: int, rate: int, output: Path) -> None:
        self.peer = peer
        self._tools = tools
        self._command = command(peer, tools, pid, rate, output)
        self._output = output
        self._words = output.with_suffix(".log")
        self._process: subprocess.Popen[bytes] | None = None
        self._sampled_from = self._sampled_to = 0.0

    def start(self) -> None:
        self._output.unlink(missing_ok=True)
        with self._words.open("wb") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        started = self._sampled_from = time.monotonic()
        expected = {"py-spy": "Sampling process", "austin": "version"}.get(self.peer.split()[0])
        while time.monotonic() - started < SETTLE_S:
            time.sleep(0.02)
            if self._process.poll() is not None:
                raise RuntimeError(f"{self.peer} ended at once: {self._last_words()}")
            if expected and expected in self._words.read_text(errors="replace"):
                self._sampled_from = time.monotonic()
                time.sleep(AFTER_WORDS_S)
                break

    def stop(self) -> None:
        assert self._process is not None
        stop = signal.SIGTERM if self.peer == "austin" else signal.SIGINT
        self._sampled_to = time.monotonic()
        self._process.send_signal(stop)
        try:
            self._process.wait(FINISH_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise RuntimeError(f"{self.peer} did not end when told to") from None

    def result(self) -> Result:
        seconds = self._sampled_to - self._sampled_from
        said = self._words.read_text(errors="replace")
        reader = {"py-spy": _py_spy, "austin": self._austin}.get(self.peer.split()[0], _sampling)
        return reader(said, self._output, seconds)

    def _austin(self, _said: str, output: Path, seconds: float) -> Result:
        text = output.with_suffix(".collapsed")
        converter = [*self._tools["austin-convert"], str(output), str(text)]
        subprocess.run(converter, check=True, capture_output=True)
        result = Result(seconds, 0, 0)
        for line in text.read_text(errors="replace").split("\n"):
            if line.startswith("# errors: "):
                result.failed += int(line.split()[2].split("/")[0])
            if line.startswith("#") or not line:
                continue
            # "P1;T0:1;file:name:line;... microseconds", one line per sample.
            frames = tuple(line.rpartition(" ")[0].split(";")[2:])
            if frames:
                result.samples += 1
                result.stacks[frames] = result.stacks.get(frames, 0) + 1
            else:
                result.failed += 1
        return result

    def _last_words(self) -> str:
        lines = self._words.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "without a word"


def _py_spy(said: str, output: Path, seconds: float) -> Result:
    counts = re.search(r"Samples: (\d+) Errors: (\d+)", said)
    result = Result(seconds, 0, int(counts[2]) if counts else 0)
    _collapsed(output, result, drop=0)
    return result


def _sampling(said: str, output: Path, seconds: float) -> Result:
    captured = re.search(r"Captured ([\d,]+) samples in ([\d.]+) seconds", said)
    errors = re.search(r"Error rate: ([\d.]+)", said)
    result = Result(float(captured[2]) if captured else seconds, 0, 0)
    _collapsed(output, result, drop=1)  # the first part names the thread
    if captured:
        tried = int(captured[1].replace(",", ""))
        result.failed = round(tried * float(errors[1]) / 100) if errors else 0
        result.samples = tried - result.failed
    return result


def _collapsed(output: Path, result: Result, drop: int) -> None:
    if not output.exists():
        return
    # Torn reads bring names of random bytes, line ends among them: a line ends with a number.
    text = output.read_text(errors="replace")
    for stack, count in re.findall(r"(.+?) (\d+)\n", text, re.DOTALL):
        frames = tuple(stack.split(";")[drop:])
        result.stacks[frames] = result.stacks.get(frames, 0) + int(count)
        result.samples += int(count)
