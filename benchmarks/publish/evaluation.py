"""Puts measured tables into docs/evaluation.md, between the marks that name their part.

And the lines of the README that tell figures: each is one of that page's.
"""

from __future__ import annotations

from pathlib import Path

from publish import plots
from publish.markdown import Section

ROOT = Path(__file__).resolve().parents[2]
PATH = ROOT / "docs" / "evaluation.md"
README = ROOT / "README.md"
IMAGES = ROOT / "docs" / "images"

TOLD = (
    "overhead at 100 Hz",
    "a sample, 100 times a second",
    "overhead at 1000 Hz",
    "sonde, lost + undecodable at 1000 Hz",
    "sonde, impossible of",
    "overhead of counting calls",
    "a window of calls, 100 times a second",
    "counted calls, mean overlap",
)
"""How the lines begin that the README has."""


def put(section: Section, about: str) -> None:
    """Replaces what stands between the marks of a part; each part says when it was measured."""
    for picture in section.pictures:
        plots.draw(picture.kind, picture.data, IMAGES / f"{picture.name}.svg")
    _between(PATH, section.name, f"{about}\n\n{section.text()}")
    put_figures()


def put_figures() -> None:
    lines = [line for line in PATH.read_text().splitlines() if line.startswith("- ")]
    found = [line for start in TOLD for line in lines if line.startswith(f"- {start}")]
    _between(README, "figures", "\n".join(found) + "\n")


def _between(path: Path, part: str, inside: str) -> None:
    text = path.read_text()
    begin, end = f"<!-- {part} -->", f"<!-- /{part} -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"{path.name} has no place for the tables of {part}")
    path.write_text(f"{before}{begin}\n\n{inside}\n{end}{after}")
