"""How a request appears as a span: `GET /books/{id}`, with its status as an attribute."""

from __future__ import annotations

STATUS = "http.response.status_code"
ERROR = "error.type"
"""The class of the exception that the application raised instead of answering."""
# The names of OpenTelemetry, so that a recording and a trace of one request agree.


def request_name(method: str, route: str | None) -> str:
    """Without a route the method alone: raw paths would be as many names as there are paths."""
    return f"{method} {route}" if route else method
