"""A program under debugpy: its breakpoints are hit while sonde records it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import pytest

from environments import wheels
from launching import Interpreter
from matrix import NEWEST, OLDEST_AND_NEWEST
from programs.adapter import Adapter
from programs.support import (
    APPS,
    CALLS,
    MODES,
    TRIED_MODES,
    Keep,
    Program,
    RunningProgram,
    attached_to,
    check_quality,
    check_same,
    seconds_in,
)
from serving import free_port
from sonde.recording.reader import read

pytestmark = pytest.mark.versions(NEWEST)

PYTHONS = OLDEST_AND_NEWEST

PACKAGES = ("debugpy>=1.8",)
SCRIPT = APPS / "debugged.py"
LINE = 1 + SCRIPT.read_text().split("# BREAK")[0].count("\n")
HITS = 6


class Session(RunningProgram):
    """A debugged program; ends with the `with` statement."""

    def __init__(self, python: Interpreter, folder: Path, **how: Any) -> None:
        self.port = free_port()
        self.program = Program(
            [
                *(python.path, "-X", "frozen_modules=off", "-m", "debugpy"),
                *("--listen", f"127.0.0.1:{self.port}", "--wait-for-client", str(SCRIPT)),
            ],
            folder,
            env={"PYTHONPATH": wheels("debugpy", PACKAGES, python)},
            **how,
        )

    def __enter__(self) -> Self:
        process = self.program.process
        self.adapter = Adapter(self.port, lambda: process.poll() is None)
        return self

    def __exit__(self, *error: Any) -> None:
        self.adapter.close()
        super().__exit__(*error)

    def begin(self) -> None:
        adapter = self.adapter
        adapter.request("initialize", adapterID="test", pathFormat="path")
        begun = adapter.send("attach", justMyCode=False)
        adapter.event("initialized")
        adapter.request(
            "setBreakpoints", source={"path": str(SCRIPT)}, breakpoints=[{"line": LINE}]
        )
        adapter.request("configurationDone")
        adapter.answer(begun)

    def stop(self) -> tuple[str, int, list[str], str]:
        """Where it stands: thread, line, functions and a variable's value; then it goes on."""
        adapter = self.adapter
        stopped = adapter.event("stopped")["body"]
        thread = stopped["threadId"]
        names = {found["id"]: found["name"] for found in adapter.request("threads")["threads"]}
        frames = adapter.request("stackTrace", threadId=thread)["stackFrames"]
        value = adapter.request("evaluate", expression="total + i", frameId=frames[0]["id"])
        found = (
            names[thread],
            frames[0]["line"],
            [frame["name"] for frame in frames],
            value["result"],
        )
        # One step, which must come to where the function was called.
        adapter.request("next", threadId=thread)
        after = adapter.event("stopped")["body"]
        assert after["reason"] == "step"
        adapter.request("continue", threadId=thread)
        return found

    def end(self, stops: list[Any]) -> dict[str, Any]:
        self.adapter.event("terminated")
        self.adapter.close()  # debugpy's other process waits for that
        code = self.program.wait()
        return {"stops": stops, "code": code, "out": self.program.out, "err": self.program.err}


def debug(session: Session) -> dict[str, Any]:
    session.begin()
    return session.end([session.stop() for _ in range(HITS)])


def live_alone(python: Interpreter, folder: Path) -> dict[str, Any]:
    with Session(python, folder) as session:
        found = debug(session)
    assert [stop[0] for stop in found["stops"]] == ["MainThread"] * 3 + ["other"] * 3
    assert {stop[1] for stop in found["stops"]} == {LINE}
    return found


@pytest.mark.parametrize("mode", TRIED_MODES)
def test_breakpoints_are_hit(
    python: Interpreter, plain: dict[str, Any], keep: Keep, tmp_path: Path, mode: str
) -> None:
    path = keep(f"debugpy-{mode}")
    with Session(python, tmp_path, options=MODES[mode], path=path) as session:
        check_same(debug(session), plain)
        recording = session.program.recording
    check_quality(recording)
    assert seconds_in(recording, "compute") > 0
    # debugpy starts threads through a function of its own.
    assert "other" in recording.threads.name


def test_a_program_that_is_attached_to_at_a_breakpoint(
    python: Interpreter, plain: dict[str, Any], keep: Keep, tmp_path: Path
) -> None:
    stops = []
    with Session(python, tmp_path) as session:
        session.begin()
        stops.append(session.stop())
        for options in ((), CALLS):
            path = keep("debugpy-attached")
            with attached_to(path, str(session.program.process.pid), *options):
                stops.append(session.stop())
                stops.append(session.stop())
            check_quality(read(path))
        stops.append(session.stop())
        check_same(session.end(stops), plain)
