"""`sonde doctor`: different machines, different and right answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pythons
from java import all_jdks
from sonde.cli.main import main
from sonde.record.system import native_libraries, permissions
from sonde.recording.reader import read

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src"
DENIED = ROOT / "tests" / "denied.py"
SONDE = "import sys; from sonde.cli.main import main; sys.exit(main())"
# Each JVM that is found is started; all but one of the tests have nothing to ask it.
NO_JVM = (
    "from pathlib import Path; from sonde.doctor import java_homes; "
    "java_homes._INSTALLED = Path('/none');"
)
LIBRARIES = Path(np.__file__).parents[1]

CHECKS = [
    "system", "kernel", "perf", "perf-user", "perf-switches", "perf-paranoid", "hardware-events",
    "cpu-timer", "affinity", "safepoint", "remote", "memfd", "pidfd", "ptrace", "seccomp", "steal",
]  # fmt: skip
NOBODY = 65534


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment in which few interpreters are found, so that a diagnosis is quick."""
    tmp_path.chmod(0o755)
    return {
        "HOME": str(tmp_path),
        "PYENV_ROOT": str(tmp_path / "pyenv"),
        "SONDE_PYTHONS": str(tmp_path / "pythons"),
        "PATH": str(tmp_path / "bin"),
        "PYTHONPATH": str(SOURCE),
    }


