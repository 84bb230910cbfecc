"""The messages that docs/reference/troubleshooting.md explains are those of the sources."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "troubleshooting.md"
ROW = re.compile(r"^\| (`.*?) \| .* \| .* \|$", re.MULTILINE)
OTHER = "## A view is empty or looks wrong"
"""The section whose rows begin with what a view shows."""


def text_of(node: ast.AST, constants: dict[str, str]) -> str:
    """A text of the sources, with a mark where it has a value that is no constant."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Name):
        return constants.get(node.value.id, "\0")
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part, constants) for part in node.values)
    return "\0"


@functools.cache
def sources() -> str:
    trees = [ast.parse(path.read_text()) for path in (ROOT / "src" / "sonde").rglob("*.py")]
    constants = {
        target.id: node.value.value
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value.value, str)
    }
    return "\n".join(
        text_of(node, constants)
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    )


def messages() -> list[str]:
    before, _, rest = PAGE.read_text().partition(OTHER)
    after = rest.partition("\n## ")[2]
    return ROW.findall(before + "\n## " + after)


@pytest.mark.parametrize("message", messages())
def test_the_message_is_one_of_sonde(message: str) -> None:
    parts = [part.strip() for part in message.strip("`").split("…") if part.strip()]
    for part in parts:
        assert part in sources(), part


def test_the_page_has_many() -> None:
    assert len(messages()) > 40
