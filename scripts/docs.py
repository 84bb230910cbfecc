#!/usr/bin/env python3
"""Build the documentation site: docs/ and what is generated from the code become build/docs/html.

scripts/docs.py        everything; a warning is an error

The pages are read on GitHub as they are, so their links are paths of the repository. Here they get
the options of each verb and their tables of contents, and links to files outside of docs/ follow.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import docs_reference

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
RESULTS = ROOT / "benchmarks" / "results"
BUILD = ROOT / "build" / "docs"
SOURCE = BUILD / "source"
HTML = BUILD / "html"

FENCED = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")
COMMANDS = "reference/commands"
API = "reference/python.md"


def staged_path(path: Path) -> Path:
    """Where a file of the repository is on the site, relative to its root."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS)
    if path.parent == RESULTS:
        return Path("measurements") / ("index.md" if path.name == "README.md" else path.name)
    if path == ROOT / "README.md":
        return Path("index.md")
    return Path("project") / path.relative_to(ROOT)


def relinked(text: str, page: Path, needed: Callable[[Path], None]) -> str:
    """A page's text with links as on the site; `needed` gets each file that a link leads to."""
    here = staged_path(page).parent

    def link(match: re.Match[str]) -> str:
        if "://" in match[1]:
            return match[0]
        target = Path(os.path.normpath(page.parent / match[1]))
        if not target.is_file():
            raise SystemExit(f"{page.relative_to(ROOT)}: the link {match[1]} leads to no file")
        needed(target)
        return f"]({os.path.relpath(staged_path(target), here)}{match[2] or ''})"

    parts = FENCED.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)


def stage() -> None:
    """Everything that Sphinx reads, in SOURCE."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(DOCS, SOURCE, ignore=shutil.ignore_patterns("__pycache__", "*.md"))
    pending = [*DOCS.rglob("*.md"), *RESULTS.glob("*.md")]
    pending += [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    done: set[Path] = set()
    while pending:
        path = pending.pop()
        to = SOURCE / staged_path(path)
        if path in done or path == ROOT / "README.md":
            continue
        done.add(path)
        to.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            to.write_text(relinked(path.read_text(), path, pending.append))
        else:
            shutil.copyfile(path, to)
    add_options()
    (SOURCE / API).write_text(docs_reference.python_api())
    for index in sorted(SOURCE.rglob("index.md")):
        index.write_text(with_contents(index))


def add_options() -> None:
    """To each verb's page its options, and a page for a verb that has none."""
    sentences = docs_reference.first_sentences()
    for verb, options in docs_reference.verbs().items():
        page = SOURCE / COMMANDS / f"{verb}.md"
        text = page.read_text() if page.exists() else f"# sonde {verb}\n\n{sentences[verb]}\n"
        page.write_text(f"{text.rstrip()}\n\n{options}")


def with_contents(index: Path) -> str:
    """An index with the table of contents for the side bar: the pages that it links to in their
    order, then the others of its folder."""
    text = index.read_text()
    linked = [Path(os.path.normpath(index.parent / to)) for to, _ in LINK.findall(text)]
    pages = [page for page in linked if page.suffix == ".md"]
    if index.parent != SOURCE:
        pages = [page for page in pages if page.is_relative_to(index.parent)]
        pages += sorted(index.parent.glob("*.md"))
    entries = dict.fromkeys(os.path.relpath(page, index.parent)[:-3] for page in pages)
    entries.pop("index", None)
    listed = "\n".join(entries)
    return f"{text.rstrip()}\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"


def main() -> None:
    stage()
    sphinx = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "2"]
    done = subprocess.run([*sphinx, "-d", BUILD / "doctrees", SOURCE, HTML], check=False)
    if done.returncode:
        sys.exit(done.returncode)
    print(HTML / "index.html")


if __name__ == "__main__":
    main()
