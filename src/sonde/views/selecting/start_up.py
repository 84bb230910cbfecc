"""The start-up of a recorded program: how long it took, and which part of the CPU time it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.errors import UsageError
from sonde.model import start_up as phases
from sonde.model.trees.context_tree import ContextTree
from sonde.row_values import BUILT_IN, RUNNING
from sonde.views.selecting.selection import Selection, chosen

if TYPE_CHECKING:
    from sonde.recording.tables import Recording

IMPORT_SYSTEM = "<frozen importlib._bootstrap"
_SERVING = (
    "select.select", "select.poll.poll", "select.epoll.poll", "_socket.socket.accept",
)  # fmt: skip
"""Where a main thread is that waits for connections."""


@dataclass(frozen=True)
class StartUp:
    """The start-up; times in nanoseconds."""

    end_ns: int
    """When it was over, since the recording began."""
    cpu_ns: int
    """CPU time of all threads until then."""
    import_ns: int
    """What of that is in imports."""
    total_ns: int
    """CPU time of the whole recording."""

    @property
    def share(self) -> float:
        return self.cpu_ns / self.total_ns if self.total_ns else 0.0

    def to_json(self) -> dict[str, Any]:
        return {
            "end_ns": self.end_ns,
            "cpu_ns": self.cpu_ns,
            "import_ns": self.import_ns,
            "share": self.share,
        }


def start_up(recording: Recording) -> StartUp | None:
    """None: the recording has none, such as one that was attached later."""
    samples = recording.samples
    functions, contexts = recording.functions, recording.contexts
    imports = np.array([file.startswith(IMPORT_SYSTEM) for file in functions.file], dtype=bool)
    if not imports.any():
        return None
    place = np.append(contexts.function, -1)
    tree = ContextTree(contexts.parent)
    importing = np.append(tree.nearest(imports[contexts.function]) >= 0, False)
    serves = [
        file == BUILT_IN and name in _SERVING
        for name, file in zip(functions.name, functions.file, strict=True)
    ]
    serving = np.append(np.array(serves, dtype=bool), False)[place] & ~importing

    found = []
    for process, facts in enumerate(recording.processes):
        threads = recording.threads
        main = np.flatnonzero((threads.process == process) & (threads.tid == facts.pid))
        rows = np.flatnonzero((samples.state == RUNNING) & np.isin(samples.thread, main))
        if not len(rows):
            continue
        rows = rows[np.argsort(samples.time[rows], kind="stable")]
        context = samples.context[rows]
        phase = phases.start_up(
            samples.time[rows], samples.weight[rows], importing[context], serving[context]
        )
        if phase is not None:
            found.append(phase)
    whole = phases.united(found)
    if whole is None:
        return None
    # The sample in which it ends belongs to it.
    end = whole.end_ns + 1
    rows, weight = chosen(recording, Selection(end_ns=end))
    in_imports = importing[samples.context[rows]]
    return StartUp(
        end,
        int(weight.sum()),
        int(weight[in_imports].sum()),
        recording.sampled_cpu_ns,
    )


def after_start_up(recording: Recording, selection: Selection) -> Selection:
    """The same selection from the end of the start-up on."""
    found = start_up(recording)
    if found is None:
        raise UsageError(f"{recording.path} has no start-up; leave out --skip-startup")
    if selection.end_ns is not None and selection.end_ns <= found.end_ns:
        raise UsageError(
            f"the time range is empty: the start-up ends at {found.end_ns / 1e9:.3g} s"
        )
    return replace(selection, start_ns=found.end_ns)
