"""OpenTelemetry: `provider.add_span_processor(SpanProcessor())` makes its spans spans of sonde.

A span begins in the function that starts it, whatever functions of OpenTelemetry are between.
"""

from __future__ import annotations

from opentelemetry.sdk.trace import SpanProcessor as Base

from sonde import _inside
from sonde.row_values import SPAN_NAME

TYPE_CHECKING = False  # typing is imported for type checkers only
if TYPE_CHECKING:
    from typing import Any


class _Mirrored(_inside.span):
    """A span that is entered and left by the functions of a span processor."""

    __slots__ = ()

    def __init__(self, name: str, number: int) -> None:
        super().__init__(name)
        self._number = number


class SpanProcessor(Base):  # type: ignore[misc]
    def __init__(self) -> None:
        self._open: dict[int, _Mirrored] = {}
        """By OpenTelemetry's span id."""

    def on_start(self, span: Any, parent_context: Any = None) -> None:  # noqa: ARG002
        agent = _inside._agent
        if agent is None:
            return
        # The agent takes the caller of this very function for the one who enters.
        number = agent.begin(span.name)
        if not number:
            return
        context = span.get_span_context()
        mirrored = self._open[context.span_id] = _Mirrored(span.name, number)
        _inside.set_trace(mirrored, context.trace_id, context.span_id)

    def on_end(self, span: Any) -> None:
        if not self._open:
            return
        mirrored = self._open.pop(span.get_span_context().span_id, None)
        if mirrored is None or _inside._agent is None:
            return
        if span.name != mirrored._name:
            mirrored.set(SPAN_NAME, span.name)
        if not span.status.is_ok:
            mirrored.set("otel.status_code", span.status.status_code.name)
        _inside._agent.end(mirrored._number)

    def shutdown(self) -> None:
        self._open.clear()

    def force_flush(self, timeout_millis: int = 30000) -> bool:  # noqa: ARG002
        return True
