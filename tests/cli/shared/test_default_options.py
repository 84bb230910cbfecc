"""Options whose defaults are set in pyproject.toml or by variables."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from launching import clean_environment, sonde
from sonde.cli.main import main
from sonde.recording.reader import read
from synthetic import MS, Maker


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    make = Maker()
    make.define("parse", "/usr/lib/python3.12/site-packages/library.py", 1)
    make.sample("main:3 > load:5 > parse:12", 60 * MS)
    make.sample("main:3 > other:7", 40 * MS)
    make.write("app.sonde")
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*args: str) -> tuple[int, str, str]:
        code = main(args)
        return code, *capsys.readouterr()

    return call


def set_up(text: str) -> None:
    Path("pyproject.toml").write_text(text)


def names(out: str) -> list[str]:
    return [row["name"] for row in json.loads(out)["rows"]]


def test_a_table_of_a_verb(run: Any, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = ("report", "app.sonde", "flat", "--json")
    assert names(run(*report)[1]) == ["parse", "other", "main", "load"]
    set_up("[tool.sonde.report]\nmine = true\ntop = 1\n")
    assert names(run(*report)[1]) == ["load"]
    monkeypatch.setenv("SONDE_REPORT_TOP", "2")
    assert names(run(*report)[1]) == ["load", "other"]
    monkeypatch.setenv("SONDE_REPORT_MINE", "no")
    assert names(run(*report)[1]) == ["parse", "other"]
    assert names(run(*report, "--top", "3")[1]) == ["parse", "other", "main"]


def test_what_run_and_attach_record(project: Path) -> None:
    set_up("[tool.sonde]\nrate = 123\nwhat = '+waits'\n[tool.sonde.run]\nbudget = '50%'\n")

    def recorded(*options: str, **variables: str) -> Any:
        environment = clean_environment() | variables
        command = [sys.executable, "-c", "sum(range(10**6))"]
        done = sonde("run", "-o", "x.sonde", "--force", *options, "--", *command, env=environment)
        assert done.returncode == 0, done.stderr
        return read("x.sonde")

    found = recorded()
    assert found.quality["rate_asked"] == 123
    assert found.target["what"] == ["cpu", "locks", "waits"]
    assert found.quality["budget"]["share"] == 0.5
    assert recorded(SONDE_RATE="321").quality["rate_asked"] == 321
    assert recorded(SONDE_RATE="321", SONDE_RUN_RATE="99").quality["rate_asked"] == 99
    assert recorded("-r", "77", SONDE_RATE="321").quality["rate_asked"] == 77


def test_source_is_of_the_project(run: Any, project: Path) -> None:
    set_up("[tool.sonde]\nsource = ['library']\n")
    assert names(run("report", "app.sonde", "flat", "--mine", "--json")[1]) == [
        "parse",
        "[no code of yours]",
    ]
    set_up("[tool.sonde]\nsource = ['missing']\n")
    code, _, err = run("report", "app.sonde", "flat", "--mine")
    assert (code, err.count("\n")) == (2, 1)
    assert "is of missing; change source in [tool.sonde]" in err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "[tool.sonde]\nraet = 5",
            "unknown setting 'raet' (did you mean rate?) in [tool.sonde] of ",
        ),
        ("[tool.sonde]\ntop = 5", "unknown setting 'top' in [tool.sonde] of pyproject.toml; valid"),
        (
            "[tool.sonde.reprot]\ntop = 5",
            "unknown table 'reprot' in [tool.sonde] of pyproject.toml",
        ),
        ("[tool.sonde.fleet]\nx = 5", "unknown table 'fleet' in [tool.sonde] of pyproject.toml"),
        ("[tool.sonde.report]\nx = 5", "unknown setting 'x' in [tool.sonde.report] of pyproject.t"),
        (
            "[tool.sonde.report]\nmine = 1",
            "invalid mine in [tool.sonde.report] of pyproject.toml; ",
        ),
        (
            "[tool.sonde.report]\ntop = true",
            "invalid top in [tool.sonde.report] of pyproject.toml;",
        ),
        ("[tool.sonde.report]\ntop = [1]", "invalid top in [tool.sonde.report] of pyproject.toml;"),
        (
            "[tool.sonde.report]\ntop = 0",
            "invalid --top '0'; give a number of rows, an integer of at least 1 (the default of "
            "--top is set in [tool.sonde.report] of pyproject.toml)",
        ),
    ],
)
def test_wrong_settings_are_one_sentence(run: Any, project: Path, text: str, says: str) -> None:
    set_up(text)
    code, out, err = run("report", "app.sonde")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"sonde: {says}")
    # One who looks for help finds it.
    assert run("report", "--help")[0] == 0


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("SONDE_RATE", "x", "the default of --rate is set in SONDE_RATE"),
        ("SONDE_RATE", "0", "the default of --rate is set in SONDE_RATE"),
        ("SONDE_SAMPLER", "prf", "invalid sampler 'prf' (did you mean perf?); valid samplers:"),
        ("SONDE_NO_CHILDREN", "2", "invalid SONDE_NO_CHILDREN '2'; give true or false"),
    ],
)
def test_wrong_variables_are_one_sentence(
    project: Path, variable: str, value: str, says: str
) -> None:
    environment = clean_environment() | {variable: value}
    done = sonde("run", "--", "true", env=environment, cwd=project)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert says in done.stderr


def test_a_wrong_option_is_not_put_down_to_a_setting(run: Any, project: Path) -> None:
    set_up("[tool.sonde]\nrate = 5\n")
    assert run("run", "--raet", "5", "app.py")[2] == (
        "sonde: no such option: --raet (did you mean --rate?); see sonde run --help\n"
    )


def test_doctor_shows_them(project: Path) -> None:
    set_up("[tool.sonde]\nrate = 5\nsource = ['shop']\n[tool.sonde.report]\ntpo = 5\n")
    environment = clean_environment() | {"SONDE_WAHT": "cpu", "SONDE_TOP_RATE": "7"}
    environment["PATH"] = "/nowhere"
    found = json.loads(sonde("doctor", "--json", env=environment, cwd=project).stdout)["settings"]
    assert found["file"] == str(project / "pyproject.toml")
    assert found["source"] == ["shop"]
    of_file = "[tool.sonde] of pyproject.toml"
    assert found["options"] == [
        {"command": "run", "option": "rate", "value": 5, "from": of_file},
        {"command": "attach", "option": "rate", "value": 5, "from": of_file},
        {"command": "top", "option": "rate", "value": "7", "from": "SONDE_TOP_RATE"},
    ]
    assert found["problems"][0] == "SONDE_WAHT is no setting (did you mean SONDE_WHAT?)"
    assert found["problems"][1].startswith("unknown setting 'tpo' (did you mean top?) in [tool.")
    text = sonde("doctor", env=environment, cwd=project).stdout
    assert '  top --rate = "7"  SONDE_TOP_RATE' in text
    assert "✗ SONDE_WAHT is no setting" in text
