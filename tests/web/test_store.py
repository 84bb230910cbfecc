"""What the page of a store is sent is what `sonde fleet report` says."""

from __future__ import annotations

import importlib.util
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

if importlib.util.find_spec("ibis") is None:
    pytest.skip("stores need the fleet extra", allow_module_level=True)

from fleet.recorded import added, answered, asked
from sonde.errors import SondeError
from sonde.fleet.store.location import located
from sonde.web import server as serving
from sonde.web.server import Server
from sonde.web.store import StoreParts
from synthetic import MS, Maker
from web.made import HOSTILE as NAMES
from web.made import everything
from web.test_bundle import columns_of, inflated, zigzagged
from web.test_server import PAGE, Answer, ask

START = 1_790_000_000
HOSTILE = NAMES[0]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shown")
    for seed, host in ((1, "a"), (2, HOSTILE)):
        file = everything(seed).write(str(folder / f"{seed}.sonde"))
        added(folder / "store", [Path(file)], host=host, service="shop")
    make = Maker(started=float(START))
    make.sample(None, 3 * MS)
    make.sample("main:1 > work:2", 5 * MS)
    file = make.write(str(folder / "3.sonde"))
    added(folder / "store", [Path(file)], host="c", service="shop")
    return folder / "store"


@pytest.fixture(scope="module")
def server(store: Path) -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving, "built", lambda: PAGE)
        parts = StoreParts(located(str(store)))
        with Server(parts, "127.0.0.1", 0, exposed=False) as made:
            thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            yield made
            made.shutdown()
            thread.join()


def told(server: Server, name: str, **question: Any) -> Answer:
    return ask(server, f"/{server.token}/s/{name}?ask={quote(json.dumps(question))}")


def flat_of(answer: Answer, time: str) -> dict[str, tuple[int, int]]:
    """Own time and samples by function, from a tree as it is sent."""
    text, _, function, _, *sums = columns_of(answer.body)
    names = [row[0] for row in json.loads(bytes(text))["functions"]]
    picked = {"running": (0,), "waiting": (1,), "wall": (0, 1)}[time]
    found: dict[str, tuple[int, int]] = {}
    for i, one in enumerate(function):
        ns, samples = (sum(sums[k + shift][i] for k in picked) for shift in (0, 2))
        name = names[one - 1] if one else "[undecodable]"
        before = found.get(name, (0, 0))
        found[name] = (before[0] + ns, before[1] + samples)
    return {name: figures for name, figures in found.items() if any(figures)}


def test_the_page_is_told_that_it_is_of_a_store(server: Server) -> None:
    page = ask(server, f"/{server.token}/")
    assert b'<meta name="sonde-store"' in page.body
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert ask(server, "/s/meta").code == 403
    assert ask(server, f"/{server.token}/s/meta", Host="evil.example").code == 403


def test_what_is_in_it(server: Server, store: Path) -> None:
    meta = json.loads(inflated(told(server, "meta").body))
    held = answered("fleet", "report", store, "recordings")["rows"]
    assert meta["address"] == str(store)
    assert meta["recordings"] == len(held) == 3
    assert meta["hosts"] == 3
    labels = {one["label"]: dict(one["values"]) for one in meta["labels"]}
    assert labels == {"service": {"shop": 3}, "host": {"a": 1, "c": 1, HOSTILE: 1}}


@pytest.mark.parametrize("time", ["running", "waiting", "wall"])
def test_a_tree_is_that_of_the_report(server: Server, store: Path, time: str) -> None:
    for where, options in (([], []), ([["host", ["a"]]], ["--where", "host=a"])):
        report = answered("fleet", "report", store, "flat", f"--{time}", *options)
        own: dict[str, tuple[int, int]] = {}
        for row in report["rows"]:
            before = own.get(row["name"], (0, 0))
            own[row["name"]] = (before[0] + row["self"], before[1] + row["samples"])
        expected = {name: figures for name, figures in own.items() if any(figures)}
        assert flat_of(told(server, "tree", where=where), time) == expected


