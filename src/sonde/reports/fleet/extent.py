"""What an answer of a store stands on, in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sonde.reports.layout.page import line, paragraph
from sonde.views.selecting.formatting import count, percent

if TYPE_CHECKING:
    from rich.console import Console

    from sonde.fleet.queries.inventory import Extent


def render(extent: Extent, out: Console) -> None:
    said = (
        f"{count(extent.recordings, 'recording')} of {count(extent.hosts, 'host')}, "
        f"{count(extent.taken, 'sample')}"
    )
    poor = extent.lost + extent.undecodable
    if poor:
        share = percent(poor / max(extent.taken + extent.lost, 1), 1)
        said += f", {share} of them lost or undecodable"
    paragraph(out, f"{said}.")
    line(out)
