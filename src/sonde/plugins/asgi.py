"""ASGI middleware: a span for each request and each WebSocket connection.

For Starlette and FastAPI, `app.add_middleware(SpanMiddleware)`; for other applications
`SpanMiddleware(app, route=...)`. The span belongs to this middleware's frame, so what runs in other
tasks, as below Starlette's BaseHTTPMiddleware, is not in it: this has to be the innermost one.
"""

from __future__ import annotations

import functools
import re
import sys

from sonde import _inside

from .requests import ERROR, STATUS, current, in_part, request_name

TYPE_CHECKING = False  # typing is imported for type checkers only
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping
    from typing import Any

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]


def request_part(name: str) -> _inside.span:
    """A part of the span of the request that this task works for; outside of one a span alone.

    For work that a framework runs in a task of its own, such as the generator of a streaming
    response: `with request_part("stream"):` in its body.
    """
    request = current.get()
    return _inside.span(name) if request is None else request.part(name)


class SpanMiddleware:
    """`route` finds the route's template in a scope, after the application has answered."""

    def __init__(self, app: App, route: Callable[[Scope], str | None] | None = None) -> None:
        self.app = app
        self._route = route or starlette_route
        _follow_worker_threads()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _inside._agent is None or scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        method = scope["method"] if scope["type"] == "http" else "WEBSOCKET"
        with _inside.span(method) as request:
            if not request.is_recorded:
                await self.app(scope, receive, send)
                return

            async def observed(message: Message) -> None:
                if message["type"] == "http.response.start":
                    request.set(STATUS, message["status"])
                await send(message)

            before = current.set(request)
            try:
                await self.app(scope, receive, observed)
            except BaseException as error:
                request.set(ERROR, type(error).__name__)
                raise
            finally:
                current.reset(before)
                request.rename(request_name(method, self._route(scope)))


def starlette_route(scope: Scope) -> str | None:
    """The template of the route that Starlette or FastAPI has chosen, with those it is mounted in.

    A mounted or included route knows its own part only; what precedes that is in the path.
    """
    template = getattr(scope.get("route"), "path", None)
    if not isinstance(template, str):
        return None
    path = scope.get("path", "")
    own = _pattern(template).search(path)
    if own is None:
        return template
    values = {str(value): key for key, value in scope.get("path_params", {}).items()}
    before = path[: own.start()].split("/")
    return "/".join(f"{{{values[part]}}}" if part in values else part for part in before) + template


@functools.lru_cache(maxsize=4096)
def _pattern(template: str) -> re.Pattern[str]:
    """What the end of a path looks like that this template matches."""
    parts = re.split(r"\{\w+(:\w+)?\}", template)
    # Every second one is the convertor of a parameter; only that of paths takes a slash.
    text = "".join(
        re.escape(part) if i % 2 == 0 else ".*" if part == ":path" else "[^/]+"
        for i, part in enumerate(parts)
        if part is not None or i % 2
    )
    return re.compile(f"{text}$")


def _follow_worker_threads() -> None:
    """Work that a request hands to a thread of AnyIO becomes a part of its span.

    Starlette and FastAPI run every endpoint there that is no coroutine.
    """
    to_thread: Any = sys.modules.get("anyio.to_thread")
    if to_thread is None or hasattr(to_thread.run_sync, "sonde_follows"):
        return
    run_sync = to_thread.run_sync

    @functools.wraps(run_sync)
    def followed(func: Callable[..., Any], *args: Any, **options: Any) -> Any:
        request = current.get()
        if request is None:
            return run_sync(func, *args, **options)
        return run_sync(in_part, request, func, *args, **options)

    followed.sonde_follows = True  # type: ignore[attr-defined]
    to_thread.run_sync = followed