def test_a_tree_has_its_shape(server: Server) -> None:
    answer = told(server, "tree", where=[["host", ["c"]]])
    text, parent, function, line, running, waiting, *counts = columns_of(answer.body)
    head = json.loads(bytes(text))
    assert head["recordings"] == 1
    assert [row[0] for row in head["functions"]] == ["main", "work"]
    above = 0
    parents = [above := above + change for change in zigzagged(parent)]
    rows = sorted(zip(parents, function, zigzagged(line), running, waiting, strict=True))
    assert [row[1:] for row in rows if row[1] == 0] == [(0, 0, 3 * MS, 0)]
    (root,) = (i for i, one in enumerate(function) if one == 1)
    (leaf,) = (i for i, one in enumerate(function) if one == 2)
    assert (parents[root], parents[leaf]) == (-1, root)
    assert (running[leaf], zigzagged(line)[leaf]) == (5 * MS, 2)
    assert sum(counts[0]) == 2


def test_a_cell_of_the_map(server: Server) -> None:
    heat = json.loads(inflated(told(server, "heat", by="host", time="wall").body))
    assert {row["value"] for row in heat["rows"]} == {"a", "c", HOSTILE}
    row = next(row for row in heat["rows"] if row["value"] == "c")
    column = next(i for i, ns in enumerate(row["cells"]) if ns)
    begin, step = heat["begin_ns"] // MS, heat["step_ns"] // MS
    begin += column * step
    cell = {"where": [["host", ["c"]]], "from": begin, "to": begin + step}
    found = flat_of(told(server, "tree", **cell), "wall")
    assert sum(ns for ns, _ in found.values()) == row["cells"][column]


def test_nothing_is_an_answer(server: Server) -> None:
    for where in ([["host", ["nobody"]]], [["service", ["none"]]]):
        assert flat_of(told(server, "tree", where=where), "wall") == {}
        heat = json.loads(inflated(told(server, "heat", where=where, by="host").body))
        assert (heat["rows"], heat["columns"]) == ([], 0)
    early = {"from": 1, "to": 2}
    assert flat_of(told(server, "tree", **early), "wall") == {}


@pytest.mark.parametrize(
    "text",
    ["", "[]", "nonsense", '{"where": 1}', '{"where": [["host"]]}', '{"where": [["host", []]]}',
     '{"where": [["a b", ["x"]]]}', '{"where": [["host", [1]]]}', '{"from": -1}',
     '{"from": "now"}', '{"from": true}', '{"to": 1e300}', '{"from": 5, "to": 5}',
     '{"from": 99999999999999999}', '{"time": "never"}', '{"by": ["host"]}', "{}"],
)  # fmt: skip
def test_nonsense_is_refused_in_a_sentence(server: Server, text: str) -> None:
    answer = ask(server, f"/{server.token}/s/heat?ask={quote(text)}")
    assert answer.code == 400
    assert answer.body.count(b"\n") == 1


def test_a_part_that_went_away(tmp_path: Path) -> None:
    make = Maker(started=float(START))
    make.sample("main:1", MS)
    added(tmp_path / "store", [Path(make.write(str(tmp_path / "1.sonde")))])
    parts = StoreParts(located(str(tmp_path / "store")))
    for file in (tmp_path / "store" / "samples").rglob("*.parquet"):
        file.unlink()
    with pytest.raises(SondeError, match=r"cannot be read .* reload the page"):
        parts.answer(["s", "tree"], {"ask": ["{}"]})


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["STORE", "STORE"], 2, "a store cannot be compared"),
        (["FILE", "STORE"], 2, "a store cannot be compared"),
        (["STORE", "--html", "out.html"], 2, "--html does not support stores"),
        (["EMPTY"], 1, "has no recordings; add some with: sonde fleet add"),
        (["nowhere://any:secret@x/y"], 1, "cannot open the store nowhere://x/y"),
        (["STORE", "--host", "0.0.0.0"], 2, "other machines can reach 0.0.0.0"),
    ],
)
def test_refusals(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    arguments: list[str], code: int, sentence: str,
) -> None:  # fmt: skip
    monkeypatch.setattr("sonde.web.page.built", lambda: PAGE)
    monkeypatch.setattr(serving, "built", lambda: PAGE)
    (tmp_path / "empty").mkdir()
    places: dict[str, Any] = {"STORE": store, "EMPTY": tmp_path / "empty", "FILE": "app.sonde"}
    found, out, err = asked("view", *(places.get(word, word) for word in arguments))
    assert (found, out) == (code, ""), err
    assert sentence in err
    assert "secret" not in err
    assert err.count("\n") == 1
