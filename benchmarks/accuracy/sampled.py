"""One program under one profiler: sonde by any of its samplers, or a peer."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from accuracy import stacks, trees
from accuracy.edges import Frame
from harness import peers
from harness.packages import Environment
from harness.progress import say

CHAINED = "chained"
"""The usual sampler, with chained stacks."""
PEERS = ("py-spy", "py-spy --nonblocking", "profiling.sampling")

Stacks = list[tuple[tuple[Frame, ...], float]]


def samplers() -> list[str]:
    from sonde.record.recorder.sampling.samplers import SAMPLERS

    return [*SAMPLERS, CHAINED]


def peers_on(env: Environment, tools: peers.Tools) -> list[str]:
    return [
        peer
        for peer in PEERS
        if peer.split()[0] in tools and peers.version_for(peer) == env.version
    ]


def by_sonde(
    env: Environment, command: list[str], sampler: str, rate: int, path: Path
) -> tuple[Stacks, dict[str, Any], str]:
    """Its running time by stack, its quality, and what the program printed."""
    from sonde.recording.reader import read

    options = ["--stacks", CHAINED] if sampler == CHAINED else ["--sampler", sampler]
    sonde = [
        str(Path(sys.executable).parent / "sonde"),
        "run",
        "--force",
        "-o",
        str(path),
        "--what",
        "cpu",
    ]
    path.unlink(missing_ok=True)
    done = subprocess.run(
        [*sonde, "--rate", str(rate), *options, "--", *command],
        env=env.variables(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode or not path.exists():
        raise RuntimeError((done.stderr.strip().splitlines() or ["no word"])[-1])
    quality = read(str(path)).quality
    wanted = "perf" if sampler == CHAINED else sampler
    if not str(quality["sampler"]).startswith(wanted.split("-")[0]):
        raise RuntimeError(f"{sampler} is not to be had here, {quality['sampler']} took over")
    return trees.stacks_of(path), quality, done.stdout


def by_peer(
    env: Environment,
    command: list[str],
    peer: str,
    rate: int,
    seconds: float,
    tools: peers.Tools,
    path: Path,
    to_the_end: bool = True,
) -> tuple[Stacks, dict[str, Any], str]:
    """The same of a peer that is attached for so long; the program may go on until it is done."""
    target = subprocess.Popen(
        command, env=env.variables(), stdout=subprocess.PIPE, text=True, bufsize=0
    )
    assert target.stdout is not None
    try:
        time.sleep(0.3)  # it starts, and warms up
        attached = peers.Attached(peer, tools, target.pid, rate, path)
        attached.start()
        time.sleep(seconds)
        attached.stop()
        found = attached.result()
        printed = target.communicate(timeout=120)[0] if to_the_end else ""
    finally:
        if target.poll() is None:
            target.kill()
            target.wait()
        target.stdout.close()
    told: Stacks = [(stack, float(count)) for stack, count in stacks.of_peer(peer, found)]
    return told, {"taken": found.samples, "lost": found.failed}, printed


def left_out(error: Exception) -> None:
    say(f"  left out: {error}")
