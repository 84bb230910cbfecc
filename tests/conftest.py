"""Fixtures of all tests that touch an agent, and which tests run on which CPython.

A test with an interpreter runs on every version sonde supports, or on those that its module names
(`PYTHONS`) because others cannot run it. Where what is tested is hardly done otherwise by another
version, `@pytest.mark.versions(...)` names those that are enough for each change: of the oldest and
the newest always the same one, by the test's name. `@pytest.mark.newest_jdk` has large Java
programs run on one JDK. With `--soak` all of them run, and the tests marked `soak`, too: storms,
long statistics, more of the same.
"""

from __future__ import annotations

import functools
import signal
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

import pythons
from environments import Environment, environment_of
from java import Jdk, all_jdks, compiled
from launching import TARGETS, Interpreter
from matrix import OLDEST_AND_NEWEST
from shared import run_folder

SOAK_TIMEOUT_S = 1800
"""Hundreds of repetitions take minutes; all other tests have the timeout of pyproject.toml."""

LONG_FILES = (
    "agent/test_sanitized.py",
    "attach/test_attach_many.py",
    "hotspot/test_hotspot.py",
    "hotspot/test_hotspot_programs.py",
    "hotspot/test_hotspot_walks.py",
    "hotspot/test_hotspot_without_perf.py",
    "options/test_modes.py",
    "programs/test_celery.py",
    "programs/test_gunicorn_django.py",
    "programs/test_numerics.py",
    "pytest/test_plugin.py",
    "sampling/test_samplers.py",
    "tests/test_docs_commands.py",
    "tests/test_examples.py",
    "tests/test_tutorials.py",
    "transparency/test_tools.py",
    # Of the finished data, and of the truth.
    "fleet/test_s3.py",
    "fleet/test_spark.py",
    "fleet/test_store.py",
    "locks/test_waits.py",
    "read/test_fuzz.py",
    "truth/test_accounts.py",
    "truth/test_calls.py",
    "truth/test_hotspot_locks.py",
)

# A shell that runs something in the background makes it ignore Ctrl-C, and all that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_asked: set[str] = set()


@functools.cache
def _interpreters() -> dict[str, str]:
    return pythons.found()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="also storms, on every interpreter")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "python" not in metafunc.fixturenames:
        return
    versions = getattr(metafunc.module, "PYTHONS", pythons.VERSIONS)
    enough = metafunc.definition.get_closest_marker("versions")
    if enough and not metafunc.config.getoption("soak"):
        versions = [version for version in versions if version in enough.args]
        if versions == list(OLDEST_AND_NEWEST):
            # Of the tests of a file some then run on the one, some on the other.
            versions = [versions[zlib.crc32(metafunc.definition.nodeid.encode()) % 2]]
        assert versions, f"{metafunc.definition.nodeid}: none of {enough.args} can run it"
    metafunc.parametrize("python", versions, indirect=True, scope="session")


@pytest.hookimpl(trylast=True)  # after pytest has put tests with the same fixtures side by side
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # What takes long begins first: at the end all workers are then done at about the same time.
    items.sort(key=lambda item: not item.path.as_posix().endswith(LONG_FILES))
    if config.getoption("soak"):
        for item in items:
            if item.get_closest_marker("soak") and not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(SOAK_TIMEOUT_S))
        return
    left_out = [item for item in items if _is_for_soak(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not _is_for_soak(item)]


def _is_for_soak(item: pytest.Item) -> bool:
    if item.get_closest_marker("soak"):
        return True
    if item.get_closest_marker("newest_jdk") and isinstance(item, pytest.Function):
        return item.callspec.params["jdk"] not in (None, all_jdks()[-1])
    # Of a set of parameters; a test's own is applied where it gets its interpreters.
    enough = item.get_closest_marker("versions")
    parameters = (
        item.callspec.params
        if isinstance(item, pytest.Function) and hasattr(item, "callspec")
        else {}
    )
    return enough is not None and parameters.get("python", enough.args[0]) not in enough.args


@pytest.fixture(scope="session")
def python(request: pytest.FixtureRequest) -> Interpreter:
    """Each supported interpreter in turn; one that is not here is a skip that says so."""
    version: str = request.param
    _asked.add(version)
    found = _interpreters().get(version)
    if found is None:
        pytest.skip(f"CPython {version} is not on this machine; `make pythons` fetches it")
    return Interpreter(version, found)


@pytest.fixture(scope="session")
def any_python() -> Interpreter:
    """One interpreter, for what does not depend on which one it is."""
    version, path = next(iter(_interpreters().items()))
    return Interpreter(version, path)


@pytest.fixture(scope="session")
def environment(python: Interpreter) -> Environment:
    """The interpreter with sonde importable, as after `pip install sonde`."""
    return environment_of(python)


@pytest.fixture(scope="session", params=all_jdks() or [None], ids=str)
def jdk(request: pytest.FixtureRequest) -> Jdk:
    """Each JDK of this machine in turn."""
    if request.param is None:
        pytest.skip("no JDK is on this machine; `make jdks` installs one")
    found: Jdk = request.param
    return found


@pytest.fixture(scope="session")
def java_targets(jdk: Jdk, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The class path of the Java programs that tests run."""
    return compiled(TARGETS / "java", run_folder(tmp_path_factory) / "java-targets")


@pytest.fixture(scope="session")
def keep(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A file name of its own for each recording of the session."""
    folder = tmp_path_factory.mktemp("recordings")
    count = iter(range(1_000_000))
    return lambda name: folder / f"{next(count)}-{name}.sonde"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says on which interpreters the agents were tested, and on which they were not."""
    if not _asked:
        return
    missing = sorted(_asked.difference(_interpreters()))
    have = ", ".join(sorted(_asked.intersection(_interpreters()))) or "none"
    terminalreporter.write_line(f"agents tested on CPython {have}")
    if missing:
        terminalreporter.write_line(
            f"NOT tested on CPython {', '.join(missing)}: not on this machine", yellow=True
        )
