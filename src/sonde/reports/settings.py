"""The settings that apply in the working directory, and where they come from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

from sonde.reports.layout.names import printable
from sonde.reports.layout.page import heading, line, paragraph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console


class Row(Protocol):
    @property
    def verb(self) -> str: ...
    @property
    def option(self) -> str: ...
    @property
    def value(self) -> Any: ...
    @property
    def origin(self) -> str: ...


class Settings(Protocol):
    @property
    def file(self) -> str | None: ...
    @property
    def source(self) -> Sequence[str]: ...
    @property
    def rows(self) -> Sequence[Row]: ...
    @property
    def problems(self) -> Sequence[str]: ...


def render(result: Settings, out: Console) -> None:
    if not (result.rows or result.source or result.problems):
        return
    heading(out, "Settings")
    if result.source:
        line(out, f"  source = {printable(', '.join(result.source))}")
    for row in result.rows:
        value = printable(json.dumps(row.value, ensure_ascii=False))
        line(out, f"  {row.verb} --{row.option} = {value}", (f"  {printable(row.origin)}", "dim"))
    for problem in result.problems:
        paragraph(out, f"✗ {printable(problem)}", indent=0, hanging=2)
