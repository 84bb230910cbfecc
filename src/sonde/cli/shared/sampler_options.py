"""The values of --sampler and --stacks."""

from __future__ import annotations

from sonde.errors import UsageError, invalid


def check_sampler(name: str) -> str:
    from sonde.record.recorder.sampling.samplers import SAMPLERS

    if name != "auto" and name not in SAMPLERS:
        raise UsageError(invalid("sampler", name, ("auto", *SAMPLERS), "samplers"))
    return name


def check_stacks(kind: str) -> str:
    from sonde.record.recorder.capture_control import STACKS

    if kind not in STACKS:
        raise UsageError(invalid("--stacks", kind, STACKS, "values"))
    return kind
