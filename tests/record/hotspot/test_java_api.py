"""Spans, marks and the like that a Java program states by sonde-api.jar, on every JDK found."""

from __future__ import annotations

import json
import struct
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import jars
from attaching import attached, until
from java import Jdk, class_path, compiled
from launching import SONDE, TARGETS, TESTS, TIMEOUT_S, Run, clean_environment, must_run, sonde
from serving import CLIENTS, Load
from shared import run_folder
from sonde.record.system.native_libraries import c_include, java_api
from sonde.recording.reader import read
from sonde.recording.tables import Recording
from sonde.views.selecting.selection import Selection
from sonde.views.spans import SpanRow, spans
from sonde.views.stacks.flat import flat

Keep = Callable[[str], Path]

SOURCES = TARGETS / "java_api"
EXAMPLES = TESTS.parent / "examples"
RATE = "2000"
PERIOD = 500_000
JAVA_8 = 52
TRACE = "0af7651916cd43dd8448eb211c80319c"
FIRST_WITH_VIRTUAL_THREADS = 21
# The first whose record of a thread shows a handler which virtual thread runs.
FIRST_WITH_NUMBERS = 24


@pytest.fixture(scope="session")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """The class path of a program here, with the API and other libraries."""

    def get(program: str, *libraries: Path) -> str:
        into = run_folder(tmp_path_factory) / f"java-api-{program}"
        known = [java_api(), *libraries]
        return class_path(compiled(SOURCES / f"{program}.java", into, known), *known)

    return get


def test_the_classes_are_those_of_java_8() -> None:
    with zipfile.ZipFile(java_api()) as jar:
        names = [name for name in jar.namelist() if name.endswith(".class")]
        majors = {struct.unpack_from(">I2H", jar.read(name))[2] for name in names}
    assert {"sonde/Sonde.class", "sonde/Span.class"} <= set(names)
    assert majors == {JAVA_8}


