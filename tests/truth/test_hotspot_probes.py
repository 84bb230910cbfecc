"""Values at lines of Java programs: locals, arguments, fields, elements, lengths."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attaching import attach, begun, until
from java import Jdk, compiled
from launching import SONDE, TIMEOUT_S, Run, clean_environment, must_run
from shared import run_folder

from sonde.views.probes.probes import probes

SOURCES = Path(__file__).resolve().parent / "hotspot"
ROUNDS = 200
EVERY = 8
READ = ROUNDS // EVERY
FAILED = {"number.x": "the object had no such attribute", "prices[9]": "there was no such item"}


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(SOURCES, run_folder(tmp_path_factory) / "java-truth")


def line_of(text: str) -> int:
    lines = (SOURCES / "Probed.java").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


TAKE, COUNT = line_of("total += size"), line_of("word.length")


def rows(run: Run) -> dict[str, dict[str, Any]]:
    return {row["expression"]: row for row in probes(run.recording).to_json()["rows"]}


def test_values_are_those_of_the_program(
    jdk: Jdk, classes: Path, keep: Callable[[str], Path]
) -> None:
    types = {
        "size": "int",
        "share": "double",
        "last": "boolean",
        "this.name": "java.lang.String",
        "len(items)": "int",
        "prices[1]": "long",
        "limit": "java.lang.Integer",
        **dict.fromkeys(FAILED),
    }
    wanted = [f"Probed.java:{TAKE} {name} every {EVERY}" for name in types]
    wanted += [f"Probed.java:{COUNT} {name} every {EVERY}" for name in ("word", "total")]
    options = [word for probe in wanted for word in ("--probe", probe)]
    found = rows(must_run(keep("probes"), [jdk.java, "-cp", classes, "Probed"], *options))
    assert {row["hits"] for row in found.values()} == {ROUNDS}
    for name, type_ in types.items():
        assert found[name]["sampled"] == (0 if name in FAILED else READ), name
        assert found[name]["types"] == ({type_: READ} if type_ else {}), name
    for name, why in FAILED.items():
        assert found[name]["failures"] == {why: READ}
    values = {
        name: {top["value"]: top["count"] for top in row["top_values"]}
        for name, row in found.items()
    }
    assert values["this.name"] == {"crate": READ}
    assert values["prices[1]"] == {7: READ}
    assert values["limit"] == {3: READ}
    assert values["word"] == {"pear0": READ}
    assert set(values["size"]) <= set(range(1, ROUNDS + 1, EVERY))
    assert found["total"]["types"] == {"int": READ}
    for row in found.values():
        for context in row["contexts"]:
            frames = [frame["name"] for frame in context["chain"]]
            assert frames[-1] in ("Probed.take", "Probed.count")
            assert "Probed.main" in frames


def test_probes_come_and_go_while_a_program_runs(
    jdk: Jdk, classes: Path, keep: Callable[[str], Path]
) -> None:
    command = [jdk.java, "-cp", str(classes), "Probed", "wait"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    ) as program:
        assert program.stdin and program.stdout
        assert program.stdout.readline() == "ready\n"

        def control(*words: str) -> str:
            done = subprocess.run(
                [*SONDE, "ctl", str(program.pid), "probe", *words],
                capture_output=True, text=True, env=clean_environment(), timeout=TIMEOUT_S,
                check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            return done.stdout

        def one_round() -> None:
            assert program.stdin and program.stdout
            program.stdin.write("\n")
            program.stdin.flush()
            assert program.stdout.readline() == "done\n"

        path = keep("attached")
        recorder = attach(program.pid, path, "--what", "probes")
        until(lambda: begun(path), "the recording", recorder)
        one_round()
        control("add", f"Probed.java:{TAKE} size every {EVERY}")
        until(lambda: '"places":1' in control("list", "--json"), "the probe", recorder)
        one_round()
        control("remove", "1")
        one_round()
        recorder.send_signal(signal.SIGINT)
        _, err = recorder.communicate(timeout=TIMEOUT_S)
        assert recorder.returncode == 0, err
        one_round()
        program.stdin.close()
        assert program.wait(TIMEOUT_S) == 0
    assert rows(Run(0, "", err, path))["size"]["hits"] == ROUNDS
