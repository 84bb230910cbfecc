"""`sonde tprof --inside`: agents in Python and Java programs, while the machine is looked at."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from typing import TYPE_CHECKING

from sonde.errors import SondeError

if TYPE_CHECKING:
    from sonde.record.tprof import Ticks

# An agent's sample names a tick at most this far from it.
FASTEST = 1000


def profile_inside(seconds: float, rate: int, pid: int | None) -> Ticks:
    """With `pid` only that process is entered."""
    from sonde.record.attach import Attach
    from sonde.record.discovery import Discovery
    from sonde.record.handle import Options
    from sonde.record.process import look_at
    from sonde.record.tprof import LOOK_S, Profiler, profile
    from sonde.views.chained import open_recording
    from sonde.views.inside import named

    discovery: Discovery | None = None
    if pid is not None:
        found = [look_at(pid)]
    else:
        discovery = Discovery([], matches=lambda _: True, children=True, descendants=True)
        found = [process for process in discovery.look(()) if process.pid != os.getpid()]
    if not found:
        print("sonde: no Python or Java program runs that could be entered", file=sys.stderr)
        return profile(seconds, rate)
    with tempfile.TemporaryDirectory(prefix="sonde-") as folder:
        options = Options(
            path=os.path.join(folder, "inside.sonde"),
            program="tprof",
            argv=[],
            pid=found[0].pid,
            what=["cpu"],
            rate=min(10 * rate, FASTEST),
            attached=True,
        )
        session = Attach(found if discovery else found[0], options, discovery)
        profiler = Profiler(rate)
        end = time.monotonic() + seconds
        done = None
        while time.monotonic() < end and done is None and not session.asked_to_end:
            time.sleep(LOOK_S)
            profiler.look()
            done = session.over()
        ticks = profiler.end()
        done = done or session.stop()
        for number, why in done["done"].get("not_entered", {}).items():
            print(f"sonde: process {number} could not be entered: {why}", file=sys.stderr)
        try:
            recording = open_recording(options.path)
        except SondeError:  # nobody could be entered
            return ticks
        ticks.places = named(ticks.places, recording)
        return ticks
