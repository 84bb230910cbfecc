"""Requests of a Django application as spans, served by wsgiref (WSGI) and uvicorn (ASGI)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .web_server import STATUS, recorded_answers, requests_of, time_in

SERVERS = {
    "wsgi": ("wsgiref_server", "PORT"),
    "asgi": ("uvicorn", "--port", "PORT", "--log-level", "critical", "django_app:asgi"),
}
PATHS = (
    "/books/1/", "/books/2/", "/articles/1/", "/shelves/a/books/7/", "/stream", "/teapot",
    "/missing", "/fails", "/nowhere",
)  # fmt: skip


@pytest.mark.parametrize("kind", SERVERS)
def test_each_request_is_a_span_named_by_its_pattern(
    kind: str, keep: Callable[[str], Path]
) -> None:
    recording = recorded_answers(SERVERS[kind], PATHS, keep(f"django-{kind}"))
    ok = {STATUS: "200"}
    assert requests_of(recording) == {
        "GET /books/<int:number>/": [ok, ok],
        "GET /articles/<int:number>/": [ok],
        "GET /shelves/<slug:shelf>/books/<int:number>/": [ok],
        "GET /stream": [ok],
        "GET /teapot": [{STATUS: "418"}],
        "GET /missing": [{STATUS: "404"}],
        "GET /fails": [{STATUS: "500"}],
        "GET": [{STATUS: "404"}],
    }
    assert recording.quality["events_lost"] == 0
    # Under ASGI it runs in a worker thread.
    assert 0.05 < time_in(recording, "GET /books/<int:number>/") < 0.07
    parts = [
        recording.spans.name[parent]
        for name, parent in zip(recording.spans.name, recording.spans.parent.tolist(), strict=True)
        if name == "worker thread"
    ]
    assert parts.count("GET /books/<int:number>/") == (2 if kind == "asgi" else 0)
    if kind == "asgi":
        assert 0.025 < time_in(recording, "GET /articles/<int:number>/") < 0.035
