"""Only what lies in the folder is read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from sonde.errors import SondeError, UsageError
from sonde.mcp_server.folder import MAX_OPEN, Folder
from synthetic import MS, Maker

if TYPE_CHECKING:
    from pathlib import Path


def record(path: Path, samples: int = 1) -> Path:
    make = Maker()
    for _ in range(samples):
        make.sample("main:3", MS)
    path.parent.mkdir(parents=True, exist_ok=True)
    make.write(str(path))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    record(tmp_path / "served" / "app.sonde")
    record(tmp_path / "served" / "deep" / "old.sonde")
    record(tmp_path / "secret" / "other.sonde")
    (tmp_path / "served" / "notes.txt").write_text("no recording")
    os.symlink(tmp_path / "secret" / "other.sonde", tmp_path / "served" / "link.sonde")
    os.symlink(tmp_path / "secret", tmp_path / "served" / "linked")
    os.utime(tmp_path / "served" / "deep" / "old.sonde", (1, 1))
    return Folder(str(tmp_path / "served"))


def test_recordings_are_listed_with_the_newest_first(folder: Folder) -> None:
    found, cut = folder.recordings()
    assert [file.name for file in found] == ["app.sonde", "deep/old.sonde"]
    assert not cut
    assert found[1].to_json()["modified"] == "1970-01-01T00:00:01+00:00"
    assert [file.name for file in folder.recordings("deep")[0]] == ["deep/old.sonde"]


@pytest.mark.parametrize(
    "name",
    [
        "../secret/other.sonde",
        "deep/../../secret/other.sonde",
        "link.sonde",
        "linked",
        "linked/other.sonde",
        "linked/*.sonde",
        "*/other.sonde",
        "../*/*.sonde",
        "/etc/passwd",
        "/",
        "app.sonde\0",
    ],
)
def test_what_lies_outside_is_refused(folder: Folder, name: str) -> None:
    with pytest.raises(UsageError, match="is outside of the folder that is served"):
        folder.open(name)


def test_a_directory_outside_is_not_listed(folder: Folder) -> None:
    for name in ("..", "linked", "/", "deep/../.."):
        with pytest.raises(UsageError, match="is outside of the folder that is served"):
            folder.recordings(name)
    with pytest.raises(UsageError, match="nowhere is not a directory"):
        folder.recordings("nowhere")


def test_the_folder_itself_may_be_a_link(tmp_path: Path, folder: Folder) -> None:
    os.symlink(tmp_path / "served", tmp_path / "name")
    assert Folder(str(tmp_path / "name")).open("app.sonde").samples.weight.tolist() == [MS]


def test_absolute_names_within_are_fine(folder: Folder) -> None:
    assert folder.files(f"{folder.path}/app.sonde") == [f"{folder.path}/app.sonde"]


def test_what_is_no_recording_is_refused_in_a_sentence(folder: Folder) -> None:
    with pytest.raises(UsageError, match=r"^none\.sonde does not exist; list_recordings shows"):
        folder.open("none.sonde")
    with pytest.raises(SondeError, match=r"notes\.txt is not a sonde recording"):
        folder.open("notes.txt")
    for path in ("none", "app.sonde"):
        with pytest.raises(SondeError, match="usage: sonde mcp"):
            Folder(f"{folder.path}/{path}")


def test_a_recording_is_read_again_when_it_changes(tmp_path: Path, folder: Folder) -> None:
    first = folder.open("app.sonde")
    assert folder.open("app.sonde") is first
    record(tmp_path / "served" / "app.sonde", samples=500)
    assert len(folder.open("app.sonde").samples) == 500


def test_only_some_are_kept_in_memory(tmp_path: Path, folder: Folder) -> None:
    first = folder.open("app.sonde")
    for i in range(MAX_OPEN):
        record(tmp_path / "served" / f"{i}.sonde")
        folder.open(f"{i}.sonde")
    assert folder.open("app.sonde") is not first
