"""How a request appears as a span: `GET /books/{id}`, with its status as an attribute."""

from __future__ import annotations

from contextvars import ContextVar

from sonde import _inside

TYPE_CHECKING = False  # typing is imported for type checkers only
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

STATUS = "http.response.status_code"
ERROR = "error.type"
"""The class of the exception that the application raised instead of answering."""
# The names of OpenTelemetry, so that a recording and a trace of one request agree.


def request_name(method: str, route: str | None) -> str:
    """Without a route the method alone: raw paths would be as many names as there are paths."""
    return f"{method} {route}" if route else method


current: ContextVar[_inside.span | None] = ContextVar("sonde_request", default=None)
"""The span of the request that a task, or a thread that has its context, works for."""


def in_part(request: _inside.span, func: Callable[..., Any], *args: Any) -> Any:
    """Calls it in a thread of its own, as a part of the request."""
    with request.part("worker thread"):
        return func(*args)
