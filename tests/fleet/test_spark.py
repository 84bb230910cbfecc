"""The same expressions on a real cluster: a master and two workers, each a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fleet.conftest import Fleet
from sonde.fleet.asked import Question
from sonde.fleet.engines import Engine, engine
from sonde.fleet.labels import conditions
from sonde.fleet.location import located
from sonde.fleet.report import answer

pyspark = pytest.importorskip("pyspark")
if shutil.which("java") is None:
    pytest.skip("no Java to run Spark", allow_module_level=True)

HOME = Path(pyspark.__file__).parent
PATIENCE_S = 90


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("spark")
    port, page = free_port(), free_port()
    address = f"spark://127.0.0.1:{port}"
    environment = os.environ | {
        "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1",
        "SPARK_WORKER_DIR": str(folder), "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
    }  # fmt: skip
    start = [HOME / "bin" / "spark-class"]
    names = "org.apache.spark.deploy"
    processes = [
        subprocess.Popen(
            [*start, f"{names}.master.Master", "--host", "127.0.0.1", "--port", str(port),
             "--webui-port", str(page)],
            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
    ]  # fmt: skip
    try:
        _wait(lambda: _alive(page) is not None)
        processes += [
            subprocess.Popen(
                [*start, f"{names}.worker.Worker", address, "--host", "127.0.0.1", "--cores", "1",
                 "--memory", "1g", "--webui-port", "0"],
                env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
            for _ in range(2)
        ]  # fmt: skip
        _wait(lambda: _alive(page) == 2)
        yield address
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(PATIENCE_S)


def _alive(page: int) -> int | None:
    """How many workers the master knows; None: it does not answer yet."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{page}/json/", timeout=5) as told:
            workers = json.load(told)["workers"]
    except OSError:
        return None
    return sum(worker["state"] == "ALIVE" for worker in workers)


def _wait(ready: Any) -> None:
    until = time.monotonic() + PATIENCE_S
    while not ready():
        assert time.monotonic() < until, "Spark did not start"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def engines(cluster: str) -> Iterator[tuple[Engine, Engine]]:
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with engine("duckdb") as duckdb, engine(cluster) as spark:
        yield duckdb, spark


VIEWS: list[tuple[str, dict[str, Any]]] = [
    ("flat", {}),
    ("tree", {}),
    ("tree", {"merge_lines": True}),
    ("lines", {}),
    ("locks", {}),
    ("locks", {"by": "lock,owner_thread,waiter_function"}),
    ("threads", {}),
    ("blockers", {}),
    ("outliers", {"by": "host"}),
    ("recordings", {}),
]


def close(one: Any, other: Any) -> None:
    """The same, but for the last digits of fractions, whose sums depend on their order."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key, value in one.items():
            close(value, other[key])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            close(left, right)
    elif isinstance(one, float):
        assert other == pytest.approx(one, rel=1e-9, abs=1e-12)
    else:
        assert one == other


@pytest.mark.parametrize(("view", "options"), VIEWS, ids=lambda value: str(value))
def test_both_agree(
    fleet: Fleet, engines: tuple[Engine, Engine], view: str, options: dict[str, Any]
) -> None:
    location = located(str(fleet.store))
    everything = Question(time="wall" if view in ("flat", "tree", "lines") else "running")
    some = replace(
        everything, where=tuple(conditions(["version=1", "host!=a", "team=gr*"])), thread="server-1"
    )
    for question in (everything, some):
        duckdb, spark = (
            answer(location, one, view, question, **options)[0].to_json() for one in engines
        )
        close(duckdb, spark)
        rows = duckdb.get("rows") or duckdb.get("nodes")
        assert rows or view in ("blockers", "locks")


@pytest.mark.parametrize("view", ["diff", "slower"])
def test_both_agree_on_two_groups(fleet: Fleet, engines: tuple[Engine, Engine], view: str) -> None:
    location = located(str(fleet.store))
    groups = {"base": conditions(["version=1"]), "new": conditions(["version=2"])}
    duckdb, spark = (
        answer(location, one, view, Question(), **groups)[0].to_json() for one in engines
    )
    close(duckdb, spark)
    assert duckdb["rows"]


def test_both_agree_on_a_range_of_time(fleet: Fleet, engines: tuple[Engine, Engine]) -> None:
    location = located(str(fleet.store))
    rows = answer(location, engines[0], "recordings", Question())[0].rows
    begin = rows[-1]["start_ns"] + 50_000_000
    end = rows[0]["start_ns"] + 150_000_000
    for view in ("flat", "locks", "threads"):
        question = Question(start_ns=begin, end_ns=end, time="wall")
        duckdb, spark = (answer(location, one, view, question)[0].to_json() for one in engines)
        close(duckdb, spark)
        assert duckdb["rows"]
