"""What others' receivers get, on a real HTTP server, decoded by OpenTelemetry's own classes."""

from __future__ import annotations

import gzip
import json
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest

from fleet.conftest import Fleet
from fleet.recorded import SHOP, answered, asked
from fleet.test_store import ENVIRONMENT, SONDE, made, spent
from launching import Interpreter
from sonde.errors import SondeError
from sonde.exports import pprof
from sonde.fleet.sending.destination import NotNow
from sonde.fleet.sending.push import destination, push
from sonde.recording.reader import read
from sonde.views.selecting.selection import Selection

service = pytest.importorskip(
    "opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2"
)
LABELS = ("--label", "service=shop", "--label", "version=2", "--label", "team=green {x}")


@dataclass
class Receiver:
    address: str = ""
    answers: list[int] = field(default_factory=list)
    """To give first; 200 when there are none left."""
    got: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    kept = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            code = kept.answers.pop(0) if kept.answers else 200
            if code == 200:
                kept.got.append((self.path, dict(self.headers), body))
            self.send_response(code)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        kept.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield kept
        server.shutdown()
        thread.join()


def test_a_collector_gets_profiles(fleet: Fleet, receiver: Receiver) -> None:
    file = fleet.files["2-a"]
    receiver.answers = [503, 429]
    code, _, err = asked("fleet", "push", f"otlp+{receiver.address}", file, *LABELS)
    assert (code, err) == (0, f"sonde: sent {file} to otlp+{receiver.address}\n")
    ((path, headers, body),) = receiver.got
    assert path == "/v1development/profiles"
    assert headers["Content-Type"] == "application/x-protobuf"
    told = service.ExportProfilesServiceRequest.FromString(body)
    size = told.ByteSize()
    told.DiscardUnknownFields()
    assert told.ByteSize() == size == len(body)
    (of,) = told.resource_profiles
    attributes = {one.key: one.value.string_value for one in of.resource.attributes}
    assert attributes["service.name"] == "shop"
    assert attributes["service.version"] == "2"
    assert attributes["team"] == "green {x}"
    assert attributes["host.name"]

    tables = told.dictionary
    names = {}
    for number, stack in enumerate(tables.stack_table):
        names[number] = [
            tables.string_table[
                tables.function_table[
                    tables.location_table[at].lines[0].function_index
                ].name_strindex
            ]
            for at in stack.location_indices
        ]
    by_kind = {
        tables.string_table[profile.sample_type.type_strindex]: profile
        for profile in of.scope_profiles[0].profiles
    }
    flat = answered("report", file, "flat")
    cpu = by_kind["cpu"]
    assert sum(sample.values[0] for sample in cpu.samples) == flat["total"]
    own: dict[str, int] = {}
    for sample in cpu.samples:
        own[names[sample.stack_index][0]] = (
            own.get(names[sample.stack_index][0], 0) + sample.values[0]
        )
    expected: dict[str, int] = {}
    for row in flat["rows"]:
        expected[row["name"]] = expected.get(row["name"], 0) + row["self"]
    assert own == {name: ns for name, ns in expected.items() if ns}
    assert tables.string_table[cpu.sample_type.unit_strindex] == "nanoseconds"
    threads = {
        tables.attribute_table[index].value.string_value
        for sample in cpu.samples
        for index in sample.attribute_indices
        if tables.string_table[tables.attribute_table[index].key_strindex] == "thread.name"
    }
    assert {"server-0", "server-1", "server-2"} <= threads
    waited = answered("report", file, "flat", "--waiting")["total"]
    assert sum(sample.values[0] for sample in by_kind["off_cpu"].samples) == waited


def test_pyroscope_gets_pprof(fleet: Fleet, receiver: Receiver) -> None:
    file = fleet.files["1-a"]
    code, _, err = asked("fleet", "push", f"pyroscope+{receiver.address}", file, *LABELS)
    assert code == 0, err
    ((path, headers, body),) = receiver.got
    query = parse_qs(urlparse(path).query)
    assert urlparse(path).path == "/ingest"
    name = query["name"][0]
    assert name.startswith("shop{")
    assert "version=2" in name
    assert "team=green _x_" in name
    recording = read(file)
    assert int(query["from"][0]) == int(recording.target["started"])
    assert int(query["until"][0]) > int(query["from"][0])
    form = message_from_bytes(f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode() + body)
    parts = {part.get_param("name", header="content-disposition"): part for part in form.walk()}
    profile = parts["profile"].get_payload(decode=True)
    exported = BytesIO()
    pprof.write(recording, Selection("wall"), exported)
    assert gzip.decompress(profile) == gzip.decompress(exported.getvalue())
    types = json.loads(parts["sample_type_config"].get_payload(decode=True))
    assert types["cpu"]["units"] == "nanoseconds"


