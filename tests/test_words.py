"""Documentation, messages and comments use the field's terms, as docs/reference/glossary.md defines
them."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]

# Only words that have no other use in these pages: each pattern, and what to write instead.
REPLACED = {
    r"(fore)?tell|(fore)?tells|(fore)?told|telling": "report, show, state; distinguish",
    r"call chains?|chains? of calls": "call stack",
    r"blam(e|ed|es|ing)": "attribute to, cause",
    r"le(t|ts|tting) (it |the lock |the GIL )?go": "release",
    r"thief|thieves|hypervisor took": "steal time, CPU throttling",
    r"f(ight|ights|ought|ighting)": "contend, contention",
    r"off by the scheduler|ready without a core": "runnable",
    r"seams?": "segment boundary",
    r"dear|dearer": "expensive",
    r"manieth": "every Nth",
    r"without ado": "directly",
    r"st(and|ands|ood) still": "stop",
    r"speaks? against": "name the problem",
    r"own cost|what \w+ costs?": "overhead",
    r"made code": "JIT-compiled code",
    r"pictures?": "snapshot; image",
    r"gone": "lost, removed",
    r"unless told": "by default",
    r"if not given": "[default: X]",
    r"anew": "again",
    r"for want of": "for lack of",
    r"figures? (is|are|of|with|that)": "number",
}


def prose(markdown: str) -> str:
    """The text with code, quoted output and link targets blanked out; lines stay in place."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0])

    markdown = re.sub(r"^```.*?^```", blank, markdown, flags=re.DOTALL | re.MULTILINE)
    markdown = re.sub(r"<!-- figures -->.*?<!-- /figures -->", blank, markdown, flags=re.DOTALL)
    markdown = re.sub(r"(`+)[^`].*?\1", blank, markdown, flags=re.DOTALL)
    return re.sub(r"\]\([^)]*\)", blank, markdown)


# A line break is a blank.
PATTERNS = [
    (re.compile(rf"\b(?:{words})\b".replace(" ", r"\s+"), re.IGNORECASE), instead)
    for words, instead in REPLACED.items()
]


def words_in(text: str, first_line: int = 1) -> list[str]:
    found = []
    for pattern, instead in PATTERNS:
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + first_line
            word = " ".join(match[0].split())
            found.append(f"line {line}: {word!r}; write instead: {instead}")
    return found


def replaced_words(markdown: str) -> list[str]:
    return words_in(prose(markdown))


def python_words(source: str) -> Iterator[tuple[int, str]]:
    """Comments, docstrings and texts with their lines; a word alone is a key or an option."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        text = token.type in (tokenize.COMMENT, tokenize.STRING) or (
            tokenize.tok_name[token.type] == "FSTRING_MIDDLE"
        )
        if text and " " in token.string:
            yield token.start[0], token.string


C_WORDS = re.compile(
    r"//[^\n]*(?:\n\s*//[^\n]*)*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|`[^`]*`", re.DOTALL
)


def c_words(source: str) -> Iterator[tuple[int, str]]:
    """The same of C and TypeScript."""
    for match in C_WORDS.finditer(source):
        if " " in match[0]:
            yield source.count("\n", 0, match.start()) + 1, re.sub(r"\$\{[^}]*\}", "", match[0])


def source_words(path: Path) -> list[str]:
    words = python_words if path.suffix == ".py" else c_words
    return [one for line, text in words(path.read_text()) for one in words_in(text, line)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_use_the_terms_of_the_field(page: Path) -> None:
    assert not replaced_words(page.read_text())


SOURCES = {
    "src/sonde": ("*.py",),
    "native": ("*.c", "*.h"),
    "ui/src": ("*.ts",),
}


@pytest.mark.parametrize("folder", SOURCES)
def test_messages_and_comments_use_the_terms_of_the_field(folder: str) -> None:
    files = [path for kind in SOURCES[folder] for path in sorted((ROOT / folder).rglob(kind))]
    assert files
    found = {str(path.relative_to(ROOT)): source_words(path) for path in files}
    assert not {path: words for path, words in found.items() if words}


def test_words_of_sources_are_found() -> None:
    python = 'key = "told"\n# as told\nprint(f"{key} is told so")\n'
    assert [line for line, _ in python_words(python)] == [2, 3]
    assert sum(len(words_in(text, line)) for line, text in python_words(python)) == 2
    c = 'int gone; // it is gone\nputs("gone"); puts("all gone");'
    assert sum(len(words_in(text, line)) for line, text in c_words(c)) == 2


def test_a_replaced_word_is_found() -> None:
    assert len(replaced_words("The owner\nlets\ngo of it, as told by the call chain.")) == 3


def test_code_output_and_links_are_not_prose() -> None:
    assert not replaced_words("```\ntold\n```\n`--taken THIEF` and [seen](#what-a-tick-costs)")
