"""A store on an S3 server that runs as a process of its own."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet.recorded import answered, asked
from fleet.test_store import ENVIRONMENT, SONDE, made, spent
from sonde.fleet.sending.push import destination
from sonde.fleet.store.location import located
from sonde.web.store import StoreParts
from web.test_bundle import inflated

pytest.importorskip("moto")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        until = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/moto-api/", timeout=5).close()
                break
            except OSError:
                assert time.monotonic() < until, "the S3 server did not start"
                time.sleep(0.1)
        bucket = urllib.request.Request(f"http://127.0.0.1:{port}/profiles", method="PUT")
        urllib.request.urlopen(bucket, timeout=5).close()
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def place(server: str, name: str) -> str:
    where = f"endpoint_override={server}&scheme=http&region=us-east-1"
    return f"s3://any:secret-word@profiles/{name}?{where}"


def total(store: str) -> int:
    return int(answered("fleet", "report", store, "flat")["total"])


def test_a_store_lives_there(server: str, tmp_path: Path) -> None:
    store, files = place(server, "lives"), [made(tmp_path, number) for number in range(3)]
    code, _, err = asked("fleet", "add", store, *files, "--label", "service=my shop")
    assert code == 0, err
    assert total(store) == spent(files)
    folder = tmp_path / "store"
    assert asked("fleet", "add", folder, *files, "--label", "service=my shop")[0] == 0
    for view in (("tree",), ("locks", "--by", "lock"), ("threads",), ("blockers",)):
        assert answered("fleet", "report", store, *view) == answered(
            "fleet", "report", folder, *view
        )
    code, _, err = asked("fleet", "compact", store)
    assert (code, err.split(";")[0]) == (0, "sonde: merged 3 segments into 1")
    assert total(store) == spent(files)
    assert asked("fleet", "prune", store, "--older", "1s")[0] == 0
    code, _, err = asked("fleet", "report", store)
    assert code == 1
    assert "secret" not in err


def test_its_page_is_told_the_same(server: str, tmp_path: Path) -> None:
    store, files = place(server, "shown"), [made(tmp_path, number) for number in range(2)]
    folder = tmp_path / "store"
    for to in (store, str(folder)):
        assert asked("fleet", "add", to, *files, "--label", "service=shop")[0] == 0
    there, here = (StoreParts(located(to)) for to in (store, str(folder)))
    for name in ("meta", "heat", "tree"):
        asks = {"ask": ['{"by": "service"}']} if name == "heat" else {}
        told = [parts.answer(["s", name], asks) for parts in (there, here)]
        assert told[0] is not None
        assert told[1] is not None
        if name == "meta":
            of_bucket, of_folder = (json.loads(inflated(one.body)) for one in told if one)
            assert of_bucket.pop("address") == "s3://profiles/shown"
            del of_folder["address"]
            assert of_bucket == of_folder
            assert of_bucket["recordings"] == 2
        else:
            assert told[0].body == told[1].body
            assert len(told[0].body) > 50


def test_writers_at_once_and_one_killed(server: str, tmp_path: Path) -> None:
    store, files = place(server, "busy"), [made(tmp_path, number) for number in range(8)]
    writers = [
        subprocess.Popen([*SONDE, "fleet", "add", store, *files[i::2]], env=ENVIRONMENT,
                         stderr=subprocess.PIPE)
        for i in range(2)
    ]  # fmt: skip
    victim_file = made(tmp_path, 20, samples=5000)
    victim = subprocess.Popen(
        [*SONDE, "fleet", "add", store, victim_file, *files], env=ENVIRONMENT, text=True,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    # Its first part is whole; it is killed somewhere in the others.
    assert victim.stderr is not None
    assert "5,000 samples" in victim.stderr.readline()
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    assert [writer.wait() for writer in writers] == [0, 0]
    assert total(store) == spent([*files, victim_file])


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    store = place("127.0.0.1:9", "x")
    code, _, err = asked("fleet", "report", store)
    assert code == 1
    assert "cannot read the store s3://profiles/x" in err
    assert "secret-word" not in err
    assert err.count("\n") == 1
    assert destination(store).address == "s3://profiles/x"
