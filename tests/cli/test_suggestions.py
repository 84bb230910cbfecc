"""A word that is almost right is answered with the right one."""

from __future__ import annotations

from pathlib import Path

import pytest

from sonde.cli.main import main
from synthetic import MS, Maker


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["repotr", "x"], "no such command 'repotr' (did you mean report?); see sonde --help"),
        (["fleet", "ad"], "no such command 'ad' (did you mean add?); see sonde fleet --help"),
        (["report", "--tpo"], "no such option: --tpo (did you mean "),
        (["run", "--waht", "x"], "no such option: --waht (did you mean --what?); see sonde"),
        (["report", "flut"], "flut is neither a recording nor a view (did you mean flat?); valid"),
        (["report", "app.sonde", "lcoks"], "invalid view 'lcoks' (did you mean locks?); valid"),
        (["run", "--report", "tre", "x"], "invalid view 'tre' (did you mean tree?); valid views: "),
        (["report", "app.sonde", "flat", "--taken", "steel"], "invalid --taken 'steel' (did you"),
        (
            ["report", "app.sonde", "locks", "--by", "owner_fucntion"],
            "invalid --by 'owner_fucntion' (did you mean owner_function?); valid values",
        ),
        (["export", "app.sonde", "-f", "prof"], "invalid format 'prof' (did you mean pprof?)"),
        (["run", "--mode", "warp", "x"], "invalid mode 'warp' (did you mean wrap?); valid modes: "),
        (["run", "--what", "lock", "x"], "invalid kind 'lock' (did you mean locks?); valid kinds "),
        (
            ["run", "--mode", "wrap", "--dump-when", "lokc wait > 1s", "x"],
            "invalid --dump-when condition 'lokc wait' (did you mean lock wait?); valid",
        ),
        (["run", "--sampler", "raeder", "true"], "invalid sampler 'raeder' (did you mean reader?)"),
        (["run", "--stacks", "hole", "true"], "invalid --stacks 'hole' (did you mean whole?)"),
        (["run", "--what", "event:cycels", "x"], "invalid event 'cycels' (did you mean cycles?)"),
        (["report", "app.sonde", "tree", "--thread", "MianThread"], "no thread 'MianThread' (did "),
        (["report", "app.sonde", "tree", "--while-held", "gli"], "no contended lock 'gli' (did yo"),
        (["ctl", "1", "puase"], "invalid command 'puase' (did you mean pause?); valid commands: "),
    ],
)  # fmt: skip
def test_almost_right(
    args: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    make = Maker()
    make.sample("main:3", MS)
    make.write("app.sonde")
    assert main(args) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"sonde: {says}")


@pytest.mark.parametrize("args", [["zzz"], ["report", "zzz"], ["export", "-f", "zzz", "x.sonde"]])
def test_nothing_like_it(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(args) == 2
    assert "did you mean" not in capsys.readouterr().err
