"""The commands of a running recorder, in one table.

The process that started the recorder may send all of them (parent_channel.py), and its arguments
are not checked: it is another part of the same sonde. A request over the control socket
(control_server.py) may be one that has a `check`, which makes arguments of it or refuses it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from sonde.errors import UsageError


class Controllable(Protocol):
    """What commands are carried out on."""

    def status(self) -> dict[str, Any]: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def mark(self, text: str, at: int | None = None) -> None: ...
    def set_rate(self, rate: int) -> None: ...
    def set_what(self, what: list[str]) -> None: ...
    def flush(self) -> int: ...
    def rotate(self) -> str: ...
    def dump(self, path: str | None = None) -> str: ...
    def hot(self, top: int = 10, by: str = "context", purge: bool = False) -> dict[str, Any]: ...
    def probe(
        self, verb: str, probe: dict[str, Any] | None = None, number: int = 0
    ) -> dict[str, Any]: ...
    def stop(self, note: str) -> None: ...

    def rotate_soon(self) -> None: ...
    def set_root(self, pid: int) -> None: ...
    def listen(self, place: dict[str, Any] | None) -> None: ...
    def set_names(self, pid: int, names: dict[str, str]) -> None: ...
    def set_not_entered(self, reasons: dict[str, str]) -> None: ...
    def set_entered(self, facts: dict[str, Any]) -> None: ...
    def set_running(self, why: str = "") -> None: ...
    def set_exit(self, pid: int, text: str) -> None: ...
    def disarm(self, pid: int) -> None: ...


Request = dict[str, Any]
Answer = dict[str, Any] | None


class Command(NamedTuple):
    do: Callable[..., Answer]
    """Called with the recorder and the arguments."""
    check: Callable[[Controllable, Request], dict[str, Any]] | None = None
    """Makes arguments of a request over the control socket; None: it is not accepted there."""
    ends: bool = False
    """It is answered over the control socket when the recording has ended."""


def from_control(session: Controllable, request: Request) -> tuple[Command, dict[str, Any]]:
    """The command that a request over the control socket names, and its arguments."""
    verb = request.get("do")
    command = COMMANDS.get(verb) if isinstance(verb, str) else None
    if command is None or command.check is None:
        raise UsageError(f"invalid command {verb!r}; valid commands: {', '.join(VERBS)}")
    return command, command.check(session, request)


# ---- arguments of requests


def _nothing(_: Controllable, __: Request) -> dict[str, Any]:
    return {}


def _mark_of(_: Controllable, request: Request) -> dict[str, Any]:
    return {"text": _text(request, "text")}


def _rate_of(_: Controllable, request: Request) -> dict[str, Any]:
    from ..options.options import check_rate

    rate = request.get("hz")
    if not isinstance(rate, int) or isinstance(rate, bool):
        raise UsageError(f"invalid rate {rate!r}; give a whole number of samples per second")
    return {"rate": check_rate(rate, "the rate")}


def _what_of(session: Controllable, request: Request) -> dict[str, Any]:
    from ..options.options import parse_what

    asked = request.get("list")
    if not isinstance(asked, list) or not all(isinstance(kind, str) for kind in asked):
        raise UsageError("what needs a list of kinds, such as cpu,locks")
    return {"what": parse_what(asked, "what", session.status()["what"])}


def _file_of(_: Controllable, request: Request) -> dict[str, Any]:
    return {"path": os.path.abspath(_text(request, "file"))}


def _hot_of(_: Controllable, request: Request) -> dict[str, Any]:
    return {"top": request.get("top", 10), "by": request.get("by", "context")}


def _probe_of(_: Controllable, request: Request) -> dict[str, Any]:
    from ..options.probe_text import parse_probe

    verb = request.get("verb")
    if verb == "add":
        every = request.get("every")
        if every is not None and (not isinstance(every, int) or isinstance(every, bool)):
            raise UsageError(f"invalid every {every!r}; give a whole number")
        probe = parse_probe(_text(request, "text"), every, "probe")
        return {"verb": "add", "probe": probe.to_config()}
    if verb == "remove":
        number = request.get("number")
        if not isinstance(number, int) or isinstance(number, bool):
            raise UsageError(f"invalid probe {number!r}; give the number that probe list shows")
        return {"verb": "remove", "number": number}
    if verb == "list":
        return {"verb": "list"}
    raise UsageError(f"invalid probe command {verb!r}; valid commands: add, list, remove")


def _end_of(_: Controllable, __: Request) -> dict[str, Any]:
    return {"note": "detached"}


def _text(request: Request, key: str) -> str:
    text = request.get(key)
    if not isinstance(text, str) or not text:
        raise UsageError(f"{request['do']} needs a {key}")
    return text


# ---- commands with an answer


def _set_rate(session: Controllable, rate: int) -> Answer:
    session.set_rate(rate)
    return {"rate": rate}


def _set_what(session: Controllable, what: list[str]) -> Answer:
    session.set_what(what)
    return {"what": what}


def _flush(session: Controllable) -> Answer:
    return {"size": session.flush()}


def _rotate(session: Controllable) -> Answer:
    return {"path": session.rotate()}


def _dump(session: Controllable, path: str | None) -> Answer:
    return {"path": session.dump(path)}


def _method(declared: Callable[..., Any]) -> Callable[..., Answer]:
    """The recorder's own method of that name, whose result is the answer."""

    def do(session: Controllable, **arguments: Any) -> Answer:
        answer: Answer = getattr(session, declared.__name__)(**arguments)
        return answer

    return do


COMMANDS = {
    "status": Command(_method(Controllable.status), _nothing),
    "pause": Command(_method(Controllable.pause), _nothing),
    "resume": Command(_method(Controllable.resume), _nothing),
    "start": Command(_method(Controllable.resume), _nothing),
    "mark": Command(_method(Controllable.mark), _mark_of),
    "rate": Command(_set_rate, _rate_of),
    "what": Command(_set_what, _what_of),
    "flush": Command(_flush, _nothing),
    "rotate": Command(_rotate, _nothing),
    "dump": Command(_dump, _file_of),
    "hot": Command(_method(Controllable.hot), _hot_of),
    "probe": Command(_method(Controllable.probe), _probe_of),
    "stop": Command(_method(Controllable.stop), _end_of, ends=True),
    "detach": Command(_method(Controllable.stop), _end_of, ends=True),
    "rotate_soon": Command(_method(Controllable.rotate_soon)),
    "root": Command(_method(Controllable.set_root)),
    "listen": Command(_method(Controllable.listen)),
    "names": Command(_method(Controllable.set_names)),
    "not_entered": Command(_method(Controllable.set_not_entered)),
    "entered": Command(_method(Controllable.set_entered)),
    "running": Command(_method(Controllable.set_running)),
    "exit": Command(_method(Controllable.set_exit)),
    "disarm": Command(_method(Controllable.disarm)),
}
VERBS = tuple(verb for verb, command in COMMANDS.items() if command.check is not None)
"""Those that the control socket accepts."""
