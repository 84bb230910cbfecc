"""Django: `sonde.plugins.django.SpanMiddleware` in MIDDLEWARE makes each request a span."""

from __future__ import annotations

import functools

from asgiref.sync import SyncToAsync, iscoroutinefunction, markcoroutinefunction

from sonde import _inside

from .requests import STATUS, current, in_part, request_name

TYPE_CHECKING = False  # typing is imported for type checkers only
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class SpanMiddleware:
    """The route is that of the URL pattern: `GET /books/<int:id>/`."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        self.get_response = get_response
        self._is_async = iscoroutinefunction(get_response)
        if self._is_async:
            markcoroutinefunction(self)
            _follow_worker_threads()

    def __call__(self, request: Any) -> Any:
        if self._is_async:
            return self._answer(request)
        if _inside._agent is None:
            return self.get_response(request)
        with _inside.span(request.method) as span:
            response = self.get_response(request)
            _describe(span, request, response)
        return response

    async def _answer(self, request: Any) -> Any:
        if _inside._agent is None:
            return await self.get_response(request)
        with _inside.span(request.method) as span:
            before = current.set(span if span.is_recorded else None)
            try:
                response = await self.get_response(request)
            finally:
                current.reset(before)
            _describe(span, request, response)
        return response


def _describe(span: _inside.span, request: Any, response: Any) -> None:
    if not span.is_recorded:
        return
    match = request.resolver_match
    span.set(STATUS, response.status_code)
    span.rename(request_name(request.method, None if match is None else f"/{match.route}"))


def _follow_worker_threads() -> None:
    """What asgiref calls in a thread for a request, such as a synchronous view, is a part of it."""
    handler: Any = SyncToAsync.thread_handler
    if hasattr(handler, "sonde_follows"):
        return

    @functools.wraps(handler)
    def followed(*args: Any, **named: Any) -> Any:
        # The last one is called in the context of the request, and nowhere else.
        if _inside._agent is not None and args and callable(args[-1]):
            args = (*args[:-1], functools.partial(_in_request, args[-1]))
        return handler(*args, **named)

    followed.sonde_follows = True  # type: ignore[attr-defined]
    SyncToAsync.thread_handler = followed


def _in_request(func: Callable[[], Any]) -> Any:
    request = current.get()
    return func() if request is None else in_part(request, func)
