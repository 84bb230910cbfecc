"""A FastAPI application on uvicorn and uvloop, with and without sonde."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Any

import pytest

from environments import wheels
from launching import Interpreter
from matrix import NEWEST, OLDEST_AND_NEWEST
from programs.support import (
    APPS,
    CALLS,
    MODES,
    TRIED_MODES,
    WAITS,
    Keep,
    Program,
    attached_to,
    check_quality,
    check_same,
    contended,
    seconds_in,
    share_in,
    steady_descriptors,
    thread_names,
    waited_in,
)
from programs.web import Answers, WebServer, ask, get
from serving import free_port
from sonde.recording.reader import read
from sonde.row_values import GIL, PARKED, SEMAPHORE

pytestmark = pytest.mark.versions(NEWEST)

PYTHONS = OLDEST_AND_NEWEST

PACKAGES = ("fastapi>=0.115", "uvicorn>=0.30", "uvloop>=0.21", "httptools>=0.6")
PATHS = ("/basket/20000", "/pay/5000", "/rows/200", "/pay/4000")
PAGES = ("/loop", "/process", "/warn", "/fail", "/nowhere")
REQUESTS = 200


class Application(WebServer):
    """uvicorn; ends with the `with` statement."""

    def __init__(self, python: Interpreter, folder: Path, workers: int = 1, **how: Any) -> None:
        self.port = free_port()
        self.workers = workers
        self.program = Program(
            [
                *(python.path, "-m", "uvicorn", "--port", str(self.port), "--loop", "uvloop"),
                *("--http", "httptools", "--workers", str(workers), "fastapi_shop:app"),
            ],
            folder,
            env={"PYTHONPATH": f"{APPS}:{wheels('fastapi', PACKAGES, python)}"},
            **how,
        )

    def ask(self, count: int = REQUESTS) -> Answers:
        answers = ask(self.port, PATHS, count, until_pids=self.workers)
        assert answers.failed == [], self.program.err
        return answers

    def lines(self) -> set[str]:
        """What it wrote; how often depends on how many requests there were."""
        return {re.sub(r"127\.0\.0\.1:\d+ - ", "", line) for line in self.log()}


def live(application: Application, number: signal.Signals) -> dict[str, Any]:
    """One life of the application, and what somebody sees of it."""
    answers = application.ask()
    pages = [get(application.port, path) for path in PAGES]
    code = application.end(number)
    return {
        "bodies": set(answers.bodies),
        "pages": pages,
        "code": code,
        "log": application.lines(),
        "files": application.files(),
    }


def live_alone(python: Interpreter, folder: Path) -> dict[str, Any]:
    with Application(python, folder) as application:
        found = live(application, signal.SIGINT)
    assert found["pages"][0] == (200, '{"loop":"uvloop"}')
    assert found["pages"][1] == (200, "through a process 3\n")
    return found


@pytest.mark.parametrize("mode", TRIED_MODES)
def test_an_application_lives_as_it_does_alone(
    python: Interpreter, plain: dict[str, Any], keep: Keep, tmp_path: Path, mode: str
) -> None:
    path = keep(f"fastapi-{mode}")
    with Application(python, tmp_path, options=MODES[mode], path=path) as application:
        check_same(live(application, signal.SIGINT), plain)
        recording = application.program.recording
    check_quality(recording)
    # It, and the child that becomes a shell.
    assert len(recording.processes) == 2
    # Start-up takes most: the requests are few.
    assert 0.02 < share_in(recording, "price_basket") < 0.7
    assert seconds_in(recording, "basket") > 0
    assert seconds_in(recording, "pay") > 0
    assert any(name.startswith("AnyIO worker") for name in recording.threads.name)
    if mode != "calls":
        assert contended(recording, GIL)
        assert contended(recording, PARKED if python.minor >= 14 else SEMAPHORE)
    if mode == "waits":
        # The loop waits in run_until_complete: the rest of its time it computes.
        assert waited_in(recording, "run_until_complete", "run") > 0.9


def test_an_application_that_is_attached_to_twice(
    python: Interpreter, plain: dict[str, Any], keep: Keep, tmp_path: Path
) -> None:
    with Application(python, tmp_path) as application:
        (pid,) = application.ask().pids
        held, named = steady_descriptors([pid]), thread_names(pid)
        bodies = set()
        for options in (WAITS, CALLS):
            path = keep("fastapi-attached")
            with attached_to(path, str(pid), *options):
                bodies |= set(application.ask().bodies)
            recording = read(path)
            check_quality(recording)
            assert share_in(recording, "price_basket") > 0.1
            assert share_in(recording, "run_until_complete", "run") > 0.2
            assert set(named) >= set(thread_names(pid))
            assert steady_descriptors([pid]) == held
        check_same(live(application, signal.SIGINT), plain)
        assert bodies == plain["bodies"]
