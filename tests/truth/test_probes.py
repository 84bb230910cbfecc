"""Values at lines: a program whose values are known, and what is left in it afterwards."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attaching import Target, attach, until
from launching import TIMEOUT_S, Interpreter, must_run, sonde
from sonde.views.probes.probes import ProbeRow, probes
from truth.stacks import PROGRAMS

COUNT = 120
LATER = """def later(count):
    for step in range(count):
        step += 1  # later
"""


def line_of(text: str, mark: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if line.endswith(f"# {mark}"))


PROGRAM = PROGRAMS / "probed.py"
WORK = line_of(PROGRAM.read_text(), "work")
READ = (
    "number", "items[0].name", "items[0].size", "items[0].kind", "items[0].computed",
    "items[1][0]", "table['name']", "table[3][-1]", "mixed['other']", "slotted.value", "odd",
)  # fmt: skip
MORE = ("text", "ratio", "LIMIT", "large", "len(items[1])", "len(table)", "missing")


@pytest.fixture(scope="module")
def rows(
    python: Interpreter,
    keep: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, ProbeRow]:
    """By expression."""
    if python.minor < 12:
        pytest.skip("probes need 3.12")
    folder = tmp_path_factory.mktemp("later")
    (folder / "probed_later.py").write_text(LATER)
    source = PROGRAM.read_text()
    others = {
        "value": f"probed.py:{line_of(source, 'generated')} value every 7",
        "count": f"probed.py:{line_of(source, 'listed')} count",
        "number ": f"probed.py:{line_of(source, 'inner')} number",
        "step": f"probed_later.py:{line_of(LATER, 'later')} step",
    }
    found: dict[str, ProbeRow] = {}
    for some in (READ, MORE):
        wanted = [f"probed.py:{WORK} {expression}" for expression in some]
        wanted += others.values() if some is MORE else ()
        command = [python.path, PROGRAM, str(COUNT), str(folder)]
        options = [part for text in wanted for part in ("--probe", text)]
        run = must_run(keep(f"probed-{python.version}"), command, *options)
        keys = [*some, *(others if some is MORE else ())]
        found |= dict(zip(keys, probes(run.recording).rows, strict=True))
    return found


def values(row: ProbeRow) -> Counter[object]:
    return Counter({value["value"]: value["count"] for value in row.top_values})


def test_every_pass_of_every_thread_is_a_value(rows: dict[str, ProbeRow]) -> None:
    number = rows["number"]
    assert (number.hits, number.sampled, number.lost) == (2 * COUNT, 2 * COUNT, 0)
    assert (number.minimum, number.maximum) == (0, COUNT - 1)
    assert number.mean == pytest.approx((COUNT - 1) / 2)
    assert sum(n for _, n in number.histogram) == 2 * COUNT
    (context,) = number.contexts
    names = [frame["name"] for frame in context["chain"]]
    assert names[-1] == "work"
    assert any("lambda" in name for name in names)


def test_what_is_stored_is_read(rows: dict[str, ProbeRow]) -> None:
    third = 2 * COUNT // 3
    assert values(rows["items[0].name"]) == {f"item {n}": third for n in range(3)}
    assert values(rows["items[0].size"]) == {n: COUNT // 2 for n in range(4)}
    assert values(rows["items[0].kind"]) == {"item": 2 * COUNT}
    assert values(rows["table['name']"]) == {n: 2 * COUNT // 5 for n in range(5)}
    assert rows["table[3][-1]"].maximum == COUNT
    assert values(rows["mixed['other']"]) == {2: 2 * COUNT}
    assert values(rows["text"]) == {"ä" * n: third for n in range(3)}
    assert rows["ratio"].types == {"float": 2 * COUNT}
    assert rows["ratio"].maximum == (COUNT - 1) / 2
    assert values(rows["LIMIT"]) == {7: 2 * COUNT}
    assert rows["large"].types == {"int": 2 * COUNT}
    assert values(rows["len(table)"]) == {2: 2 * COUNT}


def test_what_cannot_be_read_is_counted_with_the_reason(rows: dict[str, ProbeRow]) -> None:
    assert rows["items[0].computed"].failures == {
        "reading the attribute would have run code": 2 * COUNT
    }
    for expression in ("items[1][0]", "len(items[1])"):
        (why,) = rows[expression].failures or {}
        assert "built-in container" in why
    assert rows["slotted.value"].sampled == rows["odd"].sampled == COUNT
    assert rows["slotted.value"].failures == {"the object had no such attribute": COUNT}
    assert rows["odd"].failures == {"the variable was not bound": COUNT}
    assert rows["missing"].failures == {"the variable was not bound": 2 * COUNT}


def test_generators_nested_functions_and_later_modules_have_probes(
    rows: dict[str, ProbeRow],
) -> None:
    assert rows["value"].hits == COUNT
    assert rows["value"].sampled == -(-COUNT // 7)
    assert rows["value"].maximum == (COUNT - 1) // 7 * 7
    assert values(rows["count"])[COUNT] >= 1
    assert rows["number "].hits == 2 * COUNT
    assert (rows["step"].hits, rows["step"].maximum) == (COUNT, COUNT - 1)


LOOP = """
import dis, json, os, sys, threading
go = threading.Event()

