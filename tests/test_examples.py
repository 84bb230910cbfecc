"""What the examples are said to show is found in their recordings."""

from __future__ import annotations

import functools
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from launching import Interpreter, must_run, sonde
from matrix import NEWEST
from sonde import open as open_recording
from sonde.recording.reader import read
from sonde.views.summary import summary

ROOT = Path(__file__).parents[1]
SONDE = [sys.executable, "-c", "import sys; from sonde.cli.main import main; sys.exit(main())"]


def recorded(tmp_path: Path, *options: str) -> list[str]:
    out = tmp_path / "checkout.sonde"
    program = str(ROOT / "examples" / "checkout.py")
    subprocess.run(
        [*SONDE, "run", "--what", "cpu,waits,locks", "-o", str(out), program, *options],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        timeout=120,
        check=True,
    )
    return [finding.title for finding in summary(read(out)).findings]


def test_the_checkout_has_three_things_wrong(tmp_path: Path) -> None:
    wanted = {"distance is hot", "Statistics.look holds the GIL while others wait"}
    titles = recorded(tmp_path)
    if not wanted <= set(titles):
        # On a busy machine the clerks may keep each other from the GIL more than that.
        titles = recorded(tmp_path)
    assert wanted <= set(titles)
    assert any(title.startswith("contention for self.lock") for title in titles)


def test_and_none_of_them_once_repaired(tmp_path: Path) -> None:
    titles = recorded(tmp_path, "--repaired")
    assert "Statistics.look holds the GIL while others wait" not in titles
    assert not any(title.startswith("contention for self.lock") for title in titles)


def test_the_shop_adapts_to_its_own_profile() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "adapts.py")],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "meant remembers from now on" in done.stdout
    assert "yearly is left alone" in done.stdout
    assert "yearly remembers" not in done.stdout
    served = [float(line.split()[2].replace(",", "")) for line in done.stdout.splitlines()[:-1]]
    assert max(served[1:]) > 10 * served[0]


@dataclass(frozen=True)
class Variants:
    """An example's recordings, with its problems and without."""

    name: str
    slow: Path
    fixed: Path

    def findings(self, path: Path) -> dict[str, str]:
        """Titles and details."""
        done = sonde("report", path, "--json")
        assert done.returncode == 0, done.stderr
        return {found["title"]: found["detail"] for found in json.loads(done.stdout)["findings"]}

    def fell(self, function: str) -> None:
        """Samples in the function became fewer than chance explains; the work is the same."""
        before, after = samples(self.slow, function), samples(self.fixed, function)
        assert before - 3 * math.sqrt(before) > after + 3 * math.sqrt(after), (before, after)


def samples(path: Path, function: str, process: int | None = None) -> float:
    """About how many samples were in the function or below it."""
    found = open_recording(path).flat(process=process)
    each = found.total_ns / max(1, sum(row.samples for row in found.rows))
    return sum(row.total_ns for row in found.rows if row.function.name == function) / each


@pytest.fixture(scope="module")
def variants(python: Interpreter, keep: Callable[[str], Path]) -> Callable[[str], Variants]:
    @functools.cache
    def record(name: str) -> Variants:
        program = ROOT / "examples" / f"{name}.py"
        paths = [keep(name), keep(f"{name}-fixed")]
        outs = [
            must_run(path, [python.path, str(program), *options]).out
            for path, options in zip(paths, ([], ["--fixed"]), strict=True)
        ]
        # The same work, whatever time it takes.
        assert re.sub(r"in .* s", "", outs[0]) == re.sub(r"in .* s", "", outs[1])
        return Variants(name, *paths)

    return record


@pytest.mark.versions(NEWEST)
def test_the_webshop(variants: Callable[[str], Variants]) -> None:
    shop = variants("webshop")
    before, after = shop.findings(shop.slow), shop.findings(shop.fixed)
    source = (ROOT / "examples" / "webshop.py").read_text().splitlines()
    line = re.search(r"of that in line (\d+)", before["unique is hot"])
    assert line
    assert source[int(line[1]) - 1].strip() == "if article not in found:"
    (contended,) = [title for title in before if title.startswith("contention for self.lock")]
    assert "attributed to Stock.reserve" in before[contended]
    assert "unique is hot" not in after
    assert contended not in after
    shop.fell("Catalogue.related")


@pytest.mark.versions(NEWEST)
def test_the_workers(variants: Callable[[str], Variants]) -> None:
    workers = variants("workers")
    hog = "Journal.save holds the GIL while others wait"
    assert hog in workers.findings(workers.slow)
    assert hog not in workers.findings(workers.fixed)
    workers.fell("Journal.save")

    def busiest(path: Path) -> float:
        """The share of the worker that counts the most words."""
        processes = open_recording(path).summary().processes
        counted = [samples(path, "count_words", process.pid) for process in processes]
        return max(counted) / sum(counted)

    # By the lengths of its texts, it has 70 %.
    assert busiest(workers.slow) > 0.6
    assert busiest(workers.fixed) < busiest(workers.slow)


@pytest.mark.versions(NEWEST)
def test_the_sales(variants: Callable[[str], Variants]) -> None:
    sales = variants("sales")
    assert "re.Pattern.search is hot" in sales.findings(sales.slow)
    assert "re.Pattern.search is hot" not in sales.findings(sales.fixed)
    for function in ("re.Pattern.search", "rates", "day"):
        sales.fell(function)
