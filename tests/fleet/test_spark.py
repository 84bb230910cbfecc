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
from sonde.fleet.queries import views
from sonde.fleet.queries.engines import Engine, engine
from sonde.fleet.queries.query import Question
from sonde.fleet.queries.views import answer
from sonde.fleet.store.labels import conditions
from sonde.fleet.store.location import located

pyspark = pytest.importorskip("pyspark")
if shutil.which("java") is None:
    pytest.skip("no Java to run Spark", allow_module_level=True)

# PySpark 4.3 and pandas 3 have words about each other.
# On a busy machine three JVMs take minutes to come up.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(900)]
HOME = Path(pyspark.__file__).parent
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Compiling well what runs for a minute takes longer than running it."""
TIMEOUT_S = 90


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
        "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": BRIEF,
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
        yield address
        assert _alive(page) == 2
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(TIMEOUT_S)


def _alive(page: int) -> int | None:
    """How many workers the master knows; None: it does not answer yet."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{page}/json/", timeout=5) as told:
            workers = json.load(told)["workers"]
    except OSError:
        return None
    return sum(worker["state"] == "ALIVE" for worker in workers)


def _wait(ready: Any) -> None:
    until = time.monotonic() + TIMEOUT_S
    while not ready():
        assert time.monotonic() < until, "Spark did not start"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def loopback(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The driver, too, is on no network, and in no hurry to compile."""
    folder = tmp_path_factory.mktemp("conf")
    (folder / "spark-defaults.conf").write_text(
        f"spark.driver.extraJavaOptions {BRIEF}\n"
        f"spark.executor.extraJavaOptions {BRIEF}\n"
        # Nor to think about what takes a moment: plans are made once, and not compiled.
        "spark.sql.codegen.wholeStage false\n"
        "spark.sql.codegen.factoryMode NO_CODEGEN\n"
        "spark.sql.adaptive.enabled false\n"
        "spark.sql.shuffle.partitions 2\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("SPARK_CONF_DIR", str(folder))
        yield


@pytest.fixture(scope="module")
def engines(cluster: str, loopback: None) -> Iterator[tuple[Engine, Engine]]:
    """The driver starts while the workers do."""
    with engine("duckdb") as duckdb, engine(cluster) as spark:
        yield duckdb, spark


EVERYTHING = Question()
SOME = Question(
    where=tuple(conditions(["version=1", "host!=a", "team=gr*"])), thread="server-1", time="wall"
)
VERSIONS = {"base": conditions(["version=1"]), "new": conditions(["version=2"])}
# A job on a cluster takes its time: each view is asked once, of everything, of some, or of a range
# of time; locks, which have most to say, twice.
VIEWS: list[tuple[str, Question, bool, dict[str, Any]]] = [
    ("flat", SOME, False, {}),
    ("tree", EVERYTHING, True, {"merge_lines": True}),
    ("lines", EVERYTHING, False, {}),
    ("locks", EVERYTHING, False, {}),
    ("locks", SOME, True, {"by": "owner_thread,waiter_function"}),
    ("threads", EVERYTHING, True, {}),
    ("calls", EVERYTHING, False, {}),
    ("blockers", EVERYTHING, False, {}),
    ("outliers", EVERYTHING, False, {"by": "host"}),
    ("heat", replace(EVERYTHING, time="wall"), True, {"by": "team"}),
    ("recordings", SOME, False, {}),
    ("diff", EVERYTHING, False, VERSIONS),
    ("slower", EVERYTHING, False, VERSIONS),
]


def test_no_view_is_left_out() -> None:
    assert {view for view, *_ in VIEWS} == set(views.VIEWS)


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
        assert other == pytest.approx(one, rel=1e-9, abs=1e-11)
    else:
        assert one == other


# Three JVMs take longer to come up than all views of the same expressions by DuckDB.
@pytest.mark.soak
@pytest.mark.parametrize(
    ("view", "question", "ranged", "options"),
    [pytest.param(*one, id=f"{i}-{one[0]}") for i, one in enumerate(VIEWS)],
)
def test_both_agree(
    fleet: Fleet,
    engines: tuple[Engine, Engine],
    view: str,
    question: Question,
    ranged: bool,
    options: dict[str, Any],
) -> None:
    location = located(str(fleet.store))
    if ranged:
        rows = answer(location, engines[0], "recordings", EVERYTHING)[0].rows
        question = replace(
            question,
            start_ns=rows[-1]["start_ns"] + 50_000_000,
            end_ns=rows[0]["start_ns"] + 150_000_000,
        )
    duckdb, spark = (
        answer(location, one, view, question, **options)[0].to_json() for one in engines
    )
    close(duckdb, spark)
    assert duckdb.get("rows") or duckdb.get("nodes") or duckdb.get("edges")