def doctor(
    home: dict[str, str],
    *before: str,
    python: str = sys.executable,
    arguments: tuple[str, ...] = ("--json",),
    jvms: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """`BEFORE sonde doctor`, in its own words."""
    return subprocess.run(
        [*before, python, "-c", SONDE if jvms else NO_JVM + SONDE, "doctor", *arguments],
        env=home,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


def told(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.stderr == ""
    answer: dict[str, Any] = json.loads(done.stdout)
    answer["by_name"] = {check["name"]: check for check in answer["checks"]}
    return answer


def without(*calls: str, error: str = "EPERM") -> list[str]:
    return [sys.executable, str(DENIED), "--errno", error, ",".join(calls), "--"]


def sampler_of_a_recording(home: dict[str, str], path: Path, *before: str) -> str:
    """What a recording made under the same conditions says."""
    busy = "import time\nwhile time.thread_time() < 0.1: sum(range(1000))"
    sonde = [sys.executable, "-c", SONDE]
    subprocess.run(
        [*before, *sonde, "run", "-o", str(path), "--", sys.executable, "-c", busy],
        env=home,
        check=True,
        capture_output=True,
        timeout=120,
    )
    return str(read(path).quality["sampler"])


def test_the_answer_has_the_documented_shape(home: dict[str, str]) -> None:
    done = doctor(home)
    answer = told(done)
    assert done.returncode == 0
    assert [check["name"] for check in answer["checks"]] == CHECKS
    for no in [*answer["checks"], *answer["interpreters"]]:
        assert bool(no["ok"]) != bool(no["advice"]), no
    documented = (ROOT / "docs" / "reference" / "commands" / "doctor.md").read_text()
    for key in [*answer, *answer["machine"], *CHECKS, *answer["interpreters"][0]]:
        if key != "by_name":
            assert f"`{key}`" in documented, f"doctor.md lacks {key}"


def test_every_interpreter_of_the_tests_is_found_and_recorded() -> None:
    answer = told(doctor(dict(os.environ), jvms=True))
    able = {i["path"]: i for i in answer["interpreters"] if i["ok"]}
    assert answer["can_record"]
    for version, path in pythons.found().items():
        interpreter = able[os.path.realpath(path)]
        assert interpreter["version"].startswith(version)
        assert interpreter["agent"] == str(native_libraries.available()[version])
        assert interpreter["samples"] > 0
    assert [i for i in answer["interpreters"] if i["runs_sonde"]]
    homes = {jvm["path"]: jvm for jvm in answer["jvms"]}
    for jdk in all_jdks():
        found = homes[os.path.realpath(jdk.home)]
        assert (found["ok"], found["version"]) == (True, jdk.version)
        assert found["samples"] > 0


def test_what_is_foretold_happens(home: dict[str, str], tmp_path: Path) -> None:
    foretold = told(doctor(home))["sampler"]
    assert sampler_of_a_recording(home, tmp_path / "a.sonde") == foretold


needs_privilege = pytest.mark.skipif(
    not permissions.has_capability(permissions.CAP_PERFMON, permissions.CAP_SYS_ADMIN)
    or permissions.seccomp_mode() == permissions.FILTERED,
    reason="not privileged here",
)


@needs_privilege
def test_the_privileged_get_the_best_sampler(home: dict[str, str]) -> None:
    answer = told(doctor(home))
    assert answer["sampler"] == "perf"
    assert answer["why_not_better"] is None
    for name in ("perf", "perf-user", "perf-switches", "perf-paranoid"):
        assert answer["by_name"][name]["ok"], name


def check_unprivileged(answer: dict[str, Any]) -> None:
    level = permissions.setting("perf_event_paranoid")
    assert level is not None
    checks = answer["by_name"]
    assert answer["can_record"]
    assert checks["perf"]["ok"] == checks["perf-switches"]["ok"] == (level <= 1)
    assert checks["perf-user"]["ok"] == (level <= 2)
    assert checks["perf-paranoid"]["ok"] == (level <= 1)
    assert answer["sampler"] == ("perf" if level <= 1 else "perf-user" if level == 2 else "reader")
    if level > 1:
        assert f"perf_event_paranoid is {level}" in answer["why_not_better"]
        assert "CAP_PERFMON" in checks["perf"]["advice"]


@needs_privilege
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_without_capabilities_the_kernel_is_left_out(home: dict[str, str], tmp_path: Path) -> None:
    """The same user and files, but nothing more than anybody may do."""
    bare = [str(shutil.which("setpriv")), "--bounding-set=-all", "--inh-caps=-all"]
    answer = told(doctor(home, *bare))
    check_unprivileged(answer)
    assert sampler_of_a_recording(home, tmp_path / "a.sonde", *bare) == answer["sampler"]


@needs_privilege
@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_another_user_gets_an_answer_of_its_own(home: dict[str, str]) -> None:
    """Who may not read our home needs an interpreter outside of it."""
    python = f"/usr/bin/python{sysconfig.get_python_version()}"
    somebody: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        made = [python, "-m", "venv", "--without-pip", folder]
        if subprocess.run(made, capture_output=True, check=False, env=home).returncode:
            pytest.skip(f"needs {python}, which everybody may run")
        (site_packages,) = Path(folder).glob("lib/python*/site-packages")
        (site_packages / "sonde.pth").write_text(f"{SOURCE}\n{LIBRARIES}\n")
        inside = f"{folder}/bin/python"
        needed = [inside, "-c", "import numpy, rich, sonde, typer, zstandard"]
        if subprocess.run(needed, capture_output=True, check=False, **somebody).returncode:
            pytest.skip("the libraries are not readable by everybody")
        answer = told(doctor(home, python=inside, **somebody))
    assert answer["machine"]["uid"] == NOBODY
    check_unprivileged(answer)


@pytest.mark.parametrize("error", ["EPERM", "EACCES", "ENOSYS"])
def test_a_filter_is_told_from_a_setting(home: dict[str, str], tmp_path: Path, error: str) -> None:
    if error == "EACCES" and not permissions.has_capability(permissions.CAP_PERFMON):
        pytest.skip("to the unprivileged the kernel itself says EACCES")
    filtered = without("perf_event_open", error=error)
    answer = told(doctor(home, *filtered))
    checks = answer["by_name"]
    assert answer["sampler"] == "reader"
    assert "filter" in answer["why_not_better"]
    assert not checks["seccomp"]["ok"]
    for name in ("perf", "perf-user", "perf-switches"):
        assert not checks[name]["ok"]
        assert "filter" in checks[name]["found"]
        assert "seccomp profile" in checks[name]["advice"]
    assert answer["can_record"]
    assert all(i["samples"] for i in answer["interpreters"] if i["ok"])
    if error == "EPERM":
        assert sampler_of_a_recording(home, tmp_path / "a.sonde", *filtered) == "reader"


def test_threads_that_may_not_move_read_across_cores(home: dict[str, str]) -> None:
    answer = told(doctor(home, *without("perf_event_open", "sched_setaffinity")))
    assert answer["sampler"] == "cross-core"
    assert not answer["by_name"]["affinity"]["ok"]
    assert answer["can_record"]


def test_memory_that_may_not_be_read_is_told(home: dict[str, str]) -> None:
    answer = told(doctor(home, *without("process_vm_readv")))
    assert "process_vm_readv" in answer["by_name"]["remote"]["advice"]
    assert answer["can_record"]


def test_where_nothing_can_be_recorded_the_exit_code_says_so(home: dict[str, str]) -> None:
    done = doctor(home, *without("memfd_create"))
    answer = told(done)
    assert done.returncode == 1
    assert not answer["can_record"]
    assert "memfd_create" in answer["by_name"]["memfd"]["advice"]
    assert all(i["advice"] for i in answer["interpreters"])


def test_text_fits_80_columns_and_needs_no_colour(home: dict[str, str]) -> None:
    done = doctor(home, *without("perf_event_open"), arguments=())
    assert done.returncode == 0
    rows = done.stdout.splitlines()
    assert max(map(len, rows)) <= 80
    assert "\x1b" not in done.stdout
    for name in CHECKS:
        (row,) = [row for row in rows if row[2:].split(" ")[0] == name]
        assert row[0] in "✓✗"
    for at, row in enumerate(rows):
        if row.startswith("✗ perf "):
            assert "→" in "".join(rows[at : at + 4])


# ---- interpreters that cannot be recorded


def fake(home: dict[str, str], name: str, **answer: object) -> None:
    """A program that calls itself Python and answers as one."""
    facts = {
        "path": f"/opt/{name}",
        "implementation": "cpython",
        "version": "3.10.4",
        "minor": "3.10",
        "free_threaded": False,
        "libc": None,
    } | answer
    script(home, name, f"echo '{json.dumps(facts)}'")


def script(home: dict[str, str], name: str, body: str) -> None:
    path = Path(home["PATH"]) / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def test_interpreters_without_an_agent_are_listed_with_the_reason(home: dict[str, str]) -> None:
    fake(home, "python3.10")
    fake(home, "python3.13t", version="3.13.1", minor="3.13", free_threaded=True)
    fake(home, "pypy3", version="3.11.9", minor="3.11", implementation="pypy")
    fake(home, "python3.99", version="3.99.0", minor="3.99")
    script(home, "python3", "exit 3")
    script(home, "python", "echo Python 2.7")
    answer = told(doctor(home))
    said = {Path(i["path"]).name: i["problem"] for i in answer["interpreters"] if not i["ok"]}
    assert "3.11 and newer" in said.pop("python3.10")
    assert "free-threaded" in said.pop("python3.13t")
    assert "pypy" in said.pop("pypy3")
    assert "no agent for CPython 3.99" in said.pop("python3.99")
    assert not said


def test_an_agent_that_does_not_load_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "agents"
    shutil.copytree(native_libraries.FOLDER, broken)
    own = broken / native_libraries.agent_for(sysconfig.get_python_version()).name
    own.write_bytes(b"no library")
    monkeypatch.setattr(native_libraries, "FOLDER", broken)
    main(["doctor", "--json"])
    answer = json.loads(capsys.readouterr().out)
    (interpreter,) = [i for i in answer["interpreters"] if i["runs_sonde"]]
    assert not interpreter["ok"]
    assert "it cannot load the agent" in interpreter["problem"]


def test_an_installation_without_its_native_part_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(native_libraries, "FOLDER", tmp_path / "nowhere")
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "the native part of sonde is missing" in " ".join(said.split())
    assert "✗ recording" in said
