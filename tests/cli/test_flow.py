"""The call flow on the command line: what cannot be, and budgets."""

from __future__ import annotations

import json
import sys

import pytest

from launching import must_run, sonde

PROGRAM = """
import sys

def price(n):
    total = 0
    for i in range(n):
        total += i
    return total

def order(n):
    return sum(price(n) for _ in range(5))

def extra():
    for number in range(40):
        pass

order(int(sys.argv[1]))
if len(sys.argv) > 2:
    extra()
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("flow")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    found = {}
    for name, arguments in {
        "base": ["100"],
        "some": ["103"],
        "much": ["120"],
        "new": ["100", "x"],
    }.items():
        path = folder / f"{name}.sonde"
        must_run(
            path, [sys.executable, program, *arguments],
            "--what", "flow", "--flow-metric", "instructions", "--flow-in", "__main__",
        )  # fmt: skip
        found[name] = str(path)
    return found


@pytest.mark.parametrize(
    ("new", "limit", "code"),
    [("base", "0", 0), ("some", "5%", 0), ("much", "5%", 3), ("new", "1%", 3), ("new", "200", 0)],
)
def test_a_function_that_grew(recorded: dict[str, str], new: str, limit: str, code: int) -> None:
    done = sonde("diff", recorded["base"], recorded[new], "--flow", "--fail-over", limit, "--json")
    assert done.returncode == code, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["grew"] > 0) == (code == 3)
    grown = {
        row["name"] for row in answer["rows"] if row["delta"] > 0 and row["name"] != "<module>"
    }
    assert grown == {"base": set(), "some": {"price"}, "much": {"price"}, "new": {"extra"}}[new]
    shown = sonde("diff", recorded["base"], recorded[new], "--flow", "--fail-over", limit)
    assert shown.returncode == code
    assert all(name in shown.stdout for name in grown)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "--flow-in", "json", "x.py"), "--flow-in needs --what flow"),
        (("run", "--what", "flow", "--flow-metric", "ticks", "x.py"), "cpu, wall, instructions"),
        (("run", "--what", "flow,calls", "x.py"), "cannot be combined"),
        (("run", "--what", "flow", "--flow-in", " ", "x.py"), "--flow-in is empty"),
        (("report", "x.sonde", "tree", "--flat"), "--flat does not apply to tree"),
        (("report", "x.sonde", "flow", "--flat", "--events"), "cannot be combined"),
        (("diff", "a", "b", "--flow", "--fail-over", "much"), "invalid --fail-over"),
        (("diff", "a", "b", "--flow", "--wall"), "leave out --running"),
    ],
)
def test_what_cannot_be(arguments: tuple[str, ...], words: str) -> None:
    done = sonde(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_part_of_the_time_is_refused(recorded: dict[str, str]) -> None:
    done = sonde("report", recorded["base"], "flow", "--from", "1ms")
    assert done.returncode == 2
    assert "--flow-in" in done.stderr
