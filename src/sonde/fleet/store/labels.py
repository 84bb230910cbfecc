"""What a recording is called in a store, and the choice of recordings by it."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from sonde.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sonde.recording.tables import Recording

LABELS = ("service", "version", "host", "container", "region")
"""Labels with a column of their own; all others are the user's."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_CONDITION = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)(!?=)(.*)", re.DOTALL)
UNNAMED = "unnamed"


@dataclass(frozen=True)
class Labels:
    known: dict[str, str | None]
    """Those with a column of their own."""
    own: dict[str, str]

    @property
    def all(self) -> dict[str, str]:
        return {name: value for name, value in self.known.items() if value} | self.own

    @property
    def service(self) -> str:
        return self.known["service"] or UNNAMED


def given(texts: Sequence[str]) -> dict[str, str]:
    """Labels as they stand on the command line: NAME=VALUE."""
    labels: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not value or not is_name(name):
            raise UsageError(f"invalid --label {text!r}; give NAME=VALUE")
        if labels.setdefault(name, value) != value:
            raise UsageError(f"--label {name} is given twice; give it once")
    return labels


def labels_of(recording: Recording, values: Mapping[str, str]) -> Labels:
    """What was given, and what the recording itself says: its program is a service by default."""
    target = recording.target
    known: dict[str, str | None] = dict.fromkeys(LABELS)
    known["service"] = _service(target)
    known["host"] = str(target.get("host") or socket.gethostname())
    for name in LABELS:
        known[name] = values.get(name) or known[name]
    return Labels(known, {name: value for name, value in values.items() if name not in LABELS})


def _service(target: Mapping[str, Any]) -> str:
    """The program; of an interpreter what it runs."""
    program = PurePath(str(target.get("program") or "")).name
    argv = target.get("argv")
    if program.startswith(("python", "java")) and isinstance(argv, list):
        program = next((str(one) for one in argv[1:] if not str(one).startswith("-")), program)
    return PurePath(program).name.removesuffix(".py") or UNNAMED


@dataclass(frozen=True)
class Condition:
    """`region=eu,us`, `version!=1.2*`: a label is one of these, or none of them."""

    label: str
    values: tuple[str, ...]
    negated: bool

    def expression(self, recordings: Any) -> Any:
        """As a column of truth values over the table of recordings."""
        column = label_in(recordings, self.label)
        matched = None
        for value in self.values:
            one = _matches(column, value)
            matched = one if matched is None else matched | one
        there = column.notnull() & matched
        return ~there if self.negated else there

    def __str__(self) -> str:
        return f"{self.label}{'!=' if self.negated else '='}{','.join(self.values)}"

    def allows(self, value: str) -> bool:
        """The same for a value that is known, as that of a folder's name is."""
        return any(_fits(value, wanted) for wanted in self.values) != self.negated


@dataclass(frozen=True)
class Exactly:
    """A label is one of these, character by character; None: the recording does not have it."""

    label: str
    values: tuple[str | None, ...]

    def expression(self, recordings: Any) -> Any:
        column = label_in(recordings, self.label)
        found = column.isin([value for value in self.values if value is not None])
        found = column.notnull() & found
        return found | column.isnull() if None in self.values else found

    def __str__(self) -> str:
        return f"{self.label}={','.join('(none)' if one is None else one for one in self.values)}"

    def allows(self, value: str) -> bool:
        return value in self.values


def label_in(recordings: Any, label: str) -> Any:
    """The column of a label, of the table of recordings."""
    return recordings[label] if label in LABELS else recordings.labels[label]


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def conditions(texts: Sequence[str]) -> list[Condition]:
    """As they stand on the command line; all must hold."""
    found = []
    for text in texts:
        match = _CONDITION.fullmatch(text.strip())
        values = tuple(part.strip() for part in match[3].split(",")) if match else ()
        if match is None or not all(values):
            raise UsageError(
                f"invalid --where {text!r}; give LABEL=VALUE or LABEL!=VALUE (commas between "
                "several values, * for any text)"
            )
        found.append(Condition(match[1], values, match[2] == "!="))
    return found


def _pieces(pattern: str) -> list[str]:
    pieces = pattern.split("*")
    if len(pieces) > 3 or (len(pieces) == 3 and (pieces[0] or pieces[2])):
        raise UsageError(
            f"invalid --where pattern {pattern!r}; valid forms: abc*, *abc, abc*xyz, *abc*"
        )
    return pieces


def _matches(column: Any, pattern: str) -> Any:
    # No regular expressions: engines differ in theirs, and in how a backslash is quoted.
    pieces = _pieces(pattern)
    if len(pieces) == 1:
        return column == pattern
    if len(pieces) == 3:
        return column.contains(pieces[1])
    return column.startswith(pieces[0]) & column.endswith(pieces[1])


def _fits(value: str, pattern: str) -> bool:
    pieces = _pieces(pattern)
    if len(pieces) == 1:
        return value == pattern
    if len(pieces) == 3:
        return pieces[1] in value
    return value.startswith(pieces[0]) and value.endswith(pieces[1])
