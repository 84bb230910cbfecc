"""Ticks of the machine, named by what agents saw in the same threads at the same time."""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

import numpy as np

from sonde.row_values import RUNNING
from sonde.views.selecting.profile import identities

if TYPE_CHECKING:
    from sonde.recording.tables import Recording

MODULES = {"cpython": "PYTHON", "hotspot": "JAVA"}
# The interpreter itself, and the code that HotSpot makes, which has no file.
_OF_RUNTIME = {
    "cpython": re.compile(r"libpython3.*|python3?(\.\d+)?"),
    "hotspot": re.compile(r"JITCODE|\[unknown\]|\[anon.*|"),
}
# Two periods of the slowest sampling used here: farther away a sample is about something else.
NEAR_NS = 20_000_000


def named(places: list[Any], recording: Recording) -> list[Any]:
    """Those inside an interpreter or its compiled code get the function that ran there."""
    began = recording.target.get("started")
    if not isinstance(began, float):
        return places
    origin = round(began * 1e9) - (time.time_ns() - time.monotonic_ns())
    threads, samples = recording.threads, recording.samples
    functions, identity = identities(recording)
    of_context = identity[np.append(recording.contexts.function, -1)]
    ran = np.flatnonzero((samples.state == RUNNING) & (samples.context >= 0))
    seen: dict[tuple[int, int], tuple[list[int], list[int], str]] = {}
    for row in range(len(threads)):
        process = recording.processes[int(threads.process[row])]
        mine = ran[samples.thread[ran] == row]
        if len(mine):
            seen[process.pid, int(threads.tid[row])] = (
                (samples.time[mine] + origin).tolist(),
                of_context[samples.context[mine]].tolist(),
                process.runtime,
            )
    named = []
    for tick in places:
        place = tick
        found = seen.get((place.pid, place.tid))
        if found is not None and _OF_RUNTIME[found[2]].fullmatch(place.module):
            times, which, runtime = found
            at = bisect_left(times, place.time)
            near = min(
                (i for i in (at - 1, at) if 0 <= i < len(times)),
                key=lambda i: abs(times[i] - place.time),
            )
            if abs(times[near] - place.time) <= NEAR_NS:
                function = functions[which[near]]
                where = f"{function.name} {function.file}:{function.line}"
                place = place._replace(
                    module=MODULES[runtime],
                    symbol=where,
                    file=function.file,
                    line=function.line,
                )
        named.append(place)
    return named
