"""Paired slices of block_worker.py as ratios with their intervals."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from harness.packages import SOURCE
from harness.paired import Column, Figure, mean

if TYPE_CHECKING:
    from harness.packages import Environment

WORKER = Path(__file__).with_name("block_worker.py")
OFF = "off"


class Blocks(NamedTuple):
    by_block: list[dict[str, float]]
    """CPU ns per round of work, by condition."""
    rounds: dict[str, int]
    """Of work in each recording that was kept."""

    def ratios(self, condition: str) -> Column:
        return np.array([block[condition] / block[OFF] for block in self.by_block])

    def differences(self, condition: str) -> Column:
        return np.array([block[condition] - block[OFF] for block in self.by_block])


def run(
    env: Environment,
    program: str,
    conditions: dict[str, Any],
    *,
    blocks: int,
    seconds: float,
    output: Path,
    kept: dict[str, Any] | None = None,
) -> Blocks:
    job = {
        "program": program, "conditions": {OFF: None, **conditions}, "blocks": blocks,
        "seconds": seconds, "source": str(SOURCE), "recorder": sys.executable,
        "output": str(output), "kept": kept or {},
    }  # fmt: skip
    done = subprocess.run(
        [env.python, WORKER, json.dumps(job)],
        env=env.variables(), capture_output=True, text=True, check=False, timeout=1800,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    answer = json.loads(done.stdout.splitlines()[-1])
    by_block: dict[object, dict[str, float]] = {}
    for block, condition, ns in answer["slices"]:
        by_block.setdefault(block, {})[condition] = float(ns)
    return Blocks(list(by_block.values()), answer["rounds"])


def median(values: Column) -> Figure:
    """With its interval."""
    return mean([values])
