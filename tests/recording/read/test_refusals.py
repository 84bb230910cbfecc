"""Files that are no recordings: one sentence each."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from zlib import crc32

import pytest

from recording.made import written
from sonde.errors import SondeError
from sonde.recording.format.framing import (
    FILE_HEAD_SIZE,
    NEWEST_VERSION,
    VERSION,
    RecordingError,
)
from sonde.recording.reader import read, read_bytes


def refusal(path: object) -> str:
    with pytest.raises(RecordingError) as raised:
        read(path)  # type: ignore[arg-type]
    assert isinstance(raised.value, SondeError)
    assert raised.value.code == 1
    message = str(raised.value)
    assert "\n" not in message
    return message


def test_missing(tmp_path):
    path = tmp_path / "nothing.sonde"
    assert refusal(path) == f"{path} does not exist"


def test_directory(tmp_path):
    assert refusal(tmp_path) == f"directory {tmp_path} has no recordings"


def test_empty(tmp_path):
    path = tmp_path / "empty.sonde"
    path.touch()
    assert refusal(path) == f"{path} is empty"


@pytest.mark.parametrize(
    "content", [b"x", b"#!/bin/sh\n", b"\x7fELF" + bytes(1000), b"\x89PNG\r\n"]
)
def test_something_else(tmp_path, content):
    path = tmp_path / "else.sonde"
    path.write_bytes(content)
    assert refusal(path) == f"{path} is not a sonde recording"


def test_a_pipe_is_not_waited_for(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert refusal(path) == f"{path} is not a regular file"


def test_a_device():
    assert refusal("/dev/zero") == "/dev/zero is not a regular file"


def test_a_name_that_cannot_be():
    assert refusal("a\0b") == "cannot open 'a\\x00b': a file name cannot contain a null character"
    assert refusal("x" * 5000).endswith("File name too long")


def test_a_path_through_a_file(tmp_path):
    (tmp_path / "file").touch()
    assert refusal(tmp_path / "file" / "x").endswith("Not a directory")


def test_not_permitted():
    # Not in tmp_path: others may not even enter the directories above that one.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder) / "secret.sonde"
        path.write_bytes(written(lambda writer: writer.close({})))
        path.chmod(0)
        refused_to_somebody(path)


def refused_to_somebody(path: Path) -> None:
    # Root may read everything, so the reading is done by somebody else.
    code = (
        "import os, sys\n"
        "from sonde.recording.reader import read, RecordingError\n"
        "if os.getuid() == 0: os.setuid(65534)\n"
        "try: read(sys.argv[1])\n"
        "except RecordingError as error: print(error)\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert shown.stdout == (
        f"cannot read {path}: permission denied; read it as the user who recorded it\n"
    )


def with_version(version: int) -> bytes:
    data = written(lambda writer: writer.close({}))
    head = data[:8] + struct.pack("<H", version) + data[10:16]
    return head + struct.pack("<I", crc32(head)) + data[FILE_HEAD_SIZE:]


def test_newer_format_is_refused_by_name():
    with pytest.raises(RecordingError) as raised:
        read_bytes(with_version(3), "x.sonde")
    assert str(raised.value) == (
        f"x.sonde was written by a newer sonde (format 3); this one reads up to {NEWEST_VERSION}; "
        "update sonde"
    )


def test_a_flipped_version_is_damage_not_news():
    data = bytearray(with_version(VERSION))
    data[8] = 3
    with pytest.raises(RecordingError, match="is damaged within its first 20 bytes"):
        read_bytes(bytes(data))


def test_a_format_that_never_was():
    with pytest.raises(RecordingError, match="has the invalid format 0"):
        read_bytes(with_version(0))
