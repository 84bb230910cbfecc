"""The documentation does what it says: its links lead somewhere and its commands run."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/results/*.md")]
)
SONDE = [sys.executable, "-c", "import sys; from sonde.cli.main import main; sys.exit(main())"]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "src")}

APP = """
import time
def work():
    return sorted(str(number) for number in range(1000))
start = time.thread_time()
while time.thread_time() < start + 0.1:
    work()
"""


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text())
    missing = [to for to in links if "://" not in to and not (page.parent / to).exists()]
    assert not missing


def anchors(page: Path) -> set[str]:
    """Of the headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_headings_lead_to_one(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]*)#([^)]+)\)", page.read_text())
    missing = [
        f"{to}#{anchor}"
        for to, anchor in links
        if "://" not in to and anchor not in anchors(page.parent / to if to else page)
    ]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_in_the_documentation_is_python(page: Path) -> None:
    for block in blocks(page, "python"):
        # Parsed only: a tutorial may show the end of a function.
        ast.parse(block, page.name)


@pytest.mark.parametrize(
    "verb", ["run", "attach", "top", "ctl", "report", "view", "diff", "export", "doctor"]
)
def test_every_option_is_documented(verb: str) -> None:
    told = subprocess.run(
        [*SONDE, verb, "--help"], env=ENVIRONMENT, capture_output=True, text=True, check=True
    ).stdout
    page = (ROOT / "docs" / "reference" / "commands" / f"{verb}.md").read_text()
    options = re.findall(r"^  (?:(-\w), )?(--[\w-]+)", told, re.MULTILINE)
    assert len(options) > 1
    for short, long in options:
        assert long == "--help" or long in page or (short and f"{short} " in page), long


def test_the_python_of_the_readme_runs(tmp_path: Path) -> None:
    (snippet,) = blocks(ROOT / "README.md", "python")
    done = subprocess.run(
        [sys.executable, "-c", APP + snippet],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "part.sonde").exists()


def test_figures_are_those_of_the_results(tmp_path: Path) -> None:
    make = (
        "import sys; from pathlib import Path; from publish import evaluation; "
        "Path(sys.argv[1]).write_text(evaluation.evaluation_page()); "
        "Path(sys.argv[2]).write_text(evaluation.readme())"
    )
    page, readme = tmp_path / "evaluation.md", tmp_path / "README.md"
    subprocess.run(
        [sys.executable, "-c", make, page, readme], cwd=ROOT / "benchmarks", timeout=60, check=True
    )
    assert (ROOT / "docs" / "explanation" / "evaluation.md").read_text() == page.read_text()
    assert (ROOT / "README.md").read_text() == readme.read_text()


def test_the_readme_has_no_other_figures() -> None:
    readme = (ROOT / "README.md").read_text()
    before, _, rest = readme.partition("<!-- figures -->")
    figures, _, after = rest.partition("<!-- /figures -->")
    assert "%" in figures
    # What else it says is no figure of a measurement.
    prose = re.sub(r"```.*?```|`[^`]*`", "", before + after, flags=re.DOTALL)
    assert not re.findall(r"\d[\d.,]* ?(?:%|‰|[µmn]s\b|×|MB\b|Hz\b|kHz\b)", prose)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_json_in_the_documentation_is_json(page: Path) -> None:
    for block in blocks(page, "json"):
        json.loads(block)