@pytest.mark.parametrize(("answer", "tries"), [(400, 1), (404, 1)])
def test_what_is_refused_for_good_is_not_tried_again(
    receiver: Receiver, tmp_path: Path, answer: int, tries: int
) -> None:
    receiver.answers = [answer] * 5
    code, _, err = asked("fleet", "push", f"otlp+{receiver.address}", made(tmp_path, 1))
    assert code == 1
    assert f"it responded {answer}" in err
    assert err.count("\n") == 1
    assert len(receiver.answers) == 5 - tries


def test_tries_have_longer_pauses_and_an_end(tmp_path: Path) -> None:
    """By a clock of its own."""
    clock, pauses = [0.0], []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        clock[0] += seconds

    class Never:
        address = "never"

        def send(self, *_: Any) -> None:
            raise NotNow("busy")

    file = str(made(tmp_path, 1))
    with pytest.raises(SondeError, match=r"did not accept .* within 60 s: busy"):
        push(Never(), file, {}, sleep=sleep, now=lambda: clock[0])
    assert pauses[:5] == [0.5, 1, 2, 4, 8]
    assert clock[0] <= 60


def test_nobody_there_is_said(tmp_path: Path) -> None:
    nobody, file = destination("otlp+http://127.0.0.1:9"), str(made(tmp_path, 1))
    with pytest.raises(SondeError, match="did not accept"):
        push(nobody, file, {}, timeout_s=0.1)


def test_a_series_is_sent_as_it_grows(tmp_path: Path) -> None:
    """Parts come; one is rotated away before its turn; the last is sent when all is over."""
    store, folder = tmp_path / "store", tmp_path / "parts"
    folder.mkdir()
    (tmp_path / "elsewhere").mkdir()
    pattern = str(folder / "app.*.sonde")
    process = subprocess.Popen(
        [*SONDE, "fleet", "push", store, pattern, "--follow", "--label", "service=s"],
        env=ENVIRONMENT, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    files = []
    for number in range(3):
        file = made(tmp_path / "elsewhere", number)
        files.append(file.rename(folder / f"app.{number:04}.sonde"))
        until = time.monotonic() + 60
        # All but the newest are sent while it goes on.
        while number and len(list((store / "parts").rglob("*.json"))) < number:
            assert time.monotonic() < until
            time.sleep(0.1)
    process.stdin.close()
    assert process.wait(60) == 0
    assert process.stderr is not None
    assert process.stderr.read() == f"sonde: sent 3 segments to {store}\n"
    assert answered("fleet", "report", store, "flat")["total"] == spent(files)


def test_attached_all_the_time(any_python: Interpreter, tmp_path: Path) -> None:
    """A part a second, sent while the next one is written; nothing is lost or sent twice."""
    target = subprocess.Popen([any_python.path, SHOP, "1", "60"])
    store, parts = tmp_path / "store", tmp_path / "shop.sonde"
    try:
        done = subprocess.run(
            [*SONDE, "attach", str(target.pid), "--for", "3", "-o", parts, "--mode", "continuous",
             "--rotate", "1s", "--push", store, "--label", "service=shop", "--label", "region=eu"],
            env=ENVIRONMENT, capture_output=True, text=True, timeout=200, check=False,
        )  # fmt: skip
    finally:
        target.kill()
        target.wait()
    assert done.returncode == 0, done.stderr
    files = sorted(tmp_path.glob("shop.*.sonde"))
    assert len(files) >= 3
    assert f"sonde: sent {len(files)} segments to {store}\n" in done.stderr
    assert answered("fleet", "report", store, "flat", "--where", "region=eu")["total"] == spent(
        files
    )
    rows = answered("fleet", "report", store, "threads")["rows"]
    assert sum(row["name"] == "server-1" for row in rows) == 1


def test_only_a_continuous_recording_is_pushed() -> None:
    for options in (["--push", "x"], ["--label", "a=b"]):
        code, _, err = asked("attach", "1", *options)
        assert code == 2
        assert "--push" in err
