"""Every call of sonde in the README and docs is one that sonde accepts; those that can run, run."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

import documented
import pythons
import tutorials
from attaching import until
from documented import words_of
from heap.made_up import small
from launching import SONDE, clean_environment
from sonde.cli.commands.report import VIEWS
from sonde.cli.main import app, main
from sonde.heap import hprof, snapshot_file

RUN = [
    page
    for page in documented.PAGES
    if page not in tutorials.PAGES
    and any(not block.is_synopsis for block in documented.blocks(page))
]
"""The commands of the tutorials run in test_tutorials.py."""
PYTHONS_OWN = {"-m", "-c"}
"""Of a synopsis, what is no option of the verb: how Python is called."""
PID = "4711"
JSON_PAGE = documented.ROOT / "docs" / "reference" / "json.md"
ROWS = {"tree": "nodes", "flow": "nodes", "waits": "waits", "calls": "edges", "summary": "findings"}
"""Where the rows of a view are not called so."""
RECORDINGS = {"calls": f"sonde-app-{PID}.sonde", "flow": "flow.sonde", "tasks": "tasks.sonde"}
"""Of views of what app.sonde does not have."""
OF_ELSEWHERE = ("objects", "events", "data", "hot", "probes", "trace")
"""Of Java, events, probes, step traces and an online profile: the recording has none of these."""
SNAPSHOTS = ("heap.sonde",)
OF_FILES = ("report", "export", "diff")
"""Verbs that only read recordings run in this process, which saves their start."""
RUN_FOR = "0.3"
JAVA = shutil.which("javac") is not None
TIMEOUT_S = 120

APP = """
import asyncio, http.server, os, sys, threading, time, unittest.mock
import sonde

PAUSE_S = float(os.environ.get("PAUSE_S", "0.002"))
SPANS = ("checkout", "GET /books/{id}", "POST /orders", "test_demo.py::test_burns")
lock = threading.Lock()
end = time.monotonic() + float(os.environ.get("LASTS", "0.3"))

def build():
    return sum(range(10**6))

def work():
    while time.monotonic() < end:
        for name in SPANS:
            with lock, sonde.span(name) as span:
                span.set("order", 42)
                span.set("trace_id", "4bf92f3577b34da6a3ce929d0e0e4736")
                span.set("http.response.status_code", 500)
                sorted(str(number) for number in range(10000))
                time.sleep(PAUSE_S)

