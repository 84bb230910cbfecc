"""What a program says to its own recording: marks, spans, pause and resume.

Works under `sonde run`, `sonde attach` and `sonde.record` alike, and does nothing in a program that
is not recorded. The agent in the process does the work, without asking the recorder; one that comes
later sets `_agent` here itself (native/cpython/session/python_api.c).
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # importing typing would cost more than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

_agent: Any = None

_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200  # CO_* of the inspect module


def look() -> None:
    """Finds the agent if it is in this process: it is a library that nobody imports by name."""
    global _agent  # noqa: PLW0603
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    name = f"/libsonde-cpython-{version}.so"
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            path = next((line.split(None, 5)[5].strip() for line in maps if name in line), None)
        if path is None:
            return
        import _imp
        from importlib.machinery import ModuleSpec

        spec = ModuleSpec("sonde_inside", None, origin=path)
        module = _imp.create_dynamic(spec)
        _imp.exec_dynamic(module)
        _agent = module
    except (OSError, ImportError):
        return  # it cannot be had: as good as not recorded


def mark(text: str) -> None:
    """Notes this moment, to be found again in every view that shows time."""
    if _agent is not None:
        _agent.mark(text)


def pause() -> None:
    """Nothing is captured until `resume`, in no process of the recording; no time counts."""
    if _agent is not None:
        _agent.pause()


def resume() -> None:
    if _agent is not None:
        _agent.resume()


class span:  # noqa: N801
    """A named part of the program's work: `with sonde.span("checkout"):`, or as a decorator.

    What runs in or below the function that enters it is in the span, in this thread; so what an
    event loop runs in between, for other tasks, is not.
    """

    __slots__ = ("_name", "_number")

    def __init__(self, name: str) -> None:
        self._name = name
        self._number = 0

    # The agent takes the caller of these two for the one who enters and leaves.

    def __enter__(self) -> span:
        if _agent is not None:
            self._number = _agent.begin(self._name)
            if self._number:
                _join_trace(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._number:
            _agent.end(self._number)

    def set(self, key: str, value: object) -> None:
        """States a fact about this span, by which views select it: `order`, 42."""
        if "=" in key:
            raise ValueError(f"invalid key {key!r}; a key has no '='")
        # A recorder of another version may have brought an agent that knows no attributes.
        if self._number and hasattr(_agent, "attribute"):
            _agent.attribute(self._number, f"{key}={value}")

    def rename(self, name: str) -> None:
        """Names it by what is known only now, such as the route of a request."""
        self.set("name", name)

    @property
    def is_recorded(self) -> bool:
        return self._number != 0

    def part(self, name: str) -> span:
        """A span of work that another thread or task does for this one, which contains it."""
        return _part(name, self._number)

    def __call__(self, function: F) -> F:
        """The function in a span of its own for each call; also of coroutines and generators."""
        from functools import wraps

        name, within = self._name, type(self)
        flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
        wrapper: Any
        if flags & _COROUTINE:

            @wraps(function)
            async def wrapper(*args: Any, **named: Any) -> Any:
                with within(name):
                    return await function(*args, **named)

        elif flags & _GENERATOR:

            @wraps(function)
            def wrapper(*args: Any, **named: Any) -> Any:
                with within(name):
                    return (yield from function(*args, **named))

        elif flags & _ASYNC_GENERATOR:
            raise TypeError(
                "an asynchronous generator cannot be decorated with a span; use a span in its body"
            )
        else:

            @wraps(function)
            def wrapper(*args: Any, **named: Any) -> Any:
                with within(name):
                    return function(*args, **named)

        return wrapper  # type: ignore[no-any-return]


class _part(span):  # noqa: N801
    __slots__ = ("_within",)

    def __init__(self, name: str, within: int) -> None:
        super().__init__(name)
        self._within = within

    def __enter__(self) -> span:
        if _agent is not None:
            if self._within and hasattr(_agent, "begin_part"):
                self._number = _agent.begin_part(self._name, self._within)
            else:
                self._number = _agent.begin(self._name)
            if self._number:
                _join_trace(self)
        return self


def _join_trace(entered: span) -> None:
    """If the program uses OpenTelemetry: the ids of the span that is current there."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return
    try:
        context = trace.get_current_span().get_span_context()
        if context.is_valid:
            set_trace(entered, context.trace_id, context.span_id)
    except Exception:
        return  # the program has another one by that name, or is importing it just now


def set_trace(entered: span, trace_id: int, span_id: int) -> None:
    entered.set("trace_id", f"{trace_id:032x}")
    entered.set("span_id", f"{span_id:016x}")


look()
