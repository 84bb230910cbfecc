"""The page of a heap snapshot has what the reports say, served or in one file."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest

from heap.made_up import large, small
from sonde.cli.main import main
from sonde.errors import UsageError
from sonde.heap.graph import HeapGraph
from sonde.heap.hprof import read
from sonde.views.heap.dominators import dominators
from sonde.views.heap.duplicates import duplicates
from sonde.views.heap.paths import heap_paths
from sonde.views.heap.types import heap_types
from sonde.web import heap as paging
from sonde.web.heap import TAG, HeapPage

PAGE = (
    "<html><head><!--recordings--><style>b{}</style></head>"
    '<body><!--parts--><script type="module">let a</script></body></html>'
)


@pytest.fixture(autouse=True)
def page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "built", lambda: PAGE)


@pytest.fixture
def graph(tmp_path: Path) -> HeapGraph:
    path = tmp_path / "app.hprof"
    path.write_bytes(large().bytes())
    return HeapGraph(read(str(path)))


def unpacked(data: bytes) -> Any:
    return json.loads(zlib.decompress(data, wbits=-zlib.MAX_WBITS))


def asked(page: HeapPage, what: str, **query: str) -> Any:
    reply = page.answer(["h", what], {name: [value] for name, value in query.items()})
    assert reply is not None
    return unpacked(reply.body)


def numbers(value: Any) -> Any:
    """The same with ids as the views have them."""
    if isinstance(value, dict):
        return {
            key: int(item, 0) if key == "id" and item is not None else numbers(item)
            for key, item in value.items()
        }
    return [numbers(item) for item in value] if isinstance(value, list) else value


def test_the_page_has_what_the_views_say(graph: HeapGraph) -> None:
    meta = asked(HeapPage(graph), "meta")
    types = heap_types(graph)
    assert (meta["objects"], meta["bytes"]) == (types.objects, types.bytes)
    assert [{k: v for k, v in row.items() if k != "own"} for row in meta["types"]] == [
        row.to_json() for row in types.rows
    ]
    assert [row["type"] for row in meta["types"] if row["own"]] == [
        row.type for row in types.rows if row.is_own
    ]
    tree = dominators(graph, top=paging.MAX_CHILDREN, min_share=paging.MIN_SHARE)
    assert numbers(meta["dominators"]) == tree.to_json()["rows"]
    assert meta["duplicates"] == duplicates(graph, top=paging.MAX_DUPLICATES).to_json()
    assert meta["file"] == "app.hprof"


def test_paths_are_those_of_the_report(graph: HeapGraph) -> None:
    page = HeapPage(graph)
    for target in ("app.Node", "0x200"):
        assert numbers(asked(page, "paths", of=target)) == heap_paths(graph, target).to_json()
    for target in ("", "app.Nothing", "0x1"):
        with pytest.raises(UsageError):
            asked(page, "paths", of=target)
    assert page.answer(["h", "other"], {}) is None
    assert page.answer(["r", "0", "meta"], {}) is None


def test_an_object_in_detail(graph: HeapGraph) -> None:
    page = HeapPage(graph)
    # Of a smaller whole, more is large enough to be shown.
    assert "0x300" not in json.dumps(page.meta["dominators"])
    assert [row["id"] for row in asked(page, "dominated", by="0x20")] == ["0x300"]
    first = numbers(asked(page, "dominated", by="0x10000"))
    assert {row["type"] for row in first} >= {"byte[]"}
    for id_ in ("", "app.Node", "0x1"):
        with pytest.raises(UsageError):
            asked(page, "dominated", by=id_)


def test_one_file_has_the_largest(graph: HeapGraph) -> None:
    page = HeapPage(graph)
    text = page.html().decode()
    assert TAG in text
    assert "connect-src 'none'" in text
    parts = {
        name: unpacked(base64.b64decode(data))
        for name, data in re.findall(r'id="heap-(\w+)">([^<]*)<', text)
    }
    assert parts["meta"] == page.meta
    assert parts["paths"]["app.Node"] == page.paths("app.Node")
    assert parts["paths"]["0x10000"] == page.paths("0x10000")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["{0}", "{0}"], "the web UI shows one heap; compare two with: sonde heap diff"),
        (["{0}", "--html", "x", "--with-source"], "--with-source does not apply to heap snapshots"),
    ],
)
def test_what_does_not_apply(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "app.hprof"
    path.write_bytes(small().bytes())
    assert main(["view", *(word.format(path) for word in words)]) == 2
    assert capsys.readouterr().err == f"sonde: {sentence}\n"


def test_a_file_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "app.hprof", tmp_path / "app.html"
    path.write_bytes(small().bytes())
    assert main(["view", str(path), "--html", str(out)]) == 0
    assert capsys.readouterr().err == f"sonde: wrote {out}\n"
    assert "heap-meta" in out.read_text()
