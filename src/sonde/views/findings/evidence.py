"""What the rules behind the findings look at, and what they say."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from sonde.row_values import BUILT_IN
from sonde.views.selecting.own_code import OUTSIDE
from sonde.views.selecting.profile import Function, Profile, profile
from sonde.views.selecting.span_filter import SpanAttribute
from sonde.views.stacks.own_flat import OwnRow, own_flat

if TYPE_CHECKING:
    from sonde.recording.tables import Recording
    from sonde.views.selecting.selection import Selection


@dataclass(frozen=True)
class Finding:
    """A sentence, its evidence, the share of time it is about, and a command that shows it."""

    title: str
    detail: str
    share: float
    view: str

    def to_json(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "detail": self.detail,
            "share": self.share,
            "view": self.view,
        }


@dataclass(frozen=True)
class Evidence:
    """What the rules look at, made only when one asks."""

    recording: Recording
    selection: Selection

    @cached_property
    def running(self) -> Profile:
        return profile(self.recording, self.selection.with_time("running"), merge_lines=True)

    @cached_property
    def running_lines(self) -> Profile:
        return profile(self.recording, self.selection.with_time("running"))

    @cached_property
    def own(self) -> list[OwnRow]:
        """The program's own functions, with the CPU time of the libraries that they call."""
        rows = own_flat(self.recording, self.selection.with_time("running")).rows
        return [row for row in rows if isinstance(row, OwnRow) and row.function != OUTSIDE]

    @cached_property
    def waiting(self) -> Profile:
        return profile(self.recording, self.selection.with_time("waiting"), merge_lines=True)

    def command(self, view: str, *options: str) -> str:
        """The report that shows what a finding says, of the same part of the recording."""
        chosen = self.selection
        words = ["sonde", "report", self.recording.path, view, *options]
        if chosen.thread is not None:
            words += ["--thread", str(chosen.thread)]
        if chosen.process is not None:
            words += ["--process", str(chosen.process)]
        if isinstance(chosen.span, SpanAttribute):
            words += ["--attribute", "=".join(chosen.span)]
        elif chosen.span is not None:
            words += ["--span", chosen.span]
        if chosen.start_ns is not None:
            words += ["--from", f"{chosen.start_ns / 1e9:g}"]
        if chosen.end_ns is not None:
            words += ["--to", f"{chosen.end_ns / 1e9:g}"]
        return shlex.join(words)


def place(function: Function) -> str:
    """A function with where it stands, as far as it stands anywhere."""
    if function.file == BUILT_IN or not function.file:
        return function.name
    return f"{function.name} ({PurePath(function.file).name}:{function.line})"
