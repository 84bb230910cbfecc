"""A Celery worker with processes or threads, with and without sonde."""

from __future__ import annotations

import functools
import json
import re
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any, Self

import pytest

from attaching import until
from environments import wheels
from launching import TIMEOUT_S, Interpreter, clean_environment
from matrix import OWN, soak
from programs.support import (
    APPS,
    CALLS,
    MODES,
    TRIED_MODES,
    WAITS,
    Keep,
    Program,
    RunningProgram,
    attached_to,
    check_left,
    check_quality,
    check_same,
    seconds_in,
    steady_descriptors,
    waited_in,
)
from sonde.recording.reader import read
from sonde.recording.tables import Recording

PYTHONS = OWN

PACKAGES = ("celery>=5.5",)
POOLS = ("prefork", soak("threads"))
WORKERS = 2
ODD = {"prefork": ("endless", "dies"), "threads": ()}
"""Only processes can be interrupted, or die alone."""


class Shop(RunningProgram):
    """A worker; ends with the `with` statement."""

    def __init__(self, python: Interpreter, folder: Path, pool: str, **how: Any) -> None:
        self.pool = pool
        self._python = python.path
        self._env = {"PYTHONPATH": f"{APPS}:{wheels('celery', PACKAGES, python)}"}
        self._clients = 0
        self.program = Program(
            [
                *(python.path, "-m", "celery", "-A", "celery_shop", "worker", "--pool", pool),
                *("--concurrency", str(WORKERS), "--loglevel", "INFO", "--pidfile", "pid"),
                *("--without-gossip", "--without-mingle", "--without-heartbeat"),
            ],
            folder,
            env=self._env,
            **how,
        )

    def __enter__(self) -> Self:
        until(lambda: " ready." in self.program.err, "it is ready", self.program.process)
        return self

    @property
    def worker(self) -> int:
        return int((self.program.folder / "pid").read_text())

    def processes(self) -> list[int]:
        """The worker and those that it has started."""
        children = Path(f"/proc/{self.worker}/task/{self.worker}/children").read_text()
        return [self.worker, *map(int, children.split())]

    def ask(self, *what: str) -> dict[str, Any]:
        """What became of tasks, and which processes computed."""
        self._clients += 1
        client = subprocess.run(
            [self._python, APPS / "celery_shop.py", *what],
            cwd=self.program.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=clean_environment(**self._env),
            timeout=TIMEOUT_S,
            check=False,
        )
        assert client.returncode == 0, client.stderr + self.program.err
        found: dict[str, Any] = json.loads(client.stdout)
        return found

    def end(self) -> int:
        """Warm: it finishes what it has begun."""
        found: list[dict[str, Any]] = []
        asks = threading.Thread(target=lambda: found.append(self.ask("slow")))
        asks.start()
        begun = self.program.folder / "slow-begins"
        until(begun.exists, "a task begins", self.program.process)
        self.program.send(signal.SIGTERM)
        asks.join()
        assert [one["became"] for one in found] == [[["SUCCESS", "slow"]]]
        return self.program.wait()

    def log(self) -> set[str]:
        """What it wrote, without what is different in each run."""
        text = (self.program.out + self.program.err).replace(str(self.program.folder), "FOLDER")
        for pattern, name in (
            (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(,\d+)?", "TIME"),
            (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}", "ID"),
            (r"0x[0-9a-f]+", "ADDRESS"),
            (r"in \d+\.\d+(e-\d+)?s", "in SECONDS"),
            (r"\b(pid'?: ?)\d+", r"\1PID"),
            (r"\b((Fork|Thread)PoolWorker-|ThreadPoolExecutor-\d+_|Job: )\d+", r"\1N"),
        ):
            text = re.sub(pattern, name, text)
        return set(text.splitlines())


def live(shop: Shop) -> dict[str, Any]:
    """One life of the worker, and what somebody sees of it."""
    became = shop.ask("work", *ODD[shop.pool])["became"]
    code = shop.end()
    return {
        "became": became,
        "code": code,
        "log": shop.log(),
        "files": shop.files(),
    }


@pytest.fixture(scope="module", params=POOLS)
def pool(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def plain(
    python: Interpreter, pool: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    with Shop(python, tmp_path_factory.mktemp("plain"), pool) as shop:
        found = live(shop)
    assert found["code"] == 0
    if pool == "prefork":
        assert found["became"][-2:] == [["SUCCESS", "interrupted"], ["FAILURE", "WorkerLostError"]]
    return found


@pytest.mark.parametrize("mode", TRIED_MODES)
def test_a_worker_that_sonde_runs(
    python: Interpreter, pool: str, plain: dict[str, Any], keep: Keep, tmp_path: Path, mode: str
) -> None:
    path = keep(f"celery-{pool}-{mode}")
    with Shop(python, tmp_path, pool, options=MODES[mode], path=path) as shop:
        worker = shop.worker
        check_same(live(shop), plain)
        recording = shop.program.recording
    check_quality(recording)
    assert seconds_in(recording, "price_basket") > 0
    pids = [process.pid for process in recording.processes]
    if pool == "prefork":
        # The one that is killed has a successor.
        assert worker in pids
        assert len(pids) == 1 + WORKERS + 1
        assert "killed by SIGKILL" in [process.exit for process in recording.processes]
        assert seconds_in(recording, "price_basket", pid=worker) == 0
    else:
        assert pids == [worker]
    if mode == "waits":
        assert waited_in(recording, "slow") > 0.9


@pytest.mark.parametrize("options", [(), soak(WAITS), soak(CALLS)])
def test_a_worker_that_is_attached_to(
    python: Interpreter,
    pool: str,
    plain: dict[str, Any],
    keep: Keep,
    tmp_path: Path,
    options: tuple[str, ...],
) -> None:
    with Shop(python, tmp_path, pool) as shop:
        shop.ask("work")
        pids = shop.processes()
        assert len(pids) == (1 + WORKERS if pool == "prefork" else 1)
        own = functools.partial(is_own, tmp_path)
        held = steady_descriptors(pids, own)
        path = keep(f"celery-{pool}-attached")
        with attached_to(path, "--tree", str(shop.worker), *options, pids=pids):
            computed = shop.ask("work")["pids"]
        check_attached(read(path), pids, computed)
        assert steady_descriptors(pids, own) == held
        check_left(pids)
        # Its processes come and go while it is attached to, and so does the worker.
        with attached_to(keep("celery-ends"), "--tree", str(shop.worker), *options):
            check_same(live(shop), plain)


def is_own(folder: Path, name: str) -> bool:
    """Without messages and results, which are files that it opens all the time."""
    return not name.startswith(str(folder))


def check_attached(recording: Recording, pids: list[int], computed: list[int]) -> None:
    check_quality(recording)
    assert {process.pid for process in recording.processes} == set(pids)
    for pid in computed:
        assert seconds_in(recording, "price_basket", pid=pid) > 0
