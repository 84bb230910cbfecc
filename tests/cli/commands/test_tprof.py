"""The whole machine, of which we know at least what we do on it ourselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import pythons
from java import all_jdks, compiled
from launching import clean_environment, sonde

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="the whole machine is root's to look at")

BURN = """
import time
def busy_one():
    end = time.monotonic() + 0.001
    while time.monotonic() < end: pass
def main():
    while True: busy_one()
main()
"""


@contextmanager
def burning(code: str = BURN) -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-c", code], env=clean_environment())
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def cpu_ns(pid: int) -> int:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def tprof(*arguments: str) -> dict[str, Any]:
    done = sonde("tprof", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def section(found: dict[str, Any], *by: str) -> list[dict[str, Any]]:
    (rows,) = [part["rows"] for part in found["sections"] if part["by"] == list(by)]
    return list(rows)


@needs_root
def test_a_busy_program_is_seen_with_its_module() -> None:
    with burning() as pid:
        began, used = time.monotonic_ns(), cpu_ns(pid)
        found = tprof("--for", "1.5", "--rate", "200")
        # It wants one processor all the time, and shares with whoever else runs.
        share = (cpu_ns(pid) - used) / (time.monotonic_ns() - began)
    expected = found["duration_ns"] / 1e9 * 200 * found["processors"]
    assert found["ticks"] + found["lost"] == pytest.approx(expected, rel=0.2)
    for part in found["sections"]:  # every way to add up is the same
        assert sum(row["ticks"] for row in part["rows"]) == found["ticks"]
    (process,) = [row for row in section(found, "process") if row["id"] == pid]
    assert process["ticks"] > 0.5 * share * found["duration_ns"] / 1e9 * 200
    (row,) = [row for row in section(found, "process", "module") if row["id"] == pid]
    modules = {child["name"] for child in row["children"]}
    assert any("python" in name for name in modules), modules
    (row,) = [
        row for row in section(found, "process", "thread", "module", "symbol") if row["id"] == pid
    ]
    symbols = {s["name"] for t in row["children"] for m in t["children"] for s in m["children"]}
    assert len(symbols - {"NoSymbols"}) >= 3, symbols


@needs_root
def test_inside_names_python_functions() -> None:
    with burning() as pid:
        found = tprof("--for", "2", "--inside", "--process", str(pid))
    (row,) = section(found, "process", "module")
    python = {child["name"]: child["ticks"] for child in row["children"]}
    # Clock functions are the kernel's, mapped into the process; and the agent is not in at once.
    native = sum(ticks for name, ticks in python.items() if "python" in name)
    assert python.get("PYTHON", 0) > native, python
    rows = [row for row in section(found, "module", "symbol") if row["name"] == "PYTHON"]
    names = {symbol["name"].split()[0]: symbol["ticks"] for symbol in rows[0]["children"]}
    assert names.get("busy_one", 0) + names.get("time.monotonic", 0) > 0.8 * rows[0]["ticks"]


@needs_root
def test_the_text_is_laid_out_as_in_the_paper() -> None:
    with burning():
        done = sonde("tprof", "--for", "0.5", "--top", "3")
    assert done.returncode == 0, done.stderr
    assert {"LAB", "TKS", "%%", "NAMES"} <= set(done.stdout.split())
    for label in ("PID", "TID", "MOD", "SYM"):
        assert f" {label} " in done.stdout


@needs_root
def test_a_recording_has_the_same_report(tmp_path: Path) -> None:
    path = tmp_path / "machine.sonde"
    with burning() as pid:
        began, used = time.monotonic_ns(), cpu_ns(pid)
        done = sonde("tprof", "--for", "1", "--rate", "200", "--process", str(pid), "-o", path)
        share = (cpu_ns(pid) - used) / (time.monotonic_ns() - began)
    assert (done.returncode, done.stdout) == (0, "")
    assert f"read it with: sonde report {path} tprof" in done.stderr
    found = json.loads(sonde("report", path, "tprof", "--json").stdout)
    assert found["ticks"] > 0.5 * share * 200
    assert {row["id"] for row in section(found, "process")} == {pid}
    flat = json.loads(sonde("report", path, "flat", "--json").stdout)
    assert flat["total"] == found["ticks"] * 5_000_000
    assert " PID " in sonde("report", path, "tprof").stdout
    summary = sonde("report", path)
    assert summary.returncode == 0
    assert summary.stdout.startswith("tprof was recorded for ")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-o", "m.sonde", "--json"], "--json and -o cannot be combined; give --json to: sonde re"),
        (["-o", "m.sonde", "--top", "3"], "--top and -o cannot be combined; give --top to: sonde "),
        (["--for", "0"], "invalid --for '0'; give a time"),
        (["--for", "x"], "invalid --for 'x'; give a time"),
        (["--rate", "0"], "invalid --rate '0'; give samples per second"),
        (["--rate", "99999"], "invalid --rate 99999; give at most 10,000"),
        (["--process", "x"], "invalid --process 'x'; give a PID"),
    ],
)
def test_wrong_calls(arguments: list[str], says: str) -> None:
    done = sonde("tprof", *arguments)
    assert done.returncode == 2
    assert says in done.stderr


@pytest.mark.parametrize(
    ("place", "why"), [("none/m.sonde", "there is no directory"), (".", "it is a directory")]
)
def test_a_file_that_cannot_be_written_is_refused_at_once(
    tmp_path: Path, place: str, why: str
) -> None:
    done = sonde("tprof", "--for", "3600", "-o", tmp_path / place)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"sonde: cannot write {tmp_path / place}: {why}")
    assert done.stderr.count("\n") == 1


MANY = """
import json, subprocess, sys, time
java, classes, *interpreters = json.loads(sys.argv[1])
code = "import time\\ndef hot_{}():\\n for i in range(3000): i * i\\nwhile True: hot_{}()\\n"
run = [subprocess.Popen([python, "-c", code.format(n, n)]) for n, python in enumerate(interpreters)]
# Somebody else's: root may enter it.
other = "import os; os.setgid(65534); os.setuid(65534)\\n" + code.format("other", "other")
run.append(subprocess.Popen([sys.executable, "-c", other]))
if java:
    run.append(subprocess.Popen([java, "-cp", classes, "Spin"]))
