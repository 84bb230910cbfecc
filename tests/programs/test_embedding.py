"""A C program that embeds Python, linked to the shared and to the static library."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import pythons
from launching import TIMEOUT_S, Interpreter
from programs.support import (
    APPS,
    MODES,
    TRIED_MODES,
    Keep,
    alone,
    check_quality,
    check_same,
    contended,
    facts,
    share_in,
)
from sonde.row_values import GIL

# Debian's interpreters, unpacked into the cache, bring no library that this machine can link.
PYTHONS = (pythons.VERSIONS[0], pythons.VERSIONS[2])

SETTINGS = "import json, sysconfig; print(json.dumps(sysconfig.get_config_vars()))"
CODE = 5


@pytest.fixture(scope="module", params=["shared", "static"])
def program(
    python: Interpreter, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    found = json.loads(subprocess.check_output([python.path, "-c", SETTINGS], timeout=TIMEOUT_S))
    static = request.param == "static"
    library = (
        Path(found["LIBPL" if static else "LIBDIR"]) / found["LIBRARY" if static else "LDLIBRARY"]
    )
    if not library.exists() or (not static and library.suffix == ".a"):
        pytest.skip(f"CPython {python.version} has no {request.param} library to link")
    made = tmp_path_factory.mktemp("embeds") / "embeds"
    words = [
        *("gcc", "-O1", "-o", str(made), str(APPS / "embeds.c"), f"-I{found['INCLUDEPY']}"),
        *(str(library), f"-Wl,-rpath,{found['LIBDIR']}", "-Wl,-export-dynamic", "-pthread"),
        *(found["LIBS"] or "").split(),
        *(found["SYSLIBS"] or "").split(),
        *("-ldl", "-lm"),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    if done.returncode:
        pytest.skip(f"the {request.param} library cannot be linked: {done.stderr[-200:]}")
    return made


@pytest.fixture(scope="module")
def plain(
    python: Interpreter, program: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    found = facts(alone([program], tmp_path_factory.mktemp("plain"), env=home(python)))
    assert found["code"] == CODE, found
    return found


def home(python: Interpreter) -> dict[str, str]:
    return {"PATH": f"{Path(python.path).parent}:/usr/bin:/bin"}


@pytest.mark.parametrize("mode", TRIED_MODES)
def test_a_program_with_python_inside(
    python: Interpreter,
    program: Path,
    plain: dict[str, Any],
    keep: Keep,
    tmp_path: Path,
    mode: str,
) -> None:
    path = keep(f"embeds-{mode}")
    done = alone([program], tmp_path, options=MODES[mode], path=path, env=home(python))
    check_same(facts(done), plain)
    recording = done.recording
    check_quality(recording)
    assert share_in(recording, "compute") > 0.5
    if mode != "calls":
        assert contended(recording, GIL)
