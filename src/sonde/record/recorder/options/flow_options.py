"""What of the call flow to record: where, in which metric, and whether as a list of events."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sonde.errors import UsageError, invalid
from sonde.row_values import FLOW_TIMES

from ...shm import flow_layout

METRICS = tuple(flow_layout.METRICS)
DEFAULT_METRIC = METRICS[0]
NAMES = {
    "instructions": "executed bytecode instructions",
    "page-faults": "page faults",
    "context-switches": "context switches",
}
"""Of metrics that are no times."""


@dataclass(frozen=True)
class FlowOptions:
    within: str = ""
    """A module, a function or a span; "": everywhere."""
    metric: str = DEFAULT_METRIC
    native: bool = False
    """Calls of C functions, too."""
    events: bool = False


def why_no_java_flow(flow: Mapping[str, Any]) -> str:
    """Why the flow of a Java program is not recorded with these options; "": it is."""
    if not flow["within"]:
        return (
            "Java programs need --flow-in PACKAGE, CLASS or METHOD, whose methods are instrumented"
        )
    if flow["metric"] not in FLOW_TIMES:
        return f"{NAMES[flow['metric']]} are counted in CPython alone; choose cpu or wall"
    if flow["native"]:
        return "--flow-c is for CPython alone; Java programs record methods with bytecode"
    return ""


def check_flow(
    kinds: Collection[str],
    within: str | None = None,
    metric: str | None = None,
    *,
    native: bool = False,
    events: bool = False,
) -> FlowOptions:
    given = {
        "--flow-in": within is not None,
        "--flow-metric": metric is not None,
        "--flow-c": native,
        "--flow-events": events,
    }
    if "flow" not in kinds:
        for option, there in given.items():
            if there:
                raise UsageError(f"{option} needs --what flow")
        return FlowOptions()
    if "calls" in kinds:
        raise UsageError(
            "--what flow and --what calls cannot be combined: both use the interpreter's "
            "monitoring; record them one after the other"
        )
    if metric is not None and metric not in METRICS:
        raise UsageError(invalid("--flow-metric", metric, METRICS, "metrics"))
    if within is not None and not within.strip():
        raise UsageError("--flow-in is empty; give a module, a function or the name of a span")
    if within is not None and len(within.encode()) > flow_layout.MAX_WITHIN:
        raise UsageError(f"--flow-in is longer than {flow_layout.MAX_WITHIN} bytes")
    return FlowOptions((within or "").strip(), metric or DEFAULT_METRIC, native, events)
