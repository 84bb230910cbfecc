"""The values of --sampler and --stacks."""

from __future__ import annotations

from sonde.errors import UsageError


def check_sampler(name: str) -> str:
    from sonde.record.recorder.samplers import SAMPLERS

    if name != "auto" and name not in SAMPLERS:
        raise UsageError(f"there is no sampler {name!r}; there are: auto, {', '.join(SAMPLERS)}")
    return name


def check_stacks(kind: str) -> str:
    from sonde.record.recorder.capture_control import STACKS

    if kind not in STACKS:
        raise UsageError(f"--stacks takes one of {', '.join(STACKS)}, not {kind!r}")
    return kind
