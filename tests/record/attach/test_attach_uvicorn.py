"""Attached to and left many times, with tasks, while uvicorn serves requests: nobody notices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from attaching import Target, attach
from environments import wheels
from launching import TARGETS, TIMEOUT_S, Interpreter
from matrix import OLDEST_AND_NEWEST, soak
from serving import Load
from sonde.recording.reader import read
from sonde.views.loops.tasks import tasks

PACKAGES = ("uvicorn>=0.30", "uvloop>=0.21")
NEW_EVERY = 20


@pytest.mark.versions(*OLDEST_AND_NEWEST)
@pytest.mark.parametrize(
    ("loop", "debug", "cycles"),
    [
        ("asyncio", "", 3),
        ("uvloop", "", 3),
        soak("asyncio", "debug", 30),
        soak("asyncio", "", 300),
        soak("uvloop", "", 300),
    ],
)
def test_a_loaded_server_does_not_notice(
    python: Interpreter, loop: str, debug: str, cycles: int, keep: Callable[[str], Path]
) -> None:
    path = keep("uvicorn")
    env = {"PYTHONPATH": wheels("uvicorn", PACKAGES, python)}
    with Target(python, TARGETS / "asgi_served.py", loop, debug, env=env) as target:
        load = Load(int(target.first[1]), NEW_EVERY)
        try:
            for _ in range(cycles):
                path.unlink(missing_ok=True)
                done = attach(target.pid, path, "--for", "0.1", "--what", "+tasks")
                _, err = done.communicate(timeout=TIMEOUT_S)
                assert done.returncode == 0, err
            assert target.alive
        finally:
            load.end()
        code, out, err = target.end()
    assert load.failed == []
    assert load.answered.total() > cycles
    assert (code, out, err) == (0, "True []\n", "")
    assert [found.runtime for found in tasks(read(path)).loops] == [loop]
