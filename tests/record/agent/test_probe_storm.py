"""Probes that come and go while many threads run the line, and a program that forks meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from environments import Environment
from launching import TIMEOUT_S, clean_environment

ROUNDS = "12"
SOURCE = Path(__file__).parents[3] / "src"

STORM = """
import json, os, sys, threading
import sonde

go = threading.Event()

def line(values, table):
    total = 0
    for value in values:
        total += table.get(value, 0)  # here
    return total

def spin(done, number):
    while not go.is_set():
        assert line(range(20), {n: n for n in range(20)}) == 190
        exec(compile("def fresh(x):\\n    return x + 1\\nfresh(1)", "fresh.py", "exec"), {})
        done[number] += 1

rounds, number = int(sys.argv[1]), int(sys.argv[2])
done = [0] * 16
with sonde.record(sys.argv[3], what="cpu,locks,probes") as session:
    threads = [threading.Thread(target=spin, args=(done, n)) for n in range(16)]
    for thread in threads:
        thread.start()
    hits = 0
    for step in range(rounds):
        mine = [
            session.probe(f"storm.py:{number} {text}", every=7)
            for text in ("value", "total", "len(values)", "table[3]", "missing.attribute")
        ] + [session.probe("fresh.py:2 x", every=3)]
        if step % 10 == 5 and not os.fork():
            os._exit(0 if line(range(20), {n: n for n in range(20)}) == 190 else 1)
        if step % 10 == 5:
            assert os.wait()[1] == 0
        for one in mine:
            session.remove_probe(one)
        hits += sum(done)
    assert session.probes() == []
    go.set()
    for thread in threads:
        thread.join()
print(json.dumps([sys.monitoring.get_tool(n) for n in range(6)]))
"""


@pytest.mark.soak
def test_probes_come_and_go_while_threads_run_the_line(
    environment: Environment, tmp_path: Path
) -> None:
    if environment.python.minor < 12:
        pytest.skip("probes need 3.12")
    script = tmp_path / "storm.py"
    script.write_text(STORM)
    number = next(n for n, text in enumerate(STORM.splitlines(), 1) if text.endswith("# here"))
    done = subprocess.run(
        [environment.path, script, ROUNDS, str(number), tmp_path / "storm.sonde"],
        capture_output=True, text=True, timeout=TIMEOUT_S * 5, check=False,
        env=clean_environment(PYTHONPATH=os.fspath(SOURCE)),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [None] * 6
