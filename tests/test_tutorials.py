"""The tutorials show what their commands print, as far as it is the same each time."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import terminal
import tutorials

NUMBER = re.compile(r"\d[\d.,]*")
TITLE = re.compile(r"^  \d+\. (.*)$", re.MULTILINE)
PLACE = re.compile(r"examples/\w+\.py:\d+")


def headers(output: str) -> set[tuple[str, ...]]:
    """The lines above the columns of tables."""
    columns = [re.split(r"  +", line.strip()) for line in output.splitlines() if line[:1] == " "]
    return {
        tuple(names) for names in columns if len(names) > 2 and not NUMBER.search("".join(names))
    }


@pytest.mark.parametrize("page", tutorials.PAGES, ids=lambda page: page.stem)
def test_outputs_are_those_of_the_commands(page: Path, tmp_path: Path) -> None:
    folder = tutorials.prepared(tmp_path)
    steps = tutorials.steps(page)
    assert len(steps) > 4
    for step in steps:
        again = tutorials.run(step.command, folder)
        if step.command.startswith(("sonde run", "sonde view")):
            assert NUMBER.sub("#", again) == NUMBER.sub("#", step.output), step.command
            continue
        assert set(TITLE.findall(step.output)) <= set(TITLE.findall(again)), step.command
        assert headers(step.output) == headers(tutorials.shown(again, step.output)), step.command
        if place := PLACE.search(step.output):
            assert place[0] in again, step.command


@pytest.mark.parametrize("page", tutorials.PAGES, ids=lambda page: page.stem)
def test_code_of_the_examples_is_theirs(page: Path) -> None:
    """Each line of Python that a tutorial quotes is in the example that it is about."""
    text = page.read_text()
    (example,) = set(re.findall(r"examples/\w+\.py", text))
    source = {line.strip() for line in (tutorials.ROOT / example).read_text().splitlines()}
    quoted = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    for line in "".join(quoted).splitlines():
        assert line.strip() in source


def test_as_many_paragraphs_as_before() -> None:
    assert tutorials.shown("one\n\ntwo\n\nthree\n", "1\n\n2\n...\n") == "one\n\ntwo\n...\n"
    assert tutorials.shown("one\n\ntwo\n", "1\n") == "one\n\ntwo\n"


def test_the_image_of_the_terminal() -> None:
    image = terminal.IMAGE.read_text()
    assert len(image) < 300_000
    assert "@media (prefers-reduced-motion: no-preference)" in image
    svg = ET.fromstring(image)
    name = "{http://www.w3.org/2000/svg}"
    shown = {
        kind: [
            text.text
            for group in svg.iter(f"{name}g")
            for text in group.iter(f"{name}text")
            if kind in group.attrib["class"].split() or not kind
        ]
        for kind in ("", "still")
    }
    assert "Findings" in shown["still"]
    for command in terminal.COMMANDS:
        assert f"{terminal.PROMPT}{command}" in shown[""]


def test_a_row_is_visible_while_it_is_on_the_screen() -> None:
    def rows(text: str) -> tuple[terminal.Row, ...]:
        row = ((0, text, ("default", False)),) if text else ()
        return (row, *[()] * (terminal.ROWS - 1))

    screens = [
        terminal.Screen(at, rows(text))
        for at, text in [(0.0, "a"), (1.0, "b"), (2.0, "b"), (3.0, ""), (4.0, "")]
    ]
    found = [
        (period.text[0][1], period.start, period.end, period.still)
        for period in terminal.periods(screens, 2)
    ]
    assert found == [("a", 0.0, 1.0, False), ("b", 1.0, 3.0, True)]
