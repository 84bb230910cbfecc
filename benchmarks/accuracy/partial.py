"""The partial tree against the full one: what is left of the hot edges in a bounded memory.

Each program is recorded with a profile kept online (256 KB), at a rate that finds many contexts.
The recorder says how much memory that took and how much had to be dropped. The same samples, in the
same order, are then given to partial trees of several sizes, and these are compared with the tree
of all samples: nodes are functions in the chain of their callers, edges weigh what the callee
itself spent (Hofer, 3.4.2), and one is hot from a tenth of the hottest on.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np

from accuracy.accuracy import steady
from cost.opening import asked, sonde
from harness.packages import Environment
from harness.progress import say
from publish.markdown import Section

RATE = 10_000
MEMORY = 256 << 10
SIZES = (MEMORY, 64 << 10, 16 << 10)
COVERAGE_GOAL = 0.9

Path_ = tuple[tuple[str, str, int], ...]


def report(
    section: Section, env: Environment, names: list[str], seconds: float, scratch: Path
) -> None:
    rows, missed = [], []
    for name in names:
        say(f"partial: {name}, Python {env.version}")
        path = scratch / f"partial-{name}.sonde"
        _record(env, name, seconds, path)
        online = asked("report", path, "quality", "--json")["online"]
        full, samples = _full(path)
        found = [_compare(path, full, size) for size in SIZES]
        hottest = max(full.values(), default=0)
        hot = sum(1 for weight in full.values() if weight >= 0.1 * hottest)
        rows.append(
            [
                name,
                f"{samples:,}",
                f"{len(full):,}",
                f"{hot}",
                f"{online['contexts']:,}",
                f"{online['memory'] / 1024:.0f}",
                f"{online['dropped']:,}",
                *(f"{coverage:.0%} / {overlap:.3f}" for coverage, overlap in found),
            ]
        )
        if found[0][0] < COVERAGE_GOAL or online["memory"] > MEMORY:
            missed.append(name)
    section.table(
        f"A partial tree against the full one, {RATE:,} Hz, Python {env.version}",
        ["program", "samples", "contexts", "hot edges", "kept online", "KiB", "dropped",
         *(f"{size >> 10} KiB: hot edges covered / overlap" for size in SIZES)],
        rows,
    )  # fmt: skip
    section.goals(
        [
            f"hot edges covered in 256 KiB (goal {COVERAGE_GOAL:.0%} for every program): "
            + ("met" if not missed else f"**missed** by {', '.join(missed)}")
        ]
    )


def _record(env: Environment, name: str, seconds: float, path: Path) -> None:
    # A budget that is never reached: such a session keeps its profile.
    subprocess.run(
        [sonde(), "run", "--force", "-o", path, "--what", "cpu", "--rate", str(RATE),
         "--budget", "100%", "--", *steady(env, name, seconds)],
        env=env.variables(), check=True, capture_output=True,
    )  # fmt: skip


class _Samples:
    """The running samples of a recording in the order of their time, with their stacks."""

    def __init__(self, path: Path) -> None:
        from sonde.recording.reader import read

        recording = read(str(path))
        functions, contexts = recording.functions, recording.contexts
        self.functions = list(
            zip(functions.name, functions.file, functions.line.tolist(), strict=True)
        )
        self.parent = contexts.parent.tolist()
        self.function = contexts.function.tolist()
        self.line = contexts.line.tolist()
        table = recording.samples
        running = np.flatnonzero((table.state == 0) & (table.context >= 0))
        order = running[np.argsort(table.time[running], kind="stable")]
        self.rows = list(
            zip(
                table.thread[order].tolist(),
                table.context[order].tolist(),
                table.weight[order].tolist(),
                strict=True,
            )
        )
        self._stacks: dict[int, list[int]] = {}

    def stack(self, context: int) -> list[int]:
        """Contexts, outermost first."""
        known = self._stacks.get(context)
        if known is None:
            parent = self.parent[context]
            known = [*(self.stack(parent) if parent >= 0 else []), context]
            self._stacks[context] = known
        return known


def _full(path: Path) -> tuple[dict[Path_, int], int]:
    """What each path of functions spent itself."""
    samples = _Samples(path)
    spent: dict[Path_, int] = {}
    for _, context, weight in samples.rows:
        key = tuple(samples.functions[samples.function[at]] for at in samples.stack(context))
        spent[key] = spent.get(key, 0) + weight
    return spent, len(samples.rows)


def _compare(path: Path, full: dict[Path_, int], memory: int) -> tuple[float, float]:
    """How many of the hot edges are hot in a partial tree, too, and the overlap of both."""
    from sonde.model.trees.overlap import coverage, overlap

    partial = _partial(_Samples(path), memory)
    keys = sorted({*full, *partial})
    base, new = (np.array([tree.get(key, 0) for key in keys]) for tree in (full, partial))
    return coverage(new, base) or 0.0, overlap(base, new) or 0.0


def _partial(samples: _Samples, memory: int) -> dict[Path_, int]:
    from sonde.model.trees.partial_tree import PartialTree, TreePosition

    tree = PartialTree(memory)
    threads: dict[int, tuple[TreePosition, list[int]]] = {}
    for thread, context, weight in samples.rows:
        place, last = threads.get(thread) or (TreePosition(), [])
        stack = samples.stack(context)
        unchanged = 0
        for now, before in zip(stack, last, strict=False):
            if now != before:
                break
            unchanged += 1
        tree.make_room(len(stack) - tree.known(place, unchanged))
        known = tree.known(place, unchanged)
        frames = [
            (
                samples.line[stack[at - 1]] if at else 0,
                tree.function(*samples.functions[samples.function[stack[at]]], "cpython"),
            )
            for at in range(known, len(stack))
        ]
        tree.sample(place, known, frames, range(unchanged, len(stack)), weight)
        threads[thread] = (place, stack)
    if tree.memory() > memory:
        raise AssertionError(f"the tree takes {tree.memory()} bytes of {memory}")
    spent: dict[Path_, int] = {}
    paths: list[Path_] = []
    for parent, function, _, own, _ in tree.rows():
        above = paths[parent] if parent >= 0 else ()
        paths.append((*above, (function.name, function.file, function.line)))
        if own:
            spent[paths[-1]] = spent.get(paths[-1], 0) + own
    return spent
