"""What the examples are said to show is found in their recordings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
