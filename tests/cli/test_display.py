"""Colours and the pager, on a terminal and in a pipe."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from launching import SONDE, clean_environment, sonde
from sonde.cli.display import rows_of
from sonde.cli.main import main
from synthetic import MS, Maker
from terminals import Terminal

FUNCTIONS = 60


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    make = Maker()
    for number in range(FUNCTIONS):
        make.sample(f"main:3 > work_{number}:12", (100 + number) * MS)
    make.write("app.sonde")
    return tmp_path


def on_terminal(folder: Path, *args: str, rows: int = 24, **variables: str) -> str:
    environment = clean_environment()
    for name in ("PAGER", "LESS", "NO_COLOR"):
        environment.pop(name, None)
    # Whatever pages leaves a trace that what is on the terminal does not have.
    environment |= {"PAGER": "sed s/^/paged:/"} | variables
    terminal = Terminal([*SONDE, *args], env=environment, cwd=folder, rows=rows)
    assert terminal.ended() == 0
    return terminal.output.decode().replace("\r\n", "\n")


LONG = ("report", "app.sonde", "flat", "--top", "50")


def test_what_is_longer_than_the_screen_is_paged(folder: Path) -> None:
    text = on_terminal(folder, *LONG)
    paged = [line for line in text.split("\n") if line.startswith("paged:")]
    assert len(paged) >= 50
    assert "work_59" in text


def test_what_fits_on_the_screen_is_not(folder: Path) -> None:
    assert "paged:" not in on_terminal(folder, "report", "app.sonde", "flat", "--top", "3")
    assert "paged:" not in on_terminal(folder, *LONG, rows=100)


@pytest.mark.parametrize(
    "variables",
    [
        {"PAGER": ""},
        {"PAGER": "cat"},
        {"SONDE_PAGER": "cat"},
        {"SONDE_NO_PAGER": "1"},
        {"TERM": "dumb"},
    ],
)
def test_no_pager_is_wanted(folder: Path, variables: dict[str, str]) -> None:
    text = on_terminal(folder, *LONG, **variables)
    assert "paged:" not in text
    assert "work_59" in text


@pytest.mark.parametrize("args", [("--no-pager", *LONG), (*LONG, "--no-pager"), (*LONG, "--json")])
def test_no_pager_is_asked_for(folder: Path, args: tuple[str, ...]) -> None:
    assert "paged:" not in on_terminal(folder, *args)


def test_a_pager_that_there_is_not(folder: Path) -> None:
    assert "work_59" in on_terminal(folder, *LONG, PAGER="no-such-pager")


def test_a_pager_that_has_seen_enough(folder: Path) -> None:
    assert on_terminal(folder, *LONG, PAGER="head -n 1 >/dev/null").endswith("\x1b[2K")


def test_never_in_a_pipe(folder: Path) -> None:
    done = sonde(*LONG, env=clean_environment() | {"PAGER": "sed s/^/paged:/", "TERM": "xterm"})
    assert "paged:" not in done.stdout
    assert "\x1b" not in done.stdout
    assert "work_59" in done.stdout


def test_less_shows_the_first_screen_until_q(folder: Path) -> None:
    if shutil.which("less") is None:
        pytest.skip("less is not on this machine")
    environment = clean_environment()
    for name in ("PAGER", "LESS"):
        environment.pop(name, None)
    terminal = Terminal([*SONDE, *LONG], env=environment, cwd=folder)
    terminal.until(":\x1b[K")  # the prompt of less
    assert "work_59" in terminal.output.decode()
    assert "work_20" not in terminal.output.decode()
    terminal.type(b"\x03")  # less stays, and so does sonde
    for _ in range(40):  # it discards keys while it is being interrupted
        terminal.type(b"G")
        terminal._read(0.5)
        if "work_20" in terminal.output.decode():
            break
    assert "work_20" in terminal.output.decode()
    terminal.type(b"q")
    assert terminal.ended() == 0


def color(folder: Path, *args: str, **variables: str) -> str:
    environment = {k: v for k, v in clean_environment().items() if k != "NO_COLOR"}
    return sonde(*args, env=environment | variables).stdout


def test_colors_in_a_pipe(folder: Path) -> None:
    report = ("report", "app.sonde", "flat", "--top", "3")
    plain = color(folder, *report)
    assert "\x1b" not in plain
    for colored in (
        color(folder, *report, "--color", "always"),
        color(folder, "--color=always", *report),
        color(folder, *report, SONDE_COLOR="always"),
        color(folder, *report, "--color", "always", NO_COLOR="1"),
        color(folder, *report, "--color", "always", SONDE_COLOR="never", TERM="dumb"),
    ):
        assert "\x1b[36m" in colored
        assert (
            subprocess.run(
                ["sed", r"s/\x1b\[[0-9;]*m//g"],
                input=colored,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            == plain
        )
    assert color(folder, *report, "--color", "never") == plain


def test_colors_on_a_terminal(folder: Path) -> None:
    report = ("report", "app.sonde", "flat", "--top", "3")
    assert "\x1b[36m" in on_terminal(folder, *report)
    assert "\x1b[36m" in on_terminal(folder, *report, "--color", "auto")
    for colorless in (
        on_terminal(folder, *report, "--color", "never"),
        on_terminal(folder, "--color", "never", *report),
        on_terminal(folder, *report, SONDE_COLOR="never"),
        on_terminal(folder, *report, NO_COLOR="1"),
    ):
        assert "\x1b[3" not in colorless  # a colour; the cursor is hidden by another sequence
        assert "work_59" in colorless


def test_one_command_line_does_not_color_the_next(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["report", "app.sonde", "flat", "--color", "always"])
    assert "\x1b" in capsys.readouterr().out
    main(["report", "app.sonde", "flat"])
    assert "\x1b" not in capsys.readouterr().out


def test_a_color_that_there_is_not(folder: Path) -> None:
    done = sonde("report", "app.sonde", "--color", "allways")
    assert (done.returncode, done.stderr) == (
        2,
        "sonde: invalid --color 'allways' (did you mean always?); "
        "valid values: auto, always, never\n",
    )


def test_settings_are_of_all_verbs(folder: Path) -> None:
    Path("pyproject.toml").write_text('[tool.sonde]\ncolor = "always"\nno-pager = true\n')
    assert "\x1b[36m" in color(folder, "report", "app.sonde", "flat")
    assert "paged:" not in on_terminal(folder, *LONG)
    environment: dict[str, Any] = clean_environment() | {"PATH": "/nowhere", "SONDE_PAGER": "less"}
    found = json.loads(sonde("doctor", "--json", env=environment).stdout)["settings"]
    assert found["options"] == [
        {"command": "all", "option": name, "value": value, "from": "[tool.sonde] of pyproject.toml"}
        for name, value in (("color", "always"), ("no-pager", True))
    ]
    assert found["problems"] == []


def test_rows() -> None:
    assert rows_of("", 80) == 0
    assert rows_of("a\nb\n", 80) == 2
    assert rows_of("a\nb", 80) == 2
    assert rows_of(f"\x1b[36m{'x' * 80}\x1b[0m\n{'x' * 81}\n", 80) == 3
    assert rows_of("\n\n", 80) == 2
