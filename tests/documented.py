"""The commands of the documentation: which a page shows, and which of them no test can run.

A block that cannot run has a mark above it, an HTML comment with the reason:

    <!-- not run: needs a pod -->
    <!-- not run `sonde tprof`: needs root -->      only commands that begin so
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_BLOCK = re.compile(
    r"(?P<marks>(?:^ *<!-- not run.*?-->\n+)*)"
    r"^(?P<indent> *)```(?P<language>\S*)\n(?P<text>.*?)^ *```$",
    re.DOTALL | re.MULTILINE,
)
_TERMINALS = ("", "sh", "bash", "console")
_MARK = re.compile(r"<!-- not run(?: `(?P<which>[^`]+)`)?: (?P<why>.+?) -->", re.DOTALL)
_COMMAND = re.compile(r"(?:\$ )?(sonde [a-z].*)")
_SYNOPSIS = re.compile(r"\[|…|\.\.\.|\bPID\b")
_END = re.compile(r"[|&;<>]+")


@dataclass(frozen=True)
class Block:
    """A block of a page: its commands, in order, and the marks above it."""

    page: Path
    text: str
    marks: tuple[tuple[str, str], ...]

    @property
    def commands(self) -> list[str]:
        lines = self.text.replace("\\\n", " ").splitlines()
        return [match[1] for line in lines if (match := _COMMAND.fullmatch(line))]

    @property
    def is_synopsis(self) -> bool:
        """Whether it shows how a call is built instead of a call."""
        begin = next(iter(self.text.splitlines()), "")
        shown = "" if begin.startswith("$") else re.sub(r"  #.*|'[^']*'|\"[^\"]*\"", "", begin)
        return bool(_COMMAND.fullmatch(begin) and _SYNOPSIS.search(shown))

    def why_not_run(self, command: str) -> str | None:
        """The reason of a mark that this command has, if any."""
        reasons = [why for which, why in self.marks if command.startswith(which)]
        return reasons[0] if reasons else None


def blocks(page: Path, text: str | None = None) -> list[Block]:
    """The blocks with a command of sonde in them."""
    found = []
    for match in _BLOCK.finditer(page.read_text() if text is None else text):
        if match["language"] in _TERMINALS:
            lines = re.sub(rf"^{match['indent']}", "", match["text"], flags=re.MULTILINE)
            marks = [(mark["which"] or "", mark["why"]) for mark in _MARK.finditer(match["marks"])]
            found.append(Block(page, lines, tuple(marks)))
    return [block for block in found if block.commands]


def words_of(command: str) -> list[str]:
    """The words after `sonde`, up to a comment, a pipe or another command."""
    # What another command would print stands for itself, a process id.
    command = re.sub(r"\$\([^)]*\)", "4711", command)
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = []
    for word in lexer:
        if _END.fullmatch(word):
            break
        words.append(word)
    return words[1:]
