"""Requests of a Flask application as spans, served by Flask's own server over loopback."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from launching import TESTS, TIMEOUT_S, clean_environment
from sonde.recording.reader import read
from sonde.recording.tables import Recording

from .web_server import STATUS, recorded_answers, requests_of, time_in

FLASK = ("flask", "--app", "flask_app", "run", "--port", "PORT")
PATHS = ("/books/1", "/books/2", "/shelves/a/books", "/stream", "/teapot", "/fails", "/nowhere")


@pytest.fixture(scope="module")
def recording(keep: Callable[[str], Path]) -> Recording:
    return recorded_answers(FLASK, PATHS, keep("flask"))


def test_each_request_is_a_span_named_by_its_rule(recording: Recording) -> None:
    ok = {STATUS: "200"}
    assert requests_of(recording) == {
        "GET /books/<int:number>": [ok, ok],
        "GET /shelves/<shelf>/books": [ok],
        "GET /stream": [ok],
        "GET /teapot": [{STATUS: "418"}],
        "GET /fails": [{STATUS: "500"}],
        "GET": [{STATUS: "404"}],
    }
    assert recording.quality["events_lost"] == 0


def test_the_work_of_a_view_and_of_its_stream_is_in_the_span(recording: Recording) -> None:
    assert 0.05 < time_in(recording, "GET /books/<int:number>") < 0.07
    assert 0.02 < time_in(recording, "GET /stream") < 0.04


PLAIN = """
import sys
from wsgiref.util import FileWrapper
from wsgiref.validate import validator
import sonde
from sonde.plugins.wsgi import SpanMiddleware

closed = []

class Body:
    def __iter__(self):
        yield b"one"
        yield b"two"
    def close(self):
        closed.append(True)

def app(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/fails":
        raise KeyError("on purpose")
    start_response("200 OK", [("Content-Type", "text/plain")])
    if path == "/file":
        return FileWrapper(open(__file__ if "__file__" in globals() else sys.executable, "rb"))
    return Body() if path == "/body" else [b"list"]

def ask(path, until=None):
    environ = {
        "REQUEST_METHOD": "GET", "PATH_INFO": path, "SCRIPT_NAME": "", "QUERY_STRING": "",
        "SERVER_NAME": "here", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0), "wsgi.url_scheme": "http", "wsgi.input": sys.stdin.buffer,
        "wsgi.errors": sys.stderr, "wsgi.multithread": False, "wsgi.multiprocess": False,
        "wsgi.run_once": False, "wsgi.file_wrapper": FileWrapper,
    }
    answered = []
    body = middleware(environ, lambda *words: answered.append(words[0]))
    if path == "/file":
        return type(body) is FileWrapper
    if path == "/list":
        return body == [b"list"]
    chunks = iter(body)
    first = next(chunks)
    rest = [] if until == "close" else list(chunks)
    body.close()
    return first, rest, answered

middleware = SpanMiddleware(app, route=lambda environ: environ["PATH_INFO"])
def all_of_it():
    found = [ask("/body"), ask("/body", "close"), ask("/file"), ask("/list"), len(closed)]
    closed.clear()
    try:
        ask("/fails")
    except KeyError as error:
        found.append(repr(error))
    return found

plain = all_of_it()
with sonde.record(sys.argv[1]):
    recorded = all_of_it()
assert plain == recorded, (plain, recorded)
assert plain == [
    (b"one", [b"two"], ["200 OK"]), (b"one", [], ["200 OK"]), True, True, 2,
    "KeyError('on purpose')",
], plain
"""


def test_wsgi_applications_see_no_difference(tmp_path: Path) -> None:
    """Bodies are closed once, also in the middle; files and lists arrive as they are."""
    file = tmp_path / "wsgi.sonde"
    done = subprocess.run(
        [sys.executable, "-c", PLAIN, file],
        env=clean_environment(PYTHONPATH=str(TESTS.parent / "src")),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    recording = read(file)
    ok = {STATUS: "200"}
    assert requests_of(recording) == {
        "GET /body": [ok, ok],
        "GET /file": [ok],
        "GET /list": [ok],
        "GET /fails": [{"error.type": "KeyError"}],
    }
    parts = [
        recording.spans.name[parent]
        for name, parent in zip(recording.spans.name, recording.spans.parent.tolist(), strict=True)
        if name == "body"
    ]
    assert parts == ["GET /body"] * 2
    assert (recording.spans.end_ns >= 0).all()
