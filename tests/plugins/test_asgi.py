"""Requests of a FastAPI application as spans, served by uvicorn over loopback."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from websockets.sync.client import connect

from launching import TESTS, TIMEOUT_S, clean_environment
from sonde.plugins.asgi import starlette_route
from sonde.recording.reader import read
from sonde.recording.tables import Recording

from .web_server import STATUS, recorded_answers, requests_of, serving, time_in

UVICORN = ("uvicorn", "--port", "PORT", "--log-level", "critical", "fastapi_app:app")
PATHS = (
    "/async/1", "/async/2", "/sync/1", "/sync/2", "/api/shelves/a/books/7", "/stream",
    "/mounted/things/lamp", "/teapot", "/fails", "/nowhere", "/async/word",
)  # fmt: skip


@pytest.fixture(scope="module")
def recording(keep: Callable[[str], Path]) -> Recording:
    return recorded_answers(UVICORN, PATHS, keep("fastapi"))


def test_each_request_is_a_span_named_by_its_route(recording: Recording) -> None:
    ok = {STATUS: "200"}
    assert requests_of(recording) == {
        "GET /async/{number}": [ok, ok, {STATUS: "422"}],
        "GET /sync/{number}": [ok, ok],
        "GET /api/shelves/{shelf}/books/{book}": [ok],
        "GET /stream": [ok],
        "GET /mounted/things/{name}": [ok],
        "GET /teapot": [{STATUS: "418"}],
        "GET /fails": [{"error.type": "RuntimeError"}],
        "GET": [{STATUS: "404"}],
    }
    assert recording.quality["events_lost"] == 0


def test_the_work_of_an_endpoint_is_in_its_span(recording: Recording) -> None:
    """Two calls of 30 ms each, in the event loop and in a worker thread, and 3 chunks of 10 ms."""
    assert 0.05 < time_in(recording, "GET /async/{number}") < 0.07
    assert 0.05 < time_in(recording, "GET /sync/{number}") < 0.07
    assert 0.02 < time_in(recording, "GET /stream") < 0.04
    names, parents = recording.spans.name, recording.spans.parent.tolist()
    threads = [names[parents[i]] for i, name in enumerate(names) if name == "worker thread"]
    assert threads == ["GET /sync/{number}"] * 2


def test_websockets_are_spans(keep: Callable[[str], Path]) -> None:
    file = keep("websocket")
    with serving(UVICORN) as application, application.recorded(file):
        with connect(f"ws://127.0.0.1:{application.port}/ws/green", proxy=None) as socket:
            for text in ("one", "two"):
                socket.send(text)
                assert socket.recv(timeout=TIMEOUT_S) == f"green: {text}"
        # The connection's end has reached the application when the next request is answered.
        application.answer("/teapot")
    assert "WEBSOCKET /ws/{room}" in requests_of(read(file))


CANCELLED = """
import asyncio, json, sys
import sonde
from sonde.plugins.asgi import SpanMiddleware

cancelled = []

async def app(scope, receive, send):
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        cancelled.append(True)
        raise

async def main():
    middleware = SpanMiddleware(app, route=lambda scope: "/slow")
    task = asyncio.create_task(middleware({"type": "http", "method": "POST"}, None, None))
    await asyncio.sleep(0.05)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return cancelled

async def lifespan(scope, receive, send):
    return scope["type"]

print(json.dumps(asyncio.run(main())))
with sonde.record(sys.argv[1]):
    print(json.dumps(asyncio.run(main())))
    asyncio.run(SpanMiddleware(lifespan)({"type": "lifespan"}, None, None))
"""


def test_a_cancelled_request_is_cancelled(tmp_path: Path) -> None:
    file = tmp_path / "cancelled.sonde"
    done = subprocess.run(
        [sys.executable, "-c", CANCELLED, file],
        env=clean_environment(PYTHONPATH=str(TESTS.parent / "src")),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == [[True], [True, True]]
    assert requests_of(read(file)) == {"POST /slow": [{"error.type": "CancelledError"}]}


class Route:
    def __init__(self, path: str) -> None:
        self.path = path


@pytest.mark.parametrize(
    ("template", "path", "parameters", "expected"),
    [
        ("/books/{id}", "/books/42", {"id": 42}, "/books/{id}"),
        ("/{id}", "/api/books/42", {"id": 42}, "/api/books/{id}"),
        ("/books", "/users/bob/books", {"user": "bob"}, "/users/{user}/books"),
        ("/files/{p:path}", "/files/a/b", {"p": "a/b"}, "/files/{p:path}"),
        ("/a.b/{x:int}", "/a.b/1", {"x": 1}, "/a.b/{x:int}"),
        ("/", "/api/", {}, "/api/"),
        ("/other", "/books", {}, "/other"),
    ],
)
def test_templates_include_what_they_are_mounted_in(
    template: str, path: str, parameters: dict[str, object], expected: str
) -> None:
    scope = {"route": Route(template), "path": path, "path_params": parameters}
    assert starlette_route(scope) == expected


def test_without_a_route_there_is_none() -> None:
    assert starlette_route({"path": "/books/42"}) is None
