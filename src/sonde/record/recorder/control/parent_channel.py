"""The recorder's line to whoever started it, one JSON object a message, until that one exits."""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
from collections.abc import Iterator
from typing import Any

ANSWER_S = 1.0
_MAX_VALUE = 1 << 20


class ParentChannel:
    def __init__(
        self, connection: socket.socket, selector: selectors.BaseSelector, *, attached: bool
    ) -> None:
        self._connection: socket.socket | None = connection
        self._selector = selector
        self.attached = attached
        """It attached to processes that are not its own: it decides when the recording is over."""
        selector.register(connection, selectors.EVENT_READ, "control")

    def hear(self) -> dict[str, Any] | None:
        """What it orders; None: it has exited."""
        assert self._connection is not None
        try:
            message = self._connection.recv(_MAX_VALUE)
        except OSError:
            message = b""
        if not message:
            self._selector.unregister(self._connection)
            self._connection.close()
            self._connection = None
            return None
        order: dict[str, Any] = json.loads(message)
        return order

    def last_orders(self) -> Iterator[dict[str, Any]]:
        """What it says while we end, as long as each comes within a moment."""
        if self._connection is None:
            return iter(())
        self._connection.settimeout(ANSWER_S)
        return iter(self._last_order, None)

    def _last_order(self) -> dict[str, Any] | None:
        assert self._connection is not None
        try:
            message = self._connection.recv(_MAX_VALUE)
        except OSError:
            return None
        return json.loads(message) if message else None

    def send(self, words: dict[str, Any]) -> None:
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.send(json.dumps(words).encode())

    def send_progress(self, words: dict[str, Any]) -> None:
        """Whoever attaches wants to know how far it is; others do not listen."""
        if self.attached:
            self.send(words)

    def send_nowait(self, words: dict[str, Any]) -> None:
        """Says what nobody asked for, and maybe nobody reads: that must not keep us waiting."""
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.send(json.dumps(words).encode(), socket.MSG_DONTWAIT)
