"""A client of debugpy's: the few requests of the debug adapter protocol that a test needs."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from typing import Any

from launching import TIMEOUT_S


class Adapter:
    """A connection to `python -m debugpy --listen`; events wait until somebody asks for them."""

    def __init__(self, port: int, alive: Callable[[], bool]) -> None:
        end = time.monotonic() + TIMEOUT_S
        while True:
            try:
                self._socket = socket.create_connection(("127.0.0.1", port), TIMEOUT_S)
                break
            except OSError:
                assert alive(), "it has ended"
                assert time.monotonic() < end, "the debugger does not listen"
                time.sleep(0.05)
        self._stream = self._socket.makefile("rwb")
        self._number = 0
        self._events: list[dict[str, Any]] = []

    def close(self) -> None:
        self._stream.close()
        self._socket.close()

    def send(self, command: str, **arguments: Any) -> int:
        self._number += 1
        message = {
            "seq": self._number,
            "type": "request",
            "command": command,
            "arguments": arguments,
        }
        body = json.dumps(message).encode()
        self._stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._stream.flush()
        return self._number

    def request(self, command: str, **arguments: Any) -> dict[str, Any]:
        return self.answer(self.send(command, **arguments))

    def answer(self, number: int) -> dict[str, Any]:
        """To a request; what happened in between is kept."""
        while True:
            message = self._read()
            if message["type"] == "response" and message["request_seq"] == number:
                assert message["success"], message
                body: dict[str, Any] = message.get("body") or {}
                return body
            self._events.append(message)

    def event(self, *names: str) -> dict[str, Any]:
        """The next event of one of these names."""
        while True:
            for message in self._events:
                if message.get("event") in names:
                    self._events.remove(message)
                    return message
            self._events.append(self._read())

    def _read(self) -> dict[str, Any]:
        length = 0
        while line := self._stream.readline().strip():
            length = int(line.split(b":")[1])
        assert length, "the debugger has closed the connection"
        message: dict[str, Any] = json.loads(self._stream.read(length))
        return message
