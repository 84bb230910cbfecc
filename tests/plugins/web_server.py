"""A web application served as users serve it, asked for the same with and without a recorder."""

from __future__ import annotations

import contextlib
import http.client
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from attaching import attach, until
from launching import TARGETS, TESTS, TIMEOUT_S, clean_environment
from launching import sonde as run_sonde
from serving import free_port, wait_until_up
from sonde.recording.reader import read
from sonde.recording.tables import Recording
from sonde.views.selecting.selection import Selection
from sonde.views.stacks.flat import flat

STATUS = "http.response.status_code"


class Answer(NamedTuple):
    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Application:
    """A running server; `options` have PORT where the port belongs."""

    def __init__(self, options: Sequence[str], spans: bool) -> None:
        self.port = free_port()
        more = {"SPANS": "1"} if spans else {}
        self.process = subprocess.Popen(
            [sys.executable, "-m", *(word.replace("PORT", str(self.port)) for word in options)],
            cwd=TARGETS / "web",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=clean_environment(
                PYTHONPATH=str(TESTS.parent / "src"), PYTHONDONTWRITEBYTECODE="1", **more
            ),
        )
        wait_until_up(self.port, self.process, lambda: self.process.communicate()[0])

    def answers(self, paths: Sequence[str]) -> list[Answer]:
        return [self.answer(path) for path in paths]

    def answer(self, path: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        with contextlib.closing(connection):
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
            headers = [(k, v) for k, v in answer.getheaders() if k.lower() != "date"]
            return Answer(answer.status, headers, body)

    @contextlib.contextmanager
    def recorded(self, path: Path) -> Iterator[None]:
        recorder = attach(self.process.pid, path)
        try:
            pid = str(self.process.pid)
            until(lambda: run_sonde("ctl", pid, "status").returncode == 0, "a session", by=recorder)
            yield
            run_sonde("ctl", pid, "stop")
        finally:
            with contextlib.suppress(subprocess.TimeoutExpired):
                recorder.communicate(timeout=TIMEOUT_S)
            if recorder.poll() is None:
                recorder.kill()
                recorder.communicate()

    def end(self) -> str:
        self.process.terminate()
        try:
            out, _ = self.process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, _ = self.process.communicate()
            pytest.fail(f"the server does not end: {out}")
        return out


@contextlib.contextmanager
def serving(options: Sequence[str], spans: bool = True) -> Iterator[Application]:
    application = Application(options, spans)
    try:
        yield application
    finally:
        application.end()


def recorded_answers(options: Sequence[str], paths: Sequence[str], file: Path) -> Recording:
    """The recording of these requests, whose answers are those without sonde."""
    with serving(options, spans=False) as plain:
        expected = plain.answers(paths)
    with serving(options) as application:
        assert application.answers(paths) == expected
        with application.recorded(file):
            assert application.answers(paths) == expected
        assert application.answers(paths) == expected
    return read(file)


def requests_of(recording: Recording) -> dict[str, list[dict[str, str]]]:
    """By name of the outermost spans, the attributes of each."""
    found: dict[str, list[dict[str, str]]] = {}
    spans = recording.spans
    for name, parent, attributes in zip(
        spans.name, spans.parent.tolist(), spans.attributes, strict=True
    ):
        if parent < 0:
            found.setdefault(name, []).append(attributes)
    return found


def time_in(recording: Recording, span: str, function: str = "burn") -> float:
    """Seconds of CPU time in and below a function within spans of this name."""
    rows = flat(recording, Selection(span=span)).rows
    return sum(row.total_ns for row in rows if row.function.name == function) / 1e9
