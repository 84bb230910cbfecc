"""C code of an extension module states spans by sonde.h, on every interpreter."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from attaching import attach, until
from launching import TARGETS, TIMEOUT_S, Interpreter, Run, clean_environment, must_run, sonde
from matrix import OLDEST_AND_NEWEST
from sonde.record.system.native_libraries import c_include
from sonde.recording.reader import read
from sonde.views.selecting.selection import Selection
from sonde.views.spans import SpanRow, spans
from sonde.views.stacks.flat import flat

PERIOD = 500_000
SOURCE = TARGETS / "c_spans.c"

PROGRAM = """
import json, sys, threading
import c_spans

def apart():
    number = c_spans.begin("held")
    c_spans.burn("inner", 0.03)
    return number

def spanned():
    c_spans.burn("with the GIL", 0.05)
    c_spans.burn("again", 0.02)

c_spans.mark("here")
spanned()
thread = threading.Thread(target=c_spans.without_gil, args=("without", 0.05))
thread.start()
thread.join()
c_spans.in_thread(0.03)
c_spans.end(apart())
c_spans.paused(0.03)
counted, cpu, profile = c_spans.asked()
hot = [row[0] for row in json.loads(profile)["functions"]] if profile else None
print(json.dumps({"counted": counted, "cpu": cpu, "hot": hot}))
"""


@pytest.fixture(scope="module")
def module(python: Interpreter, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the extension module, built for the interpreter."""
    folder = tmp_path_factory.mktemp("c_spans")
    ask = "import sysconfig; print(sysconfig.get_path('include'))"
    include = subprocess.check_output([python.path, "-c", ask], text=True).strip()
    subprocess.run(
        ["cc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
         "-isystem", include, f"-I{c_include()}", "-o", folder / "c_spans.so", SOURCE],
        check=True,
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def recorded(python: Interpreter, module: Path, keep: Callable[[str], Path]) -> Run:
    return must_run(
        keep("c-spans"), [python.path, "-c", PROGRAM], "--rate", "2000", "--budget", "60%",
        env=clean_environment(PYTHONPATH=str(module)),
    )  # fmt: skip


@pytest.fixture(scope="module")
def rows(recorded: Run) -> dict[str, SpanRow]:
    return {row.name: row for row in spans(recorded.recording).rows}


pytestmark = pytest.mark.versions(*OLDEST_AND_NEWEST)


def test_cpu_time_is_that_of_the_span(rows: dict[str, SpanRow]) -> None:
    true = {
        "with the GIL": 50, "again": 20, "without": 50, "part": 30, "renamed": 30, "inner": 30,
        "held": 30,
    }  # fmt: skip
    wrong = {
        name: (ms, rows[name].cpu_ns)
        for name, ms in true.items()
        if abs(rows[name].cpu_ns - ms * 1_000_000) > PERIOD * 8
    }
    assert not wrong
    assert not any(row.open for row in rows.values())


def test_nesting_attributes_marks_and_pauses(recorded: Run) -> None:
    table = recorded.recording.spans
    parents = {table.name[i]: table.name[p] if p >= 0 else None for i, p in enumerate(table.parent)}
    assert parents["part"] == "renamed"
    assert parents["inner"] == "held"
    assert parents["again"] is parents["without"] is None
    of = dict(zip(table.name, table.attributes, strict=True))
    assert of["without"] == {"order": "42", "number": "-7"}
    assert recorded.recording.marks.text == ["here"]
    assert len(recorded.recording.pauses) == 1


def test_other_code_of_the_function_is_in_no_span(recorded: Run) -> None:
    """Where no Python code is on the stack: what the thread does after the span is not in it."""
    whole = flat(recorded.recording, Selection())
    inside = flat(recorded.recording, Selection(span="part"))
    assert inside.total_ns < whole.total_ns / 2


def test_counters_and_the_profile(recorded: Run) -> None:
    told = recorded.told
    assert told["counted"] == 1
    assert told["cpu"] > 100_000_000
    assert any("burn" in name or "spanned" in name for name in told["hot"])


LATER = """
import os, sys, c_spans
assert c_spans.begin("before") == 0
print(os.getpid(), flush=True)
for line in sys.stdin:
    c_spans.burn("later", 0.02)
    print(c_spans.begin("left open") != 0, flush=True)
"""


def test_an_agent_comes_and_goes(
    python: Interpreter, module: Path, keep: Callable[[str], Path]
) -> None:
    with subprocess.Popen(
        [python.path, "-c", LATER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment(PYTHONPATH=str(module)),
    ) as target:

        def ask() -> bool:
            assert target.stdin is not None
            assert target.stdout is not None
            target.stdin.write("\n")
            target.stdin.flush()
            return json.loads(target.stdout.readline().lower()) is True

        assert target.stdout is not None
        pid = int(target.stdout.readline())
        assert not ask()
        for _ in range(2):
            path = keep("later")
            attaching = attach(pid, path)
            until(lambda: sonde("ctl", str(pid), "status").returncode == 0, "a session", attaching)
            assert ask()
            assert sonde("ctl", str(pid), "detach").returncode == 0
            assert attaching.wait(TIMEOUT_S) == 0
            attaching.communicate()
            assert not ask()
            found = {row.name: row for row in spans(read(path)).rows}
            assert (found["later"].count, found["left open"].open) == (1, 1)


@pytest.mark.versions(OLDEST_AND_NEWEST[0])
@pytest.mark.parametrize(
    "compiler",
    [
        ("cc", "-std=c99", "-pedantic"),
        ("c++", "-x", "c++", "-std=c++11"),
        ("c++", "-x", "c++", "-std=c++20"),
        ("cc", "-std=c17", "-O2", "-flto", "-Wl,--gc-sections", "-ffunction-sections"),
    ],
)
def test_the_header_alone(compiler: tuple[str, ...], python: Interpreter, tmp_path: Path) -> None:
    """In two files of one program, in which nobody records it."""
    text = """
    #include <sonde.h>
    int %s(void)
    {
        sonde_thread_counts counts;
        char json[64];
        sonde_span span = sonde_span_begin("a"), part = sonde_span_begin_part("b", span);
        SONDE_SPAN("scope");
        sonde_span_set(span, "key", "value");
        sonde_span_set_number(part, "key", -1);
        sonde_span_rename(part, "c");
        sonde_span_end(part);
        sonde_span_end(span);
        sonde_mark("m");
        sonde_pause();
        sonde_resume();
        return sonde_span_is_recorded(span) + sonde_thread_counters(&counts)
            + (int)sonde_hot(json, sizeof json);
    }
    """
    (tmp_path / "one.c").write_text(text % "one")
    (tmp_path / "two.c").write_text(
        text % "two" + "\nint one(void);\nint main(void) { return one() + two(); }\n"
    )
    program = tmp_path / "program"
    subprocess.run(
        [*compiler, "-Wall", "-Wextra", "-Werror", f"-I{c_include()}", "-o", program,
         tmp_path / "one.c", tmp_path / "two.c"],
        check=True,
    )  # fmt: skip
    done = subprocess.run([program], check=False, timeout=TIMEOUT_S, env=clean_environment())
    assert done.returncode == 0
