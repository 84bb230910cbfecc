"""`%%sonde` and `%sonde_attach` in a notebook that nbclient executes with a real ipykernel."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

import sonde
from launching import TARGETS, TESTS, TIMEOUT_S, clean_environment

SOURCE = str(TESTS.parent / "src")
LOAD = f"import sys; sys.path.insert(0, {SOURCE!r})\n%load_ext sonde"
BURN = """
def burn(seconds):
    import time
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(100))
    return "done"
"""


class Notebook:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def outputs(self, *cells: str, allow_errors: bool = False) -> list[list[Any]]:
        """Of the cells after the extension has been loaded."""
        book = nbformat.v4.new_notebook()
        book.cells = [nbformat.v4.new_code_cell(text) for text in (LOAD, BURN, *cells)]
        client = NotebookClient(
            book, timeout=TIMEOUT_S, kernel_name="python3", allow_errors=allow_errors,
            resources={"metadata": {"path": str(self._folder)}},
        )  # fmt: skip
        client.execute()
        return [cell.outputs for cell in book.cells[2:]]


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Notebook:
    # A kernel of this interpreter, whatever else is registered here.
    kernel = tmp_path / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": command, "display_name": "Python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "0")
    return Notebook(tmp_path)


def profile_in(outputs: list[Any]) -> Any:
    shown = [out.data for out in outputs if "data" in out]
    (data,) = [data for data in shown if "<pre>" in data.get("text/html", "")]
    return data


def plain(lines: list[str]) -> str:
    """Without colours."""
    return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(lines))


def test_a_cell_shows_its_result_its_summary_and_the_web_ui(
    notebook: Notebook, tmp_path: Path
) -> None:
    (outputs, views) = notebook.outputs(
        "%%sonde -o cell.sonde --rate 500 --what cpu\nresult = burn(0.4)\nprint(result)\nresult",
        "[row.function.name for row in _.flat().rows][:3]",
    )
    assert outputs[0].text == "done\n"
    assert outputs[1].data["text/plain"] == "'done'"
    data = profile_in(outputs)
    assert "burn" in data["text/plain"]
    assert data["text/plain"] == plain([data["text/plain"]])
    shown = data["text/html"]
    assert "burn" in shown.partition("<iframe")[0]
    (frame,) = re.findall(r'<iframe sandbox="allow-scripts" [^>]*srcdoc="([^"]*)"', shown)
    page = html.unescape(frame)
    assert page.lower().startswith("<!doctype html>")
    assert 'id="part-0-samples"' in page
    assert len(shown) < 5 << 20
    # It is an opened recording, and the file is one.
    assert "sum" in views[0].data["text/plain"]
    recording = sonde.open(tmp_path / "cell.sonde")
    assert recording.quality().counters["rate_asked"] == 500
    assert 0.3e9 < recording.flat().total_ns < 0.6e9


def test_a_cell_that_fails_fails(notebook: Notebook) -> None:
    outputs, after = notebook.outputs(
        "%%sonde --no-view\nburn(0.1)\n1 / 0", "%%sonde --no-view\nburn(0.1)", allow_errors=True
    )
    errors = [out for out in outputs if out.output_type == "error"]
    assert {error.ename for error in errors} == {"ZeroDivisionError"}
    assert sum("1 / 0" in plain(error.traceback) for error in errors) == 1
    assert "<iframe" not in profile_in(outputs)["text/html"]
    assert "burn" in profile_in(after)["text/plain"]
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        notebook.outputs("%%sonde\n1 / 0")


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("%%sonde --rate x\n1", "%%sonde: argument --rate: invalid number 'x'"),
        ("%%sonde --what nonsense\n1", "sonde: invalid"),
        ("%%sonde --nonsense\n1", "unrecognized arguments: --nonsense"),
        ("%%sonde -o /nowhere/x.sonde\n1", "sonde: "),
        ("%%sonde -o 'x\n1", "No closing quotation"),
        ("%%sonde\nimport asyncio\nawait asyncio.sleep(0)", "a cell with await at its top level"),
        ("%sonde_attach", "the following arguments are required: pid"),
        ("%sonde_attach nonsense", "invalid PID 'nonsense'"),
        ("%sonde_attach 1 --for x", "--for"),
    ],
)
def test_wrong_options_are_one_sentence(notebook: Notebook, cell: str, sentence: str) -> None:
    (outputs,) = notebook.outputs(cell, allow_errors=True)
    text = "".join(out.get("text", "") + plain(out.get("traceback", [])) for out in outputs)
    assert sentence in text
    assert "Traceback" not in text


def test_a_process_is_recorded_from_a_notebook(notebook: Notebook) -> None:
    target = subprocess.Popen(
        [sys.executable, TARGETS / "attached.py", "0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    )
    with target:
        assert target.stdout is not None
        pid = int(target.stdout.readline().split()[0])
        (outputs,) = notebook.outputs(f"%sonde_attach {pid} --for 1 --what +waits")
        assert "attached.py" in profile_in(outputs)["text/plain"]
        target.kill()


PLAIN = f"""
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell({LOAD!r})
shell.run_cell({BURN!r})
shell.run_cell("%%sonde --top 2\\nburn(0.3)")
"""


def test_plain_ipython_shows_text(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PLAIN],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=TIMEOUT_S,
        env=clean_environment(IPYTHONDIR=str(tmp_path)),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "burn" in done.stdout
    assert "iframe" not in done.stdout
    assert [p.name for p in tmp_path.glob("*.sonde")] == []
