"""What scripts/docs.py gives to Sphinx: links, tables of contents, generated pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import docs
import docs_reference
from sonde.opened import OpenedRecording


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "source"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(docs, "SOURCE", folder)
        docs.stage()
    return folder


def contents(index: Path) -> list[Path]:
    (listed,) = re.findall(
        r"^```\{toctree\}\n:hidden:\n\n(.*?)\n```", index.read_text(), re.S | re.M
    )
    return [(index.parent / f"{name}.md").resolve() for name in listed.splitlines()]


def test_every_page_is_in_one_table_of_contents(staged: Path) -> None:
    listed = [page for index in staged.rglob("index.md") for page in contents(index)]
    pages = {page.resolve() for page in staged.rglob("*.md")} - {(staged / "index.md").resolve()}
    assert set(listed) == pages
    assert len(listed) == len(pages)


def test_links_out_of_the_folder_lead_to_copies(staged: Path) -> None:
    for page in staged.rglob("*.md"):
        text = docs.FENCED.sub("", page.read_text())
        for to, _ in docs.LINK.findall(text):
            if "://" not in to and to != "api.md":
                target = (page.parent / to).resolve()
                assert target.is_file(), f"{page}: {to}"
                assert target.is_relative_to(staged.resolve())


def test_links_in_code_stay(tmp_path: Path) -> None:
    needed: list[Path] = []
    text = "[a](../CHANGELOG.md#x)\n```\n[b](../CHANGELOG.md)\n```\n"
    again = docs.relinked(text, docs.DOCS / "index.md", needed.append)
    assert again == "[a](project/CHANGELOG.md#x)\n```\n[b](../CHANGELOG.md)\n```\n"
    assert needed == [docs.ROOT / "CHANGELOG.md"]


def test_a_link_to_nothing_is_an_error() -> None:
    with pytest.raises(SystemExit, match=r"docs/index\.md: the link nowhere\.md leads to no file"):
        docs.relinked("[a](nowhere.md)", docs.DOCS / "index.md", lambda _: None)


def test_every_verb_has_its_options(staged: Path) -> None:
    verbs = docs_reference.verbs()
    assert {"run", "attach", "report", "fleet", "doctor"} <= set(verbs)
    for verb in verbs:
        page = (staged / "reference" / "commands" / f"{verb}.md").read_text()
        assert "--help" in page
        assert f"sonde {verb}" in page
    assert "--rate HZ ``" in verbs["run"]
    assert "## sonde fleet prune" in verbs["fleet"]


def test_the_python_api_has_what_the_views_return() -> None:
    page = docs_reference.python_api()
    views = [name for name in vars(OpenedRecording) if not name.startswith("_")]
    assert len(views) > 10
    for name in ("Summary", "Tree", "FlatRow", "LockTable", "StartUp", "Quality"):
        assert re.search(rf"autoclass:: sonde\.views\.[\w.]+\.{name}$", page, re.M), name
