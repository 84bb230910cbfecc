"""A Django site behind gunicorn: reloaded, timed out and ended, with and without sonde."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from attaching import until
from environments import wheels
from launching import Interpreter
from matrix import NEWEST, OLDEST_AND_NEWEST, soak
from programs.support import (
    APPS,
    MODES,
    TRIED_MODES,
    WAITS,
    Keep,
    Program,
    attached_to,
    check_left,
    check_quality,
    check_same,
    contended,
    seconds_in,
    share_in,
    steady_descriptors,
    wait_until_recorded,
    waited_in,
)
from programs.web import Answers, WebServer, ask, get
from serving import free_port
from sonde.recording.reader import read
from sonde.recording.tables import Recording
from sonde.row_values import GIL, PARKED, SEMAPHORE

pytestmark = pytest.mark.versions(NEWEST)

PYTHONS = OLDEST_AND_NEWEST

PACKAGES = ("django>=5.2", "gunicorn>=25.1")
PATHS = ("/basket/20000", "/pay/5000", "/rows/200", "/basket/30000")
REQUESTS = 120
WORKERS = 2


class Site(WebServer):
    """gunicorn with `WORKERS` workers; ends with the `with` statement."""

    def __init__(self, python: Interpreter, folder: Path, *arguments: str, **how: Any) -> None:
        self.port = free_port()
        self.program = Program(
            [
                *(python.path, "-m", "gunicorn", "--workers", str(WORKERS)),
                *("--no-control-socket", "--access-logfile", "-"),
                *("--access-logformat", "%(m)s %(U)s %(s)s"),
                *("--bind", f"127.0.0.1:{self.port}", "--pid", "gunicorn.pid", *arguments),
                "django_shop:application",
            ],
            folder,
            env={"PYTHONPATH": f"{APPS}:{wheels('django', PACKAGES, python)}"},
            **how,
        )

    @property
    def master(self) -> int:
        return int((self.program.folder / "gunicorn.pid").read_text())

    def ask(self, count: int = REQUESTS) -> Answers:
        answers = ask(self.port, PATHS, count, until_pids=WORKERS)
        assert answers.failed == [], self.program.err
        assert len(answers.pids) >= WORKERS
        return answers

    def reload(self) -> None:
        """SIGHUP: other workers take over, and no request is lost."""
        before = set(self.ask().pids)
        self.program.send(signal.SIGHUP)
        until(lambda: not before & set(self.ask(20).pids), "other workers", self.program.process)


def lines(site: Site) -> set[str]:
    """What it wrote; how often depends on how many requests there were."""
    return set(site.log())


def live(site: Site) -> dict[str, Any]:
    """One life of the site, and what somebody sees of it."""
    answers = site.ask()
    site.reload()
    pages = [get(site.port, path) for path in ("/warn", "/fail", "/nowhere")]
    code = site.end()
    return {
        "bodies": set(answers.bodies),
        "pages": pages,
        "code": code,
        "log": lines(site),
        "files": site.files(),
    }


def live_alone(python: Interpreter, folder: Path) -> dict[str, Any]:
    with Site(python, folder, "--threads", "4") as site:
        found = live(site)
    assert found["code"] == 0
    assert any("printed by the site" in line for line in found["log"])
    assert any("UserWarning: of the site" in line for line in found["log"])
    return found


@pytest.mark.parametrize("mode", TRIED_MODES)
def test_a_site_lives_as_it_does_alone(
    python: Interpreter, plain: dict[str, Any], keep: Keep, tmp_path: Path, mode: str
) -> None:
    path = keep(f"django-{mode}")
    with Site(python, tmp_path, "--threads", "4", options=MODES[mode], path=path) as site:
        master = site.master
        found = live(site)
        check_same(found, plain)
        recording = site.program.recording
    check_quality(recording)
    assert {process.pid for process in recording.processes} >= {master}
    assert len(recording.processes) == 1 + 2 * WORKERS
    assert all(process.end_ns is not None for process in recording.processes)
    # Start-up and Django's own work take most: the requests are few.
    assert 0.02 < share_in(recording, "price_basket") < 0.7
    assert share_in(recording, "basket") > share_in(recording, "rows") / 20
    assert seconds_in(recording, "price_basket", pid=master) == 0
    if mode != "calls":
        assert contended(recording, GIL)
        assert contended(recording, PARKED if python.minor >= 14 else SEMAPHORE)
    if mode == "waits":
        assert waited_in(recording, "slow") > 0.9


def test_a_site_that_is_attached_to_twice(
    python: Interpreter, plain: dict[str, Any], keep: Keep, tmp_path: Path
) -> None:
    with Site(python, tmp_path, "--threads", "4") as site:
        attach_twice(site, plain, keep)


def is_own(name: str) -> bool:
    """Without the database: each request opens it, and closes it after its answer has arrived."""
    return not name.endswith("shop.db")


def attach_twice(site: Site, plain: dict[str, Any], keep: Keep) -> None:
    workers = set(site.ask().pids)
    held = steady_descriptors((site.master, *workers), is_own)
    bodies = set()
    for turn, options in enumerate(((), WAITS)):
        path = keep("django-attached")
        with attached_to(path, "--tree", str(site.master), *options, pids=held):
            if turn:
                site.reload()
                workers = set(site.ask().pids)
                wait_until_recorded(path, workers)
            bodies |= set(site.ask().bodies)
        recording = read_attached(path, site, workers)
        assert share_in(recording, "price_basket") > 0.02
        if not turn:
            assert steady_descriptors((site.master, *workers), is_own) == held
        check_left((site.master, *workers))
    bodies |= set(site.ask().bodies)
    assert bodies == plain["bodies"]
    pages = [get(site.port, path) for path in ("/warn", "/fail", "/nowhere")]
    assert pages == plain["pages"]
    assert site.end() == 0
    assert lines(site) == plain["log"]


def read_attached(path: Path, site: Site, workers: set[int]) -> Recording:
    recording = read(path)
    check_quality(recording)
    assert {process.pid for process in recording.processes} >= {site.master, *workers}
    for pid in workers:
        assert seconds_in(recording, "price_basket", pid=pid) > 0
    return recording


# ---- a worker that is too late


@pytest.mark.parametrize("mode", [soak(None), soak("default"), "waits"])
def test_a_worker_that_times_out_is_replaced(
    python: Interpreter, keep: Keep, tmp_path: Path, mode: str | None
) -> None:
    how: dict[str, Any] = {}
    if mode is not None:
        how = {"options": MODES[mode], "path": keep("django-timeout")}
    with Site(python, tmp_path, "--timeout", "3", **how) as site:
        before = set(site.ask().pids)
        # SIGABRT ends the sleep by an exception of the handler's.
        assert get(site.port, "/slow/100")[0] == 500
        after = set(site.ask().pids)
        assert len(before & after) == 1
        assert len(after) == WORKERS
        site.program.send(signal.SIGINT)
        assert site.program.wait() == 0
        log = lines(site)
    assert "[TIME] [PID] [CRITICAL] WORKER TIMEOUT (pid:PID)" in log
    assert "SystemExit: 1" in log
