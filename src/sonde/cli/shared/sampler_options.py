"""The values of --sampler and --stacks."""

from __future__ import annotations

from sonde.errors import UsageError


def check_sampler(name: str) -> str:
    from sonde.record.recorder.sampling.samplers import SAMPLERS

    if name != "auto" and name not in SAMPLERS:
        raise UsageError(f"invalid sampler {name!r}; valid samplers: auto, {', '.join(SAMPLERS)}")
    return name


def check_stacks(kind: str) -> str:
    from sonde.record.recorder.capture_control import STACKS

    if kind not in STACKS:
        raise UsageError(f"invalid --stacks {kind!r}; valid values: {', '.join(STACKS)}")
    return kind
