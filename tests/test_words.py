"""The documentation uses the field's terms, as docs/reference/glossary.md defines them."""

from __future__ import annotations

import re
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


def replaced_words(markdown: str) -> list[str]:
    found = []
    for words, instead in REPLACED.items():
        # A line break is a blank.
        pattern = rf"\b(?:{words})\b".replace(" ", r"\s+")
        for match in re.finditer(pattern, prose(markdown), re.IGNORECASE):
            line = markdown.count("\n", 0, match.start()) + 1
            word = " ".join(match[0].split())
            found.append(f"line {line}: {word!r}; write instead: {instead}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_use_the_terms_of_the_field(page: Path) -> None:
    assert not replaced_words(page.read_text())


def test_a_replaced_word_is_found() -> None:
    assert len(replaced_words("The owner\nlets\ngo of it, as told by the call chain.")) == 3


def test_code_output_and_links_are_not_prose() -> None:
    assert not replaced_words("```\ntold\n```\n`--taken THIEF` and [seen](#what-a-tick-costs)")
