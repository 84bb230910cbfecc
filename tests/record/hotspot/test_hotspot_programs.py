"""Libraries and servers in Java as people use them, recorded while they work."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import jars
from attaching import attached, has_agent
from java import Jdk, class_path, compiled
from launching import TARGETS, TIMEOUT_S, clean_environment, must_run
from serving import Load
from sonde.recording.tables import Recording
from sonde.views.locks.locks import locks
from sonde.views.quality import quality as quality_of

Keep = Callable[[str], Path]
ClassPath = Callable[[str, str], str]

SOURCES = TARGETS / "java_programs"
SECONDS = "1.5"
EVERYTHING = ("--what", "cpu,locks,objects,threads", "--rate", "5000")
# More than of the truth programs: these have only started, load classes and allocate all the time.
UNWALKED = 0.06
# Of the releases that somebody waited for: so many have no stack in the long run, by chance.
CHAINS_MISSED = 0.05
# Standard deviations: with three and more, one run in a thousand would fail for nothing.
Z = 4


@pytest.fixture(scope="session")
def of(tmp_path_factory: pytest.TempPathFactory) -> ClassPath:
    """The class path of a program that needs a library."""

    def get(library: str, program: str) -> str:
        found = jars.jars(library)
        if not found:
            pytest.skip(f"{library} is not on this machine; `make jars` fetches it")
        into = tmp_path_factory.getbasetemp() / f"java-{library}"
        return class_path(compiled(SOURCES / f"{program}.java", into, found), *found)

    return get


def check(recording: Recording, *names: str) -> None:
    quality = recording.quality
    assert quality["taken"] > 500
    assert quality["garbled_rings"] == 0
    assert quality["undecodable"] < UNWALKED * quality["taken"]
    chains = quality_of(recording).counters
    expected = CHAINS_MISSED * chains["owner_chains"]
    chance = Z * math.sqrt(expected * (1 - CHAINS_MISSED))
    assert chains["owner_chains_missed"] <= expected + max(chance, 3)
    for name in names:
        assert any(function.startswith(name) for function in recording.functions.name), name
    view = locks(recording).to_json()
    assert view["total_ns"] == sum(row["wait_ns"] for row in view["rows"])
    assert len(recording.objects)


@pytest.mark.newest_jdk
@pytest.mark.parametrize(
    ("library", "program", "package"),
    [
        ("h2", "Database", "org.h2."),
        ("lucene", "Search", "org.apache.lucene."),
        ("fop", "Typeset", "org.apache.fop."),
        ("xalan", "Transform", "org.apache.xalan."),
    ],
)
def test_a_library_does_its_work(
    jdk: Jdk, of: ClassPath, keep: Keep, library: str, program: str, package: str
) -> None:
    command = [jdk.java, "-Xmx256m", "-cp", of(library, program), program, SECONDS]
    run = must_run(keep(library), command, *EVERYTHING)
    assert run.out == "right\n"
    # Lucene uses what 25 warns of.
    assert all(line.startswith(("sonde: ", "WARNING: ")) for line in run.err.splitlines()), run.err
    check(run.recording, package, f"{program}.")


@contextmanager
def server(jdk: Jdk, path: str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    with subprocess.Popen(
        [jdk.java, "-Xmx256m", "-cp", path, "Web", folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=clean_environment(),
    ) as process:
        try:
            assert process.stdout is not None
            yield process, int(process.stdout.readline())
        finally:
            if process.poll() is None:
                process.kill()


def test_a_server_answers(jdk: Jdk, of: ClassPath, keep: Keep, tmp_path: Path) -> None:
    """Tomcat, entered and left twice while it is asked without a pause."""
    with server(jdk, of("tomcat", "Web"), tmp_path) as (process, port):
        load = Load(port, new_every=20)
        try:
            for _ in range(2):
                run = attached(process.pid, keep("tomcat"), "--for", "1", *EVERYTHING)
        finally:
            load.end()
        assert not has_agent(process.pid)
        out, _ = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, out) == (0, "over\n")
    assert load.failed == []
    assert load.answered[process.pid] > 200
    check(run.recording, "org.apache.coyote.", "org.apache.catalina.", "Web$Squares.doGet")
