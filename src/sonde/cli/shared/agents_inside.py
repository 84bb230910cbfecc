"""`sonde tprof --inside`: agents in Python and Java programs, while the machine is looked at."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from sonde.errors import SondeError

if TYPE_CHECKING:
    from sonde.record.system.tprof import Ticks

# Of programs that could not be entered; a machine may have hundreds.
MAX_REPORTED = 5
# An agent's sample names a tick at most this far from it.
FASTEST = 1000


def profile_inside(seconds: float, rate: int, pid: int | None) -> Ticks:
    """With `pid` only that process is entered."""
    from sonde.record.attach import Attach
    from sonde.record.recorder.options.options import Options
    from sonde.record.system.tprof import LOOK_S, profile
    from sonde.record.targets.discovery import Discovery
    from sonde.record.targets.process import inspect_process
    from sonde.views.stacks.chained_samples import open_recording
    from sonde.views.stacks.function_timeline import named

    discovery: Discovery | None = None
    if pid is not None:
        found = [inspect_process(pid)]
    else:
        discovery = Discovery([], matches=lambda _: True, children=True, descendants=True)
        found = [process for process in discovery.look(()) if process.pid != os.getpid()]
    if not found:
        print("sonde: found no running Python or Java process to attach to", file=sys.stderr)
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
        try:
            session = Attach(found if discovery else found[0], options, discovery)
        except SondeError as error:
            if discovery is None:
                raise
            print(f"sonde: could not attach to any process: {error}", file=sys.stderr)
            return profile(seconds, rate)
        done, over = None, threading.Event()
        # In a thread of its own: entering a process may take longer than the ticks have room for,
        # and must not make the time longer that was asked for.
        with ThreadPoolExecutor(1) as alone:
            looking = alone.submit(profile, seconds, rate, over)
            while not looking.done():
                time.sleep(LOOK_S)
                done = done or session.over()
                if session.asked_to_end or (done is not None and discovery is None):
                    over.set()
            ticks = looking.result()
        done = done or session.stop()
        _report_refused(done["done"].get("not_entered", {}))
        try:
            recording = open_recording(options.path)
        except SondeError:  # nobody could be entered
            return ticks
        ticks.places = named(ticks.places, recording)
        return ticks


def _report_refused(not_entered: dict[str, str]) -> None:
    for number, why in list(not_entered.items())[:MAX_REPORTED]:
        said = why if number in why else f"could not attach to process {number}: {why}"
        print(f"sonde: {said}", file=sys.stderr)
    if (more := len(not_entered) - MAX_REPORTED) > 0:
        words = "process" if more == 1 else "processes"
        print(f"sonde: could not attach to {more} more {words}", file=sys.stderr)
