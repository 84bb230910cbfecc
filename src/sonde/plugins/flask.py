"""Flask: `init_app(app)` makes each request a span that is named by its URL rule."""

from __future__ import annotations

from .requests import request_name
from .wsgi import REQUEST, SpanMiddleware

TYPE_CHECKING = False  # typing is imported for type checkers only
if TYPE_CHECKING:
    from typing import Any


def init_app(app: Any) -> None:
    """Call it once, after other WSGI middleware has been added."""
    app.wsgi_app = SpanMiddleware(app.wsgi_app)
    # Before the functions of the application: one of them may answer the request.
    app.before_request_funcs.setdefault(None, []).insert(0, _name_request)


def _name_request() -> None:
    from flask import request

    span = request.environ.get(REQUEST)
    if span is not None and request.url_rule is not None:
        span.rename(request_name(request.method, request.url_rule.rule))
