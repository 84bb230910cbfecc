"""How far the numbers of the call flow can be off.

Two independent answers: what calibration left of the cost of its own calls, whose cost it knows;
and how the shares of functions compare with samples of the same recording.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.model.trees.context_tree import Ints, sums
from sonde.row_values import RUNNING
from sonde.views.selecting.profile import identities
from sonde.views.selecting.selection import Selection, chosen

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.flow.flow_tree import FlowTree

MIN_SHARE = 0.03
"""Functions of less of the time have too few samples to compare with."""
MIN_SAMPLES = 30


@dataclass(frozen=True)
class SampleError:
    """The calibrated times of functions beside what samples of the recording attribute to them."""

    functions: int
    median: float
    maximum: float
    standard_error: float
    """Of the samples themselves, for a function of median share."""

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class FlowError:
    events: int
    residual: float
    """Per event, in the unit of the metric."""
    share: float
    """All of it, as a share of the total."""
    unlearnt: float
    """The share of events whose sequence calibration has not met."""
    samples: SampleError | None

    def to_json(self) -> dict[str, Any]:
        return {
            "events": self.events,
            "residual_per_event": self.residual,
            "share": self.share,
            "unlearnt": self.unlearnt,
            "samples": None if self.samples is None else self.samples.to_json(),
        }


def flow_error(recording: Recording, selection: Selection, found: FlowTree) -> FlowError:
    runs = recording.flow_runs
    events = int(runs.events.sum())
    total = int(found.base.sum())
    weight = np.maximum(runs.events, 1)
    residual = float((runs.residual * weight).sum() / weight.sum()) if len(runs) else 0.0
    return FlowError(
        events=events,
        residual=residual,
        share=residual * events / total if total else 0.0,
        unlearnt=int(runs.unlearnt.sum()) / events if events else 0.0,
        samples=_by_samples(recording, selection, found),
    )


def _by_samples(recording: Recording, selection: Selection, found: FlowTree) -> SampleError | None:
    """Samples have the cost of recording, too: the same for each entry and exit of a function."""
    if set(recording.flow_runs.metric) != {"cpu"} or not len(recording.samples):
        return None
    size = len(found.functions)
    sampled, count = sampled_functions(recording, selection, size)
    base = sums(found.function, found.base, size)
    known = base > 0
    entries = 2 * sums(found.function, found.calls + found.resumptions, size)
    all_sampled, all_base, all_entries = (int(c[known].sum()) for c in (sampled, base, entries))
    if not all_entries or not all_sampled:
        return None
    expected = base + entries * max(all_sampled - all_base, 0) / all_entries
    # Samples of start-up and of what runs outside of recorded functions are in neither.
    expected *= all_sampled / expected[known].sum()
    large = known & (sampled >= MIN_SHARE * all_sampled) & (count >= MIN_SAMPLES)
    if not large.any():
        return None
    off = np.abs(expected[large] / sampled[large] - 1)
    return SampleError(
        functions=int(large.sum()),
        median=float(np.median(off)),
        maximum=float(off.max()),
        standard_error=float(1 / np.sqrt(np.median(count[large]))),
    )


def sampled_functions(recording: Recording, selection: Selection, size: int) -> tuple[Ints, Ints]:
    """CPU time and samples by function; C functions count for the Python function that called."""
    rows, weight = chosen(recording, selection)
    samples, contexts = recording.samples, recording.contexts
    context = samples.context[rows]
    keep = (samples.state[rows] == RUNNING) & (context >= 0)
    _, identity = identities(recording)
    function = contexts.function[context[keep]]
    native = np.array([file == "<built-in>" for file in recording.functions.file], dtype=bool)
    above = contexts.parent[context[keep]]
    function = np.where(
        native[function] & (above >= 0), contexts.function[np.maximum(above, 0)], function
    )
    place = identity[function]
    return sums(place, weight[keep], size), np.bincount(place, minlength=size).astype(np.int64)
