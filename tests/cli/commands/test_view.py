"""`sonde view` as it is typed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from sonde.cli.main import main
from sonde.web import html as writing
from sonde.web import page as paging
from web.made import everything

PAGE = "<html><!--recordings--><!--parts--></html>"
ROOT = Path(__file__).parents[3]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(paging, "built", lambda: PAGE)
    monkeypatch.setattr(writing, "built", lambda: PAGE)
    return everything().write("app.sonde")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*args: str) -> tuple[int, str]:
        code = main(["view", *args])
        out, err = capsys.readouterr()
        assert not out
        return code, err

    return call


def test_a_page_of_one_and_of_two(run: Any, file: str, tmp_path: Path) -> None:
    assert run(file, "--html", "one.html") == (0, "sonde: wrote one.html\n")
    assert run(file, file, "--html", "two.html", "--with-source")[0] == 0
    assert "part-1-meta" not in (tmp_path / "one.html").read_text()
    two = (tmp_path / "two.html").read_text()
    assert "part-1-meta" in two
    assert "part-0-sources" in two
    assert (tmp_path / "one.html").stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["missing.sonde"], 1, "missing.sonde does not exist"),
        (["app.sonde", "missing.sonde"], 1, "missing.sonde does not exist"),
        (["text.txt"], 1, "text.txt is not a sonde recording"),
        (["app.sonde", "--port", "0"], 2, "invalid --port '0'; give a number from 1 to 65535"),
        (["app.sonde", "--port", "x"], 2, "invalid --port 'x'; give a number from 1 to 65535"),
        (["app.sonde", "--port", "99999"], 2, "invalid --port '99999'; give a number"),
        (["app.sonde", "--host", "0.0.0.0"], 2, "other machines can reach 0.0.0.0; add --expose"),
        (["app.sonde", "--host", "no.such.host.invalid"], 2, "invalid --host"),
        (["app.sonde", "--html", "o.html", "--port", "80"], 2, "--html writes a file instead"),
        (["app.sonde", "--with-source"], 2, "--with-source needs --html"),
        (["app.sonde", "--html", "app.sonde"], 2, "app.sonde is the recording itself"),
        (["app.sonde", "--html", "no/where.html"], 1, "cannot write no/where.html"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(
    run: Any, file: str, tmp_path: Path, arguments: list[str], code: int, sentence: str
) -> None:
    (tmp_path / "text.txt").write_text("hello, this is no recording\n")
    got, err = run(*arguments)
    assert (got, err.count("\n")) == (code, 1)
    assert err.startswith(f"sonde: {sentence}")


def test_it_serves_until_interrupted(tmp_path: Path) -> None:
    """The command itself: an address on stderr, 403 without the token, quiet at Ctrl-C."""
    if not (ROOT / "src" / "sonde" / "web" / "page.html").exists():
        pytest.skip("the page is not built; `make page` builds it")
    path = everything().write(str(tmp_path / "app.sonde"))
    # Tests that run in the background have it ignored, and so would what they start.
    command = (
        "import signal, sys; from sonde.cli.main import main; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); sys.exit(main())"
    )
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "BROWSER")}
    started = subprocess.Popen(
        [sys.executable, "-c", command, "view", path],
        env=environment | {"PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stderr is not None
    told = started.stderr.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+/[\w-]{43}/", told)
    assert found, told
    with urllib.request.urlopen(found[0], timeout=10) as page:
        assert b"sonde-recordings" in page.read()
    stranger = found[0].rsplit("/", 2)[0] + "/"
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(stranger, timeout=10)
    started.send_signal(signal.SIGINT)
    assert started.wait(timeout=20) == 0
    assert started.stdout is not None
    assert started.stdout.read() == ""
    assert started.stderr.read() == "sonde: no display found; open the URL in a browser\n"