def test_nothing_happens_without_an_agent(jdk: Jdk, classes: Callable[..., str]) -> None:
    done = subprocess.run(
        [jdk.java, "-cp", classes("Spans"), "Spans"],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=TIMEOUT_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["recorded"] is False


@pytest.fixture(scope="module")
def recorded(jdk: Jdk, keep: Keep, classes: Callable[..., str]) -> Run:
    options = ["virtual"] if jdk.major >= FIRST_WITH_VIRTUAL_THREADS else []
    carriers = "-Djdk.virtualThreadScheduler.parallelism=2"
    return must_run(
        keep(f"java-spans-{jdk}"),
        [jdk.java, carriers, "-cp", classes("Spans"), "Spans", *options],
        "--rate", RATE, "--what", "cpu,waits,locks",
    )  # fmt: skip


@pytest.fixture(scope="module")
def rows(recorded: Run) -> dict[str, SpanRow]:
    return {row.name: row for row in spans(recorded.recording).rows}


def parents(recording: Recording) -> dict[str, str | None]:
    table = recording.spans
    return {table.name[i]: table.name[p] if p >= 0 else None for i, p in enumerate(table.parent)}


def test_the_program_is_as_before(recorded: Run) -> None:
    assert recorded.told["recorded"] is True
    assert all(line.startswith("sonde: ") for line in recorded.err.splitlines()), recorded.err


def test_cpu_time_is_that_of_the_span(recorded: Run, rows: dict[str, SpanRow]) -> None:
    spent = recorded.told["spent"]
    true = {name: spent[name] for name in ("part", "second", "counted")}
    true["outer"] = spent["outer"] + spent["inner"]
    true["inside"] = spent["inner"]
    true["whole"] = spent["whole"] + spent["part"]
    true["first"] = spent["second"]
    wrong = {
        name: (ns, rows[name].cpu_ns)
        for name, ns in true.items()
        if abs(rows[name].cpu_ns - ns) > PERIOD * 8
    }
    assert not wrong
    assert rows["paused"].cpu_ns <= PERIOD


def test_nesting_and_ends(recorded: Run, rows: dict[str, SpanRow]) -> None:
    assert not any(row.open for row in rows.values())
    known = parents(recorded.recording)
    assert known["inside"] == "outer"
    assert known["part"] == "whole"
    assert known["second"] == "first"
    assert known["outer"] is known["counted"] is None
    assert recorded.recording.quality["events_lost"] == 0


def test_attributes_and_names(recorded: Run) -> None:
    table = recorded.recording.spans
    of = dict(zip(table.name, table.attributes, strict=True))
    assert of["outer"]["order"] == "43"
    assert of["Über \U0001f600 "] == {"text": "null"}
    counted = of["counted"]
    assert abs(int(counted["task-clock"]) - recorded.told["spent"]["counted"]) < PERIOD * 4
    assert int(counted["minor-faults"]) >= 0


def test_locks_marks_and_pauses(recorded: Run, rows: dict[str, SpanRow]) -> None:
    recording = recorded.recording
    waited = recorded.told["spent"]["waited"]
    assert rows["locked"].lock_wait_ns == pytest.approx(waited, abs=10_000_000)
    stated = [text for text in recording.marks.text if text != "GC pause"]
    assert stated == ["begun", "über"]
    assert len(recording.pauses) == 1
    assert recording.quality["paused_ns"] >= recorded.told["spent"]["paused"]


def test_a_span_belongs_to_its_virtual_thread(
    jdk: Jdk, recorded: Run, rows: dict[str, SpanRow]
) -> None:
    """Threads that share carriers, in spans and in none: each does an amount of work."""
    if jdk.major < FIRST_WITH_NUMBERS:
        pytest.skip(f"a handler of Java {jdk.major} does not know the virtual thread")
    assert rows["small"].count == rows["large"].count == 4
    large = flat(recorded.recording, Selection(span="large"))
    small = flat(recorded.recording, Selection(span="small"))
    assert large.total_ns > 0
    for found in (large, small):
        assert "Spans.unspanned" not in {row.function.name for row in found.rows}
    whole = flat(recorded.recording, Selection())
    of_all = {row.function.name: row.total_ns for row in whole.rows}
    # Both together are all that the method used: nothing of another thread, and nothing missing.
    both = large.total_ns + small.total_ns
    assert both == pytest.approx(of_all["Spans.virtual"], rel=0.1, abs=PERIOD * 8)
    assert 2 < large.total_ns / small.total_ns < 4.5


def test_reports_select_by_span(recorded: Run) -> None:
    path = str(recorded.path)
    shown = sonde("report", path, "spans", "--json")
    names = {row["name"] for row in json.loads(shown.stdout)["rows"]}
    assert {"outer", "inside", "whole", "part"} <= names
    of_order = json.loads(sonde("report", path, "flat", "--attribute", "order=43", "--json").stdout)
    of_name = json.loads(sonde("report", path, "flat", "--span", "outer", "--json").stdout)
    assert of_order == of_name
    assert of_name["total"] > 0


def test_exports_have_the_spans(recorded: Run, tmp_path: Path) -> None:
    path = str(recorded.path)
    of_trace = json.loads(sonde("report", path, "flat", "--trace", TRACE, "--json").stdout)
    of_name = json.loads(sonde("report", path, "flat", "--span", "whole", "--json").stdout)
    assert of_trace == of_name
    for to, has in (("perfetto", b"outer"), ("otlp", bytes.fromhex(TRACE))):
        out = tmp_path / to
        assert sonde("export", path, "--to", to, "-o", out).returncode == 0
        assert has in out.read_bytes()


def test_a_lock_that_is_acquired_in_a_span(
    jdk: Jdk, keep: Keep, classes: Callable[..., str]
) -> None:
    """Samples of acquisitions have the span, too."""
    run = must_run(
        keep("acquired"),
        [jdk.java, "-cp", classes("Crowded"), "Crowded"],
        "--what", "cpu,lock-activity", "--lock-activity-in", "Crowded",
        "--lock-activity-every", "1",
    )  # fmt: skip
    recording = run.recording
    names = [recording.spans.name[i] for i in recording.lock_samples.span if i >= 0]
    # A span that found no room is not recorded: then the acquisition is in the one around it.
    assert "inner" in names


def test_many_threads_and_the_profile(jdk: Jdk, keep: Keep, classes: Callable[..., str]) -> None:
    run = must_run(
        keep("crowded"),
        [jdk.java, "-cp", classes("Crowded"), "Crowded"],
        "--budget", "50%", "--rate", "1000",
    )  # fmt: skip
    recording, table = run.recording, run.recording.spans
    assert recording.quality["garbled_rings"] == 0
    found = {row.name: row for row in spans(recording).rows}
    # One that found no room is counted and not recorded; one that was has an end.
    assert found["inner"].count == run.told["recorded"] > 0
    assert not any(row.open for row in found.values())
    inside = [p for name, p in zip(table.name, table.parent, strict=True) if name == "inner"]
    assert {table.name[p].split("-")[0] for p in inside if p >= 0} == {"outer"}
    assert run.told["hot"][0] == "Crowded.hotSpot"


def test_class_loaders_come_and_go(jdk: Jdk, keep: Keep, classes: Callable[..., str]) -> None:
    """The API is loaded by several, before and while somebody attaches, and none is kept."""
    with subprocess.Popen(
        [jdk.java, "-Xmx128m", "-cp", classes("Redeployed"), "Redeployed"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    ) as target:
        assert target.stdin is not None
        assert target.stdout is not None

        def ask() -> list[str]:
            assert target.stdin is not None
            assert target.stdout is not None
            target.stdin.write("\n")
            target.stdin.flush()
            return target.stdout.readline().split()

        pid = int(target.stdout.readline())
        assert ask() == ["0", "false", "0"]
        for _ in range(2):
            path = keep("redeployed")
            with subprocess.Popen(
                [*SONDE, "attach", str(pid), "-o", str(path)], env=clean_environment(),
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            ) as attach:  # fmt: skip
                until(
                    lambda: sonde("ctl", str(pid), "status").returncode == 0, "a session", by=attach
                )
                assert ask() == ["5", "true", "0"]
                assert ask() == ["5", "true", "0"]
                assert sonde("ctl", str(pid), "detach").returncode == 0
                assert attach.wait(TIMEOUT_S) == 0
            assert ask() == ["0", "false", "0"]
            (row,) = spans(read(path)).rows
            assert (row.name, row.count, row.open) == ("deployed", 12, 0)
        target.stdin.close()
        assert target.wait(TIMEOUT_S) == 0


@pytest.mark.parametrize("threads", ["own", "virtual"])
def test_tomcat_has_a_span_for_each_request(
    jdk: Jdk, keep: Keep, classes: Callable[..., str], tmp_path: Path, threads: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    if threads == "virtual" and jdk.major < FIRST_WITH_NUMBERS:
        pytest.skip(f"Java {jdk.major} has no virtual threads, or a handler does not know them")
    tomcat = jars.jars("tomcat")
    if not tomcat:
        pytest.skip("tomcat is not on this machine; `make jars` fetches it")
    into = run_folder(tmp_path_factory) / "java-api-filter"
    libraries = [java_api(), *tomcat]
    own_filter = compiled(EXAMPLES / "SpanFilter.java", into, libraries)
    path = classes("SpannedWeb", own_filter, *tomcat)
    with subprocess.Popen(
        [jdk.java, "-Xmx256m", "-cp", path, "SpannedWeb", tmp_path, threads],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=clean_environment(),
    ) as process:
        try:
            assert process.stdout is not None
            load = Load(int(process.stdout.readline()), new_every=20)
            try:
                run = attached(process.pid, keep("tomcat"), "--for", "1.5", "--rate", RATE)
            finally:
                load.end()
            out, _ = process.communicate(timeout=TIMEOUT_S)
        finally:
            if process.poll() is None:
                process.kill()
    assert (process.returncode, out) == (0, "over\n")
    assert load.failed == []
    found = {row.name: row for row in spans(run.recording).rows}
    request, work = found["GET /*"], found["sum"]
    assert request.count > 10
    assert request.cpu_ns >= work.cpu_ns > 0
    # The last ones had not got their names yet when the recording ended.
    assert parents(run.recording)["sum"] in ("GET /*", "GET")
    # Requests that had begun when the session did are in no span, and the pause is no work.
    summed, inside = (
        sum(row.total_ns for row in found.rows if row.function.name == "SpannedWeb.sum")
        for found in (flat(run.recording, which) for which in (Selection(), Selection(span="sum")))
    )
    begun_before = 2 * CLIENTS * work.cpu_ns / work.count
    assert inside <= min(summed, work.cpu_ns)
    assert summed - inside <= 0.1 * summed + begun_before
    statuses = {attributes.get("status") for attributes in run.recording.spans.attributes}
    assert statuses <= {"200", None}


def test_spans_of_a_native_library(
    jdk: Jdk, keep: Keep, classes: Callable[..., str], tmp_path: Path
) -> None:
    """By the header for C programs, nested in those of Java."""
    library = tmp_path / "libnative_spans.so"
    headers = jdk.home / "include"
    subprocess.run(
        ["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{c_include()}",
         "-isystem", headers, "-isystem", headers / "linux", "-o", library,
         SOURCES / "native_spans.c"],
        check=True,
    )  # fmt: skip
    allowed = ["--enable-native-access=ALL-UNNAMED"]
    options = ["virtual"] if jdk.major >= FIRST_WITH_NUMBERS else []
    command = [jdk.java, *allowed, "-cp", classes("NativeSpans"), "NativeSpans", library, *options]
    run = must_run(keep("native"), command, "--rate", RATE)
    assert run.told["recorded"] is True
    found = {row.name: row for row in spans(run.recording).rows}
    names = ["java", "virtual"] if options else ["java"]
    for name in names:
        assert abs(found[name].cpu_ns - 50_000_000) < PERIOD * 8
    true = len(names) * 70_000_000 + 1_000_000
    assert abs(found["native"].cpu_ns - true) < PERIOD * 16
    table = run.recording.spans
    above = [table.name[p] if p >= 0 else None for p in table.parent]
    inside = [p for name, p in zip(table.name, above, strict=True) if name == "native"]
    assert inside == [by for name in names for by in (name, None)] + [None]
    assert {of["ms"] for of in table.attributes if of} == {"50", "20", "1"}
