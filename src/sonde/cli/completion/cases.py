"""What scripts of bash and zsh are filled with: branches of `case` for each command's words."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sonde.cli.completion.words import Command, Values

    Described = Callable[[Iterable[tuple[str, str]]], str]
    """Offers words that have a description."""


def filled(script: str, root: Command, offer: Described) -> str:
    commands = list(root.all())
    takes = [(c, o) for c in commands for o in c.options if o.values is not None]
    parts = {
        "COMMANDS": _either(_at(c.path) for c in commands[1:]),
        "TAKES": _either(f"{_at(c.path)} {name}" for c, o in takes for name in o.names),
        "VALUES": _cases(
            (_either(f"{_at(c.path)} {name}" for name in o.names), _adds(o.values))
            for c, o in takes
            if o.values is not None and (o.values.kinds or o.values.words)
        ),
        "OPTIONS": _cases(
            (shlex.quote(_at(c.path)), [offer((n, o.help) for o in c.options for n in o.names)])
            for c in commands
        ),
        "ARGUMENTS": _cases(
            (
                shlex.quote(_at(c.path)),
                [
                    *([offer((b.path[-1], b.help) for b in c.commands)] if c.commands else []),
                    *_adds(c.arguments),
                ],
            )
            for c in commands
        ),
    }
    for name, part in parts.items():
        script = script.replace(f"@{name}@", part)
    return script


def added(kind: str, words: Iterable[str]) -> str:
    """A call of the function that both scripts have for it."""
    return shlex.join(["_sonde_add", kind, *words])


def _at(path: tuple[str, ...]) -> str:
    return "".join(f" {name}" for name in path)


def _either(words: Iterable[str]) -> str:
    return "|".join(map(shlex.quote, words))


def _cases(cases: Iterable[tuple[str, list[str]]]) -> str:
    return "\n".join(f"        {when}) {'; '.join(then) or ':'} ;;" for when, then in cases)


def _adds(values: Values | None) -> list[str]:
    if values is None:
        return []
    found = [added("list" if values.is_list else "words", values.words)] if values.words else []
    return found + [added(kind, ()) for kind in values.kinds]
