"""[tool.sonde] of the nearest pyproject.toml, and SONDE_* variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from sonde import settings
from sonde.errors import UsageError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("SONDE_SOURCE", raising=False)
    (tmp_path / "deep" / "down").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "down")
    return tmp_path


def test_there_are_none(project: Path) -> None:
    found = settings.load(project)
    assert (found.file, found.table, found.source) == (None, {}, ())


def test_the_nearest_file_with_settings(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.sonde]\nrate = 5\n")
    # Files of other tools alone hide nothing; that there is such a name in it does not either.
    (project / "deep" / "pyproject.toml").write_text("[project]\nname = 'sonde-example'\n")
    (project / "deep" / "down" / "pyproject.toml").write_text("[tool.ruff]\n")
    assert settings.load().table == {"rate": 5}
    assert settings.load().table_name == "[tool.sonde] of ../../pyproject.toml"
    (project / "deep" / "pyproject.toml").write_text("[tool.sonde]\nrate = 6\n")
    assert settings.load().table == {"rate": 6}
    assert settings.load(project).table == {"rate": 5}


def test_folders_of_the_source_are_relative_to_the_file(project: Path) -> None:
    (project / "src").mkdir()
    (project / "pyproject.toml").write_text(
        '[tool.sonde]\nsource = ["src", "shop", "./tools", "/opt/a", "../other"]\n'
    )
    assert settings.load().source == (
        f"{project}/src",
        "shop",
        f"{project}/tools",
        "/opt/a",
        f"{project.parent}/other",
    )


def test_the_variable_overrides_the_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "pyproject.toml").write_text('[tool.sonde]\nsource = "shop"\n')
    assert settings.load().source == ("shop",)
    monkeypatch.setenv("SONDE_SOURCE", "store, ./here")
    assert settings.load().source == ("store", f"{project}/deep/down/here")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[tool.sonde\n", "pyproject.toml is not valid TOML: "),
        ("tool.sonde = 1\n", "tool.sonde in "),
        ("[tool.sonde]\nsource = 1\n", "invalid source in [tool.sonde] of "),
        ("[tool.sonde]\nsource = ['']\n", "give a list of packages and folders, such as"),
        (b"\xff sonde", "pyproject.toml is not valid TOML: "),
    ],
)
def test_what_cannot_be_read(project: Path, text: str | bytes, says: str) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    (project / "pyproject.toml").write_bytes(data)
    with pytest.raises(UsageError) as caught:
        settings.load()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_broken_file_of_other_tools_is_none_of_our_business(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.ruff\n")
    assert settings.load().file is None
