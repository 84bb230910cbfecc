"""The frame of the command line: verbs, errors, exit codes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sonde.cli.commands
from sonde.cli.main import Commands, main
from sonde.errors import SondeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SOURCE = Path(__file__).parents[2] / "src"
SONDE = [sys.executable, "-c", "import sys; from sonde.cli.main import main; sys.exit(main())"]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(SOURCE)}


@pytest.fixture
def verb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Adds a verb as anybody would: by adding a file."""
    folders = [*sonde.cli.commands.__path__, str(tmp_path)]
    monkeypatch.setattr(sonde.cli.commands, "__path__", folders)

    def add(body: str) -> None:
        (tmp_path / "newverb.py").write_text(body)

    yield add
    sys.modules.pop("sonde.cli.commands.newverb", None)


def test_a_file_makes_a_verb(
    verb: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    verb("def newverb(word: str) -> None:\n    'Says it.'\n    print('said', word)\n")
    assert main(["newverb", "hello"]) == 0
    assert capsys.readouterr().out == "said hello\n"
    assert main(["--help"]) == 0
    assert "newverb" in capsys.readouterr().out


def test_a_failure_is_one_sentence(
    verb: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    verb(
        "from sonde.errors import SondeError\n"
        "def newverb() -> None:\n    raise SondeError('the disk is full')\n"
    )
    assert main(["newverb"]) == SondeError.code == 1
    assert capsys.readouterr() == ("", "sonde: the disk is full\n")


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (
            "FileNotFoundError(2, 'No such file or directory', 'x')",
            1,
            "x: no such file or directory",
        ),
        ("PermissionError(13, 'Permission denied')", 1, "permission denied"),
        ("MemoryError()", 1, "not enough memory"),
    ],
)
def test_what_the_system_refuses_is_one_sentence(
    verb: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
    raised: str,
    code: int,
    said: str,
) -> None:
    verb(f"def newverb() -> None:\n    raise {raised}\n")
    assert main(["newverb"]) == code
    assert capsys.readouterr().err == f"sonde: {said}\n"


def test_ctrl_c_ends_quietly(
    verb: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    verb("def newverb() -> None:\n    raise KeyboardInterrupt\n")
    assert main(["newverb"]) == 128 + signal.SIGINT
    assert capsys.readouterr() == ("", "")


def test_a_verb_may_choose_its_exit_code(verb: Callable[[str], None]) -> None:
    verb("import sys\ndef newverb() -> None:\n    sys.exit(7)\n")
    with pytest.raises(SystemExit) as caught:
        main(["newverb"])
    assert caught.value.code == 7


@pytest.mark.parametrize(
    ("args", "said", "hint"),
    [
        (["nonsense"], "no such command 'nonsense'", "see sonde --help"),
        (["--nonsense"], "--nonsense", "see sonde --help"),
        (["attach", "1", "2"], "unexpected extra argument", "see sonde attach --help"),
        (["report", "x", "--nonsense"], "--nonsense", "see sonde report --help"),
        (["doctor", "x"], "unexpected extra argument", "see sonde doctor --help"),
        (["export", "x"], "missing option '--to'", "see sonde export --help"),
    ],
)
def test_a_wrong_call_is_one_sentence(
    capsys: pytest.CaptureFixture[str], args: list[str], said: str, hint: str
) -> None:
    """Typer words it, and not in every version alike; the form is ours."""
    assert main(args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("sonde: ")
    assert said in err
    assert err.endswith(f"; {hint}\n")
    assert err.count("\n") == 1


def test_no_verb_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Usage: sonde" in "".join(capsys.readouterr())


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"sonde {sonde.__version__}\n"


@pytest.mark.parametrize("name", Commands(name="sonde").list_commands(None))
def test_every_verb_has_help_with_an_example(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main([name, "--help"]) == 0
    said = capsys.readouterr().out
    assert f"Usage: sonde {name}" in said
    assert f"  sonde {name}" in said.split("Example")[1]


def test_starting_a_verb_imports_no_analysis() -> None:
    """What records beside production must not pay for what analyses."""
    script = (
        "import sys\n"
        "from sonde.cli.main import main\n"
        "main(['run', '--help'])\n"
        "heavy = [m for m in ('numpy', 'rich', 'google.protobuf', 'sonde.views', 'sonde.reports')\n"
        "         if m in sys.modules]\n"
        "sys.exit(' '.join(heavy) or 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_importing_sonde_imports_next_to_nothing() -> None:
    script = (
        "import sys\nbefore = set(sys.modules)\nimport sonde\n"
        "print(sorted(set(sys.modules) - before))\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n{script}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "['__future__', 'sonde']\n"


@pytest.mark.parametrize("show", ["print", "console().print"])
def test_a_reader_that_leaves_early_is_no_error(show: str) -> None:
    """As in `sonde report ... | head -1`."""
    script = (
        "import sys\nfrom sonde.cli import main as m\nimport sonde.cli.commands.report as r\n"
        "from sonde.reports.layout.page import console\n"
        "def report(file: str) -> None:\n"
        f"    for _ in range(10_000):\n        {show}('x' * 80)\n"
        "r.report = report\n"
        "sys.exit(m.main(['report', 'x']))\n"
    )
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", script], env=ENVIRONMENT, stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    os.read(reader, 10)
    os.close(reader)
    _, said = process.communicate(timeout=60)
    assert said == b""
    assert process.returncode == 128 + signal.SIGPIPE
