"""A client of the protocol's own library, over standard input and output, with real recordings."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from launching import SONDE, clean_environment, sonde
from sonde.mcp_server.answers import MAX_CHARACTERS
from sonde.mcp_server.views import VIEWS

pytest.importorskip("mcp", reason="the extra mcp is not installed")

PROGRAM = """\
import sys, threading, time
import sonde

lock = threading.Lock()

def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

def critical():
    with lock:
        spin(0.02)

def work(rounds):
    for _ in range(rounds):
        critical()

def main():
    with sonde.span("checkout"):
        threads = [threading.Thread(target=work, args=(10,), name=f"clerk-{i}") for i in (1, 2)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    spin(float(sys.argv[1]))

main()
"""


class Answer(NamedTuple):
    failed: bool
    text: str

    @property
    def json(self) -> Any:
        assert not self.failed, self.text
        return json.loads(self.text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    served = tmp_path_factory.mktemp("served")
    program = served / "program.py"
    program.write_text(PROGRAM)
    for name, seconds in (("base", "0.1"), ("new", "0.8")):
        done = sonde("run", "--what", "+waits", "-o", served / f"{name}.sonde", program, seconds)
        assert done.returncode == 0, done.stderr
    return served


class Server:
    """`sonde mcp` of a folder, started for each group of calls."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def call(self, tool: str, **arguments: Any) -> Answer:
        return self.calls((tool, arguments))[0]

    def calls(self, *asked: tuple[str, dict[str, Any]]) -> list[Answer]:
        async def run() -> list[Answer]:
            from mcp.client.client import Client
            from mcp.client.stdio import stdio_client

            async with Client(stdio_client(self.parameters())) as client:
                answers = [await client.call_tool(name, given) for name, given in asked]
            return [Answer(bool(one.is_error), one.content[0].text) for one in answers]

        return asyncio.run(run())

    def tools(self) -> list[Any]:
        async def run() -> list[Any]:
            from mcp.client.client import Client
            from mcp.client.stdio import stdio_client

            async with Client(stdio_client(self.parameters())) as client:
                return list((await client.list_tools()).tools)

        return asyncio.run(run())

    def parameters(self) -> Any:
        from mcp.client.stdio import StdioServerParameters

        command, *arguments = [*SONDE, "mcp", str(self.folder)]
        return StdioServerParameters(command=command, args=arguments, env=dict(clean_environment()))


@pytest.fixture(scope="module")
def server(folder: Path) -> Server:
    return Server(folder)


def test_the_tools_and_their_arguments(server: Server) -> None:
    tools = {tool.name: tool for tool in server.tools()}
    assert list(tools) == ["list_recordings", "findings", "view", "source_lines", "diff"]
    assert tools["view"].input_schema["required"] == ["recording", "view"]
    assert tools["view"].input_schema["properties"]["view"]["enum"] == list(VIEWS)
    assert all(tool.annotations.read_only_hint for tool in tools.values())


def test_recordings_and_what_stands_out(server: Server) -> None:
    listed, found = server.calls(("list_recordings", {}), ("findings", {"recording": "new.sonde"}))
    assert {row["recording"] for row in listed.json["recordings"]} == {"base.sonde", "new.sonde"}
    told = found.json
    assert told["program"] == "program"
    assert told["samples"] > 500
    assert told["wait_ns"]
    assert any("spin" in finding["title"] for finding in told["findings"])
    names = {row["name"] for row in told["top_own_functions"]}
    assert {"spin", "critical", "work"} <= names


def test_a_view_is_the_report_of_that_name(server: Server) -> None:
    path = server.folder / "new.sonde"
    flat, locks, thread = server.calls(
        ("view", {"recording": "new.sonde", "view": "flat", "limit": 5}),
        ("view", {"recording": "new.sonde", "view": "locks", "by": "kind,owner_function"}),
        ("view", {"recording": "new.sonde", "view": "flat", "thread": "clerk-1", "time": "wall"}),
    )
    same = json.loads(sonde("report", path, "flat", "--json").stdout)
    assert flat.json["rows"] == same["rows"][:5]
    assert flat.json["total"] == same["total"]
    same = json.loads(sonde("report", path, "locks", "--by", "kind", "--json").stdout)
    assert locks.json["total_ns"] == same["total_ns"]
    owners = {
        child["key"]["owner_function"]["name"]
        for row in locks.json["rows"]
        for child in row["children"]
        if row["key"]["kind"] == "lock" and child["key"]["owner_function"]
    }
    assert "critical" in owners
    same = json.loads(
        sonde("report", path, "flat", "--thread", "clerk-1", "--wall", "--json").stdout
    )
    assert thread.json["total"] == same["total"]


def test_a_tree_of_one_function(server: Server) -> None:
    whole, part = server.calls(
        ("view", {"recording": "new.sonde", "view": "tree", "limit": 100}),
        ("view", {"recording": "new.sonde", "view": "tree", "function": "critical"}),
    )
    nodes = part.json["nodes"]
    below = {node["id"]: node for node in nodes}
    (critical,) = [node for node in nodes if node["name"] == "critical"]
    assert below[critical["parent"]]["name"] == "work"
    roots = [node for node in nodes if node["parent"] is None]
    assert sum(node["total"] for node in roots) == critical["total"]
    (same,) = [node for node in whole.json["nodes"] if node["name"] == "critical"]
    assert same["total"] == critical["total"]
    # spin is also called by main, which is no part of critical.
    spun = [node for node in nodes if node["name"] == "spin"]
    assert [below[node["parent"]]["name"] for node in spun] == ["critical"]


def test_source_lines_have_text_and_shares(server: Server) -> None:
    told = server.call("source_lines", recording="new.sonde", function="spin").json
    lines = {row["line"]: row for row in told["rows"]}
    text = PROGRAM.splitlines()
    assert all(row["text"] == text[line - 1].strip() for line, row in lines.items())
    assert sum(row["self"] for row in lines.values()) == told["self"]
    assert sum(row["self_share"] for row in lines.values()) == pytest.approx(1, abs=0.01)
    assert told["share_of_recording"] > 0.8
    assert set(lines) <= {7, 8, 9, 10}


def test_source_outside_of_the_folder_is_not_read(server: Server, tmp_path: Path) -> None:
    served = tmp_path / "only"
    served.mkdir()
    os.link(server.folder / "new.sonde", served / "new.sonde")
    told = Server(served).call("source_lines", recording="new.sonde", function="spin").json
    assert told["rows"]
    assert not any("text" in row for row in told["rows"])
    assert "outside of the folder" in told["no_text"]


def test_what_changed(server: Server) -> None:
    plain, gate = server.calls(
        ("diff", {"base": "base.sonde", "new": "new.sonde", "limit": 3}),
        ("diff", {"base": "base.sonde", "new": "new.sonde", "fail_over": 5}),
    )
    same = json.loads(
        sonde("diff", server.folder / "base.sonde", server.folder / "new.sonde", "--json").stdout
    )
    assert plain.json["rows"] == same["rows"][:3]
    assert plain.json["left_out"]["rows"] == len(same["rows"]) - 3
    assert gate.json["compares"] == "samples"
    assert {"name", "measure", "interval", "verdict"} <= set(gate.json["rows"][0])


def test_every_view_answers_within_its_bound(server: Server) -> None:
    names = [name for name in VIEWS if name != "tprof"]
    answers = server.calls(
        *(("view", {"recording": "new.sonde", "view": name, "limit": 1000}) for name in names)
    )
    for name, found in zip(names, answers, strict=True):
        assert not found.failed, (name, found.text)
        assert len(found.text) <= MAX_CHARACTERS


BAD_CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("findings", {}, "findings needs the argument recording: its name, as list_recordings"),
    ("findings", {"recording": "../x.sonde"}, "'../x.sonde' is outside of the folder that is"),
    ("findings", {"recording": "none.sonde"}, "none.sonde does not exist; list_recordings"),
    ("findings", {"recording": "program.py"}, "is not a sonde recording"),
    ("findings", {"recording": 3}, "invalid recording 3; give a text"),
    ("view", {"view": "pie"}, "invalid view 'pie'; give one of: flat, tree, "),
    ("view", {"view": "flat", "colour": 1}, "view has no argument 'colour'; its arguments are"),
    ("view", {"view": "flat", "limit": 0}, "invalid limit 0; give at least 1"),
    ("view", {"view": "flat", "limit": True}, "invalid limit True; give a whole number"),
    ("view", {"view": "flat", "start": 999}, "start 999 is beyond the end of the recording"),
    ("view", {"view": "flat", "start": 1, "end": 0.5}, "the time range is empty: its end, 0.5"),
    ("view", {"view": "flat", "thread": "nobody"}, "no thread 'nobody' in "),
    ("view", {"view": "flat", "span": "nowhere"}, "no span 'nowhere'"),
    ("view", {"view": "flat", "function": "spim"}, "no function 'spim' in this part of the"),
    ("view", {"view": "threads", "time": "wall"}, "time does not apply to the view threads;"),
    ("view", {"view": "flat", "by": "lock"}, "by does not apply to the view flat; valid views"),
    ("view", {"view": "tree", "offset": 5}, "a tree has no next rows; give a greater limit"),
    ("view", {"view": "tprof"}, "is not a recording of the whole machine"),
    ("source_lines", {"function": "time.thread_time"}, "has no source lines"),
    ("diff", {"base": "base.sonde"}, "diff needs the argument new: "),
    ("delete", {}, "no tool 'delete'; the tools are: list_recordings, "),
]


