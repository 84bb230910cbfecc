"""Help, messages and the web UI use the words of the field, not the private ones they replaced."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer
from typer.main import get_command

from sonde.cli.main import app

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]

# Each pattern with what to write instead.
REPLACED = {
    r"\bcall[- ]chains?\b": "call stack",
    r"\b(without|for) a core\b|\boff by the scheduler\b": "run-queue latency",
    r"\bpreempted\b": "runnable",
    r"\blet(s|ting)? ((it|the \w+|\{\w+\}) )?go\b": "release",
    r"\bblam(e|es|ed|ing)\b": "attributed to",
    r"\bfought\b|\bfights?\b": "contended",
    r"\b(for|gives?|gave) (a|the) signal\b|\b(waits?|for) signals?\b": "notification",
    r"\bown (cost|time)\b": "overhead, self time",
    r"\bdear(er|est)?\b": "expensive",
    r"\bhow sure\b|% sure\b|\bgood to ±": "margin of error",
    r"\b(be|is|are|was) entered\b|\bcomes? in\b": "attach",
    r"\bhypervisor (took|takes)\b|\bthie(f|ves)\b": "steal time",
    r"\bparts\b|\b(new|next|finished) part\b|\bseams?\b": "segment",
    r"\bmade (by|in|code)\b|\bobjects? made\b": "allocation, JIT-compiled code",
    r"\bpictures?\b": "snapshot",
    r"\b(is|are|was|were|be) gone\b": "lost, exited, deleted",
    r"\b(tell|tells|told)\b": "report, show",
    r"\bspeaks?\b": "no problems found",
    r"\b(nobody|somebody|whoever)\b": "name the actor",
    r"\bmanieth\b|\bso (many|much)\b|\bif not given\b": "[default: X]",
    r"\bprocess ids?\b": "PID",
    r"\basked for\b": "requested",
    r"\bthe page\b": "web UI",
    r"\bstand(s|ing)? (still|alone|as)\b|\bgo(es)? on\b": "stop, appear, continue",
}

ALLOWED = {"reload the page": "what a browser has is a page"}
"""Where a word is right, with the reason."""


def wrong_words(text: str) -> list[str]:
    for allowed in ALLOWED:
        text = text.replace(allowed, "")
    found = []
    for pattern, instead in REPLACED.items():
        if match := re.search(pattern, text):
            found.append(f"{match[0]!r} (write: {instead}) in {text!r}")
    return found


def commands(command: Any, ctx: Any) -> Iterator[tuple[str, str]]:
    """Each command with its help."""
    yield ctx.command_path, command.get_help(ctx)
    for name in command.list_commands(ctx) if hasattr(command, "list_commands") else ():
        child = command.get_command(ctx, name)
        yield from commands(child, typer.Context(child, parent=ctx, info_name=name))


def test_help() -> None:
    root: Any = get_command(app)
    found = dict(commands(root, typer.Context(root, info_name="sonde")))
    assert {"sonde", "sonde run", "sonde ctl", "sonde fleet add"} <= set(found)
    assert [wrong for text in found.values() for wrong in wrong_words(" ".join(text.split()))] == []


def is_text(value: object) -> bool:
    """Names of tables, columns and keys are one word in lower case."""
    return isinstance(value, str) and (" " in value.strip() or value[:1].isupper())


def strings(source: str) -> Iterator[tuple[int, str]]:
    """What code may show: strings, without docstrings and with `{…}` for inserted values."""
    tree = ast.parse(source)
    hidden: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            hidden.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            hidden.update(id(inner) for inner in ast.walk(node) if inner is not node)
            if id(node) not in hidden:
                parts = (p.value if isinstance(p, ast.Constant) else "{x}" for p in node.values)
                yield node.lineno, "".join(map(str, parts))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in hidden and is_text(node.value):
            yield node.lineno, node.value


SOURCES = sorted((ROOT / "src" / "sonde").rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT / "src" / "sonde")))
def test_strings_of_the_source(path: Path) -> None:
    assert [
        f"line {line}: {wrong}"
        for line, text in strings(path.read_text())
        for wrong in wrong_words(text)
    ] == []


def scripts() -> list[Path]:
    return sorted((ROOT / "ui" / "src").rglob("*.ts"))


LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`')


@pytest.mark.parametrize("path", scripts(), ids=lambda p: str(p.relative_to(ROOT / "ui" / "src")))
def test_texts_of_the_web_ui(path: Path) -> None:
    # Comments hold quotes of their own.
    source = re.sub(r"/\*.*?\*/|^\s*//.*?$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    texts = (re.sub(r"\$\{[^}]*\}", "{x}", text[1:-1]) for text in LITERAL.findall(source))
    assert [wrong for text in texts if " " in text for wrong in wrong_words(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "the whole call chain that waited",
        "process 7 tells nothing of its locks",
        "the program did not let {held} go for 2 s",
        "2 processes could not be entered",
        "wrap: at most so much; 64MiB if not given.",
        "Nothing speaks against these figures.",
    ],
)
def test_replaced_words_are_found(text: str) -> None:
    assert wrong_words(text)
    assert not wrong_words("the call stack of the lock holder; run-queue latency and steal time")
