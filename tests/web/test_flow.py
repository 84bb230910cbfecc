"""The call flow as the web UI gets it."""

from __future__ import annotations

import json
import zlib

import pytest

from flows import SHOP, with_flow
from sonde.views.flow.flow_slices import flow_slices
from sonde.web import flow as web_flow
from sonde.web.bundle import Bundle
from synthetic import Maker


def columns(data: bytes) -> list[list[int]]:
    """Every column of a part, as columns.py describes them, without undoing differences."""
    raw, at, found = zlib.decompress(data, wbits=-zlib.MAX_WBITS), 0, []

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = raw[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(raw):
        found.append([number() for _ in range(number())])
    return found


def test_rows_and_slices_are_all_there(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = with_flow(Maker(), SHOP, overhead=2)
    bundle = Bundle(recording, sources=False)
    facts = json.loads(zlib.decompress(bundle.meta, wbits=-zlib.MAX_WBITS))["flow"]
    assert facts["metric"] == "cpu"
    assert facts["events"] == len(SHOP)
    found = columns(bundle.flow)
    assert len(found) == 14
    assert sum(found[2]) == int(recording.flow.calls.sum())
    assert sum(found[5]) - sum(found[6]) == int(
        (recording.flow.measured - recording.flow.overhead).sum()
    )
    slices = flow_slices(recording)
    assert sorted(found[11]) == sorted((slices.end - slices.start).tolist())
    assert sorted(found[13]) == [0] * (len(slices) - 5) + [1] + [2] * 4
    monkeypatch.setattr(web_flow, "MAX_SLICES", 3)
    assert sorted(columns(Bundle(recording, sources=False).flow)[11]) == [30, 50, 150]


def test_without_a_call_flow() -> None:
    bundle = Bundle(Maker().recording(), sources=False)
    assert json.loads(zlib.decompress(bundle.meta, wbits=-zlib.MAX_WBITS))["flow"] is None
    assert sum(map(len, columns(bundle.flow))) == 0
