"""One file that holds everything and asks nobody."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from sonde.errors import SondeError
from sonde.recording.reader import read
from sonde.web import html as writing
from sonde.web import page as paging
from sonde.web.bundle import PARTS, Bundle
from web.made import everything, hostile

PAGE = (
    "<html><head><!--recordings--><style>b{}</style></head>"
    '<body><!--parts--><script type="module">let a = "<b>"</script></body></html>'
)


@pytest.fixture(autouse=True)
def page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "built", lambda: PAGE)


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.found:
            tag, attributes, text = self.found[-1]
            self.found[-1] = (tag, attributes, text + data)


def test_every_part_is_in_it() -> None:
    bundles = [Bundle(everything(seed).recording(), sources=seed == 1) for seed in (1, 2)]
    elements = Elements(writing.html(bundles).decode()).found
    parts = {at["id"]: text for tag, at, text in elements if tag == "script" and "id" in at}
    names = [f"part-0-{name}" for name in PARTS] + [f"part-1-{name}" for name in PARTS[:-1]]
    assert sorted(parts) == sorted(names)
    for number, bundle in enumerate(bundles):
        for name in PARTS[:-1]:
            assert base64.b64decode(parts[f"part-{number}-{name}"]) == bundle.part(name)
    (count,) = [at["content"] for _, at, _ in elements if at.get("name") == "sonde-recordings"]
    assert count == "2"


def test_only_its_own_script_runs_and_nothing_is_asked_for() -> None:
    text = writing.html([Bundle(everything().recording(), sources=False)]).decode()
    elements = Elements(text).found
    (rules,) = [at["content"] for _, at, _ in elements if "http-equiv" in at]
    assert rules is not None
    digest = base64.b64encode(hashlib.sha256(b'let a = "<b>"').digest()).decode()
    assert f"script-src 'sha256-{digest}'" in rules
    assert "connect-src 'none'" in rules
    # A policy counts from where it stands.
    assert text.index("http-equiv") < text.index("<style>") < text.index("<script")


def test_names_of_a_recording_make_no_elements(tmp_path) -> None:
    plain = writing.html([Bundle(everything().recording(), sources=False)]).decode()
    recording = read(hostile().write(str(tmp_path / "</script><b>.sonde".replace("/", "_"))))
    text = writing.html([Bundle(recording, sources=False)]).decode()
    tags = [(tag, sorted(at)) for tag, at, _ in Elements(text).found]
    assert tags == [(tag, sorted(at)) for tag, at, _ in Elements(plain).found]
    assert "pwned" not in text


def test_the_built_page_has_nothing_from_elsewhere() -> None:
    try:
        text = paging.built()
    except SondeError:
        pytest.skip("the page is not built; `make page` builds it")
    assert not re.search(r"<(script|link|img|iframe)\b[^>]*\b(src|href)=\"(?!data:)", text)
    assert len(paging._SCRIPT.findall(text)) == len(re.findall("<script", text)) == 1
    assert "'none'" not in paging._hashes(paging._STYLE, text)


def test_a_page_that_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "BUILT", "missing.html")
    with pytest.raises(SondeError, match="make page"):
        paging.built()