# Comes and goes meanwhile.
coming = "import os\\nwhile True: os.system(f'{} -c \\"sum(range(9**6))\\"')".format(sys.executable)
run.append(subprocess.Popen([sys.executable, "-c", coming]))
time.sleep(2)
done = subprocess.run([sys.executable, "-m", "sonde", "tprof", "--inside", "--for", "6", "--json"],
                      capture_output=True, text=True)
alive = [p.poll() is None for p in run]
print(json.dumps([done.returncode, done.stdout, done.stderr, alive, [p.pid for p in run]]))
for p in run: p.kill()
"""

SPIN = """
public class Spin {
    static volatile double x;
    static void hotJava() { for (int i = 0; i < 100000; i++) x += Math.sqrt(i); }
    public static void main(String[] args) { while (true) hotJava(); }
}
"""


@needs_root
def test_inside_all_processes_of_a_machine(tmp_path: Path) -> None:
    """In a pid namespace: else it would enter whatever runs on the machine that tests."""
    unshared = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*unshared, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no pid namespace of our own may be made here")
    java, classes = None, tmp_path / "classes"
    if all_jdks():
        (tmp_path / "Spin.java").write_text(SPIN)
        compiled(tmp_path / "Spin.java", classes)
        java = all_jdks()[-1].java
    found = list(pythons.found().values())
    interpreters = list(dict.fromkeys([found[0], found[-1]]))
    asked = json.dumps([java, str(classes), *interpreters])
    done = subprocess.run(
        [*unshared, sys.executable, "-c", MANY, asked],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env=clean_environment(),
    )
    assert done.returncode == 0, done.stderr
    code, out, err, alive, pids = json.loads(done.stdout)
    assert code == 0, err
    assert "Traceback" not in err
    assert all(alive)
    told = json.loads(out)
    for part in told["sections"]:
        assert sum(row["ticks"] for row in part["rows"]) == told["ticks"]
    symbols = {
        (row["name"], symbol["name"].split()[0])
        for row in section(told, "module", "symbol")
        for symbol in row["children"]
    }
    wanted = [("PYTHON", f"hot_{n}") for n in range(len(interpreters))]
    wanted += [("PYTHON", "hot_other"), *([("JAVA", "Spin.hotJava")] if java else [])]
    # On a busy machine one may be entered too late; then that is said.
    named = [one in symbols for one in wanted]
    for one, pid, seen in zip(wanted, pids, named, strict=False):
        assert seen or f"process {pid} " in err, (one, err, sorted(symbols))
    assert any(named)
    # Nobody knows what the others on the machine do, but they are not idle for that.
    names = {row["name"] for row in section(told, "process") if row["id"] == 0}
    assert names <= {"idle", "outside of this container"}
