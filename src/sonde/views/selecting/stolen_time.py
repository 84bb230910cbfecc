"""What others took from the threads of a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sonde.errors import UsageError
from sonde.model.cpu_loss import (
    CPU_LOSS_CAUSES,
    CpuLossCause,
    Intervals,
    ProcessorSteps,
    RunningSamples,
    Steps,
    placed,
    spread,
    taken,
)
from sonde.model.trees.context_tree import sums
from sonde.row_values import RUNNING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sonde.recording.tables import Recording


def is_counted(recording: Recording) -> bool:
    return len(recording.machine) > 0


def by_step(recording: Recording) -> dict[CpuLossCause, NDArray[np.int64]]:
    """Per row of the metrics."""
    machine, processors = recording.machine, recording.processors
    # As old recordings do not state: they were mostly made with perf, whose clock goes on.
    with_steal = recording.target.get("metrics_include_steal", True)
    return taken(
        _steps(recording),
        Intervals(
            machine.process.astype(np.int64),
            machine.time,
            machine.busy_ns if with_steal else machine.busy_ns - machine.steal_ns,
            machine.steal_ns,
            machine.throttled_ns,
        ),
        _ran(recording),
        ProcessorSteps(
            processors.process.astype(np.int64),
            processors.time,
            processors.processor.astype(np.int64),
            processors.busy_ns if with_steal else processors.busy_ns - processors.steal_ns,
            processors.steal_ns,
        ),
    )


def split_by_processor(recording: Recording) -> float | None:
    """The share of the counted CPU time whose processor is known; None: nothing was counted."""
    whole = int(recording.metrics.cpu_ns.sum())
    if not whole:
        return None
    # A short recording in which nothing was stolen has no row of a processor, and needs none.
    if not len(recording.processors) and recording.machine.steal_ns.any():
        return 0.0
    known = placed(_steps(recording), _ran(recording)).known
    return float(recording.metrics.cpu_ns[known].sum() / whole)


def _steps(recording: Recording) -> Steps:
    metrics = recording.metrics
    thread = metrics.thread.astype(np.int64)
    return Steps(
        thread,
        recording.threads.process[thread].astype(np.int64),
        metrics.time,
        metrics.cpu_ns,
        metrics.run_delay_ns,
    )


def _ran(recording: Recording) -> RunningSamples:
    samples = recording.samples
    rows = np.flatnonzero((samples.state == RUNNING) & (samples.processor >= 0))
    return RunningSamples(
        samples.thread[rows].astype(np.int64),
        samples.time[rows],
        samples.processor[rows].astype(np.int64),
        samples.weight[rows],
    )


def corrected_cpu(recording: Recording) -> NDArray[np.int64]:
    """Per row of the threads, its CPU time without steal time; -1: not known.

    Only where the kernel's CPU clock counts that in is there a difference.
    """
    cpu = recording.threads.cpu_ns.astype(np.int64)
    if not is_counted(recording):
        return np.full(len(cpu), -1, np.int64)
    if not recording.target.get("cpu_includes_steal"):
        return cpu
    return np.where(cpu < 0, -1, np.maximum(cpu - by_thread(recording)["hypervisor"], 0))


def starts(recording: Recording) -> NDArray[np.int64]:
    """Per row of the metrics, when the step began that it ends."""
    metrics = recording.metrics
    began = recording.threads.start_ns[metrics.thread].astype(np.int64)
    order = np.lexsort((metrics.time, metrics.thread))
    same = metrics.thread[order][1:] == metrics.thread[order][:-1]
    began[order[1:][same]] = metrics.time[order[:-1][same]]
    return began


def by_thread(
    recording: Recording, start_ns: int | None = None, end_ns: int | None = None
) -> dict[CpuLossCause, NDArray[np.int64]]:
    """Per row of the threads, within a range of time."""
    inside = within(recording, start_ns, end_ns)
    count = len(recording.threads)
    thread = recording.metrics.thread[inside]
    return {cause: sums(thread, lost[inside], count) for cause, lost in by_step(recording).items()}


def within(recording: Recording, start_ns: int | None, end_ns: int | None) -> NDArray[np.bool_]:
    """Which rows of the metrics end in a range of time."""
    time = recording.metrics.time
    inside = np.ones(len(time), dtype=bool)
    if start_ns is not None:
        inside &= time > start_ns
    if end_ns is not None:
        inside &= time <= end_ns
    return inside


def weights(recording: Recording, cause: CpuLossCause | None = None) -> NDArray[np.int64]:
    """Per sample, what was taken from the calls it stands for; of all causes by default."""
    if not is_counted(recording):
        raise UsageError(
            f"{recording.path} has no run-queue latency, throttling and steal time; "
            "record it with: sonde run --what +threads …"
        )
    steps = by_step(recording)
    lost = sum((steps[one] for one in ([cause] if cause else CPU_LOSS_CAUSES)), np.int64(0))
    return _by_sample(recording, np.asarray(lost))


def by_sample(recording: Recording) -> dict[CpuLossCause, NDArray[np.int64]]:
    """Per sample, what each cause took from the calls it stands for."""
    return {cause: _by_sample(recording, lost) for cause, lost in by_step(recording).items()}


def _by_sample(recording: Recording, lost: NDArray[np.int64]) -> NDArray[np.int64]:
    samples, metrics = recording.samples, recording.metrics
    ran = np.flatnonzero(samples.state == RUNNING)
    result = np.zeros(len(samples), np.int64)
    result[ran] = spread(
        samples.thread[ran].astype(np.int64),
        samples.time[ran],
        samples.weight[ran],
        metrics.thread.astype(np.int64),
        metrics.time,
        lost,
    )
    return result