def spin(seen):
    step = 0
    while not go.is_set():
        step += 1
        seen[0] = step  # step

def state():
    code = spin.__code__
    tools = {}
    if hasattr(sys, "monitoring"):
        tools = {n: sys.monitoring.get_tool(n) for n in range(6)}
    names = [one.opname for one in dis.get_instructions(code, adaptive=True)]
    return [tools, code.co_code.hex(), [n for n in names if n.startswith("INSTRUMENTED")]]

before = state()
seen = [0]
thread = threading.Thread(target=spin, args=(seen,))
thread.start()
print(os.getpid(), flush=True)
sys.stdin.readline()
during = state()
sys.stdout.write(json.dumps(during) + chr(10))
sys.stdout.flush()
sys.stdin.readline()
after = state()
go.set()
thread.join()
print(json.dumps([before, after, seen[0]]), flush=True)
"""


def test_a_running_loop_gets_probes_and_loses_them_again(
    python: Interpreter, tmp_path: Path
) -> None:
    if python.minor < 12:
        pytest.skip("probes need 3.12")
    script, out = tmp_path / "loop.py", tmp_path / "loop.sonde"
    script.write_text(LOOP)
    probe = f"loop.py:{line_of(LOOP, 'step')} step every 50"
    with Target(python, script) as target:
        pid = str(target.pid)

        def listed() -> dict[str, Any]:
            shown = sonde("ctl", pid, "probe", "list", "--json")
            rows = json.loads(shown.stdout)["probes"] if shown.returncode == 0 else []
            return rows[0] if rows else {"sampled": 0}

        recording = attach(target.pid, out, "--what", "cpu,probes")
        until(lambda: sonde("ctl", pid, "probe", "add", probe).returncode == 0, "a probe")
        row = until(lambda: (found := listed())["sampled"] > 100 and found, "values", recording)
        assert row["places"] == 1
        target.write("\n")
        assert target.process.stdout is not None
        during = json.loads(target.process.stdout.readline())
        assert "sonde" in during[0].values()
        assert "INSTRUMENTED_LINE" in during[2]
        number = str(row["number"])
        assert sonde("ctl", pid, "probe", "remove", number).returncode == 0
        again = sonde("ctl", pid, "probe", "remove", number)
        assert (again.returncode, again.stdout) == (1, "")
        assert "there are none" in again.stderr
        assert sonde("ctl", pid, "stop").returncode == 0
        assert recording.wait(TIMEOUT_S) == 0
        code, told, _ = target.end("\n")
    assert code == 0
    before, after, steps = json.loads(told.splitlines()[-1])
    assert after == before
    (shown_row,) = json.loads(sonde("report", out, "probes", "--json").stdout)["rows"]
    assert 0 < shown_row["hits"] <= steps
    assert shown_row["hits"] // 50 <= shown_row["sampled"] + shown_row["lost"]
    assert {step["count"] for step in shown_row["over_time"]}
