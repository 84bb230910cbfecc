"""What can be completed: commands, options and their values, as the parser has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

RECORDINGS, FILES, PIDS, PROGRAM = "recordings", "files", "pids", "program"

MAX_HELP = 70


@dataclass(frozen=True)
class Values:
    """What stands at a place of a command line."""

    kinds: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    is_list: bool = False
    """Words are joined by commas."""


@dataclass(frozen=True)
class Option:
    names: tuple[str, ...]
    help: str
    values: Values | None
    """None: it takes none."""


@dataclass(frozen=True)
class Command:
    path: tuple[str, ...]
    help: str
    options: tuple[Option, ...]
    arguments: Values
    commands: tuple[Command, ...] = ()

    def all(self) -> Iterator[Command]:
        """Itself, and all below."""
        yield self
        for command in self.commands:
            yield from command.all()


OF_METAVARS = {
    "PID": Values((PIDS,)),
    "PID|SOCKET": Values((PIDS, FILES)),
    "FILE": Values((FILES,)),
    "OUT": Values((FILES,)),
    "STORE": Values((FILES,)),
    "TO": Values((FILES,)),
    "DIR": Values((FILES,)),
}
RECORDING_METAVARS = {"FILE", "FILE2", "BASE", "NEW", "FILE...", "[FILE...] [VIEW]"}
"""Of arguments; --output FILE may be any file."""
HELP = Option(("-h", "--help"), "Show the help", None)


def words_of(root: Any, values: Mapping[str, Values]) -> Command:
    """Of the whole command line; `values` are those of an option or an argument by its name, or
    by the name with that of its command in front."""
    return _command(root, (), values, lambda name: root.get_command(None, name))


def _command(
    command: Any,
    path: tuple[str, ...],
    values: Mapping[str, Values],
    child: Callable[[str], Any],
) -> Command:
    names = command.list_commands(None) if hasattr(command, "list_commands") else ()
    below = []
    for name in names:
        found = child(name)
        if not found.hidden:
            grandchild = getattr(found, "commands", {}).get
            below.append(_command(found, (*path, name), values, grandchild))
    # Of a group that needs no further word, those of the command that is meant then.
    parameters = getattr(command, "default_command", command)
    options = [_option(p, path, values) for p in parameters.params if p.param_type_name == "option"]
    return Command(
        path,
        _brief(command.help or ""),
        (*options, HELP),
        _arguments(parameters, path, values),
        tuple(below),
    )


def _arguments(command: Any, path: tuple[str, ...], values: Mapping[str, Values]) -> Values:
    if " ".join(path) in values:
        return values[" ".join(path)]
    kinds: list[str] = []
    for parameter in command.params:
        metavar = (parameter.metavar or "").strip()
        if parameter.param_type_name != "argument":
            continue
        if metavar.strip("[]") in RECORDING_METAVARS or metavar in RECORDING_METAVARS:
            kinds.append(RECORDINGS)
        else:
            kinds += OF_METAVARS.get(metavar.strip("[]"), Values()).kinds
    return Values(tuple(dict.fromkeys(kinds)))


def _option(parameter: Any, path: tuple[str, ...], values: Mapping[str, Values]) -> Option:
    names = tuple(parameter.opts)
    found = None
    if not parameter.is_flag:
        found = OF_METAVARS.get(parameter.metavar or "", Values())
        for name in names:
            found = values.get(" ".join((*path, name)), values.get(name, found))
    return Option(names, _brief(parameter.help or ""), found)


def _brief(text: str) -> str:
    """The first clause."""
    first = re.split(r"[.;:](?:\s|$)|\s\[default|\s\(", " ".join(text.split()), maxsplit=1)[0]
    return first if len(first) <= MAX_HELP else first[: MAX_HELP - 1].rstrip() + "…"
