"""WSGI middleware: a span for each request, and a part of it for a body that is made on demand."""

from __future__ import annotations

from sonde import _inside

from .requests import ERROR, STATUS, request_name

TYPE_CHECKING = False  # typing is imported for type checkers only
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    Environ = dict[str, Any]
    App = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]

REQUEST = "sonde.span"
"""The key of the environment under which the framework finds the span, to name its route."""


class SpanMiddleware:
    """`route` finds the route's template in an environment, after the application has answered."""

    def __init__(self, app: App, route: Callable[[Environ], str | None] | None = None) -> None:
        self.app = app
        self._route = route

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        if _inside._agent is None:
            return self.app(environ, start_response)
        method = environ["REQUEST_METHOD"]
        with _inside.span(method) as request:
            if not request.is_recorded:
                return self.app(environ, start_response)
            environ[REQUEST] = request

            def observed(status: str, *others: Any) -> Any:
                request.set(STATUS, status[:3])
                return start_response(status, *others)

            try:
                body = self.app(environ, observed)
            except BaseException as error:
                request.set(ERROR, type(error).__name__)
                raise
            finally:
                if self._route is not None:
                    request.rename(request_name(method, self._route(environ)))
        wrapper = environ.get("wsgi.file_wrapper")
        # Servers treat these two in their own ways: they send the file, or know the length.
        if hasattr(body, "__len__") or (isinstance(wrapper, type) and isinstance(body, wrapper)):
            return body
        return _Body(body, request)


class _Body:
    """A body that the application makes while the server sends it."""

    def __init__(self, body: Iterable[bytes], request: _inside.span) -> None:
        self._body = body
        self._chunks = self._in_part(request)

    def __iter__(self) -> Iterator[bytes]:
        return self._chunks

    def _in_part(self, request: _inside.span) -> Iterator[bytes]:
        with request.part("body"):
            # Not `yield from`: it would close the body a second time.
            for chunk in self._body:  # noqa: UP028
                yield chunk

    def close(self) -> None:
        self._chunks.close()  # type: ignore[attr-defined]
        close = getattr(self._body, "close", None)
        if close is not None:
            close()
