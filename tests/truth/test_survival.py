"""Python programs that know what of their objects is alive in the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from launching import Interpreter, must_run
from sonde.views.findings.findings import findings
from sonde.views.objects.objects import objects
from truth.stacks import PROGRAMS

# Margins of 95 % are two standard errors: a normal variable leaves 2.8 of them in one run of 20
# million, and estimates of a few dozen samples somewhat more often.
MARGINS = 2.8
# A few samples more or less than none.
LITTLE = 3 << 20


def test_what_is_alive_in_the_end(python: Interpreter, keep: Callable[[str], Path]) -> None:
    """And of all sites only the leak is named: what the interpreter frees when it ends was alive."""
    path = keep(f"survives-{python.version}")
    run = must_run(path, [python.path, PROGRAMS / "survives.py"], "--what", "objects")
    recording = run.recording
    assert recording.processes[0].survival == 1
    found = objects(recording, by="site")
    for name, live in run.told.items():
        rows = [row for row in found.rows if row.site is not None and row.site[0].name == name]
        assert sum(row.count for row in rows) > 30
        alive = sum(row.survival.live_bytes for row in rows if row.survival)
        margin = sum(row.survival.live_margin_bytes for row in rows if row.survival)
        assert abs(alive - live) <= MARGINS * margin + LITTLE, (name, alive, live, margin)
    named = [f.detail for f in findings(recording) if f.title.startswith("memory grows")]
    assert len(named) == 1, named
    assert named[0].startswith("the objects allocated in leak (survives.py:")
    # The list of what is kept has grown meanwhile, and the room that it had before was freed.
    assert " and none " in named[0]