if "PID_FILE" in os.environ:
    with open(os.environ["PID_FILE"] + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(file.name, os.environ["PID_FILE"])
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
sonde.mark("started")
for thread in threads:
    thread.join()
"""
LOOP = """
import asyncio

async def main():
    for _ in range(20):
        await asyncio.sleep(0.005)

asyncio.run(main())
"""

DEADLOCK = """
import threading, time
a, b = threading.Lock(), threading.Lock()

def take(first, second):
    with first:
        time.sleep(0.2)
        with second:
            pass

for locks in ((a, b), (b, a)):
    threading.Thread(target=take, args=locks, daemon=True).start()
time.sleep(0.6)
"""


PROGRAM = """
import java.util.*;
public class Program {
    public static void main(String[] arguments) {
        long end = System.nanoTime() + 500_000_000L;
        List<String> kept = new ArrayList<>();
        while (System.nanoTime() < end) {
            for (int number = 0; number < 10_000; number++) kept.add("text " + number);
            kept.clear();
        }
    }
}
"""


def named(page: Path) -> str:
    return f"{page.parent.name}-{page.stem}"


def parsed(words: list[str]) -> typer.Context:
    """The arguments of a call, as the real parser reads them."""
    command: Any = get_command(app)
    ctx = typer.Context(command, info_name="sonde")
    while words and hasattr(command, "get_command"):
        found = command.get_command(ctx, words[0])
        if found is None and (default := getattr(command, "default_command", None)):
            command = default
            break
        name, *words = words
        assert found is not None, f"sonde has no command {name}"
        command, ctx = found, typer.Context(found, info_name=name, parent=ctx)
    return command.make_context(ctx.info_name, list(words), parent=ctx.parent)  # type: ignore[no-any-return]


@pytest.mark.parametrize("page", documented.PAGES, ids=named)
def test_calls_are_accepted(page: Path) -> None:
    for block in documented.blocks(page):
        for command in [] if block.is_synopsis else block.commands:
            words = words_of(command)
            ctx = parsed(words)
            if words[0] == "report":
                view = next((word for word in ctx.params["files"][1:] if word in VIEWS), None)
                files = [word for word in ctx.params["files"] if word != view]
                assert all(re.search(r"[.*/]", file) for file in files), command


@pytest.mark.parametrize("page", documented.PAGES, ids=named)
def test_options_of_a_synopsis_exist(page: Path) -> None:
    for block in documented.blocks(page):
        if block.is_synopsis:
            shown = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", block.text))
            assert shown - options_of(words_of(block.text)) <= PYTHONS_OWN, block.text


def options_of(words: list[str]) -> set[str]:
    """Of a verb, or of a verb's verb."""
    command: Any = get_command(app)
    ctx = typer.Context(command, info_name="sonde")
    for word in words:
        if not hasattr(command, "get_command"):
            break
        command = command.get_command(ctx, word) or command.default_command
        ctx = typer.Context(command, info_name=word, parent=ctx)
    params = command.get_params(ctx)
    return {option for param in params for option in (*param.opts, *param.secondary_opts)}


def test_each_mark_has_a_reason_and_a_command() -> None:
    for page in documented.PAGES:
        blocks = documented.blocks(page)
        for block in blocks:
            for which, why in block.marks:
                assert len(why.split()) > 1, f"{page.name}: not run, for what reason?"
                assert any(command.startswith(which) for command in block.commands), which
        # A mark above anything else would be one that nobody reads.
        marks = page.read_text().count("<!-- not run")
        assert marks == sum(len(block.marks) for block in blocks), page.name


@dataclass(frozen=True)
class Prepared:
    """What the pages assume: programs, recordings of them under several names, running ones."""

    folder: Path
    environment: dict[str, str]
    idle: int
    """A process that nobody records."""
    recorded: int

    def run(self, *words: str, lasts: str = "0.3") -> None:
        done = subprocess.run(
            [*SONDE, *words],
            cwd=self.folder,
            env=self.environment | {"LASTS": lasts},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, f"{shlex.join(words)}: {done.stderr or done.stdout}"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    folder = tutorials.prepared(tmp_path_factory.mktemp("documented"))
    write_programs(folder)
    environment = clean_environment(
        PATH=f"{folder / 'bin'}:{os.environ['PATH']}", PYTHONPATH=str(tutorials.ROOT / "src")
    )
    forever = {"cwd": folder, "env": environment | {"LASTS": "600", "PAUSE_S": "0.02"}}
    with ended(subprocess.Popen([sys.executable, "app.py"], **forever)) as idle:
        own = folder / "recorded.pid"
        forever["env"] |= {"PID_FILE": str(own)}
        command = [*SONDE, "run", "-o", "recorded.sonde", "--what", "+probes", "app.py"]
        with ended(subprocess.Popen(command, stderr=subprocess.DEVNULL, **forever)):
            until(own.exists, "the program that is recorded")
            made = Prepared(folder, environment, idle.pid, int(own.read_text()))
            write_recordings(made)
            yield made


@contextlib.contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    try:
        yield process
    finally:
        process.terminate()
        process.wait(TIMEOUT_S)


def write_programs(folder: Path) -> None:
    (folder / "app.py").write_text(APP)
    (folder / "deadlock.py").write_text(DEADLOCK)
    (folder / "loop.py").write_text(LOOP)
    (folder / "mypackage").mkdir()
    (folder / "mypackage" / "__main__.py").write_text("sum(range(10**6))\n")
    (folder / "tests").mkdir()
    (folder / "tests" / "test_one.py").write_text("def test_one(): pass\n")
    tools = folder / "bin"
    tools.mkdir()
    for version, path in pythons.found().items():
        (tools / f"python{version}").symlink_to(path)
    (tools / "prepare").write_text("#!/bin/sh\n")
    (tools / "prepare").chmod(0o755)
    if JAVA:
        (folder / "Program.java").write_text(PROGRAM)
        subprocess.run(["javac", "-d", "classes", "Program.java"], cwd=folder, check=True)


def write_recordings(made: Prepared) -> None:
    made.run("run", "-o", "app.sonde", "--what", "+waits,+threads", "app.py", lasts="3")
    made.run("run", "-o", "flow.sonde", "--what", "flow", "app.py")
    made.run("run", "-o", "tasks.sonde", "--what", "+tasks", "loop.py")
    made.run("run", "-o", "dead.sonde", "deadlock.py")
    made.run("run", "-o", f"sonde-app-{PID}.sonde", "--what", "cpu,calls", "app.py")
    for name in ("before", "after"):
        made.run("run", "-o", f"{name}.sonde", "--what", "+waits", "app.py")
    for name in ("base-1", "new-1", f"sonde-pytest-{PID}"):
        shutil.copy(made.folder / "before.sonde", made.folder / f"{name}.sonde")
    dump = made.folder / "heap.hprof"
    dump.write_bytes(small().bytes())
    snapshot_file.write(hprof.read(str(dump)), str(made.folder / "heap.sonde"))
    made.run("fleet", "add", "profiles/", "after.sonde", "--label", "version=1.1")
    if JAVA:
        command = ["java", "-cp", "classes", "Program"]
        made.run("run", "-o", f"sonde-java-{PID}.sonde", "--what", "+objects", "--", *command)


def shortened(words: list[str]) -> list[str]:
    """The same call, but it ends by itself and soon."""
    verb, *rest = (word for word in words if word != "--open")
    if verb in ("run", "attach", "tprof") and "-o" in rest:
        # Pages share a folder, and name their recordings alike.
        rest.insert(0, "--force")
    if "--for" in rest:
        rest[rest.index("--for") + 1] = RUN_FOR
    elif "--rotate" in rest:
        # Some ten segments.
        rest = [re.sub(r"^\d+[mh]$", "100ms", word) for word in rest] + ["--for", "1.5"]
    elif verb in ("attach", "threads", "cpus", "tprof"):
        rest += ["--for", RUN_FOR]
    elif verb == "top" and not {"--once", "--json"} & set(rest):
        rest.append("--once")
    return [verb, *rest]


def as_shell(command: str, folder: Path) -> list[str]:
    """The words of a call; patterns without quotes are the files that match."""
    found = []
    for word in words_of(command):
        pattern = "*" in word and f"'{word}'" not in command
        # Recordings: a heap snapshot would be refused where many of them are given.
        matches = [path.name for path in sorted(folder.glob(word)) if path.name not in SNAPSHOTS]
        found += matches if pattern else [word]
    return found


@pytest.mark.parametrize("page", RUN, ids=named)
def test_calls_run(
    page: Path, prepared: Prepared, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(prepared.folder, tmp_path / "there", symlinks=True))
    here = dataclasses.replace(prepared, folder=folder)
    for block in documented.blocks(page):
        for command in [] if block.is_synopsis else block.commands:
            if block.why_not_run(command) is not None:
                continue
            if re.search(r"\bjava\b", command) and not JAVA:
                continue
            # Where it is not part of a recording's name.
            pid = here.recorded if command.startswith("sonde ctl") else here.idle
            words = as_shell(re.sub(rf"(?<!-){PID}\b", str(pid), command), folder)
            if words[0] == "view" and "--html" not in words:
                serve_and_stop(here, words)
            elif words[0] in OF_FILES:
                with contextlib.chdir(folder):
                    code = main(words)
                assert code == 0, f"{command}: {capsys.readouterr().err}"
            else:
                here.run(*shortened(words))


def serve_and_stop(here: Prepared, words: list[str]) -> None:
    server = subprocess.Popen(
        [*SONDE, *words, *({"--no-open"} - set(words))],
        cwd=here.folder,
        env=here.environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stderr is not None
        said = server.stderr.readline()
        assert " at http://" in said, said
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=TIMEOUT_S)


def documented_views() -> list[str]:
    views = re.findall(r"^\| `([\w-]+)` \| `", JSON_PAGE.read_text(), re.MULTILINE)
    assert len(views) > 10
    return [view for view in views if view not in OF_ELSEWHERE]


@pytest.mark.parametrize("view", documented_views())
def test_keys_of_the_json_are_documented(view: str, prepared: Prepared) -> None:
    """docs/reference/json.md has each key of a view, and of its rows."""
    name = RECORDINGS.get(view, "app.sonde")
    done = subprocess.run(
        [*SONDE, "report", name, view, "--json"],
        cwd=prepared.folder,
        env=prepared.environment,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    answer = json.loads(done.stdout)
    (row,) = [
        line for line in JSON_PAGE.read_text().splitlines() if line.startswith(f"| `{view}` | `")
    ]
    of_view, of_rows = (set(re.findall(r"`(\w+)`", cell)) for cell in row.split(" | ")[1:3])
    if view == "quality":
        # It has counters of what was recorded, too.
        assert of_view <= set(answer)
        return
    assert set(answer) == of_view
    rows = answer[ROWS.get(view, "rows")]
    assert rows
    assert set(rows[0]) == of_rows


def test_blocks_of_a_page() -> None:
    text = """
<!-- not run `sonde tprof`: needs root -->
```
sonde tprof --for 1   # all processors
$ sonde report 'a b.sonde' | head
  samples
```
```python
x = 1
```
sonde records this line, which is no block.

1. In a list:

   ```sh
   sonde attach PID [-o FILE]
   ```
"""
    first, second = documented.blocks(Path("page.md"), text)
    assert [words_of(command) for command in first.commands] == [
        ["tprof", "--for", "1"],
        ["report", "a b.sonde"],
    ]
    assert [first.why_not_run(command) for command in first.commands] == ["needs root", None]
    assert (first.is_synopsis, second.is_synopsis) == (False, True)