@pytest.fixture(scope="module")
def refusals(server: Server) -> list[Answer]:
    """The answers to all of them, by one server."""
    calls = []
    for tool, arguments, _ in BAD_CALLS:
        of_one = {"recording": "new.sonde"} if tool in ("view", "source_lines") else {}
        calls.append((tool, {**of_one, **arguments}))
    return server.calls(*calls)


@pytest.mark.parametrize("number", range(len(BAD_CALLS)))
def test_bad_arguments(refusals: list[Answer], number: int) -> None:
    found, sentence = refusals[number], BAD_CALLS[number][2]
    assert found.failed
    assert sentence in found.text
    assert "\n" not in found.text


def test_a_folder_that_is_none_is_refused() -> None:
    done = sonde("mcp", "/nowhere")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "sonde: /nowhere does not exist; usage: sonde mcp [DIR]\n"


def test_without_the_library_it_says_what_to_install(folder: Path) -> None:
    code = (
        "import importlib.util, sys\n"
        "real = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name == 'mcp' else real(name, *a)\n"
        "from sonde.cli.main import main\n"
        f"sys.exit(main(['mcp', {str(folder)!r}]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert done.stderr == (
        "sonde: sonde mcp needs the library mcp; install with: pip install 'sonde[mcp]'\n"
    )
